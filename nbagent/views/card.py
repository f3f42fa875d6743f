"""Card: an agent that is declared and has not run yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.views.block import Block, names_title
from nbagent.views.html import header, root
from nbagent.views.html_row import row
from nbagent.views.html_tool import tool_html
from nbagent.views.outline import tool_blocks
from nbagent.views.room import Room, fitted
from nbagent.views.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.messages import ToolSchema


@dataclass(frozen=True, slots=True)
class Card:
    """What is known of an agent without a run."""

    name: str
    model: str
    mode: str
    system: str
    tools: tuple[ToolSchema, ...]
    messages: int
    """How many its history holds."""
    strategy: str = ""
    """Where it is not that of a plain agent."""

    @property
    def numbers(self) -> str:
        strategy = f"{self.strategy} agent · " if self.strategy else ""
        return f"{strategy}{count(len(self.tools), 'tool')} · {count(self.messages, 'message')}"


def card_outline(card: Card) -> Iterator[Block]:
    yield Block(0, (*names_title(card.name, card.model, card.mode), f" · {card.numbers}"))
    if card.system:
        yield Block(1, ("system",), card.system)
    for tool in card.tools:
        yield from tool_blocks(tool)


def card_html(card: Card) -> str:
    head = header(card.name, card.model, card.mode, f'<span class="nbagent-numbers">{card.numbers}</span>')
    return fitted(lambda room: root(head + _body(card, room)))


def _body(card: Card, room: Room) -> str:
    system = row("system", f'<pre class="nbagent-say">{room.text(card.system)}</pre>') if card.system else ""
    rows = system + room.list(card.tools, tool_html, "tool")
    return f'<div class="nbagent-line nbagent-steps"><div>{rows}</div></div>' if rows else ""
