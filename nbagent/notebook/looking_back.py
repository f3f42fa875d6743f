"""Looking back: a run that has ended, as widgets: its events one by one, what was sent and what came, and forks."""

# pyright: basic
# ipywidgets is not typed.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.notebook.fork_form import ForkForm
from nbagent.notebook.hands import Hands
from nbagent.notebook.identity import running_cell
from nbagent.notebook.root import Root
from nbagent.notebook.run_named import name_of
from nbagent.notebook.spot import Spot
from nbagent.notebook.view_parts import ViewParts
from nbagent.notebook.view_style import STYLE
from nbagent.notebook.view_tabs import ViewTabs
from nbagent.views.moments import KINDS
from nbagent.views.safe import escape, inline
from nbagent.views.words import count

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.agents.base import BaseAgent
    from nbagent.runtime.result import RunResult
    from nbagent.views.moments import Moment

_KEPT = "Looking back: the run above, event by event. The slider and the buttons work as long as this kernel runs."
RUN, PROMPT, REQUEST, REPLY, CHANGES, FORK = TABS = ("Run so far", "Prompt", "Request", "Reply", "Changes", "Fork")
_LESS = 30
"""Characters of the name of a tool in the list of what may be shown."""


class LookingBack:
    """One view of one run. Only what is looked at is sent to the page, and not more than ten times a second."""

    def __init__(self, shell: InteractiveShell, agent: BaseAgent, name: str, result: RunResult) -> None:
        """`name`: of the agent in the notebook. Its cell may end; it needs an event loop that runs."""
        self.cell = running_cell(shell)
        self._root = Root(shell, Spot(shell), _KEPT)
        self._hands = Hands(shell, self._root, self._fail)
        self._tabs = ViewTabs(agent, result)
        self._parts = ViewParts(self._hands)
        self._title = f"{name_of(agent, name, result)}, looking back"
        self._form = ForkForm(agent, name, result, self._parts, self._hands)
        self._filters = _filters(self._tabs.moments)
        self._make()

    @property
    def is_closed(self) -> bool:
        return self._hands.is_closed

    def _make(self) -> None:
        parts = self._parts
        self._slider = parts.slider("Event", len(self._tabs.moments))
        self._at = parts.html("", "nbagent-at")
        self._search = parts.field("Search", "in prompts, replies, arguments, results")
        self._hits = parts.told()
        self._filter = parts.choice("Step through", [label for label, _ in self._filters])
        self._tab = parts.toggles("What is shown of this event", TABS)
        self._with = parts.number("Compare with turn", len(self._tabs.turns))
        self._comparing = parts.bar([self._with])
        self._content = parts.html("", "nbagent-shown")
        self._said = parts.told()
        self._moves = self._made_moves()
        for widget, action in [
            (self._slider, self._moved), (self._search, self._searched), (self._filter, self._drawn_soon),
            (self._tab, self._drawn_soon), (self._with, self._drawn_soon),
        ]:  # fmt: skip
            self._hands.watch(widget, action)
        self._moved()

    def _made_moves(self) -> dict[str, Any]:
        go = lambda label, about, where: self._parts.button(label, lambda: self._go(where()), about, is_quick=True)  # noqa: E731
        return {
            "first": go("First", "To the first event", lambda: self._next(0)),
            "turn before": go("Previous turn", "To the beginning of the turn before", lambda: self._turn(-1)),
            "before": go("Previous", "To the event before", self._before),
            "after": go("Next", "To the next event", lambda: self._next(self._slider.value)),
            "turn after": go("Next turn", "To the beginning of the next turn", lambda: self._turn(1)),
            "last": go("Last", "To the last event", lambda: (self._matching or [None])[-1]),
            "hit": go("Next hit", "To the next event that holds what is searched for", self._next_hit),
        }

    def show(self) -> None:
        parts, moves = self._parts, self._moves
        close = parts.button("Close", self.close, "Close this view; the run itself stays", is_quick=True)
        self._draw()
        self._root.show([
            parts.column([
                parts.html(STYLE, shown=False),
                parts.bar([parts.html(f"<b>{escape(self._title)}</b>", "nbagent-title"), close]),
                parts.bar([self._slider]),
                parts.bar([moves[one] for one in ("first", "turn before", "before", "after", "turn after", "last")]),
                self._at,
                parts.bar([self._search, moves["hit"], self._hits, self._filter]),
                self._tab, self._comparing, self._content, self._form.widget, self._said,
            ], "nbagent-view"),
        ])  # fmt: skip

    # moving

    @property
    def _moment(self) -> Moment:
        return self._tabs.moments[self._slider.value - 1]

    @property
    def _matching(self) -> list[int]:
        """The events that are gone through."""
        fits = self._filters[self._filter.index or 0][1]
        return [moment.number for moment in self._tabs.moments if fits(moment)]

    def _go(self, number: int | None) -> None:
        if number is not None:
            self._slider.value = number

    def _next(self, after: int) -> int | None:
        return next((number for number in self._matching if number > after), None)

    def _before(self) -> int | None:
        return next((number for number in reversed(self._matching) if number < self._slider.value), None)

    def _turn(self, step: int) -> int | None:
        wanted = self._moment.turn + step
        return next((one.number for one in self._tabs.moments if one.turn == wanted and wanted >= 0), None)

    @property
    def _found(self) -> list[int]:
        text = self._search.value
        return [moment.number for moment in self._tabs.moments if moment.says(text)] if text else []

    def _next_hit(self) -> int | None:
        """The next one, from the last one on the first."""
        found = self._found
        return next((number for number in found if number > self._slider.value), (found or [None])[0])

    def _searched(self) -> None:
        if (found := self._found) and self._slider.value not in found:
            self._go(self._next_hit())
        self._drawn_soon()

    def _moved(self) -> None:
        self._with.value = max(self._moment.turn - 1, 1)
        self._drawn_soon()

    # drawing

    def _drawn_soon(self) -> None:
        self._hands.draw(self._draw)

    def _draw(self) -> None:
        moment, found, tab = self._moment, self._found, TABS[self._tab.index or 0]
        self._at.value = self._told(moment)
        self._hits.value = _hits(found, moment.number) if self._search.value else ""
        self._settle_moves(found)
        self._content.layout.display = "none" if tab == FORK else ""
        self._form.widget.layout.display = "" if tab == FORK else "none"
        self._comparing.layout.display = "" if tab == CHANGES else "none"
        if tab == FORK:
            self._show_form(moment)
        else:
            self._content.value = self._html(tab, moment)

    def _html(self, tab: str, moment: Moment) -> str:
        match tab:
            case "Prompt":
                return self._tabs.prompt_html(moment)
            case "Request":
                return self._tabs.request_html(moment)
            case "Reply":
                return self._tabs.reply_html(moment)
            case "Changes":
                return self._tabs.changes_html(moment.turn, min(self._with.value, moment.turn - 1))
            case _:
                return self._tabs.run_html(moment.number)

    def _told(self, moment: Moment) -> str:
        where = f"Event {moment.number:,} of {len(self._tabs.moments):,}"
        error = " <small>(an error)</small>" if moment.is_error else ""
        return f'<div role="status"><b>{where}</b> · {escape(moment.about)}{error}</div>'

    def _settle_moves(self, found: list[int]) -> None:
        ends = {"before": self._before(), "after": self._next(self._slider.value), "hit": (found or [None])[0]}
        ends |= {"turn before": self._turn(-1), "turn after": self._turn(1)}
        for name, number in ends.items():
            self._moves[name].disabled = number is None

    def _show_form(self, moment: Moment) -> None:
        sent = self._tabs.sent
        turn = moment.turn if moment.turn <= len(sent) else 0  # of one that was never sent nothing is forked
        whole = self._tabs.turns[turn - 1] if turn else None
        has_text = whole is not None and bool(whole.content)
        field = "observation" if moment.tool else "reply" if moment.kind == "model" and has_text else "user"
        self._form.show(turn, whole, sent[turn - 1].prompt if turn else None, (field, inline(moment.tool)))

    # the end

    def _fail(self, said: str) -> None:
        self._said.value = inline(said)
        self._said.add_class("nbagent-wrong")

    def stop(self) -> asyncio.Task[None] | None:
        """Stops a fork that runs; what there is to wait for."""
        return self._form.stop()

    def close(self) -> None:
        """Takes the widgets away; the run's own output stays."""
        if not self.is_closed:
            self._form.stop()
            self._hands.close()
            self._root.close()

    def take_away(self) -> None:
        """The same where the output is gone already."""
        self._form.stop()
        self._hands.close()
        self._root.take_away()


def _filters(moments: tuple[Moment, ...]) -> list[tuple[str, Callable[[Moment], bool]]]:
    """What can be gone through: all events, those of each kind that there is, errors, those of each tool."""
    made: list[tuple[str, Callable[[Moment], bool]]] = [("all events", lambda _: True)]
    there = {moment.kind for moment in moments}
    made += [(label, lambda one, kind=kind: one.kind == kind) for kind, label in KINDS.items() if kind in there]
    made += [("errors", lambda one: one.is_error)] if any(one.is_error for one in moments) else []
    tools = dict.fromkeys(moment.tool for moment in moments if moment.tool)
    named = {f"tool {inline(tool)[:_LESS]}": tool for tool in tools}
    return made + [(label, lambda one, tool=tool: one.tool == tool) for label, tool in named.items()]


def _hits(found: list[int], number: int) -> str:
    if number in found:
        return f"hit {found.index(number) + 1:,} of {len(found):,}"
    return count(len(found), "hit")
