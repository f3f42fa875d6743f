"""Writing: prompts and requests as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbagent.errors import CellError
from nbagent.models.invoked import as_dict, tool_as_dict
from nbagent.notebook import dry
from nbagent.redact import redact, redact_together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbagent.agents.base import BaseAgent
    from nbagent.messages import Prompt, Segment
    from nbagent.request import ModelRequest


def prompt_text(agent: BaseAgent, prompt: Prompt) -> str:
    """A prompt as JSON: its segments, its messages, its tools, and the body of its request."""
    said = {
        "agent": agent.name,
        "segments": [_segment(segment, text) for segment, text in _shown(prompt)],
        "messages": [as_dict(message) for message in prompt.messages],
        "tools": [tool_as_dict(tool) for tool in prompt.tools],
        "requests": {wire.protocol: json.loads(wire.text) for wire in dry.wires(agent, agent.request(prompt))},
    }
    return json.dumps(said, ensure_ascii=False, indent=2) + "\n"


def requests_text(agent: BaseAgent, requests: Iterable[ModelRequest]) -> str:
    """The bodies of requests, one on a line, as the agent's model sends them; of a script in OpenAI's form."""
    return "".join(f"{next(iter(dry.wires(agent, request))).text}\n" for request in requests)


def write(path: str, text: str) -> str:
    """Writes a text without its secrets; gives what there is to say about it. Raises CellError."""
    if path.endswith((".ipynb", ".py")):
        raise CellError(
            f"{path}: a prompt does not take the place of a notebook or of code; write a .json or .txt file"
        )
    try:
        Path(path).expanduser().write_text(redact(text), encoding="utf-8")
    except OSError as error:
        raise CellError(f"{path}: cannot be written ({error.strerror or type(error).__name__})") from None
    return f"wrote {path}"


def _shown(prompt: Prompt) -> Iterator[tuple[Segment, str]]:
    """Each segment with what of it may be written: a secret may show as one only beside the others of its message."""
    texts = {
        role: iter(redact_together([s.text for s in prompt.segments if s.kept and s.role == role]))
        for role in ("system", "user", "assistant", "tool")
    }
    for segment in prompt.segments:
        yield segment, next(texts[segment.role]) if segment.kept else segment.text


def _segment(segment: Segment, text: str) -> dict[str, Any]:
    source = segment.source
    return {
        "role": segment.role,
        "label": segment.label,
        "text": text,
        "source": {"kind": source.kind, "detail": source.detail, "uri": source.uri, "score": source.score},
        "characters": segment.characters,
        "tokens_estimated": segment.tokens,
        "kept": segment.kept,
        "reason": segment.reason,
    }
