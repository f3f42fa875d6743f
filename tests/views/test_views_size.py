"""How much a saved output takes, whatever the run: what is shown whole, and what is said of the rest."""

import re

import pytest
from page import Page
from views_samples import long_run
from work_samples import call, planner, reflection_run, steps

from nbagent import Agent, ScriptedLLM
from nbagent.agents.sub_agent import AgentTool
from nbagent.events import ModelReplied, Nested, RunFinished, RunStarted, ToolReturned, ToolStarted
from nbagent.messages import Image, ModelReply, Observation, ToolCall, ToolFailure
from nbagent.runtime.result import RunResult
from nbagent.views.budget import WHOLE
from nbagent.views.bundle import bundle


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def plan_of(number, turns):
    """A plan of so many steps, each of so many turns with a tool call in all but the last."""
    script = [steps(*[f"Add up the numbers of part {n}" for n in range(1, number + 1)])]
    for step in range(1, number + 1):
        script += [call("add", {"a": step, "b": turn}) for turn in range(1, turns)]
        script.append(f"The sum of part {step} is {step * turns}.")
    return planner(*script, "All is added up.", tools=[add], max_turns=turns).run("Add it all up.")


def nested_of(number):
    """So many turns that call another agent."""
    helper = Agent("helper", ScriptedLLM([f"answer {n}" for n in range(number)]), "You help. " * 50)
    script = [call("helper", {"task": f"task {n}"}) for n in range(number)]
    tools = [AgentTool(helper)]
    return Agent("host", ScriptedLLM([*script, "done"]), "You ask.", tools=tools, max_turns=number + 1).run("go")


def size(events):
    return sum(len(each.encode()) for each in bundle(events).values())


def shown_turns(text):
    return [int(number) for number in re.findall(r"^ *turn (\d+)$", text, re.MULTILINE)]


def test_a_run_of_a_thousand_turns():
    ten, hundred, thousand, more = (size(long_run(turns)) for turns in (10, 100, 1_000, 10_000))
    assert ten < 25_000
    assert hundred < 65_000
    assert thousand < 110_000
    assert more < 1.05 * thousand


def test_a_plan_of_a_hundred_steps_with_ten_turns_each():
    assert size(plan_of(10, 10).events) < 75_000
    assert size(plan_of(100, 10).events) < 300_000


def test_what_is_more_than_the_budget_adds_little():
    assert size(plan_of(20, 100).events) < 1.1 * size(plan_of(20, 20).events)
    assert size(nested_of(400).events) < 1.1 * size(nested_of(200).events)
    one, two = (plan_of(number, 1).events for number in (300, 450))
    prompts = 3 * (450 - 300) * len("400. Add up the numbers of part 400\n") * 3  # which are whole
    assert size(two) - size(one) < 0.1 * size(one) + prompts


def test_up_to_the_budget_all_is_whole():
    for turns in (30, WHOLE):
        shown = bundle(long_run(turns))
        assert shown_turns(shown["text/plain"]) == list(range(1, turns + 1))
        assert not any("left out" in each or "shown whole" in each for each in shown.values())


def test_beyond_it_the_turns_nearest_to_the_ends_are_whole():
    shown = bundle(long_run(1_000))
    half = WHOLE // 2
    expected = [*range(1, half + 1), *range(1_001 - half, 1_001)]
    assert shown_turns(shown["text/plain"]) == expected
    assert [int(n) for n in re.findall(r"<b>Turn (\d+)</b>", shown["text/html"])] == expected
    assert [int(n) for n in re.findall(r"\*\*Turn (\d+)\*\*", shown["text/markdown"])] == expected
    assert f"wind {half:08}" in shown["text/plain"]
    Page(shown["text/html"])


def test_it_says_what_was_left_out_and_how_to_see_it():
    shown = bundle(long_run(1_000))
    note = "200 of 1,000 turns are shown whole: those nearest to the ends, and errors. "
    assert f"\n{note}weather.last.turns has all of them.\n" in shown["text/plain"]
    assert f"<p><small>{note}<code>weather.last.turns</code> has all of them.</small></p>" in shown["text/html"]
    assert f"{note}`weather.last.turns` has all of them." in shown["text/markdown"]
    assert "\nturns 101 to 900: get_weather ×800, left out: weather.last.turns[100:900]\n" in shown["text/plain"]
    line = "turns 101 to 900: <code>get_weather</code> ×800, left out: <code>weather.last.turns[100:900]</code>"
    assert line in shown["text/html"]
    assert "turns 101 to 900: `get_weather` ×800, left out: `weather.last.turns[100:900]`" in shown["text/markdown"]


