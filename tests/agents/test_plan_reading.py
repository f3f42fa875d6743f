"""Plan reading: what a model writes as a plan, and what becomes of it."""

from __future__ import annotations

import json
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.agents.plan_reading import Plan, read_plan
from nbagent.prompt.formatters.reading import Unreadable

FENCE = "took the text out of a code fence"
OBJECT = "took the JSON object out of the text around it"
LIST = "took the list out of the text around it"
COMMAS = "removed trailing commas"
RAW = "escaped raw control characters in strings"
STRING = "closed an open string"
BRACKET = "closed 1 open bracket"
LITERAL = "read it as a Python literal"
NUMBERED = "read it as a numbered list"
BULLETS = "read it as a list with bullets"


def read(text):
    plan = read_plan(text)
    return plan.steps, plan.repairs


def refused(text):
    with pytest.raises(Unreadable) as caught:
        read_plan(text)
    return str(caught.value)


SOUND = {
    "an object": ('{"steps": ["a", "b"]}', ("a", "b")),
    "blanks around it": (' \n{"steps": ["a"]}\n', ("a",)),
    "other keys": ('{"reason": "x", "steps": ["a"], "n": 1}', ("a",)),
    "the key plan": ('{"plan": ["a", "b"]}', ("a", "b")),
    "both keys": ('{"plan": ["b"], "steps": ["a"]}', ("a",)),
    "both keys, and one of them a list": ('{"plan": ["b"], "steps": 2}', ("b",)),
    "a list": ('["a", "b"]', ("a", "b")),
    "no steps": ('{"steps": []}', ()),
    "nothing as steps": ('{"steps": null}', ()),
    "an empty text as steps": ('{"plan": ""}', ()),
    "an empty object": ("{}", ()),
    "an empty list": (" [ ] ", ()),
    "numbers": ('{"steps": [1, 2.5]}', ("1", "2.5")),
    "blanks in steps": ('["  a  b \\n\\tc ", "日\u3000本"]', ("a b c", "日 本")),
    "empty steps": ('["", " ", "a", {"step": ""}]', ("a",)),
    "step and description": ('[{"step": "Sum up", "description": "Add all."}]', ("Sum up: Add all.",)),
    "title and description": ('{"steps": [{"title": "Sum up.", "description": "Add all."}]}', ("Sum up: Add all.",)),
    "a task": ('[{"task": "a", "tool": "x"}]', ("a",)),
    "a description": ('[{"id": 1, "description": "a"}]', ("a",)),
    "a number as step": ('[{"step": 1, "description": "a"}, {"step": "2.", "title": "b"}]', ("a", "b")),
    "a numbered step": ('[{"step": "Step 1", "description": "a"}]', ("a",)),
    "numbers in front": ('["1. a", "2) b", "(3) c", "Step 4: d", "第5步：e", "６．f", "七", "**8.** g", "9、h"]',
                         ("a", "b", "c", "d", "e", "f", "七", "g", "h")),
    "numbers that belong to it": ('["3.5 kg", "2 eggs", "1.5", "Step 2 of x", "- x", "2024. x", "Step 1-2: x"]',
                                  ("3.5 kg", "2 eggs", "1.5", "Step 2 of x", "- x", "2024. x", "Step 1-2: x")),
    "numbers in front, of other kinds": ('["一、a", "②b", "3: c", "四", "五、六月", "9:30 d", "7: 8"]',
                                         ("a", "b", "c", "四", "五、六月", "9:30 d", "7: 8")),
    "nothing but a number": ('["Step 1", "第二步", "3."]', ("Step 1", "第二步", "3.")),
    "brackets in steps": ('["use [\\"x\\"] or {\\"steps\\": []}"]', ('use ["x"] or {"steps": []}',)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "steps"), SOUND.values(), ids=SOUND)
def test_what_is_written_as_asked_needs_no_repair(text, steps):
    assert read_plan(text) == Plan(steps, ())


def test_thinking_in_front_is_left_out():
    assert read('<think>["x"]</think>\n{"steps": ["a"]}') == (("a",), ("left out the model's thinking",))
    assert read("1. x\n</think>1. a") == (("a",), ("left out the model's thinking", NUMBERED))


