"""Task: what one run is asked for, and how."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from nbagent.agents.prompting import Prompting
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
    retries: int


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

    @cached_property
    def draft(self) -> Draft:
        """Its prompt, before anybody is asked. Raises ConfigError for a template without its field."""
        return self.prompting.draft(self.inputs)
