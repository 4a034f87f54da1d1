"""Amounts on the command line: US dollars, tokens, seconds."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, Generic, TypeVar

import click

from orchestrator.usage import MOST

T = TypeVar("T")


class _Limit(click.ParamType[T], Generic[T]):
    """A number above zero, read as it was typed: a float would be another amount.

    Args:
        unit: what it counts.
        example: one that could stand there.
        kind: what it becomes.
    """

    name = "limit"

    def __init__(self, unit: str, example: str, kind: Callable[[Decimal], T]) -> None:
        self._unit, self._example, self._kind = unit, example, kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        try:
            amount = Decimal(value)
        except InvalidOperation:
            amount = Decimal(0)
        whole = self._kind is not int or (amount.is_finite() and amount == amount.to_integral_value())
        if not amount.is_finite() or not 0 < amount <= MOST or not whole:
            self.fail(f"{value!r} is no {self._unit} above 0 and up to {MOST:,}, such as {self._example}.", param, ctx)
        return self._kind(amount)


DOLLARS = _Limit("amount of US dollars", "2.50", lambda amount: Decimal(format(amount, "f")))
TOKENS = _Limit("number of tokens", "200000", int)
SECONDS = _Limit("number of seconds", "600", float)
