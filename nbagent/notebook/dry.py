"""Dry: shows what a run would send, or what one has sent, and sends nothing."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING

from nbagent.errors import CellError
from nbagent.models.remote import RemoteModel
from nbagent.models.wires import anthropic, chat, responses
from nbagent.views.dry import Dry, Wire, dry_bundle
from nbagent.views.safe import visible
from nbagent.views.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.agents.agent import Agent
    from nbagent.messages import Prompt
    from nbagent.models.wires.draft import Json
    from nbagent.runtime.result import RunResult

_FORMS = {
    "OpenAI, Chat Completions": chat.payload,
    "OpenAI, Responses": responses.payload,
    "Anthropic": anthropic.payload,
}


def shown(agent: Agent, prompt: Prompt) -> dict[str, str]:
    """A prompt that this agent has not sent, and its request, as a MIME bundle."""
    model = agent.model
    return dry_bundle(Dry(agent.name, model.name, model.mode, "not sent", prompt, tuple(_wires(agent, prompt))))


def shown_again(agent: Agent, number: int | None = None) -> dict[str, str]:
    """The prompt of a run, and the request that it would make with what the agent is now, as a MIME bundle."""
    prompt, run = prompt_of(agent, number), Trace.of(_run(agent, number).events)
    wires = [Wire(f"{wire.protocol}, with the agent as it is now", wire.text) for wire in _wires(agent, prompt)]
    return dry_bundle(Dry(agent.name, run.model, run.mode, "sent" if run.turns else "not sent", prompt, wires))


def _wires(agent: Agent, prompt: Prompt) -> Iterator[Wire]:
    """The request as its model sends it, to the byte; of a model that sends nothing, in every form there is."""
    model, request = agent.model, agent.request(prompt)
    if isinstance(model, RemoteModel):
        yield Wire(f"{model.name} at {model.base_url}", model.written(request))
        return
    for name, payload in _FORMS.items():
        yield Wire(name, _text(payload(request, "")))


def _text(body: Json) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def prompt_of(agent: Agent, number: int | None = None) -> Prompt:
    """The prompt of the agent's newest run, or of its nth (from 1). Raises CellError where there is none."""
    prompt = _run(agent, number).prompt
    if prompt is None:
        raise CellError(f"this run of agent {agent.name!r} ended before it had a prompt; {_hint(agent)}")
    return prompt


def _run(agent: Agent, number: int | None) -> RunResult:
    run = agent.last if number is None else agent.results.get(number)
    if run is None:
        which = "has not run yet" if number is None else f"has no run {number}"
        known = f"; there are {', '.join(map(str, agent.results))}" if agent.results else ""
        raise CellError(f"agent {agent.name!r} {which}{known}; {_hint(agent)}")
    return run


def _hint(agent: Agent) -> str:
    return f"`%prompt {agent.name} TASK…` shows what a run would send"


def compared(one: Prompt, other: Prompt, names: tuple[str, str]) -> dict[str, str]:
    """What changed from the one prompt to the other, line by line."""
    lines = difflib.unified_diff(_lines(one), _lines(other), *names, lineterm="", n=2)
    text = "\n".join(lines) or f"{names[0]} and {names[1]} are the same"
    return {"text/plain": visible(text)}


def _lines(prompt: Prompt) -> list[str]:
    """Each line with whose it is, so that a diff shows it."""
    spans = [(message.role, message.content) for message in prompt.messages]
    spans += [("tool", json.dumps([t.name, t.description, t.parameters], ensure_ascii=False)) for t in prompt.tools]
    return [f"{role}: {line}" for role, text in spans for line in text.split("\n")]
