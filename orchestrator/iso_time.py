"""Moments as they are written down everywhere: ISO 8601, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal


def iso_utc(moment: datetime, precision: Literal["milliseconds", "microseconds"]) -> str:
    """Returns a moment as text, `2026-01-06T09:30:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")
