"""How much a saved output takes, whatever the run: what is shown whole, and what is said of the rest."""

import re

import nbformat
import pytest
from page import Page
from views_samples import long_run
from work_samples import call, planner, reflection_run, steps

from nbagent import Agent, ApprovalPolicy, ScriptedLLM, tool
from nbagent.agents.sub_agent import AgentTool
from nbagent.events import ModelFailed, ModelReplied, Nested, Noted, RunFinished, RunStarted, ToolReturned, ToolStarted
from nbagent.messages import Image, ModelReply, Observation, Reasoning, ToolCall, ToolFailure
from nbagent.runtime.result import RunResult
from nbagent.views.budget import WHOLE
from nbagent.views.bundle import bundle
from nbagent.views.place import Place
from nbagent.views.text import blocks_text
from nbagent.views.trace import Trace
from nbagent.views.transcript import transcript


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def look(at: str, code: str) -> str:
    """Look."""
    return at + code


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


def whole_text(events):
    """A run as text with all that HTML and Markdown show of it."""
    return blocks_text(transcript(Place.of(Trace.of(events))))


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


def saved(events):
    """Bytes of a notebook that holds the output and nothing else."""
    output = nbformat.v4.new_output("display_data", data=bundle(events))
    cell = nbformat.v4.new_code_cell("", id="a", outputs=[output])
    return len(nbformat.writes(nbformat.v4.new_notebook(cells=[cell])).encode())


@pytest.mark.parametrize("word", ["word ", "字", '"<&>\n'])
@pytest.mark.parametrize(("asked", "found", "told"), [(60, 200, 300), (500, 2_000, 2_000)])
def test_a_long_plan_that_says_much_stays_as_small(asked, found, told, word):
    @tool
    def search(query: str) -> str:
        """Search."""
        return f"{query[:20]}: {word * (found // len(word))}"

    script = [steps(*[f"Part {n} {'title ' * 10}" for n in range(100)])]
    for n in range(100):
        script += [call("search", {"query": f"{n}.{m} {word * (asked // len(word))}"}) for m in range(9)]
        script.append(f"Result {n} {word * (told // len(word))}")
    result = planner(*script, "All is done.", tools=[search], max_turns=10).run("Go.")
    assert saved(result.events) < 300_000
    shown = bundle(result.events)
    for text in shown.values():
        assert "100 of 100 steps done" in text
        assert "All is done." in text
    assert re.search(r"\d+ steps done, left out: `?solver.last.plan", shown["text/markdown"].replace("\\", ""))
    Page(shown["text/html"])


def test_a_long_reflection_that_says_much_stays_as_small():
    more = [text for n in range(3, 101) for text in (f"Text {n} {'word ' * 200}", f"Not yet {n}. {'why ' * 100}")]
    result = reflection_run(*more, "Last.", end="No.", max_turns=100)
    assert saved(result.events) < 300_000
    assert re.search(r"\d+ rounds, left out", bundle(result.events)["text/plain"])


def big_run(turns, text, big=""):
    """As many turns that observe the text; the one in the middle observes the big one."""
    events = long_run(turns)
    for at, event in enumerate(events):
        if isinstance(event, ToolReturned):
            said = big if big and event.turn == turns // 2 else f"{event.turn} {text}"
            events[at] = ToolReturned(event.turn, 0, Observation(event.observation.call_id, said))
    return events


def test_a_run_of_a_thousand_turns_that_observes_much():
    for text in ("word " * 400, '"<&>\n' * 400, '[{"a": 1, "b": "two"}, {"a": 2, "b": "three"}]' + " " * 1_950):
        events = big_run(1_000, text, "x" * 1_000_000)
        assert saved(events) <= 400_000
        assert "1,000 turns are shown whole" in bundle(events)["text/plain"]


def test_of_a_long_text_the_ends_are_shown_and_where_the_whole_is():
    text = "BEGIN" + "m" * 1_000_000 + "END"
    events = big_run(4, "x", text)
    for shown in bundle(events).values():
        plain = re.sub("<.*?>", "", shown)
        assert "BEGIN" in shown
        assert "mEND" in shown
        assert "… 988,008 of 1,000,008 characters left out" in plain
        assert "weather.last.turns[1].tool_calls[0].observation" in plain
        assert len(shown) < 40_000
    assert eval("turns[1].tool_calls[0].observation", {"turns": RunResult(tuple(events)).turns}).text == text