MENDED = {
    "an object in a fence": ('```json\n{"steps": ["a"]}\n```', ("a",), (FENCE,)),
    "a list in a fence": ('```json\n["a", "b"]\n```', ("a", "b"), (FENCE,)),
    "a fence in prose": ('My plan:\n~~~\n["a"]\n~~~\nShall I?', ("a",), (FENCE,)),
    "nothing in a fence": ("It needs no steps:\n```json\n[]\n```", (), (FENCE,)),
    "an object in prose": ('Sure! {"plan": ["a"]} Is that fine?', ("a",), (OBJECT,)),
    "a list in prose": ('Sure! ["a", "]["] Is that fine?', ("a", "]["), (LIST,)),
    "a list of objects in prose": ('Sure:\n[{"step": "a"}, {"step": "b"}]', ("a", "b"), (LIST,)),
    "nothing in prose": ("It needs no steps: {}", (), (OBJECT,)),
    "a fence that holds prose, too": ('```\nSo:\n["a"]\nBye\n```', ("a",), (LIST,)),
    "commas": ('{"steps": ["a", "b",],}', ("a", "b"), (COMMAS,)),
    "commas in a list": ('["a", "b",]', ("a", "b"), (COMMAS,)),
    "a raw line end": ('["a\nb"]', ("a b",), (RAW,)),
    "a cut object": ('{"steps": ["a", "b', ("a", "b"), (STRING, "closed 2 open brackets")),
    "a cut list": ('["a", "b', ("a", "b"), (STRING, BRACKET)),
    "a cut list in a fence": ('```json\n["a",\n```\nBye', ("a",), (FENCE, COMMAS, BRACKET)),
    "all at once": ('So:\n```json\n["a\nb", "c",\n```', ("a b", "c"), (FENCE, COMMAS, RAW, BRACKET)),
    "a Python list": ("['a', \"it's b\"]", ("a", "it's b"), (LITERAL,)),
    "a Python list with brackets": ("So: ['a]', '{']", ("a]", "{"), (LIST, LITERAL)),
    "a Python list in a fence": ("```python\n['a', 'b',]\n```", ("a", "b"), (FENCE, LITERAL)),
    "a Python dict": ("{'steps': ('a', 'b')}", ("a", "b"), (LITERAL,)),
    "a byte order mark": ('\ufeff{"steps": ["a"]}', ("a",), (OBJECT,)),
}


@pytest.mark.parametrize(("text", "steps", "repairs"), MENDED.values(), ids=MENDED)
def test_json_and_python_are_found_and_mended(text, steps, repairs):
    assert read(text) == (steps, repairs)


