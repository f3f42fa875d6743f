"""A reflection as it is shown: the draft, and each round with its verdict and with what it changed."""

import re
import time
from itertools import pairwise

import pytest
from hostile import TEXTS
from hypothesis import given
from hypothesis import strategies as st
from page import Page
from test_views_steps import text_of, until
from work_samples import DRAFT, REFINED, reflection_run

from nbagent.events import RunFinished, StepFinished, StepStarted
from nbagent.redact import forget, know
from nbagent.views.bundle import bundle
from nbagent.views.difference import Difference
from nbagent.views.safe import visible

CHANGES = (
    "[-DAGs are graphs-]{+A DAG is a graph+} with direction[-. Their-]{+ and without cycles. Its+} nodes can be put "
    "in an order.\n\n"
)


def marked(before, after):
    """The difference with its marks, as the transcript has it."""
    marks = {"same": "{}", "out": "[-{}-]", "in": "{{+{}+}}", "cut": "…"}
    return "".join(marks[each.kind].format(each.text) for each in Difference.of(before, after).stretches)


def test_the_transcript_of_a_reflection():
    lines = bundle(reflection_run().events)["text/plain"].split("\n")
    assert lines[0].startswith(
        "writer · scripted · completed: passed in round 2 · 2 rounds · 4 turns · 0 tool calls · "
    )
    heads = [line for line in lines if line and not line.startswith("    ")]
    assert [head.strip() for head in heads if len(head) - len(head.lstrip()) <= 2][1:] == [
        "prompt", "system", "user",
        "draft", "prompt: the one above", "turn 1",
        "round 1: not passed", "critique", "changes in 2 places", "critique call", "refine call",
        "round 2: passed", "critique", "critique call",
        "answer", *[f"{line}" for line in REFINED.split("\n") if line],
    ]  # fmt: skip


def test_the_change_is_marked_word_by_word():
    assert marked("The cat sat on the mat.", "The black cat sat on a mat, softly.") == (
        "The {+black +}cat sat on [-the-]{+a+} mat{+, softly+}."
    )
    assert marked("same", "same") == "same"
    assert marked("", "new") == "{+new+}"
    assert marked("old", "") == "[-old-]"
    assert marked("", "") == ""


def test_text_that_was_written_anew_is_not_torn_into_shreds():
    before = "They are graphs. Many use them for a build."
    after = "A build tool orders its tasks in one of the graphs that have no cycle."
    assert marked(before, after) == f"[-{before[:-1]}-]{{+{after[:-1]}+}}."


def test_scripts_without_blanks_are_compared_by_characters():
    assert marked("机器学习是人工智能的分支。", "机器学习是人工智能的重要分支，很有用。") == (
        "机器学习是人工智能的{+重要+}分支{+，很有用+}。"
    )
    assert marked("これは本です", "これは古い本です") == "これは{+古い+}本です"


def test_long_equal_text_is_left_out_but_for_what_is_near_a_change():
    words = " ".join(f"word{n}" for n in range(200))
    shown = marked(f"{words} old {words}", f"{words} new {words}")
    assert shown == "… word196 word197 word198 word199 [-old-]{+new+} word0 word1 word2 word3 word4 word5 …"


@given(st.text(alphabet="ab. \n的是", max_size=60), st.text(alphabet="ab. \n的是", max_size=60))
def test_both_texts_can_be_read_from_the_difference(before, after):
    found = Difference.of(before, after)
    if any(each.kind == "cut" for each in found.stretches):
        return
    assert "".join(each.text for each in found.before) == before
    assert "".join(each.text for each in found.after) == after
    assert all(one.kind != other.kind for one, other in pairwise(found.stretches))


@given(st.text(), st.text())
def test_it_is_the_same_each_time(before, after):
    assert Difference.of(before, after) == Difference.of(before, after)
    assert (not Difference.of(before, after).places) == (visible(before) == visible(after))


@pytest.mark.parametrize("piece", ["a ", "a b ", "的是", ". ", "\n", "x", "!?", "word, other. "])
@pytest.mark.parametrize("size", [900, 200_000])
def test_long_texts_take_little_time_and_room(piece, size):
    half = size // len(piece) // 2
    before, after = piece * half + "1" + piece * half, "2" + piece * half + "3 " + piece[::-1] * half
    began = time.process_time()
    found = Difference.of(before, after)
    assert time.process_time() - began < 2
    assert len(found.stretches) <= 600
    assert sum(len(each.text) for each in found.stretches) < 40_000


def test_two_long_texts_without_a_word_in_common_stay_short():
    before, after = (" ".join(f"{letter}{n}" for n in range(30_000)) for letter in "ab")
    assert sum(len(each.text) for each in Difference.of(before, after).stretches) < 2_000


def test_a_change_in_a_long_text_is_still_found():
    text = " ".join(f"Sentence {n} says something." for n in range(600))
    found = Difference.of(f"Start. {text}", f"Begin. {text.replace('300 says something', '300 tells a joke')}")
    changed = [(each.kind, each.text) for each in found.stretches if each.kind in ("out", "in")]
    assert changed == [("out", "Start"), ("in", "Begin"), ("out", "says something"), ("in", "tells a joke")]


def test_a_change_of_blanks_alone_can_be_seen():
    shown = bundle(reflection_run(draft="a b", refined="a\nb").events)
    assert "[-␣-]{+↵" in shown["text/plain"]
    assert "<ins>↵\n</ins>" in shown["text/html"]


