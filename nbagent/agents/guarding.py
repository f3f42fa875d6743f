"""Guarding: a loop whose question is checked before it begins, and whose answer before it ends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbagent.errors import ConfigError
from nbagent.messages import Field, Piece
from nbagent.runtime.effects import Check, Effect, Outcome
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from nbagent.agents.guardrail import Guardrail
    from nbagent.agents.task import Task
    from nbagent.models.model import Model
    from nbagent.runtime.effects import Loop

_TASK = "task"


class Guardrails(Struct, frozen=True):
    """The guardrails of an agent."""

    input: tuple[Guardrail, ...] = ()
    output: tuple[Guardrail, ...] = ()

    def around(self, task: Task, model: Model, work: Callable[[Task], Loop]) -> Loop:
        """The loop of a task, between its checks. `work`: the loop of a task as it is after the first of them."""
        return _guarded(self, task, model, work) if self.input or self.output else work(task)


def _guarded(guardrails: Guardrails, task: Task, model: Model, work: Callable[[Task], Loop]) -> Loop:
    if guardrails.input:
        said: Piece | None = yield Check("input", guardrails.input, _question(task), model)
        task = task if said is None else _about(said, task)
    outcome = yield from work(task)
    if guardrails.output and outcome.status == "completed":
        return (yield from _checked(guardrails, task, model, outcome))
    return outcome


def _checked(guardrails: Guardrails, task: Task, model: Model, outcome: Outcome) -> Generator[Effect, Any, Outcome]:
    """The same outcome, or one with another answer."""
    said: Piece | None = yield Check("output", guardrails.output, outcome.said, model)
    if said is None:
        return outcome
    read = task.prompting.read
    if read is None:
        return Outcome(outcome.status, said.text, outcome.stop_reason, said.text)
    try:
        value = read(said.text).value
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(
            f"{said.source.detail} has made something of the answer that cannot be read: {error}"
        ) from error
    return Outcome(outcome.status, value, outcome.stop_reason, said.text)


def _question(task: Task) -> str:
    """What the user says: the task; where there is none, all of the input fields, as the prompt has them."""
    field = _field(task)
    if field is not None:
        return field.text
    return task.inputs.text or task.draft.question


def _about(said: Piece, task: Task) -> Task:
    """The same task in other words. Raises ConfigError where there are no words that could be replaced."""
    inputs, who = task.inputs, said.source.detail
    if not said.text.strip():
        raise ConfigError(
            f"{who} has made an empty text of the task; return a message in place of Rewrite to stop the run"
        )
    field = _field(task)
    if field is not None:
        fields = tuple([Field(_TASK, (said,)) if one is field else one for one in inputs.fields])
        return replace(task, inputs=type(inputs)(inputs.task, fields))
    if not inputs.task:
        names = ", ".join(one.name for one in inputs.fields) or "none"
        raise ConfigError(
            f"{who} returned Rewrite, and the run has no task that it could replace, only input fields ({names}); "
            "give what it may rewrite as the field `task`"
        )
    return replace(task, inputs=type(inputs)((said,), inputs.fields))


def _field(task: Task) -> Field | None:
    """The input field that is the task."""
    inputs = task.inputs
    if inputs.task and task.prompting.blueprint.message is None:
        return None
    return next((one for one in inputs.fields if one.name == _TASK), None)