LINES = {
    "1.": ("1. a\n2. b", ("a", "b"), (NUMBERED,)),
    "1)": ("1) a\n2) b", ("a", "b"), (NUMBERED,)),
    "(1)": ("(1) a\n（2）b", ("a", "b"), (NUMBERED,)),
    "Step 1": ("Step 1: a\nSTEP 2 - b\nstep 3. c", ("a", "b", "c"), (NUMBERED,)),
    "-": ("- a\n- b", ("a", "b"), (BULLETS,)),
    "*": ("* a\n* b", ("a", "b"), (BULLETS,)),
    "boxes": ("- [ ] a\n- [x] b", ("a", "b"), (BULLETS,)),
    "Chinese": ("第1步：a\n第二步，b\n第 3 步 c", ("a", "b", "c"), (NUMBERED,)),
    "Chinese words": ("步骤1：a\n步骤 2: b", ("a", "b"), (NUMBERED,)),
    "Chinese numerals": ("一、查\n二、写\n十、评\n十一、改\n二十、交", ("查", "写", "评", "改", "交"), (NUMBERED,)),
    "Chinese numerals in brackets": ("（一）a\n(二) b\n**三：** c", ("a", "b", "c"), (NUMBERED,)),
    "numbers below Chinese numerals": ("一、a\n1. b\n2. c\n二、d\n1. e", ("a 1. b 2. c", "d 1. e"), (NUMBERED,)),
    "circled numbers": ("①a\n② b\n❸ c\n⒋ d", ("a", "b", "c", "d"), (NUMBERED,)),
    "circled numbers below numbers": ("1. a\n①b\n②c\n2. d", ("a ①b ②c", "d"), (NUMBERED,)),
    "colons": ("1: a\n2: b\n3：c", ("a", "b", "c"), (NUMBERED,)),
    "wide digits": ("１．a\n２．b", ("a", "b"), (NUMBERED,)),
    "Chinese without blanks": ("1.做\n2、吃", ("做", "吃"), (NUMBERED,)),
    "German": ("Schritt 1: a\nSchritt 2: b", ("a", "b"), (NUMBERED,)),
    "bold": ("**1. a**\n**2.** b **c**\n3. **d**", ("a", "b **c**", "**d**"), (NUMBERED,)),
    "bold words": ("**Step 1:** a\n**Step 2: b** c\n**Step 3** d", ("a", "b c", "d"), (NUMBERED,)),
    "headings": ("### Step 1: a\n\n### Step 2: b", ("a", "b"), (NUMBERED,)),
    "text on the next line": ("Step 1\na\n\nStep 2:\n\n  b\n3", ("a", "b"), (LIST, NUMBERED)),
    "all of them 1": ("1. a\n1. b", ("a", "b"), (NUMBERED,)),
    "indented lines": ("1. a\n   b\n\n   c\n2. d\n\te", ("a b c", "d e"), (NUMBERED,)),
    "lists in it": ("1. a\n   1. b\n   2. c\n2. d\n   - e", ("a 1. b 2. c", "d - e"), (NUMBERED,)),
    "bullets that are not indented": ("1. a\n- b\n- c\n2. d\n- e", ("a - b - c", "d - e"), (NUMBERED,)),
    "numbers below words": ("Step 1: a\n1. b\n2. c\nStep 2: d\n1. e", ("a 1. b 2. c", "d 1. e"), (NUMBERED,)),
    "numbers below bullets": ("- a\n  1. b\n- c", ("a 1. b", "c"), (BULLETS,)),
    "all of it indented": ("  1. a\n     b\n  2. c\n 3. d", ("a b", "c", "d"), (NUMBERED,)),
    "right-aligned": (" 9. a\n10. b", ("a", "b"), (NUMBERED,)),
    "a step that runs on": ("1. a\nb\n\n2. c", ("a b", "c"), (NUMBERED,)),
    "prose": ("Here is it:\n\n1. a\n2. b\nThat is all.\n  Bye", ("a", "b"), (LIST, NUMBERED)),
    "prose between": ("1. a\n\nb\n\n2. c", ("a", "c"), (LIST, NUMBERED)),
    "bullets before": ("- x\n- y\n1. a\n2. b", ("a", "b"), (LIST, NUMBERED)),
    "numbers that go on": ("Begin:\n1. a\n2. b\n\nEnd:\n3. c", ("a", "b", "c"), (LIST, NUMBERED)),
    "a fence": ("```\n1. a\n2. b\n```", ("a", "b"), (FENCE, NUMBERED)),
    "a fence in prose": ("So:\n```\n- a\n- b\n```", ("a", "b"), (FENCE, LIST, BULLETS)),
    "an empty step": ("1. a\n2.\n3. b", ("a", "b"), (NUMBERED,)),
    "a rule": ("- a\n- b\n\n- - -\n***", ("a", "b"), (LIST, BULLETS)),
    "windows": ("1. a\r\n   b\r\n2. c\r\n", ("a b", "c"), (NUMBERED,)),
    "a key before": ("steps:\n- a\n- b", ("a", "b"), (LIST, BULLETS)),
    "JSON in steps": ('1. See {"steps": ["x"]}\n2. Sort\n ["b"]', ('See {"steps": ["x"]}', 'Sort ["b"]'), (NUMBERED,)),
    "a list in a sentence before": ('Given ["x", "y"]:\n1. a\n2. b', ("a", "b"), (LIST, NUMBERED)),
    "an index before": ('We have data["x"].\n- a', ("a",), (LIST, BULLETS)),
    "a citation": ("As in [1] and [2]:\n- a", ("a",), (LIST, BULLETS)),
    "other JSON before": ('Given {"x": 1} and []:\n- a', ("a",), (LIST, BULLETS)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "steps", "repairs"), LINES.values(), ids=LINES)
def test_lines_with_a_marker_are_steps(text, steps, repairs):
    assert read(text) == (steps, repairs)


