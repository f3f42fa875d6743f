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
    "AgentSpec": "nbagent.agents.spec",
    "AgentTool": "nbagent.agents.sub_agent",
    "Answer": "nbagent.approvals.decision",
    "ApprovalPolicy": "nbagent.approvals.policy",
    "Approve": "nbagent.approvals.decision",
    "CallableGuardrail": "nbagent.agents.guardrail",
    "Compact": "nbagent.agents.compaction",
    "ContextBlock": "nbagent.prompt.context.block",
    "ContextPolicy": "nbagent.prompt.context.selection",
    "ContextProvider": "nbagent.prompt.context.provider",
    "ContextQuery": "nbagent.prompt.context.block",
    "FileRetriever": "nbagent.prompt.context.files",
    "Guardrail": "nbagent.agents.guardrail",
    "HistoryMemory": "nbagent.agents.memory",
    "Image": "nbagent.messages",
    "KeywordRetriever": "nbagent.prompt.context.retrievers",
    "LLMClient": "nbagent.models.opening",
    "Limits": "nbagent.runtime.limits",
    "LocalEmbedder": "nbagent.prompt.context.local",
    "MCPServer": "nbagent.mcp.server",
    "NotebookContext": "nbagent.notebook.notebook_context",
    "PlanAgent": "nbagent.agents.plan_agent",
    "Price": "nbagent.models.prices",
    "PromptDiff": "nbagent.prompt.diff",
    "ReflectionAgent": "nbagent.agents.reflection_agent",
    "Reject": "nbagent.approvals.decision",
    "Retry": "nbagent.runtime.patience",
    "Rewrite": "nbagent.agents.guardrail",
    "RunResult": "nbagent.runtime.result",
    "RunStore": "nbagent.store.run_store",
    "RunUsage": "nbagent.runtime.result",
    "ScriptedLLM": "nbagent.models.scripted",
    "SessionStore": "nbagent.agents.sessions",
    "Stop": "nbagent.approvals.decision",
    "Texts": "nbagent.texts.pack",
    "Tool": "nbagent.tools.tool",
    "ToolPermissions": "nbagent.tools.permissions",
    "ToolRegistry": "nbagent.tools.registry",
    "ToolResponse": "nbagent.tools.response",
    "ToolRetriever": "nbagent.agents.tool_retriever",
    "VectorMemory": "nbagent.prompt.context.memory",
    "VectorRetriever": "nbagent.prompt.context.retrievers",
    "Veto": "nbagent.agents.hook",
    "build_agent": "nbagent.agents.spec",
    "compare": "nbagent.runtime.compare",
    "open_model": "nbagent.models.opening",
    "read_decisions": "nbagent.approvals.decisions_file",
    "read_spec": "nbagent.notebook.spec_cell",
    "tool": "nbagent.tools.tool",
}
"""Where each public name lives. `tests/test_public_names.py` pins them."""

__all__ = [
    "Agent",
    "AgentSpec",
    "AgentTool",
    "Answer",
    "ApprovalPolicy",
    "Approve",
    "CallableGuardrail",
    "Compact",
    "ContextBlock",
    "ContextPolicy",
    "ContextProvider",
    "ContextQuery",
    "FileRetriever",
    "Guardrail",
    "HistoryMemory",
    "Image",
    "KeywordRetriever",
    "LLMClient",
    "Limits",
    "LocalEmbedder",
    "MCPServer",
    "NotebookContext",
    "PlanAgent",
    "Price",
    "PromptDiff",
    "ReflectionAgent",
    "Reject",
    "Retry",
    "Rewrite",
    "RunResult",
    "RunStore",
    "RunUsage",
    "ScriptedLLM",
    "SessionStore",
    "Stop",
    "Texts",
    "Tool",
    "ToolPermissions",
    "ToolRegistry",
    "ToolResponse",
    "ToolRetriever",
    "VectorMemory",
    "VectorRetriever",
    "Veto",
    "build_agent",
    "compare",
    "open_model",
    "read_decisions",
    "read_spec",
    "tool",
]

if TYPE_CHECKING:
    from typing import Any

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.agents.agent import Agent
    from nbagent.agents.compaction import Compact
    from nbagent.agents.guardrail import CallableGuardrail, Guardrail, Rewrite
    from nbagent.agents.hook import Veto
    from nbagent.agents.memory import HistoryMemory
    from nbagent.agents.plan_agent import PlanAgent
    from nbagent.agents.reflection_agent import ReflectionAgent
    from nbagent.agents.sessions import SessionStore
    from nbagent.agents.spec import AgentSpec, build_agent
    from nbagent.agents.sub_agent import AgentTool
    from nbagent.agents.tool_retriever import ToolRetriever
    from nbagent.approvals.decision import Answer, Approve, Reject, Stop
    from nbagent.approvals.decisions_file import read_decisions
    from nbagent.approvals.policy import ApprovalPolicy
    from nbagent.mcp.server import MCPServer
    from nbagent.messages import Image
    from nbagent.models.opening import LLMClient, open_model
    from nbagent.models.prices import Price
    from nbagent.models.scripted import ScriptedLLM
    from nbagent.notebook.notebook_context import NotebookContext
    from nbagent.notebook.spec_cell import read_spec
    from nbagent.prompt.context.block import ContextBlock, ContextQuery
    from nbagent.prompt.context.files import FileRetriever
    from nbagent.prompt.context.local import LocalEmbedder
    from nbagent.prompt.context.memory import VectorMemory
    from nbagent.prompt.context.provider import ContextProvider
    from nbagent.prompt.context.retrievers import KeywordRetriever, VectorRetriever
    from nbagent.prompt.context.selection import ContextPolicy
    from nbagent.prompt.diff import PromptDiff
    from nbagent.runtime.compare import compare
    from nbagent.runtime.limits import Limits
    from nbagent.runtime.patience import Retry
    from nbagent.runtime.result import RunResult, RunUsage
    from nbagent.store.run_store import RunStore
    from nbagent.texts.pack import Texts
    from nbagent.tools.permissions import ToolPermissions
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
