"""Testing: doubles and values for testing agents, in notebooks and in pytest."""

from nbagent.messages import ModelReply, ToolCall, Usage
from nbagent.models.scripted import ScriptedLLM

__all__ = ["ModelReply", "ScriptedLLM", "ToolCall", "Usage"]
