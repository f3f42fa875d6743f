"""nbagent: build, see and test LLM agents in notebook cells.

    %load_ext nbagent

The names below are loaded when they are first used; importing nbagent does nothing else.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # type checkers take it for true; importing `typing` would cost more than all of this module

__version__ = "0.1.0"

_HOME = {
    "Agent": "nbagent.agents.agent",
    "ContextBlock": "nbagent.prompt.context.block",
    "ContextPolicy": "nbagent.prompt.context.selection",
    "ContextProvider": "nbagent.prompt.context.provider",
    "ContextQuery": "nbagent.prompt.context.block",
    "FileRetriever": "nbagent.prompt.context.files",
    "HistoryMemory": "nbagent.agents.memory",
    "Image": "nbagent.messages",
    "KeywordRetriever": "nbagent.prompt.context.retrievers",
    "Limits": "nbagent.runtime.limits",
    "LocalEmbedder": "nbagent.prompt.context.local",
    "MCPServer": "nbagent.mcp.server",
    "NotebookContext": "nbagent.notebook.notebook_context",
    "Price": "nbagent.models.prices",
    "PromptDiff": "nbagent.prompt.diff",
    "Retry": "nbagent.runtime.patience",
    "RunResult": "nbagent.runtime.result",
    "RunUsage": "nbagent.runtime.result",
    "ScriptedLLM": "nbagent.models.scripted",
    "Tool": "nbagent.tools.tool",
    "ToolRegistry": "nbagent.tools.registry",
    "ToolResponse": "nbagent.tools.response",
    "VectorMemory": "nbagent.prompt.context.memory",
    "VectorRetriever": "nbagent.prompt.context.retrievers",
    "open_model": "nbagent.models.opening",
    "tool": "nbagent.tools.tool",
}
"""Where each public name lives. `tests/test_public_names.py` pins them."""

__all__ = [
    "Agent",
    "ContextBlock",
    "ContextPolicy",
    "ContextProvider",
    "ContextQuery",
    "FileRetriever",
    "HistoryMemory",
    "Image",
    "KeywordRetriever",
    "Limits",
    "LocalEmbedder",
    "MCPServer",
    "NotebookContext",
    "Price",
    "PromptDiff",
    "Retry",
    "RunResult",
    "RunUsage",
    "ScriptedLLM",
    "Tool",
    "ToolRegistry",
    "ToolResponse",
    "VectorMemory",
    "VectorRetriever",
    "open_model",
    "tool",
]

if TYPE_CHECKING:
    from typing import Any

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.agents.agent import Agent
    from nbagent.agents.memory import HistoryMemory
    from nbagent.mcp.server import MCPServer
    from nbagent.messages import Image
    from nbagent.models.opening import open_model
    from nbagent.models.prices import Price
    from nbagent.models.scripted import ScriptedLLM
    from nbagent.notebook.notebook_context import NotebookContext
    from nbagent.prompt.context.block import ContextBlock, ContextQuery
    from nbagent.prompt.context.files import FileRetriever
    from nbagent.prompt.context.local import LocalEmbedder
    from nbagent.prompt.context.memory import VectorMemory
    from nbagent.prompt.context.provider import ContextProvider
    from nbagent.prompt.context.retrievers import KeywordRetriever, VectorRetriever
    from nbagent.prompt.context.selection import ContextPolicy
    from nbagent.prompt.diff import PromptDiff
    from nbagent.runtime.limits import Limits
    from nbagent.runtime.patience import Retry
    from nbagent.runtime.result import RunResult, RunUsage
    from nbagent.tools.registry import ToolRegistry
    from nbagent.tools.response import ToolResponse
    from nbagent.tools.tool import Tool, tool


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'nbagent' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext nbagent`: registers the magics, and does nothing else."""
    from nbagent.magics import register

    register(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext nbagent`: takes the magics away; agents that exist stay."""
    from nbagent.magics import unregister

    unregister(shell)
