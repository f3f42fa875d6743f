"""Step words: what every view says of a step, in the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from nbagent.views.words import BREAK, count

if TYPE_CHECKING:
    from nbagent.views.trace import Step, Trace

_CUT_SHORT = {status: f"stopped: {said}" for status, said in BREAK.items()} | {
    None: "running", "interrupted": "waits for a decision",
}  # fmt: skip
_NAMES = {"compact": "summary of the history", "execute": "step", "synthesize": "synthesis"}
"""Names of kinds of steps, where they are not that of the kind."""


def step_name(step: Step) -> str:
    """`synthesis`, `plan`, `plan, version 2`."""
    name = _NAMES.get(step.kind, step.kind)
    return f"{name}, version {step.number}" if step.kind == "plan" and step.number > 1 else name


def about(step: Step, trace: Trace) -> str:
    """What became of a step that writes: nothing to say of one that is done, but of a plan how many steps it has."""
    if step.status is None:
        return cut_short(trace)
    if step.status == "failed":
        return "failed"
    if step.kind != "plan":
        return ""
    made = count(len(titles(step.output)), "step")
    return made if step.turns else f"{made}, given"


def failure(step: Step) -> str:
    """Why a step failed, from outside; empty where it did not."""
    return step.reason if step.status == "failed" else ""


def cut_short(trace: Trace) -> str:
    """What became of a step that has not ended."""
    return _CUT_SHORT.get(trace.status, "not finished")


def goes_on(trace: Trace) -> bool:
    """Whether a step that has not ended may still do so."""
    return trace.status in (None, "interrupted")


def titles(output: Any) -> tuple[str, ...]:
    """The steps that a planning came to."""
    return tuple(map(str, cast("list[Any]", output))) if isinstance(output, tuple | list) else ()
