"""What is known of a result on its way to a receiver: it is noted before it is sent and after, so that it goes once.

none ──begin──▶ intended ──▶ sent         the receiver took it
                   │ ▲
                   ▼ │ begin
                 failed                   it did not: it may be tried again
                intended ──▶ uncertain    nobody knows: it is not sent again
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from orchestrator.hall.review_desk import ReviewDesk


class State(StrEnum):
    """How far a result has come."""

    INTENDED = "intended"
    SENT = "sent"
    FAILED = "failed"
    UNCERTAIN = "uncertain"


class Deliveries(Protocol):
    """Where it is noted what became of a result."""

    def begin(self, result: str, target: str) -> bool:
        """Notes that a result is about to be sent; False where it must not be: it was, or may have been."""

    def end(self, result: str, target: str, state: State) -> None:
        """Notes what became of one that was begun."""

    def state(self, result: str, target: str) -> State | None:
        """Returns how far it has come; None when it was never begun."""


class KeptDeliveries:
    """`Deliveries` in the store of a hall."""

    def __init__(self, desk: ReviewDesk) -> None:
        self._desk = desk

    def begin(self, result: str, target: str) -> bool:
        before = self.state(result, target)
        if before is State.INTENDED:  # whoever began it has stopped in the middle
            self._desk.move_delivery(result, target, State.INTENDED, State.UNCERTAIN)
        may_be_sent = before in (None, State.FAILED)
        return may_be_sent and self._desk.move_delivery(result, target, before, State.INTENDED)

    def end(self, result: str, target: str, state: State) -> None:
        self._desk.move_delivery(result, target, State.INTENDED, state)

    def state(self, result: str, target: str) -> State | None:
        known = self._desk.delivery(result, target)
        return State(known.state) if known else None
