"""Agent: a model that answers, or calls tools and sees what they return, in turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.agents.base import BaseAgent, Given
from nbagent.agents.loop import Setup, converse
from nbagent.agents.options import Options, Tools, own_options, refuse_foreign
from nbagent.agents.stages import Thought, act, calls_of, messages_of, settings_of, think
from nbagent.agents.task import Task
from nbagent.errors import ModelError
from nbagent.prompt.inputs import Inputs, Text
from nbagent.request import ModelRequest
from nbagent.runtime.drivers import drive
from nbagent.runtime.run import Run

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, MutableMapping
    from pathlib import Path

    from nbagent.agents.compaction import Compact
    from nbagent.agents.sessions import SessionStore
    from nbagent.agents.tool_retriever import ToolRetriever
    from nbagent.approvals.asking import Asked
    from nbagent.approvals.policy import ApprovalPolicy
    from nbagent.messages import Message
    from nbagent.models.invoked import Invokable
    from nbagent.models.model import Model
    from nbagent.prompt.blueprint import Keys, TemplateText
    from nbagent.prompt.context.provider import ContextProvider
    from nbagent.prompt.context.selection import ContextPolicy
    from nbagent.prompt.examples import Examples, Place
    from nbagent.runtime.effects import Loop
    from nbagent.runtime.limits import Limits
    from nbagent.runtime.patience import Retry
    from nbagent.runtime.result import RunResult
    from nbagent.store.run_store import RunStore
    from nbagent.texts.pack import Texts
    from nbagent.tools.permissions import ToolPermissions
    from nbagent.tools.registry import ToolRegistry


class Agent(BaseAgent):
    """A model that works on a task in turns: it answers, or calls tools and sees what they return.

    The same agent can be run again: it remembers tasks and answers (`history`). `run` and `stream` work in a script,
    in a notebook cell and inside `async def` (they block there); `arun` and `astream` are for `await`.

    Source: the interface follows agentmaker's `Agent`.
    """

    strategy = "chat"

    def __init__(
        self,
        name: str,
        model: Model | Invokable | object,
        system_prompt: Text | None = None,
        *,
        instructions: TemplateText | None = None,
        prompt_template: TemplateText | None = None,
        examples: Examples | None = None,
        examples_in: Place = "messages",
        output: Any = None,
        formatters: Any = None,
        hide_unused_fields: bool = False,
        attributes: MutableMapping[str, Any] | None = None,
        pull_keys: Keys | None = None,
        push_keys: Keys | None = None,
        memories: Iterable[ContextProvider | Any] | None = None,
        retrievers: Iterable[ContextProvider | Any] | None = None,
        context_policy: ContextPolicy | None = None,
        tools: Tools | None = None,
        tool_registry: ToolRegistry | None = None,
        max_turns: int = 10,
        max_tokens: int | None = None,
        retries: int = 1,
        math: bool = False,
        limits: Limits | None = None,
        retry: Retry | None = None,
        texts: Texts | Mapping[str, str] | str | None = None,
        scope: Hashable = None,
        input_guardrails: Iterable[Any] | None = None,
        output_guardrails: Iterable[Any] | None = None,
        hooks: Iterable[Any] | None = None,
        permissions: ToolPermissions | None = None,
        approvals: ApprovalPolicy | None = None,
        decide: Asked | None = None,
        tool_retriever: ToolRetriever | None = None,
        compact: Compact | bool | int | None = None,
        session_store: SessionStore | None = None,
        store: RunStore | str | Path | None = None,
        description: str | None = None,
        **others: Any,
    ) -> None:
        """An agent; nothing is sent.

        name: how it is shown. model: what replies, or an object with `invoke(messages, tools, settings)`.

        The prompt. system_prompt: the system message as it is; or instructions: a template of it, as a text or a list
        of lines; none is sent without. prompt_template: a template of the user's message. In both, `{topic}` is an
        input field or an attribute, `{{topic}}` gives `{topic}`, and JSON stays as it is. hide_unused_fields: whether
        fields that no template takes are left out. examples: pairs (question, answer), sent as messages, or in the
        system prompt with examples_in="prompt".

        The answer. output: fields it must have, a description or a type each; it is then a dict. formatters: how the
        user's message is written and how the answer is read, two names or objects; by default paragraph and, with a
        prompt_template or output fields, json. "text" reads nothing.

        The surroundings. attributes: values for templates that stay from run to run; pull_keys: which of them prompts
        use, with what they mean, default all; push_keys: output fields that are written back to them. memories,
        retrievers: context providers, asked for each prompt (passive) or by the model (active); context_policy: how
        many of their blocks go in.

        The run. tools: functions, `@tool` functions or a registry; tool_registry: a registry, in place of `tools`.
        max_turns: how many model calls one run may take, at least 1. max_tokens: how long one reply may be, default
        what the model allows. retries: how often a run that says nothing else tells the model that its answer cannot be
        read, default once. limits: what a run may use in all, default no limit. retry: how often a model call is
        tried, default four times. texts: the language of what nbagent itself says to the model, `english` or `chinese`,
        or single texts by their key (`Texts`). scope: which conversation a run goes on with where it names none.
        math: whether the notebook typesets paragraphs `$$…$$` of the answer.

        What it may do. input_guardrails: functions of the task, asked before anything is sent; output_guardrails:
        functions of the answer, asked before it counts; each lets the text pass (None, True), stops the run (False, a
        message: `GuardrailTripped` is raised, and nothing is remembered) or rewrites it (`Rewrite(text)`), see
        `Guardrail`. hooks: functions of an event, told of all that happens in a run, and objects with before_model,
        before_tool, which may change or veto a call (`Veto(reason)`), on_run_start, after_model, after_tool,
        on_guardrail_trip, on_interrupt, on_error or on_run_end. A replay asks and tells them only of what is new.
        permissions: which tools may be called (`ToolPermissions`). approvals: which calls wait for a person
        (`ApprovalPolicy`); decide: a function of the calls that wait, `PendingAction` values, which returns decisions
        about them (see `resume`), or None; what nobody decides ends the run as interrupted. tool_retriever: which of
        them a run is told of (`ToolRetriever`), by default all. description: what it is good at, for agents that may
        call it.

        Its conversations. compact: summarises what was said long ago where the history is longer than so many tokens;
        True: than half of the model's context window, where that is known (`Compact`). session_store: keeps them on
        disk (`SessionStore`), by default they end with the process. store: writes each run to a file of a folder while
        it happens (`RunStore`), so that it can go on in a later process (see `resume`); by default none is written.

        Raises `ConfigError` (a ValueError) naming what is wrong.
        """
        refuse_foreign(others)
        options: Options = {
            "instructions": instructions, "prompt_template": prompt_template,
            "examples": examples, "examples_in": examples_in, "output": output, "formatters": formatters,
            "hide_unused_fields": hide_unused_fields, "attributes": attributes, "pull_keys": pull_keys,
            "push_keys": push_keys, "memories": memories, "retrievers": retrievers, "context_policy": context_policy,
            "tools": tools, "tool_registry": tool_registry, "max_tokens": max_tokens, "retries": retries, "math": math,
            "limits": limits, "retry": retry, "texts": texts, "scope": scope, "input_guardrails": input_guardrails,
            "output_guardrails": output_guardrails, "hooks": hooks, "permissions": permissions,
            "approvals": approvals, "decide": decide,
            "tool_retriever": tool_retriever, "compact": compact, "session_store": session_store, "store": store,
            "description": description,
        }  # fmt: skip
        super().__init__(name, model, system_prompt, max_turns, own_options(options))

    def _loop(self, setup: Setup) -> Loop:
        return converse(setup)

    def think(self, messages: Iterable[Any], settings: Mapping[str, Any] | None = None) -> Thought:
        """One model call: `{"type": "content", "content": text}`, or `{"type": "tool_call", "content": [calls]}`.

        messages: messages, or dicts in OpenAI's form. settings: more parameters of this request. The `message` of what
        comes back is what the model said, to be put before the results of its tool calls. Raises ModelError.
        """
        said, checked = messages_of(messages), settings_of(settings)
        request = ModelRequest(said, self.tools.schemas, self.max_tokens, settings=checked)
        self.requests.append(request)
        return Thought(self._performed(think(self.model, request)))

    def act(self, tool_calls: Iterable[Any]) -> list[Message]:
        """Runs the tool calls that `think` gave, and returns a tool message for each, in their order."""
        observations = self._performed(act(self.tools, calls_of(tool_calls)))
        return [observation.message for observation in observations]

    def step(self, inputs: Given) -> RunResult:
        """`observe`, `think` and `act` until there is an answer: the same as `run`. Output fields are its items."""
        return self.run(inputs)

    def _performed(self, loop: Loop) -> Any:
        """What a small loop gives, which is no run of the agent."""
        started, hooks = self._started(self._nothing(), ()), self._asked(self.scope)
        run = Run(started, loop, limits=self.limits, retry=self.retry, hooks=hooks)
        for _ in drive(run):
            pass
        if run.result.status != "completed":
            raise ModelError(f"no reply: {run.result.status.replace('_', ' ')}, {run.result.stop_reason}")
        return run.result.final_output

    def _nothing(self) -> Task:
        return Task(Inputs(), (), None, None, self.prompting, 1)
