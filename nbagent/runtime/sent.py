"""Sent: what each turn of a run has sent. It is in no event as such: it is made again of what the events hold, and is
known to be exact where it has the hash that was put down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nbagent.events import (
    ModelReplied,
    ModelRequested,
    Noted,
    PromptAssembled,
    RequestEdited,
    StepFinished,
    ToolReturned,
)
from nbagent.messages import Message, Prompt
from nbagent.request import Messages, parts_of
from nbagent.runtime.stretches import messages_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbagent.events import Event
    from nbagent.messages import ModelReply, Observation

_TRIED = 16
"""How many conversations of one length are kept in mind, of which one may go on."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The request of one turn."""

    prompt: Prompt
    """That of its conversation; its tools are those of the request."""
    messages: Messages
    fingerprint: str
    """That of the request."""

    @property
    def is_exact(self) -> bool:
        """Whether these are known to be the very messages that were sent."""
        return parts_of(self.fingerprint).get("messages") == self.messages.digest


def sent_in(events: Iterable[Event]) -> tuple[Sent, ...]:
    """The requests of all turns of a run in their order, of a plan or a reflection those of all its steps. Not those of
    runs inside."""
    made: list[Sent] = []
    talk = _Talk()
    for event in events:
        match event:
            case PromptAssembled(prompt):
                talk.begin(prompt)
            case RequestEdited():
                talk.edit = event
            case ModelRequested(_, fingerprint):
                made.append(talk.requested(fingerprint))
            case ModelReplied():
                talk.reply = event.reply
            case ToolReturned(_, index, observation):
                talk.observed[index] = observation
            case Noted(_, text, told=True):
                talk.notes.append(text)
            case StepFinished(output=str(text)):
                talk.answers.append(text)
            case _:
                pass
    return tuple(made)


class _Talk:
    """The conversation that goes on, and those before it."""

    def __init__(self) -> None:
        self.edit: RequestEdited | None = None
        self.reply: ModelReply | None = None
        self.observed: dict[int, Observation] = {}
        self.notes: list[str] = []
        self.answers: list[str] = []
        """What the step that has ended came to."""
        self._prompt = Prompt(())
        self._first: Prompt | None = None
        self._may_be: list[Messages] = [Messages()]
        """What its messages may be, until a hash tells which they are."""
        self._edited = Messages()
        self._before: dict[int, list[Messages]] = {}
        """Conversations that may go on, by their length."""

    def begin(self, prompt: Prompt) -> None:
        """Another conversation begins, or one before it goes on."""
        if self._first is not None:
            self._keep()
        first = self._first = self._first or prompt
        self._prompt, self.reply = prompt, None
        self._forget()
        self._remember(Messages(first.messages[:-1]))
        if prompt.before:
            known = self._before.get(prompt.before) or [Messages()]
            self._may_be = [one.branch() + prompt.messages for one in known]
        else:
            self._may_be = [Messages(prompt.messages)]
            self._remember(Messages(prompt.messages[:-1]))

    def _keep(self) -> None:
        """The conversation that has ended may go on, with what was asked and answered last."""
        first = self._first or self._prompt
        said = dict.fromkeys([self._prompt.user, first.user, first.question or first.user])
        answered: list[str] = [*self.answers, *([self.reply.content] if self.reply else [])]
        pictures = dict.fromkeys([self._prompt.images, ()])
        start = self._prompt.before or len(self._prompt.messages) - 1
        known = [Messages(one[:start]) for one in self._may_be]
        for text in dict.fromkeys(answered):  # each time that an answer is written anew, it follows the question alone
            more = (Message("user", first.user, images=first.images), Message("assistant", text))
            self._remember(Messages(first.messages[:-1]) + more)
        for past in known:
            for question in [Message("user", text, images=images) for images in pictures for text in said]:
                for text in dict.fromkeys(answered):
                    more = (question, Message("assistant", text))
                    self._remember(past.branch() + more)
        self.answers.clear()

    def _remember(self, messages: Messages) -> None:
        several = self._before.setdefault(len(messages), [])
        if len(several) < _TRIED and messages not in several:
            several.append(messages)

    def requested(self, fingerprint: str) -> Sent:
        """The request of the turn that begins."""
        more = tuple(self._turn())
        self._forget()
        self.reply = None
        self._may_be = [one + more for one in self._may_be] if more else self._may_be
        edit, self.edit = self.edit, None
        if edit is not None:
            self._settle(edit.before)
            self._edited = messages_in(edit.stretches, self._may_be[0], self._edited)
            return Sent(self._prompt, self._edited, fingerprint)
        self._settle(fingerprint)
        return Sent(self._prompt, self._may_be[0], fingerprint)

    def _settle(self, fingerprint: str) -> None:
        digest = parts_of(fingerprint).get("messages")
        if len(self._may_be) > 1:
            self._may_be = [one for one in self._may_be if one.digest == digest][:1] or self._may_be[:1]

    def _turn(self) -> Iterator[Message]:
        """What the turn that has ended adds."""
        reply = self.reply
        if reply is not None and reply.tool_calls:
            observed = [self.observed[index] for index in sorted(self.observed)]
            ids = {index: one.call_id for index, one in self.observed.items()}
            calls = [replace(call, id=ids.get(n, call.id)) for n, call in enumerate(reply.tool_calls)]
            yield Message("assistant", reply.content, tuple(calls), reasoning=reply.reasoning)
            yield from [one.message for one in observed]
        elif reply is not None and reply.content.strip():
            yield reply.message
        yield from [Message("user", text) for text in self.notes]

    def _forget(self) -> None:
        self.observed.clear()
        self.notes.clear()
