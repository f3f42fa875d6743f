"""Chat: OpenAI's Chat Completions, as OpenAI and all who are compatible with it speak it."""

from __future__ import annotations

import base64
import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from nbagent.messages import Image, Message, Reasoning
from nbagent.models.wires.draft import Draft, DraftCall, Json, counted, is_count, number, table, tables, word
from nbagent.models.wires.settled import settled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nbagent.messages import ModelReply
    from nbagent.models.model import Piece
    from nbagent.request import ModelRequest

DONE = "[DONE]"
ANSWER = "answer"
"""What the schema of the answer is called, which the protocol wants to be called something."""
_EXTRAS = "nbagent.extra_content"
"""Under this name what belongs to single calls is kept, until it is sent back."""
_FINISH = {"function_call": "tool_calls", "model_context_window_exceeded": "context_overflow"}
"""Where a server's word for the end is not ours."""


def payload(request: ModelRequest, provider: str, *, old_max_tokens: bool = False, structured: bool = False) -> Json:
    """The body of a request, without the model's name.

    `old_max_tokens`: the server knows no other word for it. `structured`: it takes the schema of the answer.
    """
    body: Json = {"messages": [_message(message, provider) for message in settled(request.messages)]}
    if request.tools:
        body["tools"] = [tool.as_openai() for tool in request.tools]
    if request.max_tokens is not None:
        body["max_tokens" if old_max_tokens else "max_completion_tokens"] = request.max_tokens
    if structured and request.output_schema is not None:
        schema = {"name": ANSWER, "schema": strict(request.output_schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _message(message: Message, provider: str) -> Json:
    match message.role:
        case "tool":
            return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
        case "assistant":
            return _assistant(message, provider)
        case _ if message.images:
            parts: list[Json] = [{"type": "text", "text": message.content}] if message.content else []
            return {"role": message.role, "content": [*parts, *map(_image, message.images)]}
        case _:
            return {"role": message.role, "content": message.content}


def _assistant(message: Message, provider: str) -> Json:
    made: Json = {"role": "assistant", "content": message.content or None}
    if message.tool_calls:
        made["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    for one in message.reasoning:
        if one.provider == provider:
            made |= json.loads(one.data)
    for index, extra in made.pop(_EXTRAS, {}).items():
        if int(index) < len(message.tool_calls):
            made["tool_calls"][int(index)]["extra_content"] = extra
    return made


def _image(image: Image) -> Json:
    return {"type": "image_url", "image_url": {"url": data_url(image)}}


def data_url(image: Image) -> str:
    return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"


def strict(schema: Mapping[str, Any]) -> Json:
    """The schema of an answer as the SDK makes it strict."""
    from openai import pydantic_function_tool
    from pydantic import BaseModel

    class Given(BaseModel):  # the SDK takes no schema but that of a class, and changes it in place
        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> Json:
            return deepcopy(dict(schema))

    return pydantic_function_tool(Given)["function"]["parameters"]  # pyright: ignore[reportTypedDictNotRequiredAccess]


class Reader:
    """Reads a reply, streamed or whole."""

    def __init__(self, provider: str, *, says_done: bool = True) -> None:
        self.draft = Draft(provider)
        self.draft.ended = not says_done
        self._by_index: dict[int, DraftCall] = {}
        self._thoughts: dict[str, list[str]] = {}
        self._details: list[Json] = []
        self._extras: dict[int, Json] = {}
        """What a provider wants back with a call, by the number of the call."""

    def event(self, name: str, data: Any) -> Iterator[Piece]:  # noqa: ARG002 - this protocol names no events
        """One event of the stream; `data` is what its JSON says, or the text `[DONE]`."""
        if data == DONE:
            self.draft.ended = True
            return
        chunk = table(data)
        self._usage(chunk.get("usage"))
        for choice in tables(chunk.get("choices")):
            if choice.get("index") not in (0, None):
                continue  # only one reply was asked for
            yield from self._delta(table(choice.get("delta")))
            self._finish(choice.get("finish_reason"))

    def whole(self, data: Json) -> Iterator[Piece]:
        """The one body of a reply that was not streamed."""
        choices = tables(data.get("choices"))
        if choices:
            message = table(choices[0].get("message"))
            yield from self._delta({**message, "tool_calls": []})
            for part in tables(message.get("tool_calls")):  # each is a call of its own, whatever it is marked with
                function = table(part.get("function"))
                call = self.draft.call(word(part.get("id")), word(function.get("name")))
                if extra := table(part.get("extra_content")):
                    self._extras[call.index] = extra
                yield from self.draft.argue(call, function.get("arguments"))
            self._finish(choices[0].get("finish_reason"))
        self._usage(data.get("usage"))
        self.draft.ended = True

    @staticmethod
    def fits(data: Json) -> bool:
        """Whether a body is a reply at all."""
        choices = data.get("choices")
        return bool(tables(choices)) and isinstance(tables(choices)[0].get("message"), dict)

    def reply(self) -> ModelReply:
        """The whole reply; raises ModelError."""
        for field, parts in self._thoughts.items():
            text = "".join(parts)
            self.draft.reasoning.append(Reasoning(self.draft.provider, json.dumps({field: text}), text))
        if self._details:
            self.draft.reasoning.append(
                Reasoning(self.draft.provider, json.dumps({"reasoning_details": self._details}))
            )
        if self._extras:
            kept = {str(index): extra for index, extra in self._extras.items()}
            self.draft.reasoning.append(Reasoning(self.draft.provider, json.dumps({_EXTRAS: kept})))
        self._thoughts, self._details, self._extras = {}, [], {}
        return self.draft.reply()

    def _delta(self, delta: Json) -> Iterator[Piece]:
        content: object = delta.get("content")
        if isinstance(content, list):  # some servers send parts
            content = "".join(word(part.get("text")) for part in tables(delta.get("content")))
        yield from self.draft.say(content)
        if refusal := word(delta.get("refusal")):
            self.draft.refusal = True
            yield from self.draft.say(refusal)
        self._details += tables(delta.get("reasoning_details"))
        for field in ("reasoning_content", "reasoning"):
            if thought := word(delta.get(field)):
                self._thoughts.setdefault(field, []).append(thought)
                yield from self.draft.think(thought)
                break  # some servers say it twice
        for part in tables(delta.get("tool_calls")):
            yield from self._call(part)

    def _call(self, part: Json) -> Iterator[Piece]:
        function = table(part.get("function"))
        arguments = function.get("arguments")
        call = self._target(part.get("index"), word(part.get("id")), word(function.get("name")), arguments)
        if extra := table(part.get("extra_content")):
            self._extras[call.index] = extra
        yield from self.draft.argue(call, arguments)

    def _target(self, index: object, call_id: str, name: str, arguments: object) -> DraftCall:
        """The call that a piece belongs to. Index and id may be missing, late, or the same for several calls."""
        known = self._known(index, call_id)
        if known is None or _begins_another(known, call_id, name, arguments):
            known = self.draft.call(call_id, name)
        known.id, known.name = known.id or call_id, known.name or name
        if is_count(index):
            self._by_index[number(index)] = known
        return known

    def _known(self, index: object, call_id: str) -> DraftCall | None:
        """By its index; without one, or where it comes late, by its id, else the newest."""
        claimed = list(self._by_index.values())
        if is_count(index):
            if (found := self._by_index.get(number(index))) is not None:
                return found
            free = [call for call in self.draft.calls if all(call is not other for other in claimed)]
        else:
            free = self.draft.calls
        same = [call for call in free if call_id and call.id == call_id]
        return (same or free or [None])[-1]

    def _finish(self, reason: object) -> None:
        if isinstance(reason, str) and reason:
            self.draft.finish = _FINISH.get(reason, reason)

    def _usage(self, usage: object) -> None:
        said = table(usage)
        if not (is_count(said.get("prompt_tokens")) and is_count(said.get("completion_tokens"))):
            return
        details = table(said.get("prompt_tokens_details"))
        read = details.get("cached_tokens") or said.get("prompt_cache_hit_tokens") or said.get("cached_tokens")
        self.draft.usage = counted(
            said["prompt_tokens"], said["completion_tokens"], number(read), number(details.get("cache_write_tokens"))
        )


def _begins_another(call: DraftCall, call_id: str, name: str, arguments: object) -> bool:
    """Whether a piece begins a call of its own, though it is marked like a call that is here already."""
    if (call_id and call.id and call_id != call.id) or (name and call.name and name != call.name):
        return True
    # Some servers say id and name with every piece, also with an empty last one.
    repeats = bool(call_id) and call_id == call.id and not arguments
    return bool(name and call.name and not repeats and _is_whole(call.arguments))


def _is_whole(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False