def test_of_each_text_of_a_long_reply_the_ends_are_shown():
    long = "m" * 30_000
    call = ToolCall("1", "look", '{"code": "' + long + '"}')
    observation = Observation("1", "ok", printed=long)
    reply = ModelReply(long, (call,), reasoning=(Reasoning("m", {}, long),))
    events = [RunStarted("a-1", "a", "m", "live", 10), ModelReplied(1, reply)]
    events += [ToolStarted(1, 0, call), ToolReturned(1, 0, observation), Noted(1, long)]
    for shown in bundle(events).values():
        assert shown.count("characters left out") == 5


def test_whatever_is_cut_names_the_events_and_so_in_every_format():
    long = "m" * 30_000
    call = ToolCall("1", "look", '{"code": "' + long + '"}')
    events = [RunStarted("a-1", "a", "m", "live", 10), ModelFailed(1, 1, "server", long)]
    events += [ModelReplied(1, ModelReply("", (call,), reasoning=(Reasoning("m", {}, long),))), ToolStarted(1, 0, call)]
    events += [Noted(1, long), Noted(1, long, told=False), RunFinished("failed", None, long)]
    for shown in bundle(events).values():
        assert shown.count("characters left out: ") == 6
        assert shown.count("a.last.events") == 6


def test_a_long_critique_is_cut_in_every_format():
    for shown in bundle(reflection_run(critique="m" * 30_000).events).values():
        assert re.search(r"characters left out: \W*(<code>)?writer\.last\.events", shown)


def test_a_plan_of_a_few_steps_is_whole_however_much_it_says():
    text = "word " * 4_000
    shown = bundle(planner(steps("a", "b", "c"), text, text, text, "done").run("Go.").events)
    assert [shown[format].count(text.strip()) >= 3 for format in shown] == [True] * 3


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
    text = whole_text(run.events)
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
    run = plan_of(100, 10)
    shown, text = bundle(run.events), whole_text(run.events)
    assert text.index("[x] 100. Add up the numbers of part 100") < text.index("\nprompt\n")
    assert [n for n in range(1, 101) if f"The sum of part {n} is {n * 10}." not in text] == []
    assert text.count("  turns 2 to 9: add ×8, left out: solver.last.turns[") == 100
    assert "  turns 2 to 9: add ×8, left out: solver.last.turns[2:10]\n" in text
    Page(shown["text/html"])


def test_of_too_many_steps_those_in_the_middle_share_a_line():
    run = plan_of(400, 1)
    shown, text = bundle(run.events), whole_text(run.events)
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
    [(first, last, number)] = re.findall(
        r"(\d+) to (\d+): (\d+) steps done, left out", re.sub("<.*?>", "", shown["text/html"])
    )
    assert int(number) == int(last) - int(first) + 1
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
    text = whole_text(run.last.events)
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


# the plain text of a long plan, which is what a log of CI shows


def text_of_plan(number, turns):
    return bundle(plan_of(number, turns).events)["text/plain"]


def test_the_text_of_a_long_plan_is_its_head_and_its_tail():
    text = text_of_plan(100, 10)
    lines = text.split("\n")
    assert len(lines) < 200
    assert [line for line in lines if line.startswith("  [")] == [
        *[f"  [x] {n}. Add up the numbers of part {n}" for n in (1, 2, 3)],
        "  [x] 4 to 97: 94 steps done, left out: solver.last.plan[3:97]",
        *[f"  [x] {n}. Add up the numbers of part {n}" for n in (98, 99, 100)],
    ]
    assert "14 of 1,002 turns are shown whole" in lines[2]
    assert [line for line in lines if line.startswith("step ")] == [
        f"step {n}: Add up the numbers of part {n}" for n in (1, 2, 3, 98, 99, 100)
    ]
    assert lines[-2:] == ["answer", "  All is added up."]


def test_the_text_grows_no_more_and_html_and_markdown_stay_as_they_are():
    hundred, more = (bundle(plan_of(number, 1).events) for number in (100, 450))
    assert hundred["text/plain"].count("\n") == more["text/plain"].count("\n") < 200
    for format, step in (("text/html", "<summary>"), ("text/markdown", "**Step ")):
        assert hundred[format].count(step) > 99
    # Twice the same.
    assert bundle(plan_of(100, 1).events) == hundred


