"""Turns of a run in a fleet: whoever is cancelled, slept or may not spend leaves no permit behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from decimal import Decimal

import anyio
import pytest

from building import NO_WAITS, THREAD, TOPIC, order, plan_of, priced, resume, speech
from orchestrator.budget import Bound
from orchestrator.drafting import Drafting
from orchestrator.errors import LimitMet, StoppedByLimit
from orchestrator.fleet.permits import NotYet, OverBudget, Permit, Permits, Wish
from orchestrator.fleet.turns import FleetTurns
from orchestrator.hall.address import Address
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role, Status
from orchestrator.models.base import Endpoint, Message, Reply, Request, Task
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.runner import run_debate
from orchestrator.worker import in_thread
from postgres import needs_postgres

pytestmark = [pytest.mark.anyio, needs_postgres]
TASK = Task("turn", Role.WIND, "wind-agent", None, round=1, rounds=1, last=False, topic=TOPIC)
CENT = Decimal("0.01")
BOUND, TOOK = Bound(100, CENT), Bound(10, Decimal("0.001"))
PRICED = Endpoint(input_cost_per_token=Decimal("0.000001"), output_cost_per_token=Decimal("0.000003"))


def request(most: int | None = 1, route: str = "test/wind") -> Request:
    return Request(route, (Message("user", "Speak."),), TASK, 10, 60, endpoint=Endpoint(max_parallel=most))


def under_way(permits: Permits) -> int:
    return sum(server.under_way for server in permits.servers())


@pytest.fixture
def turns(permits: Permits) -> FleetTurns:
    return FleetTurns(permits, THREAD)


# ----------------------------------------------------------------------------------------------------------- one call


async def test_a_call_has_a_permit_while_it_is_made_and_what_it_took_is_counted(
    permits: Permits, turns: FleetTurns
) -> None:
    with anyio.fail_after(10):
        async with turns.turn(request(), BOUND) as turn:
            assert (under_way(permits), permits.today().cost_usd) == (1, CENT)
            turn.took = TOOK
    assert (under_way(permits), permits.today().cost_usd) == (0, TOOK.cost_usd)


async def test_a_call_that_was_never_made_took_nothing(permits: Permits, turns: FleetTurns) -> None:
    with anyio.fail_after(10):
        with suppress(LookupError):
            async with turns.turn(request(), BOUND):
                raise LookupError
    assert (under_way(permits), permits.today().cost_usd) == (0, 0)


async def test_a_rehearsal_asks_nobody_and_needs_no_permit(permits: Permits, turns: FleetTurns) -> None:
    with anyio.fail_after(10):
        async with turns.turn(request(route=REHEARSAL), BOUND):
            assert permits.servers() == []


async def test_what_was_heard_is_kept_where_its_permit_cannot_be_given_back(address: Address, permits: Permits) -> None:
    heard = []
    with anyio.fail_after(10), closing(Permits(address)) as lost:
        async with FleetTurns(lost, THREAD).turn(request(), BOUND) as turn:
            turn.took = TOOK
            heard.append("an answer")
            lost.close()
    assert heard == ["an answer"]
    assert (under_way(permits), permits.today().cost_usd) == (1, CENT)  # the most it can have taken


# ------------------------------------------------------------------------------------------------------------ who waits


async def test_who_waits_is_let_in_as_soon_as_another_of_the_fleet_has_ended(
    permits: Permits, turns: FleetTurns
) -> None:
    elsewhere = permits.take(Wish("test/wind", "2026-01-06-other", 1, None, 60, CENT))
    assert isinstance(elsewhere, Permit)
    waiting, entered = anyio.Event(), anyio.Event()

    async def wait() -> None:
        waiting.set()
        async with turns.turn(request(), BOUND):
            entered.set()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await waiting.wait()
            await anyio.wait_all_tasks_blocked()
            assert not entered.is_set()
            await in_thread(permits.give_back, elsewhere, CENT)
            await entered.wait()
    assert under_way(permits) == 0


async def test_those_of_one_process_are_let_in_in_order(turns: FleetTurns) -> None:
    entered = []

    async def wait(number: int) -> None:
        async with turns.turn(request(), BOUND):
            entered.append(number)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(wait, number)
                await anyio.lowlevel.checkpoint()
    assert entered == [0, 1, 2, 3, 4]


async def test_who_is_cancelled_while_it_waits_leaves_nothing_behind(permits: Permits, turns: FleetTurns) -> None:
    with anyio.fail_after(10):
        async with turns.turn(request(), BOUND):
            with anyio.move_on_after(0.1) as scope:
                async with turns.turn(request(), BOUND):
                    raise AssertionError("there was none to be had")
            assert scope.cancelled_caught
            assert (under_way(permits), permits.today().cost_usd) == (1, CENT)
        async with turns.turn(request(), BOUND):
            assert under_way(permits) == 1


class Held(Permits):
    """The permits of a server whose answer is on its way until `let` is set."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self.given, self.let = threading.Event(), threading.Event()

    def take(self, wish: Wish) -> Permit | NotYet | OverBudget:
        found = super().take(wish)
        self.given.set()
        assert self.let.wait(10)
        return found


