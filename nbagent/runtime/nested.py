"""Nested: a run of another agent inside a tool call. Whoever drives the run around it drives it, too."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Literal

from nbagent.tools.tool import Tool
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from contextlib import AbstractContextManager

    from nbagent.events import Event
    from nbagent.models.model import Model
    from nbagent.runtime.gate import Gate
    from nbagent.runtime.journal import Within
    from nbagent.runtime.limits import Meter
    from nbagent.runtime.run import Run


Unknown = Literal["ask", "run_again"]
"""What to do about a call that was started and has no result: ask a person, or run it again."""
DEEPEST = 8
"""How many runs may be inside each other. More of them are agents that call themselves."""


class Around(Struct):
    """What a run is to those inside it."""

    meter: Meter | None = None
    """Counts what they use."""
    key: Hashable = None
    """What names it in its conversation; None for one that nobody runs again."""
    gate: Gate | None = None
    """What tool calls inside have to pass, too."""
    exchange: object = None
    """That of its conversation, as its agent knows it: it owns those that runs inside make. None where nothing of them
    is kept."""
    depth: int = 1
    """How many runs there are around those inside it."""
    run_id: str = ""
    """Its own."""
    begun: int = 0
    """How many runs inside it have begun."""
    is_replay: bool = False
    """Whether it is driven over a recorded run: then nothing of it is kept."""


class Nest(Struct):
    """Where a run inside another one happens."""

    journal: Within
    recorded: tuple[Event, ...]
    """What an earlier run did of it; it is not done again."""
    call_id: str
    run_id: str
    """`AROUND.n`, n counting the runs inside that one, so that equal runs have equal ids."""
    around: Around
    unknown: Unknown = "ask"
    """What to do about a call that was started and has no result."""

    @property
    def place(self) -> str:
        """Which run inside the outermost one it is: `1.2`, whatever that one is called."""
        return ".".join(self.run_id.split(".")[-self.around.depth :])


class NestingTool(Tool[..., Any]):
    """A tool that runs another agent, as a run of its own inside the one that calls it."""

    @abstractmethod
    def opened(self, arguments: Mapping[str, Any], nest: Nest) -> AbstractContextManager[Run]:
        """The run of a call. When the body is left, its agent knows of it."""

    @property
    @abstractmethod
    def models(self) -> tuple[Model, ...]:
        """The models that its runs use, those of agents inside too."""
