import json
import re

import pytest
from hostile import TEXTS
from page import Page
from views_samples import WEATHER

from nbagent import Agent
from nbagent.messages import Image, Message, Prompt, Segment, Source, SourceKind, ToolCall, ToolSchema
from nbagent.redact import forget, know
from nbagent.views.dry import Dry, Wire, dry_bundle, prompt_bundle
from nbagent.views.kinds import css, totals
from nbagent.views.safe import visible
from nbagent.views.style import STYLE

KINDS = SourceKind.__args__


def prompt_of(text="a text", **more):
    """One segment of each kind that a segment can have, and examples, history, tools."""
    segments = [Segment("system", kind, f"{kind} {text}", Source(kind, f"the {kind}")) for kind in KINDS]
    call = ToolCall("1", "look", '{"at": "it"}')
    history = (Message("assistant", "", (call,)), Message("tool", f"seen {text}", tool_call_id="1"))
    examples = (Message("user", f"how {text}"), Message("assistant", "so"))
    task = Segment("user", "task", text, Source("template", "task"))
    return Prompt((*segments, task), history, (WEATHER,), (Image(b"", caption="a map"),), examples)


def dry_of(prompt, *wires):
    return Dry("bot", "maker:thinker", "live", "not sent", prompt, wires, "%prompt bot --to FILE")


def html_of(prompt, *wires):
    return dry_bundle(dry_of(prompt, *wires))["text/html"]


def tabs_of(html):
    """The text of each tab by its title."""
    parts = re.split(r'<details name="[^"]*"(?: open)?>', html)[1:]
    titled = [re.fullmatch(r"<summary>(.*?)</summary>(.*)", part, re.DOTALL).groups() for part in parts]
    return {title: re.sub("<.*?>", "", panel) for title, panel in titled}


def test_there_is_a_tab_for_each_way_to_look_and_each_wire():
    wires = Wire("OpenAI", '{"a":1}'), Wire("Anthropic", '{"b":2}', "as it is now")
    html = html_of(prompt_of(), *wires)
    tabs = tabs_of(html)
    assert list(tabs) == ["Segments", "Plain text", "Messages", "OpenAI", "Anthropic"]
    assert re.findall(r'<details name="[^"]*" open><summary>(.*?)<', html) == ["Segments"]
    assert "{&#34;a&#34;:1}" in tabs["OpenAI"]
    assert "as it is now{&#34;b&#34;:2}" in tabs["Anthropic"]
    assert "request, `Anthropic`, `as it is now`" in dry_bundle(dry_of(prompt_of(), *wires))["text/markdown"]


def test_the_plain_text_is_the_text_of_the_messages():
    assert tabs_of(html_of(prompt_of()))["Plain text"].endswith(
        "[user]\nhow a text\n\n[assistant]\nso\n\n[assistant calls look]\n{&#34;at&#34;: &#34;it&#34;}\n\n"
        "[tool]\nseen a text\n\n[user]\na text"
    )


def test_the_messages_are_in_the_order_in_which_they_are_sent():
    said = tabs_of(html_of(prompt_of()))["Messages"]
    order = ["template a text", "how a text", "so", "look", "tool look", "seen a text", "a map", "get_weather(city"]
    places = [said.index(each) for each in order]
    assert places == sorted(places)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_colour_and_its_tokens_in_words(kind):
    prompt = prompt_of()
    html = html_of(prompt)
    tokens, whole = totals(prompt.spans)[kind], sum(totals(prompt.spans).values())
    assert f".{css(kind)}{{--n-kind:#" in STYLE
    assert f"</mark> {kind} <small>{tokens:,} · {round(100 * tokens / whole)}%</small>" in html
    assert f'<mark class="nbagent-solid {css(kind)}">' in html
    if kind != "template":
        assert f'<mark class="{css(kind)}">{kind} a text</mark><sup>' in html


def test_the_bar_is_made_of_the_tokens():
    prompt = Prompt((
        Segment("user", "", "x" * 40, Source("template")),
        Segment("user", "", "x" * 120, Source("context", "web")),
    ))  # fmt: skip
    html = html_of(prompt)
    assert '<path class="nbagent-template" d="M0 5h247"/><path class="nbagent-context" d="M250 5h747"/>' in html
    assert "<title>40 tokens (estimated): template 10, context 30.</title>" in html


def test_line_breaks_around_a_piece_are_not_marked():
    html = html_of(Prompt((Segment("user", "", "\n\nx\ny\n", Source("variable", "v: str")),)))
    assert '\n\n<mark class="nbagent-value">x\ny</mark><sup>1</sup>\n</pre>' in html
    blank = html_of(Prompt((Segment("user", "", "\n\n", Source("variable", "v: str")),)))
    assert '<mark class="nbagent-value"></mark><sup>1</sup>\n\n</pre>' in blank


