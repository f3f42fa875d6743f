"""Compare: runs beside each other, from plain Python; a notebook shows what it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbagent.errors import ConfigError
from nbagent.runtime.result import RunResult
from nbagent.views.comparison import Comparison
from nbagent.views.text_comparison import comparison_bundle

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """Runs, and what they are called. `str()` is the comparison as text; a cell shows a table with charts."""

    results: tuple[RunResult, ...]
    names: tuple[str, ...]

    @property
    def bundle(self) -> dict[str, str]:
        """The comparison as HTML, Markdown and text."""
        pairs = zip(self.names, self.results, strict=True)
        return comparison_bundle(Comparison.of([(name, result.events) for name, result in pairs]))

    def __str__(self) -> str:
        return self.bundle["text/plain"]

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002
        return self.bundle


def compare(*runs: RunResult, names: Iterable[str] | None = None) -> ComparedRuns:
    """A table and small charts of runs of any agents: status, turns, tools, tokens, cost where it is known, answer.

    Of two of which one was forked from the other, or that began alike, the turns in common and then both ways side by
    side. names: what they are called, by default their ids. Raises ConfigError.
    """
    given: tuple[Any, ...] = runs
    if not given or not all(isinstance(run, RunResult) for run in given):
        raise ConfigError(f"compare: expected results of runs, one or more; got {given!r}")
    called = tuple([run.run_id for run in runs] if names is None else names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in called) or len(called) != len(runs):  # pyright: ignore[reportUnnecessaryIsInstance]  # notebooks are not type-checked
        raise ConfigError(f"compare: expected a name for each of {len(runs)} runs; got {list(called)!r}")
    return ComparedRuns(runs, called)
