"""Server: an MCP server, and what an agent can have of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from nbagent.mcp.listing import every
from nbagent.mcp.naming import chosen, valid_names
from nbagent.mcp.options import checked_seconds, checked_target
from nbagent.mcp.prompts import MCPPrompt, get_prompt, get_template, list_prompts
from nbagent.mcp.remote import MCPTool
from nbagent.mcp.resources import MCPResources
from nbagent.mcp.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from nbagent.messages import Message
    from nbagent.tools.tool import Tool


class MCPServer:
    """An MCP server. It is started by its first use or by `open`, and ended by `close` or when Python ends.

        with MCPServer("npx", args=["-y", "@modelcontextprotocol/server-everything"]) as server:
            agent = Agent("helper", model, tools=server.tools("echo", "get*"))

    Either `command` (the program, without arguments) is run and talks over stdin and stdout, or there is one at `url`
    and it talks over HTTP ("streamable").

    - `args`: the program's arguments. `cwd`: the folder to run it in.
    - `env`: what its environment has besides HOME, PATH and the like; nothing else of ours reaches it.
    - `headers`: of each HTTP request. Neither they nor the values of `env` are shown anywhere.
    - `name`: how it is called, by default the command's name or the host.
    - `start_timeout`: seconds, 30; `call_timeout`: seconds, 60, for each request.

    Works the same in a cell, in `async def` and in plain code. Raises ConfigError where it is described wrongly, and
    later, where it cannot start or the SDK is missing; MCPCallFailed where a request fails. A server that died is an
    error once; the use after that starts it again.
    """

    def __init__(
        self,
        command: str | PathLike[str] | None = None,
        *,
        args: Sequence[str | PathLike[str]] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | PathLike[str] | None = None,
        url: str | None = None,
        headers: Mapping[str, str] | None = None,
        name: str | None = None,
        start_timeout: float = 30.0,
        call_timeout: float = 60.0,
    ) -> None:
        target = checked_target(command, url, args=args, env=env, cwd=cwd, headers=headers)
        self.name = target.label if name is None else name
        self._session = Session(
            target,
            self.name,
            checked_seconds("start_timeout", start_timeout),
            checked_seconds("call_timeout", call_timeout),
        )

    def open(self) -> Self:
        """Starts it, where it is not running, and waits until it answers."""
        self._session.ask("its start", _nothing)
        return self

    def close(self) -> None:
        """Ends it and waits until it is gone. A later use starts it again."""
        self._session.close()

    def __enter__(self) -> Self:
        try:
            return self.open()
        except BaseException:  # an interrupt as well
            self.close()
            raise

    def __exit__(self, *exception: object) -> None:
        self.close()

    def tools(self, *names: str, prefix: str = "") -> list[Tool]:
        """Its tools in its order, all of them or those that `names` say, in which `*` stands for anything.

        `prefix` is put before each name, for two servers whose tools have the same. Raises ConfigError for a name that
        fits no tool, ToolDefinitionError for a tool whose input schema is none.
        """
        listed = self._session.ask(
            "its list of tools",
            lambda client: every(lambda cursor: client.list_tools(cursor=cursor), lambda page: page.tools),
        )
        own = [tool.name for tool in listed]
        wanted = chosen(own, names, self.name)
        rows = zip(listed, valid_names(own, prefix), wanted, strict=True)
        return [MCPTool(self._session, tool, name) for tool, name, is_wanted in rows if is_wanted]

    def prompts(self) -> list[MCPPrompt]:
        """Its prompts in its order: names, descriptions, and the names of their arguments."""
        return list_prompts(self._session)

    def prompt(self, name: str, /, **arguments: Any) -> str:
        """The text of a prompt, filled with the arguments; of several messages, with an empty line between them.

        Raises ConfigError where there is no such prompt, and for arguments that are missing or that it does not have.
        """
        return "\n\n".join(message.content for message in self.prompt_messages(name, **arguments))

    def template(self, name: str, /) -> str:
        """A prompt as a template: `Agent(prompt_template=server.template("review"))` has its arguments as input fields.

        Raises ConfigError where there is no such prompt, and where an argument does not stand in its text.
        """
        return get_template(self._session, name)

    def prompt_messages(self, name: str, /, **arguments: Any) -> tuple[Message, ...]:
        """The same as messages with their roles and, where the user's have any, images."""
        return get_prompt(self._session, name, arguments)

    def resources(
        self, *uris: str, passive: bool = True, active: bool = False, context_label: str | None = None
    ) -> MCPResources:
        """Its resources as a context provider, all of them or those at `uris`. Asks nothing of the server yet."""
        return MCPResources(self._session, uris, passive=passive, active=active, context_label=context_label)

    def __repr__(self) -> str:
        state = "open" if self._session.is_open else "not open"
        return f"MCPServer({self.name!r}, {self._session.target.shown!r}, {state})"


async def _nothing(_: object) -> None:
    """What is asked of a server that only has to run."""