def test_an_agent_whose_name_is_no_python_has_a_result():
    first, *rest = long_run(1_000)
    events = [RunStarted("a-1", "an agent", "m", "live", 10), *rest]
    assert "left out: turns[100:900] of its result" in bundle(events)["text/plain"]
    assert first.agent == "weather"


@pytest.mark.parametrize("run", [RunResult(tuple(long_run(700))), plan_of(30, 30), nested_of(400)])
def test_what_it_names_is_what_was_left_out(run):
    """Each range that it names, taken from the result, and each turn that is shown are all the turns together."""
    text = bundle(run.events)["text/plain"]
    named = re.findall(r"left out: \w+\.last\.(\S+)", text)
    left_out = [turn for each in named for turn in one_or_more(eval(each, {"turns": run.turns}))]
    assert len(left_out) + len(re.findall(r"^(?:  )?turn \d+$", text, re.MULTILINE)) == len(run.turns)
    spans = re.findall(r"^ *turns (\d+) to (\d+): ", text, re.MULTILINE)
    assert [(one[0].number, one[-1].number) for one in (eval(each, {"turns": run.turns}) for each in named)] == [
        (int(first), int(last)) for first, last in spans
    ]


def one_or_more(found):
    return found if isinstance(found, tuple) else [found]


def turns_with(*names, failing=()):
    """A run of a turn for each of these tools; those of these numbers fail."""
    events = [RunStarted("a-1", "a", "m", "live", 10)]
    for turn, name in enumerate(names, 1):
        asked = ToolCall(f"{turn}", name, "{}")
        failure = ToolFailure("exception", f"error of turn {turn}") if turn in failing else None
        observation = Observation(asked.id, f"result of turn {turn}", "error" if failure else "success", error=failure)
        events += [
            ModelReplied(turn, ModelReply("", (asked,))),
            ToolStarted(turn, 0, asked),
            ToolReturned(turn, 0, observation),
        ]
    return events


def test_errors_are_whole_wherever_they_are():
    shown = bundle(turns_with(*["look"] * 1_000, failing=(300, 500, 777)))
    for each in shown.values():
        assert [n for n in (300, 500, 777) if f"error of turn {n}" not in each] == []
    text = shown["text/plain"]
    assert len(shown_turns(text)) == WHOLE
    lines = [line.partition(":")[0] for line in text.split("\n") if "left out" in line]
    assert lines == ["turns 99 to 299", "turns 301 to 499", "turns 501 to 776", "turns 778 to 901"]


def test_many_errors_are_no_way_around_the_budget():
    events = turns_with(*["look"] * 3_000, failing=range(1, 3_001))
    assert size(events) < 200_000
    assert "2,800 turns with errors, left out" in bundle(events)["text/plain"]
    every_other = turns_with(*["look"] * 3_000, failing=range(1, 3_001, 2))
    assert size(every_other) < 300_000


def test_turns_that_call_different_tools_are_told_apart():
    names = ["look"] * 500 + ["write"] * 300 + ["a", "b", "c", "d"] * 100
    lines = [line for line in bundle(turns_with(*names))["text/plain"].split("\n") if "left out" in line]
    assert lines[0].startswith("turns 101 to 5")
    assert ": look ×" in lines[0]
    assert any(": write ×" in line for line in lines)
    assert re.search(r": a ×\d+, b ×\d+, c ×\d+ and \d+ more calls, left out", lines[-1])
    assert len(lines) <= 5


def test_the_fold_says_which_turns_are_in_it():
    html = bundle(turns_with(*["look"] * 1_000, failing=range(1, 140, 3)))["text/html"]
    title, inside = html.partition("<b>Turns ")[2].split("</summary>", 1)
    numbers = [int(number) for number in re.findall(r"\d+", re.sub("<.*?>|,", "", title))]
    first, last, count = numbers[:3]
    assert count == last - first + 1
    outside = [int(number) for number in re.findall(r"<b>Turn (\d+)</b>", html.partition("<b>Turns ")[0])]
    assert first == outside[-1] + 1
    assert f"<b>Turn {last}</b>" in inside


def test_figures_that_are_not_in_the_trace_are_counted():
    plot = Observation("1", "x", images=(Image(b""),))
    events = [
        ToolReturned(event.turn, 0, plot) if isinstance(event, ToolReturned) else event
        for event in turns_with(*["plot"] * 500)
    ]
    assert "plot ×300, 300 figures, left out" in bundle(events)["text/plain"]


