"""Request: what is sent to a model: messages that grow at little cost, and the fingerprint that replay compares."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any, overload

from nbagent.messages import Message, ToolSchema
from nbagent.values import Struct


class Messages(Sequence[Message]):
    """An immutable list of messages that grows cheaply: `messages + [more]` shares what is there already.

    A run of n turns makes n of these; with plain tuples that would cost n²/2 copies, and as many fingerprints.
    """

    __slots__ = ("_length", "_log")

    def __init__(self, items: Iterable[Message] | _Log = ()) -> None:
        self._log = items if isinstance(items, _Log) else _Log(items)
        self._length = len(self._log.items)

    def __add__(self, more: Iterable[Message]) -> Messages:
        grown = Messages.__new__(Messages)
        # Only the newest view may write into the shared log; an older one branches off with a copy.
        at_tip = self._length == len(self._log.items)
        grown._log = self._log if at_tip else self._log.copied(self._length)
        grown._log.items.extend(more)
        grown._length = len(grown._log.items)
        return grown

    def branch(self) -> Messages:
        """The same messages, for a conversation that goes on from here while this one goes on from here, too."""
        return Messages(self._log.copied(self._length))

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            return tuple(self._log.items[i] for i in range(*index.indices(self._length)))
        if not -self._length <= index < self._length:
            raise IndexError(f"message {index} of {self._length}")
        return self._log.items[index % self._length]

    def __iter__(self) -> Iterator[Message]:
        return (self._log.items[i] for i in range(self._length))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Messages) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Messages({list(self)!r})"

    @property
    def characters(self) -> int:
        """How many characters the messages hold, tool calls included."""
        return self._log.characters(self._length)

    @property
    def digest(self) -> str:
        """A hash over all messages, kept running, so that the next one costs only what was added."""
        return self._log.digest(self._length)


class _Log:
    """What several `Messages` share: the items, and their running sums and hash, brought up to date when asked for."""

    __slots__ = ("_digests", "_hash", "_sums", "items")

    def __init__(self, items: Iterable[Message]) -> None:
        self.items = list(items)
        self._hash = blake2b(digest_size=12)
        # After so many messages: the hash (empty where it was not asked for) and the number of characters.
        self._digests = [self._hash.hexdigest()]
        self._sums = [0]

    def copied(self, length: int) -> _Log:
        """A log of its own of the first so many; of all of them, with what has been worked out about them."""
        copy = _Log(self.items[:length])
        if length == len(self.items):
            self._advance(length)
            copy._hash, copy._digests, copy._sums = self._hash.copy(), self._digests.copy(), self._sums.copy()
        return copy

    def characters(self, length: int) -> int:
        self._advance(length)
        return self._sums[length]

    def digest(self, length: int) -> str:
        self._advance(length)
        if not self._digests[length]:
            # An older view may be asked for the first time when the hash is further already.
            newest = length == len(self._sums) - 1
            self._digests[length] = self._hash.hexdigest() if newest else _Log(self.items[:length]).digest(length)
        return self._digests[length]

    def _advance(self, length: int) -> None:
        sums, hashes, count = self._sums, self._digests, self._sums[-1]
        for message in self.items[len(sums) - 1 : length]:
            text, size = _canonical(message)
            self._hash.update(text.encode("ascii"))
            count += size
            sums.append(count)
            hashes.append("")


class ModelRequest(Struct, frozen=True):
    """What is sent to a model."""

    messages: Messages
    tools: tuple[ToolSchema, ...] = ()
    max_tokens: int | None = None
    """How long the reply may be; None leaves it to the model."""
    seconds_left: float | None = None
    """After how long the reply is of no use any more; None where the run has no time limit."""
    settings: Mapping[str, Any] | None = None
    """More parameters of this one request, as the model calls them; JSON."""
    output_schema: Mapping[str, Any] | None = None
    """The JSON schema of the answer, to which a provider that can holds the model; None: the answer is free text."""

    def fingerprint(self) -> str:
        """A hash of the whole request; a replayed request must have the recorded one's."""
        more = json.dumps(self.settings, sort_keys=True) if self.settings else ""
        if self.output_schema is not None:
            schema = json.dumps(self.output_schema, sort_keys=True)
            more += f"->{blake2b(schema.encode('ascii'), digest_size=6).hexdigest()}"
        return f"{self.messages.digest}-{_of_tools.get(self.tools)[1]}{self.max_tokens or ''}{more}"

    @property
    def characters(self) -> int:
        """How many characters go to the model, tool descriptions included."""
        return self.messages.characters + _of_tools.get(self.tools)[2]


_PARTS = re.compile(
    r"(?P<messages>\w+)-(?P<tools>\w{12})(?P<max_tokens>\d*)(?P<settings>\{.*\})?(?:->(?P<schema>\w+))?"
)


def parts_of(fingerprint: str) -> dict[str, str]:
    """What a fingerprint is made of, by what it is about: hashes, and `max_tokens` and `settings` as they are.

    Empty where they are not set; nothing where it is no fingerprint.
    """
    found = _PARTS.fullmatch(fingerprint)
    return {} if found is None else found.groupdict("")


def _canonical(message: Message) -> tuple[str, int]:
    """A message as JSON, always the same text for the same message, and how many characters the model reads of it.

    By hand: it is made twice in every turn.
    """
    content, answers, size = message.content, message.tool_call_id, len(message.content)
    calls = ""
    for call in message.tool_calls:
        size += len(call.name) + len(call.arguments)
        calls += f"[{_quoted(call.id)},{_quoted(call.name)},{_quoted(call.arguments)}],"
    more = _attached(message) if message.images or message.reasoning else ""
    return f'["{message.role}",{_quoted(content)},[{calls}],{answers and _quoted(answers)}{more}]\n', size


def _attached(message: Message) -> str:
    images = [[image.media_type, blake2b(image.data, digest_size=12).hexdigest()] for image in message.images]
    return "," + json.dumps([images, [[one.provider, one.data] for one in message.reasoning]])


class _OfTools:
    """What is worked out once for the tools of a run, which are the same tuple in every turn."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: tuple[tuple[ToolSchema, ...] | None, str, int] = (None, "", 0)

    def get(self, tools: tuple[ToolSchema, ...]) -> tuple[object, str, int]:
        """The tools with their hash and their number of characters."""
        known = self._known
        if known[0] is not tools:
            # Canonical JSON, so that neither the order of a dict nor a lone surrogate matters.
            text = json.dumps([[tool.name, tool.description, tool.parameters] for tool in tools], sort_keys=True)
            digest = blake2b(text.encode("ascii"), digest_size=6).hexdigest()
            size = sum(len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters)) for tool in tools)
            self._known = known = (tools, digest, size)
        return known


_of_tools = _OfTools()
