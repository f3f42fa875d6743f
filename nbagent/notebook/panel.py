"""Panel: asks a person, inside the cell that is awaited, and waits for what they decide."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextvars import copy_context
from enum import Enum
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from IPython.core.error import StdinNotImplementedError

from nbagent.notebook.echo import page_of
from nbagent.notebook.front_end import somebody_is_there, way_to_ask
from nbagent.notebook.queued import runs_again
from nbagent.runtime.interrupts import HEARTBEAT, gated, interruptible, interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.notebook.root import Root

T = TypeVar("T")

SECOND_CLICK = 0.6
"""Seconds in which a second click may follow that was meant for the question before."""


class Unanswered(Enum):
    """Why nobody has decided."""

    NOBODY = "nobody is there to decide"
    LEFT = "the cell was started once more"
    """Its output, and the buttons with it, are gone then."""


class Question(ABC, Generic[T]):
    """Something that a person decides."""

    @abstractmethod
    def widgets(self, panel: Panel[T]) -> Sequence[Any]:
        """What to ask with, one below the other. Buttons are made by `panel.button`, and call `panel.decide`.

        Dynamic text only goes where it is escaped: into Label, Button and Textarea.
        """

    @abstractmethod
    def words(self, ask: Callable[[str], str]) -> T:
        """Asks line by line, where there are no buttons. `ask` gives what the person answers to a prompt."""


async def answer(shell: InteractiveShell, question: Question[T], root: Root) -> T | Unanswered:
    """What a person decides, while the cell is awaited. An interrupt ends the wait as CancelledError. `root`: where it
    is asked by buttons; whoever has made it closes it."""
    way = await way_to_ask(shell)
    if way == "nobody":
        return Unanswered.NOBODY
    if way == "buttons":
        return await Panel(shell, question, root).answer()
    with interrupts(awaited=True):
        return answer_in_words(question)


def answer_now(shell: InteractiveShell, question: Question[T]) -> T | Unanswered:
    """The same where nothing can be awaited, so that there are no buttons. An interrupt is KeyboardInterrupt."""
    return answer_in_words(question) if somebody_is_there(shell) else Unanswered.NOBODY


def answer_in_words(question: Question[T]) -> T | Unanswered:
    """What is answered to `input()`. An interrupt is KeyboardInterrupt."""
    try:
        with gated():
            return question.words(_input)
    except (EOFError, StdinNotImplementedError):
        return Unanswered.NOBODY


@interruptible
def _input(prompt: str) -> str:
    return input(prompt).strip()


class Panel(Generic[T]):
    """A question with buttons, which is gone when that is decided."""

    _last_decided = 0.0
    """When a click has decided about a question."""

    def __init__(self, shell: InteractiveShell, question: Question[T], root: Root) -> None:
        self._shell = shell
        self._root = root
        self._question = question
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        """That of the cell: what a click changes is sent as if the cell had done it."""
        self._decided: asyncio.Future[T] = self._loop.create_future()
        self._hears_from = 0.0
        """When clicks begin to count."""

    def button(self, label: str, action: Callable[[], object], style: str = "") -> Any:
        """A button. `action` is done on the event loop of the cell, when all has come that was written before the
        click; clicks after the decision do nothing."""
        import ipywidgets as widgets

        def clicked(_: Any) -> None:  # on ipykernel 7.0 to 7.3 on another thread
            page = page_of(self._shell)
            self._loop.call_soon_threadsafe(self._clicked, page, action, context=self._context)

        button = widgets.Button(description=label, button_style=style)
        button.on_click(clicked)
        return button

    def decide(self, decision: T) -> None:
        """Ends the wait; only the first one counts."""
        if not self._decided.done():
            self._decided.set_result(decision)

    def _clicked(self, page: str | None, action: Callable[[], object]) -> None:
        if not self._decided.done() and monotonic() >= self._hears_from:
            self._root.after(page, lambda: self._do(action))

    def _do(self, action: Callable[[], object]) -> None:
        if self._decided.done():
            return
        try:
            action()
        except Exception as error:  # noqa: BLE001 - nobody would see it; so the cell raises it
            self._decided.set_exception(error)
        if self._decided.done():
            Panel._last_decided = monotonic()

    def ask(self, then: Callable[[asyncio.Future[T]], object]) -> None:
        """Shows the question, and does not wait: `then` is told of the decision, on the event loop."""
        self._root.show(self._question.widgets(self))
        self._hears_from = Panel._last_decided + SECOND_CLICK
        self._decided.add_done_callback(then)

    async def answer(self) -> T | Unanswered:
        """Shows the question, and waits for the decision."""
        self._root.show(self._question.widgets(self))
        self._hears_from = Panel._last_decided + SECOND_CLICK
        try:
            found = await self._wait()
        except BaseException:
            self._root.close()
            raise
        if isinstance(found, Unanswered):
            self._root.close()
        else:
            self._root.clear()
        return found

    async def _wait(self) -> T | Unanswered:
        while not self._decided.done():
            if runs_again(self._shell):
                return Unanswered.LEFT
            await asyncio.wait([self._decided], timeout=HEARTBEAT)  # else an interrupt would not be noticed
        return self._decided.result()
