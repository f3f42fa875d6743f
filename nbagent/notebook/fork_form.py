"""Fork form: something of a turn is written otherwise, and the run goes on from there as another run."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from nbagent.errors import FOREIGN
from nbagent.notebook.edits import edits_of
from nbagent.notebook.run_named import name_of
from nbagent.runtime.compare import compare
from nbagent.runtime.interrupts import stoppable
from nbagent.tools.failure import headline
from nbagent.views.safe import inline

if TYPE_CHECKING:
    from nbagent.agents.base import BaseAgent
    from nbagent.messages import Prompt
    from nbagent.notebook.edits import Edit
    from nbagent.notebook.hands import Hands
    from nbagent.notebook.view_parts import ViewParts
    from nbagent.runtime.result import RunResult
    from nbagent.views.trace import Turn

WHAT, AS = "What is different", "What it is instead"
_NO_TURN = "No turn has begun yet: go to a later event."
_HOW = "The tools of the turns before do not run again. What is run on here is another run; this one stays as it is."


class ForkForm:
    """Its `widget`, and the fork that it has made last."""

    def __init__(self, agent: BaseAgent, name: str, result: RunResult, parts: ViewParts, hands: Hands) -> None:
        """`name`: of the agent in the notebook. `result`: the run that is forked."""
        self._agent, self._name, self._result = agent, name, result
        self._hands = hands
        self._at = 0
        self._edits: tuple[Edit, ...] = ()
        self._task: asyncio.Task[None] | None = None
        self._what = parts.choice(WHAT, [])
        self._text = parts.area(AS)
        self._go = parts.button("Run on from here", self._start, style="primary")
        self._stop = parts.button("Stop", self.stop, style="danger", shown=False)
        self._said = parts.told(_NO_TURN)
        self._shown = parts.html()
        hands.watch(self._what, self._choose, "index")
        buttons = parts.bar([self._go, self._stop])
        self.widget = parts.column([self._what, self._text, buttons, self._said, self._shown])
        self._choose()

    def show(self, at: int, turn: Turn | None, prompt: Prompt | None, wanted: tuple[str, str] = ("", "")) -> None:
        """What can be edited of a turn. `wanted`: the field that is offered first, and the tool that it is about."""
        if at == self._at and self._edits:
            return
        self._at = at
        self._edits = () if turn is None or prompt is None else edits_of(turn, prompt)
        field, tool = wanted
        fitting = [n for n, one in enumerate(self._edits) if one.field == field and tool in one.label]
        self._what.options = [one.label for one in self._edits]
        self._what.index = (fitting or [0])[0] if self._edits else None
        self._choose()

    def _choose(self) -> None:
        """Shows what there is now of what was chosen."""
        edit = self._edit
        may_write = edit is not None and bool(edit.field) and not edit.why_not
        self._text.value = edit.text if edit is not None else ""
        self._text.disabled = not may_write
        self._go.disabled = self._task is not None or edit is None or bool(edit.why_not)
        if self._task is None:
            self._say(_NO_TURN if edit is None else edit.why_not or _HOW)

    @property
    def _edit(self) -> Edit | None:
        index = self._what.index
        return self._edits[index] if index is not None and index < len(self._edits) else None

    # running on

    def _start(self) -> None:
        edit = self._edit
        if self._task is not None or edit is None:
            return
        try:
            options = edit.options(self._text.value)
        except ValueError as error:
            self._say(str(error), wrong=True)
            return
        self._task = self._hands.start(self._run(self._at, edit, options))

    async def _run(self, at: int, edit: Edit, options: dict[str, Any]) -> None:
        loop = asyncio.get_running_loop()
        self._running(is_running=True)
        self._say(f"{self._name} runs on from turn {at} ({edit.label}) …")
        said, wrong = "", True
        try:
            with stoppable(lambda: loop.call_soon_threadsafe(self.stop)) as listen:
                listen()
                result = await self._agent.afork(self._result, at=at, **options)
            said, wrong = self._told(result, at), False
            self._shown.value = compare(self._result, result, names=self._names(result)).bundle["text/html"]
        except (asyncio.CancelledError, KeyboardInterrupt):
            said = "It was stopped."
        except FOREIGN as error:
            said = headline(error)
        finally:
            self._task = None
            if not self._hands.is_closed:
                self._running(is_running=False)
                self._say(said, wrong=wrong)

    def _told(self, result: RunResult, at: int) -> str:
        before, name = self._names(result)
        status = result.status.replace("_", " ")
        return f"{name}, forked from {before} at turn {at}: {status}. `%agent view {name}` looks back at it."

    def _names(self, result: RunResult) -> tuple[str, str]:
        """Of the run, and of what was forked from it."""
        return name_of(self._agent, self._name, self._result), name_of(self._agent, self._name, result)

    def _running(self, *, is_running: bool) -> None:
        self._go.disabled = is_running
        self._stop.layout.display = "" if is_running else "none"

    def stop(self) -> asyncio.Task[None] | None:
        """Ends what runs on; what there is to wait for."""
        if self._task is not None:
            self._task.cancel()
        return self._task

    def _say(self, text: str, *, wrong: bool = False) -> None:
        self._said.value = inline(text)
        (self._said.add_class if wrong else self._said.remove_class)("nbagent-wrong")