@pytest.mark.parametrize(
    "text",
    [
        'First ["x"], no: {"steps": ["a"]}',
        '{"steps": ["x"]} or rather {"steps": ["a"]}',
        '{"steps": ["a"]} and not {"other": ["x", "y", "z"]}',
        '{"steps": ["a"]}\nNotes:\n- x\n- y',
        'Considerations:\n1. x\n2. y\n\n{"steps": ["a"]}',
        '1. x\n2. y\nSo:\n["a"]',
        '["a"]\n\nNotes:\n- x',
        '- x\n- y\n\nSo the plan is ["a"].',
        'I begin with {"steps": [oops]}.\n{"steps": ["a"]}',
        "Not ['x'] but\n```json\n[\"a\"]\n```",
        'Each is {"step": "x"}:\n["a"]',
        "With {x: 1} and { and [:\n\n1. a",
    ],
)
def test_of_several_the_likeliest_is_taken(text):
    assert read_plan(text).steps == ("a",)


REFUSED = {
    "empty": ("", "there is no JSON object in it, no list, and no numbered line"),
    "prose": ("I would begin with the sum.", "no numbered line"),
    "prose with numbers": ("1.5 litres\n2024. A year\n10 apples\n-x\nStep 2 is next", "no numbered line"),
    "an empty list in a sentence": ("The list [] is empty, and {} too.", "no numbered line"),
    "a text": ('"1. a"', "it is a string, not an object"),
    "a number": ("42", "it is a number, not an object"),
    "null": ("null", "it is null, not an object"),
    "another object": ('{"answer": "x"}', 'the object has no key "steps"'),
    "another object in prose": ('So: {"answer": ["x"]}', 'the object has no key "steps"'),
    "a text as steps": ('{"steps": "1. a"}', 'its "steps" is no list'),
    "raw lines as steps": ('{"plan": "1. a\n2. b"}', 'its "plan" is no list'),
    "null as step": ('["a", null]', "step 2 is no text"),
    "true as step": ('{"steps": [true]}', "step 1 is no text"),
    "a list as step": ('[["a"]]', "step 1 is no text"),
    "an object without a text": ('[{"step": 1}]', "step 1 is no text"),
    "broken JSON": ('{"steps": ["a", b]}', "Expecting value: line 1, column 17, before `b]}`"),
    "a broken list": ('["a": "b"]', "Expecting ',' delimiter"),
    "a missing comma": ('{"steps": ["a", "b"\n"c"]}', "a comma is missing between two of its texts"),
    "a missing comma in Python": ("So: ['a' 'b']", "a comma is missing between two of its texts"),
    "a bracket in a sentence": ('It begins with ["a", "b and so on.', "no numbered line"),
    "lists in a list": ('So: [["a"], ["b"]]', "step 1 is no text"),
    "Python that runs": ("[__import__('os').getcwd()]", "no numbered line"),
    "Python that runs in a step": ("['a', print('no')]", "Expecting value"),
    "a number too long": ("[{'step': 'a'}, 0x" + "F" * 5000 + "]", "step 2: Exceeds the limit"),
    "two lists": ("Aims:\n1. x\n2. y\n\nPlan:\n1. a\n2. b", "there is more than one list in it"),
    "two lists with bullets": ("Aims:\n- x\n- y\nPlan:\n- a\n- b", "there is more than one list in it"),
    "two lists with a heading": ("- x\n## Plan\n- a", "there is more than one list in it"),
    "two lists with a bold heading": ("- x\n**Plan**\n- a", "there is more than one list in it"),
    "two lists with Chinese numerals": ("一、x\n二、y\n\n计划\n\n一、a\n二、b", "there is more than one list in it"),
    "a dict of lines": ("{\n1: 'a',\n2: b\n}", "Expecting"),
    "two lists of one": ("Aims:\n1. x\n\nPlan:\n1. a", "there is more than one list in it"),
    "lines without text": ("1.\n2.", "the lines of its list are empty"),
}


