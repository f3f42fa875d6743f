"""Settled: messages that every provider accepts, whatever an interrupted or odd conversation left behind.

Each call of an assistant has exactly one result, right behind it and in order; ids are unique and plain; no text is
empty. What was said is not changed otherwise.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nbagent.messages import Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

UNANSWERED = "not run: the run was stopped before"
NO_OUTPUT = "(no output)"
_MAX_ID = 64
_MAX_NAME = 64


def settled(messages: Iterable[Message]) -> list[Message]:
    """The messages in an order and a form that every provider accepts."""
    return list(_Settler().run(list(messages)))


def system_apart(messages: Iterable[Message]) -> tuple[str, list[Message]]:
    """The system text, and the other messages settled: for protocols that have a place of its own for it."""
    in_order = settled(messages)
    system = "\n\n".join(message.content for message in in_order if message.role == "system")
    return system, [message for message in in_order if message.role != "system"]


def arguments_of(call: ToolCall) -> str:
    """A call's arguments as the JSON text of an object; `{}` where they are none, which its observation says."""
    try:
        found = json.loads(call.arguments, parse_constant=_no_constant)
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # a lone surrogate is a ValueError, too
        return "{}"
    return call.arguments if isinstance(found, dict) else "{}"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


class _Settler:
    def __init__(self) -> None:
        self._taken: set[str] = set()

    def run(self, messages: list[Message]) -> Iterator[Message]:
        place = 0
        while place < len(messages):
            message = messages[place]
            place += 1
            if message.role == "assistant" and message.tool_calls:
                results: list[Message] = []
                while place < len(messages) and messages[place].role == "tool":
                    results.append(messages[place])
                    place += 1
                yield from self._round(message, results)
            elif message.role == "tool":
                continue  # answers no call that is here
            elif message.content.strip() or message.images:
                yield replace(message, content=_sound(message.content))

    def _round(self, message: Message, results: list[Message]) -> Iterator[Message]:
        """An assistant's calls, and the results that are there, each call with one."""
        ids = [self._own(call.id) for call in message.tool_calls]
        calls = tuple(
            ToolCall(own, _name(call.name), arguments_of(call))
            for own, call in zip(ids, message.tool_calls, strict=True)
        )
        yield replace(message, content=_sound(message.content), tool_calls=calls)
        waiting = list(results)
        for own, call in zip(ids, message.tool_calls, strict=True):
            found = next((result for result in waiting if result.tool_call_id == call.id), None)
            if found is not None:
                waiting.remove(found)
            content = found.content if found is not None else UNANSWERED
            yield Message("tool", _sound(content) or NO_OUTPUT, tool_call_id=own)

    def _own(self, call_id: str) -> str:
        base = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)[:_MAX_ID] or "call"
        own, n = base, 1
        while own in self._taken:
            n += 1
            own = f"{base[: _MAX_ID - 8]}-{n}"
        self._taken.add(own)
        return own


def _name(name: str) -> str:
    """A model may have called what no tool can be called; no provider would take it back."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:_MAX_NAME] or "unknown"


def _sound(text: str) -> str:
    """Without lone surrogates, which no request can carry; nothing where there are only blanks."""
    if not text.strip():
        return ""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
