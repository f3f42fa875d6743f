"""A plan as it is shown: a checklist, and below it each step with what is its own."""

import re

import pytest
from hostile import TEXTS
from page import Page
from work_samples import TITLES, limited_run, plan_run, planner, replanned_run, steps

from nbagent.events import PromptAssembled, RunFinished, RunStarted, StepFinished, StepStarted
from nbagent.messages import Prompt, Segment, Source
from nbagent.redact import forget, know
from nbagent.views.bundle import bundle
from nbagent.views.safe import visible

PLAN = """\
solver · scripted · completed · 3 of 3 steps · 6 turns · 1 tool call · 785 tokens (estimated)

3 of 3 steps done
  [x] 1. Look up Copenhagen
  [x] 2. Compare with Oslo
  [x] 3. Say which is warmer

prompt
  system
    You are a careful meteorologist.
  user
    Which is warmer, Copenhagen or Oslo?
  tool get_weather(city: string)
    Look up the weather.
    schema {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], \
"additionalProperties": false}

plan: 3 steps
  prompt, after the system text above
    user
      Which is warmer, Copenhagen or Oslo?

      …
  turn 1
    reply
      {"steps": ["Look up Copenhagen", "Compare with Oslo", "Say which is warmer"]}

step 1: Look up Copenhagen
  prompt, after the system text and tools above
    user
      Which is warmer, Copenhagen or Oslo?

      …
  turn 1
    call get_weather {"city": "Copenhagen"}
    observation: sunny, 24C in Copenhagen
  turn 2
    reply
      It is sunny, 24C in Copenhagen.

step 2: Compare with Oslo
  prompt, after the system text and tools above and 2 messages of earlier steps
    user
      …
  turn 1
    reply
      Oslo: 18C.

step 3: Say which is warmer
  prompt, after the system text and tools above and 4 messages of earlier steps
    user
      …
  turn 1
    reply
      Copenhagen.

synthesis
  prompt, after the system text above and 6 messages of earlier steps
    user
      …
  turn 1
    reply: the answer below

answer
  **Copenhagen** is warmer."""


def told(text):
    """The transcript with … in the place of what the agent itself tells the model, which is worded elsewhere."""
    own = r"(?:Do not answer this|This is worked on|Do step \d|The steps are over)"
    return re.sub(rf"^( +){own}.*?(?=^  turn 1$)", r"\1…\n", text, flags=re.MULTILINE | re.DOTALL)


def text_of(html):
    return re.sub(r"<style>.*?</style>|<.*?>", "", html, flags=re.DOTALL)


def until(run, kind, number, *more):
    """The events of a run up to the prompt of a step."""
    events = list(run.events)
    place = next(n for n, e in enumerate(events) if isinstance(e, StepStarted) and (e.kind, e.number) == (kind, number))
    return [*events[: place + 2], *more]


def test_the_transcript_of_a_plan():
    assert re.sub(r"\d+ tokens", "785 tokens", told(bundle(plan_run().events)["text/plain"])) == PLAN


def test_the_html_begins_with_the_checklist():
    html = bundle(plan_run().events)["text/html"]
    shown = text_of(html)
    assert shown.index("3 of 3 steps done") < shown.index("Prompt") < shown.index("Plan 3 steps") < shown.index("☑ 1.")
    assert shown.index("☑ 3. Say which is warmer") < shown.index("Synthesis") < shown.index("Answer")
    assert "<details><summary><b>Prompt</b>" in html
    assert "<details><summary><b>Plan</b>" in html


def test_the_bar_has_a_piece_for_each_step_in_the_colour_of_its_state():
    html = bundle(limited_run().events)["text/html"]
    assert "<title>1 of 3 steps done.</title>" in html
    strokes = re.findall(r'<path class="(\S+)" d="(.*?)"/>', html.partition("<b>Pictures</b>")[0])
    assert strokes == [("nbagent-good", "M0 5h330"), ("nbagent-warn", "M333 5h330"), ("nbagent-open", "M666 5h331")]


