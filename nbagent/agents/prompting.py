"""Prompting: how the prompts of an agent come about: its blueprint, its attributes, its tools, what surrounds it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from nbagent.agents.checks import field_of, text_of
from nbagent.prompt import inputs as given
from nbagent.prompt.answer import reader
from nbagent.prompt.blueprint import blueprint, with_output
from nbagent.prompt.observe import draft

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

    from nbagent.agents.surroundings import Surroundings
    from nbagent.messages import Image, Message, Prompt
    from nbagent.prompt.formatters.reading import Reading
    from nbagent.prompt.inputs import Inputs, Text
    from nbagent.prompt.observe import Draft
    from nbagent.texts.pack import Texts
    from nbagent.tools.registry import ToolRegistry


class Prompting:
    """How the prompts of an agent come about. Raises ConfigError for options that describe none.

    `options`: the keywords of `blueprint`, as the agent was given them.
    """

    def __init__(
        self,
        agent: str,
        options: Mapping[str, Any],
        attributes: MutableMapping[str, Any],
        context: Surroundings,
        own_tools: ToolRegistry,
        *,
        texts: Texts,
    ) -> None:
        self.agent = agent
        self.options = options
        self.blueprint = blueprint(**options, to_text=text_of, texts=texts)
        self.attributes = attributes
        self.context = context
        self.own_tools = own_tools
        self.observed: Draft | None = None
        """The newest prompt, as far as it is known without context."""

    def answering(self, kind: Any) -> Prompting:
        """The same, for an answer of this type: a pydantic model, or such as `list[int]`. Raises ConfigError."""
        from nbagent.prompt.output_model import model_output

        other = copy(self)
        other.blueprint = with_output(self.blueprint, model_output(kind))
        return other

    def like(self, other: Prompting) -> Prompting:
        """The same, for the prompts of the other one."""
        made = copy(self)
        made.blueprint = other.blueprint
        return made

    def inputs(self, inputs: Text | Mapping[str, Any] | Inputs) -> Inputs:
        """What a run is given. Raises ConfigError where that is nothing."""
        return given.inputs_of(inputs, field_of)

    def draft(self, inputs: Inputs) -> Draft:
        """The prompt of these inputs, before anybody is asked. Raises ConfigError for a template without its field."""
        plan = self.blueprint
        if not self.attributes and not plan.pulled:
            return draft(plan, inputs)
        return draft(plan, inputs, given.attributes_of(self.attributes, plan.pulled, plan.pushed, field_of))

    def tools(self, drafted: Callable[[], Draft] | None, history: tuple[Message, ...]) -> ToolRegistry:
        """The tools of a run: the agent's own, and those that ask active providers what the draft is about."""
        if not self.context.active:
            return self.own_tools
        query = None if drafted is None else lambda: drafted().query(self.agent, history)
        return self.context.joined(self.own_tools, query, self.blueprint.texts)

    def prompt(
        self, drafted: Draft, history: tuple[Message, ...], tools: ToolRegistry, images: tuple[Image, ...]
    ) -> Prompt:
        """The whole prompt. Passive providers are asked."""
        context = (
            self.context.ask(drafted.query(self.agent, history), self.blueprint.texts) if self.context.passive else None
        )
        return drafted.prompt(history, tools.schemas, images, context)

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of an answer, for models that keep to one; None where it may be anything."""
        return self.blueprint.answer_schema

    @property
    def read(self) -> Callable[[str], Reading] | None:
        """Reads an answer; None where it stays text."""
        plan = self.blueprint
        return None if plan.reader is None else reader(plan.reader, plan.output)
