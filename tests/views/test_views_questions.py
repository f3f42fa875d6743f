import json
import re
from unicodedata import category

import pytest
from approval_samples import RUNS, waiting
from hostile import TEXTS
from page import Page
from work_samples import call

from nbagent import PlanAgent, ScriptedLLM
from nbagent.approvals.pending import PendingAction
from nbagent.events import (
    ApprovalDecided,
    ApprovalRequested,
    ModelReplied,
    ModelRequested,
    RunFinished,
    RunStarted,
    ToolReturned,
    ToolStarted,
)
from nbagent.messages import ModelReply, Observation, ToolCall
from nbagent.views.approval import approval_text
from nbagent.views.bundle import bundle
from nbagent.views.html import root
from nbagent.views.html_question import questions_html
from nbagent.views.safe import visible

RULE = "pay(amount > 100)"


LONG = "".join(f"print({number})  # {'x' * 60}\n" for number in range(3_000))


@pytest.fixture(scope="module")
def long():
    return waiting(call("run_code", {"code": LONG, "where": "y" * 9_000 + "END"}))


def test_nothing_of_what_waits_is_cut_or_in_a_fold(long):
    shown = bundle(long.events)["text/html"]
    end = shown[shown.rindex("</details>") :]
    said = Page(f"<div>{end.removeprefix('</details>').removesuffix('</div></div>')}</div>").text
    assert all(f"print({number})  # {'x' * 60}\n" in said for number in range(3_000))
    assert f'"{"y" * 9_000}END"' in said
    assert "left out" not in said
    assert shown.count("print(1234)") == 1
    assert "its arguments are below" in shown
    assert bundle(long.events)["text/plain"].count("print(1234)") == 1


def test_lines_of_code_have_numbers():
    shown = bundle(RUNS["waits with code"]().events)
    assert '<pre class="nbagent-code"><span><i>1 </i>import os\n</span><span><i>2 </i>\n</span>' in shown["text/html"]
    for each in (shown["text/plain"], shown["text/markdown"]):
        assert re.search(r"4     if name\.endswith\(\"\.tmp\"\):\n *5         os\.remove\(name\)\n", each)


def pending(arguments, **more):
    return PendingAction("run", arguments, "call_1", "0123456789abcdef", "bot", **more)


def html(pendings):
    return root(questions_html(pendings))


def test_a_question_has_the_arguments_laid_out_and_as_they_came():
    arguments = '{"to":"A\\u00e5","amount":1.50,"amount":2e3,"in":[{"text":"a\\nb"}],"a b":null}'
    text = approval_text([pending(arguments, origin="mcp:bank", why=RULE)])
    assert text.split("\n") == [
        f"bot wants to run run from mcp:bank ({RULE})",
        '  to: "Aå"',
        "  amount: 1.50",
        "  amount: 2e3",
        "  in",
        "    [",
        '      {"text": "a\\nb"}',
        "    ]",
        "  in[0].text, 2 lines",
        "    1 a",
        "    2 b",
        '  "a b": null',
        f"  as sent: {arguments}",
        "  digest: 0123456789abcdef",
    ]
    said = Page(html([pending(arguments, origin="mcp:bank", why=RULE)])).text
    for line in (
        "bot wants to run run from mcp:bank",
        '"Aå"',
        "1.50",
        "2e3",
        "1 a\n2 b\n",
        RULE,
    ):
        assert line in said


def test_other_questions():
    assert approval_text([pending("")]).split("\n")[1:3] == ["  arguments", ""]
    assert "[1, 2" in approval_text([pending("[1, 2")])
    assert "no arguments" in approval_text([pending("{}")])
    assert "none" in Page(html([pending("{}")])).text
    plan = PlanAgent("solver", ScriptedLLM(['{"steps": ["Find A", "Find B"]}']))
    proposed = plan.propose("Find them.").interrupt.pendings
    text = approval_text(proposed)
    assert text.startswith("an agent proposes a plan\n")
    assert '"Find B"' in text
    several = approval_text([pending("{}"), pending('{"a": 1}')])
    assert several.count(", call 01234567") == 2  # their ids are the same
    assert html([]).count("<p>") == 0


