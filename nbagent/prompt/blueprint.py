"""Blueprint: what all prompts of an agent are made of, whatever it is given in a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import ConfigError
from nbagent.messages import Message, Piece
from nbagent.prompt.examples import Examples, Place, example_messages
from nbagent.prompt.inputs import Text, pieces
from nbagent.prompt.output import Output
from nbagent.texts.pack import DEFAULT, Texts
from nbagent.texts.template import Slot, Template, fields_in, parse

if TYPE_CHECKING:
    from nbagent.prompt.formatters.formatter import Formatter

TemplateText = str | Sequence[str] | Sequence[Piece | Slot]
"""A template: a text, a list of its lines, or what a cell has made of one."""
Keys = Mapping[str, str] | Sequence[str]
"""Names with what they mean, or names alone."""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What all prompts of an agent are made of."""

    system: Template
    """The system text; places for fields are only in `instructions`."""
    system_label: str
    message: Template | None
    """The user's message; None where that is the task as it is."""
    examples: tuple[Message, ...]
    examples_in: Place
    output: Output
    writer: Formatter | None
    """Makes the user's payload text; None for paragraphs."""
    reader: Formatter | None
    """Reads the answer; None where that is text."""
    hide_unused_fields: bool
    pulled: Mapping[str, str] | None
    """The attributes that prompts use, with what they mean; None for all."""
    pushed: Mapping[str, str]
    """The output fields that become attributes."""
    texts: Texts
    """What nbagent itself says in them."""

    @property
    def fields(self) -> frozenset[str]:
        """The names of the fields that its templates take."""
        return fields_in(self.system) | fields_in(self.message or ())

    @property
    def answer_schema(self) -> Mapping[str, Any] | None:
        """The schema that a provider can hold an answer to; None where there is none, or answers are no JSON."""
        from nbagent.prompt.formatters.json_object import JsonFormatter

        return self.output.schema if isinstance(self.reader, JsonFormatter) and self.output.native else None


def blueprint(  # noqa: PLR0917 - all of them keywords of Agent
    system_prompt: Text | None = None,
    instructions: TemplateText | None = None,
    prompt_template: TemplateText | None = None,
    examples: Examples | None = None,
    examples_in: Place = "messages",
    output: Any = None,
    formatters: Any = None,
    hide_unused_fields: bool = False,
    pull_keys: Keys | None = None,
    push_keys: Keys | None = None,
    *,
    to_text: Callable[[Any], str],
    texts: Texts = DEFAULT,
) -> Blueprint:
    """The blueprint that an agent's options describe. Raises ConfigError.

    `to_text`: what a value that is no text is for a model. `texts`: what nbagent itself says.
    """
    if system_prompt is not None and instructions is not None:
        raise ConfigError("system_prompt and instructions: both give the system prompt; keep one of them")
    if examples_in not in ("messages", "prompt"):
        raise ConfigError(f"examples_in: expected 'messages' or 'prompt', got {examples_in!r}")
    pushed = _keys("push_keys", push_keys) or {}
    declared = _output(output, pushed)
    message = None if prompt_template is None else template("prompt_template", prompt_template)
    writer, reader = _formatters(formatters, reads=message is not None or len(declared) > 0)
    if reader is None and len(declared):
        raise _unread()
    return Blueprint(
        pieces("system prompt", system_prompt) if instructions is None else template("instructions", instructions),
        "system prompt" if instructions is None else "instructions",
        message, example_messages(examples, to_text), examples_in, declared, writer, reader, bool(hide_unused_fields),
        _keys("pull_keys", pull_keys), pushed, texts,
    )  # fmt: skip


def with_output(plan: Blueprint, output: Output) -> Blueprint:
    """The same blueprint, whose answer is read into this output: as JSON, where its formatters do not say how.

    Raises ConfigError where they say `text`, and where a push key is no field of the output.
    """
    _check_pushed(plan.pushed, output)
    if plan.reader is None and plan.writer is not None:
        raise _unread()
    from nbagent.prompt.formatters.known import formatter_named

    return replace(plan, output=output, reader=plan.reader or formatter_named("json"))


def _unread() -> ConfigError:
    return ConfigError(
        "formatters: `text` reads no answer, and output fields need one that is read; write [paragraph, json]"
    )


def _formatters(given: Any, *, reads: bool) -> tuple[Formatter | None, Formatter | None]:
    """What was given; else paragraphs, and JSON for an answer that is read."""
    if given is None and not reads:
        return None, None
    from nbagent.prompt.formatters.known import formatter_named, pair_of

    return pair_of(given) if given is not None else (None, formatter_named("json"))


def template(label: str, text: TemplateText) -> Template:
    """A template from what was given for it. Raises ConfigError."""
    if isinstance(text, str):
        return parse(text, label)
    parts: tuple[Any, ...] = tuple(text) if isinstance(cast("object", text), Sequence) else (text,)
    if all(isinstance(part, str) for part in parts):
        return parse("\n".join(parts), label)
    if not all(isinstance(part, Piece | Slot) for part in parts):
        raise ConfigError(f"{label}: expected a text or a list of lines, got {type(text).__name__}: {text!r}")
    return parts


def _keys(label: str, given: Any) -> Mapping[str, str] | None:
    if given is None:
        return None
    keys: dict[Any, Any] = {None: None}
    if isinstance(given, Mapping):
        keys = dict(cast("Mapping[Any, Any]", given))
    elif isinstance(given, list | tuple):
        keys = {name: "" if isinstance(name, str) else None for name in cast("Sequence[Any]", given)}
    if not all(isinstance(word, str) for pair in keys.items() for word in pair):
        raise ConfigError(
            f"{label}: expected names with descriptions, such as {{'city': 'where it is'}}; got {given!r}"
        )
    return keys


def _output(given: Any, pushed: Mapping[str, str]) -> Output:
    """What was given: fields, to which the pushed ones are added, or a type."""
    if given is None or isinstance(given, Mapping):
        fields = dict(cast("Mapping[str, Any]", given or {}))
        return Output({**fields, **{name: text for name, text in pushed.items() if name not in fields}})
    from nbagent.prompt.output_model import model_output

    try:
        output = model_output(given)
    except ConfigError as error:
        raise ConfigError(
            "output: expected fields such as {'mood': 'in one word', 'score': int}, or a type: "
            + str(error).removeprefix("output_schema: ")
        ) from None
    _check_pushed(pushed, output)
    return output


def _check_pushed(pushed: Mapping[str, str], output: Output) -> None:
    if lacking := [name for name in pushed if name not in output.described]:
        raise ConfigError(
            f"push_keys: expected fields of the output ({', '.join(output.described)}), got {', '.join(lacking)}; "
            "leave them out, or add them to the output"
        )
