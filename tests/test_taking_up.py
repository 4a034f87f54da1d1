"""How a process takes a run up, what it notes of that, and what becomes of one whose run another has taken over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import anyio
import pytest

from building import (
    NO_WAITS,
    THREAD,
    TOPIC,
    hall_at,
    hold,
    order,
    plan_of,
    priced,
    resume,
    speech,
    turns_of,
    voices,
)
from hall.halls import HastyStore, dump
from orchestrator import watch
from orchestrator.decision.record import record_of
from orchestrator.drafting import Drafting
from orchestrator.drafts import Paid
from orchestrator.errors import AuthenticationFailed, LeaseLost, NotActive, RunHeld, RunPaused, StoreUnavailable
from orchestrator.events import Event, Paused, Resumed
from orchestrator.hall.entries import Note
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Outcome
from orchestrator.hall.store import Lease
from orchestrator.hall.terms import Role, Status
from orchestrator.journal import Journal
from orchestrator.models.base import Reply, Request
from orchestrator.models.scripted import Line, Scripted
from orchestrator.plan import Changes
from orchestrator.recipe import Limits
from orchestrator.runner import hold_debate, open_debate
from orchestrator.taking_up import TakeUp, time_limit

pytestmark = pytest.mark.anyio


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


class Elsewhere:
    """Another process at the same store, to which the first one has been silent for an hour."""

    def __init__(self, folder: Path) -> None:
        self.hall = Hall(HastyStore(prepare(folder)), clock=lambda: datetime.now(UTC) + timedelta(hours=1))

    def take_over(self) -> Lease:
        return self.hall.runs.begin(THREAD)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Elsewhere]:
    other = Elsewhere(tmp_path / "state")
    with other.hall:
        yield other


def notes_of(hall: Hall) -> list[tuple[str, str | None]]:
    return [(line.note.about, line.note.slot) for line in hall.debate(THREAD).of(Note)]


ACCOUNT = ("account", "R1.Door.account")  # of a SPEED debate that came to its end


async def cut_short(hall: Hall, recipe: str = "speed") -> None:
    """A run that is cancelled while Wind's call and the checklists are in flight."""
    scope = anyio.CancelScope()

    class Hanging:
        async def complete(self, request: Request) -> Reply:
            scope.cancel()
            await anyio.sleep_forever()
            raise AssertionError("it sleeps for ever")

    with scope:
        await hold(hall, plan_of(recipe), Hanging())


# ------------------------------------------------------------------------------------------------------- what is noted


async def test_the_first_process_notes_nothing_in_the_ledger_and_its_folder_in_the_journal(hall: Hall) -> None:
    open_debate(hall, plan_of(), THREAD, TOPIC)
    with anyio.fail_after(10):
        await resume(hall, voices(), how=TakeUp(folder="/somewhere/else"))
    assert notes_of(hall) == [ACCOUNT]
    begun = Journal.to_read(hall, THREAD).begun
    assert [(one.epoch, one.folder, one.changes) for one in begun] == [(1, "/somewhere/else", None)]


async def test_a_later_one_notes_that_it_goes_on_what_nobody_knows_and_what_is_otherwise(hall: Hall) -> None:
    changes = Changes(limits=Limits(tokens=10**6))
    with anyio.fail_after(10):
        await cut_short(hall)
        await resume(hall, voices(), how=TakeUp(changes=changes))
    assert notes_of(hall) == [
        ("resumed", None),
        ("uncertain", "R1.Wind.1"),
        ("uncertain", "R1.Wall.1"),
        ("changed", None),
        ACCOUNT,
    ]
    first, second = Journal.to_read(hall, THREAD).begun
    assert (first.epoch, second.epoch, first.changes) == (1, 2, None)
    assert Changes.model_validate_json(second.changes or "") == changes


async def test_what_is_noted_for_the_record_is_shown_to_no_voice(hall: Hall) -> None:
    with anyio.fail_after(10):
        await cut_short(hall)
        model = voices()
        await resume(hall, model, how=TakeUp(changes=Changes(on_failure="degrade")))
    said = "\n".join(message.text for request in model.requests for message in request.messages)
    for line in hall.debate(THREAD).of(Note):
        assert line.words not in said


class Dying(HastyStore):
    """A store under which a process dies when it would note in the journal that it has begun."""

    def keep(self, *args: object, **kwargs: object) -> None:
        raise StoreUnavailable("gone")


