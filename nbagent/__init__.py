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
    "Image": "nbagent.messages",
    "Limits": "nbagent.runtime.limits",
    "Price": "nbagent.models.prices",
    "Retry": "nbagent.runtime.patience",
    "RunResult": "nbagent.runtime.result",
    "RunUsage": "nbagent.runtime.result",
    "ScriptedLLM": "nbagent.models.scripted",
    "Tool": "nbagent.tools.tool",
    "ToolRegistry": "nbagent.tools.registry",
    "ToolResponse": "nbagent.tools.response",
    "open_model": "nbagent.models.opening",
    "tool": "nbagent.tools.tool",
}
"""Where each public name lives. `tests/test_public_names.py` pins them."""

__all__ = [
    "Agent",
    "Image",
    "Limits",
    "Price",
    "Retry",
    "RunResult",
    "RunUsage",
    "ScriptedLLM",
    "Tool",
    "ToolRegistry",
    "ToolResponse",
    "open_model",
    "tool",
]

if TYPE_CHECKING:
    from typing import Any

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.agents.agent import Agent
    from nbagent.messages import Image
    from nbagent.models.opening import open_model
    from nbagent.models.prices import Price
    from nbagent.models.scripted import ScriptedLLM
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