def test_each_step_of_a_plan_shows_its_first_turn_and_its_result():
    shown = bundle(plan_of(100, 10).events)
    text = shown["text/plain"]
    assert text.index("[x] 100. Add up the numbers of part 100") < text.index("\nprompt\n")
    assert [n for n in range(1, 101) if f"The sum of part {n} is {n * 10}." not in text] == []
    assert text.count("  turns 2 to 9: add ×8, left out: solver.last.turns[") == 100
    assert "  turns 2 to 9: add ×8, left out: solver.last.turns[2:10]\n" in text
    Page(shown["text/html"])


def test_of_too_many_steps_those_in_the_middle_share_a_line():
    shown = bundle(plan_of(400, 1).events)
    text = shown["text/plain"]
    assert text.startswith("solver · scripted · completed · 400 of 400 steps")
    lines = re.findall(r"^  \[x\] .*left out.*$", text, re.MULTILINE)
    assert len(lines) == 1
    first, last = map(int, re.search(r"\] ([\d,]+) to ([\d,]+): ", lines[0]).groups())
    assert (
        lines[0]
        == f"  [x] {first} to {last}: {last - first + 1} steps done, left out: solver.last.plan[{first - 1}:{last}]"
    )
    assert f"\n  [x] {last + 1}. Add up" in text
    assert f"\nstep {first}: " not in text
    assert f"{first} to {last}: {last - first + 1} steps done, left out" in re.sub("<.*?>", "", shown["text/html"])
    Page(shown["text/html"])


def test_failed_steps_are_whole():
    titles = [f"Do {n}" for n in range(1, 601)]
    script = [call("add", {"a": 1, "b": 1}) if n == 300 else f"Result {n}" for n in range(1, 601)]
    text = bundle(planner(steps(*titles), *script, "done", tools=[add], max_turns=1).run("go").events)["text/plain"]
    assert "\n  [!] 300. Do 300: failed: no answer within max_turns=1\n" in text
    assert "\nstep 300: Do 300: failed" in text


def test_a_plan_that_has_hardly_begun_is_a_few_lines():
    run = planner(steps(*[f"Do {n}" for n in range(1, 1_001)]), tools=[])
    with pytest.raises(Exception, match="script"):
        run.run("go")
    text = bundle(run.last.events)["text/plain"]
    assert text.count("\n  [ ] ") == 101
    assert "\n  [ ] 52 to 950: 899 steps to do, left out: solver.last.plan[51:950]\n" in text


def test_of_too_many_rounds_those_in_the_middle_share_a_line():
    more = [text for n in range(3, 151) for text in (f"Text {n}.", f"Not yet {n}.")] + ["Last."]
    run = reflection_run(*more, end="No.", max_turns=150)
    text = bundle(run.events)["text/plain"]
    found = re.search(
        r"^rounds (\d+) to (\d+): (\d+) rounds, left out: writer\.last\.rounds\[(\d+):(\d+)\]$", text, re.MULTILINE
    )
    first, last, number, start, stop = map(int, found.groups())
    assert (number, start, stop) == (last - first + 1, first - 1, last)
    assert f"\nround {last + 1}: " in text
    assert "\nround 150: " in text


def test_an_answer_is_never_cut():
    answer = "word " * 40_000
    events = [*long_run(1_000)[:-1], RunFinished("completed", answer)]
    for each in bundle(events).values():
        assert answer.strip() in each


def test_runs_inside_share_the_budget():
    text = bundle(nested_of(400).events)["text/plain"]
    assert WHOLE - 5 < len(shown_turns(text)) <= WHOLE
    assert text.count("You help. " * 49) == 2  # in the tool's description, and in the first run
    assert text.index("run inside: helper") < text.index(
        "turns 51 to 351: helper ×301, left out: host.last.turns[50:351]"
    )


def test_a_long_run_inside_a_short_one():
    inner = [Nested(1, 0, event) for event in long_run(1_000)]
    asked = ToolCall("1", "weather", "{}")
    events = [
        RunStarted("b-1", "boss", "m", "live", 3),
        ModelReplied(1, ModelReply("", (asked,))),
        ToolStarted(1, 0, asked),
    ]
    text = bundle([*events, *inner])["text/plain"]
    assert len(shown_turns(text)) <= WHOLE
    assert re.search(r"left out: boss\.last\.turns\[0\]\.tool_calls\[0\]\.run\.turns\[\d+:\d+\]\n", text)
