"""Sending: what a run asks a model, put down as what is new in it, and compared with what is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from nbagent.errors import DriftError
from nbagent.events import ModelRequested, RequestEdited
from nbagent.request import Messages
from nbagent.runtime.drift import changed_request, place_of
from nbagent.runtime.stretches import messages_in, stretches_of

if TYPE_CHECKING:
    from collections.abc import Generator

    from nbagent.runtime.consult import Consult
    from nbagent.runtime.effects import CallModel
    from nbagent.runtime.hooks import Hooks
    from nbagent.runtime.journal import Journal, Recording


class Sending:
    """The requests of one run, one after another."""

    __slots__ = ("_adopts", "_edited", "_hooks", "_journal", "_recording", "_said", "may_edit")

    def __init__(self, recording: Recording, journal: Journal, hooks: Hooks | None, *, adopts: bool = False) -> None:
        """`adopts`: whether the recorded replies count as those to the requests as they are now, whose prompt has been
        edited; else one that is not the recorded one is drift."""
        self._adopts = adopts
        self._recording = recording
        self._journal = journal
        self._hooks = hooks
        self._said = self._edited = Messages()
        self.may_edit = hooks is not None or recording.left
        """Whether a request may have been changed, or may be; else a turn does not even ask."""

    def edited(self, effect: CallModel) -> Generator[Consult]:
        """Puts in place what the recorded run has sent; where nothing is recorded, what the hooks make of it."""
        request, recording = effect.request, self._recording
        event = recording.take_if(RequestEdited)
        if event is not None:
            if self._adopts:
                event = replace(event, before=request.fingerprint())
                recording.amend(event)
            elif event.before != request.fingerprint():
                which = f"the one that {event.hook} changed"
                raise DriftError(self._changed(effect, which, event.before))
            sent = messages_in(event.stretches, request.messages, self._edited)
        else:
            if self._hooks is None or recording.left:
                return
            edit = yield from self._hooks.before_model(request)
            if edit is None:
                return
            sent = edit.messages
            stretches = stretches_of(sent, request.messages, self._edited)
            event = RequestEdited(effect.turn, edit.hook, stretches, request.fingerprint())
        self._journal.append(event)
        self._edited = sent
        effect.request = replace(request, messages=sent)

    def requested(self, effect: CallModel, said: Messages) -> ModelRequested:
        """What to put down of a request. `said`: the conversation, as no hook has changed it. Raises DriftError."""
        requested = ModelRequested(effect.turn, effect.request.fingerprint())
        recorded = self._recording.take(ModelRequested, effect.turn)
        if recorded is not None and self._adopts:
            self._recording.amend(requested)
            recorded = requested
        if recorded is not None and recorded != requested:
            raise DriftError(self._changed(effect, "the recorded one", recorded.fingerprint))
        self._said = said
        return recorded or requested

    def _changed(self, effect: CallModel, which: str, fingerprint: str) -> str:
        recorded = self._recording.taken
        said = changed_request(recorded, fingerprint, effect.request, self._said)
        return f"{place_of(recorded, effect.turn)}: the request differs from {which}: {said}"
