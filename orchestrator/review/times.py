"""Which time of a review is to be held now, taken up so that no other process holds it too.

A time that was left behind, by a stop or a crash, is gone on with until the next one is due, and given up then; by hand
it is gone on with at any time. While another process is at it nothing is taken up. Whoever is the first to see a review
notes that it is there, so that the times that are missed from then on are known.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from orchestrator.errors import UsageError
from orchestrator.hall.review_desk import ReviewDesk
from orchestrator.hall.review_rows import ReviewClaim, ReviewNotes, ReviewRow
from orchestrator.review.outcomes import Outcome
from orchestrator.review.reviews_file import Review, load_reviews
from orchestrator.review.schedule import Due, Last, due
from orchestrator.wording import counted


class Taken(NamedTuple):
    """A time that this process holds.

    Args:
        notes: of whoever held it before.
        is_of_schedule: whether it may be one, which is kept open where nothing can be begun yet; else it was made by
            hand just now.
    """

    claim: ReviewClaim
    due_at: datetime
    notes: ReviewNotes
    is_of_schedule: bool = True

    @property
    def result(self) -> str:
        """What the result is known by to those who receive it."""
        return f"{self.claim.name}/{self.claim.number}"


class NotNow(NamedTuple):
    """There is nothing to hold, and why; `is_held`: another process is at it."""

    why: str
    is_held: bool = False


def enrol(desk: ReviewDesk, review: Review, file: Path, now: datetime) -> None:
    """Notes that a review is there, if that is new.

    Raises:
        UsageError: another file has one of that name.
    """
    newest = desk.newest(review.name)
    _require_same_file(newest, file)
    if newest is None:
        notes = ReviewNotes(outcome=Outcome.ENROLLED, why="Its schedule is kept from here on.")
        desk.begin(review.name, str(file), now, None, notes)


def take_by_hand(desk: ReviewDesk, review: Review, file: Path, now: datetime) -> Taken | NotNow:
    """Takes up what was left behind, else a time of its own.

    Raises:
        UsageError: another file has one of that name.
    """
    while True:
        newest = desk.newest(review.name)
        _require_same_file(newest, file)
        if newest is not None and not newest.is_over:
            found = _left_behind(desk, newest)
        else:
            begun = _begun(desk, review, file, now, newest)
            found = begun._replace(is_of_schedule=False) if begun else None
        if found is not None:
            return found


def take_due(desk: ReviewDesk, review: Review, file: Path, now: datetime, stopped: int | None = None) -> Taken | NotNow:
    """Takes up the time that is due, else what was left behind. Of a review that is new no time is due yet.

    Args:
        stopped: the number of a time that stopped in this process, and is not gone on with.

    Raises:
        UsageError: another file has one of that name.
    """
    while True:
        newest = desk.newest(review.name)
        _require_same_file(newest, file)
        found: Taken | NotNow | None
        if newest is None:
            enrol(desk, review, file, now)
            continue
        if newest.is_over:
            found = _due(desk, review, file, now, newest)
        elif not desk.is_held(newest) and _is_next_due(review, now, newest):
            _given_up(desk, newest)
            continue
        elif newest.number == stopped and not desk.is_held(newest):
            found = NotNow("It stopped, and can be resumed.")
        else:
            found = _left_behind(desk, newest)
        if found is not None:
            return found


def _left_behind(desk: ReviewDesk, newest: ReviewRow) -> Taken | NotNow | None:
    if desk.is_held(newest):
        return NotNow(f"{newest.run.holder} is at it, since {newest.run.began_at[:16].replace('T', ' ')} UTC.", True)
    claim = desk.take_over(newest)
    return Taken(claim, moment(newest.due_at), newest.notes) if claim else None


def _begun(desk: ReviewDesk, review: Review, file: Path, at: datetime, newest: ReviewRow | None) -> Taken | None:
    claim = desk.begin(review.name, str(file), at, newest)
    return Taken(claim, at, ReviewNotes()) if claim else None


def _due(desk: ReviewDesk, review: Review, file: Path, now: datetime, newest: ReviewRow) -> Taken | NotNow | None:
    found = due(review, _last_of(newest), now)
    if found is None:
        return NotNow("No time of its schedule has come since the last one.")
    if found.why_not is None:
        return _begun(desk, review, file, found.at, newest)
    why = _passed_over(found)
    notes = ReviewNotes(outcome=Outcome.PASSED_OVER, why=why)
    return NotNow(why) if desk.begin(review.name, str(file), found.at, newest, notes) else None


def _passed_over(found: Due) -> str:
    more = f", nor were {counted(found.before, 'time')} before it" if found.before else ""
    return f"{found.at:%Y-%m-%d %H:%M} UTC was not held{more}: {found.why_not}."


def _is_next_due(review: Review, now: datetime, newest: ReviewRow) -> bool:
    due_at = moment(newest.due_at)
    return due(review, Last(due_at, due_at), now) is not None


def _given_up(desk: ReviewDesk, newest: ReviewRow) -> None:
    claim = desk.take_over(newest)
    if claim is not None:
        why = f"It stopped and was not resumed before the next time came. {newest.notes.why or ''}".strip()
        desk.note(claim, newest.notes._replace(seen=None, outcome=Outcome.STOPPED, why=why))


def _last_of(newest: ReviewRow) -> Last:
    was_given_up = newest.notes.outcome == Outcome.STOPPED  # until then nobody was at it
    return Last(moment(newest.due_at), moment(newest.due_at if was_given_up else newest.run.beat_at))


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _require_same_file(newest: ReviewRow | None, file: Path) -> None:
    """Refuses a name that a review of another file goes by: its history would be taken for this one's.

    A file that was moved is gone from where it was.
    """
    if newest is None or newest.file == str(file) or not Path(newest.file).is_file():
        return
    try:
        others = load_reviews(Path(newest.file)).reviews
    except UsageError:
        return
    if any(other.name == newest.name for other in others):
        raise UsageError(
            f"The hall knows the review {newest.name} from {newest.file}, not from {file}.",
            "Give one of them another name: decisions of one are what the next one starts from.",
        )
