"""Thread: a conversation of a workflow, made from the user's prompt and gone on with in words of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.agents.edit import is_edited
from nbagent.agents.loop import Setup, take_turns
from nbagent.messages import Message, Piece, Prompt, Segment, Source
from nbagent.request import Messages
from nbagent.runtime.effects import Assemble

if TYPE_CHECKING:
    from collections.abc import Generator

    from nbagent.messages import Image
    from nbagent.runtime.effects import Effect, Outcome

_OF_THE_FORM = ("format", "output")
"""Sources of what a prompt says of the form of its answer, which only the last answer of a workflow has."""
_SPLIT = "\n\n"


class Thread:
    """Begins with the system text, examples and history of the user's prompt; grows by `keep`."""

    def __init__(self, prompt: Prompt, *, system: tuple[Piece, ...] = ()) -> None:
        """`system`: more system text. With it the thread begins anew, without examples and history."""
        self._prompt = prompt
        self._own = _system(prompt, system) if system else ()
        """The system text that its prompts tell, since no other has told it."""
        said = prompt.messages[:-1]
        if system:
            said = (Message("system", "".join([segment.text for segment in self._own])),)
        self._said = Messages(said)
        self._is_new = True
        self._edited: tuple[tuple[Piece, ...], Message] | None = None
        """What was said, and the message that a fork has put in its place."""

    def ask(self, setup: Setup, label: str, said: tuple[Piece, ...]) -> Generator[Effect, Any, Outcome]:
        """Says something to the model, until it has answered. Nothing of it is kept."""
        made = self._made(label, said, setup)
        prompt: Prompt = yield Assemble(lambda: made, setup.tools.schemas)
        message = Message("user", prompt.user, images=prompt.images)
        if is_edited(prompt, "user"):
            self._edited = said, message
        messages = self._before(prompt)
        messages += (message,)
        return (yield from take_turns(setup, prompt, messages))

    def _before(self, prompt: Prompt) -> Messages:
        """What was said before. A fork may have put another text in the place of a system text of its own."""
        if not (self._own and is_edited(prompt, "system")):
            return self._said.branch()
        return Messages((Message("system", prompt.system), *self._said[1:]))

    def keep(self, said: tuple[Piece, ...], answer: str) -> None:
        """What has been said and answered belongs to the thread from now on."""
        message = Message("user", "".join([piece.text for piece in said]), images=self._images)
        if self._edited is not None and self._edited[0] is said:
            message = self._edited[1]
        self._said += (message, Message("assistant", answer))
        self._is_new = False

    @property
    def _images(self) -> tuple[Image, ...]:
        return self._prompt.images if self._is_new else ()

    def _made(self, label: str, said: tuple[Piece, ...], setup: Setup) -> Prompt:
        """Only what is new: a plan of n steps would else hold n² / 2 messages."""
        segments = (*self._own, *[Segment("user", label, piece.text, piece.source) for piece in said])
        before = 0 if self._own else len(self._said)
        return Prompt(segments, (), setup.tools.schemas, self._images, before=before)


def _system(prompt: Prompt, more: tuple[Piece, ...]) -> tuple[Segment, ...]:
    own = tuple([segment for segment in prompt.segments if segment.kept and segment.role == "system"])
    added = [Segment("system", piece.source.detail, piece.text, piece.source) for piece in more]
    between = [Segment("system", "", _SPLIT, Source("framework", "layout"))] if own and added else []
    return (*own, *between, *added)


def whole(prompt: Prompt) -> tuple[Piece, ...]:
    """The user's message in pieces, with what it says of the form of the answer."""
    return tuple([Piece(s.text, s.source) for s in prompt.segments if s.kept and s.role == "user" and s.text])


def asked(prompt: Prompt) -> tuple[Piece, ...]:
    """The user's message in pieces, without what it says of the form of the answer."""
    if not any(s.kept and s.role == "user" and s.source.kind in _OF_THE_FORM for s in prompt.segments):
        return whole(prompt)
    if prompt.question is None:
        return whole(prompt)
    said = [
        s for s in prompt.segments if s.kept and s.role == "user" and s.source.kind not in (*_OF_THE_FORM, "framework")
    ]
    if "".join([s.text for s in said]) == prompt.question:
        return tuple([Piece(s.text, s.source) for s in said])
    return (Piece(prompt.question, Source("input", "question")),)
