"""The desk at which reviews are taken up and given back; who has not been heard of for a while has left."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

from orchestrator.hall.holder import Holder
from orchestrator.hall.review_rows import NOTHING, CheckRow, Delivery, ReviewClaim, ReviewNotes, ReviewRow
from orchestrator.hall.runs import RunDesk, this_process
from orchestrator.hall.store import Store
from orchestrator.iso_time import iso_utc


class ReviewDesk:
    """
    Args:
        store: where reviews are kept.
        clock: says what time it is.
        holder: who takes reviews up here.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime], holder: Holder | None = None) -> None:
        self._store, self._clock = store, clock
        self._holder = holder or this_process()
        self._runs = RunDesk(store, clock, self._holder)

    def rows(self, name: str | None = None) -> Sequence[ReviewRow]:
        """Returns the times of a review, or of all, the oldest first."""
        return self._store.reviews(name)

    def newest(self, name: str, outcomes: Collection[str] = ()) -> ReviewRow | None:
        """Returns the newest time of a review; with outcomes, the newest that ended in one of them."""
        return self._store.newest_review(name, outcomes)

    def is_held(self, row: ReviewRow) -> bool:
        """Whether somebody is at it: it is not over, and its process is there and was heard of lately."""
        return not row.is_over and self._runs.is_alive(row.run)

    def begin(
        self, name: str, file: str, due_at: datetime, after: ReviewRow | None, notes: ReviewNotes = NOTHING
    ) -> ReviewClaim | None:
        """Takes up the next time of a review.

        Args:
            after: its newest row, which is over; None for the first.
            notes: what is known of it from the start; with an outcome it is over at once.

        Returns:
            None when somebody else was faster.
        """
        number = after.number if after else 0
        return self._store.claim_review(name, file, _text(due_at), self._holder, self._now(), number, notes)

    def take_over(self, row: ReviewRow) -> ReviewClaim | None:
        """Goes on with a time that nobody is at; None when somebody else was faster."""
        return self._store.take_review(row.claim, self._holder, self._now())

    def attend(self, claim: ReviewClaim) -> None:
        """Says that somebody is at it.

        Raises:
            LeaseLost: another process has taken it over.
        """
        self._store.attend_review(claim, self._now())

    def note(self, claim: ReviewClaim, notes: ReviewNotes) -> None:
        """Keeps what is known of a time, in place of what was known before; with an outcome it is over.

        Raises:
            LeaseLost: nothing was written.
        """
        self._store.note_review(claim, notes, self._now())

    def release(self, claim: ReviewClaim) -> None:
        """Says that nobody is at it any more, over or not."""
        self._store.release_review(claim, self._now())

    def delivery(self, result: str, target: str) -> Delivery | None:
        """Returns how far a result has come on its way to a receiver; None when it was never begun."""
        return self._store.delivery(result, target)

    def move_delivery(self, result: str, target: str, before: str | None, after: str) -> bool:
        """Moves a delivery from one state to another; False when it is in another by now, and nothing was written."""
        return self._store.move_delivery(result, target, before, after, self._now())

    def keep_checks(self, thread_id: str, head: str, findings: Iterable[tuple[int, str, str]]) -> bool:
        """Keeps what checks of a thread's assumptions came to, each in place of the one before.

        Args:
            head: the thread's, when its record was read.
            findings: for each its number in the record, from 0, what it came to, and a sentence about that.

        Returns:
            False when the thread has moved since; nothing was written.

        Raises:
            UnknownThread
        """
        rows = [CheckRow(number, result, why, self._now()) for number, result, why in findings]
        return self._store.keep_checks(thread_id, head, rows)

    def checks(self, thread_id: str) -> Sequence[CheckRow]:
        """Returns what the last checks of a thread's assumptions came to, in their order, if it has not moved since.

        Raises:
            UnknownThread
        """
        return self._store.checks(thread_id)

    def _now(self) -> str:
        return _text(self._clock())


def _text(moment: datetime) -> str:
    return iso_utc(moment, "microseconds")
