"""Seats to drafts: one task group, a failure a value in its seat's place, the first calls set aside together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio

from orchestrator.budget import Budget
from orchestrator.calls import NO_TIME_LIMIT, NOTHING_KEPT, Calls, Kept, Ticket, TimeLimit
from orchestrator.drafts import PATIENT, Assignment, Draft, Emit, Failure, Paid, Patience
from orchestrator.errors import DebateError, ModelError
from orchestrator.journal import Journal
from orchestrator.lanes import Lanes, Turns
from orchestrator.models.base import Model
from orchestrator.onlookers import Onlookers
from orchestrator.replayed import NOTHING_REPLAYED, Replayed
from orchestrator.seat_at_work import Means, SeatAtWork


@dataclass(frozen=True, slots=True)
class Drafting:
    """How drafts are made.

    Args:
        model_of: the model that serves a route.
        emit: where events go.
        paid: what drafting adds to with every attempt.
        journal, budget, time, replayed: see `Calls`; whoever holds a debate puts in its own.
        dead: routes that no seat asks any more, with the reason.
        noted: routes of which it was said what they do not take.
        turns: says when calls may be made.
        onlookers: those who see drafts while they are written.
    """

    model_of: Callable[[str], Model]
    emit: Emit
    patience: Patience = PATIENT
    paid: Paid = field(default_factory=Paid)
    journal: Journal | None = None
    budget: Budget = field(default_factory=Budget)
    time: TimeLimit = NO_TIME_LIMIT
    dead: dict[str, ModelError] = field(default_factory=dict)
    noted: set[str] = field(default_factory=set)
    turns: Turns = field(default_factory=Lanes)
    onlookers: Onlookers = field(default_factory=Onlookers)
    replayed: Replayed = NOTHING_REPLAYED

    async def all(self, assignments: Sequence[Assignment], kept: Kept = NOTHING_KEPT) -> tuple[Draft | Failure, ...]:
        """Drafts for every seat at once; the results stand in the order of the assignments, never of arrival.

        Args:
            kept: what must be left over after the seats' first calls.

        Raises:
            LimitMet: the first calls do not fit the run's limits; none was made.
            LeaseLost, StoreError: nothing can be written down any more.
        """
        calls = Calls(self.model_of, self.journal, self.budget, self.time, self.turns, self.replayed)
        means = Means(calls, self.emit, self.patience, self.paid, self.dead, self.noted, self.onlookers)
        work = [SeatAtWork(means, assignment, kept) for assignment in assignments]
        firsts = [seat.first_ask() for seat in work]
        tickets = iter(await calls.prepare([ask for ask in firsts if ask is not None], kept))
        results: list[Draft | Failure | None] = [None] * len(work)
        errors: list[DebateError] = []  # a task group would wrap them

        async def fill(place: int, ticket: Ticket | None) -> None:
            try:
                results[place] = await work[place].draft(ticket)
            except DebateError as error:
                errors.append(error)
                group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for place, ask in enumerate(firsts):
                group.start_soon(fill, place, next(tickets) if ask is not None else None)
        if errors:
            raise errors[0]
        return tuple(result for result in results if result is not None)