def dropped(number, reason="over the limit"):
    source = Source("context", "web", f"https://x.test/{number}", 0.5)
    return Segment("user", f"page {number}", f"text of page {number} " * 9, source, False, reason)


def test_what_was_left_out_stands_in_one_line_for_each_reason():
    segments = (*(dropped(n) for n in range(200)), dropped(7, "TimeoutError: no answer"))
    shown = dry_bundle(dry_of(Prompt(segments)))
    assert "context web (user): over the limit · 200 pieces" in shown["text/html"]
    assert "context web (https://x.test/7, score 0.5) (user): TimeoutError: no answer" in shown["text/html"]
    assert "page 3, https://x.test/3, score 0.5: text of page 3" in shown["text/html"]
    assert "… and 180 more" in shown["text/html"]
    plain = shown["text/plain"]
    assert "  left out: context web (user): over the limit, 200 pieces\n" in plain
    assert "page 9, https" in plain
    assert "    … and 190 more\n" in plain
    assert len(plain.split("\n")) < 30


def test_many_reasons_are_in_one_fold():
    shown = dry_bundle(dry_of(Prompt(tuple(dropped(n, f"{n} too many") for n in range(200)))))
    assert "<summary><i>left out</i> <small>200 pieces</small></summary>" in shown["text/html"]
    assert "left out: 190 more pieces" in shown["text/plain"]
    assert len(shown["text/plain"].split("\n")) < 40


def test_outputs_that_differ_have_tabs_of_their_own_and_equal_ones_are_equal():
    names = [re.findall(r'name="(.*?)"', html_of(prompt_of(text))) for text in ("one", "two", "two")]
    assert [len(set(each)) for each in names] == [1, 1, 1]
    assert names[0] != names[1]
    assert names[1] == names[2]


def test_the_name_of_the_tabs_says_nothing_about_a_secret():
    names = set()
    for secret in ("t0p-s3cret-0123456789", "t0p-s3cret-9876543210"):
        know(secret, "it")
        html = html_of(prompt_of(f"key {secret}"))
        forget()
        assert secret not in html
        names |= set(re.findall(r'name="(.*?)"', html))
    assert len(names) == 1


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_text_stays_text(text):
    segment = Segment("user", text, text, Source("context", text, text, 0.5))
    tool = ToolSchema(text, text, {"type": "object", "properties": {text: {"description": text, "enum": [text]}}})
    message = Message("assistant", text, (ToolCall("1", text, text),))
    out = [Segment("user", text, text, Source("context", text, text), False, text) for _ in range(2)]
    out.append(Segment("user", "", "", Source("variable", text), False, text))
    prompt = Prompt((segment, *out), (message,), (tool,), (Image(b"", text, text),), (message,))
    html = dry_bundle(Dry(text, text, text, text, prompt, (Wire(text, text, text), Wire("x", json.dumps(text)))))[
        "text/html"
    ]
    page = Page(html)
    assert all(line in page.text for line in visible(text).split("\n"))
    Page(prompt_bundle(prompt)["text/html"])


def test_without_its_style_the_view_is_folds_with_words():
    html = re.sub("<style>.*?</style>|<svg.*?</svg>", "", html_of(prompt_of(), Wire("OpenAI", "{}")), flags=re.DOTALL)
    assert re.findall(r"<details name=\"[^\"]*\"( open)?><summary>(\w+)", html) == [
        (" open", "Segments"),
        ("", "Plain"),
        ("", "Messages"),
        ("", "OpenAI"),
    ]
    assert "<i> · </i>" in html


def test_the_names_of_parts_and_what_stands_between_them_need_no_source():
    bot = Agent("a", object(), prompt_template="On {topic}.", output={"mood": "in one word"}, retrievers=[Memory()])
    shown = prompt_bundle(bot.observe({"topic": "DAGs", "words": 50}))
    html, text = shown["text/html"], shown["text/plain"]
    assert "<small>MESSAGE TO YOU:\n</small>" in html
    assert "label MESSAGE" not in html.partition("<b>Pieces</b>")[0]
    sources = text.partition("  sources\n")[2].partition("\n\n")[0]
    assert [line.split(" (")[0].strip() for line in sources.splitlines()] == [
        "input topic", "input words", "format json",
        "output REQUIRED OUTPUT FIELDS AND THEIR DESCRIPTIONS", "context MEM",
    ]  # fmt: skip
    assert "\n  user\n    MESSAGE TO YOU:" in text


class Memory:
    context_label = "MEM"

    def get_blocks(self, query, *, top_k=8):
        return ["a fact"]
