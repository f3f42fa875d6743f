"""BaseAgent: what agents of every strategy have: prompts, conversations, runs, streams, replays."""

from __future__ import annotations

from contextlib import AbstractContextManager, aclosing
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from typing_extensions import Unpack

from nbagent.agents.answer_text import AnswerText
from nbagent.agents.branching import Branching
from nbagent.agents.parts import Given
from nbagent.models.model import go_to
from nbagent.request import Messages, ModelRequest
from nbagent.runtime.drivers import adrive, drive
from nbagent.texts.template import shown as shown_template
from nbagent.tools.pictures import picture
from nbagent.views.bundle import agent_bundle
from nbagent.views.card import Card

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import AsyncGenerator, Generator, Hashable, Iterable, MutableMapping

    from nbagent.agents.forks import Forks
    from nbagent.agents.sub_agent import AgentTool
    from nbagent.agents.task import Images, RunOptions, Task
    from nbagent.approvals.asking import Asked, Written
    from nbagent.events import Event, StreamEvent
    from nbagent.messages import Message, Prompt
    from nbagent.runtime.nested import Nest, Unknown
    from nbagent.runtime.result import RunResult
    from nbagent.runtime.run import Run
    from nbagent.tools.registry import ToolRegistry

__all__ = ["BaseAgent", "Given"]


