"""Seats to drafts: attempts, waits, fallbacks, second tries; each result in its seat's place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import anyio
import pytest

from building import NO_WAITS, plan_of, priced
from orchestrator import errors
from orchestrator.drafting import Drafting
from orchestrator.drafts import Assignment, Draft, Failure, Paid, Patience
from orchestrator.errors import (
    AuthenticationFailed,
    ContentRefused,
    CutOff,
    EmptyReply,
    ModelError,
    NoSuchModel,
    Overloaded,
    RateLimited,
)
from orchestrator.events import DraftFailed, DraftFinished, DraftStarted, Event, FellBack, Retried, SentBack
from orchestrator.faults import FAULTS
from orchestrator.hall.terms import Role
from orchestrator.models.base import Message, Model, Reply, Request, Step, Task, Usage
from orchestrator.models.scripted import Line, Scripted
from orchestrator.plan import PlannedSeat
from orchestrator.prompt import Summary
from orchestrator.usage import NOTHING, total

pytestmark = pytest.mark.anyio

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ModelError)]


def seat_of(*routes: str, slot: str = "R1.Wind.1") -> PlannedSeat:
    (seat,) = plan_of().rounds[0].winds
    return seat.model_copy(update={"slot": slot, "routes": routes or ("test/wind",)})


def assignment(seat: PlannedSeat, lacking: Callable[[str], str | None] = lambda text: None) -> Assignment:
    def ask(route: str, summary: Summary | None) -> Request:
        task = Task("turn", seat.role, seat.agent, seat.lens, round=1, rounds=1, last=False, topic="Kafka?")
        return Request(route, (Message("user", f"Speak, {seat.slot}."),), task, max_output_tokens=10, timeout_s=1)

    return Assignment(seat, "turn", ask, lacking)


async def draft(
    script: Scripted, *assignments: Assignment, patience: Patience = NO_WAITS, paid: Paid | None = None
) -> tuple[Sequence[Draft | Failure], list[Event]]:
    events: list[Event] = []
    with anyio.fail_after(5):
        drafts = await Drafting(lambda route: script, events.append, patience, paid or Paid()).all(assignments)
    return drafts, events


def drafting(model: Model, paid: Paid | None = None) -> tuple[Drafting, list[Event]]:
    events: list[Event] = []
    return Drafting(lambda route: model, events.append, NO_WAITS, paid or Paid()), events


def types(events: Sequence[Event]) -> list[type[Event]]:
    return [type(event) for event in events]


# ---------------------------------------------------------------------------------------------------- places and seats


async def test_results_stand_in_the_order_of_the_assignments_whatever_the_order_of_replies() -> None:
    second_is_done = anyio.Event()

    class SecondFirst:
        async def complete(self, request: Request) -> Reply:
            if "R1.Wind.1" in request.messages[0].text:
                await second_is_done.wait()
            second_is_done.set()
            return priced(request.messages[0].text)

    events: list[Event] = []
    seats = [seat_of(slot="R1.Wind.1"), seat_of(slot="R1.Wind.2")]
    with anyio.fail_after(5):
        drafts = await Drafting(lambda route: SecondFirst(), events.append).all([assignment(seat) for seat in seats])
    assert [draft.seat.slot for draft in drafts] == ["R1.Wind.1", "R1.Wind.2"]
    finished = [event.slot for event in events if isinstance(event, DraftFinished)]
    assert finished == ["R1.Wind.2", "R1.Wind.1"]


async def test_no_assignments_make_no_drafts() -> None:
    assert await draft(Scripted([])) == ((), [])


async def test_a_draft_holds_the_text_the_route_the_model_that_answered_and_its_usage() -> None:
    (made,), events = await draft(Scripted([priced("What if?", model="wind-0102")]), assignment(seat_of()))
    usage = Usage(100, 40, 10, Decimal("0.01"))
    assert made == Draft(seat_of(), "turn", "What if?", "test/wind", "wind-0102", usage)
    told = {"slot": "R1.Wind.1", "role": Role.WIND, "agent": "wind-agent", "step": "turn", "model": "test/wind"}
    started, finished = events
    assert started == DraftStarted(**told, lens=None)
    assert isinstance(finished, DraftFinished)
    assert finished == DraftFinished(
        **told,
        answered="wind-0102",
        seconds=finished.seconds,
        input=100,
        cached=40,
        output=10,
        cost_usd=Decimal("0.01"),
    )
    assert finished.seconds >= 0


# ------------------------------------------------------------------------------------------------- attempts and waits


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_a_route_is_asked_as_often_as_the_table_of_faults_says(kind: type[ModelError]) -> None:
    model = Scripted([kind("not now", model="test/wind")] * 4)
    (made,), events = await draft(model, assignment(seat_of()))
    attempts = FAULTS[kind].attempts
    assert len(model.requests) == attempts
    assert isinstance(made, Failure)
    assert isinstance(made.error, kind)
    assert types(events) == [DraftStarted, *[Retried] * (attempts - 1), DraftFailed]


async def test_attempts_are_counted_and_each_says_what_failed() -> None:
    model = Scripted([RateLimited("slow down", "Wait.", model="a"), Overloaded("busy", model="a"), "What if?"])
    (made,), events = await draft(model, assignment(seat_of()))
    assert isinstance(made, Draft)
    assert made.tried == ("test/wind: rate_limited", "test/wind: overloaded")
    assert [
        (event.attempt, event.wait_s, event.code, event.message) for event in events if isinstance(event, Retried)
    ] == [(1, 0, "rate_limited", "slow down"), (2, 0, "overloaded", "busy")]
    assert model.requests[0] == model.requests[1] == model.requests[2]


@pytest.mark.parametrize(
    ("asked", "waited"),
    [
        pytest.param(0.002, 0.002, id="believed"),
        pytest.param(0.01, 0.01, id="believed up to the bound"),
        pytest.param(-5.0, 0, id="nonsense is no wait"),
        pytest.param(None, 0, id="nothing asked"),
    ],
)
async def test_a_provider_that_says_how_long_to_wait_is_believed(asked: float | None, waited: float) -> None:
    model = Scripted([RateLimited("slow down", model="a", retry_after=asked), "What if?"])
    _, events = await draft(model, assignment(seat_of()), patience=replace(NO_WAITS, believed_s=0.01))
    assert [event.wait_s for event in events if isinstance(event, Retried)] == [waited]


async def test_a_provider_that_asks_for_a_longer_wait_than_is_believed_gives_way_to_the_next_route_at_once() -> None:
    model = Scripted({"a": [RateLimited("tomorrow", model="a", retry_after=86_400.0)], "b": ["What if?"]})
    (made,), events = await draft(model, assignment(seat_of("a", "b")), patience=Patience())
    assert isinstance(made, Draft)
    assert (made.route, made.tried) == ("b", ("a: rate_limited",))
    assert types(events) == [DraftStarted, FellBack, DraftStarted, DraftFinished]


async def test_waits_grow_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def remember(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(anyio, "sleep", remember)
    monkeypatch.setattr("random.uniform", lambda low, high: high)  # the longest that jitter permits
    model = Scripted({route: [Overloaded("busy", model=route)] * 4 for route in "ab"})
    await draft(model, assignment(seat_of("a", "b")), patience=Patience(first_s=1, longest_s=3))
    assert waits == [1, 2, 3] * 2


async def test_no_two_waits_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seats that were refused together do not come back together."""
    waits: list[float] = []

    async def remember(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(anyio, "sleep", remember)
    model = Scripted(lambda request: Overloaded("busy", model=request.model))
    seats = [seat_of(slot=f"R1.Wind.{place}") for place in range(1, 5)]
    await draft(model, *map(assignment, seats), patience=Patience(first_s=1, longest_s=30))
    assert len(set(waits)) == len(waits) == 12


# ------------------------------------------------------------------------------------------------------------ fallbacks


async def test_the_next_route_answers_when_one_fails_for_good() -> None:
    model = Scripted({"a": [AuthenticationFailed("no key", "Set it.", model="a")], "b": [priced("What if?")]})
    (made,), events = await draft(model, assignment(seat_of("a", "b")))
    assert isinstance(made, Draft)
    assert (made.route, made.seat.routes) == ("b", ("a", "b"))
    assert types(events) == [DraftStarted, FellBack, DraftStarted, DraftFinished]
    fell = events[1]
    assert isinstance(fell, FellBack)
    assert (fell.model, fell.to, fell.code, fell.message) == ("a", "b", "authentication", "no key")


async def test_a_route_is_asked_to_the_end_of_its_attempts_before_the_next() -> None:
    model = Scripted({"a": [Overloaded("busy", model="a")] * 4, "b": [priced("What if?")]})
    (made,), events = await draft(model, assignment(seat_of("a", "b")))
    assert [request.model for request in model.requests] == ["a"] * 4 + ["b"]
    assert isinstance(made, Draft)
    assert types(events) == [DraftStarted, *[Retried] * 3, FellBack, DraftStarted, DraftFinished]


async def test_a_failure_holds_the_error_of_the_last_route_and_takes_nothing_from_its_siblings() -> None:
    model = Scripted({"a": [AuthenticationFailed("first", model="a")], "b": [AuthenticationFailed("last", model="b")]})
    model_and_more = Scripted(lambda request: "What if?" if request.model == "c" else model._line(request))
    drafts, events = await draft(
        model_and_more, assignment(seat_of("a", "b")), assignment(seat_of("c", slot="R1.Wind.2"))
    )
    failure, sibling = drafts
    assert isinstance(failure, Failure)
    assert failure.error.message == "last"
    assert isinstance(sibling, Draft)
    assert [event.model for event in events if isinstance(event, DraftFailed)] == ["b"]


async def test_what_is_no_model_error_is_a_bug_and_comes_out() -> None:
    def bug(request: Request) -> Line:
        raise KeyError("a bug")

    with pytest.raises(ExceptionGroup) as raised:
        await draft(Scripted(bug), assignment(seat_of("a", "b")))
    assert raised.group_contains(KeyError)


@pytest.mark.parametrize("kind", [AuthenticationFailed, NoSuchModel])
async def test_a_dead_route_is_asked_once_and_never_again_by_any_seat(kind: type[ModelError]) -> None:
    model = Scripted({"dead": [kind("gone", "Set it.", model="dead")], "b": ["What if?"] * 2, "c": ["What now?"]})
    by, events = drafting(model)
    with anyio.fail_after(5):
        (first,) = await by.all([assignment(seat_of("dead", "b"))])
        second, third = await by.all([assignment(seat_of("dead", "b")), assignment(seat_of("c", "dead"))])
        (last,) = await by.all([assignment(seat_of("dead"))])
    assert [request.model for request in model.requests] == ["dead", "b", "b", "c"]
    assert isinstance(first, Draft)
    assert isinstance(second, Draft)
    assert (first.tried, second.tried) == ((f"dead: {kind.code}",), (f"dead: {kind.code}, not asked again",))
    assert isinstance(third, Draft)
    assert isinstance(last, Failure)
    assert (last.error.message, last.error.cure) == ("gone", "Set it.")
    assert [(event.model, event.to, event.code) for event in events if isinstance(event, FellBack)] == [
        ("dead", "b", kind.code)
    ] * 2


async def test_a_call_that_was_set_aside_for_a_route_is_made_to_it_though_a_sibling_has_just_found_it_dead() -> None:
    """Else the next route would be taken for the one that answers."""
    gone = AuthenticationFailed("gone", model="dead")
    model = Scripted(lambda request: gone if request.model == "dead" else priced("What if?", model=request.model))
    by, _ = drafting(model)
    with anyio.fail_after(5):
        drafts = await by.all([assignment(seat_of("dead", "b", slot=slot)) for slot in ("R1.Wind.1", "R1.Wind.2")])
    assert [request.model for request in model.requests] == ["dead", "b", "dead", "b"]
    assert [(draft.route, draft.answered) for draft in drafts if isinstance(draft, Draft)] == [("b", "b")] * 2


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not FAULTS[kind].stays], ids=lambda kind: kind.__name__)
async def test_a_route_that_failed_otherwise_is_asked_again_by_the_next_seat(kind: type[ModelError]) -> None:
    by, _ = drafting(Scripted({"a": [*[kind("no", model="a")] * FAULTS[kind].attempts, "What if?"], "b": ["So?"]}))
    with anyio.fail_after(5):
        first, second = [(await by.all([assignment(seat_of("a", "b"))]))[0] for _ in range(2)]
    assert isinstance(first, Draft)
    assert isinstance(second, Draft)
    assert (first.route, second.route) == ("b", "a")