async def test_who_is_cancelled_while_its_permit_is_on_its_way_gives_it_back(address: Address) -> None:
    async def take(permits: Permits, scope: anyio.CancelScope) -> None:
        with scope:
            async with FleetTurns(permits, THREAD).turn(request(), BOUND):
                raise AssertionError("it was cancelled before")

    with anyio.fail_after(10), closing(Held(address)) as held:
        async with anyio.create_task_group() as group:
            scope = anyio.CancelScope()
            group.start_soon(take, held, scope)
            assert await in_thread(held.given.wait, 10)
            assert under_way(held) == 1
            scope.cancel()
            await anyio.lowlevel.checkpoint()
            held.let.set()
        assert scope.cancelled_caught
        assert (under_way(held), held.today().cost_usd) == (0, 0)


async def test_a_permit_that_was_taken_by_a_process_that_slept_is_changed_for_a_fresh_one(permits: Permits) -> None:
    moments: Iterator[float] = iter([0, 60, 60, 60.01])
    with anyio.fail_after(10):
        async with FleetTurns(permits, THREAD, clock=lambda: next(moments)).turn(request(), BOUND):
            assert permits.servers() == [("test/wind", 1, 2)]
            assert permits.today().cost_usd == CENT


# ------------------------------------------------------------------------------------------------- what may be spent


async def test_who_may_not_spend_so_much_is_told_what_is_left_and_until_when(
    permits: Permits, turns: FleetTurns
) -> None:
    permits.set_budget(Decimal("0.002"))
    with anyio.fail_after(10), pytest.raises(LimitMet) as raised:
        async with turns.turn(request(), BOUND):
            raise AssertionError("it was made")
    assert str(raised.value) == (
        "The next call could take $0.01, and $0.002 of the $0.002 that the fleet may spend today is left. It goes on "
        "tomorrow (UTC), or sooner with more: debate-hall fleet budget USD"
    )
    assert (raised.value.limit, raised.value.passes) == ("fleet_budget", True)
    with anyio.fail_after(10), pytest.raises(LimitMet, match="could take a sum that nobody knows"):
        async with turns.turn(request(), Bound(100, None)):
            raise AssertionError("it was made")
    assert under_way(permits) == 0


class Spends:
    """A model each of whose answers takes a cent; after some of them the fleet may spend no more."""

    def __init__(self, spent: Callable[[], None], after: int) -> None:
        self._spent, self._after, self.asked = spent, after, 0

    async def complete(self, request: Request) -> Reply:
        self.asked += 1
        if self.asked == self._after:
            await in_thread(self._spent)
        return priced(speech(request, self.asked))


async def test_a_run_whose_fleet_may_spend_no_more_pauses_and_is_not_closed_early(
    hall: Hall, permits: Permits, turns: FleetTurns
) -> None:
    def nothing_left() -> None:
        permits.set_budget(Decimal(0))

    plan = plan_of("standard", endpoint=PRICED, on_limit="close")
    model = Spends(nothing_left, after=3)
    drafting = Drafting(lambda route: model, lambda event: None, NO_WAITS, turns=turns)
    with anyio.fail_after(30):
        with pytest.raises(StoppedByLimit) as stopped:
            await run_debate(hall, plan, THREAD, TOPIC, drafting)
        assert stopped.value.limit == "fleet_budget"
        debate = hall.debate(THREAD)
        assert debate.state.status is Status.ACTIVE
        assert debate.turns
        assert under_way(permits) == 0
        permits.set_budget(None)
        ended = await resume(hall, model)
    assert order(ended.debate) == "WLD · WLD · WLD · WLD"
    assert ended.debate.state.status is Status.SYNTHESIS
    hall.verify_debate(THREAD)
