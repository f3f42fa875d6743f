"""Branch: the beginning of a run, up to some turn and with an edit there, as that of another run."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from nbagent.agents.edit import complete
from nbagent.errors import ConfigError
from nbagent.events import (
    ApprovalDecided,
    ApprovalRequested,
    Event,
    ModelReplied,
    ModelRequested,
    Nested,
    PromptAssembled,
    RequestEdited,
    RunStarted,
    StepFinished,
    StepStarted,
    ToolReturned,
    ToolStarted,
)
from nbagent.messages import Observation
from nbagent.redact import redact
from nbagent.runtime.journal import CallEvent
from nbagent.store.open_places import open_places
from nbagent.tools.serialise import cut, describe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.agents.edit import Edit
    from nbagent.messages import ModelReply, ToolCall
    from nbagent.tools.registry import ToolRegistry


class Branch:
    """What a fork begins with."""

    def __init__(self, run_id: str, events: Sequence[Event], at: int, edit: Edit, tools: ToolRegistry) -> None:
        """Raises ConfigError for a turn or a call that the run has not, and for an edit that does not fit it."""
        self._events = [events[place] for place in open_places(events)]
        self._edit, self._tools = edit, tools
        self._where = f"{run_id}, turn {at}"
        asked = [place for place, event in enumerate(self._events) if isinstance(event, ModelRequested)]
        self._request = asked[_turn(run_id, at, len(asked)) - 1]
        self._edited: list[Event] = []
        self.events = tuple(self._made())
        """From the start of the run that is forked."""
        self.made_of = (*self.events, *self._edited)
        """The same, with the events of which something was edited and something is left."""

    def _made(self) -> list[Event]:
        edit = self._edit
        if edit.of_call:
            return self._with_call()
        if edit.reply is not None:
            return self._with_reply(edit.reply)
        start = self._request
        if start and isinstance(self._events[start - 1], RequestEdited):  # hooks are asked again
            start -= 1
        events = self._events[:start]
        return self._with_prompt(events) if edit.of_prompt else events

    def _with_reply(self, reply: ModelReply) -> list[Event]:
        """Up to a reply of the model, which is this one."""
        before = [one.reply for one in self._events[: self._request] if isinstance(one, ModelReplied)]
        replied = self._replied()
        made = sum(len(one.tool_calls) for one in before)
        said = complete(reply, None if replied is None else replied.reply, made)
        if replied is not None:
            event = replace(replied, reply=said, estimate=replied.estimate if said.usage is None else None)
        else:  # it never came: the script stands where the turn has found it
            asked = cast("ModelRequested", self._events[self._request])
            event = ModelReplied(asked.turn, said, self._position())
        return [*self._events[: self._request + 1], event]

    def _with_call(self) -> list[Event]:
        """Up to the end of a turn, with another observation of a call, or with other arguments and without all that
        came of it."""
        edit, replied = self._edit, self._replied()
        calls = () if replied is None else replied.reply.tool_calls
        if replied is None or edit.call >= len(calls):
            there = ", ".join([f"{number} {one.name}" for number, one in enumerate(calls)]) or "none"
            raise ConfigError(f"fork: {self._where}: no call {edit.call}; its calls, from 0: {there}")
        at = next(place for place, event in enumerate(self._events) if event is replied)
        about: list[CallEvent] = []
        for event in self._events[at + 1 :]:
            if not isinstance(event, CallEvent) or event.turn != replied.turn:
                break
            about.append(event)
        if not about:
            raise ConfigError(f"fork: {self._where}: its calls were never run, so there is none to edit")
        edited = [one for one in about if _index(one) == edit.call]
        rest = _settled(about, edit.call)
        if edit.arguments is None:
            made = self._returned(calls[edit.call], edited, replied)
            if not any(isinstance(one, ToolReturned) for one in edited):
                return [*self._events[: at + 1], *rest, *[one for one in edited if isinstance(one, ToolStarted)], made]
            others = set(map(id, rest))
            return [*self._events[: at + 1], *_in_place(about, edit.call, made, others)]
        call = calls[edit.call]
        edit.check_arguments(call.name, self._tools)
        self._edited.append(replied)
        others = (*calls[: edit.call], replace(call, arguments=edit.arguments), *calls[edit.call + 1 :])
        said = replace(replied, reply=replace(replied.reply, tool_calls=others))
        return [*self._events[:at], said, *rest]

    def _returned(self, call: ToolCall, known: Sequence[CallEvent], replied: ModelReplied) -> ToolReturned:
        """The observation that is put in another one's place."""
        before = next((one for one in known if isinstance(one, ToolReturned)), None)
        asked = next((one.call for one in known if isinstance(one, ToolStarted | ApprovalRequested)), call)
        call_id = asked.id if before is None else before.observation.call_id
        tool, value = self._tools.get(call.name), describe(self._edit.observation)
        text, full = cut(redact(value.text), _LONG if tool is None else tool.max_chars)
        made = Observation(call_id, text, value.status, images=value.images, data=value.data, full_text=full)
        position = replied.position if before is None else before.position
        return ToolReturned(replied.turn, self._edit.call, made, position)

    def _with_prompt(self, events: list[Event]) -> list[Event]:
        """With the prompt edited that the turn's conversation began with: that of its step, or of the run. The system
        text of a step is that of the run, where it has none of its own."""
        own, kind, step = -1, "", -1
        for place, event in enumerate(events):
            if isinstance(event, StepStarted | StepFinished):
                kind, step = event.kind if isinstance(event, StepStarted) else "", -1
            elif isinstance(event, PromptAssembled):
                own = place if own < 0 and kind != "compact" else own
                step = place if kind else step
        at = step if step >= 0 else own
        if at < 0:
            raise ConfigError(f"fork: {self._where}: its prompt was not assembled yet, so there is none to edit")
        system, user = dataclasses.replace(self._edit, user=None), dataclasses.replace(self._edit, system=None)
        if at != own >= 0 and not cast("PromptAssembled", events[at]).prompt.system:
            events = self._with_edit(events, own, system)
            return self._with_edit(events, at, user)
        return self._with_edit(events, at, self._edit)

    def _with_edit(self, events: list[Event], at: int, edit: Edit) -> list[Event]:
        if not edit.of_prompt:
            return events
        before = cast("PromptAssembled", events[at]).prompt
        after = edit.prompt(before)
        if bool(before.system) != bool(after.system) and any(isinstance(one, RequestEdited) for one in events):
            raise ConfigError(
                f"fork: {self._where}: a hook has edited requests before it, which a system prompt that is new or gone "
                "would shift; fork at turn 1, or keep one"
            )
        self._edited.append(events[at])
        events[at] = PromptAssembled(after)
        return events

    def _replied(self) -> ModelReplied | None:
        """The reply of the turn, as far as it came."""
        for event in self._events[self._request + 1 :]:
            if isinstance(event, ModelReplied):
                return event
            if isinstance(event, ModelRequested):
                break
        return None

    def _position(self) -> int:
        before = self._events[: self._request]
        return max((one.position for one in before if isinstance(one, RunStarted | ModelReplied)), default=0)


