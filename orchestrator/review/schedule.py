"""When a review is due: pure functions of its cron expression, its time zone, the time it was held last, and now.

Expressions are read as Debian's cron reads them. A time of day that the clocks skip in spring comes at the moment they
skip to; one that they show twice in autumn comes once, the first time; an expression with `*` for its minute or hour
counts real minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice, takewhile
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim

from orchestrator.review.reviews_file import Review
from orchestrator.wording import counted

PUNCTUAL = timedelta(minutes=5)  # what is taken up later than that was missed
MOST_COUNTED = 1000  # of times that went by
_NEVER = timedelta(days=50 * 365)  # what has not come for so long does not come, as cronsim has it
_SECOND, _HOUR, _DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)


class Last(NamedTuple):
    """The newest time of a review that was taken up, and when that was over; it may have been held by hand."""

    due_at: datetime
    over_at: datetime


class Due(NamedTuple):
    """A time of the schedule that has come.

    Args:
        at: in UTC.
        why_not: a sentence about why it is passed over; None where it is to be held.
        before: how many times went by before it that nobody took up, at most `MOST_COUNTED`.
    """

    at: datetime
    why_not: str | None
    before: int

    def __str__(self) -> str:
        went_by = f", after {counted(self.before, 'time')} that went by" if self.before else ""
        return f"{self.at:%Y-%m-%d %H:%M} UTC{went_by}"


def due(review: Review, last: Last | None, now: datetime) -> Due | None:
    """The newest time that has come and was not taken up; the ones before it are passed over with it.

    Args:
        last: None where the review was never taken up: its newest time is due, however long ago.
        now: with a time zone.
    """
    come = _back_from(review, now)
    newest = next(come, None)
    if newest is None or (last is not None and newest <= last.due_at):
        return None
    before = 0
    if last is not None:
        before = sum(1 for _ in islice(_down_to(come, last.due_at), MOST_COUNTED))
    return Due(newest, _why_not(review, newest, last, now), before)


def upcoming(review: Review, after: datetime) -> Iterator[datetime]:
    """The times that come after a moment, in the review's own time zone, without end."""
    after = after.astimezone(UTC)  # times of one zone are compared by what its clocks show
    if any(field.startswith("*") for field in review.cron.split()[:2]):
        yield from _by_real_minutes(review, after)
        return
    for time in CronSim(review.cron, after.astimezone(review.zone)):
        if time > after:  # in the hour that the clocks show twice it may not be
            yield time


def _by_real_minutes(review: Review, after: datetime) -> Iterator[datetime]:
    """The times at which the clocks show what the expression says.

    cronsim goes by whole hours, and loses its way where clocks are moved by half of one: it is led from one such moment
    to the next.
    """
    start = moved = after
    while True:
        before, between = moved, timezone(_ahead(review.zone, moved))
        for time in CronSim(review.cron, start.astimezone(between)):
            if found := _moved(review.zone, before, time.astimezone(UTC)):
                start, moved = found - _SECOND, found
                break
            before = time.astimezone(UTC)
            yield time.astimezone(review.zone)
        else:
            return


def _moved(zone: ZoneInfo, after: datetime, until: datetime) -> datetime | None:
    """The first moment after one and up to another at which the clocks of a zone are moved, if they are."""
    was = _ahead(zone, after)
    while after < until and _ahead(zone, min(after + _DAY, until)) == was:
        after += _DAY
    if after >= until:
        return None
    moved = min(after + _DAY, until)
    while moved - after > _SECOND:
        middle = after + (moved - after) / 2
        after, moved = (middle, moved) if _ahead(zone, middle) == was else (after, middle)
    return moved.replace(microsecond=0)


def _ahead(zone: ZoneInfo, moment: datetime) -> timedelta:
    """How far the clocks of a zone are ahead of UTC."""
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None, "it has a time zone"
    return offset


def _back_from(review: Review, now: datetime) -> Iterator[datetime]:
    """The times up to now, the newest first, in UTC: those that looking ahead from before them finds."""
    end, span = now.astimezone(UTC), _HOUR
    while span < _NEVER:
        yield from sorted(_between(review, end - span, end), reverse=True)
        end, span = end - span, span * 2


def _between(review: Review, after: datetime, until: datetime) -> set[datetime]:
    return {time.astimezone(UTC) for time in takewhile(lambda time: time <= until, upcoming(review, after))}


def _down_to(times: Iterator[datetime], last: datetime) -> Iterator[datetime]:
    for time in times:
        if time <= last:
            return
        yield time


def _why_not(review: Review, at: datetime, last: Last | None, now: datetime) -> str | None:
    if last is not None and at <= last.over_at:
        return "the one before was still under way" if review.overlap == "skip" else None
    if review.missed == "skip" and now - at > PUNCTUAL:
        return "nobody was there to hold it"
    return None
