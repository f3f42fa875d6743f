"""Base: what all providers that come with nbagent have in common: how they are marked, and whether they are asked."""

from __future__ import annotations

from nbagent.prompt.context import arguments


class BaseProvider:
    """Holds the settings of a provider. Raises ConfigError for what makes no sense."""

    supports_passive = True
    supports_active = True

    def __init__(self, *, passive: bool, active: bool, context_label: str) -> None:
        who = type(self).__name__
        self.passive = arguments.flag(passive, f"{who}: passive")
        self.active = arguments.flag(active, f"{who}: active")
        self.context_label = arguments.text(context_label, f"{who}: context_label")
