"""A clock on which months pass in no time: it goes on to the next moment that is waited for, once nobody works."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio


class VirtualClock:
    """
    Args:
        start: what it shows first.
        end: the last moment it goes on to; who waits for a later one waits for ever.
        waiters: how many tasks keep time by it; it stands still until all of them wait.
    """

    def __init__(self, start: datetime, end: datetime, waiters: int) -> None:
        self._now, self._end, self._waiters = start, end, waiters
        self._waiting: dict[anyio.Event, datetime] = {}
        self.ended = anyio.Event()  # everybody waits for what comes after the end

    def now(self) -> datetime:
        return self._now.astimezone(UTC)

    async def until(self, moment: datetime) -> None:
        come = anyio.Event()
        self._waiting[come] = moment
        self._go_on()
        await come.wait()

    def _go_on(self) -> None:
        if len(self._waiting) < self._waiters:
            return
        first = min(self._waiting.values())
        if first > self._end:
            self.ended.set()
            return
        self._now = max(self._now, first)
        for come in [come for come, moment in self._waiting.items() if moment <= self._now]:
            del self._waiting[come]
            come.set()
