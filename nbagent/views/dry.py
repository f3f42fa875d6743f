"""Dry: a prompt, piece by piece, and the exact request that it makes, whether it has been sent or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.html import header, root
from nbagent.views.html_prompt import prompt_html
from nbagent.views.html_row import fold, row
from nbagent.views.markdown import blocks_markdown
from nbagent.views.outline import Block, Name, names_title, prompt_blocks
from nbagent.views.safe import escape
from nbagent.views.text import blocks_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.messages import Prompt, Span

_SHOWN = 16_000
"""Characters of a request; of a longer one the head and the tail are shown."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A request as it would leave, in one protocol."""

    protocol: str
    text: str
    """The body's exact text."""


@dataclass(frozen=True, slots=True)
class Dry:
    """A prompt of an agent."""

    agent: str
    model: str
    mode: str
    note: str
    """Whether it has been sent; empty where that is not known."""
    prompt: Prompt
    wires: Sequence[Wire] = ()


def dry_bundle(dry: Dry) -> dict[str, str]:
    """The prompt as a MIME bundle."""
    blocks = tuple(_outline(dry))
    return {"text/html": _html(dry), "text/markdown": blocks_markdown(blocks), "text/plain": blocks_text(blocks)}


def prompt_bundle(prompt: Prompt) -> dict[str, str]:
    """A prompt of no agent in particular, as the value of a cell."""
    return dry_bundle(Dry("prompt", "", "", "", prompt))


def _numbers(prompt: Prompt) -> str:
    spans = prompt.spans
    tokens = sum(span.tokens for span in spans)
    return f"{words.count(sum(s.characters for s in spans), 'character')} · about {words.count(tokens, 'token')}"


def _outline(dry: Dry) -> Iterator[Block]:
    note = f" · {dry.note}" if dry.note else ""
    yield Block(0, (*_names(dry), f"{note} · {_numbers(dry.prompt)}"))
    yield Block(0, ("prompt",))
    yield from prompt_blocks(dry.prompt)
    yield Block(0, ("pieces",), "\n".join(map(_line, dry.prompt.spans)))
    for wire in dry.wires:
        yield Block(0, ("request, ", Name(wire.protocol)), _shortened(wire.text), "json")


def _names(dry: Dry) -> tuple[str | Name, ...]:
    return (
        names_title(*[name for name in (dry.agent, dry.model, dry.mode) if name]) if dry.model else (Name(dry.agent),)
    )


def _line(span: Span) -> str:
    return f"{span.tokens:>6} tokens  {span.characters:>8} characters  {span.role:<9} {span.source}"


def _html(dry: Dry) -> str:
    said = [f'<span class="nbagent-status">{escape(dry.note)}</span>'] if dry.note else []
    said.append(f'<span class="nbagent-numbers">{_numbers(dry.prompt)}</span>')
    steps = prompt_html(dry.prompt, "prompt") + _pieces(dry.prompt)
    steps += "".join(_wire(wire) for wire in dry.wires)
    return root(f'{header(dry.agent, dry.model, dry.mode, *said)}<div class="nbagent-line nbagent-steps">{steps}</div>')


def _pieces(prompt: Prompt) -> str:
    spans = prompt.spans
    most = max((span.tokens for span in spans), default=0) or 1
    rows = "".join(row(f"{span.tokens:,}", f"<p>{_bar(span.tokens, most)} {_who(span)}</p>") for span in spans)
    return f"<details open><summary><b>Pieces</b> <small>in tokens, estimated</small></summary>{rows}</details>"


def _bar(tokens: int, most: int) -> str:
    """As text on a ground, since a bar of its own would need a style of its own."""
    return f"<mark>{chr(0xA0) * max(1, round(40 * tokens / most))}</mark>" if tokens else ""


def _who(span: Span) -> str:
    return f"<small>{escape(span.role)} · {escape(str(span.source))}</small>"


def _wire(wire: Wire) -> str:
    title = f"<summary><b>Request</b> <small>{escape(wire.protocol)}</small></summary>"
    return f"<details>{title}{fold('body', _shortened(wire.text))}</details>"


def _shortened(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
