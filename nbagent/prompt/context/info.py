"""Info: what a provider says of itself. It need not say anything: any object with `get_blocks` is a provider."""

from __future__ import annotations

from typing import Any

from nbagent.errors import FOREIGN, ConfigError
from nbagent.prompt.context.arguments import shown
from nbagent.prompt.context.told import told
from nbagent.text import sound
from nbagent.values import Struct


class ProviderInfo(Struct, frozen=True):
    """A provider, with what it says of itself, or else the defaults."""

    provider: Any
    label: str
    """How its blocks are marked; the name of its class where it says nothing, or a blank."""
    type: str
    """The name of its class."""
    passive: bool
    """Whether its blocks are put into each prompt."""
    active: bool
    """Whether the model may ask it."""


def read_provider(provider: Any) -> ProviderInfo:
    """What the provider says of itself. Raises ConfigError where it is no provider: no object with `get_blocks`."""
    kind = type(provider).__name__
    if isinstance(provider, type):
        raise ConfigError(
            f"expected a context provider, got the class {provider.__name__}; write {provider.__name__}()"
        )
    try:
        if not callable(getattr(provider, "get_blocks", None)):
            raise ConfigError(f"expected a context provider, with get_blocks(query, *, top_k=8), got {shown(provider)}")
        return ProviderInfo(
            provider,
            sound(" ".join(str(getattr(provider, "context_label", None) or "").split())) or kind,
            kind,
            passive=_is(provider, "passive", default=True) and _is(provider, "supports_passive", default=True),
            active=_is(provider, "active", default=False) and _is(provider, "supports_active", default=True),
        )
    except ConfigError:
        raise
    except FOREIGN as error:  # its attributes may be properties: the user's code
        raise ConfigError(f"the context provider {kind} cannot be read: {told(error)}") from error


def _is(provider: Any, name: str, *, default: bool) -> bool:
    return bool(getattr(provider, name, default))
