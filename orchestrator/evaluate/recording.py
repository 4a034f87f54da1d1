"""The calls of one cell: served from the cassette, or made, within the limit, and kept before they count.

Whoever works on a cell asks its models as any other. So retries, fallbacks and answers that are sent back are those of
a debate, in every arm; and what was recorded is gone through again in the same way, at no cost.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import anyio

from orchestrator.budget import Bound, Budget
from orchestrator.errors import LimitMet, ModelError, NotRecorded
from orchestrator.evaluate.cassette import Cassette, digest_of
from orchestrator.evaluate.cassette_lines import Call, Cell, Failed, Place, Replied
from orchestrator.evaluate.results import Spent
from orchestrator.models.base import Model, Reply, Request, Usage
from orchestrator.models.guarded import Guarded
from orchestrator.usage import total
from orchestrator.worker import in_thread


class Purse:
    """What all calls of an evaluation may still take. One event loop uses it.

    Args:
        budget: with the limit, and what was spent before.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._under_way = 0
        self._settled = anyio.Event()

    async def reserve(self, request: Request) -> Bound:
        """Sets aside the most that a call can take. Where that does not fit beside calls under way, which mostly take
        less than their bound, it waits for them.

        Raises:
            LimitMet: it does not fit, and no call is under way.
        """
        while True:
            bound = self._budget.bound_of(request)
            try:
                self._budget.reserve([bound])
            except LimitMet as met:
                if not self._under_way:
                    cure = "Raise --limit-usd and run it again into the same folder: nothing is bought twice."
                    raise LimitMet(met.message, cure, limit=met.limit) from met
                await self._settled.wait()
                continue
            self._under_way += 1
            return bound

    def settle(self, request: Request, bound: Bound, usage: Usage | None, *, charged: bool) -> None:
        """Puts what a call took in the place of what was set aside."""
        self._under_way -= 1
        self._budget.settle(request, bound, usage, charged=charged)
        self._settled.set()
        self._settled = anyio.Event()


@dataclass(frozen=True, slots=True)
class Live:
    """What calls are made with.

    Args:
        ready: loads what calls to routes take; the time that it takes is none of a call.
    """

    model_of: Callable[[str], Model]
    purse: Purse
    ready: Callable[[Sequence[str]], None] | None = None


@dataclass(slots=True)
class Recording:
    """One cell at work.

    Args:
        live: None: nothing is asked that is not recorded.

    Attributes:
        changed: calls that were made, or would have been, though another one was recorded in their place.
        met: the limit that stopped a call of it.
    """

    cell: Cell
    cassette: Cassette
    live: Live | None
    changed: list[Place] = field(default_factory=list)
    met: LimitMet | None = None
    _turns: Counter[tuple[Place, str]] = field(default_factory=Counter)

    def model_of(self, route: str) -> Model:
        """The model of a route, as the cell asks it."""
        return _Recorded(self, route)

    @property
    def spent(self) -> Spent:
        """What all calls took that the cell has asked for, those that brought nothing too."""
        return _spent(
            call
            for place, request in self._turns
            for call in self.cassette.at(place)
            if call.asked.request == request and call.outcome is not None
        )

    async def answer(self, route: str, request: Request) -> Reply:
        """Serves what was recorded, or asks.

        Raises:
            ModelError: it failed, or had failed.
            LimitMet: it does not fit the limit.
            NotRecorded: it is not recorded, and nothing is to be asked.
        """
        place, digest = Place(self.cell, step_of(request)), digest_of(request)
        turn = self._turns[place, digest]
        self._turns[place, digest] += 1
        before = [call for call in self.cassette.at(place) if call.asked.request == digest]
        paid = [call.outcome for call in before if _is_paid_for(call)]
        if turn < len(paid):
            return _served(paid[turn])
        if not before and self._was_otherwise(place) and place not in self.changed:
            self.changed.append(place)
        if self.live is not None:
            return await self._made(self.live, route, request, place)
        failed = [call.outcome for call in before if isinstance(call.outcome, Failed)]
        if failed:
            raise failed[-1].error
        raise NotRecorded(*_why_not_recorded(place, changed=place in self.changed))

    def _was_otherwise(self, place: Place) -> bool:
        """Whether another request was recorded in a place, which this time was not made there."""
        return any((place, call.asked.request) not in self._turns for call in self.cassette.at(place))

    async def _made(self, live: Live, route: str, request: Request, place: Place) -> Reply:
        if live.ready is not None:
            await in_thread(live.ready, [route])
        try:
            bound = await live.purse.reserve(request)
        except LimitMet as met:
            self.met = met
            raise
        usage: Usage | None = None
        charged = False
        try:
            began = time.time()
            number = await self._intended(place, request, bound, began)
            charged = True  # unless it is known that it was not
            try:
                reply = await Guarded(live.model_of(route)).complete(request)
            except ModelError as error:
                usage, charged = error.usage, error.maybe_billed
                await _shielded(self.cassette.failed, number, error, _since(began))
                raise
            usage = reply.usage
            await _shielded(self.cassette.replied, number, reply, _since(began))
            return reply
        finally:
            live.purse.settle(request, bound, usage, charged=charged)

    async def _intended(self, place: Place, request: Request, bound: Bound, began: float) -> int:
        numbers: list[int] = []
        await _shielded(lambda: numbers.append(self.cassette.asked(place, request, bound, began)))
        return numbers[0]


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A `Model` whose answers are a recording's."""

    recording: Recording
    route: str

    async def complete(self, request: Request) -> Reply:
        return await self.recording.answer(self.route, request)


