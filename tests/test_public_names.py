"""The public names, pinned: one that goes or comes is a decision, not an accident."""

from __future__ import annotations

import pytest

import nbagent
from nbagent import errors

NAMES = [
    "Agent", "ContextBlock", "ContextPolicy", "ContextProvider", "ContextQuery", "FileRetriever",
    "HistoryMemory", "Image", "KeywordRetriever", "Limits", "LocalEmbedder", "MCPServer", "NotebookContext",
    "Price", "PromptDiff", "Retry", "RunResult", "RunUsage", "ScriptedLLM", "Tool", "ToolRegistry",
    "ToolResponse", "VectorMemory", "VectorRetriever", "open_model", "tool",
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


def test_every_error_is_ours_and_shows_as_one_line():
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.NBAgentError)
        assert kind("two\nlines")._render_traceback_() == [f"{name}: two lines"]
