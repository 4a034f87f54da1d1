"""One call: what it can take is set aside, its intent is written, its time is limited, its outcome is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import anyio
import pytest

from building import THREAD, TOPIC, hall_at
from orchestrator.budget import Bound, Budget
from orchestrator.calls import NO_TIME_LIMIT, Calls, Kept, Ticket, TimeLimit
from orchestrator.errors import CutOff, LeaseLost, LimitMet, ModelError, Overloaded, TimedOut
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Intent, Outcome
from orchestrator.hall.terms import Role
from orchestrator.journal import Ask, Journal
from orchestrator.models.base import Endpoint, Message, Model, Reply, Request, Task, Usage
from orchestrator.models.scripted import Scripted
from orchestrator.recipe import Limits

pytestmark = pytest.mark.anyio

PRICED = Endpoint(input_cost_per_token=Decimal("0.001"), output_cost_per_token=Decimal("0.001"))
TASK = Task("turn", Role.WIND, "wind-agent", None, round=1, rounds=1, last=False, topic=TOPIC)
USAGE = Usage(7, 0, 3, Decimal("0.01"))


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, TOPIC)
        yield hall


def ask(slot: str = "R1.Wind.1", timeout_s: float = 1) -> Ask:
    request = Request("test/wind", (Message("user", "What if?"),), TASK, 10, timeout_s, endpoint=PRICED)
    return Ask(slot, "turn", request)


BOUND = Budget().bound_of(ask().request)


def calls_of(
    model: Model | None = None,
    limit: int | None = None,
    journal: Journal | None = None,
    time: TimeLimit = NO_TIME_LIMIT,
) -> Calls:
    """Calls within a token limit, so many times the bound of one."""
    limits = Limits(tokens=None if limit is None else limit * BOUND.tokens)
    return Calls(lambda route: model or answering(), journal, Budget(limits), time)


def answering(usage: Usage = USAGE) -> Scripted:
    return Scripted(lambda request: Reply("the answer", "wind-0102", usage))


class Hanging:
    """A model that never answers; `timeouts` are the times it was given."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.timeouts: list[float] = []
        self._then = then

    async def complete(self, request: Request) -> Reply:
        self.timeouts.append(request.timeout_s)
        self._then()
        await anyio.sleep_forever()
        raise AssertionError("it sleeps for ever")


# --------------------------------------------------------------------------------------------------- what is set aside


async def test_what_parallel_calls_can_take_is_set_aside_for_all_of_them_or_for_none(hall: Hall) -> None:
    journal = await Journal.opened(hall, hall.runs.begin(THREAD))
    calls = calls_of(limit=2, journal=journal)
    with pytest.raises(LimitMet, match="The next 3 calls could take"):
        await calls.prepare([ask("R1.Wall.1"), ask("R1.Wall.2"), ask("R1.Wall.3")])
    assert calls.budget.left().tokens == 2 * BOUND.tokens
    assert hall.journal(THREAD) == ()
    tickets = await calls.prepare([ask("R1.Wall.1"), ask("R1.Wall.2")])
    assert calls.budget.left().tokens == 0
    written = [line.record for line in hall.journal(THREAD)]
    assert [record.slot for record in written if isinstance(record, Intent)] == ["R1.Wall.1", "R1.Wall.2"]
    assert [(ticket.number, ticket.bound) for ticket in tickets] == [(0, BOUND), (1, BOUND)]


async def test_nothing_is_set_aside_for_no_calls() -> None:
    assert await calls_of(limit=1).prepare([], Kept(Bound(10**9, None), 1e9)) == []


async def test_what_is_kept_for_door_must_be_left_besides() -> None:
    calls = calls_of(limit=2)
    with pytest.raises(LimitMet, match="kept for Door"):
        await calls.prepare([ask(), ask("R1.Wind.2")], Kept(BOUND))
    assert len(await calls.prepare([ask()], Kept(BOUND))) == 1


async def test_calls_that_cannot_be_written_down_are_not_made_and_take_nothing(hall: Hall) -> None:
    lease = hall.runs.begin(THREAD)
    journal = await Journal.opened(hall, lease)
    hall.runs.release(lease)
    calls = calls_of(limit=2, journal=journal)
    with pytest.raises(LeaseLost):
        await calls.prepare([ask(), ask("R1.Wind.2")])
    assert (calls.budget.left().tokens, calls.budget.spent.tokens) == (2 * BOUND.tokens, 0)


# ------------------------------------------------------------------------------------------------------ what it took


async def test_a_reply_takes_what_its_provider_counted_and_is_kept_with_it(hall: Hall) -> None:
    calls = calls_of(limit=1, journal=await Journal.opened(hall, hall.runs.begin(THREAD)))
    (ticket,) = await calls.prepare([ask()])
    reply = await calls.make(ticket)
    assert calls.budget.spent == Bound(10, Decimal("0.01"))
    assert calls.budget.left().tokens == BOUND.tokens - 10
    assert len(hall.journal(THREAD)) == 1  # what it took is known; that it is written down is a step of its own
    await calls.keep(ticket, reply)
    outcome = hall.journal(THREAD)[1]
    assert isinstance(outcome.record, Outcome)
    assert (outcome.text, outcome.record.answered, outcome.record.charged) == ("the answer", "wind-0102", True)


async def test_a_reply_that_nobody_counted_takes_its_bound() -> None:
    calls = calls_of(answering(Usage(0, 0, 0, None)))
    (ticket,) = await calls.prepare([ask()])
    await calls.make(ticket)
    assert calls.budget.spent == BOUND


