"""What a call to a model took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

MOST = 10**9  # of US dollars, tokens or seconds: a higher limit is a slip of the hand


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them: `cached` is the part of `input` its prompt cache served.

    `thinking` is the part of `output` that was thought and not said, as far as anybody tells. `cost_usd` is None when a
    price is unknown; unknown is never zero.
    """

    input: int
    cached: int
    output: int
    cost_usd: Decimal | None
    thinking: int = 0


NOTHING = Usage(input=0, cached=0, output=0, cost_usd=Decimal(0))


def amount(cost_usd: Decimal | None) -> str | None:
    """Returns a cost as it is written down, in plain digits; None where it is unknown."""
    return None if cost_usd is None else format(cost_usd, "f")


def total(usages: Iterable[Usage]) -> Usage:
    """The sum; its cost is None as soon as one cost is unknown."""
    taken = list(usages)
    costs = [usage.cost_usd for usage in taken]
    return Usage(
        input=sum(usage.input for usage in taken),
        cached=sum(usage.cached for usage in taken),
        output=sum(usage.output for usage in taken),
        cost_usd=None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0)),
        thinking=sum(usage.thinking for usage in taken),
    )