class BaseAgent(Branching):
    """An agent, whatever its strategy: its prompts, its conversations, its runs."""

    @property
    def last(self) -> RunResult | None:
        """The result of the newest run, also of one that failed or was cancelled."""
        return self._runs.last

    @property
    def requests(self) -> deque[ModelRequest]:
        """The newest requests to the model, of runs and of `think`, not of replays; at most `KEPT` of them."""
        return self._runs.requests

    @property
    def tools(self) -> ToolRegistry:
        """All tools that a model may be told of: its own and those that ask active context providers, if permitted."""
        observed = self.prompting.observed
        return self._permitted(None if observed is None else lambda: observed, self.history)

    @property
    def own_tools(self) -> ToolRegistry:
        """Its tools, permitted or not, without those of context providers."""
        return self.prompting.own_tools

    @property
    def attributes(self) -> MutableMapping[str, Any]:
        """Values for templates that stay from run to run; output fields that are pushed are written here."""
        return self.prompting.attributes

    # conversations

    @property
    def history(self) -> tuple[Message, ...]:
        """What was said so far: task and answer of every completed run."""
        return self._conversation(self.scope).messages

    def get_history(self, scope: Hashable = None) -> list[Message]:
        """What was said so far in a scope, by default that of the agent."""
        return list(self._conversation(self.scope if scope is None else scope).messages)

    def clear_history(self, scope: Hashable = None) -> None:
        """Forgets what was said in a scope, by default that of the agent. The script of a `ScriptedLLM` stays."""
        self._conversation(self.scope if scope is None else scope).clear()

    @property
    def scopes(self) -> tuple[Hashable, ...]:
        """Those in which something was said."""
        return self._runs.scopes

    def undo(self, scope: Hashable = None) -> tuple[Message, ...]:
        """Takes back the newest exchange of a scope, by default that of the agent, and returns it; nothing if none.

        A script goes back to where the exchange began. Raises ConfigError where a run waits there for a decision, which
        would then go on from another place.
        """
        self.check_free(scope)
        return self._conversation(self.scope if scope is None else scope).take_back()

    def forked(self, forks: Forks, name: str) -> Self:
        """The copy of this agent that belongs to a fork, under this name."""
        if forks.is_kept:
            self._runs.check_fork(name)
        made = forks.begin(self, copy(self))
        made.name = name
        made.model = forks.model(self.model)
        made.prompting = forks.prompting(self.prompting, name)
        made._runs = self._runs.fork(name, forks.marks, is_kept=forks.is_kept)  # noqa: SLF001 - one of its own class
        return made

    def reset(self) -> None:
        """Starts over: forgets what was said in all scopes and what waits for a decision, and goes back to the
        beginning of its script and of those of the agents that are its tools. Raises ConfigError, and changes nothing,
        where somebody goes on with a run that has waited."""
        models = self.models  # before anything changes: an agent inside may be there no more
        self._runs.waiting.drop(self._runs.waiting.all())
        for scope in dict.fromkeys([self.scope, *self.scopes]):
            self.clear_history(scope)
        self.restart_script()
        for model in models:
            go_to(model, 0)

    def restart_script(self) -> None:
        """Goes back to the beginning of its script; what was said stays."""
        conversations = [*self._runs.conversations.values(), self._conversation(self.scope)]
        for conversation in conversations:
            conversation.restart(self.model)
        go_to(self.model, 0)

    def become(self, other: BaseAgent) -> None:
        """Takes over what the other agent, of the same strategy, is; name, conversations and results stay."""
        for name in self.made_of:
            setattr(self, name, getattr(other, name))

    def share_conversation(self, other: BaseAgent) -> None:
        """Goes on with the conversations of the other agent, as that one does."""
        self._runs.conversations = other._runs.conversations

    # prompts

    def observe(self, inputs: Given, *, images: Images = (), key: Hashable = None) -> Prompt:
        """The prompt that a run with these inputs (and key) would begin with. Nothing is sent.

        inputs: a task in words, or a dict of input fields. Passive context providers are asked, and a tool retriever;
        guardrails and hooks are not.

        It unpacks to `(system_prompt, user_prompt, messages)`; its `spans` say where each character comes from.
        """
        prompting = self.prompting
        drafted = prompting.draft(prompting.inputs(inputs))
        shown = tuple(picture(image) for image in images)
        history = prompting.context.newest(self._conversation(self.scope).told(key))
        prompting.observed = drafted
        tools = self._prompt_tools(self._tools(lambda: drafted, history))
        return self.opening(prompting.prompt(drafted, history, tools, shown))

    def opening(self, prompt: Prompt) -> Prompt:
        """The prompt of the first request of a run whose user's prompt is this one."""
        return prompt

    def check(self, inputs: Given) -> None:
        """Raises ConfigError where a run with these inputs could not begin: a template has a place without a field."""
        self.prompting.draft(self.prompting.inputs(inputs))

    def request(self, prompt: Prompt) -> ModelRequest:
        """The first request of a run with this prompt."""
        return ModelRequest(
            Messages(prompt.messages), prompt.tools, self.max_tokens, output_schema=self.prompting.schema
        )

    # runs

    def run(
        self, inputs: Given, *, images: Images = (), key: Hashable = None, scope: Hashable = None,
        output_schema: Any = None, retries: int | None = None, decisions: Iterable[Any] | Written | None = None,
        decide: Asked | None = None,
    ) -> RunResult:  # fmt: skip
        """Runs the agent on a task until it answers.

        inputs: a task in words, or a dict of input fields. images: what is shown with it, such as figures or paths of
        PNG files. key: names this exchange of the conversation; a run with the key of an earlier one replaces that
        one, in its place. scope: which conversation it belongs to, anything hashable; default: the agent's.
        output_schema: what the answer has to be, a pydantic model or a type such as `list[int]`; `final_output` is
        then one. retries: how often the model is told that its answer cannot be read, default the agent's. decisions:
        what is decided about tool calls that wait, in the order in which they come, or a dict by their digests
        (`read_decisions`); decide: who decides about further ones, after the agent's own (see `resume`).

        Raises what the model raises (`ModelError`, `ScriptExhausted`), DecisionsLeftOver where it completes without all
        of `decisions`, and KeyboardInterrupt where the user stops it; `last` then holds the run so far. Running out of
        turns is a status, not an error.
        """
        task = self._task(
            inputs, images=images, key=key, scope=scope, output_schema=output_schema, retries=retries,
            decisions=decisions, decide=decide,
        )  # fmt: skip
        with self._running(task) as run:
            for _ in drive(run):
                pass
        return run.result

    async def arun(self, inputs: Given, **options: Unpack[RunOptions]) -> RunResult:
        """`run` for `await`."""
        with self._running(self._task(inputs, **options), awaited=True) as run:
            async with aclosing(adrive(run)) as events:
                async for _ in events:
                    pass
        return run.result

    def stream(self, inputs: Given, **options: Unpack[RunOptions]) -> Generator[StreamEvent]:
        """`run`, yielding what happens: events, and `TextDelta` while a reply comes. The result is then `last`.

        Tools that run side by side return here in the order in which they end, in the result in that of their calls.

        Closing the generator early cancels the run; the conversation stays as it was.
        """
        with self._running(self._task(inputs, **options)) as run:
            yield from drive(run)

    async def astream(self, inputs: Given, **options: Unpack[RunOptions]) -> AsyncGenerator[StreamEvent]:
        """`stream` for `async for`."""
        with self._running(self._task(inputs, **options), awaited=True) as run:
            async with aclosing(adrive(run)) as events:
                async for event in events:
                    yield event

    def stream_run(self, inputs: Given, **options: Unpack[RunOptions]) -> Generator[str]:
        """`run`, yielding the text of the answer while it comes.

        What is read or checked as a whole (output fields, output guardrails, a reflection) comes in one piece, at the
        end.
        """
        task = self._task(inputs, **options)
        answer = self._answer_text(task)
        with self._running(task) as run:
            for event in drive(run):
                yield from answer.of(event)

    async def astream_run(self, inputs: Given, **options: Unpack[RunOptions]) -> AsyncGenerator[str]:
        """`stream_run` for `async for`."""
        task = self._task(inputs, **options)
        answer = self._answer_text(task)
        with self._running(task, awaited=True) as run:
            async with aclosing(adrive(run)) as events:
                async for event in events:
                    for piece in answer.of(event):
                        yield piece

    def _answer_text(self, task: Task) -> AnswerText:
        return AnswerText(in_pieces=task.prompting.read is None and not self.guardrails.output)

    def replay(self, events: Iterable[Event], *, unknown: Unknown = "ask", output_schema: Any = None) -> RunResult:
        """Drives a fresh loop over the events of an earlier run (all of them, or the first so many).

        What they answer is answered from them; only what they do not hold is done: so a whole run costs no model
        call and no tool call, and a cut one goes on where it was cut. `history`, `last` and the place in a script
        stay as they are.

        unknown: what to do about a tool call that was started and has no result. `ask` (default) ends the run as
        interrupted, unless the tool is idempotent; `run_again` runs it. output_schema: that of the recorded run.

        Raises `DriftError` where the tools, the guardrails, or what is asked of the model are not those that were
        recorded; it says which of them, and in what a message differs. The recorded prompt is used as it is: a changed
        system prompt counts for new runs only. `limits` count what was used before the cut.
        """
        with self._rerun(tuple(events), unknown, output_schema) as run:
            for _ in drive(run):
                pass
        return run.result

    async def areplay(
        self, events: Iterable[Event], *, unknown: Unknown = "ask", output_schema: Any = None
    ) -> RunResult:
        """`replay` for `await`."""
        with self._rerun(tuple(events), unknown, output_schema) as run:
            async with aclosing(adrive(run)) as driven:
                async for _ in driven:
                    pass
        return run.result

    def as_tool(self, name: str | None = None, description: str | None = None, scope: Hashable = None) -> AgentTool:
        """The agent as a tool of another one; see `AgentTool`."""
        from nbagent.agents.sub_agent import AgentTool

        return AgentTool(self, name, description, scope)

    def nested(self, task: str, nest: Nest, scope: Hashable) -> AbstractContextManager[Run]:
        """A run inside that of another agent. `scope`: which conversation it belongs to; None for none."""
        key = None if scope is None or nest.around.key is None else (nest.around.key, nest.place)
        is_alone = scope is None or nest.around.is_replay
        return self._running(self._task(task, key=key, scope=scope, is_alone=is_alone), nest=nest)

    def __repr__(self) -> str:
        tools = f", tools={list(self.own_tools.names)}" if len(self.own_tools) else ""
        return f"{type(self).__name__}({self.name!r}, model={self.model.name!r}{tools})"

    @property
    def card(self) -> dict[str, str]:
        """What the agent is, as a MIME bundle."""
        system = shown_template(self.prompting.blueprint.system)
        model, tools = self.model, self.tools.schemas
        strategy = "" if self.strategy == "chat" else self.strategy
        return agent_bundle(Card(self.name, model.name, model.mode, system, tools, len(self.history), strategy))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002
        return self.card
