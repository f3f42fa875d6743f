"""Edit: what is put in the place of what a run did at some turn, where another run is forked from it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from msgspec.structs import replace
from typing_extensions import TypedDict

from nbagent.errors import ConfigError
from nbagent.messages import Message, ModelReply, Prompt, Segment, Source, ToolCall
from nbagent.models.entries import Pieced, as_reply, check
from nbagent.request import Messages, ModelRequest
from nbagent.tools.arguments import InvalidArguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from nbagent.messages import Role
    from nbagent.tools.registry import ToolRegistry

    Kind = Literal["observation", "arguments", "reply", "system", "user"]


class _Nothing:
    """What was not given; None is a value that a tool may return."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING: Any = _Nothing()
_OF_THE_FORK = "of the fork"
"""The source of a text that is edited."""


class Edits(TypedDict, total=False):
    """The edits of `fork`, for those that take the same."""

    call: int
    observation: Any
    arguments: Mapping[str, Any] | str
    reply: Any
    system: str
    user: str


@dataclass(frozen=True, slots=True)
class Edit:
    """What is put in another one's place: of a call, of a reply, or of a prompt; nothing for a run that goes on from
    there as it was."""

    call: int = 0
    observation: Any = NOTHING
    arguments: str | None = None
    """JSON."""
    reply: ModelReply | None = None
    system: str | None = None
    user: str | None = None

    @classmethod
    def of(cls, given: Edits) -> Edit:
        """Raises ConfigError for edits that do not fit together, and for values that are none."""
        known = {"call", "observation", "arguments", "reply", "system", "user"}
        if unknown := sorted(set(given) - known):
            raise ConfigError(f"fork: {unknown[0]} is no edit; expected {', '.join(sorted(known - {'call'}))}")
        kinds = [name for name, value in given.items() if name != "call" and value is not NOTHING]
        if len(kinds) > 1 and set(kinds) != {"system", "user"}:
            raise ConfigError(f"fork: {' and '.join(kinds)} do not fit together; only system and user do")
        call = given.get("call", 0)
        if not _is_number(call) or call < 0:
            raise ConfigError(f"fork: call: expected which call of the turn, from 0; got {call!r}")
        if call and kinds not in (["observation"], ["arguments"]):
            raise ConfigError("fork: call says whose observation or arguments are edited; give one of them, too")
        texts = {name: _text(name, given.get(name, NOTHING)) for name in ("system", "user")}
        return cls(
            call, given.get("observation", NOTHING), _arguments(given.get("arguments", NOTHING)),
            _reply(given.get("reply", NOTHING)), **texts,
        )  # fmt: skip

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What is edited."""
        found: dict[Kind, bool] = {
            "observation": self.observation is not NOTHING, "arguments": self.arguments is not None,
            "reply": self.reply is not None, "system": self.system is not None, "user": self.user is not None,
        }  # fmt: skip
        return tuple([name for name, there in found.items() if there])

    @property
    def of_prompt(self) -> bool:
        """Whether the prompt is edited."""
        return self.system is not None or self.user is not None

    @property
    def of_call(self) -> bool:
        """Whether something about one of the calls of the turn is edited."""
        return self.arguments is not None or self.observation is not NOTHING

    def check_arguments(self, name: str, tools: ToolRegistry) -> None:
        """Raises ConfigError for arguments that the tool of this name does not take."""
        tool = None if self.arguments is None else tools.get(name)
        if tool is not None and self.arguments is not None:
            try:
                tool.bind(self.arguments)
            except InvalidArguments as error:
                raise ConfigError(f"fork: arguments of {name}: {error}") from None

    def prompt(self, prompt: Prompt) -> Prompt:
        """The prompt with its texts edited."""
        edited = prompt
        if self.system is not None:
            edited = _with_text(edited, "system", self.system, Source("template", _OF_THE_FORK))
        if self.user is not None:
            edited = replace(
                _with_text(edited, "user", self.user, Source("input", _OF_THE_FORK)), question=None
            )  # fmt: skip
        return edited


def is_edited(prompt: Prompt, role: Role) -> bool:
    """Whether a fork has put another text in the place of that of this role."""
    return any(one.role == role and one.source.detail == _OF_THE_FORK for one in prompt.segments)


def _with_text(prompt: Prompt, role: Role, text: str, source: Source) -> Prompt:
    """All that is sent of this role is one segment."""
    old = [place for place, one in enumerate(prompt.segments) if one.kept and one.role == role]
    at, label = (old[0], prompt.segments[old[0]].label) if old else (0, role)
    made = (Segment(role, label, text, source),) if text or role == "user" else ()
    rest = [one for place, one in enumerate(prompt.segments) if place >= at and place not in old]
    return replace(prompt, segments=(*prompt.segments[:at], *made, *rest))


def _text(name: str, value: Any) -> str | None:
    if value is NOTHING:
        return None
    if not isinstance(value, str):
        raise ConfigError(f"fork: {name}: expected the text as it is sent; got {value!r}")
    if name == "user" and not value.strip():
        raise ConfigError("fork: user: expected what the user says; got an empty text")
    return value


def _arguments(value: Any) -> str | None:
    if value is NOTHING:
        return None
    from nbagent.models.scripted import ScriptedLLM

    if not isinstance(value, dict | str):
        raise ConfigError(f"fork: arguments: expected a dict by the names of the parameters; got {value!r}")
    return ScriptedLLM.tool_call("fork", value).tool_calls[0].arguments  # pyright: ignore[reportUnknownArgumentType]


def _reply(value: Any) -> ModelReply | None:
    if value is NOTHING:
        return None
    if not _is_reply(value):
        raise ConfigError(
            f"fork: reply: expected a text, ScriptedLLM.tool_call(…), a list of these or a ModelReply; got {value!r}"
        )
    check(value)
    reply = as_reply(value, ModelRequest(Messages([Message("user", "")])))
    return reply.whole if isinstance(reply, Pieced) else reply


def _is_reply(value: Any) -> bool:
    if isinstance(value, list | tuple):
        several = cast("Sequence[Any]", value)
        return bool(several) and all(map(_is_reply, several))
    return isinstance(value, str | ModelReply)


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def complete(reply: ModelReply, before: ModelReply | None, made: int) -> ModelReply:
    """An edited reply with what it leaves out: ids of its calls, after so many that the run has made, and the tokens,
    which are those of the reply in whose place it stands: its request was sent."""
    numbered = enumerate(reply.tool_calls, made + 1)
    calls = tuple([one if one.id else ToolCall(f"call_{n}", one.name, one.arguments) for n, one in numbered])
    usage = reply.usage if reply.usage is not None or before is None else before.usage
    return replace(reply, tool_calls=calls, usage=usage)
