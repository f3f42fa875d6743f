"""Trouble: what went wrong with a server, in words: what was run, what came, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from nbagent.mcp.failure import MCPCallFailed, MCPServerLost

if TYPE_CHECKING:
    from nbagent.mcp.clues import Clues
    from nbagent.mcp.target import Target

_GONE = "Session terminated"
"""What the SDK makes of a 404 in the middle of a session: the server does not know it any more."""


class Trouble:
    """Makes the errors of one server."""

    def __init__(self, target: Target, label: str, clues: Clues) -> None:
        self._target = target
        self._label = label
        self._clues = clues

    def of_start(self, error: Exception, seconds: float) -> str:
        """Why it did not start. `seconds` is how long it had."""
        target = self._target
        did = f"ran: {target.shown}" if target.is_process else f"asked: {target.shown}"
        came = self._came(_cause(error), seconds)
        return target.secrets.mask(f"the MCP server {self._label!r} did not start; {did}; {came}") + str(self._clues)

    def of_call(self, what: str, error: Exception, seconds: float) -> Exception:
        """The error for a call that came to nothing. An error of ours stays what it is."""
        from nbagent.errors import NBAgentError

        if isinstance(error, NBAgentError):
            return error
        if self.is_closed(error):
            return self.lost(what, "ended, or the connection to it did")
        if isinstance(error, TimeoutError):
            return self._failed(f"no answer to {what} within {seconds:g} s", with_clues=True)
        return self._failed(f"{what} failed: {_headline(_cause(error))}")

    def lost(self, what: str, how: str) -> MCPServerLost:
        """The error for a server that is not there any more."""
        text = f"the MCP server {self._label!r} {how}: no answer to {what}; the next use starts it again"
        return MCPServerLost(text + str(self._clues))

    def is_closed(self, error: Exception) -> bool:
        """Whether it means that the other side has gone."""
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST

        cause = _cause(error)
        if not isinstance(cause, MCPError):
            return False
        return cause.code == CONNECTION_CLOSED or (cause.code == INVALID_REQUEST and cause.message == _GONE)

    def _failed(self, words: str, *, with_clues: bool = False) -> MCPCallFailed:
        text = self._target.secrets.mask(f"the MCP server {self._label!r}: {words}")
        return MCPCallFailed(text + (str(self._clues) if with_clues else ""))

    def _came(self, error: BaseException, seconds: float) -> str:
        process = self._target.is_process
        if isinstance(error, TimeoutError):
            hint = "see whether it waits for something, or give it more with" if process else "is it running? or use"
            return f"it did not answer within {seconds:g} s; {hint} start_timeout=…"
        if isinstance(error, FileNotFoundError | PermissionError | NotADirectoryError) and process:
            return (
                f"{error.strerror}: {error.filename!r}; command= takes the program alone, its arguments go into "
                "args=[…], and cwd= must exist"
            )
        if process:
            came = "it ended" if isinstance(error, Exception) and self.is_closed(error) else _headline(error)
            return f"{came}; run the command in a terminal to see what it says"
        return f"{_headline(error)}; is it running there, is the path right (often /mcp), are the headers?"


def _cause(error: BaseException) -> BaseException:
    """The first real error inside groups, which task groups make of everything."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _headline(error: BaseException) -> str:
    """An error of the protocol is its text; another one says its kind as well."""
    name, text = type(error).__name__, str(error)
    return text if name == "MCPError" and text else f"{name}: {text}".rstrip(": ")
