"""Own: what of a prompt is not in one that is shown above it. The rest is named in a few words, not shown again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nbagent.views.words import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbagent.messages import Prompt, Segment


@dataclass(frozen=True, slots=True)
class Own:
    """A prompt as it is shown."""

    prompt: Prompt
    """Without what is shown above."""
    after: str = ""
    """What comes before it: `after the system text above and 4 messages of earlier steps`. In our words."""

    @classmethod
    def of(cls, prompt: Prompt, base: Prompt | None, where: str = "above", earlier: str = "of earlier steps") -> Own:
        """`base`: the prompt that is shown already, `where` it is. `earlier`: whose messages follow on its history."""
        if base is None:
            return cls(prompt, _after((), where, _messages(prompt.before, earlier), ()))
        if prompt.before:
            return cls(_unlike(prompt, base), _going_on(prompt, base, where, earlier))
        segments = _without(prompt.segments, _system(base.segments))
        goes_on = prompt.history[: len(base.history)] == base.history
        own = replace(
            _unlike(prompt, base),
            segments=prompt.segments if segments is None else segments,
            history=() if goes_on else prompt.history,
            examples=() if prompt.examples == base.examples else prompt.examples,
        )
        same = {
            "system text": segments is not None and bool(_system(base.segments)),
            "examples": bool(prompt.examples) and not own.examples,
            "history": goes_on and bool(base.history),
            "tools": bool(prompt.tools) and not own.tools,
        }
        gone = {
            "examples": bool(base.examples) and not prompt.examples,
            "history": bool(base.history) and not prompt.history,
        }
        more = _messages(len(prompt.history) - len(base.history), earlier) if goes_on else ""
        return cls(own, _after(_names(same), where, more, _names(gone)))


def _going_on(prompt: Prompt, base: Prompt, where: str, earlier: str) -> str:
    """Said of a prompt that goes on where `base`, and what followed on it, has ended."""
    system = bool(base.system)
    same = {
        "system text": system,
        "examples": bool(base.examples),
        "history": bool(base.history),
        "tools": bool(prompt.tools) and prompt.tools == base.tools,
    }
    known = system + len(base.examples) + len(base.history)
    return _after(_names(same), where, _messages(prompt.before - known, earlier), ())


def _unlike(prompt: Prompt, base: Prompt) -> Prompt:
    """Without the tools and the images that `base` has, too."""
    tools = tuple(tool for tool in prompt.tools if tool not in base.tools)
    return replace(prompt, tools=tools, images=() if prompt.images == base.images else prompt.images)


def _after(same: Sequence[str], where: str, more: str, gone: Sequence[str]) -> str:
    parts = [*([f"the {_joined(same)} {where}"] if same else []), *([more] if more else [])]
    said = f"after {' and '.join(parts)}" if parts else ""
    without = f"without {_joined(gone)}" if gone else ""
    return ", ".join(part for part in (said, without) if part)


def _messages(number: int, whose: str) -> str:
    return f"{count(number, 'message')} {whose}" if number > 0 else ""


def _names(which: Mapping[str, bool]) -> list[str]:
    return [name for name, is_so in which.items() if is_so]


def _joined(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


def _system(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    return tuple(segment for segment in segments if segment.kept and segment.role == "system")


def _without(segments: Sequence[Segment], known: Sequence[Segment]) -> tuple[Segment, ...] | None:
    """The segments without these at the beginning of the system text; None where that begins otherwise."""
    number = len(known)
    if _system(segments)[:number] != tuple(known):
        return None
    rest: list[Segment] = []
    for segment in segments:
        is_known = number > 0 and segment.kept and segment.role == "system"
        number -= is_known
        if not is_known and (rest or not _is_layout(segment)):
            rest.append(segment)
    return tuple(rest)


def _is_layout(segment: Segment) -> bool:
    return segment.source.kind == "framework" and segment.source.detail == "layout"