@pytest.mark.parametrize(
    ("error", "spent"),
    [
        pytest.param(Overloaded("busy", model="x"), Bound(0, Decimal(0)), id="certainly not charged"),
        pytest.param(TimedOut("late", model="x"), BOUND, id="perhaps charged"),
        pytest.param(CutOff("cut", model="x", usage=USAGE, text="It"), Bound(10, Decimal("0.01")), id="counted"),
    ],
)
async def test_a_failed_call_takes_what_its_provider_may_have_charged_and_is_written_down(
    hall: Hall, error: ModelError, spent: Bound
) -> None:
    calls = calls_of(Scripted([error]), journal=await Journal.opened(hall, hall.runs.begin(THREAD)))
    (ticket,) = await calls.prepare([ask()])
    with pytest.raises(type(error)):
        await calls.make(ticket)
    assert calls.budget.spent == spent
    failed = hall.journal(THREAD)[1]
    assert isinstance(failed.record, Outcome)
    assert (failed.record.failed, failed.text) == (error.code, error.text or None)


async def test_a_call_that_is_cancelled_takes_its_bound_and_stays_uncertain(hall: Hall) -> None:
    journal = await Journal.opened(hall, hall.runs.begin(THREAD))
    scope = anyio.CancelScope()
    calls = calls_of(Hanging(scope.cancel), journal=journal)
    with anyio.fail_after(5), scope:
        await calls.make((await calls.prepare([ask()]))[0])
    assert scope.cancelled_caught
    assert calls.budget.spent == journal.spent_at_most == BOUND
    assert [(call.slot, call.bound) for call in journal.uncertain] == [("R1.Wind.1", BOUND)]


async def test_a_bug_in_a_model_takes_its_bound_and_comes_out() -> None:
    def bug(request: Request) -> Reply:
        raise ZeroDivisionError

    calls = calls_of(Scripted(bug))
    with pytest.raises(ZeroDivisionError):
        await calls.make((await calls.prepare([ask()]))[0])
    assert calls.budget.spent == BOUND


# --------------------------------------------------------------------------------------------------------- its time


def ending(in_s: float) -> TimeLimit:
    return TimeLimit(anyio.current_time() + in_s, 60.0)


async def test_a_call_is_cut_at_the_runs_deadline_and_takes_its_bound() -> None:
    model = Hanging()
    calls = calls_of(model, time=ending(0.1))
    with (
        anyio.fail_after(5),
        pytest.raises(LimitMet, match=r"^0 s of 60 s are left\. Raise --time-limit and resume\.$") as met,
    ):
        await calls.make((await calls.prepare([ask(timeout_s=180)]))[0])
    assert (met.value.limit, met.value.cure) == ("seconds", "Raise --time-limit and resume.")
    assert calls.budget.spent == BOUND
    assert len(model.timeouts) == 1
    assert model.timeouts[0] <= 0.1  # so that an HTTP request or a child process ends too


async def test_a_call_leaves_the_time_that_is_kept_for_door() -> None:
    model = Hanging()
    with anyio.fail_after(5):
        calls = calls_of(model, time=ending(30.1))
        with pytest.raises(LimitMet, match=r"s of 60 s are left besides 30 s kept for Door\."):
            await calls.make((await calls.prepare([ask(timeout_s=180)], Kept(seconds=30)))[0])
        assert calls.time.left() > 29
    assert model.timeouts[0] <= 0.1


async def test_a_call_that_takes_less_than_is_left_keeps_its_own_time() -> None:
    model = Scripted(lambda request: Reply("the answer", "one", USAGE))
    calls = calls_of(model, time=ending(60))
    await calls.make((await calls.prepare([ask(timeout_s=5)]))[0])
    assert model.requests[0].timeout_s == 5


async def test_no_call_is_begun_when_the_time_is_over() -> None:
    calls = calls_of(limit=1, time=ending(0.01))
    with pytest.raises(LimitMet, match="0 s of 60 s are left"):
        await calls.prepare([ask()])
    with pytest.raises(LimitMet, match="besides 30 s kept for Door"):
        await calls_of(time=ending(20)).prepare([ask()], Kept(seconds=30))
    assert calls.budget.left().tokens == BOUND.tokens


async def test_a_timeout_that_the_runs_deadline_made_is_the_limit_and_no_fault_of_the_model(hall: Hall) -> None:
    """The model was given less time than it has: it is not asked again, nor is another."""
    model, journal = Scripted([TimedOut("late", model="x")]), await Journal.opened(hall, hall.runs.begin(THREAD))
    calls = calls_of(model, journal=journal, time=ending(60))
    (ticket,) = await calls.prepare([ask(timeout_s=180)])
    with pytest.raises(LimitMet):
        await calls.make(ticket._replace(kept_s=60))
    outcome = hall.journal(THREAD)[1].record
    assert isinstance(outcome, Outcome)
    assert (outcome.failed, outcome.charged) == ("timed_out", True)


async def test_without_a_limit_there_is_always_time() -> None:
    assert NO_TIME_LIMIT.left() == math.inf
    NO_TIME_LIMIT.require(1e9, 1e9)


async def test_a_ticket_without_a_journal_has_no_number_and_is_kept_nowhere() -> None:
    calls = calls_of()
    (ticket,) = await calls.prepare([ask()])
    assert ticket == Ticket(ask(), BOUND, None, 0.0)
    await calls.keep(ticket, await calls.make(ticket))
    assert calls.past(ask()) == ()