async def test_a_process_that_dies_while_it_takes_a_run_up_leaves_a_record_that_says_everything_once(
    hall: Hall, tmp_path: Path, elsewhere: Elsewhere
) -> None:
    with anyio.fail_after(10):
        await cut_short(hall)
        with Hall(Dying(prepare(tmp_path / "state"))) as dying, pytest.raises(RunPaused, match="gone"):
            await resume(dying, voices())
        run = await resume(elsewhere.hall, voices())
    assert [about for about, _ in notes_of(hall)] == [*["resumed", "uncertain", "uncertain"] * 2, "account"]
    assert len(record_of(run.debate).uncertain) == len(run.uncertain) == 2


async def test_a_run_that_ended_is_not_taken_up_again(hall: Hall) -> None:
    events = list[Event]()
    with anyio.fail_after(10):
        run = await hold(hall, plan_of(), voices())
        model = voices()
        again = await resume(hall, model, events.append)
    assert (again.debate, model.requests) == (run.debate, [])
    assert notes_of(hall) == [ACCOUNT]


# ----------------------------------------------------------------------------------------------------- who may hold it


async def test_a_run_that_another_process_holds_is_refused_before_anything_is_asked_or_written(
    hall: Hall, tmp_path: Path
) -> None:
    open_debate(hall, plan_of(), THREAD, TOPIC)
    hall.runs.begin(THREAD)
    before, model, events = dump(tmp_path / "state"), voices(), list[Event]()
    with anyio.fail_after(10), pytest.raises(RunHeld, match=r"process \d+ on \S+ has run"):
        await resume(hall, model, events.append)
    assert (dump(tmp_path / "state"), model.requests, events) == (before, [], [])


async def test_a_run_that_was_handed_over_is_held_by_the_one_that_it_was_handed_to(hall: Hall) -> None:
    open_debate(hall, plan_of(), THREAD, TOPIC)
    lease = hall.runs.begin(THREAD)
    with anyio.fail_after(10):
        run = await resume(hall, voices(), how=TakeUp(succeeds=lease))
    assert run.debate.state.status is Status.SYNTHESIS
    assert hall.runs.row(THREAD) == (2, *(hall.runs.row(THREAD) or ())[1:])
    with pytest.raises(LeaseLost):
        hall.runs.attend(lease)


async def test_a_run_releases_what_it_holds_however_it_ends(hall: Hall) -> None:
    with anyio.fail_after(10):
        await cut_short(hall)
        assert hall.runs.life(hall.runs.row(THREAD), active=True) == "paused"
        await resume(hall, voices())
    row = hall.runs.row(THREAD)
    assert row is not None
    assert (row.released, hall.runs.life(row, active=False)) == (True, "done")


async def test_two_that_take_a_run_up_at_once_are_one_that_runs_and_one_that_is_told(hall: Hall) -> None:
    open_debate(hall, plan_of(), THREAD, TOPIC)
    model, ended, refused = voices(), list[str](), list[str]()

    async def one() -> None:
        try:
            ended.append((await resume(hall, model)).debate.head)
        except RunHeld as held:
            refused.append(held.message)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(one)
    assert (len(ended), len(refused)) == (1, 3)
    assert len(model.requests) == plan_of().calls


# ------------------------------------------------------------------------------------------ whose run was taken over


async def test_what_a_sleeper_hears_after_it_was_taken_over_is_neither_kept_nor_committed_but_handed_back(
    hall: Hall, elsewhere: Elsewhere
) -> None:
    taken, numbers = list[Lease](), count(1)

    def line(request: Request) -> Reply:
        taken.extend([] if taken else [elsewhere.take_over()])
        return priced(speech(request, next(numbers)))

    paid, events = Paid(), list[Event]()
    with anyio.fail_after(10):
        with pytest.raises(LeaseLost, match="does not run") as lost:
            await hold(hall, plan_of("fortress"), Scripted(line), events.append, paid=paid)
        assert "has taken it over. Nothing more was written." in lost.value.message
        assert events[-1] == Paused(code="lease_lost", message=lost.value.message)
        assert [line for line in hall.journal(THREAD) if isinstance(line.record, Outcome)] == []
        assert hall.debate(THREAD).turns == ()
        assert {(draft.seat.slot, draft.step) for draft in paid.unused} == {
            ("R1.Wind.1", "turn"),
            *((f"R1.Wall.{place}", "checklist") for place in (1, 2, 3)),
        }
        assert paid.spent.input == 400
        run = await resume(elsewhere.hall, voices(), how=TakeUp(succeeds=taken[0]))
    assert order(run.debate) == "WLLLD · WLLD"
    assert "test/answered" not in {turn.model for turn in turns_of(run.debate)}  # so the sleeper's were called
    assert len(run.uncertain) == 4


