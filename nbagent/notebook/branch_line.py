"""Branch line: the subcommands of `%agent` about runs beside each other: a fork of one at a turn, and a comparison."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbagent.agents.branching import ForkOptions  # noqa: TC001  of a dataclass
from nbagent.agents.spec_words import FORK_AT
from nbagent.errors import CellError
from nbagent.notebook.build import known
from nbagent.notebook.header import shorten
from nbagent.notebook.options import words_of
from nbagent.notebook.run_named import name_of, run_named
from nbagent.runtime.compare import ComparedRuns, compare

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbagent.agents.base import BaseAgent
    from nbagent.runtime.result import RunResult

FORMS = {
    "fork": "%agent fork NAME[@N] TURN [call=0] [observation=… | arguments='{…}' | reply=… | system=… user=…]",
    "compare": "%agent compare NAME[@N] …",
}
_RUN = re.compile(r"([^\W\d]\w*)(?:@(\S+))?")
_EDITS = ("observation", "arguments", "reply", "system", "user")
_SAID = re.compile(rf"(?:--)?(call|{'|'.join(_EDITS)})=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RunFork:
    """A fork of a run, as a line asks for it."""

    agent: BaseAgent
    run: RunResult
    name: str
    """`bot@1`, as the run is called."""
    how: ForkOptions

    def compared(self, result: RunResult) -> dict[str, str]:
        """Both runs, side by side."""
        fork = name_of(self.agent, self.name.partition("@")[0], result)
        return compare(self.run, result, names=(self.name, fork)).bundle


def is_at_a_turn(rest: str) -> bool:
    """Whether what follows `%agent fork` asks for the fork of a run, and not of an agent."""
    return FORK_AT.match(rest) is not None


def forked(rest: str, namespace: Mapping[str, Any]) -> RunFork:
    """Raises CellError for what is no fork, and where there is no such run."""
    words = words_of(rest)
    name, agent, run = _run(words[0], namespace, "fork")
    if len(words) < 2 or not re.fullmatch("[1-9][0-9]{0,8}", words[1]):
        got = words[1] if len(words) > 1 else ""
        raise CellError(f"`{FORMS['fork']}`: expected the number of a turn after {name}; got {shorten(got)!r}")
    how: dict[str, Any] = {"at": int(words[1])}
    for word in words[2:]:
        said = _SAID.fullmatch(word)
        if said is None or said[1] in how:
            why = "expected an edit" if said is None else "it is there already"
            raise CellError(
                f"`{FORMS['fork']}`: {why}; got {shorten(word, 100)!r}. A text of several words goes into quotes"
            )
        how[said[1]] = _call(said[2]) if said[1] == "call" else said[2]
    return RunFork(agent, run, name, how)  # pyright: ignore[reportArgumentType]  # only these keys are in it


def compared(rest: str, namespace: Mapping[str, Any]) -> ComparedRuns:
    """The runs that `%agent compare` names. Raises CellError."""
    words = words_of(rest)
    if not words:
        raise CellError(f"`{FORMS['compare']}`: expected one run or more, such as `bot@1 bot@2`")
    found = [_run(word, namespace, "compare") for word in words]
    return compare(*[run for _, _, run in found], names=[name for name, _, _ in found])


def _run(word: str, namespace: Mapping[str, Any], form: str) -> tuple[str, BaseAgent, RunResult]:
    """A run by its name, what it is called with its number, and its agent. `bot` alone is its newest one."""
    match = _RUN.fullmatch(word)
    if match is None:
        raise CellError(f"`{FORMS[form]}`: expected the name of an agent, and which run; got {shorten(word)!r}")
    agent = known(match[1], namespace)
    run = run_named(agent, match[2] or "")
    return name_of(agent, match[1], run), agent, run


def _call(text: str) -> int:
    if not re.fullmatch("[0-9]{1,6}", text):
        raise CellError(f"`{FORMS['fork']}`: call is which call of the turn, from 0; got {shorten(text)!r}")
    return int(text)
