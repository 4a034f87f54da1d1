"""Seats to drafts: one task group, every attempt seen, a failure a value in its seat's place.

A seat's routes are tried in order. On each, what may pass by itself (rate limits, overload, time-outs, lost
connections) is tried again with growing, jittered waits; what will not is not. A draft that lacks something checkable
is sent back once with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from orchestrator.errors import ModelError
from orchestrator.events import (
    DraftFailed,
    DraftFinished,
    DraftStarted,
    Event,
    FellBack,
    Retried,
    SentBack,
)
from orchestrator.models.base import Message, Model, Reply, Request, Step, Usage
from orchestrator.plan import PlannedSeat

Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call is tried, and how long is waited between: seconds, doubled from `first_s` up to `longest_s`.

    A provider that says how long to wait is believed, up to `longest_s`.
    """

    attempts: int = 4
    first_s: float = 1.0
    longest_s: float = 30.0

    def wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, ModelError) else None
        grown = wait_random_exponential(multiplier=self.first_s, max=self.longest_s)(state)
        return min(max(grown, asked or 0.0), self.longest_s)


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one seat has to write.

    Args:
        ask: the request for a route.
        lacking: says what a text lacks, in a sentence to the model; None when it lacks nothing.
    """

    seat: PlannedSeat
    step: Step
    ask: Callable[[str], Request]
    lacking: Callable[[str], str | None] = field(default=lambda text: None)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a seat wrote, and through which route.

    `usage` sums every call it took; `lacks` is what a second try did not mend.
    """

    seat: PlannedSeat
    step: Step
    text: str
    route: str
    answered: str
    usage: Usage
    lacks: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a seat wrote nothing: the error of its last route."""

    seat: PlannedSeat
    step: Step
    error: ModelError


@dataclass(frozen=True, slots=True)
class Drafting:
    """How drafts are made.

    Args:
        model_of: the model that serves a route.
        emit: where events go.
    """

    model_of: Callable[[str], Model]
    emit: Emit
    patience: Patience = Patience()

    async def all(self, assignments: Sequence[Assignment]) -> tuple[Draft | Failure, ...]:
        """Drafts for every seat at once; the results stand in the order of the assignments, never of arrival."""
        results: list[Draft | Failure | None] = [None] * len(assignments)

        async def fill(place: int, assignment: Assignment) -> None:
            results[place] = await self._one(assignment)

        async with anyio.create_task_group() as group:
            for place, assignment in enumerate(assignments):
                group.start_soon(fill, place, assignment)
        return tuple(result for result in results if result is not None)

    async def _one(self, assignment: Assignment) -> Draft | Failure:
        seat = assignment.seat
        for place, route in enumerate(seat.routes):
            told = _told(assignment, route)
            began = time.monotonic()
            self.emit(DraftStarted(**told, lens=seat.lens))
            try:
                draft = await self._through(assignment, route)
            except ModelError as error:
                why = {"code": error.code, "message": str(error)}
                if place + 1 < len(seat.routes):
                    self.emit(FellBack(**told, to=seat.routes[place + 1], **why))
                    continue
                self.emit(DraftFailed(**told, seconds=_since(began), **why))
                return Failure(seat, assignment.step, error)
            self._finished(told, draft, _since(began))
            return draft
        raise AssertionError("a seat has at least one route")

    async def _through(self, assignment: Assignment, route: str) -> Draft:
        request = assignment.ask(route)
        reply = await self._patiently(assignment, request)
        draft = Draft(assignment.seat, assignment.step, reply.text, route, reply.model, reply.usage)
        complaint = assignment.lacking(reply.text)
        if complaint is None:
            return draft
        self.emit(SentBack(**_told(assignment, route), reason=complaint))
        return await self._mended(assignment, request, draft, complaint)

    async def _mended(self, assignment: Assignment, request: Request, draft: Draft, complaint: str) -> Draft:
        """Asks once more. Where that fails, the first draft stands: it is paid for, and what it lacks is on record."""
        again = replace(
            request,
            messages=(*request.messages, Message("assistant", draft.text), Message("user", complaint)),
        )
        try:
            reply = await self._patiently(assignment, again)
        except ModelError:
            return replace(draft, lacks=complaint)
        return replace(
            draft,
            text=reply.text,
            answered=reply.model,
            usage=total((draft.usage, reply.usage)),
            lacks=assignment.lacking(reply.text),
        )

    async def _patiently(self, assignment: Assignment, request: Request) -> Reply:
        def tell(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            assert isinstance(error, ModelError), "nothing else is retried"
            assert state.next_action is not None, "this is called before a wait"
            self.emit(
                Retried(
                    **_told(assignment, request.model),
                    attempt=state.attempt_number,
                    wait_s=round(state.next_action.sleep, 3),
                    code=error.code,
                    message=str(error),
                )
            )

        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, ModelError) and error.retryable),
            stop=stop_after_attempt(self.patience.attempts),
            wait=self.patience.wait,
            sleep=anyio.sleep,
            before_sleep=tell,
            reraise=True,
        )
        return await retrying(self.model_of(request.model).complete, request)

    def _finished(self, told: dict[str, str], draft: Draft, seconds: float) -> None:
        usage = draft.usage
        self.emit(
            DraftFinished(
                **told,
                answered=draft.answered,
                seconds=seconds,
                input=usage.input,
                cached=usage.cached,
                output=usage.output,
                cost_usd=usage.cost_usd,
            )
        )


def total(usages: Sequence[Usage]) -> Usage:
    """The sum; its cost is None as soon as one cost is unknown."""
    costs = [usage.cost_usd for usage in usages]
    return Usage(
        input=sum(usage.input for usage in usages),
        cached=sum(usage.cached for usage in usages),
        output=sum(usage.output for usage in usages),
        cost_usd=None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0)),
    )


def _told(assignment: Assignment, route: str) -> dict[str, str]:
    seat = assignment.seat
    return {"slot": seat.slot, "role": seat.role, "agent": seat.agent, "step": assignment.step, "model": route}


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)
