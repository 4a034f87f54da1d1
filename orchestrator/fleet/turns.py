"""The turns of a run that a fleet holds: each call waits until the fleet as a whole may make it."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from time import monotonic

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from orchestrator.budget import Bound
from orchestrator.errors import LimitMet, StoreError
from orchestrator.fleet.permits import NotYet, OverBudget, Permit, Permits, Wish
from orchestrator.lanes import Turn
from orchestrator.models.base import Request
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.worker import in_thread

OUTLASTS_S = 30.0  # by so much a call may outlast its time before its permit counts no more
FRESH_S = 10.0  # a permit that took longer was taken by a process that slept: it might be over before the call is
_LOOK_S, _LOOK_LESS_S = 0.05, 1.0  # how often it is asked for a permit, at first and after a while
_NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class FleetTurns:
    """`Turns` of one run, with the permits of its fleet. Of the calls of a process one asks for a server at a time.

    Args:
        queues: where the calls of this process wait, by server.
        clock: seconds, which go on while the process sleeps.
    """

    permits: Permits
    thread_id: str
    queues: dict[str, anyio.Lock] = field(default_factory=dict)
    clock: Callable[[], float] = monotonic

    @asynccontextmanager
    async def turn(self, request: Request, bound: Bound) -> AsyncIterator[Turn]:
        if request.model == REHEARSAL:
            yield Turn()
            return
        permit, turn = await self._permit(self._wish(request, bound)), Turn()
        try:
            yield turn
        finally:
            await self._give_back(permit, turn.took.cost_usd)

    def _wish(self, request: Request, bound: Bound) -> Wish:
        endpoint, server = request.endpoint, request.endpoint.server(request.model)
        seconds = request.timeout_s + OUTLASTS_S
        return Wish(server, self.thread_id, endpoint.max_parallel, endpoint.max_per_minute, seconds, bound.cost_usd)

    async def _permit(self, wish: Wish) -> Permit:
        """Waits for a permit, and takes it.

        Raises:
            LimitMet: the fleet may not spend so much today.
        """
        async with self.queues.setdefault(wish.server, anyio.Lock()):
            look_s = _LOOK_S
            while True:
                asked_at = self.clock()
                match await self._take(wish):
                    case Permit() as permit:
                        if self.clock() - asked_at < FRESH_S:
                            return permit
                        await self._give_back(permit, _NOTHING)
                    case NotYet(wait_s):
                        await anyio.sleep(min(wait_s or look_s * random.uniform(0.5, 1), _LOOK_LESS_S))
                        look_s = min(look_s * 1.5, _LOOK_LESS_S)
                    case OverBudget() as met:
                        raise _over_budget(wish, met)

    async def _take(self, wish: Wish) -> Permit | NotYet | OverBudget:
        """Asks for a permit. Whoever is cancelled meanwhile gets none, and none is left lying about."""
        with anyio.CancelScope(shield=True):
            found = await in_thread(self.permits.take, wish)
        try:
            await checkpoint_if_cancelled()
        except BaseException:
            if isinstance(found, Permit):
                await self._give_back(found, _NOTHING)
            raise
        return found

    async def _give_back(self, permit: Permit, took_usd: Decimal | None) -> None:
        """One that cannot be given back is over after a while, at the most that it can have cost: what was heard is
        worth more."""
        with anyio.CancelScope(shield=True), suppress(StoreError):
            await in_thread(self.permits.give_back, permit, took_usd)


def _over_budget(wish: Wish, met: OverBudget) -> LimitMet:
    could = "a sum that nobody knows" if wish.cost_usd is None else f"${wish.cost_usd:f}"
    left = f"${max(met.left_usd, _NOTHING):f} of the ${met.budget_usd:f} that the fleet may spend today is left"
    cure = "It goes on tomorrow (UTC), or sooner with more: debate-hall fleet budget USD"
    return LimitMet(f"The next call could take {could}, and {left}.", cure, limit="fleet_budget")
