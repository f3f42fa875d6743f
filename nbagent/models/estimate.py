"""Estimate: the usage of a reply that nobody counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.messages import Usage

if TYPE_CHECKING:
    from nbagent.messages import ModelReply
    from nbagent.request import ModelRequest


def estimate(request: ModelRequest, reply: ModelReply) -> Usage:
    """Four characters a token, rounded up."""
    written = len(reply.content)
    for call in reply.tool_calls:
        written += len(call.name) + len(call.arguments)
    return Usage(-(-request.characters // 4), -(-written // 4), estimated=True)
