"""Tabs: folds of which one is open, that look like tabs where a browser can show them so. No script, no state."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Tab:
    title: str
    """HTML of ours."""
    panel: str
    """Elements that hold rows, as a step of a run does."""


def tabs(all_tabs: Sequence[Tab]) -> str:
    """The first is open. Folds of one name close each other, so the name is made of what they show: outputs that differ
    leave each other alone, and the same output has the same name each time it is made."""
    name = sha256("".join(tab.panel for tab in all_tabs).encode()).hexdigest()[:12]
    folds = [
        f'<details name="nbagent-{name}"{"" if number else " open"}>'
        f'<summary>{tab.title}</summary><div class="nbagent-steps">{tab.panel}</div></details>'
        for number, tab in enumerate(all_tabs)
    ]
    return f'<div class="nbagent-tabs">{"".join(folds)}</div>'
