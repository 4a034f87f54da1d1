"""A run's link to the store: what it tells is kept there, and what is asked of it from elsewhere is heard.

So any process can see what a run is doing, stop it, or close its debate by force, and the calls in flight end at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio

from orchestrator.errors import DebateError, LeaseLost, NotActive, StopAsked, StoreError
from orchestrator.events import DraftDelta, Told
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Lease
from orchestrator.worker import in_thread

BEAT_S = 1.0
GATHER_S = 0.1  # events come in bursts; one write keeps a burst


class Watch:
    """Reads a run's events, and attends to the store while the run goes on.

    Args:
        hall: where the run's debate is.
    """

    def __init__(self, hall: Hall) -> None:
        self._hall = hall
        self._lease: Lease | None = None
        self._waiting: deque[dict[str, Any]] = deque()
        self._news = anyio.Event()

    def __call__(self, told: Told) -> None:
        """Takes an event of the run's stream; it is kept soon. Pieces of a draft are not: they stand in its turn."""
        if isinstance(told.event, DraftDelta):
            return
        self._waiting.append(told.as_dict())
        self._news.set()

    async def during(self, lease: Lease, run: Callable[[], Awaitable[None]]) -> None:
        """Runs, and attends meanwhile.

        Raises:
            StopAsked
            LeaseLost: another process has taken it over.
            NotActive: the debate is closed.
            StoreError: the store cannot be asked any more.
            DebateError: what the run raises.
        """
        self._lease = lease
        await self._hear(lease)
        errors: list[DebateError] = []  # a task group would wrap them
        async with anyio.create_task_group() as group:
            group.start_soon(self._attend, lease, group.cancel_scope, errors)
            try:
                await run()
            except DebateError as error:
                errors.insert(0, error)
            group.cancel_scope.cancel()
        if errors:
            raise errors[0]

    async def finish(self) -> None:
        """Keeps what was told last. What cannot be kept is lost: it stands beside the record, not in it."""
        with anyio.CancelScope(shield=True), suppress(StoreError, LeaseLost):
            if self._lease is not None:
                await self._keep(self._lease)

    async def _attend(self, lease: Lease, run: anyio.CancelScope, errors: list[DebateError]) -> None:
        try:
            while True:
                await self._keep(lease)
                await self._hear(lease)
                with anyio.move_on_after(BEAT_S):
                    await self._news.wait()
                    await anyio.sleep(GATHER_S)
                self._news = anyio.Event()
        except DebateError as error:
            errors.append(error)
            run.cancel()

    async def _hear(self, lease: Lease) -> None:
        attention = await in_thread(self._hall.runs.attend, lease)
        if not attention.active:
            raise NotActive(f"{lease.thread_id} is closed.")
        if attention.request is not None:
            raise StopAsked(f"Stopped on request: {attention.request}")

    async def _keep(self, lease: Lease) -> None:
        reports = list(self._waiting)
        if reports:
            await in_thread(self._hall.runs.report, lease, reports)
        for _ in reports:  # only now: a cancelled call has kept nothing
            self._waiting.popleft()
