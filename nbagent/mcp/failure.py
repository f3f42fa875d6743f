"""Failure: what a server did not do. A server that cannot start is a ConfigError."""

from __future__ import annotations

from nbagent.errors import NBAgentError


class MCPCallFailed(NBAgentError):
    """A server gave no answer, or said no. Its str is fit for the model to read."""


class MCPServerLost(MCPCallFailed):
    """A server has ended, or the connection to it. The next use starts it again."""
