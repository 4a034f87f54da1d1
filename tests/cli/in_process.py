"""A model for every seat of a run, in this process: it costs what it says and can be made to fail or to wait."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from building import priced, speech
from orchestrator.models.base import Reply, Request

WAITS = object()  # what a table hears, and does not answer


class Table:
    """Whom every seat asks, without HTTP: each call takes 100 tokens in, 40 of them cached, 10 out, and a cent.

    `hears` is called with every request before its answer; it may raise, or return WAITS. `cost` is in US dollars, None
    when nobody knows it.
    """

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.cost: str | None = "0.01"
        self.says: str | None = None  # whatever it is asked; None: what fits
        self.hears: Callable[[Request], object] = lambda request: None

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        if self.hears(request) is WAITS:
            await anyio.sleep_forever()
        return priced(self.says or speech(request, len(self.asked)), self.cost)
