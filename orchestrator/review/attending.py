"""A time of a review is held: whoever is at it says so every now and then, and gives it back however that ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import anyio

from orchestrator.errors import DebateError, LeaseLost, StoreError
from orchestrator.hall.review_desk import ReviewDesk
from orchestrator.hall.review_rows import ReviewClaim
from orchestrator.worker import in_thread

BEAT_S = 5.0

T = TypeVar("T")


async def attended(desk: ReviewDesk, claim: ReviewClaim, work: Callable[[], Awaitable[T]]) -> T:
    """Works while the claim is good, and returns what comes of it; what is not over by then others may go on with.

    Raises:
        LeaseLost: another process has taken it over; the work was cancelled.
        DebateError: what the work raises.
    """
    ended: list[T] = []
    failed: list[Exception] = []  # a task group would wrap them

    async def run() -> None:
        try:
            ended.append(await work())
        except Exception as error:  # noqa: BLE001  it is raised below
            failed.append(error)
        group.cancel_scope.cancel()

    async def beat() -> None:
        try:
            while True:
                await anyio.sleep(BEAT_S)
                await in_thread(desk.attend, claim)
        except DebateError as error:
            failed.append(error)
            group.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(beat)
            group.start_soon(run)
    finally:
        with anyio.CancelScope(shield=True), suppress(StoreError, LeaseLost):
            await in_thread(desk.release, claim)
    if failed:
        raise failed[0]
    return ended[0]
