"""How a receiver is known not to have got a result, or not known to have got it."""

from __future__ import annotations


class NotDeliveredError(Exception):
    """It was not taken.

    Args:
        words: why, a sentence without a full stop.
        may_pass: whether it is worth another attempt.
    """

    def __init__(self, words: str, *, may_pass: bool = False) -> None:
        super().__init__(words)
        self.may_pass = may_pass


class UnclearError(Exception):
    """It may have been taken; its text says why that is not known."""
