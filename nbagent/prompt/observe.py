"""observe: builds the prompt as a record, before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbagent.errors import ConfigError
from nbagent.messages import Field, Image, Message, Piece, Prompt, Segment, Source, ToolSchema
from nbagent.prompt.examples import in_prompt
from nbagent.texts.template import fill

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbagent.messages import Role
    from nbagent.prompt.blueprint import Blueprint
    from nbagent.prompt.context.block import ContextQuery
    from nbagent.prompt.inputs import Inputs

HIDDEN = "not used by a template, and hide_unused_fields is set"


class NothingToSay(ConfigError):
    """A run is given nothing that its prompt could say."""


@dataclass(frozen=True, slots=True)
class Context:
    """What passive providers gave to a prompt."""

    pieces: tuple[Piece, ...] = ()
    """The text that goes in."""
    dropped: tuple[Segment, ...] = ()
    """What does not, and why."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt as far as it is known from the agent and its inputs, before anybody else is asked."""

    blueprint: Blueprint
    system: tuple[Piece, ...]
    message: tuple[Piece, ...] | None
    """The template filled in, or the task; None where there is neither."""
    fields: Mapping[str, Field]
    """Inputs and attributes, by name."""
    attributes: tuple[Field, ...]

    @property
    def question(self) -> str:
        """What the user says in this run, without what the agent adds."""
        if self.message is not None:
            return "".join([piece.text for piece in self.message])
        pulled = {field.name for field in self.attributes if self.fields.get(field.name) is field}
        return "\n".join([f"{name}: {field.text}" for name, field in self.fields.items() if name not in pulled])

    def query(self, agent: str, history: tuple[Message, ...]) -> ContextQuery:
        """What context providers are asked."""
        from nbagent.prompt.context.block import ContextQuery
        from nbagent.prompt.context.query import query_text

        inputs = {name: _value(field) for name, field in self.fields.items()}
        message = "" if self.message is None else "".join([piece.text for piece in self.message])
        attributes = {field.name: _value(field) for field in self.attributes}
        return ContextQuery(query_text(inputs, message), inputs, attributes, agent, history)

    def prompt(
        self,
        history: tuple[Message, ...] = (),
        tools: tuple[ToolSchema, ...] = (),
        images: tuple[Image, ...] = (),
        context: Context | None = None,
    ) -> Prompt:
        """The whole prompt. Raises NothingToSay where there is nothing to say to the model."""
        context, plan = context or Context(), self.blueprint
        examples = plan.examples if plan.examples_in == "messages" else ()
        user = self._user(context.pieces)
        if not any(segment.text.strip() for segment in user):
            raise NothingToSay(
                "there is nothing to say to the model: give a task, a prompt_template or more input fields"
            )
        question = self.question
        said = None if question == "".join([segment.text for segment in user]) else question
        segments = (*self._system(), *user, *self._hidden(), *context.dropped)
        return Prompt(segments, history, tools, images, examples, said)

    def _system(self) -> tuple[Segment, ...]:
        plan = self.blueprint
        found = _segments("system", plan.system_label, self.system)
        if plan.examples_in == "prompt":
            found += _segments("system", "examples", in_prompt(plan.examples, bare=not found))
        return found

    def _user(self, context: tuple[Piece, ...]) -> tuple[Segment, ...]:
        plan = self.blueprint
        unused = [] if plan.hide_unused_fields else self._unused()
        if self.message and plan.message is None and plan.reader is None and not unused and not context:
            return _segments("user", "task", self.message)
        from nbagent.prompt.formatters.known import KNOWN
        from nbagent.prompt.formatters.use import instructions_of, laid_out
        from nbagent.prompt.payload import payload

        output = plan.output.told(plan.texts)
        rules = () if plan.reader is None else instructions_of(plan.reader, output, plan.texts)
        fields = payload(self.message, unused, texts=plan.texts, rules=rules, output=output, context=context)
        return tuple(_labelled(laid_out(plan.writer or KNOWN["paragraph"], fields)))

    def _unused(self) -> list[Field]:
        used = self.blueprint.fields
        return [field for name, field in self.fields.items() if name not in used]

    def _hidden(self) -> tuple[Segment, ...]:
        unused = self._unused() if self.blueprint.hide_unused_fields else ()
        return tuple([Segment("user", f.name, f.text, f.pieces[0].source, False, HIDDEN) for f in unused if f.pieces])


def draft(plan: Blueprint, inputs: Inputs, attributes: tuple[Field, ...] = ()) -> Draft:
    """Fills the templates. Raises ConfigError for a place in them that has no field."""
    fields = {field.name: field for field in inputs.fields}
    task = inputs.task
    if plan.message is not None and task and "task" not in fields:
        fields["task"] = Field("task", tuple([_as_input(piece) for piece in task]))
    elif plan.message is None and not task and "task" in fields and "task" not in plan.fields:
        task = fields.pop("task").pieces
    for field in attributes:
        fields.setdefault(field.name, field)
    system = fill(plan.system, fields, plan.system_label)
    message = (task or None) if plan.message is None else fill(plan.message, fields, "prompt_template")
    return Draft(plan, system, message, fields, attributes)


def _as_input(piece: Piece) -> Piece:
    return Piece(piece.text, Source("input", "task")) if piece.source.kind == "template" else piece


def _value(field: Field) -> Any:
    return field.text if field.value is None else field.value


def _segments(role: Role, label: str, pieces: tuple[Piece, ...]) -> tuple[Segment, ...]:
    return tuple([Segment(role, label, piece.text, piece.source) for piece in pieces])


def _labelled(pieces: tuple[Piece, ...]) -> list[Segment]:
    """The pieces of a payload, each called by the field that it is in."""
    label, found = "", list[Segment]()
    for piece in pieces:
        if piece.source.kind == "framework" and piece.source.detail.startswith("label "):
            label = piece.source.detail.removeprefix("label ")
        found.append(Segment("user", label, piece.text, piece.source))
    return found
