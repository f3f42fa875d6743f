"""Execution: a tool called by hand, and answered in the words that a model reads in a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pydantic_core import to_json

from nbagent.errors import FOREIGN, ConfigError
from nbagent.redact import redact
from nbagent.tools.arguments import InvalidArguments
from nbagent.tools.failure import headline, is_cancelled, let_through, refuse_coroutine
from nbagent.tools.response import ToolResponse
from nbagent.tools.serialise import cut, describe, describe_error

if TYPE_CHECKING:
    from nbagent.tools.registry import ToolRegistry
    from nbagent.tools.tool import Tool


class _Ready(NamedTuple):
    """A tool with the arguments that it takes."""

    tool: Tool
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def call(self) -> Any:
        value = self.tool.function(*self.args, **self.kwargs)
        if not self.tool.is_async:
            refuse_coroutine(value, self.tool.name)
        return value


def execute(registry: ToolRegistry, name: str, params: Any) -> ToolResponse:
    """See `ToolRegistry.execute_tool`."""
    tool = registry.get(name)
    if tool is not None and tool.is_async:
        raise ConfigError(f"the tool {name!r} is async; write `await registry.aexecute_tool({name!r}, …)`")
    ready = _ready(registry, name, params)
    if isinstance(ready, ToolResponse):
        return ready
    try:
        value = ready.call()
    except BaseException as error:  # noqa: BLE001  what ends a run is raised again
        return _failed(ready.tool, error)
    return _returned(ready.tool, value)


async def aexecute(registry: ToolRegistry, name: str, params: Any) -> ToolResponse:
    """See `ToolRegistry.aexecute_tool`."""
    ready = _ready(registry, name, params)
    if isinstance(ready, ToolResponse):
        return ready
    try:
        value = await ready.call() if ready.tool.is_async else ready.call()
    except BaseException as error:
        if is_cancelled(error):
            raise
        return _failed(ready.tool, error)
    return _returned(ready.tool, value)


def _ready(registry: ToolRegistry, name: str, params: Any) -> _Ready | ToolResponse:
    """What is to be called, or what is said where nothing is."""
    tool = registry.get(name)
    if tool is None:
        return ToolResponse.error(str(registry.refusal(name) or registry.unknown(name)))
    try:
        return _Ready(tool, *tool.bind(_arguments(params)))
    except InvalidArguments as error:
        return ToolResponse.error(str(error))


def _arguments(params: Any) -> str:
    """The JSON text of a call. A date, a dataclass and the like are what JSON has for them."""
    if isinstance(params, str):
        return params
    given: Any = {} if params is None else dict(cast("Any", params)) if isinstance(params, Mapping) else params
    try:
        return to_json(given).decode()
    except FOREIGN as error:
        raise InvalidArguments(f"arguments: expected what JSON has words for; {headline(error)}") from None


def _returned(tool: Tool, value: Any) -> ToolResponse:
    described = describe(value)
    return ToolResponse(cut(redact(described.text), tool.max_chars)[0], described.status, described.data)


def _failed(tool: Tool, error: BaseException) -> ToolResponse:
    let_through(error)
    if tool.on_error == "raise" and isinstance(error, Exception):
        raise error
    return ToolResponse.error(describe_error(error, tool.function)[0])