@pytest.mark.parametrize(
    ("events", "line", "glyph", "tone"),
    [
        (plan_run().events, "[x] 1. Look up Copenhagen", "☑ 1. Look up Copenhagen", "good"),
        (until(plan_run(), "execute", 2), "[>] 2. Compare with Oslo: running", "▶ 2. Compare with Oslo running", "now"),
        (until(plan_run(), "execute", 2), "[ ] 3. Say which is warmer", "☐ 3. Say which is warmer", "open"),
        (
            replanned_run().events,
            "[!] 2. Look up Atlantis: failed: no answer within max_turns=2",
            "☒ 2. Look up Atlantis failed: no answer within max_turns=2",
            "bad",
        ),
        (
            limited_run().events,
            "[!] 2. Compare with Oslo: stopped: the run reached a limit: " + limited_run().events[-1].stop_reason,
            "☒ 2. Compare with Oslo stopped: the run reached a limit: " + limited_run().events[-1].stop_reason,
            "warn",
        ),
    ],
)
def test_each_state_has_a_box_and_words(events, line, glyph, tone):
    shown = bundle(events)
    assert f"\n  {line}\n" in shown["text/plain"]
    assert glyph in text_of(shown["text/html"])
    found = re.search(
        rf'nbagent-step nbagent-{tone}"[^>]*>(?:<summary>)?<i class="nbagent-box">{glyph[0]}</i>', shown["text/html"]
    )
    assert found
    markdown = re.sub(r"\\|`", "", shown["text/markdown"])
    assert f"\n- {line}\n" in markdown


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("interrupted", "[>] 2. Compare with Oslo: waits for a decision"),
        ("limit_reached", "[!] 2. Compare with Oslo: stopped: the run reached a limit: because"),
        ("out_of_turns", "[!] 2. Compare with Oslo: stopped: the run ended: because"),
        ("cancelled", "[!] 2. Compare with Oslo: stopped: the run was cancelled: because"),
        ("failed", "[!] 2. Compare with Oslo: stopped: the run failed: because"),
    ],
)
def test_a_run_that_ends_within_a_step_says_so_there_and_keeps_what_there_is(status, said):
    shown = bundle(until(plan_run(), "execute", 2, RunFinished(status, None, "because")))
    assert said in shown["text/plain"]
    assert said.partition(". ")[2].partition(": ")[2] in text_of(shown["text/html"])
    for each in shown.values():
        assert "It is sunny, 24C in Copenhagen." in each
        assert "1 of 3 steps done" in each
        assert "because" in each
    assert re.search(r'<details class="nbagent-step nbagent-(now|warn)" open>', shown["text/html"])


@pytest.mark.parametrize("kind", ["plan", "synthesize"])
def test_a_run_that_ends_while_it_plans_or_concludes_says_so(kind):
    number = 1 if kind == "plan" else 0
    shown = bundle(until(plan_run(), kind, number, RunFinished("cancelled", None, "stopped by the user")))
    name = "plan" if kind == "plan" else "synthesis"
    assert f"\n{name}: stopped: the run was cancelled" in shown["text/plain"]
    assert f"{name.capitalize()} stopped: the run was cancelled" in text_of(shown["text/html"])


def test_a_step_that_was_begun_is_a_fold_and_one_that_was_not_is_a_line():
    html = bundle(limited_run().events)["text/html"]
    kinds = re.findall(r'<(details|div) class="nbagent-step ', html)
    assert kinds == ["details", "details", "div"]
    assert [bool(opened) for opened in re.findall(r'<details class="nbagent-step [^"]*"( open)?>', html)] == [
        False,
        True,
    ]


def test_what_is_above_is_named_and_not_shown_again():
    for shown in bundle(plan_run().events).values():
        assert shown.count("You are a careful meteorologist.") == 1
        assert shown.count("It is sunny, 24C in Copenhagen.") == 1  # the later steps have it in their history
        assert shown.count("additionalProperties") == 1
        assert "after the system text and tools above and 4 messages of earlier steps" in shown