# --------------------------------------------------------------------------------------------------------- second tries


def without(word: str, text: str) -> str | None:
    return None if word in text else f"Say {word}."


async def test_a_draft_that_lacks_nothing_is_not_sent_back() -> None:
    model = Scripted(["It costs money."])
    (made,), events = await draft(model, assignment(seat_of(), partial(without, "money")))
    assert isinstance(made, Draft)
    assert made.text == "It costs money."
    assert types(events) == [DraftStarted, DraftFinished]


async def test_a_draft_that_lacks_something_is_sent_back_with_the_reason_and_both_calls_are_counted() -> None:
    model = Scripted([priced("It is late.", model="one"), priced("It costs money.", model="two")])
    (made,), events = await draft(model, assignment(seat_of(), partial(without, "money")))
    assert isinstance(made, Draft)
    assert (made.text, made.answered) == ("It costs money.", "two")
    assert made.usage == Usage(200, 80, 20, Decimal("0.02"))
    first, again = model.requests
    assert again.messages == (*first.messages, Message("assistant", "It is late."), Message("user", "Say money."))
    assert types(events) == [DraftStarted, SentBack, DraftFinished]


async def test_a_second_try_stands_though_it_still_lacks_something() -> None:
    (made,), _ = await draft(Scripted(["one", "two"]), assignment(seat_of(), partial(without, "money")))
    assert isinstance(made, Draft)
    assert made.text == "two"


