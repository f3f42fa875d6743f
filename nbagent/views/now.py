"""Now: what happens at this moment in a run: what the model says while it says it, the tools that run, what they print.

Of a long text the end is shown; the output that stays has all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbagent.events import (
    ArgumentsDelta,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    Nested,
    ReasoningDelta,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolReturned,
    ToolStarted,
    Waiting,
)
from nbagent.redact import redact
from nbagent.views import words
from nbagent.views.html import Section
from nbagent.views.html_row import row
from nbagent.views.room import label
from nbagent.views.safe import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.events import StreamEvent

TAIL = 8_000
"""Characters of a text that are shown while it comes."""
_AT_ONCE = 6
"""So many replies and tools are shown of those that come side by side."""

Path = tuple[tuple[int, int], ...]
"""The calls that a run is inside of: their turns and indices."""


class Tail:
    """The end of a text that grows."""

    __slots__ = ("_kept", "_pieces", "length")

    def __init__(self) -> None:
        self.length = 0
        self._pieces: list[str] = []
        self._kept = 0

    def add(self, text: str) -> None:
        self.length += len(text)
        self._kept += len(text)
        self._pieces.append(text)
        if self._kept > 4 * TAIL:
            self._pieces = [redact("".join(self._pieces))[-2 * TAIL :]]  # first, so that no secret is cut in two
            self._kept = len(self._pieces[0])

    @property
    def html(self) -> str:
        """What is shown of it, with how much there is before."""
        text = redact("".join(self._pieces))
        shown = text[-TAIL:]
        before = self.length - len(shown)
        cut = f"<small>… {words.count(before, 'character')} before this …</small>\n" if before > 0 else ""
        return f"{cut}{escape(shown)}"


@dataclass(slots=True)
class _Reply:
    """A reply while it comes."""

    turn: int
    reasoning: Tail = field(default_factory=Tail)
    text: Tail = field(default_factory=Tail)
    calls: dict[int, tuple[str, Tail]] = field(default_factory=dict[int, tuple[str, Tail]])
    waiting: str = ""


@dataclass(slots=True)
class _Tool:
    """A tool while it runs."""

    name: str
    printed: Tail = field(default_factory=Tail)


class Now:
    """What happens now in a run and in the runs inside of it."""

    def __init__(self) -> None:
        self._names: dict[Path, str] = {}
        self._replies: dict[Path, _Reply] = {}
        self._tools: dict[tuple[Path, int, int], _Tool] = {}

    @property
    def streamed(self) -> int:
        """How many characters have come of what is shown."""
        replies = self._replies.values()
        tails = [
            tail for one in replies for tail in (one.reasoning, one.text, *[tail for _, tail in one.calls.values()])
        ]
        return sum(tail.length for tail in (*tails, *[tool.printed for tool in self._tools.values()]))

    def take(self, event: StreamEvent) -> None:
        """Looks at what happens."""
        path: Path = ()
        while isinstance(event, Nested):
            path, event = (*path, (event.turn, event.index)), event.event
        match event:
            case RunStarted(_, agent):
                self._begin(path, agent)
            case ModelRequested(turn):
                self._replies[path] = _Reply(turn)
            case TextDelta(turn, text):
                self._reply(path, turn).text.add(text)
            case ReasoningDelta(turn, text):
                self._reply(path, turn).reasoning.add(text)
            case ArgumentsDelta(turn, index, name, text):
                known, tail = self._reply(path, turn).calls.get(index, ("", Tail()))
                tail.add(text)
                self._reply(path, turn).calls[index] = (known or name, tail)
            case Waiting(turn):
                self._replies[path] = _Reply(turn, waiting=words.waiting(event))
            case ModelReplied() | ModelFailed():
                self._replies.pop(path, None)
            case ToolStarted(turn, index, call):
                self._tools[path, turn, index] = _Tool(call.name)
            case ToolReturned(turn, index):
                self._tools.pop((path, turn, index), None)
            case RunFinished():
                self._end(path)
            case _:
                pass

    def print(self, at: Sequence[int], text: str) -> None:
        """Hears what a tool prints. `at`: which call of its reply it is, after those of the calls that it is inside
        of; each run has one reply at a time whose calls run."""
        for (path, _, index), one in list(self._tools.items()):  # this may be another thread
            if (*[call for _, call in path], index) == tuple(at):
                one.printed.add(text)

    def _reply(self, path: Path, turn: int) -> _Reply:
        known = self._replies.get(path)
        if known is None or known.turn != turn or known.waiting:
            self._replies[path] = known = _Reply(turn)
        return known

    def _begin(self, path: Path, agent: str) -> None:
        self._end(path)
        self._names[path] = agent

    def _end(self, path: Path) -> None:
        depth = len(path)
        for one in [one for one in self._replies if one[:depth] == path]:
            del self._replies[one]
        for key in [key for key in self._tools if key[0][:depth] == path]:
            del self._tools[key]

    @property
    def what(self) -> object:
        """What `line` is made of."""
        replies = [(one.turn, one.waiting) for one in self._replies.values()]
        return replies, [tool.name for tool in self._tools.values()]

    @property
    def line(self) -> str:
        """What happens, in a few words, as HTML: `running: search`."""
        tools = list(dict.fromkeys(label(tool.name) for tool in self._tools.values()))
        if self._replies:
            one = next(reversed(self._replies.values()))
            said = "waits" if one.waiting else "the model replies"
            return f"running: turn {one.turn}, {said}"
        return f"running: {', '.join(tools[:3])}{' …' if len(tools) > 3 else ''}" if tools else "running"

    def section(self) -> Section:
        """What is shown of it; empty where nothing happens."""
        shown = [*(self._reply_html(path, one) for path, one in self._replies.items()), *self._tools_html()]
        more = len(shown) - _AT_ONCE
        rest = f"<div><small>and {more:,} more at the same time</small></div>" if more > 0 else ""
        inner = "".join(shown[:_AT_ONCE]) + rest
        return Section("now", inner)

    def _reply_html(self, path: Path, one: _Reply) -> str:
        if one.waiting:
            return _row(f"Turn {one.turn}", self._who(path), escape(one.waiting), "")
        count = one.text.length + one.reasoning.length + sum(tail.length for _, tail in one.calls.values())
        said = "the model replies" + (f" · {words.count(count, 'character')}" if count else " …")
        rows = row("reasoning", f'<pre class="nbagent-say">{one.reasoning.html}</pre>') if one.reasoning.length else ""
        rows += row("reply", f'<pre class="nbagent-say">{one.text.html}</pre>') if one.text.length else ""
        for name, tail in one.calls.values():
            rows += row("call", f"<pre><b>{label(name)}</b> {tail.html}</pre>")
        return _row(f"Turn {one.turn}", self._who(path), said, rows)

    def _tools_html(self) -> Iterator[str]:
        for (path, _, _), tool in self._tools.items():
            printed = (
                row("prints", f'<pre class="nbagent-out">{tool.printed.html}</pre>') if tool.printed.length else ""
            )
            yield _row(label(tool.name), self._who(path), "runs …", printed)

    def _who(self, path: Path) -> str:
        return label(self._names.get(path, "")) if path else ""


def _row(title: str, who: str, said: str, rows: str) -> str:
    by = f"{who} · " if who else ""
    return f'<div class="nbagent-now"><b>{title}</b> <small>{by}{said}</small>{rows}</div>'
