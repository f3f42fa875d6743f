"""Docstring: what a function says about itself and about its parameters."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Docs(NamedTuple):
    """A docstring taken apart."""

    description: str
    """The text without its sections about parameters, results and so on."""
    parameters: dict[str, str]
    """What it says about each parameter."""


def read(text: str | None) -> Docs:
    """Reads a docstring in google, numpy or reST style; one in no known style is all description. Never raises."""
    whole = inspect.cleandoc(text or "")
    if "\n" not in whole:  # most are one line, and the parser costs 20 ms to load
        return Docs(whole, {})
    parse: Callable[[str], Any] = import_module("docstring_parser").parse

    try:
        parsed = parse(whole)
        described: dict[str, str] = {
            name: meta.description or "" for meta in parsed.params for name in _names(meta.arg_name)
        }
        return Docs(parsed.description or "", {n: " ".join(d.split()) for n, d in described.items() if d})
    except Exception:  # noqa: BLE001  a docstring is prose: one that no parser understands is a description
        return Docs(whole, {})


def _names(entry: str) -> list[str]:
    """numpy style may describe several at once: `x, y : int`."""
    return [name.strip().lstrip("*") for name in entry.split(",")]
