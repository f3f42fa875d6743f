"""Testing: doubles and values for testing agents, in notebooks and in pytest."""

from nbagent.messages import ModelReply, ToolCall, Usage
from nbagent.models.dummy import TestModel
from nbagent.models.scripted import ScriptedLLM
from nbagent.testing.contract import assert_model_contract

__all__ = ["ModelReply", "ScriptedLLM", "TestModel", "ToolCall", "Usage", "assert_model_contract"]
