"""Reviews that a fleet holds: its cron has one worker a minute look which are due, and that one holds them.

When a review is due is read from its schedule, its time zone and the hall, as a daemon does: a cron of the queue knows
neither daylight saving nor what was missed. So workers and daemons of one file share its reviews.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio
import procrastinate

from orchestrator.fleet import names
from orchestrator.review.daemon import Daemon, Stopped

_EACH_MINUTE = "* * * * *"
_FIRST = 1_000_000  # the priority: a look takes no time, and a review has one


@dataclass(frozen=True, slots=True)
class Rounds:
    """
    Args:
        daemon: knows the reviews, and holds them.
    """

    daemon: Daemon
    stopped: dict[str, Stopped | None] = field(default_factory=dict)

    @property
    def queue(self) -> str:
        """That of the workers with this file."""
        return f"{names.REVIEWS}-{hashlib.sha256(str(self.daemon.file.path).encode()).hexdigest()[:16]}"

    def add_to(self, app: procrastinate.App) -> Sequence[str]:
        """Lets a worker make rounds; returns the queues that it has to take from."""

        async def due_reviews(timestamp: int) -> None:
            await self.make()

        task = app.task(name=names.DUE, queue=self.queue)(due_reviews)
        # Nothing is lost where one waits already: whoever takes that looks at the same schedule.
        once = app.periodic(cron=_EACH_MINUTE, periodic_id=self.queue, queueing_lock=self.queue, priority=_FIRST)
        once(task)
        return [self.queue]

    async def make(self) -> None:
        """Looks at each review once, and holds those that are due."""
        async with anyio.create_task_group() as group:
            for review in self.daemon.file.reviews:
                group.start_soon(self._look, review.name)

    async def _look(self, name: str) -> None:
        review = self.daemon.file.named(name)
        self.stopped[name] = (await self.daemon.look(review, self.stopped.get(name))).stopped
