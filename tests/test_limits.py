"""Limits of cost, tokens and time: what does not fit is not asked; the run stops, or Door closes with what is there."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from building import (
    NO_WAITS,
    THREAD,
    TOPIC,
    flowing,
    hall_at,
    hold,
    order,
    plan_of,
    priced,
    resume,
    speech,
    turns_of,
    voices,
    vote_text,
)
from hall.halls import HastyStore
from orchestrator.budget import Budget
from orchestrator.cli.ending import Exit, ended_as, exit_code
from orchestrator.decision.record import record_of
from orchestrator.drafts import Patience
from orchestrator.errors import AuthenticationFailed, Overloaded, RateLimited, RunPaused, StoppedByLimit, TimedOut
from orchestrator.events import Event, LimitReached, Paused, TurnCommitted
from orchestrator.export.markdown import render_adr
from orchestrator.hall.debate import CLOSED_EARLY
from orchestrator.hall.entries import Refined
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Intent
from orchestrator.hall.terms import About, Role, Status
from orchestrator.journal import Journal
from orchestrator.models.base import Endpoint, Reply, Request, Usage
from orchestrator.models.scripted import Line, Scripted
from orchestrator.plan import Changes, Plan
from orchestrator.recipe import Limits
from orchestrator.taking_up import TakeUp
from table import Table, Writer

pytestmark = pytest.mark.anyio

PRICED = Endpoint(input_cost_per_token=Decimal("1E-6"), output_cost_per_token=Decimal("1E-6"))
MOST_WRITTEN = 4000  # tokens of one reply


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


def within(tokens: int | None = None, recipe: str = "fortress", **limits: Any) -> Plan:
    return plan_of(recipe, endpoint=PRICED, limits=Limits(tokens=tokens, **limits))


def raised(**limits: Any) -> TakeUp:
    return TakeUp(changes=Changes(limits=Limits(**limits)))


def talkative(output: int = MOST_WRITTEN, more_of_wind: int = 0, more_of_door: int = 0) -> Scripted:
    """Voices whose every reply counts so many tokens, and nothing for what was read.

    Args:
        more_of_wind, more_of_door: bytes that a turn of theirs is longer, which all who speak after it must read.
    """
    numbers, more = count(1), {Role.WIND: more_of_wind, Role.DOOR: more_of_door}

    def line(request: Request) -> Line:
        longer = more.get(request.task.role, 0) if request.task.step == "turn" else 0
        text = speech(request, next(numbers)) + "x" * longer
        return Reply(text, "test/answered", Usage(1, 0, output, None))

    return Scripted(line)


def require_within(hall: Hall, plan: Plan) -> None:
    """What was spent, calls of unknown outcome at their bound, is within the limits."""
    spent = Journal.to_read(hall, THREAD).spent_at_most
    assert spent.tokens <= (plan.limits.tokens or math.inf)
    assert spent.cost_usd is not None
    assert spent.cost_usd <= (plan.limits.cost_usd or math.inf)


# ---------------------------------------------------------------------------------------------------------- it stops


@pytest.mark.parametrize(
    ("limits", "limit", "raised_to"),
    [
        ({"tokens": 100}, "tokens", {"tokens": 10**6}),
        ({"cost_usd": Decimal("0.0001")}, "cost_usd", {"cost_usd": Decimal(5)}),
    ],
)
async def test_a_limit_that_is_too_small_for_the_first_calls_stops_the_run_before_any(
    hall: Hall, limits: dict[str, Any], limit: str, raised_to: dict[str, Any]
) -> None:
    model, events = voices(), list[Event]()
    with anyio.fail_after(10):
        with pytest.raises(StoppedByLimit, match=r"^The next 4 calls could take") as stopped:
            await hold(hall, within(**limits), model, events.append)
        assert model.requests == []
        assert stopped.value.code == "limit"
        assert events[-2:] == [
            LimitReached(limit=limit, message=stopped.value.message, closes=False),
            Paused(code="limit", message=stopped.value.message),
        ]
        assert not [line for line in hall.journal(THREAD) if isinstance(line.record, Intent)]
        run = await resume(hall, model, how=raised(**raised_to))
    assert order(run.debate) == "WLLLD · WLLD"
    assert record_of(run.debate).changes == (f"From here on {Changes(limits=Limits(**raised_to))}.",)


async def test_a_run_stops_where_the_next_calls_do_not_fit_and_goes_on_from_there_when_the_limit_is_raised(
    hall: Hall,
) -> None:
    model = talkative()
    with anyio.fail_after(20):
        with pytest.raises(StoppedByLimit):
            await hold(hall, within(50_000), model)
        assert (order(hall.debate(THREAD)), len(model.requests)) == ("WLLLD", 8)
        require_within(hall, within(50_000))
        with pytest.raises(StoppedByLimit, match="The next 3 calls could take"):
            await resume(hall, model)  # the same limit: nobody is asked
        assert len(model.requests) == 8
        run = await resume(hall, model, how=raised(tokens=10**6))
    assert (order(run.debate), len(model.requests)) == ("WLLLD · WLLD", plan_of("fortress").calls)
    assert run.spent.output == MOST_WRITTEN * plan_of("fortress").calls
    assert record_of(run.debate).resumed == 2


async def test_parallel_calls_are_asked_all_or_none(tmp_path: Path) -> None:
    """Wind and the three checklists: there is room for three of the four, or for all."""
    most = sum((await bounds_of(tmp_path / "all", within(recipe="fortress")))[:4])
    for limit, asked in ((most - 1, 0), (most, 4)):
        model = talkative()
        with hall_at(tmp_path / str(limit)) as hall, anyio.fail_after(10):
            with pytest.raises(StoppedByLimit):
                await hold(hall, within(limit), model)
            assert len(model.requests) == asked


async def bounds_of(folder: Path, plan: Plan) -> list[int]:
    """The most tokens that each call of a plan can take, as long as no provider has counted."""
    model = talkative()
    with hall_at(folder) as hall, anyio.fail_after(10):
        await hold(hall, plan, model)
    return [Budget().bound_of(request).tokens for request in model.requests]


async def test_a_retry_that_does_not_fit_is_not_made_and_what_its_siblings_wrote_is_not_lost(hall: Hall) -> None:
    """A call that timed out may have been charged: its bound counts, and a second does not fit beside Wall's."""
    late = count()

    def line(request: Request) -> Line:
        if request.task.role is Role.WIND and next(late) == 0:
            return TimedOut("late", model=request.model)
        return Reply(speech(request, 1), "test/answered", Usage(4000, 0, MOST_WRITTEN, None))

    model = Scripted(line)
    with anyio.fail_after(10):
        with pytest.raises(StoppedByLimit, match="The next call could take"):
            await hold(hall, within(34_000), model)
        assert (len(model.requests), hall.debate(THREAD).turns) == (4, ())
        require_within(hall, within(34_000))
        await resume(hall, model, how=raised(tokens=10**6))
    steps = [request.task.step for request in model.requests if request.task.round == 1]
    assert steps.count("checklist") == 3
    seat = turns_of(hall.debate(THREAD))[0].seat
    assert seat is not None
    assert seat.tried == ("test/wind: timed_out",)