@pytest.mark.parametrize(
    "text", [*TEXTS, "a\u2800b", "a\u00a0b", "می\u200cخواهم", "❤\ufe0f", "x\r\ny", "\u3164", "\ue000"]
)
def test_what_is_not_seen_has_a_marker(text):

    for given in (text, f"{text}\n{text}", [text], {text: "x"}, {"k": [f"a\n{text}"]}):
        for ascii_only in (True, False):
            asked = [pending(json.dumps({"text": given, text: 1}, ensure_ascii=ascii_only))]
            said = Page(html(asked)).text
            for shown in (said, approval_text(asked)):
                odd = {c for c in shown if c not in "\n\t " and (category(c)[0] in "CZ" or c in "\u2800\u3164\ufe0f")}
                assert odd == set()
    assert Page(html([pending(text)])).text


PLACES = ("tool", "arguments", "origin", "why", "text", "edited", "by", "agent", "call_id")


def hostile_run(place, text, verdict="approved", *, decided=True):
    """A run with this text at one place of an approval."""
    said = {
        "tool": "pay", "arguments": '{"to": "Ann"}', "origin": "mcp:bank", "why": RULE, "text": "a note",
        "edited": None, "by": "person", "agent": "buyer", "call_id": "call_1",
    } | {place: text}  # fmt: skip
    one, other = ToolCall(said["call_id"], said["tool"], said["arguments"]), ToolCall("call_2", "pay", "{}")
    run = [
        RunStarted("buyer-1", said["agent"], "scripted", "scripted", 10),
        ModelRequested(1, "f"),
        ModelReplied(1, ModelReply("", (one, other), None, "tool_calls")),
        ApprovalRequested(1, 0, one, 1, "d1", said["origin"], said["why"]),
        ApprovalRequested(1, 1, other, 2, "d2"),
    ]
    if not decided:
        return [*run, RunFinished("interrupted", None, "waits")]
    run.append(ApprovalDecided(1, 0, verdict, "d1", said["edited"], said["text"], by=said["by"]))
    if verdict == "approved":
        run += [ToolStarted(1, 0, ToolCall(one.id, one.name, said["edited"] or one.arguments))]
    return [*run, ToolReturned(1, 0, Observation("call_1", "done")), RunFinished("interrupted", None, "waits")]


@pytest.mark.parametrize("place", PLACES)
def test_hostile_text_stays_text(place):
    for text in TEXTS:
        for verdict, is_decided in (("approved", True), ("rejected", True), ("approved", False)):
            shown = bundle(hostile_run(place, text, verdict, decided=is_decided))
            page = Page(shown["text/html"])
            if place in ("arguments", "edited") and (verdict == "approved" or place == "arguments"):
                is_there = [line.strip() in page.text for line in visible(text).split("\n")]
                assert all(is_there) or not is_decided  # what waits has more markers
            for each in shown.values():
                assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff]", each)
                each.encode()


def test_a_call_id_of_a_model_is_no_command():
    shown = bundle(hostile_run("call_id", 'x --args {"to": "Eve"}', decided=False))
    assert all("--args" not in each for each in shown.values())
    assert "%agent approve buyer d1" in shown["text/plain"]
    assert all("%agent" not in each for each in bundle(hostile_run("agent", "no name; x", decided=False)).values())


def test_secrets_are_masked():
    key = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
    asked = [pending(f'{{"api_key": "{key}", "code": "a\\nkey = \'{key}\'"}}')]
    for shown, times in ((html(asked), 2), (approval_text(asked), 3)):
        assert key not in shown
        assert shown.count("‹redacted key›") >= times
