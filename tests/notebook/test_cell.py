from __future__ import annotations

import contextlib
import keyword
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.errors import CellError
from nbagent.notebook.cell import Cell, lift_magic, parse_cell, parse_line
from nbagent.notebook.script import ScriptCall, ScriptCalls, ScriptText
from nbagent.notebook.spec import CellSpec


def refused(line, body):
    with pytest.raises(CellError) as caught:
        parse_cell(line, body)
    return str(caught.value)


WEATHER = """\
tools: [get_weather]
script:
  - call: get_weather
    args: {city: Copenhagen}
  - It's sunny and 24C in Copenhagen today.
system: |
  You are a careful {{role}}.
---
What's the weather in {{city}}?
"""


def test_the_weather_cell():
    cell = parse_cell("weather", WEATHER)
    assert cell == Cell(
        CellSpec(
            name="weather",
            tools=("get_weather",),
            script=(
                ScriptCalls((ScriptCall("get_weather", '{"city": "Copenhagen"}'),)),
                ScriptText("It's sunny and 24C in Copenhagen today."),
            ),
            system="You are a careful {{role}}.\n",
        ),
        "What's the weather in {{city}}?",
        has_header=True,
        task_lines=(10,),
    )
    assert cell.task_line == 10
    assert cell.origins == {
        "name": "option --name", "tools": "cell line 2", "script": "cell line 3", "system": "cell line 7"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "task", "has_header", "task_lines"),
    [
        ("hi", "hi", False, (2,)),
        ("\n\n  hi  \n\n there\n \n", "  hi  \n\n there", False, (4, 5, 6)),
        ("a: 1\nb", "a: 1\nb", False, (2, 3)),
        ("hi\r\nyou\r\n", "hi\nyou", False, (2, 3)),
        ("out: x\n---\nhi", "hi", True, (4,)),
        ("out: x\n--- \t\nhi", "hi", True, (4,)),
        ("out: x\r\n---\r\nhi\r\n", "hi", True, (4,)),
        ("out: x\n---\na\n---\nb", "a\n---\nb", True, (4, 5, 6)),
        ("---\na\n---\nb", "a\n---\nb", False, (3, 4, 5)),
        ("\n# note\n---\na", "a", False, (5,)),
        (" ---\nhi", " ---\nhi", False, (2, 3)),
        ("----\nhi", "----\nhi", False, (2, 3)),
        ("hi --- you", "hi --- you", False, (2,)),
        ("# NBVAL_SKIP\nhi", "hi", False, (3,)),
        ("hi\n  #NBVAL_IGNORE_OUTPUT\nyou", "hi\nyou", False, (2, 4)),
        ("# a heading\nhi # NBVAL_SKIP", "# a heading\nhi # NBVAL_SKIP", False, (2, 3)),
        ("out: x\n# NBVAL_SKIP\n---\n# NBVAL_SKIP\nhi", "hi", True, (6,)),
    ],
)
def test_header_and_task(body, task, has_header, task_lines):
    cell = parse_cell("", body)
    assert (cell.task, cell.has_header, cell.task_lines) == (task, has_header, task_lines)


@pytest.mark.parametrize("body", ["out: x\n---", "out: x\n---\n\n", "out: x\n---\n# NBVAL_SKIP\n"])
def test_a_header_with_an_empty_task_declares(body):
    cell = parse_cell("bot", body)
    assert cell.has_header
    assert cell.task == ""
    assert cell.spec.out == "x"


@pytest.mark.parametrize("body", ["", "\n", " \n\t\n", "# NBVAL_SKIP", "\n # NBVAL_SKIP\n\n"])
def test_an_empty_cell_says_what_to_write(body):
    message = refused("bot -m x", body)
    assert "%%agent weather" in message
    assert "What's the weather" in message


def test_nbval_lines_leave_no_trace_in_a_block_and_lines_stay_right():
    body = "# NBVAL_SKIP\nsystem: |\n  a\n  # NBVAL_X\n# NBVAL_Y\n  b\n{}---\nhi"
    assert parse_cell("", body.format("")).spec.system == "a\nb\n"
    assert refused("", body.format("oot: x\n")).startswith("Cell line 8: unknown key `oot`; did you mean `out`?")


def test_options_win_over_the_header():
    cell = parse_cell("bot --max-turns 3 --system ''", "name: other\nmax_turns: 4\nsystem: s\nmodel: m\n---\nhi")
    assert cell.spec == CellSpec(name="bot", max_turns=3, system="", model="m")


