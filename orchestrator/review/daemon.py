"""The daemon: waits for the times of reviews, and holds each when it has come, beside other daemons on the same store.

Each review has a task of its own, so that a long debate of one keeps no other waiting. A review that stopped, because a
model could not be reached say, is gone on with after a while; one that met a limit only when its next time comes. When
the daemon is cancelled, what it holds is paused and given back, and whoever comes next goes on with it.
"""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

import anyio

from orchestrator.errors import DebateError, StoppedByLimit
from orchestrator.hall.review_desk import ReviewDesk
from orchestrator.review.reviews_file import Review, ReviewsFile
from orchestrator.review.schedule import upcoming
from orchestrator.review.times import Taken, enrol, take_due
from orchestrator.secrets import scrub
from orchestrator.worker import in_thread

AGAIN = timedelta(hours=1)  # after which a review that stopped is gone on with
LOOK = timedelta(minutes=1)  # how often it is looked whether another process has left something behind
_NAP_S = 30.0  # a clock that is set, and a machine that slept, are noticed after so long


class Clock(Protocol):
    """What time it is, and waiting for another."""

    def now(self) -> datetime:
        """Returns the time, with a time zone."""

    async def until(self, moment: datetime) -> None:
        """Waits until then."""


class WallClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def until(self, moment: datetime) -> None:
        while True:
            left = (moment - self.now()).total_seconds()
            if left <= 0:
                return
            await anyio.sleep(min(left, _NAP_S))


class Stopped(NamedTuple):
    """A time that stopped here: its number, and when it is gone on with; None: its next time comes first."""

    number: int
    again: datetime | None


class Seen(NamedTuple):
    """What a look found: the time that stopped here, if one did, and when to look again; None: at once."""

    stopped: Stopped | None = None
    next: datetime | None = None


@dataclass(frozen=True, slots=True)
class Daemon:
    """
    Args:
        desk: where reviews are taken up.
        file: the reviews.
        clock: says when.
        hold: holds a time that was taken up to its end.
        tell: hears a line about what happens.
    """

    desk: ReviewDesk
    file: ReviewsFile
    clock: Clock
    hold: Callable[[Review, Taken], Awaitable[object]]
    tell: Callable[[str], None]

    async def serve(self) -> None:
        """Goes on until it is cancelled.

        Raises:
            UsageError: another file has a review of the same name; nothing was begun.
            StoreError: the hall cannot be used.
        """
        await self.enrol()
        async with anyio.create_task_group() as group:
            for review in self.file.reviews:
                group.start_soon(self._keep, review)

    async def enrol(self) -> None:
        """Notes that the reviews are there; raises as `serve` does."""
        for review in self.file.reviews:
            await in_thread(enrol, self.desk, review, self.file.path, self.clock.now())

    async def _keep(self, review: Review) -> None:
        seen = Seen()
        while True:
            seen = await self.look(review, seen.stopped)
            await self.clock.until(seen.next or self.clock.now())

    async def look(self, review: Review, stopped: Stopped | None) -> Seen:
        """Holds the time of a review that is due or was left behind, if there is one.

        Args:
            stopped: as the look before found it.
        """
        now = self.clock.now()
        if stopped is not None and stopped.again is not None and now >= stopped.again:
            stopped = None
        try:
            number = stopped.number if stopped else None
            taken = await in_thread(take_due, self.desk, review, self.file.path, now, number)
        except DebateError as error:  # the store may be there again later
            self.tell(f"{review.name}: error: {error}")
            return Seen(stopped, now + LOOK)
        if isinstance(taken, Taken):
            return Seen(await self._held(review, taken))
        sooner = now + LOOK if taken.is_held else stopped.again if stopped else None
        return Seen(stopped, min(filter(None, (next(upcoming(review, now)), sooner))))

    async def _held(self, review: Review, taken: Taken) -> Stopped | None:
        again: datetime | None = self.clock.now() + AGAIN
        try:
            await self.hold(review, taken)
            return None
        except StoppedByLimit as error:
            self.tell(f"{review.name}: stopped: {error}")
            again = None
        except DebateError as error:
            self.tell(f"{review.name}: error: {error}")
        except Exception:  # noqa: BLE001  one review that cannot be held keeps no other from being held
            self.tell(f"{review.name}: internal error: {scrub(traceback.format_exc())}")
        return Stopped(taken.claim.number, again)