@pytest.mark.parametrize(("text", "wrong"), REFUSED.values(), ids=REFUSED)
def test_anything_else_is_refused_and_the_model_is_told(text, wrong):
    expected, why, came, advice = refused(text).split("\n", 2)[:2] + refused(text).rsplit("\n", 1)
    assert expected.startswith('The answer cannot be read. Expected: {"steps": ["…", "…"]}, a JSON object')
    assert wrong in why
    assert "The answer was" in came
    assert advice == "Answer again with that object and nothing else: no text around it, no code fence."


STEPS = st.lists(st.text(max_size=12).filter(lambda text: text.split() and not any(map(str.isdigit, text))), max_size=4)


@given(STEPS, st.booleans(), st.sampled_from([None, 0, 2]))
def test_sound_json_is_read_as_it_is(steps, is_object, indent):
    text = json.dumps({"steps": steps} if is_object else steps, indent=indent)
    assert read(text) == (tuple([" ".join(step.split()) for step in steps if step.split()]), ())


@given(STEPS.filter(bool), st.booleans())
def test_what_is_around_it_changes_nothing(steps, is_object):
    text = json.dumps({"steps": steps} if is_object else steps)
    same = read_plan(text).steps
    assert read(f"Here:\n```json\n{text}\n```\nBye {{x}}") == (same, (FENCE,))
    assert read(f"So {{ or [ it is {text} :]") == (same, (OBJECT if is_object else LIST,))


@given(st.lists(st.text("abc -*(:", min_size=1, max_size=8).filter(str.strip), min_size=1, max_size=5))
def test_numbered_lines_are_read_as_they_are(steps):
    text = "\n".join(f"{number}. x{step}" for number, step in enumerate(steps, 1))
    assert read(f"So:\n\n{text}\n\nBye") == (tuple([" ".join(f"x{step}".split()) for step in steps]), (LIST, NUMBERED))


SAMPLE = 'Here:\n```json\n{"steps": ["1. a \\"b\\"", {"step": "c"}, 3,],}\n```\nBye [1]\n1. x\n   y\n- z\n'


def test_an_answer_that_is_cut_anywhere_is_read_or_refused():
    for start in range(len(SAMPLE)):
        for end in range(start, len(SAMPLE) + 1):
            with suppress(Unreadable):
                assert all(step.strip() == step != "" for step in read_plan(SAMPLE[start:end]).steps)


@given(st.text() | st.text("{}[]\"',:\\`~ \n\t\r\x01a1#.)*_-第步Step<think>/", max_size=40))
def test_any_text_is_read_or_refused(text):
    with suppress(Unreadable):
        assert all(step and step == " ".join(step.split()) for step in read_plan(text).steps)


UNIT = [
    "{", "[", '"', "\\", "`", "'", ",", "\n", " ", "\t", '{"', '{"a":', '{"a":[', '["', '[{"', "{}", "[]", '{"a":1}',
    "{'a':", "{ ", "[ {", '```\n{"\n', '``` ["', '```\n["\n', '```\n["\n```\n', '["a"', '["a",', '["a"]\n', "['",
    "['a',", '{""}',
    '{"steps": ["', '{"steps": [1]}\n', '[{"step":1},', "<think>", "# ", "1. ", "1. a\n", "1.\n", "- ", "- a\n", "-\n",
    "*", "**1.", "Step 1", "Step 1\n", "第", "第1步", "_", "(1", " a\n", "a\n", "a\n\n", "a:\n", "1. a\nb\n\n", "~~~",
    "- [ ] a\n", "一、", "一、a\n", "十", "①", "①a\n", "1: ", "1: a\n",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNIT)
def test_hostile_answers_are_quick(unit):
    """The lines of Python that run grow with the answer and not with its square; so do the steps of the patterns."""
    for before in ("", "1. a\n"):
        assert lines_run(before + unit * 800) < 6 * lines_run(before + unit * 200) + 1000
    attempt(unit * (50_000 // len(unit)))


def attempt(text):
    with suppress(Unreadable):
        read_plan(text)


def lines_run(text):
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        attempt(text)
    finally:
        sys.settrace(before)
    return count


def test_deep_nesting_is_refused():
    for text in ('{"steps":' * 50_000, "[" * 50_000 + "]" * 50_000 + "1", '["a", ' * 50_000, "So ['" + "[" * 50_000):
        refused(text)


def test_the_error_shows_no_secret():
    assert "sk-" not in refused("My key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF, no plan")