@pytest.mark.parametrize("step", ["turn", "apply"])
async def test_a_commit_under_a_lost_lease_writes_nothing(hall: Hall, elsewhere: Elsewhere, step: str) -> None:
    """The run is taken over when its draft is journaled and not yet committed."""
    taken: list[Lease] = []

    def tell(event: Event) -> None:
        if event.type == "draft_finished" and getattr(event, "step", "") == step and not taken:
            taken.append(elsewhere.take_over())

    paid = Paid()
    with anyio.fail_after(10), pytest.raises(LeaseLost):
        await hold(hall, plan_of(), voices(), tell, paid=paid)
    assert order(hall.debate(THREAD)) == ("" if step == "turn" else "W")
    assert step in {draft.step for draft in paid.unused}


async def test_a_sleeper_that_waits_for_an_answer_notices_that_it_was_taken_over(
    hall: Hall, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "BEAT_S", 0.01)
    cancelled = list[str]()

    class Sleeping:
        async def complete(self, request: Request) -> Reply:
            with suppress(RunHeld):
                elsewhere.take_over()
            try:
                await anyio.sleep_forever()
            finally:
                cancelled.append(request.task.role)
            raise AssertionError("it sleeps for ever")

    with anyio.fail_after(10), pytest.raises(LeaseLost):
        await hold(hall, plan_of(), Sleeping())
    assert sorted(cancelled) == [Role.WALL, Role.WIND]
    assert elsewhere.hall.runs.life(hall.runs.row(THREAD), active=True) == "running"  # the other's


# --------------------------------------------------------------------------------------------------- its time so far


async def test_the_time_of_earlier_processes_counts(tmp_path: Path) -> None:
    """Two runs of twenty minutes each; the limit is an hour."""
    now = [datetime(2026, 1, 6, 9, tzinfo=UTC)]
    plan = plan_of(limits=Limits(seconds=3600))
    with Hall(HastyStore(prepare(tmp_path)), clock=lambda: now[0]) as hall:
        open_debate(hall, plan, THREAD, TOPIC)
        for _ in range(2):
            lease = hall.runs.begin(THREAD)
            now[0] += timedelta(minutes=20)
            hall.runs.release(lease)
            now[0] += timedelta(days=1)
        assert (await time_limit(hall, plan_of(), THREAD)).seconds == float("inf")
        limit = await time_limit(hall, plan, THREAD)
        assert limit.seconds == 3600
        assert 1190 < limit.left() <= 1200


def without_door(before: Callable[[Request], None]) -> Scripted:
    """A table whose Door cannot be asked."""

    def line(request: Request) -> Line:
        before(request)
        no_key = AuthenticationFailed("no key", model=request.model)
        return no_key if request.task.role is Role.DOOR else priced(speech(request, 1))

    return Scripted(line)


async def test_a_resumed_run_tells_the_seconds_of_those_before_it(tmp_path: Path) -> None:
    now = [datetime(2026, 1, 6, 9, tzinfo=UTC)]
    events = list[Event]()
    with Hall(HastyStore(prepare(tmp_path)), clock=lambda: now[0]) as hall, anyio.fail_after(10):

        def later(request: Request) -> None:
            now[0] += timedelta(seconds=5)

        with pytest.raises(RunPaused):
            await hold(hall, plan_of(), without_door(later))
        now[0] += timedelta(days=1)
        await resume(hall, voices(), events.append)
    (told,) = [event for event in events if isinstance(event, Resumed)]
    assert told.seconds == 20.0


# ------------------------------------------------------------------------------------------------------ a closed debate


async def test_a_debate_that_was_closed_while_nobody_ran_it_asks_nobody(hall: Hall) -> None:
    with anyio.fail_after(10):
        await cut_short(hall)
        hall.force_close_debate(THREAD, "Enough.")
        model = voices()
        run = await hold_debate(
            hall, plan_of(), THREAD, Drafting(lambda route: model, lambda event: None, NO_WAITS), how=TakeUp()
        )
    assert (run.debate.state.status, model.requests) == (Status.FORCE_CLOSED, [])
    with pytest.raises(NotActive):
        hall.force_close_debate(THREAD, "Again.")
