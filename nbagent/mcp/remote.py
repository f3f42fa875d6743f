"""Remote: a tool of a server as a function, and as a Tool."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from nbagent.errors import NBAgentError
from nbagent.mcp.arguments import server_interface
from nbagent.mcp.content import response
from nbagent.messages import ToolSchema
from nbagent.tools.response import ToolResponse
from nbagent.tools.tool import Tool

if TYPE_CHECKING:
    from mcp.types import Tool as Listed

    from nbagent.mcp.session import Session
    from nbagent.tools.schema import Interface


class Remote:
    """A tool of a server as a function. `name` is the server's own name for it."""

    def __init__(self, session: Session, name: str, description: str) -> None:
        self._session = session
        self._name = name
        self.__name__ = name
        self.__qualname__ = f"{name} of the MCP server {session.label!r}"
        self.__doc__ = description

    async def __call__(self, /, **arguments: Any) -> ToolResponse:
        # A server that says no, and one that is gone, are both something that the model can deal with.
        try:
            result = await self._session.aask(
                f"tool {self._name!r}", lambda client: client.call_tool(self._name, arguments)
            )
        except NBAgentError as error:
            return ToolResponse.error(str(error))
        return response(result)


class MCPTool(Tool):
    """A tool of a server. Its schema is the server's own.

    What the server calls read-only or idempotent is `idempotent`; what is read-only may run beside other calls.
    """

    def __init__(self, session: Session, listed: Listed, name: str) -> None:
        hints = listed.annotations
        is_read_only = hints is not None and hints.read_only_hint is True
        is_idempotent = hints is not None and hints.idempotent_hint is True
        description = (listed.description or listed.title or "").strip()
        parameters: dict[str, Any] = {"type": "object", "properties": {}, **listed.input_schema}
        self._shown = ToolSchema(name, description, parameters)
        super().__init__(
            Remote(session, listed.name, description),
            name=name,
            description=description,
            parallel=is_read_only,
            idempotent=is_read_only or is_idempotent,
        )
        self.origin = f"mcp:{session.label}"

    @cached_property
    def _interface(self) -> Interface:
        return server_interface(self._shown)
