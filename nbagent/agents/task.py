"""Task: what one run is asked for, and how."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from typing_extensions import TypedDict

from nbagent.approvals.asking import asked_of, written_of

if TYPE_CHECKING:
    from nbagent.agents.prompting import Prompting
    from nbagent.approvals.asking import Asked, Written
    from nbagent.messages import Image
    from nbagent.prompt.inputs import Inputs
    from nbagent.prompt.observe import Draft

Images = Iterable[Any]
"""What a model is shown: `Image` values, figures, PIL images, bytes of a PNG or JPEG file, or paths of such files."""


class RunOptions(TypedDict, total=False):
    """The options of `run`, for those that take the same."""

    images: Images
    key: Hashable
    scope: Hashable
    output_schema: Any
    retries: int | None
    decisions: Iterable[Any] | Written | None
    decide: Asked | None


@dataclass(frozen=True)
class Task:
    """What one run is asked for."""

    inputs: Inputs
    images: tuple[Image, ...]
    key: Hashable
    """Names its exchange of the conversation; None for one that nobody runs again."""
    scope: Hashable
    """Which conversation it belongs to."""
    prompting: Prompting
    """How its prompts come about, with the answer that it has to give."""
    retries: int
    is_alone: bool = False
    """Whether it belongs to no conversation."""
    deciders: tuple[Asked, ...] = ()
    """Who decides about tool calls that wait, before those whom the agent knows."""

    revoked: tuple[str, ...] = ()
    """Tools of which nothing that was approved for the rest of the run counts any more."""
    adopts: bool = False
    """Whether what is recorded of it counts though its prompt has been edited since."""

    def decided(self, decisions: Iterable[Any] | Written | None, decide: Asked | None) -> Self:
        """The same, with decisions that come before those who decide, and one who decides after them. Raises
        DecisionError, ConfigError."""
        first = () if decisions is None else (written_of(decisions),)
        asked = asked_of("decide", decide)
        last = () if asked is None or asked in self.deciders else (asked,)
        return replace(self, deciders=(*first, *self.deciders, *last)) if first or last else self

    @cached_property
    def draft(self) -> Draft:
        """Its prompt, before anybody is asked. Raises ConfigError for a template without its field."""
        return self.prompting.draft(self.inputs)