def step_of(request: Request) -> str:
    """The step of a cell that a request is for, as people name it: `round 1 Wall critical-engineer (cost): apply`."""
    task = request.task
    lens = f" ({task.lens})" if task.lens else ""
    return f"round {task.round} {task.role} {task.agent}{lens}: {task.step}"


async def _shielded(write: Callable[..., None], *args: object) -> None:
    """What was asked or answered is written down though the work is being cancelled."""
    with anyio.CancelScope(shield=True):
        await in_thread(write, *args)


def _is_paid_for(call: Call) -> bool:
    return isinstance(call.outcome, Replied) or (isinstance(call.outcome, Failed) and call.outcome.usage is not None)


def _served(outcome: Replied | Failed | None) -> Reply:
    if isinstance(outcome, Failed):
        raise outcome.error
    assert outcome is not None, "what was paid for has an outcome"
    return outcome.reply


def _why_not_recorded(place: Place, *, changed: bool) -> tuple[str, str]:
    what = "another request was recorded there" if changed else "nothing was recorded there"
    return f"{place}: {what}.", "Leave out --replay, so that it is asked."


def _since(began: float) -> float:
    return round(max(time.time() - began, 0.0), 3)


def _spent(calls: Iterable[Call]) -> Spent:
    made = list(calls)
    taken = total(_usage_of(call) for call in made)
    return Spent(
        cost_usd=taken.cost_usd,
        input=taken.input,
        cached=taken.cached,
        output=taken.output,
        calls=len(made),
        seconds=round(sum(end - start for start, end in _together(made)), 3),
    )


def _usage_of(call: Call) -> Usage:
    """What is counted of a call; one that may have been charged and has no count is taken at its bound."""
    assert call.outcome is not None, "only what has ended is counted"
    if call.outcome.usage is not None:
        return call.outcome.usage.usage
    return Usage(0, 0, 0, call.taken.cost_usd)


def _together(calls: Iterable[Call]) -> Iterator[tuple[float, float]]:
    """The times in which at least one call was under way."""
    spans = sorted((call.asked.began, call.asked.began + call.outcome.seconds) for call in calls if call.outcome)
    current: tuple[float, float] | None = None
    for began, ended in spans:
        if current is None or began > current[1]:
            if current is not None:
                yield current
            current = (began, ended)
        else:
            current = (current[0], max(current[1], ended))
    if current is not None:
        yield current
