"""Decision line: the subcommands of `%agent` that decide about runs that wait: pending, approve, reject, answer, stop,
revoke, discard."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbagent.approvals.decision import Answer, Approve, Decision, Reject, Stop
from nbagent.errors import CellError
from nbagent.events import ToolReturned
from nbagent.notebook.argument_form import read_arguments
from nbagent.notebook.build import agents, known
from nbagent.notebook.deciding import shown_calls
from nbagent.notebook.options import words_of
from nbagent.views.approval import approval_text
from nbagent.views.safe import inline
from nbagent.views.words import count

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    from nbagent.agents.base import BaseAgent
    from nbagent.approvals.pending import PendingAction
    from nbagent.events import Event
    from nbagent.notebook.cell import LineCell

FORMS = {
    "pending": "%agent pending",
    "approve": "%agent approve NAME [CALL] [--args '{…}'] [--note '…'] [--always tool|arguments]",
    "reject": "%agent reject NAME [CALL] --reason '…'",
    "answer": "%agent answer NAME [CALL] TEXT",
    "stop": "%agent stop NAME [--reason '…']",
    "revoke": "%agent revoke NAME [TOOL]",
    "discard": "%agent discard NAME",
}
_OPTIONS = {"approve": ("args", "note", "always"), "reject": ("reason",), "stop": ("reason",)}


@dataclass(frozen=True, slots=True)
class Decided:
    """What a line decides."""

    agent: BaseAgent
    scope: Hashable
    decision: dict[str, Decision]
    """By the digest of the call."""
    revoke: str | bool = False
    """The tool that is asked about again; True for all."""


def decide(line: LineCell, namespace: Mapping[str, Any]) -> Decided | str:
    """What the line decides about a run that waits; or what there is to show. Raises CellError."""
    command, name, rest = line.subcommand or "", line.cell.spec.name, line.cell.task
    if command == "pending":
        return _pending(namespace)
    if "name" not in line.cell.origins:
        raise CellError(f"`%agent {command}` needs the name of an agent: `{FORMS[command]}`")
    agent = known(name, namespace)
    scope, waiting = _waiting(name, agent, line.cell.spec.scope)
    if command == "discard":
        if rest.strip():
            raise CellError(f"`{FORMS[command]}` takes one name; got {rest.strip()!r} after it")
        agent.discard(scope)
        return f"discarded: {', '.join([inline(one.shown) for one in waiting])}"
    waiting = [one for one in waiting if one.kind != "plan"]
    if not waiting:
        raise CellError(f"{name} waits with its plan: run it with `%plan {name} --run`, or `%agent discard {name}`")
    if command == "revoke":
        return Decided(agent, scope, {}, rest.strip() or True)
    events = () if agent.last is None else agent.last.events
    return Decided(agent, scope, decided_about(command, rest, waiting, events))


def decided_about(
    command: str, rest: str, waiting: Sequence[PendingAction], events: Sequence[Event]
) -> dict[str, Decision]:
    """What a line decides about calls that wait, by their digests. `rest`: what follows the agent's name; `events`:
    what has happened in the run."""
    if command == "answer":
        return _answered(waiting, rest, {one.observation.call_id for one in events if isinstance(one, ToolReturned)})
    call, options = _parsed(command, rest)
    if command == "stop" and call is not None:
        raise CellError(f"`{FORMS[command]}` ends the whole run; got {call!r} after the name")
    asked = waiting if call is None else [_named(waiting, call)]
    if "args" in options and len(asked) > 1:
        raise CellError(f"`--args` are the arguments of one call; say of which: {shown_calls(asked)}")
    decision = _decision(command, options)
    return {one.digest: decision for one in asked}


def _waiting(name: str, agent: BaseAgent, said: str | None) -> tuple[Hashable, Sequence[PendingAction]]:
    """The conversation in which a run waits, and its calls."""
    waiting = agent.waiting
    if not waiting:
        raise CellError(f"no run of {name} waits for a decision")
    if said is not None:
        meant = [scope for scope in waiting if said in (scope, str(scope))]
    else:
        meant = [agent.scope] if agent.scope in waiting else list(waiting)
    if len(meant) == 1:
        return meant[0], waiting[meant[0]].pendings
    scopes = ", ".join(["its own conversation" if one == agent.scope else inline(str(one)) for one in waiting])
    if said is not None:
        raise CellError(f"no run of {name} waits in {said!r}; one waits in {scopes}")
    raise CellError(f"{name} waits in {scopes}; say in which: `--scope …` before the name")


def _named(waiting: Sequence[PendingAction], word: str) -> PendingAction:
    """The call with this id, or with a digest that begins so."""
    meant = _meant(waiting, word)
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise CellError(f"{len(meant)} calls are meant by {word!r}; name one by its digest: {shown_calls(meant)}")
    raise CellError(f"no call {word!r} waits for a decision; these do: {shown_calls(waiting)}")


def _meant(waiting: Sequence[PendingAction], word: str) -> list[PendingAction]:
    by_id = [one for one in waiting if one.call_id == word]
    return by_id or [one for one in waiting if len(word) >= _SHORTEST and one.digest.startswith(word)]


_SHORTEST = 4
"""Characters of a digest that name a call."""


def _answered(waiting: Sequence[PendingAction], rest: str, over: Collection[str]) -> dict[str, Decision]:
    """The answer, and to which call: the only one, or that which the first word names. `over`: ids of calls that have
    their result."""
    first, _, more = rest.strip().partition(" ")
    is_named = bool(more.strip() and _meant(waiting, first))
    if is_named:
        one, text = _named(waiting, first), more
    elif first in over:
        raise CellError(f"no call {first!r} waits for a decision; these do: {shown_calls(waiting)}{_IN_QUOTES}")
    elif len(waiting) == 1:
        one, text = waiting[0], rest
    else:
        raise CellError(f"`{FORMS['answer']}`: an answer is one call's; say to which: {shown_calls(waiting)}")
    text = text.strip()
    quoted = re.fullmatch(r"""'([^']*)'|"([^"]*)\"""", text)
    if quoted is not None:
        text = quoted[1] or quoted[2] or ""
    elif not is_named and (named := [word for word in text.split() if _meant(waiting, word)]):
        raise CellError(f"`{FORMS['answer']}`: say the call before the text; got {named[0]!r} in it{_IN_QUOTES}")
    if not text.strip():
        raise CellError(f"`{FORMS['answer']}`: TEXT is what the model reads as the result; got none")
    return {one.digest: Answer(text)}


