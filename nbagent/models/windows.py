"""Windows: how many tokens fit into a model, from a list that comes with a package; nothing is ever fetched."""

from __future__ import annotations

import warnings


def window_of(provider: str, model: str) -> int | None:
    """The tokens of the model's context window; None where the list does not know it, or is not installed."""
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, found = get_snapshot().find_provider_model(model, None, provider, None)
    except (LookupError, ValueError):  # no such provider, no such model
        return None
    return found.context_window
