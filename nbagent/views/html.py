"""HTML: what is around everything that is shown, and the line on top of it.

Each element of the views is written by hand; everything else goes through `safe.escape`, or, for the answer,
`safe.markdown`. It reads well without its style sheet, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbagent.views.block import Name
from nbagent.views.room import label
from nbagent.views.style import ROOT, STYLE

if TYPE_CHECKING:
    from nbagent.views.block import Title
    from nbagent.views.words import Tone


@dataclass(frozen=True, slots=True)
class Section:
    """A piece of a run that changes on its own while the run goes on."""

    key: str
    """What it is, from the first time that it is shown to the last."""
    html: str


def root(content: str) -> str:
    """The element around everything, with the style sheet; a landmark for readers with a screen reader."""
    return f'<div class="{ROOT}" role="region" aria-label="nbagent"><style>{STYLE}</style>{content}</div>'


def line(sections: str) -> str:
    """The line along which the sections of a run stand."""
    return f'<div class="nbagent-line nbagent-steps">{sections}</div>'


def header(agent: str, model: str, mode: str, *rest: str) -> str:
    """The line on top: a heading above those of an answer. The separators are for readers without the style sheet."""
    badge = [f'<span class="nbagent-badge">{label(mode)}</span>'] if mode else []
    named = [f"<code>{label(model)}</code>"] if model not in {agent, mode} else []
    heading = ' role="heading" aria-level="3"' if agent else ""
    parts = (f"<b{heading}>{label(agent)}</b>", *named, *badge, *rest)
    return f'<div class="nbagent-head">{"<i> · </i>".join(parts)}</div>'


def classes(name: str, tone: Tone) -> str:
    return f"{name} nbagent-{tone}" if tone else name


def collapsible(summary: str, content: str, tone: Tone = "", *, opened: bool = False) -> str:
    """A part that opens and closes; summary and content are HTML already."""
    attributes = (f' class="nbagent-{tone}"' if tone else "") + (" open" if opened else "")
    return f"<details{attributes}><summary>{summary}</summary>{content}</details>"


def steps_inside(content: str) -> str:
    """Steps of a step, or of a run inside."""
    return f'<div class="nbagent-steps nbagent-sub">{content}</div>'


def title_html(title: Title) -> str:
    """A line of our words, and of names as code."""
    return "".join(f"<code>{label(part.text)}</code>" if isinstance(part, Name) else part for part in title)