def test_long_texts_of_a_long_plan_are_cut_short_and_its_answer_is_not():
    answer = "\n".join(f"line {n}" for n in range(1, 31))
    forged = "\n".join(["x"] * 20 + ["… 7 lines left out"] * 20)
    script = [steps(*[f"part {n}" for n in range(20)]), forged, *["done"] * 19, answer]
    text = bundle(planner(*script).run("Add it all up.").events)["text/plain"]
    assert text.endswith("\nanswer\n  " + answer.replace("\n", "\n  "))
    assert "\n      x\n      x\n    … 28 lines left out\n      … 7 lines left out\n" in text
    assert [line for line in text.split("\n") if line.startswith("    … ")] == [
        "    … 14 lines left out",  # of the plan, in the prompt of the first step
        "    … 28 lines left out",
    ]


def test_long_lines_of_a_long_plan_are_cut_short_and_its_answer_is_not():
    answer, forged = "word " * 20_000, "x" * 3_000 + "… 7 characters left out"
    script = [steps("say " + "s" * 5_000, *[f"part {n}" for n in range(19)]), *[forged] * 20, answer]
    text = bundle(planner(*script).run("Add it all up.").events)["text/plain"]
    assert text.endswith(f"\nanswer\n  {answer}")
    beside = text.removesuffix(answer).split("\n")
    assert max(map(len, beside)) < 1_100
    number = beside.count("    … 2,023 characters left out")
    assert number == beside.count("      " + "x" * 500) == beside.count("      " + forged[-500:]) > 5
    # On one line with our words, it is said there.
    assert any(line.startswith("step 1: say sss") and "s … 4,012 characters left out s" in line for line in beside)


def test_a_secret_is_masked_before_a_line_is_cut():
    secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
    script = [steps(*[f"part {n}" for n in range(20)]), "x" * 480 + f" {secret} " + "y" * 900, *["done"] * 19, "End."]
    text = bundle(planner(*script).run("Go.").events)["text/plain"]
    assert "characters left out" in text
    assert "abcdef" not in text


def test_nothing_of_what_a_long_plan_waits_for_is_cut():
    code = "".join(f"print({number})  # {'x' * 60}\n" for number in range(50))
    script = [steps(*[f"part {n}" for n in range(20)]), call("look", {"at": "y" * 9_000 + "END", "code": code})]
    plan = planner(*script, tools=[look], approvals=ApprovalPolicy(approve=["look"]))
    text = bundle(plan.run("Go.").events)["text/plain"]
    assert all(f"print({number})  # {'x' * 60}\n" in text for number in range(50))
    assert f'at: "{"y" * 9_000}END"\n' in text


def test_what_failed_in_the_middle_of_a_long_plan_is_in_its_text():
    script = [steps(*[f"part {n}" for n in range(1, 41)]), *["done"] * 19, "", "", *["done"] * 20, "Done."]
    text = bundle(planner(*script).run("Go.").events)["text/plain"]
    assert "\n  [!] 20. part 20: failed: the model gave no usable reply" in text
    assert "\nstep 20: part 20: failed" in text
    assert "39 of 40 steps done, 1 failed" in text


def test_a_plan_that_waits_lists_the_first_and_the_last_of_its_steps():
    agent = planner(steps(*[f"part {n}" for n in range(1, 41)]))
    text = bundle(agent.propose("Go.").events)["text/plain"]
    assert [line for line in text.split("\n") if line.startswith("  [")] == [
        *[f"  [ ] {n}. part {n}" for n in (1, 2, 3)],
        "  [ ] 4 to 37: 34 steps to do, left out: solver.last.plan[3:37]",
        *[f"  [ ] {n}. part {n}" for n in (38, 39, 40)],
    ]


def test_a_plan_of_a_few_steps_and_a_long_conversation_are_told_as_ever():
    few = text_of_plan(12, 4)
    assert "left out" not in few
    assert few.count("\nstep ") == 12
    assert "200 of 300 turns are shown whole" in bundle(long_run(300))["text/plain"]
