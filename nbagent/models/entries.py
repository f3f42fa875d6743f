"""Entries: what a script is made of, and the reply that each of them gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeGuard, cast

from nbagent.errors import ConfigError
from nbagent.messages import ModelReply
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nbagent.request import ModelRequest

Entry: TypeAlias = (
    "str | ModelReply | list[ModelReply] | BaseException | type[BaseException] | Callable[[ModelRequest], Entry]"
)
"""What a script is made of; see `ScriptedLLM`."""


class Pieced(ModelReply, frozen=True):
    """A reply that is streamed in pieces; `ScriptedLLM.pieces` makes it."""

    pieces: tuple[str, ...] = ()

    @property
    def whole(self) -> ModelReply:
        """The reply that comes after them."""
        return ModelReply(**{name: getattr(self, name) for name in ModelReply.__struct_fields__})


class Turns(Struct, frozen=True):
    """Entries for one reply after another; `ScriptedLLM.turns` makes it."""

    entries: tuple[Entry, ...]


def as_reply(entry: object, request: ModelRequest) -> ModelReply:
    """What an entry answers to a request. Raises the entry where it is an exception."""
    if isinstance(entry, str):
        return ModelReply(entry)
    if isinstance(entry, ModelReply):
        return entry
    if isinstance(entry, list | tuple):
        return _several(cast("list[object]", entry), request)
    if _is_exception(entry):
        raise entry
    if callable(entry):
        answer = entry(request)
        check(answer)
        return as_reply(answer, request)
    raise _no_entry(entry)


def check(entry: object) -> None:
    """Raises where an entry is none, before anything runs; what a function will give is checked when it does."""
    if isinstance(entry, list | tuple):
        for one in cast("list[object]", entry):
            check(one)
    elif isinstance(entry, ModelReply):
        _check_reply(entry)
    elif not (isinstance(entry, str) or _is_exception(entry) or callable(entry)):
        raise _no_entry(entry)


def _check_reply(reply: ModelReply) -> ModelReply:
    if not isinstance(cast("object", reply.content), str):
        raise ConfigError(f"the content of a ModelReply is a text ('' where it only calls tools), got {reply!r}")
    return reply


def _no_entry(entry: object) -> ConfigError:
    return ConfigError(
        f"a script entry is a text, ScriptedLLM.tool_call(…), a list of these, a ModelReply, an exception or a "
        f"function of the request; got {type(entry).__name__}: {entry!r}"
        + (
            "; turns are for match and fallback, a script has its entries one by one"
            if isinstance(entry, Turns)
            else ""
        )
    )


def _is_exception(entry: object) -> TypeGuard[BaseException | type[BaseException]]:
    return isinstance(entry, BaseException) or (isinstance(entry, type) and issubclass(entry, BaseException))


def calls_in(entry: object) -> int:
    if isinstance(entry, ModelReply):
        return len(entry.tool_calls)
    return sum(map(calls_in, cast("list[object]", entry))) if isinstance(entry, list | tuple) else 0


def _several(entries: Iterable[object], request: ModelRequest) -> ModelReply:
    """One reply out of several: their texts joined by lines, their calls in order."""
    replies = [as_reply(entry, request) for entry in entries]
    calls = tuple(call for reply in replies for call in reply.tool_calls)
    finish, spoken = "tool_calls" if calls else "stop", [reply for reply in replies if reply.content]
    text = "\n".join(reply.content for reply in spoken)
    if any(isinstance(reply, Pieced) for reply in spoken):
        return Pieced(text, calls, finish_reason=finish, pieces=_joined(spoken))
    return ModelReply(text, calls, finish_reason=finish)


def _joined(spoken: list[ModelReply]) -> tuple[str, ...]:
    """The pieces of several replies; a new line begins with the first piece of each."""
    pieces: list[str] = []
    for reply in spoken:
        first, *rest = reply.pieces if isinstance(reply, Pieced) else (reply.content,)
        pieces += [f"\n{first}" if pieces else first, *rest]
    return tuple(pieces)
