"""Calls that wait for the disk are made in a worker thread, so that no other debate in the event loop waits too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import anyio.to_thread

P = ParamSpec("P")
R = TypeVar("R")


async def in_thread(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Calls the hall in a worker thread, for it waits for the disk and for other writers."""
    return await anyio.to_thread.run_sync(partial(call, *args, **kwargs))
