"""The public names, pinned: one that goes or comes is a decision, not an accident."""

from __future__ import annotations

import pytest

import nbagent
from nbagent import errors

NAMES = [
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
]  # fmt: skip


def test_public_names():
    assert nbagent.__all__ == NAMES
    assert sorted(nbagent._HOME) == sorted(NAMES)
    assert set(NAMES) <= set(dir(nbagent))


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_there(name):
    assert getattr(nbagent, name).__module__ == nbagent._HOME[name]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Agents'"):
        nbagent.Agents  # noqa: B018


def test_every_error_is_ours_and_shows_as_one_line_but_for_a_diff():
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.NBAgentError)
        [line, *more] = kind("two\nlines")._render_traceback_()
        assert line.startswith(f"{name}: ")
        has_a_diff = kind in (errors.DriftError, errors.StoreError, errors.RunHeld)
        assert line.endswith("two" if has_a_diff else "two lines")
        assert more == (["lines"] if has_a_diff else [])