async def test_the_first_draft_stands_when_the_second_try_fails() -> None:
    model = Scripted([priced("one"), *[Overloaded("busy", model="a")] * 4])
    (made,), events = await draft(model, assignment(seat_of("a", "b"), partial(without, "money")))
    assert isinstance(made, Draft)
    assert (made.text, made.route) == ("one", "a")
    assert made.usage == Usage(100, 40, 10, Decimal("0.01"))
    assert FellBack not in types(events)


# ------------------------------------------------------------------------------------------------------- what was paid

USELESS = [
    pytest.param(CutOff, "The first option is", id="cut off"),
    pytest.param(ContentRefused, "", id="filtered"),
    pytest.param(EmptyReply, "", id="empty"),
]


def useless(kind: type[ModelError], text: str = "", cost: str | None = "0.01") -> ModelError:
    """An answer that came back, was counted by the provider, and is of no use."""
    return kind("of no use", model="test/answered", usage=priced(text, cost).usage, text=text)


def calls(number: int) -> Usage:
    """What so many calls of `priced` take."""
    return Usage(100 * number, 40 * number, 10 * number, Decimal("0.01") * number)


@pytest.mark.parametrize(("kind", "text"), USELESS)
async def test_a_useless_answer_is_asked_for_once_more_with_the_reason(kind: type[ModelError], text: str) -> None:
    model, paid = Scripted([useless(kind, text), priced("What if?")]), Paid()
    (made,), events = await draft(model, assignment(seat_of()), paid=paid)
    assert isinstance(made, Draft)
    assert (made.text, made.tried) == ("What if?", (f"test/wind: {kind.code}",))
    assert made.usage == paid.spent == calls(2)
    first, again = model.requests
    answered = (Message("assistant", text),) if text else ()
    assert again.messages == (*first.messages, *answered, Message("user", FAULTS[kind].repair or ""))
    assert [event.reason for event in events if isinstance(event, SentBack)] == [FAULTS[kind].repair]


