"""What a run asks stands in the journal before it is asked, and what came of it after: so nothing is bought twice."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import count
from pathlib import Path

import anyio
import pytest

from building import THREAD, TOPIC, hall_at, hold, plan_of, priced, resume, speech, turns_of, voices
from orchestrator.budget import NO_BOUND, Bound, Budget
from orchestrator.errors import AuthenticationFailed, CutOff, LeaseLost, Overloaded, RunPaused, TimedOut
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Begun, Intent, JournalLine, Outcome
from orchestrator.hall.store import Lease
from orchestrator.hall.terms import Role
from orchestrator.journal import Ask, Journal, Uncertain
from orchestrator.models.base import Endpoint, Message, Reply, Request, Task, Usage
from orchestrator.models.scripted import Line, Scripted

pytestmark = pytest.mark.anyio

PRICED = Endpoint(input_cost_per_token=Decimal("1E-6"), output_cost_per_token=Decimal("3E-6"))
BOUND = Bound(120, Decimal("0.5"))
USAGE = Usage(100, 40, 10, Decimal("0.01"))


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


@pytest.fixture
async def journal(hall: Hall) -> Journal:
    """The journal of a thread that this process runs; what it holds can be read with `lines`."""
    hall.init_debate(THREAD, TOPIC)
    return await Journal.opened(hall, hall.runs.begin(THREAD))


def ask(*texts: str, slot: str = "R1.Wind.1", step: str = "turn", route: str = "test/wind") -> Ask:
    task = Task("turn", Role.WIND, "wind-agent", None, round=1, rounds=1, last=False, topic=TOPIC)
    messages = tuple(Message("user", text) for text in texts or ("What if?",))
    return Ask(slot, step, Request(route, messages, task, max_output_tokens=10, timeout_s=1))


def lines(hall: Hall) -> tuple[JournalLine, ...]:
    return hall.journal(THREAD)  # verified


def intents(hall: Hall) -> list[Intent]:
    return [line.record for line in lines(hall) if isinstance(line.record, Intent)]


def outcomes(hall: Hall) -> list[Outcome]:
    return [line.record for line in lines(hall) if isinstance(line.record, Outcome)]


async def reread(hall: Hall, lease: Lease | None = None) -> Journal:
    """The journal as a later process finds it."""
    return await Journal.opened(hall, lease or Lease(THREAD, 1))


# ---------------------------------------------------------------------------------------------------- before and after


async def test_whoever_is_asked_finds_the_intent_of_his_call_in_the_journal_and_no_outcome(hall: Hall) -> None:
    seen: list[tuple[Intent, int]] = []

    def look(request: Request) -> None:
        own = [intent for intent in intents(hall) if intent.route == request.model]
        ended = {outcome.intent for outcome in outcomes(hall)}
        open_intents = [line.number for line in lines(hall) if line.record in own and line.number not in ended]
        seen.append((own[-1], len(open_intents)))

    plan = plan_of("speed", endpoint=PRICED)
    with anyio.fail_after(10):
        await hold(hall, plan, voices(look))
    assert [(intent.slot, intent.step, intent.attempt, left) for intent, left in seen] == [
        ("R1.Wind.1", "turn", 1, 1),
        ("R1.Wall.1", "checklist", 1, 1),
        ("R1.Wall.1", "apply", 1, 1),
        ("R1.Door.1", "turn", 1, 1),
        ("R1.Door.account", "account", 1, 1),
    ]


async def test_the_journal_of_a_run_holds_each_call_and_its_reply_once_in_pairs(hall: Hall) -> None:
    numbers = count(1)
    model = Scripted(lambda request: priced(speech(request, next(numbers)), model=f"{request.model}-0102"))
    with anyio.fail_after(10):
        run = await hold(hall, plan_of("fortress", endpoint=PRICED), model)
    first, *records = [line.record for line in lines(hall)]
    assert first == Begun(epoch=1, at=first.at)
    asked, ended = intents(hall), outcomes(hall)
    assert len(records) == len(asked) + len(ended) == 2 * plan_of("fortress").calls
    assert sorted(outcome.intent for outcome in ended) == [
        line.number for line in lines(hall) if isinstance(line.record, Intent)
    ]
    assert all(outcome.intent < line.number for line in lines(hall) if isinstance(outcome := line.record, Outcome))
    by_number = {line.number: line.record for line in lines(hall)}
    for line in lines(hall):
        if isinstance(outcome := line.record, Outcome):
            intent = by_number[outcome.intent]
            assert isinstance(intent, Intent)
            assert outcome.answered == f"{intent.route}-0102"
            assert (outcome.input, outcome.cached, outcome.output, outcome.cost) == (100, 40, 10, "0.01")
            assert outcome.failed is None
    texts = {line.text for line in lines(hall) if isinstance(line.record, Outcome)}
    assert {line.text for line in run.debate.turns} < texts


async def test_an_intent_says_the_most_that_its_call_can_take(hall: Hall) -> None:
    model = voices()
    with anyio.fail_after(10):
        await hold(hall, plan_of("speed", endpoint=PRICED), model)
    first = Budget().bound_of(model.requests[0])
    assert (intents(hall)[0].tokens, intents(hall)[0].cost) == (first.tokens, format(first.cost_usd or 0, "f"))
    assert first.tokens > 4000
    assert first.cost_usd == 3 * 4000 * Decimal("1E-6") + (first.tokens - 4000) * Decimal("1E-6")


async def test_a_call_without_a_known_price_has_a_bound_in_tokens_alone(hall: Hall) -> None:
    with anyio.fail_after(10):
        await hold(hall, plan_of("speed"), voices())
    assert {intent.cost for intent in intents(hall)} == {None}
    assert min(intent.tokens for intent in intents(hall)) > 4000


async def test_what_is_asked_is_known_by_a_digest_and_its_words_stand_nowhere(hall: Hall, tmp_path: Path) -> None:
    topic = "Should the xylophone-department move?"
    with anyio.fail_after(10):
        await hold(hall, plan_of("speed"), Scripted(lambda request: priced(speech(request, 1))), topic=topic)
    stored = [(line.text or "") for line in lines(hall)]
    assert not [text for text in stored if "xylophone" in text]
    assert {intent.request[:7] for intent in intents(hall)} == {"sha256:"}


# ------------------------------------------------------------------------------------------------------------- its keys


def keys(hall: Hall) -> list[tuple[str, str, int]]:
    return [(intent.slot, intent.step, intent.attempt) for intent in intents(hall)]


@pytest.mark.parametrize("doors", ["sequential", "independent"])
async def test_equal_seats_never_share_a_key(hall: Hall, doors: str) -> None:
    """COUNCIL seats three synthesizers, who are asked side by side through one route."""
    with anyio.fail_after(10):
        await hold(hall, plan_of("council", doors=doors), voices())
    assert len(set(keys(hall))) == len(keys(hall)) == plan_of("council").calls
    doors_of_round_1 = [key for key in keys(hall) if key[0].startswith("R1.Door")]
    assert doors_of_round_1 == [(f"R1.Door.{place}", "turn", 1) for place in (1, 2, 3)]


async def test_seats_that_are_asked_the_very_same_have_each_an_answer_of_their_own(hall: Hall) -> None:
    """The lens is all that differs between two Walls; between two Winds of one agent nothing does."""
    numbers = count(1)

    def line(request: Request) -> Line:
        fails = next(numbers) == 11
        return AuthenticationFailed("no", model="x") if fails else priced(speech(request, next(numbers)))

    plan = plan_of("laboratory")
    seat = plan.rounds[0].winds[0]
    winds = tuple(seat.model_copy(update={"slot": one.slot}) for one in plan.rounds[0].winds)
    plan = plan.model_copy(update={"rounds": (plan.rounds[0].model_copy(update={"winds": winds}), *plan.rounds[1:])})
    with anyio.fail_after(10):
        with pytest.raises(RunPaused):
            await hold(hall, plan, Scripted(line))
        run = await resume(hall, Scripted(lambda request: priced(speech(request, next(numbers)))))
    texts = [line.text for line in run.debate.turns[:3]]
    assert len(set(texts)) == 3
    assert len(set(keys(hall))) == len(keys(hall))


async def test_every_retry_has_a_key_of_its_own_over_all_processes(hall: Hall) -> None:
    busy = count()
    model = Scripted(
        lambda request: (
            Overloaded("busy", model="x")
            if request.task.role is Role.DOOR and next(busy) < 6
            else priced(speech(request, 1))
        )
    )
    with anyio.fail_after(10):
        with pytest.raises(RunPaused, match="busy"):
            await hold(hall, plan_of(), model)
        await resume(hall, model)
    assert [key for key in keys(hall) if key[0] == "R1.Door.1"] == [("R1.Door.1", "turn", n) for n in range(1, 8)]
    assert [outcome.failed for outcome in outcomes(hall)] == [None] * 3 + ["overloaded"] * 6 + [None] * 2  # the account
    assert {outcome.charged for outcome in outcomes(hall) if outcome.failed} == {False}


# ------------------------------------------------------------------------------------------ what is cancelled meanwhile


class Answering:
    """Wind answers in the moment in which the process is cancelled; Wall does not."""

    def __init__(self) -> None:
        self.scope, self.wall_is_asked = anyio.CancelScope(), anyio.Event()

    async def complete(self, request: Request) -> Reply:
        if request.task.role is Role.WIND:
            await self.wall_is_asked.wait()
            self.scope.cancel()
            return priced(speech(request, 1))
        self.wall_is_asked.set()
        await anyio.sleep_forever()
        raise AssertionError("it sleeps for ever")


async def test_a_reply_is_written_down_even_while_its_call_is_being_cancelled(hall: Hall) -> None:
    model = Answering()
    with anyio.fail_after(10), model.scope:
        await hold(hall, plan_of(), model)
    assert model.scope.cancelled_caught
    assert [(outcome.intent, outcome.input) for outcome in outcomes(hall)] == [(1, 100)]
    assert [str(line.text) for line in lines(hall) if isinstance(line.record, Outcome)] == [
        next(line.text for line in lines(hall) if line.text and line.text.startswith("What if draft 1 of wind-agent"))
    ]


async def test_a_call_that_was_cancelled_has_no_outcome_and_is_uncertain(hall: Hall) -> None:
    model = Answering()
    with anyio.fail_after(10), model.scope:
        await hold(hall, plan_of(endpoint=PRICED), model)
    found = await reread(hall)
    intent = intents(hall)[1]
    bound = Bound(intent.tokens, Decimal(intent.cost or 0))
    assert found.uncertain == found.newly_uncertain
    assert found.uncertain == (Uncertain("R1.Wall.1", "checklist", 1, "test/wall", intent.at, bound),)
    assert str(found.uncertain[0]) == f"R1.Wall.1 checklist, attempt 1 through test/wall at {intent.at}"
    assert found.spent == Usage(100, 40, 10, Decimal("0.01"))
    assert found.spent_at_most == Bound(110 + bound.tokens, Decimal("0.01") + (bound.cost_usd or 0))


# ------------------------------------------------------------------------------------------------------- one by one


async def test_what_was_asked_and_heard_is_found_again_by_seat_step_and_words_whatever_the_route(
    hall: Hall, journal: Journal
) -> None:
    (number,) = await journal.intend([ask("a", "b", route="test/one")], [BOUND])
    await journal.heard(number, Reply("the answer", "one-0102", USAGE))
    found = await reread(hall)
    for known in (journal, found):
        (past,) = known.past(ask("a", "b", route="test/two"))
        assert (past.reply, past.route) == (Reply("the answer", "one-0102", USAGE), "test/one")
        assert (past.failed, past.number < known.written) == (None, True)
    for other in (ask("a"), ask("a", "b", "c"), ask("a", "b", slot="R1.Wind.2"), ask("a", "b", step="apply")):
        assert found.past(other) == ()


async def test_what_failed_is_found_again_with_its_code_its_text_and_what_it_took(hall: Hall, journal: Journal) -> None:
    numbers = await journal.intend([ask(), ask()], [BOUND, BOUND])
    await journal.failed(numbers[0], Overloaded("busy", model="x"))
    await journal.failed(numbers[1], CutOff("cut off", model="x", usage=USAGE, text="What if we"))
    busy, cut_off = (await reread(hall)).past(ask())
    assert (busy.failed, busy.reply, busy.text, busy.usage) == ("overloaded", None, "", None)
    assert (cut_off.failed, cut_off.reply, cut_off.text, cut_off.usage) == ("cut_off", None, "What if we", USAGE)


@pytest.mark.parametrize(
    ("error", "spent", "at_most"),
    [
        pytest.param(Overloaded("busy", model="x"), None, NO_BOUND, id="certainly not charged"),
        pytest.param(TimedOut("late", model="x"), None, BOUND, id="perhaps charged"),
        pytest.param(
            CutOff("cut", model="x", usage=USAGE), USAGE, Bound(110, Decimal("0.01")), id="counted by the provider"
        ),
    ],
)
async def test_a_failed_call_counts_as_its_provider_may_have_charged(
    hall: Hall, journal: Journal, error: CutOff, spent: Usage | None, at_most: Bound
) -> None:
    (number,) = await journal.intend([ask()], [BOUND])
    assert journal.spent_at_most == BOUND
    await journal.failed(number, error)
    for known in (journal, await reread(hall)):
        assert known.spent == (spent or Usage(0, 0, 0, Decimal(0)))
        assert known.spent_at_most == at_most
        assert known.uncertain == ()


async def test_a_reply_without_a_count_counts_at_its_bound(hall: Hall, journal: Journal) -> None:
    (number,) = await journal.intend([ask()], [BOUND])
    await journal.heard(number, Reply("the answer", "one", Usage(0, 0, 0, None)))
    found = await reread(hall)
    assert (found.spent_at_most, found.spent.cost_usd) == (BOUND, None)


async def test_records_that_are_written_at_once_follow_one_another_without_a_gap(hall: Hall, journal: Journal) -> None:
    async def one(place: int) -> None:
        asks = [ask(slot=f"R1.Wind.{place}"), ask(slot=f"R1.Wall.{place}")]
        numbers = await journal.intend(asks, [BOUND, BOUND])
        for number in numbers:
            await journal.heard(number, Reply(f"reply to {number}", "one", USAGE))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for place in range(1, 13):
                group.start_soon(one, place)
    assert [line.number for line in lines(hall)] == list(range(48))
    ended = [line for line in lines(hall) if isinstance(line.record, Outcome)]
    assert [line.text for line in ended] == [f"reply to {outcome.intent}" for outcome in outcomes(hall)]
    assert len(set(keys(hall))) == len(ended) == 24


async def test_a_journal_under_a_lost_lease_writes_nothing_and_remembers_nothing(hall: Hall, journal: Journal) -> None:
    (number,) = await journal.intend([ask()], [BOUND])
    hall.runs.release(Lease(THREAD, 1))
    hall.runs.begin(THREAD)
    before = lines(hall)
    with pytest.raises(LeaseLost):
        await journal.heard(number, Reply("the answer", "one", USAGE))
    with pytest.raises(LeaseLost):
        await journal.intend([ask()], [BOUND])
    assert lines(hall) == before
    assert journal.past(ask()) == ()
    assert [call.attempt for call in journal.uncertain] == [1]


async def test_the_calls_that_are_newly_uncertain_are_those_of_the_process_before(hall: Hall, journal: Journal) -> None:
    await journal.begin("out", None)
    await journal.intend([ask("first")], [BOUND])
    hall.runs.release(Lease(THREAD, 1))
    second = await Journal.opened(hall, hall.runs.begin(THREAD))
    assert [call.attempt for call in second.newly_uncertain] == [1]
    await second.begin(None, '{"routes":{}}')
    await second.intend([ask("second")], [BOUND])
    third = await reread(hall, Lease(THREAD, 2))
    assert [call.attempt for call in third.newly_uncertain] == [2]
    assert [call.attempt for call in third.uncertain] == [1, 2]
    assert [(begun.epoch, begun.folder, begun.changes) for begun in third.begun] == [
        (1, "out", None),
        (2, None, '{"routes":{}}'),
    ]


# -------------------------------------------------------------------------------------------------------- a redaction


async def test_after_a_redaction_what_was_asked_before_is_known_no_more_and_is_asked_again(hall: Hall) -> None:
    """Any reply may hold the words that were redacted, so none is kept; what it took still counts."""
    fails = Scripted(
        lambda request: (
            AuthenticationFailed("no", model="x") if request.task.step == "apply" else priced(speech(request, 1))
        )
    )
    with anyio.fail_after(10):
        with pytest.raises(RunPaused):
            await hold(hall, plan_of("fortress"), fails)
        hall.tombstone_turn(THREAD, 0, "It named a customer of ours in full.")
        model = Scripted(lambda request: priced(speech(request, 2)))
        run = await resume(hall, model)
    hall.verify_debate(THREAD)
    checklists = [request for request in model.requests if request.task.step == "checklist"]
    assert len([request for request in checklists if request.task.round == 1]) == 3
    assert len(turns_of(run.debate)) == 9
    assert run.spent.input == 100 * (4 + len(model.requests))
