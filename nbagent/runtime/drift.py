"""Drift: whether a replayed run does what was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from nbagent.events import RunFinished, StepFinished, StepStarted
from nbagent.views.words import answer_text

if TYPE_CHECKING:
    from nbagent.messages import ToolSchema


def same_step(recorded: StepStarted | StepFinished, event: StepStarted | StepFinished) -> bool:
    """Whether two ends of a step are the same but for a value whose class has been defined anew since."""
    if recorded == event:
        return True
    if not isinstance(recorded, StepFinished) or not isinstance(event, StepFinished):
        return False
    same = replace(recorded, output=None) == replace(event, output=None)
    return same and answer_text(recorded.output) == answer_text(event.output)


def same_end(recorded: RunFinished, finished: RunFinished) -> bool:
    """Whether two runs ended alike: also where the class of a value has been defined anew since."""
    if recorded == finished:
        return True
    one, other = answer_text(recorded.final_output), answer_text(finished.final_output)
    return (recorded.status, recorded.stop_reason, one) == (finished.status, finished.stop_reason, other)


def changed_tools(recorded: tuple[ToolSchema, ...], tools: tuple[ToolSchema, ...]) -> str:
    """What to say where the tools of a run are others than those that were recorded."""
    then, now = ({tool.name: tool for tool in several} for several in (recorded, tools))
    changed = sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))
    named = ", ".join(changed) or "their order"
    return f"the tools are not those of the recorded run: {named} changed; run it anew, or restore them"