def test_examples_and_history_are_named_too():
    agent = planner(steps("Look"), "1", "one", steps("Look"), "2", "two", tools=[], examples=[("How?", "So.")])
    agent.run("First?")
    for shown in bundle(agent.run("Second?").events).values():
        assert "after the system text, examples and history above and 2 messages of earlier steps" in shown
        assert shown.count("How?") == 1
        assert shown.count("First?") == 1


def test_a_prompt_of_another_kind_is_shown_whole():
    """As of a journal that somebody else has written."""
    events = list(plan_run().events)
    other = planner(steps("x"), "y", "z", tools=[]).observe("Quite another question")
    place = [n for n, event in enumerate(events) if isinstance(event, PromptAssembled)][2]
    system = Segment("system", "", "Quite another system text.", Source("template"))
    events[place] = PromptAssembled(Prompt((system, *other.segments[1:])))
    for shown in bundle(events).values():
        assert "Quite another system text." in shown
        assert "Quite another question" in shown


def test_the_output_grows_with_the_steps_not_with_their_square():
    def size(number):
        results = [f"The result of step {n}: {'word ' * 100}" for n in range(number)]
        run = planner(steps(*[f"Do {n}" for n in range(number)]), *results, "done").run("Do it.")
        return sum(len(each.encode()) for each in bundle(run.events).values())

    assert size(40) - size(20) < 1.2 * (size(20) - size(1)) * 20 / 19


def test_a_revised_plan_says_what_is_new_and_what_was_dropped():
    shown = bundle(replanned_run().events)
    assert (
        "\nplan, version 2: 3 steps, 2 new, 1 dropped\n"
        "  dropped: 3. Ask a poet\n"
        "  new: 3. Look up Oslo\n"
        "  new: 5. Explain what is missing\n"
    ) in shown["text/plain"]
    html = shown["text/html"]
    assert "<i>dropped</i><p>3. <del>Ask a poet</del></p>" in html
    assert "<i>new</i><p>3. <ins>Look up Oslo</ins></p><p>5. <ins>Explain what is missing</ins></p>" in html
    places = [html.index(each) for each in ("☒</i> 2.", "Plan, version 2", "☑</i> 3. Look up Oslo")]
    assert places == sorted(places)
    assert "4 of 5 steps done, 1 failed" in shown["text/plain"]
    assert "- dropped: 3. `Ask a poet`" in shown["text/markdown"]


def test_a_run_whose_step_failed_is_not_all_green():
    assert (
        '<span class="nbagent-status nbagent-warn">completed: step 2 failed'
        in bundle(replanned_run().events)["text/html"]
    )
    assert '<span class="nbagent-status nbagent-good">completed' in bundle(plan_run().events)["text/html"]


def test_a_plan_without_a_turn_was_given():
    events = [
        RunStarted("solver-1", "solver", "m", "live", 3),
        StepStarted("plan", 1),
        StepFinished("plan", 1, "done", ("one", "two")),
    ]
    shown = bundle(events)
    assert "\nplan: 2 steps, given" in shown["text/plain"]
    assert "0 of 2 steps done\n  [ ] 1. one\n  [ ] 2. two\n" in shown["text/plain"]
    assert "<div><b>Plan</b> <small>2 steps, given</small></div>" in shown["text/html"]


def test_a_plan_that_waits_is_a_list_of_open_boxes():
    shown = bundle(planner(steps(*TITLES)).propose("Which is warmer?").events)
    assert shown["text/plain"].startswith("solver · scripted · waits for a decision · 0 of 3 steps")
    assert shown["text/plain"].count("  [ ] ") == 3
    assert text_of(shown["text/html"]).count("☐") == 3