@pytest.mark.parametrize(("kind", "text"), USELESS)
async def test_a_useless_answer_counts_though_a_fallback_wrote_the_draft(kind: type[ModelError], text: str) -> None:
    model = Scripted({"a": [useless(kind, text)] * 2, "b": [priced("What if?")]})
    paid = Paid()
    (made,), events = await draft(model, assignment(seat_of("a", "b")), paid=paid)
    assert isinstance(made, Draft)
    assert made.tried == (f"a: {kind.code}",) * 2
    assert made.usage == paid.spent == calls(3)
    assert len(paid.attempts) == 3
    (finished,) = [event for event in events if isinstance(event, DraftFinished)]
    assert (finished.input, finished.cost_usd) == (300, Decimal("0.03"))


@pytest.mark.parametrize(("kind", "text"), USELESS)
async def test_a_useless_answer_counts_though_no_draft_came_of_it(kind: type[ModelError], text: str) -> None:
    paid = Paid()
    (made,), events = await draft(Scripted([useless(kind, text)] * 2), assignment(seat_of()), paid=paid)
    assert isinstance(made, Failure)
    assert paid.spent == calls(2)
    (failed,) = [event for event in events if isinstance(event, DraftFailed)]
    assert (failed.code, failed.input, failed.cost_usd) == (kind.code, 200, Decimal("0.02"))


