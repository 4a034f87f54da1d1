"""When a call may be made: how many a server takes at once, and how many in a minute; those beyond wait their turn.

A laptop that generates four answers at a time gives none of them in time. The models file says how many a server takes
(`max_parallel`, `max_per_minute`); servers of which it says nothing are not bounded. `Lanes` is for the runs of one
process; those of a fleet share theirs (`fleet.turns`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from orchestrator.budget import NO_BOUND, Bound
from orchestrator.models.base import Request

MINUTE_S = 60.0


@dataclass(slots=True)
class Turn:
    """The right to make one call now. Whoever made it says what it took."""

    took: Bound = NO_BOUND


class Turns(Protocol):
    """Says when calls may be made."""

    def turn(self, request: Request, bound: Bound) -> AbstractAsyncContextManager[Turn]:
        """Waits until the call may be made, which is to be made within.

        Args:
            bound: the most it can take.

        Raises:
            LimitMet: it may not be made; none was.
        """


class Lanes:
    """The lanes of every server that a process asks; one event loop uses them. Who comes first is served first."""

    def __init__(self) -> None:
        self._limiters: dict[str, anyio.CapacityLimiter] = {}
        self._paces: dict[str, _Pace] = {}

    @asynccontextmanager
    async def turn(self, request: Request, bound: Bound) -> AsyncIterator[Turn]:
        server = request.endpoint.server(request.model)
        most, per_minute = request.endpoint.max_parallel, request.endpoint.max_per_minute
        if per_minute is not None:
            await self._paces.setdefault(server, _Pace()).step(per_minute)
        if most is None:
            yield Turn()
            return
        async with self._limiters.setdefault(server, anyio.CapacityLimiter(most)):
            yield Turn()


@dataclass(frozen=True, slots=True)
class _Pace:
    """When the calls of the last minute began."""

    began: deque[float] = field(default_factory=deque)
    next: anyio.Lock = field(default_factory=anyio.Lock)

    async def step(self, per_minute: int) -> None:
        """Waits until one more call in a minute may begin."""
        async with self.next:
            while len(self.began) >= per_minute:
                await anyio.sleep_until(self.began[0] + MINUTE_S)
                self.began.popleft()
            self.began.append(anyio.current_time())
