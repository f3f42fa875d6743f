"""Answer: what a provider had to say to a query: its blocks, or why it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.errors import FOREIGN, HarnessError
from nbagent.prompt.context.block import ContextBlock  # noqa: TC001  msgspec reads the annotations
from nbagent.prompt.context.info import ProviderInfo, read_provider
from nbagent.prompt.context.provider import TOP_K
from nbagent.prompt.context.reading import read_blocks
from nbagent.prompt.context.told import told
from nbagent.values import Struct

if TYPE_CHECKING:
    from nbagent.prompt.context.block import ContextQuery
    from nbagent.prompt.context.provider import ContextProvider


class Answer(Struct, frozen=True):
    """The blocks that a provider gave, all of them and in its own order, or why there are none."""

    label: str
    blocks: tuple[ContextBlock, ...] = ()
    failure: str = ""
    """`failed: KeyError: 'x'`; empty where it did not fail."""


def ask(provider: ContextProvider | ProviderInfo, query: ContextQuery, top_k: int = TOP_K) -> Answer:
    """Asks the provider, once. Whatever it raises becomes the answer's failure; it is never passed over in silence.

    KeyboardInterrupt goes through, for it comes from a person, and HarnessError, for it is about the test.
    """
    info = provider if isinstance(provider, ProviderInfo) else read_provider(provider)
    try:
        return Answer(info.label, blocks_of(info, query, top_k))
    except HarnessError:
        raise
    except FOREIGN as error:
        return Answer(info.label, failure=failed(error))


def blocks_of(info: ProviderInfo, query: ContextQuery, top_k: int) -> tuple[ContextBlock, ...]:
    """The provider's blocks. Raises what the provider raises, and TypeError where it gave something else."""
    return read_blocks(info.provider.get_blocks(query, top_k=top_k))


def failed(error: BaseException) -> str:
    return f"failed: {told(error)}"
