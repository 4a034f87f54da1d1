"""Seats to drafts: one task group, every attempt seen, a failure a value in its seat's place.

A seat's routes are tried in order. What happens after a failed call says one table (`faults`): the same call again
after a growing, jittered wait, the next route, or a route that reads more. An answer that is no turn, and a draft that
lacks something checkable, is sent back once with the reason. Where every window is too small, the oldest turns are
summarised for that seat alone, and its turn's record says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from orchestrator.budget import Budget
from orchestrator.calls import NO_TIME_LIMIT, NOTHING_KEPT, Calls, Kept, Ticket, TimeLimit
from orchestrator.drafts import PATIENT, Assignment, Draft, Emit, Failure, Paid, Patience
from orchestrator.errors import ContextTooLong, DebateError, DegenerateReply, LimitMet, ModelError
from orchestrator.events import DraftFailed, DraftFinished, DraftStarted, Event, FellBack, Retried, SentBack, Summarised
from orchestrator.faults import fault_of
from orchestrator.journal import Ask, Heard, Journal
from orchestrator.models.base import Message, Model, Request, Step, Usage
from orchestrator.models.failures import failure
from orchestrator.models.guarded import cleaned
from orchestrator.models.prices import context_of
from orchestrator.prompt import Summary
from orchestrator.usage import NOTHING, total


@dataclass(frozen=True, slots=True)
class Drafting:
    """How drafts are made.

    Args:
        model_of: the model that serves a route.
        emit: where events go.
        paid: what drafting adds to with every attempt.
        journal, budget, time: see `Calls`; whoever holds a debate puts in its own.
        dead: routes that no seat asks any more, with the reason.
    """

    model_of: Callable[[str], Model]
    emit: Emit
    patience: Patience = PATIENT
    paid: Paid = field(default_factory=Paid)
    journal: Journal | None = None
    budget: Budget = field(default_factory=Budget)
    time: TimeLimit = NO_TIME_LIMIT
    dead: dict[str, ModelError] = field(default_factory=dict)

    @property
    def calls(self) -> Calls:
        return Calls(self.model_of, self.journal, self.budget, self.time)

    async def all(self, assignments: Sequence[Assignment], kept: Kept = NOTHING_KEPT) -> tuple[Draft | Failure, ...]:
        """Drafts for every seat at once; the results stand in the order of the assignments, never of arrival.

        Args:
            kept: what must be left over after the seats' first calls.

        Raises:
            LimitMet: the first calls do not fit the run's limits; none was made.
            LeaseLost, StoreError: nothing can be written down any more.
        """
        work = [_SeatAtWork(self, assignment, kept) for assignment in assignments]
        firsts = [seat.first_ask() for seat in work]
        tickets = iter(await self.calls.prepare([ask for ask in firsts if ask is not None], kept))
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


class _Answer(NamedTuple):
    """What a call brought: a reply, or an error that came with an answer; and what its seat is told if it is asked
    again. `is_turn` says whether it can stand as it is."""

    heard: Heard | None
    text: str
    complaint: str | None
    error: ModelError | LimitMet | None = None

    @property
    def is_turn(self) -> bool:
        return self.error is None


@dataclass(slots=True)
class _SeatAtWork:
    """One seat on its way to one draft."""

    by: Drafting
    assignment: Assignment
    kept: Kept
    taken: list[Usage] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    too_long: list[str] = field(default_factory=list)  # routes whose window was too small

    def first_ask(self) -> Ask | None:
        """The first call that this seat needs; None when its answer is known, or no route can be asked."""
        route = next((route for route in self.assignment.seat.routes if route not in self.by.dead), None)
        if route is None:
            return None
        ask = self._ask(self.assignment.ask(route, None))
        return ask if self.by.calls.known(ask, self._is_usable) is None else None

    async def draft(self, ticket: Ticket | None) -> Draft | Failure:
        began = time.monotonic()
        try:
            draft = await self._through_any_route(ticket)
        except (ModelError, LimitMet) as error:
            told = _told(self.assignment, self.assignment.seat.routes[-1])
            usage = total(self.taken) if self.taken else NOTHING
            self._emit(
                DraftFailed(
                    **told,
                    seconds=_since(began),
                    code=error.code,
                    message=error.message,
                    **_counted(usage),
                )
            )
            return Failure(self.assignment.seat, self.assignment.step, error)
        self.by.paid.unused.append(draft)
        told = _told(self.assignment, draft.route)
        self._emit(
            DraftFinished(
                **told, answered=draft.answered, seconds=_since(began), **_counted(draft.usage), known=draft.known
            )
        )
        return draft

    async def _through_any_route(self, ticket: Ticket | None) -> Draft:
        routes = self.assignment.seat.routes
        last: ModelError | None = None
        for place, route in enumerate(routes):
            if (dead := self.by.dead.get(route)) is not None:
                last = dead
                self.tried.append(f"{route}: {dead.code}")
            elif self._reads_enough(route):
                try:
                    return await self._through(route, ticket)
                except ModelError as error:
                    last, ticket = error, None
                    self._give_up(route, error)
            if place + 1 < len(routes) and last is not None:
                why = {"code": last.code, "message": last.message}
                self._emit(FellBack(**_told(self.assignment, route), to=routes[place + 1], **why))
        assert last is not None, "a seat has at least one route"
        if not self.too_long or self.assignment.summarise is None:
            raise last
        return await self._through_summary(max(self.too_long, key=self._window), last)

    def _give_up(self, route: str, error: ModelError) -> None:
        fault = fault_of(error)
        if fault.stays:
            self.by.dead[route] = error
        if fault.larger:
            self.too_long.append(route)

    def _reads_enough(self, route: str) -> bool:
        """Whether a route may read more than those that could not read the request; one of unknown size may."""
        window = self._window(route)
        return not window or all(window > self._window(small) for small in self.too_long)

    def _window(self, route: str) -> int:
        return context_of(route, self.assignment.ask(route, None).endpoint) or 0

    async def _through(self, route: str, ticket: Ticket | None = None, summary: Summary | None = None) -> Draft:
        """Asks a route, and once more where the answer is no turn or lacks something."""
        self._emit(DraftStarted(**_told(self.assignment, route), lens=self.assignment.seat.lens))
        request = self.assignment.ask(route, summary)
        answer = await self._answer(request, ticket)
        if answer.complaint is not None:
            self._emit(SentBack(**_told(self.assignment, route), reason=answer.complaint))
            answer = await self._mended(request, answer)
        if answer.error is not None:
            raise answer.error
        heard = answer.heard
        assert heard is not None, "what came without an error was heard"
        return Draft(
            seat=self.assignment.seat,
            step=self.assignment.step,
            text=answer.text,
            route=heard.route,
            answered=heard.reply.model,
            usage=total(self.taken),
            lacks=answer.complaint,
            tried=tuple(self.tried),
            summarised=summary.turns if summary else None,
            known=heard.known,
        )

    async def _mended(self, request: Request, first: _Answer) -> _Answer:
        """Asks once more. Where that brings no turn, a first answer that was one stands, and what it lacks is said."""
        before = (Message("assistant", first.text),) if first.text.strip() else ()
        again = (*request.messages, *before, Message("user", first.complaint or ""))
        try:
            second = await self._answer(replace(request, messages=again), None)
        except (ModelError, LimitMet) as error:
            second = _Answer(None, "", None, error)
        if second.is_turn or not first.is_turn:
            return second
        return first

    async def _answer(self, request: Request, ticket: Ticket | None) -> _Answer:
        """Asks, as often as it takes, and judges what came.

        Raises:
            ModelError: no answer came, or none that could be mended by asking again.
        """
        try:
            heard = await self._patiently(request, ticket)
        except ModelError as error:
            complaint = fault_of(error).repair
            if complaint is None or error.usage is None:
                raise
            return _Answer(None, error.text, complaint, error)
        text = heard.reply.text
        useless = self.assignment.useless(text)
        if useless is None:
            return _Answer(heard, text, self.assignment.lacking(text))
        degenerate = failure(
            DegenerateReply,
            f"an answer that is no turn. {useless}",
            model=request.model,
            usage=heard.reply.usage,
            text=text,
        )
        self.tried.append(f"{request.model}: {degenerate.code}")
        self._keep_useless(degenerate, request)
        return _Answer(heard, text, f"{useless} {fault_of(degenerate).repair}", degenerate)

    async def _patiently(self, request: Request, ticket: Ticket | None, step: Step | None = None) -> Heard:
        """Asks until an answer comes, the kind of failure says that it will not, or the run's time is over."""
        usable = self._is_usable if step is None else bool
        known = self.by.calls.known(self._ask(request, step), usable)
        if known is not None:
            self.taken.append(known.reply.usage)
            return known
        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, ModelError)),
            stop=self.by.patience.is_over,
            wait=self.by.patience.wait,
            sleep=self._sleep,
            before_sleep=lambda state: self._tell_retry(request, state),
            reraise=True,
        )
        tickets = iter([ticket] if ticket else [])
        return await retrying(self._attempt, request, tickets, step)

    async def _attempt(self, request: Request, tickets: Iterator[Ticket], step: Step | None) -> Heard:
        """One call; what it took counts, whether its answer is of use or not."""
        calls = self.by.calls
        ticket = next(tickets, None) or (await calls.prepare([self._ask(request, step)], self.kept))[0]
        try:
            reply = await calls.make(ticket)
        except ModelError as error:
            self.tried.append(f"{request.model}: {error.code}")
            if error.usage is not None:
                self._take(error.usage)
            self._keep_useless(error, request)
            raise
        self._take(reply.usage)
        try:
            await calls.keep(ticket, reply)
        except DebateError:  # it is paid for, and has no other place any more
            self._keep_text(reply.text, request, reply.model, reply.usage, None)
            raise
        return Heard(reply, request.model)

    async def _through_summary(self, route: str, last: ModelError) -> Draft:
        """The oldest turns become a summary: half of them, then all but the newest."""
        assert self.assignment.summarise is not None, "it was asked for before"
        turns = self.assignment.turns
        for oldest in dict.fromkeys(count for count in ((turns + 1) // 2, turns - 1) if 0 < count <= turns):
            request = self.assignment.summarise(route, oldest)
            heard = await self._patiently(request, None, "summary")
            self._emit(Summarised(**_told(self.assignment, route), turns=oldest))
            try:
                return await self._through(route, summary=Summary(oldest, heard.reply.text))
            except ContextTooLong as error:
                last = error
        raise last

    def _is_usable(self, text: str) -> bool:
        return self.assignment.useless(text) is None

    def _ask(self, request: Request, step: Step | None = None) -> Ask:
        return Ask(self.assignment.seat.slot, step or self.assignment.step, cleaned(request))

    async def _sleep(self, seconds: float) -> None:
        self.by.time.require(seconds, self.kept.seconds)
        await anyio.sleep(seconds)

    def _take(self, usage: Usage) -> None:
        self.taken.append(usage)
        self.by.paid.attempts.append(usage)

    def _keep_useless(self, error: ModelError, request: Request) -> None:
        if error.text:
            self._keep_text(error.text, request, error.model, error.usage or NOTHING, error.message)

    def _keep_text(self, text: str, request: Request, answered: str, usage: Usage, lacks: str | None) -> None:
        seat, step = self.assignment.seat, self.assignment.step
        self.by.paid.unused.append(Draft(seat, step, text, request.model, answered, usage, lacks))

    def _tell_retry(self, request: Request, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        assert isinstance(error, ModelError), "nothing else is retried"
        assert state.next_action is not None, "this is called before a wait"
        self._emit(
            Retried(
                **_told(self.assignment, request.model),
                attempt=state.attempt_number,
                wait_s=round(state.next_action.sleep, 3),
                code=error.code,
                message=error.message,
            )
        )

    def _emit(self, event: Event) -> None:
        self.by.emit(event)


def _counted(usage: Usage) -> dict[str, Any]:
    return {"input": usage.input, "cached": usage.cached, "output": usage.output, "cost_usd": usage.cost_usd}


def _told(assignment: Assignment, route: str) -> dict[str, Any]:
    seat = assignment.seat
    return {"slot": seat.slot, "role": seat.role, "agent": seat.agent, "step": assignment.step, "model": route}


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)
