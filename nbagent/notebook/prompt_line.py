"""Prompt line: what a line `%prompt …` does: what a run would send, what one has sent, or how two differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.errors import ConfigError
from nbagent.notebook import dry, writing
from nbagent.notebook.build import known
from nbagent.notebook.comparing import compared, lines_of, saved
from nbagent.notebook.described import input_fields, text
from nbagent.notebook.prompts import PromptLine, RunName, parse_prompt
from nbagent.notebook.show import show
from nbagent.prompt.inputs import Inputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.agents.base import BaseAgent
    from nbagent.messages import Prompt

    Namespace = Mapping[str, Any]


def run_prompt(shell: InteractiveShell, line: str, namespace: Namespace) -> None:
    """Shows what the line asks for, or writes it into the file that it names."""
    asked = parse_prompt(line)
    if asked.other is not None:
        changed = _compared(asked.run, asked.other, namespace)
        said = changed if not asked.to else _written(asked.to, changed["text/plain"] + "\n")
        show(shell, said)
        return
    agent = known(asked.run.name, namespace)
    if asked.requests is not None:
        requests = list(agent.requests)[-asked.requests :]
        show(
            shell,
            _written(asked.to, writing.requests_text(agent, requests)) if asked.to else dry.requests(agent, requests),
        )
        return
    to_come = _to_come(agent, asked, namespace)
    prompt = dry.prompt_of(agent, asked.run.number) if to_come is None else to_come
    if asked.to:
        show(shell, _written(asked.to, writing.prompt_text(agent, prompt)))
    elif to_come is None:
        dry.show_prompt(shell, dry.shown_again(agent, asked.run.number, namespace), prompt)
    else:
        dry.show_prompt(shell, dry.shown(agent, prompt, namespace), prompt)


def _to_come(agent: BaseAgent, asked: PromptLine, namespace: Namespace) -> Prompt | None:
    """The prompt of a run that has not been; None where the line asks for one that has.

    Of an agent that has not run at all, the name alone asks for what a run without inputs would send.
    """
    if not asked.task and asked.inputs is None:
        if agent.last is not None or asked.run.number is not None:
            return None
        try:
            return agent.observe(Inputs())
        except ConfigError:
            return None  # it needs something, and there is an error that says how to give it
    task = text(asked.task, namespace, "task")
    return agent.observe(task if asked.inputs is None else Inputs(task, input_fields(asked.inputs, namespace)))


def _written(file: str, said: str) -> dict[str, str]:
    return {"text/plain": writing.write(file, said)}


def _compared(one: RunName, other: RunName, namespace: Namespace) -> dict[str, str]:
    return compared(_lines(one, namespace), _lines(other, namespace), (str(one), str(other)))


def _lines(run: RunName, namespace: Namespace) -> Sequence[str]:
    if run.file:
        return saved(run.file, run.name, run.number)
    return lines_of(dry.prompt_of(known(run.name, namespace), run.number))