async def test_a_fallback_that_does_not_fit_is_not_asked(tmp_path: Path) -> None:
    """Door's first route timed out and may have charged; there is room for one and a half calls of Door."""
    *_, most, _account = await bounds_of(tmp_path / "all", within(recipe="speed"))
    limits = Limits(tokens=3 * MOST_WRITTEN + most * 3 // 2)
    plan = plan_of("speed", routes={Role.DOOR: ("test/a", "test/b")}, endpoint=PRICED, limits=limits)
    table = talkative()
    late = TimedOut("late", model="test/a")
    model = Scripted(lambda request: late if request.model == "test/a" else table._line(request))
    with hall_at(tmp_path / "state") as hall, anyio.fail_after(10):
        with pytest.raises(StoppedByLimit):
            await hold(hall, plan, model)
        require_within(hall, plan)
    doors = [request.model for request in model.requests if request.task.role is Role.DOOR]
    assert doors == ["test/a"] * len(doors) != []


async def test_what_nobody_knows_the_outcome_of_counts_at_its_bound_in_every_later_process(hall: Hall) -> None:
    """Four calls are in flight when the process ends; they took 32,496 tokens at most, of which 40,000 may be taken."""
    scope = anyio.CancelScope()

    class Hanging:
        async def complete(self, request: Request) -> Reply:
            scope.cancel()
            await anyio.sleep_forever()
            raise AssertionError("it sleeps for ever")

    with anyio.fail_after(10):
        with scope:
            await hold(hall, within(40_000), Hanging())
        most = Journal.to_read(hall, THREAD).spent_at_most.tokens
        with pytest.raises(StoppedByLimit, match=f"and {40_000 - most:,} of 40,000 are left"):
            await resume(hall, voices())
        require_within(hall, within(40_000))
        run = await resume(hall, voices(), how=raised(tokens=most + 60_000))
    assert order(run.debate) == "WLLLD · WLLD"


# ------------------------------------------------------------------------------------------------------ Door closes


def closing(tokens: int | None, recipe: str = "fortress", **limits: Any) -> Plan:
    return plan_of(recipe, endpoint=PRICED, limits=Limits(tokens=tokens, **limits), on_limit="close")


LONG = 12_000


@dataclass(frozen=True)
class Early:
    """A limit, how many bytes more Wind writes, and what becomes of FORTRESS under them."""

    tokens: int
    more_of_wind: int
    turns: str
    refined: bool = False


EARLY = [
    pytest.param(Early(94_000, LONG, "WLD"), id="Wind has spoken: one Wall, then Door"),
    pytest.param(Early(130_000, LONG, "WLLLD"), id="Walls have spoken: Door"),
    pytest.param(Early(94_000, 0, "WLLLD", refined=True), id="Door has spoken: it says its last word anew"),
]


@pytest.mark.parametrize("early", EARLY)
async def test_door_closes_early_with_what_is_there_and_knows_that_its_word_is_the_last(
    hall: Hall, early: Early
) -> None:
    plan, model, events = closing(early.tokens), talkative(more_of_wind=early.more_of_wind), list[Event]()
    with anyio.fail_after(10):
        run = await hold(hall, plan, model, events.append)
    require_within(hall, plan)
    debate = run.debate
    assert (order(debate), debate.state.status) == (early.turns, Status.SYNTHESIS)
    assert debate.state.marks == (CLOSED_EARLY,)
    last = model.requests[-1]
    assert (last.task.role, last.task.last) == (Role.DOOR, True)
    assert "Yours is the last turn" in last.messages[-1].text
    assert [bool(debate.of(Refined))] == [early.refined]
    word = (debate.of(Refined) or debate.turns)[-1]
    assert debate.synthesis is not None
    assert debate.synthesis.text == word.text
    (reached,) = [event for event in events if isinstance(event, LimitReached)]
    assert (reached.limit, reached.closes) == ("tokens", True)
    record = record_of(run.debate)
    assert record.closed_early == f"Door closed before the plan's end, at a limit. {reached.message}"
    assert record.decision == word.text


async def test_door_says_its_last_word_anew_where_a_round_that_a_person_asked_for_after_the_end_does_not_fit(
    tmp_path: Path,
) -> None:
    def end_and_ask(writer: Writer) -> None:
        writer.end()
        writer.ask_for_round()

    table = Table(tmp_path / "state", closing(94_000), {"committed R1.Door.1": end_and_ask})
    table.model = talkative()
    debate = (await table.hold()).debate
    assert (order(debate), debate.state.marks, len(debate.of(Refined))) == ("WLLLD", (CLOSED_EARLY,), 1)
    assert table.model.requests[-1].task.last


async def test_every_output_says_first_that_it_was_closed_early_and_why(hall: Hall) -> None:
    with anyio.fail_after(10):
        run = await hold(hall, closing(90_000), talkative())
    record = record_of(run.debate)
    assert record.closed_early is not None
    document = flowing(render_adr(record, run.debate))
    title, mark = document.split("\n\n")[1:3]
    assert (title, mark) == (f"# {TOPIC}", f"CLOSED EARLY: {record.closed_early}")
    assert 'CLOSED_EARLY::"Door closed before' in hall.export_debate(THREAD, "octave").partition("THREAD_ID::")[0]


async def test_a_run_that_would_keep_nothing_for_door_is_not_begun(hall: Hall) -> None:
    model = voices()
    with anyio.fail_after(10), pytest.raises(StoppedByLimit, match="kept for Door"):
        await hold(hall, closing(60_000), model)
    assert model.requests == []


async def test_where_door_cannot_be_afforded_the_run_stops_with_what_is_there(hall: Hall) -> None:
    """Wind is far longer than what was kept for, so that no Wall is asked for a Door who cannot be."""
    events = list[Event]()
    with anyio.fail_after(10):
        with pytest.raises(StoppedByLimit, match=r"The next call could take .* kept for Door"):
            await hold(hall, closing(105_000), talkative(more_of_wind=5 * LONG), events.append)
        assert (order(hall.debate(THREAD)), hall.debate(THREAD).state.marks) == ("W", ())
        require_within(hall, closing(105_000))
        assert [event.closes for event in events if isinstance(event, LimitReached)] == [True, False]
        run = await resume(hall, talkative(), how=raised(tokens=10**6))
    assert (order(run.debate), run.debate.state.marks) == ("WLLLD · WLLD", ())


async def test_a_round_without_wind_is_not_closed_in(hall: Hall) -> None:
    silent = Scripted(lambda request: TimedOut("late", model=request.model))
    with anyio.fail_after(10), pytest.raises(StoppedByLimit):
        await hold(hall, closing(84_000), silent)
    assert hall.debate(THREAD).turns == ()


async def test_a_run_within_its_limit_is_closed_at_the_plans_end_and_bears_no_mark(hall: Hall) -> None:
    with anyio.fail_after(10):
        run = await hold(hall, closing(10**6), talkative())
    assert (order(run.debate), run.debate.state.marks, record_of(run.debate).closed_early) == ("WLLLD · WLLD", (), None)


@pytest.mark.slow
@pytest.mark.parametrize("early", EARLY)
@pytest.mark.parametrize("moment", ["its closing word", "the note"])
async def test_a_process_that_dies_between_doors_closing_word_and_the_close_is_followed_by_one_that_closes(
    hall: Hall, early: Early, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope, model = anyio.CancelScope(), talkative(more_of_wind=early.more_of_wind)
    kinds = {"its closing word": ("add_turn", "refine"), "the note": ("note",)}[moment]

    def dying(write: Callable[..., Any], is_last: Callable[..., bool]) -> Callable[..., Any]:
        def write_and_die(self: Hall, *args: Any, **kwargs: Any) -> Any:
            result = write(self, *args, **kwargs)
            if is_last(*args, **kwargs):
                anyio.from_thread.run_sync(scope.cancel)
            return result

        return write_and_die

    def closes(*args: Any, **kwargs: Any) -> bool:
        seat = kwargs.get("seat")
        return seat.slot.endswith("Door.close") if seat else "note" in kinds

    with monkeypatch.context() as patch, anyio.fail_after(10):
        for kind in kinds:
            patch.setattr(Hall, kind, dying(getattr(Hall, kind), closes))
        with scope:
            await hold(hall, closing(early.tokens), model)
    assert hall.debate(THREAD).state.status is Status.ACTIVE
    with anyio.fail_after(10):
        asked = len(model.requests)
        run = await resume(hall, model)
    assert (order(run.debate), len(model.requests)) == (early.turns, asked)
    assert (run.debate.state.marks, run.debate.state.status) == ((CLOSED_EARLY,), Status.SYNTHESIS)
    assert run.debate.synthesis is not None
    assert run.debate.synthesis.text == (run.debate.of(Refined) or run.debate.turns)[-1].text
    assert len(run.debate.notes(About.CLOSED_EARLY)) == 1


async def test_a_door_that_fails_at_the_close_pauses_the_run_which_closes_when_it_can(hall: Hall) -> None:
    table = talkative()

    def line(request: Request) -> Line:
        no_key = AuthenticationFailed("no key", model=request.model)
        return no_key if request.task.last else table._line(request)

    with anyio.fail_after(10):
        with pytest.raises(RunPaused, match=r"R1\.Door\.close.*no key"):
            await hold(hall, closing(90_000), Scripted(line))
        assert hall.debate(THREAD).state.marks == ()
        run = await resume(hall, table)
    assert (run.debate.state.marks, order(run.debate)) == ((CLOSED_EARLY,), "WLLLD")


# -------------------------------------------------------------------------------------------------- while it is voted


@dataclass(frozen=True)
class Settling:
    """A step that takes more than all before it, for what it has to read; Wind objects in its first vote."""

    step: str
    refinements: int
    more_of_door: int = 0  # bytes that the synthesis is longer
    more_of_objection: int = 0
    steps: tuple[str, ...] = ("vote", "vote", "refine", "vote", "vote", "account")
    ends: Status = Status.SYNTHESIS

    def plan(self, tokens: int | None, on_limit: str) -> Plan:
        consensus = {"required": True, "refinements": self.refinements}
        limits = Limits(tokens=tokens)
        return plan_of("speed", endpoint=PRICED, limits=limits, on_limit=on_limit, consensus=consensus)

    def voices(self) -> Scripted:
        table, votes = talkative(more_of_door=self.more_of_door), count()
        objection = vote_text("object", "It cannot be undone." + "x" * self.more_of_objection)

        def line(request: Request) -> Line:
            reply = table._line(request)
            assert isinstance(reply, Reply)
            objects = request.task.step == "vote" and next(votes) == 0
            return replace(reply, text=objection) if objects else reply

        return Scripted(line)

    async def too_few(self, folder: Path) -> int:
        """A limit in tokens that is one too low for the step, and high enough for all before it."""
        with hall_at(folder) as hall, anyio.fail_after(10):
            await hold(hall, self.plan(None, "stop"), self.voices())
            intents = [line.record for line in hall.journal(THREAD) if isinstance(line.record, Intent)]
        first = next(place for place, intent in enumerate(intents) if intent.step == self.step)
        together = 2 if self.step == "vote" else 1
        return first * (MOST_WRITTEN + 1) + sum(intent.tokens for intent in intents[first : first + together]) - 1


SETTLING = [
    pytest.param(Settling("vote", 1, more_of_door=LONG), id="vote"),
    pytest.param(Settling("refine", 1, more_of_objection=LONG), id="refine"),
    pytest.param(
        Settling("account", 0, more_of_objection=LONG, steps=("vote", "vote", "account"), ends=Status.STALEMATE),
        id="account",
    ),
]
ROUND = ["turn", "checklist", "apply", "turn"]


def steps_of(model: Scripted) -> list[str]:
    return [request.task.step for request in model.requests]


def before(settling: Settling) -> list[str]:
    """The steps that are taken before the one that does not fit."""
    return [*ROUND, *settling.steps[: settling.steps.index(settling.step)]]


@pytest.mark.slow
@pytest.mark.parametrize("settling", SETTLING)
async def test_a_run_that_cannot_afford_to_settle_its_synthesis_stops_and_goes_on_from_there(
    hall: Hall, tmp_path: Path, settling: Settling
) -> None:
    plan, model = settling.plan(await settling.too_few(tmp_path / "all"), "stop"), settling.voices()
    with anyio.fail_after(20):
        for again in (False, True):
            with pytest.raises(StoppedByLimit) as stopped:
                await (resume(hall, model) if again else hold(hall, plan, model))
            assert exit_code(stopped.value) is Exit.LIMIT
            assert steps_of(model) == before(settling)
            assert (hall.debate(THREAD).state.status, hall.debate(THREAD).state.marks) == (Status.ACTIVE, ())
            require_within(hall, plan)
        run = await resume(hall, model, how=raised(tokens=10**6))
    assert steps_of(model) == [*ROUND, *settling.steps]
    assert len({request.messages for request in model.requests}) == len(model.requests)
    assert (run.debate.state.status, run.debate.state.marks) == (settling.ends, ())


@pytest.mark.slow
@pytest.mark.parametrize("settling", SETTLING)
async def test_door_closes_at_once_where_it_cannot_be_afforded_to_settle_its_synthesis(
    hall: Hall, tmp_path: Path, settling: Settling
) -> None:
    """Nothing more is paid for: votes that were cast already stand in the record, with what they object to."""
    plan, model = settling.plan(await settling.too_few(tmp_path / "all"), "close"), settling.voices()
    events = list[Event]()
    with anyio.fail_after(20):
        run = await hold(hall, plan, model, events.append)
    require_within(hall, plan)
    debate, record = run.debate, record_of(run.debate)
    assert steps_of(model) == before(settling)
    cast = before(settling).count("vote")
    ends, code = (Status.STALEMATE, Exit.NO_CONSENSUS) if cast else (Status.SYNTHESIS, Exit.DEGRADED)
    assert (debate.state.status, debate.state.marks) == (ends, (CLOSED_EARLY,))
    assert ended_as(debate.state) is code
    (reached,) = [event for event in events if isinstance(event, LimitReached)]
    assert (reached.limit, reached.closes) == ("tokens", True)
    assert record.closed_early == f"Door closed before the plan's end, at a limit. {reached.message}"
    assert (record.decision, debate.notes(About.ACCOUNT)) == (debate.turns[-1].text, ())
    assert (len(record.votes), record.agreed) == (cast, False)
    assert [(each.id, each.role) for each in record.dissent] == ([("O1", Role.WIND)] if cast else [])
    assert run.unused == ()


async def test_a_vote_that_was_paid_for_is_cast_though_a_limit_keeps_another_from_being_asked_again(
    hall: Hall, tmp_path: Path
) -> None:
    """Wind's vote timed out and may have been charged, so that a second call does not fit; Wall has objected."""
    settling = Settling("vote", 1, more_of_door=LONG)
    plan, table = settling.plan(1 + await settling.too_few(tmp_path / "all"), "close"), settling.voices()

    def line(request: Request) -> Line:
        winds = request.task.step == "vote" and request.task.role is Role.WIND
        return TimedOut("late", model=request.model) if winds else table._line(request)

    model = Scripted(line)
    with anyio.fail_after(20):
        run = await hold(hall, plan, model)
    require_within(hall, plan)
    record = record_of(run.debate)
    assert steps_of(model) == [*ROUND, "vote", "vote"]
    assert run.debate.state.marks == (CLOSED_EARLY,)
    assert [(vote.slot, vote.choice) for vote in record.votes] == [("V1.Wall.1", "object")]
    assert ([each.id for each in record.dissent], run.unused) == (["O1"], ())


# --------------------------------------------------------------------------------------------------------- its time


async def test_a_call_in_flight_at_the_deadline_is_cut_and_the_run_stops(hall: Hall) -> None:
    cut = list[str]()

    class Hanging:
        async def complete(self, request: Request) -> Reply:
            try:
                await anyio.sleep_forever()
            finally:
                cut.append(request.task.step)
            raise AssertionError("it sleeps for ever")

    events = list[Event]()
    with anyio.fail_after(10):
        with pytest.raises(StoppedByLimit, match=r"^0 s of 0\.3 s are left\."):
            await hold(hall, within(recipe="speed", seconds=0.3), Hanging(), events.append)
        assert sorted(cut) == ["checklist", "turn"]
        run = await resume(hall, voices(), events.append, how=raised(seconds=3600))
    assert [event.limit for event in events if isinstance(event, LimitReached)] == ["seconds"]
    assert [call.step for call in run.uncertain] == ["turn", "checklist"]
    assert run.debate.state.status is Status.SYNTHESIS


async def test_a_wait_that_is_longer_than_the_time_that_is_left_is_not_begun(hall: Hall) -> None:
    model = Scripted(lambda request: RateLimited("in a minute", model=request.model, retry_after=60.0))
    with anyio.fail_after(10), pytest.raises(StoppedByLimit, match="s of 20 s are left"):
        await hold(hall, within(recipe="speed", seconds=20), model, patience=Patience(first_s=0, longest_s=0))
    assert len(model.requests) == 2


async def test_a_wait_that_fits_is_waited(hall: Hall) -> None:
    busy = count()

    def line(request: Request) -> Line:
        return Overloaded("busy", model=request.model) if next(busy) < 2 else priced(speech(request, 1))

    with anyio.fail_after(10):
        run = await hold(hall, within(recipe="speed", seconds=60), Scripted(line), patience=NO_WAITS)
    assert run.debate.state.status is Status.SYNTHESIS


async def test_time_is_kept_in_which_door_can_close(tmp_path: Path) -> None:
    """After round 1 two and a half minutes of an hour are left: Wind may take three, and so may Door."""
    now = [datetime(2026, 1, 6, 9, tzinfo=UTC)]
    plan, model = closing(None, seconds=3600), voices()
    with Hall(HastyStore(prepare(tmp_path / "state")), clock=lambda: now[0]) as hall, anyio.fail_after(10):

        def tell(event: Event) -> None:
            if isinstance(event, TurnCommitted) and event.slot == "R1.Door.1":
                scope.cancel()

        with anyio.CancelScope() as scope:
            await hold(hall, plan, model, tell)
        lease = hall.runs.begin(THREAD)
        now[0] += timedelta(seconds=3450)
        hall.runs.release(lease)
        run = await resume(hall, model)
    assert (order(run.debate), run.debate.state.marks) == ("WLLLD", (CLOSED_EARLY,))
    assert "s kept for Door" in (record_of(run.debate).closed_early or "")
    assert len(run.debate.of(Refined)) == 1


# ----------------------------------------------------------------------------------- whatever the prices and the faults


class Biller:
    """A provider with a count, prices and faults of its own, and a bill over all processes.

    It splits text into pieces of `width` bytes, writes up to what it may, forgets its count now and then, and charges
    for calls that it loses.
    """

    def __init__(self, seed: int, width: int, prices: tuple[Decimal, Decimal]) -> None:
        self.random, self.width, self.prices, self.numbers = Random(seed), width, prices, count(1)
        self.tokens, self.cost = 0, Decimal(0)

    def __call__(self, request: Request) -> Line:
        text = speech(request, next(self.numbers))
        read = sum(-(-len(message.text.encode()) // self.width) for message in request.messages)
        written = self.random.randint(len(text.encode()) // 4, request.max_output_tokens)
        fault = self.random.random()
        if fault < 0.1:
            return Overloaded("busy", model=request.model, status=503)
        cost = read * self.prices[0] + written * self.prices[1]
        self.tokens, self.cost = self.tokens + read + written, self.cost + cost
        if fault < 0.2:
            return TimedOut("late", model=request.model)
        usage = Usage(read, 0, written, cost if fault < 0.8 else None)
        return Reply(text, request.model, usage if fault < 0.9 else replace(usage, input=0))


CASES = {
    "seed": st.integers(0, 10**6),
    "width": st.integers(1, 6),
    "limit": st.integers(1, 300_000),
    "prices": st.tuples(st.integers(1, 50), st.integers(1, 50)),
    "by_cost": st.booleans(),
    "recipe": st.sampled_from(["speed", "fortress", "laboratory"]),
    "on_limit": st.sampled_from(["stop", "close"]),
}


def require_no_limit_passed(
    seed: int, width: int, limit: int, prices: tuple[int, int], by_cost: bool, recipe: str, on_limit: str
) -> None:
    """A run at a limit, resumed at twice that; whatever was charged, however it was lost, stays below."""
    read, write = (Decimal(price) / 10**6 for price in prices)
    endpoint = Endpoint(input_cost_per_token=read, output_cost_per_token=write)
    biller = Biller(seed, width, (read, write))
    with tempfile.TemporaryDirectory() as folder, hall_at(Path(folder) / "state") as hall:
        for process, most in enumerate((limit, 2 * limit)):
            limits = Limits(cost_usd=most * max(read, write)) if by_cost else Limits(tokens=most)
            plan = plan_of(recipe, endpoint=endpoint, limits=limits, on_limit=on_limit)
            with suppress(RunPaused):
                if process == 0:
                    anyio.run(hold, hall, plan, Scripted(biller))
                elif hall.debate(THREAD).state.status is Status.ACTIVE:
                    anyio.run(partial(resume, hall, Scripted(biller), how=TakeUp(changes=Changes(limits=limits))))
            assert biller.tokens <= most or by_cost
            assert biller.cost <= (limits.cost_usd or math.inf)
            require_within(hall, plan)


@given(**CASES)
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
def test_no_run_passes_its_limit(**case: Any) -> None:
    require_no_limit_passed(**case)


@pytest.mark.slow
@given(**CASES)
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_no_run_passes_its_limit_however_often_it_is_tried(**case: Any) -> None:
    require_no_limit_passed(**case)
