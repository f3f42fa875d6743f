"""Prices: what tokens cost. From a list that comes with a package; nothing is ever fetched."""

from __future__ import annotations

import warnings
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nbagent.values import Struct

if TYPE_CHECKING:
    from nbagent.messages import Usage

_MILLION = Decimal(1_000_000)


class Price(Struct, frozen=True):
    """US dollars for a million tokens; what a cache had costs as fresh input where nothing is said."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None

    def of(self, usage: Usage) -> Decimal:
        """What this usage costs, in US dollars, exactly."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        total = usage.fresh_tokens * self.input + usage.output_tokens * self.output
        total += usage.cache_read_tokens * read + usage.cache_write_tokens * write
        return total / _MILLION


def priced(usage: Usage, provider: str, model: str, price: Price | None) -> Usage:
    """The usage with its cost: by the price that is given, or by the list; without one where neither knows it."""
    cost = _listed(usage, provider, model) if price is None else price.of(usage)
    return usage if cost is None else replace(usage, cost=cost)


def _listed(usage: Usage, provider: str, model: str) -> Decimal | None:
    try:
        import genai_prices
    except ImportError:
        return None
    counted = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return genai_prices.calc_price(counted, model, provider_id=provider).total_price
    except (LookupError, ValueError):  # no such provider, no such model
        return None
