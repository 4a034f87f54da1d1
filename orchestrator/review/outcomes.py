"""How a time of a review can end, in a word that stands in the store."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """The first three had a debate that ended."""

    DECIDED = "decided"
    UNDECIDED = "undecided"  # without consensus, or closed by force
    REHEARSED = "rehearsed"
    UNCHANGED = "unchanged"  # nothing that it looks at differs from the last time
    HOLDING = "holding"  # no assumption of the last decision is broken
    PASSED_OVER = "passed_over"  # missed, or overlapped by the one before
    STOPPED = "stopped"  # its debate stopped, and was not gone on with
    FAILED = "failed"  # it could not be begun
    ENROLLED = "enrolled"  # it was seen for the first time

    @property
    def is_debated(self) -> bool:
        return self in (Outcome.DECIDED, Outcome.UNDECIDED, Outcome.REHEARSED)
