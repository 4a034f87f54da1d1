"""Seats to drafts: one task group, every attempt seen, a failure a value in its seat's place.

A seat's routes are tried in order. On each, what may pass by itself (rate limits, overload, time-outs, lost
connections) is tried again with growing, jittered waits; what will not is not. A draft that lacks something checkable
is sent back once with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

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
from orchestrator.usage import total

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


@dataclass(slots=True)
class Paid:
    """What a run has paid for so far: every attempt, and the texts that are no turn, or not yet."""

    attempts: list[Usage] = field(default_factory=list)
    unused: list[Draft] = field(default_factory=list)

    @property
    def spent(self) -> Usage:
        return total(self.attempts)

    def committed(self, turn: Draft) -> None:
        """Takes a draft that became a turn from the unused ones, and the checklist behind it."""
        self.unused = [draft for draft in self.unused if not _stands_in(draft, turn)]


@dataclass(frozen=True, slots=True)
class Drafting:
    """How drafts are made.

    Args:
        model_of: the model that serves a route.
        emit: where events go.
        paid: what drafting adds to with every attempt.
    """

    model_of: Callable[[str], Model]
    emit: Emit
    patience: Patience = Patience()
    paid: Paid = field(default_factory=Paid)

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
        seat, taken = assignment.seat, list[Usage]()
        for place, route in enumerate(seat.routes):
            told = _told(assignment, route)
            began = time.monotonic()
            self.emit(DraftStarted(**told, lens=seat.lens))
            try:
                draft = await self._through(assignment, route, taken)
            except ModelError as error:
                why = {"code": error.code, "message": error.message}
                if place + 1 < len(seat.routes):
                    self.emit(FellBack(**told, to=seat.routes[place + 1], **why))
                    continue
                self.emit(DraftFailed(**told, seconds=_since(began), **why))
                return Failure(seat, assignment.step, error)
            self.paid.unused.append(draft)
            self._finished(told, draft, _since(began))
            return draft
        raise AssertionError("a seat has at least one route")

    async def _through(self, assignment: Assignment, route: str, taken: list[Usage]) -> Draft:
        """Asks a route, and once more where the answer lacks something; `taken` gathers what every attempt took."""
        request = assignment.ask(route)
        reply = await self._patiently(assignment, request, taken)
        lacks = assignment.lacking(reply.text)
        if lacks is not None:
            self.emit(SentBack(**_told(assignment, route), reason=lacks))
            reply = await self._mended(assignment, request, reply, lacks, taken)
            lacks = assignment.lacking(reply.text)
        return Draft(assignment.seat, assignment.step, reply.text, route, reply.model, total(taken), lacks)

    async def _mended(
        self, assignment: Assignment, request: Request, first: Reply, complaint: str, taken: list[Usage]
    ) -> Reply:
        """Asks once more. Where that fails, the first answer stands: it is paid for, and what it lacks is on record."""
        again = (*request.messages, Message("assistant", first.text), Message("user", complaint))
        try:
            return await self._patiently(assignment, replace(request, messages=again), taken)
        except ModelError:
            return first

    async def _patiently(self, assignment: Assignment, request: Request, taken: list[Usage]) -> Reply:
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
                    message=error.message,
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
        return await retrying(self._attempt, assignment, request, taken)

    async def _attempt(self, assignment: Assignment, request: Request, taken: list[Usage]) -> Reply:
        """One call; what it took counts, whether its answer is of use or not."""
        try:
            reply = await self.model_of(request.model).complete(request)
        except ModelError as error:
            if error.usage is not None:
                self._take(error.usage, taken)
            if error.text:
                seat, step = assignment.seat, assignment.step
                useless = Draft(seat, step, error.text, request.model, error.model, total(taken[-1:]), error.message)
                self.paid.unused.append(useless)
            raise
        self._take(reply.usage, taken)
        return reply

    def _take(self, usage: Usage, taken: list[Usage]) -> None:
        taken.append(usage)
        self.paid.attempts.append(usage)

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


def _stands_in(draft: Draft, turn: Draft) -> bool:
    """Whether a draft became the turn that was committed, as its text or as the checklist behind it."""
    same_seat = draft.seat.slot == turn.seat.slot
    return same_seat and (draft.step == "checklist" or draft.text == turn.text)


def _told(assignment: Assignment, route: str) -> dict[str, str]:
    seat = assignment.seat
    return {"slot": seat.slot, "role": seat.role, "agent": seat.agent, "step": assignment.step, "model": route}


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)
