"""Words: what every view says about a run, in the same words."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from enum import Enum
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

from nbagent.text import without_addresses
from nbagent.views.safe import inline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbagent.events import Guarded, ModelFailed, Waiting
    from nbagent.messages import Image, Message, Observation
    from nbagent.views.trace import Call, Trace, Turn

Tone = Literal["", "good", "warn", "bad"]

_STATUS = {
    None: "not finished",
    "completed": "completed",
    "interrupted": "waits for a decision",
    "out_of_turns": "out of turns",
    "limit_reached": "limit reached",
    "cancelled": "cancelled",
    "failed": "failed",
}
_ENDING = {
    None: "The run has not finished.",
    "completed": "The run completed without an answer.",
    "interrupted": "The run is paused: it waits for a decision.",
    "limit_reached": "The run reached a limit and stopped without an answer.",
    "cancelled": "The run was cancelled.",
    "failed": "The run failed.",
}
BREAK = {
    "interrupted": "the run was interrupted",
    "out_of_turns": "the run ended",
    "limit_reached": "the run reached a limit",
    "cancelled": "the run was cancelled",
    "failed": "the run failed",
}
"""What has cut something short."""
NOTE = "the agent told the model"
REMARK = "the agent noted"
BROKEN_OFF = "incomplete reply, none of its tool calls ran: "
"""Said of a reply that is not whole; its reason comes from outside and follows."""

_SHORT = 60


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def status(trace: Trace) -> str:
    return _STATUS[trace.status]


def tone(trace: Trace) -> Tone:
    match trace.status:
        case None:
            return ""
        case "completed":
            return "good" if trace.is_sound else "warn"
        case "failed":
            return "bad"
        case _:
            return "warn"


def short_reason(trace: Trace) -> str:
    """The stop reason where it fits beside the status; where it does not, and where no answer is, it ends the run."""
    reason = trace.stop_reason
    return reason if len(reason) <= _SHORT and "\n" not in reason else ""


def numbers(trace: Trace, *, inside: bool = False) -> str:
    """How much the run took, with the runs inside it: `2 turns · 1 tool call · 68 tokens (estimated)`.

    `inside`: of a run inside another one, in as few words as it takes.
    """
    calls, refused, runs = trace.tool_calls, trace.refused, sum(call.run is not None for call in trace.calls)
    called = count(calls, "tool call") + (f" and {refused:,} refused" if refused else "")
    parts = (
        count(len(trace.all_turns), "turn"),
        f"{count(runs, 'run')} inside" if runs else "",
        "" if inside and not calls and not refused else called,
        _tokens(trace),
    )
    return " · ".join(part for part in parts if part)


def _tokens(trace: Trace) -> str:
    usage = trace.usage
    if usage is None:
        return "0 tokens" if trace.usage_complete else "tokens unknown"
    notes = [
        note for note, said in (("estimated", usage.estimated), ("some unknown", not trace.usage_complete)) if said
    ]
    if usage.cache_read_tokens:
        notes.append(f"{usage.cache_read_tokens:,} from a cache")
    tokens = count(usage.total_tokens, "token") + (f" ({', '.join(notes)})" if notes else "")
    if usage.cost is not None and trace.usage_complete:
        return f"{tokens} · ${usage.cost.normalize():f}"
    return f"{tokens} · cost unknown" if trace.mode == "live" else tokens


def guarded(check: Guarded) -> str:
    """What a guardrail said; its message follows where it did not let the text pass."""
    if not check.passed:
        return "did not let it pass"
    return "passed" if check.text is None else f"changed {'the question' if check.stage == 'input' else 'the answer'}"


def failed_attempt(failure: ModelFailed) -> str:
    """The title of an attempt at a model call that failed; its message follows."""
    return f"attempt {failure.attempt} failed: {failure.kind.replace('_', ' ')}"


def waiting(event: Waiting) -> str:
    """What is said while a failed model call waits to be tried again."""
    seconds = count(ceil(event.seconds), "second")
    return f"{event.kind.replace('_', ' ')}: attempt {event.attempt} in {seconds} ({inline(event.message)})"


def prompt_title(trace: Trace) -> str:
    return "prompt" if trace.assembled else "prompt, not assembled yet"


def writing_prompt(agent: str) -> str:
    """The command that writes the prompt of an agent's run to a file."""
    return f"%prompt {agent} --to FILE"


def ending(trace: Trace) -> str:
    """Why there is no answer."""
    if trace.status == "out_of_turns":
        return f"The run used all of its {count(trace.max_turns, 'turn')} without an answer."
    return _ENDING[trace.status]


def answered(trace: Trace) -> str:
    """The answer as text; empty where there is none."""
    return "" if trace.answer is None else answer_text(trace.answer)


def no_reply(trace: Trace) -> str:
    return f"no reply: {BREAK[trace.status]} while the model replied" if trace.status in BREAK else "no reply yet"


def is_answer(turn: Turn, trace: Trace) -> bool:
    """Whether this turn's text is what is shown as the answer anyway."""
    return bool(turn.content) and turn.content == trace.answer and turn is trace.answering


def outcome(observation: Observation) -> str:
    """Empty for a plain success; else `partial`, `error`, `error: unknown tool`; `rejected` where a person said so."""
    if observation.error is not None and observation.error.kind == "rejected":
        return "rejected"
    if observation.error is not None:
        return f"error: {observation.error.kind.replace('_', ' ')}"
    return "" if observation.status == "success" else observation.status


def outcome_of(call: Call) -> str:
    return outcome(call.observation) if call.observation else ""


def has_trouble(turn: Turn) -> bool:
    """Whether something went wrong in it, or it did not come to its end."""
    if turn.reply is None or not turn.reply.complete or turn.failures:
        return True
    return worst_of(turn) == "bad" or any(call.observation is None for call in turn.calls)


def extra_error(observation: Observation) -> str:
    """The error's message where the observation's text does not hold it already."""
    error = observation.error
    return error.message if error and error.message not in observation.text else ""


def worst(outcomes: Iterable[str]) -> Tone:
    found = set(outcomes)
    if any(word.startswith("error") for word in found):
        return "bad"
    return "warn" if found & {"partial", "rejected"} else ""


def worst_of(turn: Turn) -> Tone:
    """The worst that came back in it."""
    return worst(map(outcome_of, turn.calls))


def with_errors(turns: Iterable[Turn]) -> str:
    """`, 2 turns with errors`; empty where there are none."""
    errors = sum(worst_of(turn) == "bad" for turn in turns)
    return f", {count(errors, 'turn')} with errors" if errors else ""


def answer_text(value: Any) -> str:
    """An answer that is not text, as JSON; what JSON does not know, as its repr without an address."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, default=_repr)


def _repr(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "model_dump"):  # of pydantic
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return without_addresses(repr(value))


def caption(image: Image) -> str:
    kind = "" if image.media_type == "image/png" else f" ({image.media_type})"
    return (image.caption or "without a caption") + kind


def attributed(history: Iterable[Message]) -> Iterator[tuple[Message, str]]:
    """Each message, and for that of a tool the tool's name, since ids are not shown."""
    names: dict[str, str] = {}
    for message in history:
        names |= {call.id: call.name for call in message.tool_calls}
        yield message, names.get(message.tool_call_id or "", "") if message.role == "tool" else ""
