"""ScriptedLLM: a model whose replies are written by hand, so that an agent runs with no key and no network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

from msgspec.structs import replace

from nbagent.errors import ConfigError, ScriptExhausted, ScriptLeftOver
from nbagent.messages import ModelReply, ModelRequest, ToolCall
from nbagent.models.estimate import estimate
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from nbagent.models.model import Piece

Entry: TypeAlias = (
    "str | ModelReply | list[ModelReply] | BaseException | type[BaseException] | Callable[[ModelRequest], Entry]"
)
"""What a script is made of; see `ScriptedLLM`."""

Match: TypeAlias = "Mapping[Any, Entry | Turns] | Iterable[tuple[str | re.Pattern[str], Entry | Turns]]"
"""What the user may say, with the entry that answers it; see `ScriptedLLM`."""


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
            _check(entry)
        # None where there is neither, which is all that a plain script pays for them.
        self._matches = None if match is None and fallback is None else _Matches(match, fallback)
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
            _check(entry)
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
                f"the script has {_count(len(self.script), 'reply', 'replies')}, and the agent asks for one more "
                f"(call {self.position + 1}, after: {_last(request)}); add a reply, or end the run earlier"
            )
        self._requests.append(request)
        self._position = place + 1  # an entry that raises is used, too
        reply = as_reply(self.script[place], request)
        before = self._calls_before[place]
        self._calls_before[place + 1] = before + len(reply.tool_calls)
        return self._complete(reply, request, before)

    def _matched(self, matches: _Matches, request: ModelRequest) -> ModelReply:
        asked = _asked(request)
        entry = matches.choose(asked)
        if entry is None and self._position < len(self.script):
            entry = self.script[self._position]
            self._position += 1
        elif entry is None:
            entry = matches.otherwise(asked)
        if entry is None:
            raise ScriptExhausted(
                f"the script has {_count(len(self.script), 'reply', 'replies')}, {self._position} used, and the agent "
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
        script = f"{_count(len(self.script), 'reply', 'replies')}, {self.position} used"
        return f"ScriptedLLM({script}{'' if self._matches is None else self._matches})"


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


class _Asked(Struct, frozen=True):
    """What a request says about the turn of the conversation that it belongs to."""

    said: str | None
    """The user's last message; what the agent itself adds after tool results is none."""
    replies: int
    """How often the model has replied since."""
    answered: bool
    """Whether tools have answered since."""
    calls: int
    """How many tool calls all messages hold."""


def _asked(request: ModelRequest) -> _Asked:
    said, replies, answered, calls, after_tools = None, 0, False, 0, False
    for message in request.messages:
        calls += len(message.tool_calls)
        if message.role == "user":
            # What follows tool results is the agent's advice to the model, in the role of the user.
            if not after_tools:
                said, replies, answered = message.content, 0, False
            continue
        replies += message.role == "assistant"
        after_tools = message.role == "tool"
        answered = answered or after_tools
    return _Asked(said, replies, answered, calls)


class _Matches:
    """The entries that are chosen by what the user said, and the one for everything else."""

    def __init__(self, match: Match | None, fallback: Entry | Turns | None) -> None:
        self._rules = [(_key(key), _checked(entry)) for key, entry in _pairs(match)]
        self._fallback = None if fallback is None else _checked(fallback)

    def choose(self, asked: _Asked) -> Entry | None:
        """The first entry that matches and is not done."""
        found = (_turn(entry, asked) for _, entry in self._fitting(asked))
        return next((entry for entry in found if entry is not None), None)

    def otherwise(self, asked: _Asked) -> Entry | None:
        """The entry for what nothing matches, as long as it is not done."""
        return None if self._fallback is None else _turn(self._fallback, asked)

    def why_not(self, asked: _Asked) -> str:
        """Why no entry was chosen, and what to do."""
        done = [repr(key) for key, _ in self._fitting(asked)] + ["fallback"] * (self._fallback is not None)
        if not done:
            return "no match fits what the user said last, either; add a match, a reply or a fallback"
        return (
            f"what fits ({', '.join(done)}) has called its tools already; "
            f'say what follows, as in ScriptedLLM.turns(call, "Done."), or add a reply'
        )

    def _fitting(self, asked: _Asked) -> list[tuple[str | re.Pattern[str], Entry | Turns]]:
        """The rules that match, whole texts first."""
        if asked.said is None:
            return []
        said, plain = asked.said, _plain(asked.said)
        whole = [rule for rule in self._rules if rule[0] == plain]
        return whole + [rule for rule in self._rules if rule[0] != plain and _found(rule[0], said, plain)]

    def __str__(self) -> str:
        matches = f", {_count(len(self._rules), 'match', 'matches')}" if self._rules else ""
        return f"{matches}{'' if self._fallback is None else ', fallback'}"


def _found(key: str | re.Pattern[str], said: str, plain: str) -> bool:
    return key in plain if isinstance(key, str) else key.search(said) is not None


def _plain(text: str) -> str:
    return text.strip().casefold()


def _turn(entry: Entry | Turns, asked: _Asked) -> Entry | None:
    """The entry for this reply; None where its tools have been called and nothing comes after."""
    entries = entry.entries if isinstance(entry, Turns) else (entry,)
    if asked.replies < len(entries):
        return entries[asked.replies]
    # The user's message still matches; to call again, and again, would never end.
    return None if asked.answered and _calls_in(entries[-1]) else entries[-1]


def _pairs(match: Any) -> list[tuple[Any, Any]]:
    given: Any = () if match is None else match
    if isinstance(given, Mapping):
        given = cast("Mapping[Any, Any]", given).items()
    pairs = list(cast("Iterable[Any]", given)) if isinstance(given, Iterable) else [given]
    if all(isinstance(pair, tuple | list) and len(cast("list[Any]", pair)) == 2 for pair in pairs):
        return pairs
    raise ConfigError(
        f"match: expected a mapping, or a list of pairs, from what the user says to an entry; "
        f'got {type(match).__name__}: {match!r}; write match={{"weather": "It rains."}}'
    )


def _key(key: Any) -> str | re.Pattern[str]:
    if isinstance(key, str) and (plain := _plain(key)):
        return plain
    if isinstance(key, re.Pattern) and isinstance(cast("re.Pattern[Any]", key).pattern, str):
        return cast("re.Pattern[str]", key)
    hint = "; for everything else, write fallback=…" if isinstance(key, str) else ""
    raise ConfigError(
        f"match: expected a text that is not empty, or a compiled pattern such as re.compile('rain|snow'), to match; "
        f"got {type(cast('object', key)).__name__}: {key!r}{hint}"
    )


def _checked(entry: Entry | Turns) -> Entry | Turns:
    if not isinstance(entry, Turns):
        _check(entry)
    return entry


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
        + (
            "; turns are for match and fallback, a script has its entries one by one"
            if isinstance(entry, Turns)
            else ""
        )
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
