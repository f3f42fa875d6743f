"""Choosing: the tools of one run, of which a retriever says which fit."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from nbagent.agents.checks import brief
from nbagent.errors import ConfigError
from nbagent.events import PromptAssembled
from nbagent.runtime.interrupts import gated, interruptible
from nbagent.tools.narrowed import NarrowedTools
from nbagent.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbagent.agents.tool_retriever import ToolRetriever
    from nbagent.events import Event


def chosen(
    tools: ToolRegistry, retriever: ToolRetriever, question: Callable[[], str], recorded: Sequence[Event]
) -> ToolRegistry:
    """A view of the tools that fit the question. The retriever is asked when somebody looks, and once.

    `recorded`: events of the same run; where one of them has tools in its prompt, these are the ones, and nobody is
    asked.
    """
    prompts = [event.prompt for event in recorded if isinstance(event, PromptAssembled)]
    if names := {tool.name for prompt in prompts for tool in prompt.tools}:
        return NarrowedTools(tools, lambda tool: tool.name in names, forbids=False)
    fitting = cache(lambda: _selected(tools, retriever, question()))
    return NarrowedTools(tools, lambda tool: tool.name in fitting(), forbids=False)


def _selected(tools: ToolRegistry, retriever: ToolRetriever, question: str) -> ToolRegistry:
    with gated():
        return _select(tools, retriever, question)


@interruptible
def _select(tools: ToolRegistry, retriever: ToolRetriever, question: str) -> ToolRegistry:
    found = retriever.select(tools, question)
    if not isinstance(found, ToolRegistry):  # pyright: ignore[reportUnnecessaryIsInstance]  # it may be the user's own
        raise ConfigError(f"tool_retriever: expected a ToolRegistry of select(tools, query), got {brief(found)}")
    return found
