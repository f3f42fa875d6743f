"""Keeping: the subcommands of `%agent` that look after agents and what was said: list, reset, clear, undo, fork."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.agents.spec_words import RESERVED
from nbagent.errors import CellError
from nbagent.notebook.branch_line import FORMS as COMPARED
from nbagent.notebook.build import agents, known
from nbagent.notebook.decision_line import FORMS as DECIDING
from nbagent.notebook.fields import read_variable
from nbagent.notebook.header import Scalar
from nbagent.notebook.run_named import run_named
from nbagent.notebook.stored_line import FORMS as STORED
from nbagent.views.safe import inline, visible
from nbagent.views.words import count

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from nbagent.agents.base import BaseAgent
    from nbagent.notebook.cell import LineCell
    from nbagent.runtime.result import RunResult

_FORMS = {
    "list": "%agent list",
    "reset": "%agent reset NAME",
    "clear": "%agent clear NAME",
    "undo": "%agent undo NAME",
    "fork": "%agent fork NAME NEW",
    "view": "%agent view NAME[@N]",
}


def look_after(line: LineCell, namespace: Mapping[str, Any], bind: MutableMapping[str, Any]) -> str:
    """Does what the line says; returns what there is to show, empty where there is nothing."""
    command, name, rest = line.subcommand or "", line.cell.spec.name, line.cell.task.strip()
    if command not in _FORMS:
        forms = ", ".join(
            f"`{form}`" for form in (*_FORMS.values(), *COMPARED.values(), *STORED.values(), *DECIDING.values())
        )
        raise CellError(f"`%agent {command}` does not exist; write `%agent NAME TASK…` or one of {forms}")
    if rest and command != "fork":
        raise CellError(f"`{_FORMS[command]}` takes one name; got {rest!r} after it")
    scope = line.cell.spec.scope
    if command == "list":
        return _listed(namespace)
    agent = known(name, namespace)
    if command == "reset":
        agent.reset()
    elif command == "clear":
        agent.clear_history(scope)
    elif command == "undo":
        return _undone(agent, scope)
    else:
        _fork(agent, rest, bind)
    return ""


def viewed(line: LineCell, namespace: Mapping[str, Any]) -> tuple[BaseAgent, RunResult]:
    """The agent and its run that `%agent view NAME` shows: the newest, or the one that it names. Raises CellError."""
    name, rest = line.cell.spec.name, line.cell.task.strip()
    which = rest.removeprefix("@")
    if rest and (which == rest or not which or len(which.split()) > 1 or "@" in which):
        raise CellError(f"`{_FORMS['view']}` takes one name, such as `{name}`, `{name}@2`, `{name}@{name}-2`; got "
            f"{rest!r} after it")  # fmt: skip
    agent = known(name, namespace)
    return agent, run_named(agent, which, f"`%agent {name} TASK…` runs it")


def _listed(namespace: Mapping[str, Any]) -> str:
    return "\n".join(line for name in agents(namespace) for line in _lines(name, namespace[name])) or _NONE


_NONE = "there are no agents yet"


def _lines(name: str, agent: BaseAgent) -> list[str]:
    """An agent, and its conversations where there are several."""
    said = count(len(agent.history), "message")
    head = f"{name} · {agent.strategy} · {inline(agent.model.name)} · {said}"
    others = [(scope, len(agent.get_history(scope))) for scope in agent.scopes if scope != agent.scope]
    return [head, *[f"  {inline(str(scope))} · {count(number, 'message')}" for scope, number in others if number]]


def _undone(agent: BaseAgent, scope: str | None) -> str:
    taken = agent.undo(scope)
    return f"taken back: {visible(taken[0].content)}" if taken else "there is nothing to take back"


def _fork(agent: BaseAgent, new: str, bind: MutableMapping[str, Any]) -> None:
    name = read_variable(Scalar(new, False, 1), "`%agent fork NAME NEW`: NEW")
    if name in RESERVED or name in bind:
        raise CellError(f"`%agent fork NAME NEW`: the name {name!r} is taken; give the new agent another one")
    bind[name] = agent.fork(name)