def test_old_and_new_stand_side_by_side():
    html = bundle(reflection_run().events)["text/html"]
    old, new = re.findall(
        r'<div><small>(before|after)</small><pre class="nbagent-say">(.*?)</pre></div>', html, re.DOTALL
    )
    assert old[0] == "before"
    assert "<ins>" not in old[1]
    assert old[1].startswith(
        "<del>DAGs are graphs</del> with direction<del>. Their</del> nodes can be put in an order.\n\n"
    )
    assert new[0] == "after"
    assert "<del>" not in new[1]
    assert new[1].startswith("<ins>A DAG is a graph</ins> with direction<ins> and without cycles. Its</ins> nodes")
    assert f"    {CHANGES}" in bundle(reflection_run().events)["text/plain"].replace("\n    \n", "\n\n")


def test_the_critique_is_between_them_and_the_verdict_is_a_badge():
    html = bundle(reflection_run().events)["text/html"]
    assert '<b>Round 1</b> <span class="nbagent-verdict nbagent-warn">not passed</span>' in html
    assert '<b>Round 2</b> <span class="nbagent-verdict nbagent-good">passed</span>' in html
    order = ["<b>Draft</b>", DRAFT.split("\n")[0], "Round 1", "Say what it is.", "<small>before</small>", "Round 2"]
    places = [html.index(each) for each in order]
    assert places == sorted(places)


def test_each_call_is_a_fold_with_what_it_was_told():
    html = bundle(reflection_run().events)["text/html"]
    titles = ["<details><summary><b>Critique call</b> <small>1 turn</small></summary>"] * 2
    titles.insert(1, "<details><summary><b>Refine call</b> <small>1 turn</small></summary>")
    found = re.findall(r"<details><summary><b>\w+ call</b> <small>1 turn</small></summary>", html)
    assert found == titles
    text = bundle(reflection_run().events)["text/plain"]
    assert "    prompt, after the system text above\n      system\n        You are a strict reviewer." in text
    assert "    prompt, after the system text above and 2 messages of earlier steps\n" in text
    assert "    prompt, after the system text of the first critique\n      user\n" in text
    assert text.count("You are a strict reviewer.") == 1
    assert "reply: the critique above" in text
    assert "reply: the answer below" in text


def test_an_answer_that_nobody_has_changed_is_in_the_draft():
    shown = bundle(reflection_run(critique="GOOD ENOUGH").events)
    assert "  turn 1\n    reply: the answer below" in shown["text/plain"]
    assert shown["text/plain"].count(DRAFT.split("\n")[0]) == 2  # in the critic's prompt, and as the answer


def test_a_reflection_that_runs_out_of_rounds_is_not_green():
    run = reflection_run(end="Still wrong.", refined="new", max_turns=1)
    html = bundle(run.events)["text/html"]
    assert '<span class="nbagent-status nbagent-warn">completed: not passed after 1 round</span>' in html
    assert "1 round · " in html


def test_text_that_stays_as_it_was():
    shown = bundle(reflection_run(refined=DRAFT).events)
    assert "  no changes\n" in shown["text/plain"]
    assert "<i>changes</i><p><small>none</small></p>" in shown["text/html"]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (None, "running"),
        ("interrupted", "waits for a decision"),
        ("limit_reached", "stopped: the run reached a limit"),
        ("cancelled", "stopped: the run was cancelled"),
        ("failed", "stopped: the run failed"),
    ],
)
@pytest.mark.parametrize(
    ("kind", "number", "name"), [("draft", 0, "draft"), ("critique", 1, "round 1"), ("refine", 1, "refine call")]
)
def test_a_run_that_ends_within_a_step_says_so_there_and_keeps_what_there_is(status, said, kind, number, name):
    end = [RunFinished(status, None, "because")] if status else []
    shown = bundle(until(reflection_run(), kind, number, *end))
    assert f"{name}: {said}\n" in shown["text/plain"] + "\n"
    assert said in text_of(shown["text/html"])
    if kind != "draft":
        assert all(DRAFT.split("\n")[0] in each for each in shown.values())


def test_a_critique_or_a_refinement_that_failed():
    events = list(reflection_run().events)
    place = next(n for n, e in enumerate(events) if isinstance(e, StepFinished) and e.kind == "critique")
    cut = [
        *events[:place],
        StepFinished("critique", 1, "failed", None, "no answer"),
        RunFinished("completed", DRAFT, "why"),
    ]
    shown = bundle(cut)
    assert "\nround 1: no critique\n" in shown["text/plain"]
    assert "critique call: failed: no answer" in shown["text/plain"]
    assert 'nbagent-verdict nbagent-bad">no critique</span>' in shown["text/html"]
    assert "failed: no answer · 1 turn" in shown["text/html"]


def test_every_prefix_can_be_shown():
    run = reflection_run()
    for length in range(len(run.events) + 1):
        Page(bundle(run.events[:length])["text/html"])


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_text_stays_text(text):
    shown = bundle(reflection_run(draft=f"a {text} b", critique=f"no {text}", refined=f"c {text} d").events)
    page = Page(shown["text/html"])
    assert all(line.strip() in page.text for line in visible(text).split("\n"))
    heads = [line for line in shown["text/plain"].split("\n") if line[:1].strip()]
    assert [head.partition(":")[0] for head in heads[1:]] == ["prompt", "draft", "round 1", "round 2", "answer"]
    for each in shown.values():
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff\ud800-\udfff]", each)


def test_no_secret_is_torn_by_a_difference():
    know("t0p-s3cret-0123456789", "it")
    events = [
        StepFinished("draft", 0, "done", "the key is t0p-s3cret-0123456789 here"),
        StepStarted("critique", 1),
        StepFinished("critique", 1, "done", "no"),
        StepStarted("refine", 1),
        StepFinished("refine", 1, "done", "the key is t0p-changed-0123456789 here"),
    ]
    shown = bundle([StepStarted("draft", 0), *events])
    forget()
    assert not any("s3cret" in each for each in shown.values())