@pytest.mark.parametrize(("kind", "text"), USELESS)
async def test_a_second_try_that_failed_counts(kind: type[ModelError], text: str) -> None:
    paid = Paid()
    model = Scripted([priced("one"), useless(kind, text)])
    (made,), _ = await draft(model, assignment(seat_of(), partial(without, "money")), paid=paid)
    assert isinstance(made, Draft)
    assert (made.text, made.tried) == ("one", (f"test/wind: {kind.code}",))
    assert made.usage == paid.spent == calls(2)


async def test_an_attempt_that_no_answer_came_back_from_counts_nothing() -> None:
    paid = Paid()
    model = Scripted([Overloaded("busy", model="a"), priced("What if?")])
    (made,), _ = await draft(model, assignment(seat_of()), paid=paid)
    assert isinstance(made, Draft)
    assert made.usage == paid.spent == calls(1)
    assert Paid().spent == NOTHING


async def test_a_useless_answer_without_a_price_makes_the_cost_of_its_draft_unknown_and_no_others() -> None:
    paid = Paid()
    model = Scripted({"a": [useless(CutOff, "x", None)] * 2, "b": [priced("What if?")], "c": [priced("And if?")]})
    drafts, _ = await draft(model, assignment(seat_of("a", "b")), assignment(seat_of("c", slot="R1.Wind.2")), paid=paid)
    assert [draft.usage for draft in drafts if isinstance(draft, Draft)] == [Usage(300, 120, 30, None), calls(1)]
    assert paid.spent == Usage(400, 160, 40, None)


async def test_the_text_of_a_cut_off_answer_is_kept_beside_the_draft_that_took_its_place() -> None:
    paid = Paid()
    model = Scripted({"a": [useless(CutOff, "One is"), useless(CutOff, "Two are")], "b": [priced("What if?")]})
    (made,), _ = await draft(model, assignment(seat_of("a", "b")), paid=paid)
    assert [(kept.text, kept.route, kept.usage) for kept in paid.unused] == [
        ("One is", "a", calls(1)),
        ("Two are", "a", calls(1)),
        ("What if?", "b", calls(3)),
    ]
    assert isinstance(made, Draft)
    paid.committed(made)
    assert [kept.text for kept in paid.unused] == ["One is", "Two are"]


def test_a_turn_takes_its_checklist_from_the_unused_drafts_and_nothing_of_another_seat() -> None:
    def written(step: Step, text: str, slot: str = "R1.Wall.1") -> Draft:
        return Draft(seat_of(slot=slot), step, text, "a", "a", calls(1))

    old, turn = written("apply", "on old words"), written("apply", "the turn")
    elsewhere = [written("checklist", "a checklist", "R1.Wall.2"), written("apply", "the turn", "R1.Wall.3")]
    paid = Paid(unused=[written("checklist", "its checklist"), old, turn, *elsewhere])
    paid.committed(turn)
    assert paid.unused == [old, *elsewhere]


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        pytest.param([], Decimal(0), id="nothing was called"),
        pytest.param(["0.1", "0.2"], Decimal("0.3"), id="all known"),
        pytest.param(["0.1", None], None, id="one unknown"),
        pytest.param(["0", "0"], Decimal(0), id="free models"),
    ],
)
def test_a_sum_with_one_unknown_cost_is_unknown(costs: list[Any], expected: Decimal | None) -> None:
    usages = [Usage(1, 0, 2, None if cost is None else Decimal(cost)) for cost in costs]
    assert total(usages) == Usage(len(costs), 0, 2 * len(costs), expected)
