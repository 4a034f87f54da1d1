"""One call to a model: its cost set aside, its intent written down, its time limited, its outcome kept.

Every call of a run passes here, retries and fallbacks too: so no limit is passed, and nothing that was paid for is
lost. What is tried when is `drafting`'s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import anyio

from orchestrator.budget import NO_BOUND, Bound, Budget, taken
from orchestrator.errors import DebateError, LimitMet, ModelError, TimedOut
from orchestrator.journal import Ask, Journal, Past
from orchestrator.lanes import Lanes, Turn, Turns
from orchestrator.models.base import Model, Reply, Usage
from orchestrator.models.guarded import Guarded
from orchestrator.replayed import NOTHING_REPLAYED, Replayed

_LEAST_S = 0.05  # less time than that is no time


class Kept(NamedTuple):
    """What must be left over after a batch of calls, so that Door can still close."""

    bound: Bound = NO_BOUND
    seconds: float = 0.0


NOTHING_KEPT = Kept()


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """When a run must have ended, on the event loop's clock; `seconds` is the limit in words."""

    ends: float = math.inf
    seconds: float = math.inf

    def left(self, kept_s: float = 0.0) -> float:
        """Seconds that are left, infinite without a limit."""
        return self.ends - kept_s - (anyio.current_time() if self.ends < math.inf else 0.0)

    def require(self, seconds: float = _LEAST_S, kept_s: float = 0.0) -> None:
        """Raises:
        LimitMet: there are not so many seconds left.
        """
        if self.left(kept_s) < seconds:
            besides = f" besides {kept_s:.0f} s kept for Door" if kept_s else ""
            raise LimitMet(
                f"{max(self.left(), 0):.0f} s of {self.seconds:g} s are left{besides}.",
                "Raise --time-limit and resume.",
                limit="seconds",
            )


NO_TIME_LIMIT = TimeLimit()


class Ticket(NamedTuple):
    """The right to make one call: what it can take is set aside, and its intent is written down."""

    ask: Ask
    bound: Bound
    number: int | None  # of the intent; None where no journal is kept
    kept_s: float = 0.0  # seconds that must be left when it has ended


@dataclass(frozen=True, slots=True)
class Calls:
    """How calls are made.

    Args:
        model_of: the model that serves a route.
        journal: where they are written down; None: nowhere.
        turns: says when a call may be made; all batches of a run share it.
        replayed: the replies of the debate that this one replays.
    """

    model_of: Callable[[str], Model]
    journal: Journal | None = None
    budget: Budget = field(default_factory=Budget)
    time: TimeLimit = NO_TIME_LIMIT
    turns: Turns = field(default_factory=Lanes)
    replayed: Replayed = NOTHING_REPLAYED

    def past(self, ask: Ask) -> tuple[Past, ...]:
        """Returns what came when the same seat asked the same before, in an earlier process of the run too."""
        return self.journal.past(ask) if self.journal else ()

    @property
    def written(self) -> int:
        """How many records the journal holds."""
        return self.journal.written if self.journal else 0

    async def prepare(self, asks: Sequence[Ask], kept: Kept = NOTHING_KEPT) -> list[Ticket]:
        """Sets aside what parallel calls can take, and writes down that they will be made: all, or none.

        Raises:
            LimitMet: they do not fit; none may be made.
            LeaseLost, StoreError: they cannot be written down; none may be made.
        """
        if not asks:
            return []
        self.time.require(kept_s=kept.seconds)
        bounds = [self.budget.bound_of(ask.request) for ask in asks]
        self.budget.reserve(bounds, kept.bound)
        try:
            numbers = await self.journal.intend(asks, bounds) if self.journal else [None] * len(asks)
        except BaseException:
            for ask, bound in zip(asks, bounds, strict=True):
                self.budget.settle(ask.request, bound, None, charged=False)
            raise
        return [Ticket(*ticket, kept.seconds) for ticket in zip(asks, bounds, numbers, strict=True)]

    async def make(self, ticket: Ticket) -> Reply:
        """Makes one attempt, once its server takes another call; that wait is none of the call's own time.

        Raises:
            ModelError: it failed; that is written down.
            LimitMet: the run's time was over first, or it may not be made. What became of a call that was made nobody
                knows: its whole bound counts.
        """
        async with AsyncExitStack() as stack:
            turn = await self._turn(ticket, stack)
            return await self._made(ticket, turn)

    async def _turn(self, ticket: Ticket, stack: AsyncExitStack) -> Turn:
        """Waits for a call's turn.

        Raises:
            LimitMet: the run's time was over first, or the call may not be made; it never was.
        """
        try:
            with anyio.move_on_after(self.time.left(ticket.kept_s)):
                return await stack.enter_async_context(self.turns.turn(ticket.ask.request, ticket.bound))
        except BaseException:
            with suppress(DebateError):  # else it stays uncertain, which is no more than can be told
                await self._never_made(ticket)
            raise
        await self._never_made(ticket)
        self.time.require(kept_s=ticket.kept_s)
        raise AssertionError("its time was over")

    async def _never_made(self, ticket: Ticket) -> None:
        """Sets free what was set aside for a call that waited in vain, and writes down that nothing can be charged."""
        self.budget.settle(ticket.ask.request, ticket.bound, None, charged=False)
        if self.journal is not None and ticket.number is not None:
            await self.journal.never_made(ticket.number)

    async def _made(self, ticket: Ticket, turn: Turn) -> Reply:
        request, left = ticket.ask.request, self.time.left(ticket.kept_s)
        request = replace(request, timeout_s=min(request.timeout_s, left)) if left < request.timeout_s else request
        try:
            with anyio.move_on_after(left):
                reply = await Guarded(self.model_of(request.model)).complete(request)
                self._settle(ticket, turn, reply.usage)
                return reply
        except ModelError as error:
            self._settle(ticket, turn, error.usage, charged=error.maybe_billed)
            await self._failed(ticket, error)
            raise
        except BaseException:  # cancelled: the call may have been answered and charged
            self._settle(ticket, turn, None)
            raise
        self._settle(ticket, turn, None)
        self.time.require(kept_s=ticket.kept_s)
        raise AssertionError("its time was over")

    def _settle(self, ticket: Ticket, turn: Turn, usage: Usage | None, *, charged: bool = True) -> None:
        self.budget.settle(ticket.ask.request, ticket.bound, usage, charged=charged)
        turn.took = taken(ticket.bound, usage, charged=charged)

    async def keep(self, ticket: Ticket, reply: Reply) -> None:
        """Writes a reply down.

        Raises:
            LeaseLost, StoreError: it cannot be.
        """
        if self.journal is not None and ticket.number is not None:
            await self.journal.heard(ticket.number, reply)

    async def reuse(self, ask: Ask, past: Past) -> None:
        """Writes down that a reply is reused which another debate paid for.

        Raises:
            LeaseLost, StoreError: it cannot be.
        """
        if self.journal is not None:
            await self.journal.reused(ask, past)

    async def _failed(self, ticket: Ticket, error: ModelError) -> None:
        if self.journal is not None and ticket.number is not None:
            await self.journal.failed(ticket.number, error)
        if isinstance(error, TimedOut):
            self.time.require(kept_s=ticket.kept_s)
