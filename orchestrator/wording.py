"""How things are worded for people, wherever they stand."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """A number with what it counts: `1 turn`, `2,000 turns`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
