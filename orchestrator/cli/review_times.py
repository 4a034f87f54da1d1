"""How a time of a review is told: its end, or what becomes of it now, and what did not arrive of its result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.hall.review_desk import ReviewDesk
from orchestrator.hall.review_rows import ReviewRow
from orchestrator.review.deliveries import State

_RECEIVERS = ("command", "webhook")
_RUNNING = "running"


class ReviewTime(NamedTuple):
    """
    Args:
        outcome: how it ended; of one that is not over: running, paused or interrupted.
        holder: which process is at it, if one is.
        undelivered: sentences about a result that did not arrive, or may not have.
    """

    outcome: str
    holder: str | None
    undelivered: tuple[str, ...]

    @property
    def told(self) -> str:
        return f"held by {self.holder}" if self.holder else self.outcome.replace("_", " ")


def told_of(desk: ReviewDesk, row: ReviewRow) -> ReviewTime:
    """Returns what can be said of a time."""
    undelivered = tuple(_undelivered(desk, row))
    if row.notes.outcome is not None:
        return ReviewTime(row.notes.outcome, None, undelivered)
    if desk.is_held(row):
        return ReviewTime(_RUNNING, str(row.run.holder), undelivered)
    return ReviewTime("paused" if row.run.released else "interrupted", None, undelivered)


def _undelivered(desk: ReviewDesk, row: ReviewRow) -> Iterator[str]:
    for receiver in _RECEIVERS:
        known = desk.delivery(f"{row.name}/{row.number}", receiver)
        if known is None or known.state == State.SENT or (known.state == State.INTENDED and desk.is_held(row)):
            continue
        if known.state == State.FAILED:
            yield f"not delivered to the {receiver}"
        else:  # whoever sent it stopped in the middle, or heard nothing
            yield f"it is not known whether it reached the {receiver}"
