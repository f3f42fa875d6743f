"""ScriptedLLM: a model whose replies are written by hand, so that an agent runs with no key and no network."""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import copy
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from nbagent.errors import ConfigError, ScriptExhausted, ScriptLeftOver
from nbagent.messages import ModelReply, ToolCall
from nbagent.models.entries import Entry, Pieced, Turns, as_reply, calls_in, check
from nbagent.models.estimate import estimate
from nbagent.models.match import Match, Matches, counted, what_was_asked

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from nbagent.models.model import Piece
    from nbagent.request import ModelRequest


class ScriptedLLM:
    """A model that replies from a list, in order, and never starts over.

    An entry of the script is

    - a string: the text of the reply; `ScriptedLLM.pieces("Hel", "lo")`: the same, streamed in these pieces;
    - `ScriptedLLM.tool_call(name, args)`: a reply that asks for a tool; a list of these asks for several at once;
    - a `ModelReply`, to say usage or finish reason as well;
    - an exception (or its class): raised in place of a reply;
    - a function `(request) -> entry`, called when its turn comes.

    `match` chooses an entry by what the user said last, before the script is asked: `{"weather": "It rains."}`. A text
    matches where it is all that was said, or else where it is part of it, whatever the capitals; a compiled pattern
    where it is found. Whole texts come first, then the others in their order. `fallback` answers what neither a match
    nor the script does. None of these is used up, and none moves the script on.

    After the results of its tool calls an entry is not chosen again, or a run would not end:
    `ScriptedLLM.turns(call, "Done.")` says what follows (a function is asked each time, and decides for itself). With
    `match` or `fallback`, ids of calls count on from the calls in the request's messages, and depend on nothing else.

    Every request is kept in `requests`. Usage is the entry's own, or estimated at four characters a token.

    Source: the name and the idea are agentmaker's `ScriptedLLM`.
    """

    name = "scripted"
    mode = "scripted"

    def __init__(
        self, script: Iterable[Entry] = (), *, match: Match | None = None, fallback: Entry | Turns | None = None
    ) -> None:
        """`script`: the entries. A lone string is refused: it would be read letter by letter.

        `match`: a mapping, or a list of pairs, from a text or a compiled pattern to an entry or `ScriptedLLM.turns`.
        `fallback`: one of these, for everything else.
        """
        given: Any = script
        if isinstance(given, str | ModelReply | dict) or not isinstance(given, Iterable):
            write = f"match={script!r}" if isinstance(given, dict) else f"[{script!r}]"
            raise ConfigError(f"a script is a list of replies, got {type(script).__name__}: {script!r}; write {write}")
        self.script: tuple[Entry, ...] = tuple(script)
        for entry in self.script:
            check(entry)
        # None where there is neither, which is all that a plain script pays for them.
        self._matches = None if match is None and fallback is None else Matches(match, fallback)
        self._requests: list[ModelRequest] = []
        self._position = 0
        # How many tool calls the entries before each one make, so that ids do not depend on how one came there.
        # What a function will answer is not known before it is asked; its count is put right then.
        self._calls_before = [0, *accumulate(map(calls_in, self.script))]

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

    @staticmethod
    def pieces(*pieces: str | Iterable[str]) -> ModelReply:
        """An entry that is a text, streamed in just these pieces: `pieces("Hel", "lo")`, or a list of them."""
        given: tuple[Any, ...] = pieces
        if len(given) == 1 and isinstance(given[0], Iterable) and not isinstance(given[0], str):
            given = tuple(cast("Iterable[Any]", given[0]))
        for piece in given:
            if not isinstance(piece, str):
                raise ConfigError(f"ScriptedLLM.pieces: a piece is a text, got {type(piece).__name__}: {piece!r}")
        text = "".join(given)
        return Pieced(text, pieces=given) if text else ModelReply()  # of an empty text there is nothing to stream

    @staticmethod
    def turns(*entries: Entry) -> Turns:
        """What a match answers reply by reply, until the user speaks again: `turns(call, "Done.")`. The last stays."""
        if not entries:
            raise ConfigError('ScriptedLLM.turns: expected one entry or more; write turns(first, "and then")')
        for entry in entries:
            check(entry)
        return Turns(entries)

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

    def fork(self) -> ScriptedLLM:
        """The same script, standing where this one does, for another agent; with no requests."""
        made = copy(self)
        made._requests, made._calls_before = [], self._calls_before.copy()  # noqa: SLF001 - it is one of its own class
        return made

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
            if isinstance(reply, Pieced):
                yield from reply.pieces
                reply = reply.whole
            else:
                yield reply.content
        yield reply

    async def astream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """The same for `async for`."""
        for piece in self.stream(request):
            yield piece

    def _reply(self, request: ModelRequest) -> ModelReply:
        if self._matches is not None:
            return self._matched(self._matches, request)
        place = self._position
        if place == len(self.script):
            raise ScriptExhausted(
                f"the script has {counted(len(self.script), 'reply', 'replies')}, and the agent asks for one more "
                f"(call {self.position + 1}, after: {_last(request)}); add a reply, or end the run earlier"
            )
        self._requests.append(request)
        self._position = place + 1  # an entry that raises is used, too
        reply = as_reply(self.script[place], request)
        before = self._calls_before[place]
        self._calls_before[place + 1] = before + len(reply.tool_calls)
        return self._complete(reply, request, before)

    def _matched(self, matches: Matches, request: ModelRequest) -> ModelReply:
        asked = what_was_asked(request)
        entry = matches.choose(asked)
        if entry is None and self._position < len(self.script):
            entry = self.script[self._position]
            self._position += 1
        elif entry is None:
            entry = matches.otherwise(asked)
        if entry is None:
            raise ScriptExhausted(
                f"the script has {counted(len(self.script), 'reply', 'replies')}, {self._position} used, and the agent "
                f"asks for one more (after: {_last(request)}); {matches.why_not(asked)}"
            )
        self._requests.append(request)
        return self._complete(as_reply(entry, request), request, asked.calls)

    def _complete(self, reply: ModelReply, request: ModelRequest, calls_before: int) -> ModelReply:
        """The reply with what an entry may leave out: ids and usage."""
        usage, calls = reply.usage or estimate(request, reply), reply.tool_calls
        if calls:
            numbered = enumerate(calls, calls_before + 1)
            calls = tuple([c if c.id else ToolCall(f"call_{n}", c.name, c.arguments) for n, c in numbered])
        return replace(reply, tool_calls=calls, usage=usage)

    def __repr__(self) -> str:
        script = f"{counted(len(self.script), 'reply', 'replies')}, {self.position} used"
        return f"ScriptedLLM({script}{'' if self._matches is None else self._matches})"


def _json(name: str, args: dict[str, Any]) -> str:
    try:
        return json.dumps(args, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the scripted arguments of {name!r} are not JSON ({error}): {args!r}") from None


def _last(request: ModelRequest) -> str:
    last = request.messages[-1]
    text = " ".join(last.content.split())
    return f"{last.role} message {text[:60] + '…' if len(text) > 60 else text!r}"
