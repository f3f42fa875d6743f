"""Prompts: a server's prompts as templates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbagent.errors import ConfigError
from nbagent.mcp.content import content
from nbagent.mcp.listing import every
from nbagent.messages import Message
from nbagent.text import sound
from nbagent.texts.template import escaped
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp import Client
    from mcp_types import PromptMessage

    from nbagent.mcp.session import Session


class MCPPrompt(Struct, frozen=True):
    """A prompt that a server offers."""

    name: str
    description: str
    required: tuple[str, ...] = ()
    """The names of the arguments that it needs."""
    optional: tuple[str, ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of all its arguments, the required ones first."""
        return (*self.required, *self.optional)


def list_prompts(session: Session) -> list[MCPPrompt]:
    """The server's prompts, in its order."""
    return session.ask("its list of prompts", _listed)


def get_prompt(session: Session, name: str, arguments: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages of a prompt. What is no str becomes JSON text.

    Raises ConfigError where there is no such prompt, and where its arguments are others.
    """
    texts = {key: _text(value) for key, value in arguments.items()}

    async def request(client: Client) -> list[PromptMessage]:
        _check(name, arguments, await _listed(client), session.label)
        return (await client.get_prompt(name, texts)).messages

    return tuple(_message(each) for each in session.ask(f"prompt {name!r}", request))


def get_template(session: Session, name: str) -> str:
    """The text of a prompt, with `{argument}` for each of its arguments and all other braces doubled.

    The server is given a stand-in for each argument. Raises ConfigError where there is no such prompt, or where what it
    makes of an argument is something else.
    """
    known = {prompt.name: prompt for prompt in list_prompts(session)}
    arguments = known[name].arguments if name in known else ()
    text = "\n\n".join(message.content for message in get_prompt(session, name, {a: _stand_in(a) for a in arguments}))
    lost = [argument for argument in arguments if _stand_in(argument) not in text]
    if lost:
        raise ConfigError(
            f"prompt {name!r} of the MCP server {session.label!r} is no plain template: {', '.join(lost)} is not in "
            f"its text as it was given; call prompt({name!r}, …) with a value"
        )
    text = escaped(text)
    for argument in arguments:
        text = text.replace(_stand_in(argument), f"{{{argument}}}")
    return text


def _stand_in(argument: str) -> str:
    return f"‹{argument}›"


async def _listed(client: Client) -> list[MCPPrompt]:
    listed = await every(lambda cursor: client.list_prompts(cursor=cursor), lambda page: page.prompts)
    return [
        MCPPrompt(
            prompt.name,
            (prompt.description or prompt.title or "").strip(),
            tuple(each.name for each in prompt.arguments or () if each.required),
            tuple(each.name for each in prompt.arguments or () if not each.required),
        )
        for prompt in listed
    ]


def _check(name: str, given: Iterable[str], prompts: list[MCPPrompt], server: str) -> None:
    prompt = next((each for each in prompts if each.name == name), None)
    if prompt is None:
        names = ", ".join(each.name for each in prompts) or "none at all"
        raise ConfigError(f"the MCP server {server!r} has no prompt {name!r}; it has: {names}")
    missing = [each for each in prompt.required if each not in given]
    unknown = [each for each in given if each not in prompt.arguments]
    if missing or unknown:
        wrong = [f"{each} is missing" for each in missing] + [f"it has no {each}" for each in unknown]
        takes = ", ".join([*prompt.required, *(f"{each} (optional)" for each in prompt.optional)]) or "no arguments"
        raise ConfigError(f"prompt {name!r} of the MCP server {server!r}: {', '.join(wrong)}; it takes: {takes}")


def _message(message: PromptMessage) -> Message:
    came = content([message.content])
    return Message(message.role, came.text, images=came.images if message.role == "user" else ())


def _text(value: Any) -> str:
    # Half a character would end the connection, and not only the call.
    return sound(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
