from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.errors import CellError
from nbagent.notebook.options import RESERVED, LineMagic, Options, _parser, parse_options, split_line_magic
from nbagent.notebook.spec import ALIASES, STORED, CellSpec, flag


def refused(line):
    with pytest.raises(CellError) as caught:
        parse_options(line)
    return str(caught.value)


def test_flags_are_the_fields():
    flags = {word for action in _parser()._actions for word in action.option_strings}
    fields = {flag(field) for field in [*CellSpec.model_fields, *ALIASES]}
    assert flags == fields | {"-m", "-h", "--help"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", {}),
        ("bot", {"name": "bot"}),
        ("--name bot", {"name": "bot"}),
        (
            "bot -m scripted --max-turns 3 --quiet",
            {"name": "bot", "model": "scripted", "max_turns": "3", "quiet": "yes"},
        ),
        ("-m x bot", {"name": "bot", "model": "x"}),
        ("--quiet bot", {"name": "bot", "quiet": "yes"}),
        ("--llm x", {"model": "x"}),
        ("--system-prompt hi", {"system": "hi"}),
        ("--tools a,b", {"tools": "a,b"}),
        ("--tools=a,b", {"tools": "a,b"}),
        ("--tools 'a, b'", {"tools": "a, b"}),
        ("--tools ''", {"tools": ""}),
        ("--out r --script s", {"out": "r", "script": "s"}),
        ('--system "It\'s {x} $y `z`"', {"system": "It's {x} $y `z`"}),
        (r'--system "C:\new"', {"system": r"C:\new"}),
        ("--system a=b", {"system": "a=b"}),
        ("--system=-x", {"system": "-x"}),
        ("--system '- x'", {"system": "- x"}),
        ("--max-turns -1", {"max_turns": "-1"}),
        ("--system #x", {"system": "#x"}),
    ],
)
def test_options(line, said):
    assert parse_options(line) == Options(said)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--modle x", "unknown option `--modle`; did you mean `--model`?"),
        ("--mod x", "unknown option `--mod`"),
        ("-model x", "did you mean `--model`?"),
        ("--max_turns 3", "did you mean `--max-turns`?"),
        ("--goal {__import__('os').system('true')}", "unknown option `--goal`"),
        ("--", "unknown option `--`"),
        ("--model", "needs a value"),
        ("--system -x", "needs a value"),
        ("--quiet=no", "takes no value"),
        ("--model a --llm b", "2 times"),
        ("--quiet --quiet", "2 times"),
        ("a b", "expected one name"),
        ("--name a b", "expected one name"),
        ("a #comment", "expected one name"),
        ("it's", "never closed"),
        ('--system "x', "never closed"),
        ("x\\", "never closed"),
    ],
)
def test_refusals(line, says, capsys):
    message = refused(line)
    assert message.startswith("Magic line: ")
    assert says in message
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "line",
    ["--api-key VALUE", "--api-key=VALUE", "a --key VALUE", "--token VALUE", "--password 'VALUE'", "--apiKey VALUE",
     "-key VALUE", "-token=VALUE", "--openai-api-key VALUE", "--quiet=VALUE", "a VALUE", "--VALUE"],
)  # fmt: skip
def test_b02_a_credential_is_never_shown(line):
    assert "sk-123" not in refused(line.replace("VALUE", "sk-123456789012"))
    if "key" in line.lower():
        assert "rotate" in refused(line.replace("VALUE", "$api_key"))


@pytest.mark.parametrize("line", ["-h", "--help", "bot --help", "--bogus --help", "--help a b c"])
def test_help_is_a_value(line, capsys):
    found = parse_options(line)
    assert found.said == {}
    assert found.help
    for field, info in CellSpec.model_fields.items():
        assert f"{flag(field)} " in found.help
        assert info.description
        assert info.description in found.help
    assert capsys.readouterr() == ("", "")


def test_help_does_not_depend_on_the_terminal(monkeypatch):
    before = parse_options("-h")
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert parse_options("-h") == before


@pytest.mark.parametrize(
    ("line", "said", "task"),
    [
        ("", {}, ""),
        ("bot", {"name": "bot"}, ""),
        ("bot What's up?", {"name": "bot"}, "What's up?"),
        ('bot   say "hi"  -m x --help ', {"name": "bot"}, 'say "hi"  -m x --help '),
        ("-m x --quiet bot it's \\n", {"name": "bot", "model": "x", "quiet": "yes"}, "it's \\n"),
        ("--system 'a b' bot don't", {"name": "bot", "system": "a b"}, "don't"),
        ("--model=x bot hi", {"name": "bot", "model": "x"}, "hi"),
        ("-m -1 bot hi", {"name": "bot", "model": "-1"}, "hi"),
        ("--name bot What's up?", {"name": "bot"}, "What's up?"),
        ("--name bot reset the counter", {"name": "bot"}, "reset the counter"),
        ("bot reset", {"name": "bot"}, "reset"),
        ("bot {{x}} #1", {"name": "bot"}, "{{x}} #1"),
    ],
)
def test_a_line_runs_a_turn(line, said, task):
    assert split_line_magic(line) == LineMagic(Options(said), task)


@pytest.mark.parametrize("word", sorted(RESERVED - STORED - {"compare"}))
def test_subcommands(word):
    assert split_line_magic(f"{word} bot") == LineMagic(Options({"name": "bot"}), "", word)
    assert split_line_magic(word) == LineMagic(Options({}), "", word)
    assert split_line_magic(f"--quiet {word} bot it's") == LineMagic(
        Options({"quiet": "yes", "name": "bot"}), "it's", word
    )


@pytest.mark.parametrize("word", sorted(STORED))
def test_subcommands_about_runs_on_disk_take_no_name_of_an_agent(word):
    assert split_line_magic(f"--quiet {word} bot-1 --decision approve --note it's") == LineMagic(
        Options({"quiet": "yes"}), "bot-1 --decision approve --note it's", word
    )


def test_runs_to_compare_are_as_they_are_written():
    assert split_line_magic("--quiet compare a@1 b") == LineMagic(Options({"quiet": "yes"}), "a@1 b", "compare")


def test_line_help():
    assert split_line_magic("--help").options.help
    assert split_line_magic("reset --help").options.help


@pytest.mark.parametrize("line", ["What's up?", "--bogus bot hi", "-m", "--system 'x bot hi", "--api-key sk-1 bot"])
def test_lines_that_are_refused(line):
    with pytest.raises(CellError, match="Magic line"):
        split_line_magic(line)


@given(st.text() | st.text(alphabet="-mh=ab '\"\\\n", max_size=20))
def test_any_line_is_options_or_a_cell_error(line):
    for parse in (parse_options, split_line_magic):
        with contextlib.suppress(CellError):
            parse(line)


@given(st.text().filter(lambda text: not text[:1].isspace()))
def test_the_task_of_a_line_is_verbatim(task):
    assert split_line_magic(f"--quiet bot {task}").task == task
