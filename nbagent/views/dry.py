"""Dry: a prompt, piece by piece, and the exact request that it makes, whether it has been sent or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.redact import redact
from nbagent.views import words
from nbagent.views.block import Block, Name, behind, names_title
from nbagent.views.html_dry import dry_html
from nbagent.views.markdown import blocks_markdown
from nbagent.views.outline import prompt_blocks
from nbagent.views.text import blocks_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbagent.messages import Prompt, Span

_SHOWN = 16_000
"""Characters of a request in the transcript, where the prompt stands whole already; of a longer one the head and the
tail."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A request as it would leave, in one protocol."""

    protocol: str
    text: str
    """The body's exact text."""
    note: str = ""
    """What is to be known about it; empty where it is all that its name says."""


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
    command: str = ""
    """What writes all of it to a file; empty where nothing does."""

    @property
    def numbers(self) -> str:
        spans = self.prompt.spans
        tokens, characters = sum(span.tokens for span in spans), sum(span.characters for span in spans)
        return f"{words.count(characters, 'character')} · about {words.count(tokens, 'token')}"


def dry_bundle(dry: Dry) -> dict[str, str]:
    """The prompt as a MIME bundle."""
    blocks = tuple(_outline(dry))
    return {"text/html": dry_html(dry), "text/markdown": blocks_markdown(blocks), "text/plain": blocks_text(blocks)}


def prompt_bundle(prompt: Prompt) -> dict[str, str]:
    """A prompt of no agent in particular, as the value of a cell."""
    return dry_bundle(Dry("prompt", "", "", "", prompt))


def _outline(dry: Dry) -> Iterator[Block]:
    said = f" · {dry.note}" if dry.note else ""
    yield Block(0, (*_names(dry), f"{said} · {dry.numbers}"))
    yield Block(0, ("prompt",))
    yield from prompt_blocks(dry.prompt)
    yield Block(0, ("pieces",), "\n".join(map(_line, dry.prompt.spans)))
    for wire in dry.wires:
        yield Block(0, ("request, ", Name(wire.protocol), *behind(", ", wire.note)), _shortened(wire.text), "json")


def _names(dry: Dry) -> tuple[str | Name, ...]:
    return (
        names_title(*[name for name in (dry.agent, dry.model, dry.mode) if name]) if dry.model else (Name(dry.agent),)
    )


def _line(span: Span) -> str:
    return f"{span.tokens:>6} tokens  {span.characters:>8} characters  {span.role:<9} {span.source}"


def _shortened(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    half, text = _SHOWN // 2, redact(text)  # before it is cut, so that no secret is cut in two
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
