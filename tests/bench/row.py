"""A row of the table."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    what: str
    ratio: float
    target: float
    detail: str
