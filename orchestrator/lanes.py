"""How many calls a server takes at once: those beyond wait for their turn, in the order in which they came.

A laptop that generates four answers at a time gives none of them in time. The models file says how many a server takes
(`max_parallel`); servers of which it says nothing are not bounded.
"""

from __future__ import annotations

import anyio

from orchestrator.models.base import Request


class Lanes:
    """The lanes of every server that a run asks; one event loop uses them."""

    def __init__(self) -> None:
        self._limiters: dict[str, anyio.CapacityLimiter] = {}

    def of(self, request: Request) -> anyio.CapacityLimiter | None:
        """Returns what a call has to hold while it is made; None where its server takes as many as come."""
        most = request.endpoint.max_parallel
        if most is None:
            return None
        return self._limiters.setdefault(request.endpoint.server(request.model), anyio.CapacityLimiter(most))
