"""Parts: what an agent is made of."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import structs

from nbagent.agents.checks import attributes_of, count_of, kept, model_of, name_of, offering, registry_of, whole_of
from nbagent.agents.choosing import chosen
from nbagent.agents.compaction import compact_of
from nbagent.agents.guarding import Guardrails
from nbagent.agents.guardrail import guardrails_of
from nbagent.agents.hook import hooks_of
from nbagent.agents.prompting import Prompting
from nbagent.agents.runs import Runs
from nbagent.agents.stored import store_of
from nbagent.agents.surroundings import Surroundings
from nbagent.agents.task import Images, Task
from nbagent.approvals.asking import asked_of
from nbagent.approvals.policy import NOTHING, policy_of
from nbagent.errors import ConfigError
from nbagent.prompt.inputs import Inputs, Text
from nbagent.texts.pack import texts_of
from nbagent.tools.narrowed import NarrowedTools
from nbagent.tools.pictures import picture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nbagent.agents.conversation import Conversation
    from nbagent.agents.options import Options
    from nbagent.agents.sessions import SessionStore
    from nbagent.agents.tool_retriever import ToolRetriever
    from nbagent.approvals.asking import Asked, Written
    from nbagent.approvals.pending import PendingAction
    from nbagent.events import Event
    from nbagent.messages import Message
    from nbagent.models.model import Model
    from nbagent.prompt.observe import Draft
    from nbagent.runtime.limits import Limits
    from nbagent.runtime.patience import Retry
    from nbagent.tools.permissions import ToolPermissions
    from nbagent.tools.registry import ToolRegistry

Given = Text | Mapping[str, Any] | Inputs
"""What a run is given: a task in words, or input fields by name."""


class Parts:
    """An agent that does nothing yet: what it is, and what of it a run is given."""

    def __init__(self, name: str, model: object, system_prompt: Text | None, max_turns: int, options: Options) -> None:
        self.name = name_of("name", name)
        self.model = model_of(model)
        given: dict[str, Any] = {"system_prompt": system_prompt, **options}
        context = Surroundings(*[given.pop(key, None) for key in ("memories", "retrievers", "context_policy")])
        own_tools = registry_of(given.pop("tools", None), given.pop("tool_registry", None))
        attributes = attributes_of(given.pop("attributes", None))
        self.max_turns = count_of("max_turns", max_turns)
        tokens = given.pop("max_tokens", None)
        self.max_tokens = None if tokens is None else count_of("max_tokens", tokens)
        self.retries = whole_of("retries", given.pop("retries", 1))
        """How often a model is told that its answer cannot be read, where a run says nothing else."""
        self.limits: Limits | None = given.pop("limits", None)
        self.retry: Retry | None = given.pop("retry", None)
        self.texts = texts_of(given.pop("texts", None))
        self.scope: Hashable = given.pop("scope", None)
        """Which conversation a run goes on with where it names none."""
        checks = [guardrails_of(key, given.pop(key, None)) for key in ("input_guardrails", "output_guardrails")]
        self.guardrails = Guardrails(*checks)
        """What its questions and answers have to pass."""
        self.hooks = hooks_of(given.pop("hooks", None))
        """What is asked before a model or a tool is called, and told of what happens."""
        permissions, retriever = given.pop("permissions", None), given.pop("tool_retriever", None)
        policy = given.pop("approvals", None)
        self.approvals = NOTHING if policy is None else policy_of(policy)
        """Which tool calls wait for a person, and which never run."""
        self.decide = asked_of("decide", given.pop("decide", None))
        """Who decides about those that wait, before anybody in front of the notebook is asked."""
        self.permissions: ToolPermissions | None = offering("permissions", permissions, "permitted(registry)")
        self.tool_retriever: ToolRetriever | None = offering("tool_retriever", retriever, "select(tools, query)")
        self.math = bool(given.pop("math", False))
        """Whether formulas `$$…$$` of its answers are typeset."""
        self.compact = compact_of(given.pop("compact", None))
        """When its history is summarised."""
        if self.compact is not None and context.history is not None:
            raise ConfigError(
                "compact: a memory holds the history, and says itself how much of it goes in; leave it out"
            )
        self.description: str | None = given.pop("description", None)
        """What it is good at, for agents that may call it."""
        self.session_store: SessionStore | None = given.pop("session_store", None)
        self.store = store_of(given.pop("store", None))
        """Where its runs are written."""
        given["examples"] = kept(given.get("examples"))
        self.prompting = Prompting(self.name, given, attributes, context, own_tools, texts=self.texts)
        """How its prompts come about."""
        self._runs = Runs(self.name, self.session_store)

    made_of: ClassVar[tuple[str, ...]] = (
        "model", "prompting", "max_turns", "max_tokens", "retries", "limits", "retry", "texts", "scope", "guardrails",
        "hooks", "permissions", "approvals", "decide", "tool_retriever", "compact", "math", "description", "store",
    )  # fmt: skip
    """What an agent is; the rest is what it has done."""

    @property
    def models(self) -> tuple[Model, ...]:
        """Its model, and those of the agents that are its tools."""
        agents = self, *agents_in(self.prompting.own_tools)
        return tuple({id(agent.model): agent.model for agent in agents}.values())

    def _prompt_tools(self, tools: ToolRegistry) -> ToolRegistry:
        """Those of the tools that the user's own prompt describes."""
        return tools

    def _conversation(self, scope: Hashable) -> Conversation:
        memory = self.prompting.context.memory
        return self._runs.conversation(scope) if memory is None else memory.conversation

    # what a run is given

    def _task(
        self, inputs: Given, *, images: Images = (), key: Hashable = None, scope: Hashable = None,
        output_schema: Any = None, retries: int | None = None, decisions: Iterable[Any] | Written | None = None,
        decide: Asked | None = None, is_alone: bool = False,
    ) -> Task:  # fmt: skip
        prompting = self.prompting
        asked = prompting.inputs(inputs)
        if output_schema is not None:
            prompting = prompting.answering(output_schema)
        scope = self.scope if scope is None else scope
        if scope != self.scope and prompting.context.memory is not None:
            raise ConfigError(
                "scope: the conversation is that of the HistoryMemory, which knows no scopes; leave it out"
            )
        often = self.retries if retries is None else whole_of("retries", retries)
        known = () if self.decide is None else (self.decide,)
        shown = tuple([picture(image) for image in images])
        return Task(asked, shown, key, scope, prompting, often, is_alone, known).decided(decisions, decide)

    def _permitted(self, drafted: Callable[[], Draft] | None, history: tuple[Message, ...]) -> ToolRegistry:
        """Its tools, and those that ask active context providers, as far as they are permitted."""
        tools = self.prompting.tools(drafted, history)
        if self.permissions is not None:
            tools = self.permissions.permitted(tools)
        if self.approvals.deny:
            tools = NarrowedTools(tools, lambda tool: not self.approvals.hides(tool), forbids=True)
        return tools

    def _tools(
        self, drafted: Callable[[], Draft], history: tuple[Message, ...], recorded: Sequence[Event] = ()
    ) -> ToolRegistry:
        """The tools of a run: of those that are permitted the ones that fit. `recorded`: its events so far."""
        tools = self._permitted(drafted, history)
        if self.tool_retriever is None:
            return tools
        return chosen(tools, self.tool_retriever, lambda: drafted().question, recorded)


def agents_in(tools: ToolRegistry) -> Iterator[Parts]:
    """The agents among some tools, and among their tools: each once, the nearest first."""
    waiting, seen = [tools], set[int]()
    while waiting:
        for tool in waiting.pop(0):
            inner = getattr(tool, "agent", None)
            if isinstance(inner, Parts) and id(inner) not in seen:
                seen.add(id(inner))
                yield inner
                waiting.append(inner.prompting.own_tools)


def with_schemas(agent: Parts, pendings: Iterable[PendingAction]) -> tuple[PendingAction, ...]:
    """Calls that wait, in runs of an agent and of those inside, each with the JSON schema of its arguments."""
    agents = {one.name: one for one in reversed([agent, *agents_in(agent.prompting.own_tools)])}
    return tuple([_with_schema(agents.get(one.agent), one) for one in pendings])


def _with_schema(agent: Parts | None, pending: PendingAction) -> PendingAction:
    tool = None if agent is None else agent.prompting.tools(None, ()).get(pending.tool_name)
    return pending if tool is None else structs.replace(pending, parameters=tool.schema.parameters)
