"""Work in a task of its own, so that a cancellation reaches it as any other does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


async def in_own_task(work: Callable[[], Awaitable[T]]) -> T:
    """Works, and returns or raises what comes of it.

    asyncio cancels the task that somebody else holds, and from that no shield keeps: what is being written would be
    left to itself.
    """
    ended: list[T] = []
    failed: list[Exception] = []  # a task group would wrap them

    async def run() -> None:
        try:
            ended.append(await work())
        except Exception as error:  # noqa: BLE001  it is raised below
            failed.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
    if failed:
        raise failed[0]
    return ended[0]
