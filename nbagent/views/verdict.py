"""Verdict: what was decided about a call, in the words that every view says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from nbagent.views.arguments import laid_out
from nbagent.views.difference import Difference
from nbagent.views.field import listed
from nbagent.views.pending import origin, rule, waiting
from nbagent.views.words import BREAK, Tone, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nbagent.events import ApprovalDecided
    from nbagent.messages import ToolCall
    from nbagent.views.block import Title
    from nbagent.views.difference import Stretch
    from nbagent.views.trace import Call, Trace, Turn

BELOW = "its arguments are below"
ONE_LINE = 72
"""Characters; arguments that are not longer are shown in both places."""
_BY: Mapping[str, str] = {
    "person": "by a person",
    "cell": "by the cell",
    "file": "by a file of decisions",
    "policy": "by the policy",
    "always": "as before",
}
_ALWAYS: Mapping[str, str] = {
    "": "",
    "tool": "from now on always in this run",
    "arguments": "with these arguments from now on always in this run",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What there is to say about a call beside what it is."""

    word: str
    """`approved`, `waits`, `ran again`."""
    said: str = ""
    """What follows on it, in our words: `by a person, with other arguments`."""
    about: Title = ()
    """The rule that asks, and where the tool comes from."""
    text: str = ""
    """A note, a reason; from outside."""
    noun: str = ""
    """What the text is."""
    tone: Tone | Literal["now"] = ""

    @property
    def line(self) -> str:
        return f"{self.word} {self.said}".strip()


@dataclass(frozen=True, slots=True)
class Version:
    """A call at one point of its life."""

    title: str
    call: ToolCall
    changes: tuple[Stretch, ...] = ()
    """How it differs from what a person was asked about, where they are too long to be compared at a glance."""


def versions(call: Call) -> tuple[tuple[Version, ...], tuple[Version, ...]]:
    """As it was asked for, by the model and by hooks; and what ran in its place, where that is something else."""
    asked, proposed = (Version("call", call.asked),), call.proposed
    ran = "ran instead" if call.started else "to run instead"
    edited = call.decision is not None and call.decision.arguments is not None
    changes = _changes(proposed.arguments, call.call.arguments) if edited else ()
    return (*asked, *_other("asked about", call.asked, proposed)), _other(ran, proposed, call.call, changes)


def _other(title: str, before: ToolCall, call: ToolCall, changes: tuple[Stretch, ...] = ()) -> tuple[Version, ...]:
    same = (before.name, before.arguments) == (call.name, call.arguments)
    return () if same else (Version(title, call, changes),)


def _changes(*arguments: str) -> tuple[Stretch, ...]:
    is_short = all(len(text) <= ONE_LINE and "\n" not in text for text in arguments)
    return () if is_short else Difference.of(*map(listed, arguments)).stretches


def verdicts(call: Call, trace: Trace) -> tuple[Verdict, ...]:
    """In the order in which they were made."""
    return tuple(filter(None, (approval(call, trace), aftermath(call, trace))))


def approval(call: Call, trace: Trace) -> Verdict | None:
    """About a call that could not run before it was decided about."""
    if call.question is None:
        return None
    where = origin(call.question.origin)
    about = (*rule(call.question.why), *((", a tool", *where) if where else ()))
    return _decided(call.decision, about) if call.decision else _open(call, trace, about)


def aftermath(call: Call, trace: Trace) -> Verdict | None:
    """About a call that had been started and had no result when the run went on."""
    if call.taken_up is not None:
        return _taken_up(call.taken_up)
    if call.is_unknown and trace.status == "interrupted":
        said = "for a decision: it was started, has no result, and may have taken effect"
        return Verdict("waits", said, tone="now")
    return None


def is_below(call: Call, trace: Trace) -> bool:
    """Whether its arguments are shown where the run ends, since it waits, and are too long to be shown twice."""
    waits = any(each.word == "waits" for each in verdicts(call, trace))
    shown = laid_out(call.call.arguments)
    return waits and (len(shown) > ONE_LINE or "\n" in shown)


def gist(turn: Turn, trace: Trace) -> str:
    """What a closed turn says of its decisions: `waits for a decision`, `rejected`. Nothing of approvals."""
    said = {"waits": "waits for a decision", "approved": ""}
    return ", ".join(filter(None, (said.get(word, word) for word in dict.fromkeys(_words(turn, trace)))))


def with_decisions(turns: Iterable[Turn]) -> str:
    """`, 2 decisions`: how many of their calls needed one; empty where none did."""
    asked = sum((call.question is not None) + (call.taken_up is not None) for turn in turns for call in turn.calls)
    return f", {count(asked, 'decision')}" if asked else ""


def waits(turn: Turn, trace: Trace) -> bool:
    """Whether one of its calls, or something inside of it, waits for a decision."""
    return "waits" in _words(turn, trace)


def no_result(call: Call, turn: Turn, trace: Trace) -> str:
    """Why a call has no observation; nothing where its verdicts say so, or the run inside."""
    if any(verdict.word in ("waits", "stopped", "not decided") for verdict in verdicts(call, trace)):
        return ""
    if call.run is not None and _is_waiting(call.run):
        return ""
    others = ": another call of this reply waits for a decision" if waits(turn, trace) else ""
    if call.started is None:
        return f"not started{others}"
    if call.taken_up is not None and others:
        return f"not run again yet{others}"
    return f"no result: {BREAK[trace.status]} while it ran" if trace.status in BREAK else "no result yet"


def _words(turn: Turn, trace: Trace) -> list[str]:
    decided = [verdict.word for call in turn.calls for verdict in verdicts(call, trace)]
    return decided + ["waits" for call in turn.calls if not call.observation and call.run and _is_waiting(call.run)]


def _is_waiting(run: Trace) -> bool:
    return any(True for _ in waiting(run))


def _open(call: Call, trace: Trace, about: Title) -> Verdict:
    if call.waits and trace.status in (None, "interrupted"):
        return Verdict("waits", "for a decision", about, tone="now")
    said = f": {BREAK[trace.status]}" if trace.status in BREAK else ""
    return Verdict("not decided", said, about, tone="warn")


def _decided(event: ApprovalDecided, about: Title) -> Verdict:
    who = _by(event)
    match event.verdict:
        case "approved":
            edited = "with other arguments" if event.arguments is not None else ""
            said = ", ".join(filter(None, (who, edited, _ALWAYS[event.always])))
            return Verdict("approved", said, about, event.text, "note", "good")
        case "rejected":
            return Verdict("rejected", who, about, event.text, "reason", "warn")
        case "answered":
            return Verdict("answered", f"{who} in the tool's place", about, tone="good")
        case "stopped":
            return Verdict("stopped", f"the run here, {who}", about, event.text, "reason", "warn")


def _taken_up(event: ApprovalDecided) -> Verdict:
    who = f"{_by(event)} (it had been started, and had no result)"
    match event.verdict:
        case "approved":
            return Verdict("run again", who, (), event.text, "note", "good")
        case "rejected":
            return Verdict("not run again", who, (), event.text, "reason", "warn")
        case "answered":
            return Verdict("answered", who, tone="good")
        case "stopped":
            return Verdict("stopped", f"the run here, {who}", (), event.text, "reason", "warn")


def _by(event: ApprovalDecided) -> str:
    return _BY.get(event.by, _BY["policy"])
