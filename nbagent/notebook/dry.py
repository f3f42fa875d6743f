"""Dry: shows what a run would send, or what one has sent, and sends nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbagent.errors import CellError
from nbagent.models.remote import RemoteModel
from nbagent.models.wires import anthropic, chat, responses
from nbagent.notebook.attributes import NotebookAttributes
from nbagent.notebook.places import located
from nbagent.notebook.run_named import run_named
from nbagent.notebook.show import show
from nbagent.redact import redact
from nbagent.views.dry import Dry, Wire, dry_bundle
from nbagent.views.html_dry import request_section
from nbagent.views.parameters import schema_text
from nbagent.views.safe import visible
from nbagent.views.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.agents.base import BaseAgent
    from nbagent.messages import Prompt
    from nbagent.models.wires.draft import Json
    from nbagent.request import ModelRequest
    from nbagent.runtime.result import RunResult
    from nbagent.views.html import Section

_FORMS = {
    "OpenAI, Chat Completions": chat.payload,
    "OpenAI, Responses": responses.payload,
    "Anthropic": anthropic.payload,
}


def shown(agent: BaseAgent, prompt: Prompt, namespace: Mapping[str, Any] | None = None) -> dict[str, str]:
    """A prompt that this agent has not sent, and its request, as a MIME bundle.

    `namespace`: the notebook's, where it is to say in which cells its variables were set.
    """
    model = agent.model
    bodies, command = tuple(wires(agent, agent.request(agent.opening(prompt)))), f"%prompt {agent.name} TASK… --to FILE"
    return dry_bundle(
        Dry(agent.name, model.name, model.mode, "not sent", _placed(agent, prompt, namespace), bodies, command)
    )


def _placed(agent: BaseAgent, prompt: Prompt, namespace: Mapping[str, Any] | None) -> Prompt:
    if namespace is None:
        return prompt
    pulls = isinstance(agent.attributes, NotebookAttributes)
    return located(prompt, namespace, ("variable", "attribute") if pulls else ("variable",))


def shown_again(
    agent: BaseAgent, number: int | None = None, namespace: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """The prompt of a run, and the request that it would make with what the agent is now, as a MIME bundle."""
    prompt, run = agent.opening(prompt_of(agent, number)), Trace.of(_run(agent, number).events)
    bodies = [
        Wire(wire.protocol, wire.text, "with the agent as it is now") for wire in wires(agent, agent.request(prompt))
    ]
    which = agent.name if number is None else f"{agent.name}@{number}"
    note, command = "sent" if run.all_turns else "not sent", f"%prompt {which} --to FILE"
    return dry_bundle(Dry(agent.name, run.model, run.mode, note, _placed(agent, prompt, namespace), bodies, command))


def show_prompt(shell: InteractiveShell, bundle: dict[str, str], prompt: Prompt) -> None:
    """A prompt's view; where it had no room for everything, all of it follows as JSON that opens with one click."""
    show(shell, bundle)
    if 'class="nbagent-cut"' in bundle["text/html"]:
        show(shell, _whole(prompt), {"application/json": {"expanded": False}})


def _whole(prompt: Prompt) -> dict[str, Any]:
    said: dict[str, Any] = {f"{n} {m.role}": redact(m.content) for n, m in enumerate(prompt.messages, 1)}
    said |= {f"tool {tool.name}": redact(schema_text(tool)) for tool in prompt.tools}
    # JupyterLab opens the outermost object, and no other.
    return {"application/json": {"the whole prompt": said}, "text/plain": f"all of it as JSON: {', '.join(said)}"[:200]}


def wires(agent: BaseAgent, request: ModelRequest) -> Iterator[Wire]:
    """The request as its model sends it, to the byte; of a model that sends nothing, in every form there is."""
    model = agent.model
    if isinstance(model, RemoteModel):
        yield Wire(f"{model.name} at {model.base_url}", model.written(request))
        return
    for name, payload in _FORMS.items():
        yield Wire(name, _text(payload(request, "")))


def request_of(agent: BaseAgent, prompt: Prompt) -> Section:
    """The request that this prompt makes, beside a run that goes on."""
    return request_section(tuple(wires(agent, agent.request(agent.opening(prompt)))), f"%prompt {agent.name}")


def _text(body: Json) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def prompt_of(agent: BaseAgent, number: int | None = None) -> Prompt:
    """The prompt of the agent's newest run, or of its nth (from 1). Raises CellError where there is none."""
    prompt = _run(agent, number).prompt
    if prompt is None:
        raise CellError(f"this run of agent {agent.name!r} ended before it had a prompt; {_hint(agent)}")
    return prompt


def _run(agent: BaseAgent, number: int | None) -> RunResult:
    return run_named(agent, "" if number is None else str(number), _hint(agent))


def _hint(agent: BaseAgent) -> str:
    return f"`%prompt {agent.name} TASK…` shows what a run would send"


def requests(agent: BaseAgent, sent: Sequence[ModelRequest]) -> dict[str, str]:
    """The bodies of requests that were sent, as text."""
    if not sent:
        raise CellError(f"agent {agent.name!r} has not sent anything yet; {_hint(agent)}")
    said = [f"{agent.name} · the newest {len(sent)} of its requests, the last one last"]
    for number, request in enumerate(sent, 1):
        wire = next(wires(agent, request))
        said.append(
            f"\nrequest {number}, {wire.protocol}\n{json.dumps(json.loads(wire.text), ensure_ascii=False, indent=2)}"
        )
    return {"text/plain": visible("\n".join(said))}
