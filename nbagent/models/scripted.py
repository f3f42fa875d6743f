"""ScriptedLLM: a model whose replies are written by hand, so that an agent runs with no key and no network."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

from nbagent.errors import ConfigError, ScriptExhausted, ScriptLeftOver
from nbagent.messages import ModelReply, ModelRequest, ToolCall, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from nbagent.models.model import Piece

Entry: TypeAlias = (
    "str | ModelReply | list[ModelReply] | BaseException | type[BaseException] | Callable[[ModelRequest], Entry]"
)
"""What a script is made of; see `ScriptedLLM`."""


class ScriptedLLM:
    """A model that replies from a list, in order, and never starts over.

    An entry of the script is

    - a string: the text of the reply;
    - `ScriptedLLM.tool_call(name, args)`: a reply that asks for a tool; a list of these asks for several at once;
    - a `ModelReply`, to say usage or finish reason as well;
    - an exception (or its class): raised in place of a reply;
    - a function `(request) -> entry`, called when its turn comes.

    Every request is kept in `requests`. Usage is the entry's own, or estimated at four characters a token.

    Source: the name and the idea are agentmaker's `ScriptedLLM`.
    """

    name = "scripted"
    mode = "scripted"

    def __init__(self, script: Iterable[Entry]) -> None:
        """`script`: the entries. A lone string is refused: it would be read letter by letter."""
        given: Any = script
        if isinstance(given, str | ModelReply | dict) or not isinstance(given, Iterable):
            raise ConfigError(
                f"a script is a list of replies, got {type(script).__name__}: {script!r}; write [{script!r}]"
            )
        self.script: tuple[Entry, ...] = tuple(script)
        for entry in self.script:
            _check(entry)
        self._requests: list[ModelRequest] = []
        self._position = 0
        # How many tool calls the entries before each one make, so that ids do not depend on how one came there.
        # What a function will answer is not known before it is asked; its count is put right then.
        self._calls_before = [0, *accumulate(map(_calls_in, self.script))]

    @staticmethod
    def tool_call(
        name: str, args: dict[str, Any] | str | None = None, *, call_id: str | None = None, content: str = ""
    ) -> ModelReply:
        """An entry that asks for a tool.

        `args`: the arguments (default none); a string is sent as it is, so that malformed JSON can be scripted.
        `call_id`: default `call_1`, `call_2`, … in the order of the script. `content`: text beside the call.
        """
        text = args if isinstance(args, str) else _json(name, args or {})
        return ModelReply(content, (ToolCall(call_id or "", name, text),), finish_reason="tool_calls")

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """Every request since the script was made or reset."""
        return tuple(self._requests)

    @property
    def position(self) -> int:
        """How many entries have been used. May be set, to go on from another place; it stays within the script."""
        return self._position

    @position.setter
    def position(self, position: int) -> None:
        self._position = max(0, min(position, len(self.script)))

    def reset(self) -> None:
        """Back to the first entry, with no requests."""
        self._position = 0
        self._requests.clear()

    def assert_complete(self) -> None:
        """Raises `ScriptLeftOver` where entries have not been used."""
        left = len(self.script) - self.position
        if left:
            raise ScriptLeftOver(
                f"{left} of the script's {len(self.script)} replies were not asked for; "
                f"the first of them is reply {self.position + 1}: {self.script[self.position]!r}"
            )

    def stream(self, request: ModelRequest) -> Iterator[Piece]:
        """Yields the next entry's text, then the reply."""
        reply = self._reply(request)
        if reply.content:
            yield reply.content
        yield reply

    async def astream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """The same for `async for`."""
        for piece in self.stream(request):
            yield piece

    def _reply(self, request: ModelRequest) -> ModelReply:
        place = self._position
        if place == len(self.script):
            raise ScriptExhausted(
                f"the script has {_count(len(self.script), 'reply', 'replies')}, and the agent asks for one more "
                f"(call {self.position + 1}, after: {_last(request)}); add a reply, or end the run earlier"
            )
        self._requests.append(request)
        self._position = place + 1  # an entry that raises is used, too
        reply = as_reply(self.script[place], request)
        before = self._calls_before[place]
        self._calls_before[place + 1] = before + len(reply.tool_calls)
        return self._complete(reply, request, before)

    def _complete(self, reply: ModelReply, request: ModelRequest, calls_before: int) -> ModelReply:
        """The reply with what an entry may leave out: ids and usage."""
        usage, calls = reply.usage or _estimate(request, reply), reply.tool_calls
        if calls:
            numbered = enumerate(calls, calls_before + 1)
            calls = tuple([c if c.id else ToolCall(f"call_{n}", c.name, c.arguments) for n, c in numbered])
        return ModelReply(reply.content, calls, usage, reply.finish_reason)

    def __repr__(self) -> str:
        return f"ScriptedLLM({_count(len(self.script), 'reply', 'replies')}, {self.position} used)"


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
        _check(answer)
        return as_reply(answer, request)
    raise _no_entry(entry)


def _check(entry: object) -> None:
    """Raises where an entry is none, before anything runs; what a function will give is checked when it does."""
    if isinstance(entry, list | tuple):
        for one in cast("list[object]", entry):
            _check(one)
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
    )


def _is_exception(entry: object) -> TypeGuard[BaseException | type[BaseException]]:
    return isinstance(entry, BaseException) or (isinstance(entry, type) and issubclass(entry, BaseException))


def _calls_in(entry: object) -> int:
    if isinstance(entry, ModelReply):
        return len(entry.tool_calls)
    return sum(map(_calls_in, cast("list[object]", entry))) if isinstance(entry, list | tuple) else 0


def _several(entries: Iterable[object], request: ModelRequest) -> ModelReply:
    """One reply out of several: their texts joined by lines, their calls in order."""
    replies = [as_reply(entry, request) for entry in entries]
    calls = tuple(call for reply in replies for call in reply.tool_calls)
    text = "\n".join(reply.content for reply in replies if reply.content)
    return ModelReply(text, calls, finish_reason="tool_calls" if calls else "stop")


def _estimate(request: ModelRequest, reply: ModelReply) -> Usage:
    written = len(reply.content)
    for call in reply.tool_calls:
        written += len(call.name) + len(call.arguments)
    return Usage(-(-request.characters // 4), -(-written // 4), estimated=True)


def _json(name: str, args: dict[str, Any]) -> str:
    try:
        return json.dumps(args, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the scripted arguments of {name!r} are not JSON ({error}): {args!r}") from None


def _last(request: ModelRequest) -> str:
    last = request.messages[-1]
    text = " ".join(last.content.split())
    return f"{last.role} message {text[:60] + '…' if len(text) > 60 else text!r}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