_IN_QUOTES = " (a text that has it is put into quotes)"


def _parsed(command: str, rest: str) -> tuple[str | None, dict[str, str]]:
    """The call that a line names, and its options."""
    call: str | None = None
    said: dict[str, str] = {}
    option = ""
    """The one whose value comes next."""
    for word in words_of(rest):
        flag = re.fullmatch(r"--([a-z]+)(?:=(.*))?", word, re.DOTALL)
        if flag:
            option = flag[1]
            if option not in _OPTIONS[command] or option in said:
                twice = "is given twice" if option in said else "is no option of it"
                raise CellError(f"`{FORMS[command]}`: `--{option}` {twice}")
            said[option] = flag[2] or ""
            option = "" if flag[2] else option
        elif option:
            said[option], option = word, ""
        elif call is None and not said:
            call = word
        else:
            raise CellError(f"`{FORMS[command]}`: got {word!r}, which is too much{_BEHIND if said else ''}")
    for name, value in said.items():
        if not value:
            raise CellError(f"`{FORMS[command]}`: `--{name}` needs a value")
    return call, said


_BEHIND = "; say the call before the options, and put a text of several words into quotes"


def _decision(command: str, options: Mapping[str, str]) -> Decision:
    reason = options.get("reason", "")
    if command == "reject":
        return Reject(reason)
    if command == "stop":
        return Stop(reason)
    arguments, always = _arguments(options["args"]) if "args" in options else None, options.get("always")
    if always not in (None, "tool", "arguments"):
        raise CellError(f"`--always`: expected `tool` or `arguments`; got {always!r}")
    return Approve(arguments, options.get("note", ""), always)


def _arguments(text: str) -> dict[str, Any]:
    try:
        return read_arguments(text)
    except ValueError as error:
        raise CellError(f"`--args`: {error}") from None


def _pending(namespace: Mapping[str, Any]) -> str:
    """What all agents wait for, with the complete arguments."""
    lines: list[str] = []
    for name in agents(namespace):
        agent: BaseAgent = namespace[name]
        for scope, interrupt in agent.waiting.items():
            where = "" if scope == agent.scope else f" in the conversation {inline(str(scope))}"
            lines.append(f"{name} waits for {count(len(interrupt.pendings), 'decision')}{where}")
            lines += [f"  {line}" if line else "" for line in approval_text(interrupt.pendings).split("\n")]
            if interrupt.standing:
                tools = ", ".join(map(inline, interrupt.standing))
                lines.append(f"  no longer asked about in this run: {tools}; `%agent revoke {name}` takes that back")
            if any(one.kind == "plan" for one in interrupt.pendings):
                lines.append(f"  `%plan {name} --run` does it")
    return "\n".join(lines) or "nothing waits"
