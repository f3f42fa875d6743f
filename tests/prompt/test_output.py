"""Output: how fields are declared, told to the model, and checked."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal, Optional

import pytest
from pydantic import AfterValidator, BaseModel, Field

from nbagent import Agent, ScriptedLLM
from nbagent.errors import ConfigError
from nbagent.prompt.output import InvalidAnswer, Output, type_named


class Colour(Enum):
    red = "red"
    blue = "blue"


class Item(BaseModel):
    name: str
    count: int = 1


@dataclass
class Point:
    x: int
    y: int


def small(text):
    return text.lower()


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("the mood", "the mood"),
        ("int", "int"),
        (int, "int"),
        ("list[str]", "list[str]"),
        (dict[str, float], "dict[str, float]"),
        ("str | None", "str | None"),
        (Optional[int], "int | None"),  # noqa: UP045
        (Literal["a", "b"], "one of 'a', 'b'"),
        ('Literal["a", "b"]', "one of 'a', 'b'"),
        (("int", "from 0 to 10"), "int: from 0 to 10"),
        ((bool, "whether"), "bool: whether"),
        (Annotated[str, AfterValidator(small)], "str"),
    ],
)
def test_what_the_model_is_told_of_a_plain_type(declared, told):
    assert Output({"a": declared}).told() == {"a": told}


@pytest.mark.parametrize(
    ("declared", "parts"),
    [
        (Colour, ('"enum": ["red", "blue"]',)),
        (list[Item], ('"count"', '"items"')),
        (Colour | None, ('"enum": ["red", "blue"]', '"null"')),
        (Point, ('"x"', '"y"')),
        (Annotated[int, Field(ge=0, description="how many")], ('"minimum": 0', "how many")),
    ],
)
def test_what_the_model_is_told_of_other_types_is_their_schema(declared, parts):
    [told] = Output({"a": declared}).told().values()
    assert all(part in told for part in parts)
    assert " at 0x" not in told
    assert __name__ not in told


@pytest.mark.parametrize("declared", [object(), list["Nowhere"], type("Odd", (), {})])  # noqa: F821
def test_a_type_that_cannot_be_checked_is_refused_at_once(declared):
    with pytest.raises(ConfigError, match="output: a: "):
        Agent("a", ScriptedLLM(["never"]), output={"a": declared})


def test_values_are_checked_and_made():
    output = Output({"c": Colour, "i": list[Item], "p": Point, "n": "int", "t": "a text"})
    found = output.checked({"n": "3", "more": 1, "t": 5, "i": [{"name": "x"}], "c": "red", "p": {"x": 1, "y": 2}})
    assert list(found) == ["c", "i", "p", "n", "t", "more"]
    assert found == {"c": Colour.red, "i": [Item(name="x")], "p": Point(1, 2), "n": 3, "t": 5, "more": 1}
    with pytest.raises(InvalidAnswer) as raised:
        output.checked({"c": "green", "i": [{}], "p": 1, "n": "many"})
    for part in ("t: missing", "c: input should be 'red' or 'blue'", "i.0.name: field required", "n: input should be"):
        assert part in str(raised.value)


@pytest.mark.parametrize(
    "text", ["the mood", "int or so", "open", "__import__('os')", "list[x]", "a.b", "1", "", "lambda: 1"]
)
def test_text_that_names_no_type_is_a_description(text):
    assert type_named(text) is None


def test_answers_of_any_type_are_shown_and_handed_on_as_json():
    bot = Agent(
        "a",
        ScriptedLLM(['{"c": "red", "i": {"name": "x"}, "p": {"x": 1, "y": 2}}']),
        output={"c": Colour, "i": Item, "p": Point},
    )
    result = bot.run("go")
    assert result["i"] == Item(name="x")
    assert '"c": "red"' in str(result)
    assert '"count": 1' in str(result)
    assert '"y": 2' in result._repr_mimebundle_()["text/plain"]
    boss = Agent("b", ScriptedLLM([ScriptedLLM.tool_call("ask"), "ok"]), tools=[ask_with(result)])
    assert '"name": "x"' in boss.run("go").tool_calls[0].observation.text


def ask_with(result):
    def ask() -> object:
        """Ask."""
        return result

    return ask


def test_a_run_is_replayed_after_the_class_of_a_value_was_defined_anew():
    def described():
        class Thing(BaseModel):
            name: str

        return {"t": Thing}

    bot = Agent("a", ScriptedLLM(['{"t": {"name": "x"}}']), output=described())
    result = bot.run("go")
    bot.become(Agent("a", ScriptedLLM([]), output=described()))
    assert bot.replay(result.events).status == "completed"


def test_fields_with_the_text_reader_are_refused():
    for options in ({"output": {"a": "x"}}, {"push_keys": ["a"]}):
        with pytest.raises(ConfigError, match="formatters: `text` reads no answer, and output fields need one"):
            Agent("a", ScriptedLLM([]), formatters=["paragraph", "text"], **options)


def test_prompts_of_all_kinds_of_values_are_the_same_with_every_hash_seed():
    code = """
from enum import Enum
from nbagent import Agent
class C(Enum):
    a = "x"
    b = "y"
bot = Agent("a", object(), instructions="Be {tone}.", prompt_template="On {topic}.", output={"c": C, "d": "text"},
            examples=[({"tags": {"alpha", "beta", "gamma"}}, {"x"})], attributes={"tone": "kind", "z": {3, 1, 2}})
prompt = bot.observe({"topic": {"b", "a", "c"}, "more": {"k": {"z", "y"}}, "n": None, "t": True})
print(prompt.system, prompt.user, prompt.messages, [str(s.source) for s in prompt.spans])
"""
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60,
            env={"PYTHONHASHSEED": str(seed), "PATH": ""},
        ).stdout
        for seed in range(20)
    }  # fmt: skip
    assert len(printed) == 1


@pytest.mark.parametrize(
    ("formatters", "answer"),
    [
        ("tagged", '<tags>["a", "b"]\n<n>3'),
        ("markdown", '# tags\n\n["a", "b"]\n\n# n\n\n3'),
        ("paragraph", 'tags:\n["a", "b"]\nn: 3'),
    ],
)
def test_fields_of_other_types_can_be_read_from_texts(formatters, answer):
    bot = Agent("a", ScriptedLLM([answer]), output={"tags": "list[str]", "n": int}, formatters=formatters)
    assert bot.run("go").final_output == {"tags": ["a", "b"], "n": 3}
