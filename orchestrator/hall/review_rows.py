"""What a store keeps of reviews: the times that came, who took them up, what became of them, and what was delivered.

A time of a review is one row. Rows of a name are counted from 1 and only the newest may be under way, so that taking up
the next time and taking over one that was left behind are each one compare-and-swap, and no two processes hold a review
at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from orchestrator.hall.holder import Holder, RunRow


class ReviewClaim(NamedTuple):
    """The right to write of a time of a review; it is good as long as no higher epoch has begun."""

    name: str
    number: int
    epoch: int


class ReviewNotes(NamedTuple):
    """What is known of a time of a review.

    Args:
        thread_id: the debate that it holds, chosen before it is opened.
        seen: what it looked at, as JSON text, to be compared with at the next time; kept where there
            was a debate.
        revision: the commit that it looked at.
        outcome: how it ended; None as long as it is not over.
        why: a sentence about that; None, too, once a redaction of the thread has taken it.
    """

    thread_id: str | None = None
    seen: str | None = None
    revision: str | None = None
    outcome: str | None = None
    why: str | None = None


NOTHING = ReviewNotes()


class ReviewRow(NamedTuple):
    """A time of a review. `file` declares the review; `run` says who took it up, the newest of its epochs."""

    name: str
    number: int
    file: str
    due_at: str  # ISO 8601, UTC, as all times here
    run: RunRow
    notes: ReviewNotes

    @property
    def claim(self) -> ReviewClaim:
        return ReviewClaim(self.name, self.number, self.run.epoch)

    @property
    def is_over(self) -> bool:
        return self.notes.outcome is not None


class Delivery(NamedTuple):
    """How far one result has come on its way to one receiver; `attempts` counts the moves of its state."""

    state: str
    attempts: int
    at: str


class CheckRow(NamedTuple):
    """What the last check of an assumption came to.

    Args:
        assumption: which of the record's, from 0.
        why: a sentence about it; None once a redaction of the thread has taken it.
    """

    assumption: int
    result: str
    why: str | None
    at: str


class ReviewStore(Protocol):
    """The part of a `Store` that reviews use; `test_store_reviews.py` of `tests/hall` runs against each."""

    def claim_review(
        self, name: str, file: str, due_at: str, holder: Holder, at: str, after: int, notes: ReviewNotes = NOTHING
    ) -> ReviewClaim | None:
        """Takes up the next time of a review.

        Args:
            after: the number of its newest row, 0 for the first.
            notes: what is known of it from the start; with an outcome it is over, and released, by the same write.

        Returns:
            None when the newest row is another, or is not over; nothing was written.
        """

    def take_review(self, claim: ReviewClaim, holder: Holder, at: str) -> ReviewClaim | None:
        """Takes over a time that is not over, from whoever had that claim; None when somebody else has it by now."""

    def attend_review(self, claim: ReviewClaim, at: str) -> None:
        """Notes that somebody is at it.

        Raises:
            LeaseLost
        """

    def note_review(self, claim: ReviewClaim, notes: ReviewNotes, at: str) -> None:
        """Keeps notes in place of those before; with an outcome it is over, and released.

        Raises:
            LeaseLost: nothing was written.
        """

    def release_review(self, claim: ReviewClaim, at: str) -> None:
        """Notes that nobody is at it any more; under a claim that is good no more it changes nothing."""

    def reviews(self, name: str | None = None) -> Sequence[ReviewRow]:
        """Returns the times of a review, or of all, the oldest first."""

    def newest_review(self, name: str, outcomes: Collection[str] = ()) -> ReviewRow | None:
        """Returns the newest time of a review; with outcomes, the newest that ended in one of them."""

    def delivery(self, result: str, target: str) -> Delivery | None: ...

    def move_delivery(self, result: str, target: str, before: str | None, after: str, at: str) -> bool:
        """Moves a delivery from one state to another, None being none yet.

        Returns:
            False when it is in another state; nothing was written.
        """

    def keep_checks(self, thread_id: str, head: str, checks: Sequence[CheckRow]) -> bool:
        """Keeps what checks of a thread's assumptions came to, each in place of the one before.

        Args:
            head: the thread's, when its record was read. Of a record that reads otherwise by now nothing is kept.

        Returns:
            False when the thread has moved, by a redaction say; nothing was written.

        Raises:
            UnknownThread
        """

    def checks(self, thread_id: str) -> Sequence[CheckRow]:
        """Returns what the last checks of a thread's assumptions came to, in their order, if it has not moved since.

        Raises:
            UnknownThread
        """