def test_a_plan_that_a_person_has_changed_says_what_it_was():
    agent = planner(steps(*TITLES), "Copenhagen: 24C.", "Warm.", "Copenhagen.")
    agent.propose("Which is warmer?")
    shown = bundle(agent.run_plan(["Look up Copenhagen", "Say whether that is warm"]).events)
    assert (
        "\nplan: 3 steps, edited: 1 new, 2 dropped\n"
        "  dropped: 2. Compare with Oslo\n"
        "  dropped: 3. Say which is warmer\n"
        "  new: 2. Say whether that is warm\n"
    ) in shown["text/plain"]
    assert "2 of 2 steps done\n  [x] 1. Look up Copenhagen\n  [x] 2. Say whether that is warm\n" in shown["text/plain"]
    assert "<i>new</i><p>2. <ins>Say whether that is warm</ins></p>" in shown["text/html"]


def test_the_reason_of_a_failure_is_whole():
    reason = "because\n" + "it was so " * 40
    events = [StepStarted("execute", 1, "one"), StepFinished("execute", 1, "failed", None, reason)]
    assert reason in Page(bundle(events)["text/html"]).text
    assert "it was so it was so " * 20 in bundle(events)["text/plain"]
    planning = [StepStarted("plan", 1), StepFinished("plan", 1, "failed", None, "no plan")]
    assert "plan: failed: no plan" in bundle(planning)["text/plain"]
    assert "failed: no plan" in text_of(bundle(planning)["text/html"])


def test_a_long_title_is_whole_in_the_text_and_short_in_the_html():
    title = "so " * 400
    shown = bundle([StepStarted("execute", 1, title), StepFinished("execute", 1, "done", "x")])
    assert title in shown["text/plain"]
    assert title in shown["text/markdown"]
    assert f"{title[:500]}…" in shown["text/html"]


def test_a_checkbox_is_one_for_readers_of_markdown():
    markdown = bundle(limited_run().events)["text/markdown"]
    assert "**1 of 3 steps done**\n\n- [x] 1\\. `Look up Copenhagen`\n- [!] 2\\. `Compare with Oslo`" in markdown
    assert "\n- [ ] 3\\. `Say which is warmer`\n\n" in markdown
    assert "**Step 1:** `Look up Copenhagen`" in markdown


def test_a_workflow_has_no_chart():
    assert not any("rompt growth" in shown for shown in bundle(plan_run().events).values())


@pytest.mark.parametrize("run", [plan_run(), replanned_run(), limited_run()])
def test_every_prefix_can_be_shown(run):
    for length in range(len(run.events) + 1):
        shown = bundle(run.events[:length])
        Page(shown["text/html"])
        assert shown == bundle(run.events[:length])


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_text_stays_text(text):
    events = [
        RunStarted("a-1", text, text, text, 3),
        StepStarted("plan", 1),
        StepFinished("plan", 1, "done", (text, text, "x")),
        StepStarted("execute", 1, text),
        StepFinished("execute", 1, "failed", None, text),
        StepStarted("plan", 2),
        StepFinished("plan", 2, "done", (text + "!", text)),
        StepStarted("execute", 2, text),
        RunFinished("failed", None, text),
    ]
    shown = bundle(events)
    page = Page(shown["text/html"])
    assert all(line in page.text for line in visible(text).split("\n"))
    heads = [line for line in shown["text/plain"].split("\n") if line[:1].strip()]
    assert [head.partition(" ")[0] for head in heads[1:]] == ["0", "plan:", "step", "plan,", "step", "The"]
    for each in shown.values():
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff\ud800-\udfff]", each)


def test_no_secret_shows_in_a_title_or_a_reason():
    know("t0p-s3cret-0123456789", "it")
    events = [
        StepStarted("execute", 1, "a t0p-s3cret-0123456789 b" * 20),
        StepFinished("execute", 1, "failed", None, "x t0p-s3cret-0123456789"),
    ]
    shown = bundle(events)
    forget()
    assert not any("t0p" in each for each in shown.values())


def test_titles_are_in_the_order_of_the_plan():
    text = bundle(plan_run().events)["text/plain"]
    places = [text.index(f"[x] {n}. {title}") for n, title in enumerate(TITLES, 1)]
    assert places == sorted(places)
