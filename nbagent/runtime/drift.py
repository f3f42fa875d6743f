"""Drift: whether a replayed run does what was recorded, and what to say where it does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nbagent.events import Guarded, PromptAssembled, RunFinished, StepFinished, StepStarted
from nbagent.request import Messages, ModelRequest, parts_of
from nbagent.runtime.differing import changed_messages, excerpts
from nbagent.store.codec import alike
from nbagent.views.words import answer_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nbagent.events import Event, Stage
    from nbagent.messages import ToolSchema

_ANEW = "run it anew, or restore"


def same_step(recorded: StepStarted | StepFinished, event: StepStarted | StepFinished) -> bool:
    """Whether two ends of a step are the same but for a value whose class has been defined anew since, or which was
    put down as text."""
    if recorded == event:
        return True
    if not isinstance(recorded, StepFinished) or not isinstance(event, StepFinished):
        return False
    if replace(recorded, output=None) != replace(event, output=None):
        return False
    return answer_text(recorded.output) == answer_text(event.output) or alike(recorded, event)


def same_end(recorded: RunFinished, finished: RunFinished) -> bool:
    """Whether two runs ended alike: also where the class of a value has been defined anew since, or where it was put
    down as text."""
    if recorded == finished:
        return True
    one, other = answer_text(recorded.final_output), answer_text(finished.final_output)
    same = (recorded.status, recorded.stop_reason, one) == (finished.status, finished.stop_reason, other)
    return same or alike(recorded, finished)


def other_guardrail(recorded: Event, now: tuple[Stage, str] | None) -> str:
    """What to say where a run asks another guardrail than was recorded. `now`: which one, None where it asks none."""
    then = f"the {recorded.stage} guardrail {recorded.name!r}" if isinstance(recorded, Guarded) else "no guardrail"
    asks = "asks none" if now is None else f"asks the {now[0]} guardrail {now[1]!r}"
    never = ", which has never checked its answer" if isinstance(recorded, RunFinished) else ""
    return f"the recorded run asked {then} here, this one {asks}{never}; {_ANEW} the guardrails"


def changed_tools(recorded: tuple[ToolSchema, ...], tools: tuple[ToolSchema, ...]) -> str:
    """What to say where the tools of a run are others than those that were recorded."""
    then, now = ({tool.name: tool for tool in several} for several in (recorded, tools))
    said = [
        f"{name} is new" if name not in then
        else f"{name} is gone" if name not in now
        else f"{name} changed ({_changed_tool(then[name], now[name])})"
        for name in sorted(then.keys() | now.keys())
        if then.get(name) != now.get(name)
    ]  # fmt: skip
    return f"the tools are not those of the recorded run: {'; '.join(said) or 'their order changed'}; {_ANEW} them"


def _changed_tool(then: ToolSchema, now: ToolSchema) -> str:
    said: list[str] = []
    if then.description != now.description:
        said.append(_changed("its description", then.description, now.description))
    if then.parameters != now.parameters:
        said.append(_changed("its parameters", *[json.dumps(one.parameters, sort_keys=True) for one in (then, now)]))
    return "; ".join(said)


def _changed(what: str, then: str, now: str) -> str:
    shown = [repr(one) for one in excerpts(then, now)]
    return f"{what}: {shown[0]} then, {shown[1]} now"


def place_of(recorded: Iterable[Event], turn: int) -> str:
    """What to call a turn; of a plan or a reflection, whose steps count their own, with its step."""
    step = ""
    for event in recorded:
        if isinstance(event, StepStarted):
            step = f"{event.kind} {event.number}, " if event.number else f"{event.kind}, "
        elif isinstance(event, StepFinished):
            step = ""
    return f"{step}turn {turn}"


def changed_request(recorded: Sequence[Event], fingerprint: str, request: ModelRequest, before: Messages) -> str:
    """What to say of a request that is not the recorded one.

    `recorded`: the events up to it. `fingerprint`: the recorded one's. `before`: the messages of the last request that
    was the recorded one.
    """
    then, now = parts_of(fingerprint), parts_of(request.fingerprint())
    if not then:
        return f"what is recorded of it is no fingerprint: {fingerprint!r}; {_ANEW} the events"
    changed = [name for name in now if then[name] != now[name]]
    found: list[str] = []
    lines: tuple[str, ...] = ()
    if "messages" in changed:
        where, lines = changed_messages(recorded, then["messages"], request.messages, before)
        found.append(where)
    if "tools" in changed:
        told = next((event.prompt.tools for event in reversed(recorded) if isinstance(event, PromptAssembled)), ())
        same = ModelRequest(Messages(), told).fingerprint()
        is_known = parts_of(same)["tools"] == then["tools"]
        found.append(changed_tools(told, request.tools) if is_known else "its tools changed")
    named = [name for name in ("max_tokens", "settings") if name in changed]
    found += [f"{name}: {then[name] or 'none'} then, {now[name] or 'none'} now" for name in named]
    if "schema" in changed:
        how = "is new" if not then["schema"] else "changed" if now["schema"] else "is gone"
        found.append(f"the schema of its answer {how}")
    return "\n".join([f"{'; '.join(found) or 'it is that of another turn'}; {_ANEW} what has changed", *lines])
