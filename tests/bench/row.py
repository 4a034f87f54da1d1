"""A row of the table."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """What was measured; `target` is the most it may be, or the least, or None where it only shows how it grows."""

    what: str
    ratio: float
    target: float | None
    detail: str
    at_least: bool = False

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        held = self.ratio >= self.target if self.at_least else self.ratio <= self.target
        return f"target {'≥' if self.at_least else '≤'} {self.target:<5g} {'ok' if held else 'MISSED'}"
