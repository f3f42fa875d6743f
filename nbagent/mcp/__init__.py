"""MCP: servers of the Model Context Protocol as what an agent is made of: their tools, prompts and resources."""

from __future__ import annotations

from nbagent.mcp.failure import MCPCallFailed, MCPServerLost
from nbagent.mcp.prompts import MCPPrompt
from nbagent.mcp.resources import MCPResources
from nbagent.mcp.server import MCPServer

__all__ = ["MCPCallFailed", "MCPPrompt", "MCPResources", "MCPServer", "MCPServerLost"]
