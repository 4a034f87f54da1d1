"""One seat on its way to one draft: its routes in order, every attempt, a second try.

What happens after a failed call says one table (`faults`): the same call again after a growing, jittered wait, the next
route, or a route that reads more. A provider that refuses a JSON schema, or a stream that only onlookers want, is asked
once more without. An answer that is no turn, and a draft that lacks something checkable, is sent back once with the
reason. Where every window is too small, the oldest turns are summarised for this seat alone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from orchestrator.answers import Answer, asked_again, mendable, of_no_use
from orchestrator.calls import Calls, Kept, Ticket
from orchestrator.drafts import Assignment, Draft, Emit, Failure, Paid, Patience
from orchestrator.errors import (
    BadRequest,
    ContextTooLong,
    DebateError,
    DegenerateReply,
    GarbledReply,
    LimitMet,
    ModelError,
)
from orchestrator.events import (
    DraftDelta,
    DraftFailed,
    DraftFinished,
    DraftStarted,
    Event,
    FellBack,
    LeftOut,
    Retried,
    SentBack,
    Summarised,
)
from orchestrator.faults import fault_of
from orchestrator.journal import Ask, Heard
from orchestrator.models.base import Request, Step, Usage
from orchestrator.models.caching import is_lost_to_a_schema
from orchestrator.models.prices import context_of
from orchestrator.onlookers import Onlookers
from orchestrator.prompt import Summary
from orchestrator.recalling import Recalling
from orchestrator.usage import NOTHING, total

# How providers name the schema that they refuse, and how a router names one behind it that refused something.
_REFUSES_SHAPE = re.compile(
    r"schema|response.?(?:format|mime)|output.?(?:format|config)|structured|strict|json|grammar|tool|provider returned",
    re.IGNORECASE,
)


class Means(NamedTuple):
    """What the seats of a batch share."""

    calls: Calls
    emit: Emit
    patience: Patience
    paid: Paid
    dead: dict[str, ModelError]  # routes that no seat asks any more, with the reason
    noted: set[str]  # routes of which it was said what they do not take
    onlookers: Onlookers


@dataclass(slots=True)
class SeatAtWork:
    """One seat on its way to one draft."""

    by: Means
    assignment: Assignment
    kept: Kept
    taken: list[Usage] = field(default_factory=list)  # by all calls for the draft
    paid_now: list[Usage] = field(default_factory=list)  # of them, by those of this process
    tried: list[str] = field(default_factory=list)
    too_long: list[str] = field(default_factory=list)  # routes whose window was too small
    streams_badly: bool = False  # as the newest call showed
    reused: int = 0  # replies that the debate paid for which this one replays
    recalling: Recalling = field(init=False)

    def __post_init__(self) -> None:
        self.recalling = Recalling(self.by.calls, self.assignment, self.taken, self.tried)

    def first_ask(self) -> Ask | None:
        """The first call that this seat needs; None when its answer is known, or no route can be asked."""
        route = next((route for route in self.assignment.seat.routes if route not in self.by.dead), None)
        if route is None:
            return None
        request = self.assignment.ask(route, None)
        return None if self.recalling.is_known(request) else self._ask(request)

    async def draft(self, ticket: Ticket | None) -> Draft | Failure:
        began = time.monotonic()
        try:
            draft = await self._through_any_route(ticket)
        except (ModelError, LimitMet) as error:
            told = _told(self.assignment, self.assignment.seat.routes[-1])
            why: dict[str, Any] = {"code": error.code, "message": error.message}
            self._emit(DraftFailed(**told, seconds=_since(began), **why, **self._paid_now()))
            return Failure(self.assignment.seat, self.assignment.step, error, total(self.taken), tuple(self.tried))
        self.by.paid.drafted(draft)
        told = _told(self.assignment, draft.route)
        self._emit(
            DraftFinished(
                **told,
                answered=draft.answered,
                seconds=_since(began),
                **self._paid_now(),
                known=draft.known,
                reused=draft.reused,
            )
        )
        return draft

    async def _through_any_route(self, ticket: Ticket | None) -> Draft:
        routes = self.assignment.seat.routes
        last: ModelError | None = None
        for place, route in enumerate(routes):
            dead = self.by.dead.get(route)
            if dead is not None and not (ticket and ticket.ask.request.model == route):  # else it is set aside already
                last = dead
                self.tried.append(f"{route}: {dead.code}, not asked again")
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
        if not self.too_long:
            return True
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
            tried=tuple(self.tried),
            summarised=summary.turns if summary else None,
            known=heard.known is not None and heard.known.thread is None,
            reused=self.reused,
        )

    async def _mended(self, request: Request, first: Answer) -> Answer:
        """Asks once more. Where that brings no turn, a first answer that was one stands."""
        again = asked_again(request, first)
        if not first.is_turn and is_lost_to_a_schema(request):
            again = replace(again, shape=self.assignment.shape)
        try:
            second = await self._answer(again, None)
        except (ModelError, LimitMet) as error:
            second = Answer(None, "", None, error)
        if second.is_turn or not first.is_turn:
            return second
        return first

    async def _answer(self, request: Request, ticket: Ticket | None) -> Answer:
        """Asks, as often as it takes, and judges what came.

        Raises:
            ModelError: no answer came, or none that could be mended by asking again.
        """
        before = self.recalling.mended_before(request)
        if before is not None:
            self.recalling.recall(request, None)
            return before
        try:
            heard = await self._patiently(request, ticket)
        except ModelError as error:
            answer = mendable(error)
            if answer is None:
                raise
            return answer
        text = heard.reply.text
        useless = self.assignment.useless(text)
        if useless is None:
            return Answer(heard, text, self.assignment.lacking(text))
        answer = of_no_use(request.model, useless, text, heard.reply.usage)
        self.tried.append(f"{request.model}: {DegenerateReply.code}")
        self._keep_text(text, request, heard.reply.model, heard.reply.usage)
        return answer

    async def _patiently(self, request: Request, ticket: Ticket | None, step: Step | None = None) -> Heard:
        """Asks until an answer comes, the kind of failure says that it will not, or the run's time is over."""
        known = self.recalling.recall(request, step)
        if known is not None:
            await self._reuse(self.recalling.ask(request, step), known)
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
        try:
            return await retrying(self._attempt, request, tickets, step)
        except (BadRequest, GarbledReply) as error:
            if not self.streams_badly and not _refuses_shape(request, error):
                raise
            self._tell_again(request, error, retrying.statistics["attempt_number"], 0)
        return await self._patiently(replace(request, shape=None), None, step)

    async def _reuse(self, ask: Ask, heard: Heard) -> None:
        """Writes down what another debate has paid for."""
        if heard.known is not None and heard.known.thread is not None:
            await self.by.calls.reuse(ask, heard.known)
            self.reused += 1

    async def _attempt(self, request: Request, tickets: Iterator[Ticket], step: Step | None) -> Heard:
        """One call; what it took counts, whether its answer is of use or not."""
        calls = self.by.calls
        ticket = next(tickets, None) or (await calls.prepare([self._ask(request, step)], self.kept))[0]
        self.streams_badly = False
        try:
            reply = await calls.make(ticket)
        except ModelError as error:
            self.streams_badly = self.by.onlookers.went_wrong(ticket.ask.request, error)
            self.tried.append(f"{request.model}: {error.code}")
            if error.usage is not None:
                self._take(error.usage)
            self._keep_useless(error, request)
            raise
        self._take(reply.usage)
        self.by.onlookers.went_well(ticket.ask.request, reply.usage)
        if reply.left_out and request.model not in self.by.noted:
            self.by.noted.add(request.model)
            self._emit(LeftOut(**_told(self.assignment, request.model), parameters=reply.left_out))
        try:
            await calls.keep(ticket, reply)
        except DebateError:  # it is paid for, and has no other place any more
            self._keep_text(reply.text, request, reply.model, reply.usage)
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

    def _ask(self, request: Request, step: Step | None = None) -> Ask:
        ask = self.recalling.ask(request, step)
        if step is not None or not self.by.onlookers.hear(request):
            return ask
        return ask._replace(request=replace(ask.request, hear=partial(self._hear, request.model)))

    def _hear(self, route: str, text: str) -> None:
        self._emit(DraftDelta(**_told(self.assignment, route), text=text))

    async def _sleep(self, seconds: float) -> None:
        self.by.calls.time.require(seconds, self.kept.seconds)
        await anyio.sleep(seconds)

    def _take(self, usage: Usage) -> None:
        self.taken.append(usage)
        self.paid_now.append(usage)
        self.by.paid.attempts.append(usage)

    def _paid_now(self) -> dict[str, Any]:
        paid = total(self.paid_now)
        tokens = {"input": paid.input, "cached": paid.cached, "output": paid.output, "thinking": paid.thinking}
        return {**tokens, "cost_usd": paid.cost_usd}

    def _keep_useless(self, error: ModelError, request: Request) -> None:
        if error.text:
            self._keep_text(error.text, request, error.model, error.usage or NOTHING)

    def _keep_text(self, text: str, request: Request, answered: str, usage: Usage) -> None:
        seat, step = self.assignment.seat, self.assignment.step
        self.by.paid.unused.append(Draft(seat, step, text, request.model, answered, usage))

    def _tell_retry(self, request: Request, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        assert isinstance(error, ModelError), "nothing else is retried"
        assert state.next_action is not None, "this is called before a wait"
        self._tell_again(request, error, state.attempt_number, round(state.next_action.sleep, 3))

    def _tell_again(self, request: Request, error: ModelError, attempt: int, wait_s: float) -> None:
        why: dict[str, Any] = {"code": error.code, "message": error.message}
        self._emit(Retried(**_told(self.assignment, request.model), attempt=attempt, wait_s=wait_s, **why))

    def _emit(self, event: Event) -> None:
        self.by.emit(event)


def _refuses_shape(request: Request, error: ModelError) -> bool:
    """Whether a provider may only claim to take a schema; the messages ask for it too."""
    refused = request.shape is not None and isinstance(error, BadRequest)
    return refused and bool(_REFUSES_SHAPE.search(error.message))


def _told(assignment: Assignment, route: str) -> dict[str, Any]:
    seat = assignment.seat
    return {"slot": seat.slot, "role": seat.role, "agent": seat.agent, "step": assignment.step, "model": route}


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)