def test_help_needs_no_body():
    for line in ("--help", "bot -h", "--nonsense --help"):
        cell = parse_cell(line, "")
        assert cell.help
        assert cell == Cell(CellSpec(), help=cell.help)


def test_a_line():
    found = parse_line("-m x bot What's {{up}}?")
    assert found.subcommand is None
    assert found.cell == Cell(CellSpec(name="bot", model="x"), "What's {{up}}?")
    assert found.cell.task_lines == ()
    assert found.cell.task_line == 1
    assert parse_line("reset bot").subcommand == "reset"
    assert parse_line("reset bot").cell.spec.name == "bot"
    assert parse_line("reset").cell.spec.name == "agent"
    assert parse_line("--help").cell.help
    assert parse_line("").cell == Cell(CellSpec())


# Attack table B


def test_b01_the_line_is_not_expanded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    goal = "{__import__('os').system('touch pwn')}"
    assert "unknown option `--goal`" in refused(f"a --goal {goal}", "hi")
    assert parse_cell(f'a --system "{goal}"', "hi").spec.system == goal
    assert not (tmp_path / "pwn").exists()


def test_b02_a_key_on_the_line():
    message = refused("a --key $api_key", "hi")
    assert "$api_key" not in message
    assert "environment variable" in message


@pytest.mark.parametrize("prefix", ["", "system: ", "script:\n - "])
def test_b03_python_tags(prefix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    attack = f'{prefix}!!python/object/apply:os.system ["touch pwn"]'
    assert refused("", f"{attack}\n---\nhi").startswith(f"Cell line {2 + prefix.count(chr(10))}:")
    assert parse_cell("", attack).task == attack
    assert not (tmp_path / "pwn").exists()


def test_b04_laughs():
    lines = ["a: &a [lol, lol]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in pairwise("abcdefghi")]
    assert refused("", "\n".join([*lines, "---", "hi"])).startswith("Cell line 2:")


def test_b05_the_same_key_twice():
    message = refused("", "tools: [a]\nout: x\ntools: [b]\n---\nhi")
    assert "Cell line 4" in message
    assert "cell line 2" in message


@pytest.mark.parametrize("value", ["-1", "1e9", '"3"', ".nan", "true"])
def test_b06_a_wrong_number(value):
    message = refused("", f"max_turns: {value}\n---\nhi")
    assert message.startswith("Cell line 2: `max_turns` must be a whole number from 1 to 10,000")


def test_b07_tools_keep_their_names_and_their_line():
    cell = parse_cell("", "tools: [search, no_such]\n---\nhi")
    assert cell.spec.tools == ("search", "no_such")
    assert cell.origins["tools"] == "cell line 2"


def test_b08_braces_arrive_byte_for_byte():
    text = "{client.api_key} {0.__class__} {{ config }}"
    cell = parse_cell("", f"system: '{text}'\n---\n{text}")
    assert cell.spec.system == cell.task == text


def test_b09_a_key_in_the_header():
    message = refused("", "api_key: sk-ant-api03-AbCdEf\n---\nhi")
    assert message.startswith("Cell line 2:")
    assert "sk-ant" not in message
    assert "rotate" in message


@pytest.mark.parametrize("first", ["%%agent other", "!rm -rf x", "%run evil.py", "?x", "$x {y} `z`"])
def test_b11_magics_in_the_body_are_text(first):
    assert parse_cell("", f"{first}\nmore").task == f"{first}\nmore"
    assert lift_magic(["%%agent\n", f"{first}\n"]) == ["%%agent\n", f"{first}\n"]


# Any text


TEXT = st.text() | st.text(alphabet="ab:-?[]{},&*!|>'\"%@#\\ \n\r\t\x0c\u2028", max_size=80)
PLAIN = st.lists(
    st.sampled_from(["", "  ", "---", "# NBVAL_SKIP", " ## NBVAL_X y", "out: x", "text", "  text {{x}}", "#c"])
)


@given(TEXT, TEXT)
def test_any_text_is_a_cell_or_a_cell_error(line, body):
    for parse in (lambda: parse_cell(line, body), lambda: parse_cell("", body), lambda: parse_line(line)):
        with contextlib.suppress(CellError):
            parse()


@given(st.text(st.characters(exclude_characters="\r")))
def test_without_a_header_the_task_is_the_body(body):
    try:
        cell = parse_cell("", body)
    except CellError:
        assert not body.strip() or "---" in body or "NBVAL_" in body
        return
    if not re.search("^---[ \t]*$|NBVAL_", body, re.MULTILINE):
        assert cell.task in body
        assert not body.replace(cell.task, "", 1).strip()


@given(PLAIN)
def test_task_lines_are_the_lines_of_the_body(lines):
    body = "\n".join(lines)
    try:
        cell = parse_cell("", body)
    except CellError:
        return
    assert "NBVAL_" not in f"{cell.spec}{cell.task}"
    if cell.task:
        assert [lines[number - 2] for number in cell.task_lines] == cell.task.split("\n")
    assert 2 <= cell.task_line <= len(lines) + 2


PARTS = ["out: x", "# c", "", "# NBVAL_SKIP", "system: |\n  a\n\n  b", "tools:\n - a\n - b"]


@given(st.lists(st.sampled_from(PARTS), unique=True), st.data())
def test_an_unknown_key_is_reported_on_its_line(parts, data):
    at = data.draw(st.integers(0, len(parts)))
    body = "\n".join([*parts[:at], "oops: 1", *parts[at:], "---", "oops: 1"])
    assert refused("", body).startswith(f"Cell line {body.split(chr(10)).index('oops: 1') + 2}: unknown key `oops`")


@given(st.text(alphabet="abcxyz_", min_size=1))
def test_every_plain_name_is_an_agent_name(name):
    if not keyword.iskeyword(name) and name not in ("abs", "_"):
        assert parse_cell(name, "hi").spec.name == name


# Lifting the magic to the first line


@pytest.mark.parametrize(
    ("lines", "lifted"),
    [
        (["%%agent a\n", "hi\n"], ["%%agent a\n", "hi\n"]),
        (["# c\n", "\n", "%%agent a\n", "hi\n"], ["%%agent a\n", "\n", "\n", "hi\n"]),
        (["# NBVAL_SKIP\n", "%%agent\n", "hi\n"], ["%%agent\n", "\n", "hi\n"]),
        (["%%agent\n"], ["%%agent\n", "\n"]),
        (["%%agent"], ["%%agent\n", "\n"]),
        (["# c\n", "%%agent -h"], ["%%agent -h\n", "\n"]),
        (["%%agent\n", "\n"], ["%%agent\n", "\n"]),
        ([], []),
        (["# only a comment\n"], ["# only a comment\n"]),
        (["# c\n", "%%agentx\n", "hi\n"], ["# c\n", "%%agentx\n", "hi\n"]),
        (["# c\n", "%%agent?\n"], ["# c\n", "%%agent?\n"]),
        (["# c\n", "%agent a hi\n"], ["# c\n", "%agent a hi\n"]),
        (["x = 1\n", "%%agent a\n"], ["x = 1\n", "%%agent a\n"]),
        (["# c\n", "%%planner a\n", "hi\n"], ["# c\n", "%%planner a\n", "hi\n"]),
        (["# c\n", "%%plan a\n", "hi\n"], ["%%plan a\n", "\n", "hi\n"]),
        (["# c\n", "%%reflect a\n", "hi\n"], ["%%reflect a\n", "\n", "hi\n"]),
        (["%%bash\n", "%%agent a\n"], ["%%bash\n", "%%agent a\n"]),
    ],
)
def test_lift(lines, lifted):
    before = list(lines)
    assert lift_magic(lines) == lifted
    assert lift_magic(lifted) == lifted
    assert lines == before


def test_lift_other_magics():
    assert lift_magic(["\n", "%%plan a\n", "x\n"], ("agent", "plan")) == ["%%plan a\n", "\n", "x\n"]


@given(st.lists(st.sampled_from(["# c\n", "\n", "  \n", "%%agent a\n", "%%agent\n", "%%agentx\n", "hi\n", "%%agent"])))
def test_lift_twice_is_lift_once_and_body_lines_stay(lines):
    lifted = lift_magic(lines)
    assert lift_magic(lifted) == lifted
    if lifted is not lines:
        first = lines.index(lifted[0]) if lifted[0] in lines else lines.index(lifted[0].rstrip("\n"))
        assert lifted[first + 1 :] in (lines[first + 1 :], ["\n"])