_LONG = 20_000
"""Characters of an observation of a tool that is there no more."""


def _turn(run_id: str, at: Any, turns: int) -> int:
    if isinstance(at, bool) or not isinstance(at, int):
        raise ConfigError(f"fork: at: expected the number of a turn, from 1; got {at!r}")
    if not 1 <= at <= turns:
        there = "it has none" if not turns else "it has 1" if turns == 1 else f"it has 1 to {turns}"
        raise ConfigError(f"fork: {run_id} has no turn {at}; {there}")
    return at


def _in_place(about: Sequence[CallEvent], call: int, made: ToolReturned, others: set[int]) -> Iterator[CallEvent]:
    """What there is about the calls of a turn, in its order, with another observation of one. `others`: what stays of
    the other calls, by the ids of the objects."""
    for one in about:
        if _index(one) == call:
            yield made if isinstance(one, ToolReturned) else one
        elif id(one) in others:
            yield one


def _index(event: CallEvent) -> int:
    return getattr(event, "index", -1)


def _settled(about: Sequence[CallEvent], but: int) -> list[CallEvent]:
    """What there is about the other calls of a turn. Questions about those that have not started are put anew: they
    belong to the run that is forked."""
    begun = {one.index for one in about if isinstance(one, ToolStarted | ToolReturned | Nested)}
    questions = (ApprovalRequested, ApprovalDecided)
    return [
        one for one in about if _index(one) != but and (not isinstance(one, questions) or one.index in begun)
    ]  # fmt: skip
