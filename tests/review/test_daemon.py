"""Daemons on an injected clock: who holds which time, what is missed, what is gone on with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from virtual_clock import VirtualClock

from orchestrator.errors import LimitMet, RunPaused, StoppedByLimit, UsageError
from orchestrator.hall.folder import prepare
from orchestrator.hall.holder import Holder
from orchestrator.hall.review_desk import ReviewDesk
from orchestrator.hall.review_rows import ReviewClaim, ReviewNotes
from orchestrator.hall.sqlite import SQLiteStore
from orchestrator.hall.store import Store
from orchestrator.review.daemon import Daemon
from orchestrator.review.reviews_file import Review, ReviewsFile, load_reviews
from orchestrator.review.times import NotNow, Taken, enrol, take_by_hand, take_due

pytestmark = pytest.mark.anyio

START = datetime(2026, 3, 16, 12, tzinfo=UTC)  # a Monday
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
DEADLINE_S = 20

Hold = Callable[[Review, Taken], Awaitable[None]]
Holding = Callable[[ReviewDesk], Hold]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = SQLiteStore(prepare(tmp_path / "state"))
    yield store
    store.close()


def reviews(folder: Path, *more: str, cron: str = "0 9 * * 1") -> ReviewsFile:
    file = folder / "reviews.yaml"
    first = f"  - {{name: weekly, cron: '{cron}', timezone: Europe/Berlin, topic: 'Right?', recipe: speed"
    file.write_text("\n".join(["reviews:", first + "".join(f", {key}" for key in more) + "}"]) + "\n")
    return load_reviews(file)


def desk_of(store: Store, clock: VirtualClock, pid: int) -> ReviewDesk:
    return ReviewDesk(store, clock.now, Holder("a machine that no test runs on", pid))


async def served(
    store: Store, clock: VirtualClock, file: ReviewsFile, *holds: Callable[[ReviewDesk], Hold]
) -> list[str]:
    """Lets a daemon for each `hold` serve until the clock has come to its end; returns what they told."""
    told: list[str] = []
    with anyio.fail_after(DEADLINE_S):
        async with anyio.create_task_group() as group:
            for pid, hold in enumerate(holds, start=1):
                desk = desk_of(store, clock, pid)
                group.start_soon(Daemon(desk, file, clock, hold(desk), told.append).serve)
            await clock.ended.wait()
            group.cancel_scope.cancel()
    return told


def ending(desk: ReviewDesk) -> Hold:
    """Whatever is held is over at once."""

    async def hold(review: Review, taken: Taken) -> None:
        desk.note(taken.claim, ReviewNotes(outcome="decided"))

    return hold


def table(store: Store) -> list[tuple[str, str | None]]:
    return [(row.due_at[:16], row.notes.outcome) for row in store.reviews("weekly")]


ENROLLED = ("2026-03-16T12:00", "enrolled")


async def test_each_time_is_held_when_it_comes_summer_and_winter(store: Store, tmp_path: Path) -> None:
    clock = VirtualClock(START, START + 28 * DAY, waiters=1)
    await served(store, clock, reviews(tmp_path), ending)
    mondays = ["2026-03-23T08:00", "2026-03-30T07:00", "2026-04-06T07:00", "2026-04-13T07:00"]
    assert table(store) == [ENROLLED, *((monday, "decided") for monday in mondays)]


async def test_of_two_daemons_one_holds_each_time(store: Store, tmp_path: Path) -> None:
    """Both are at the desk before either takes anything up, as two machines are whose clocks agree."""
    held: list[int] = []
    clock = VirtualClock(START, START + 28 * DAY, waiters=2)

    def counting(desk: ReviewDesk) -> Hold:
        async def hold(review: Review, taken: Taken) -> None:
            held.append(taken.claim.number)
            await anyio.lowlevel.checkpoint()
            desk.note(taken.claim, ReviewNotes(outcome="decided"))

        return hold

    await served(store, clock, reviews(tmp_path), counting, counting)
    assert sorted(held) == [2, 3, 4, 5]
    assert [outcome for _, outcome in table(store)] == ["enrolled"] + 4 * ["decided"]


async def test_what_was_missed_while_no_daemon_was_there_is_held_once_on_return(store: Store, tmp_path: Path) -> None:
    await served(store, VirtualClock(START, START + 8 * DAY, waiters=1), reviews(tmp_path), ending)
    await served(store, VirtualClock(START + 30 * DAY, START + 31 * DAY, waiters=1), reviews(tmp_path), ending)
    assert table(store) == [ENROLLED, ("2026-03-23T08:00", "decided"), ("2026-04-13T07:00", "decided")]


async def test_what_was_missed_is_noted_and_not_held_where_the_file_says_so(store: Store, tmp_path: Path) -> None:
    file = reviews(tmp_path, "missed: skip")
    await served(store, VirtualClock(START, START + DAY, waiters=1), file, ending)
    await served(store, VirtualClock(START + 30 * DAY, START + 36 * DAY, waiters=1), file, ending)
    assert table(store) == [ENROLLED, ("2026-04-13T07:00", "passed_over"), ("2026-04-20T07:00", "decided")]
    why = store.reviews("weekly")[1].notes.why
    assert why == "2026-04-13 07:00 UTC was not held, nor were 3 times before it: nobody was there to hold it."


@pytest.mark.parametrize(("overlap", "then"), [("skip", "passed_over"), ("after", "decided")])
async def test_a_time_that_comes_while_one_is_held_is_passed_over_or_held_after_it(
    store: Store, tmp_path: Path, overlap: str, then: str
) -> None:
    clock = VirtualClock(START, START + 16 * DAY, waiters=1)

    def lasting(desk: ReviewDesk) -> Hold:
        async def hold(review: Review, taken: Taken) -> None:
            if taken.claim.number == 2:
                await clock.until(clock.now() + 8 * DAY)
            desk.note(taken.claim, ReviewNotes(outcome="decided"))

        return hold

    await served(store, clock, reviews(tmp_path, f"overlap: {overlap}"), lasting)
    assert table(store) == [ENROLLED, ("2026-03-23T08:00", "decided"), ("2026-03-30T07:00", then)]


async def test_what_stopped_is_gone_on_with_after_an_hour(store: Store, tmp_path: Path) -> None:
    clock = VirtualClock(START, START + 8 * DAY, waiters=1)
    tries: list[tuple[datetime, ReviewNotes]] = []

    def failing_twice(desk: ReviewDesk) -> Hold:
        async def hold(review: Review, taken: Taken) -> None:
            tries.append((clock.now(), taken.notes))
            if len(tries) < 3:
                desk.note(taken.claim, ReviewNotes(thread_id="a-thread"))
                desk.release(taken.claim)
                raise RunPaused("Nobody answers.")
            desk.note(taken.claim, taken.notes._replace(outcome="decided"))

        return hold

    told = await served(store, clock, reviews(tmp_path), failing_twice)
    first = datetime(2026, 3, 23, 8, tzinfo=UTC)
    assert tries == [
        (first, ReviewNotes()),
        (first + HOUR, ReviewNotes("a-thread")),
        (first + 2 * HOUR, ReviewNotes("a-thread")),
    ]
    assert table(store) == [ENROLLED, ("2026-03-23T08:00", "decided")]
    assert told == 2 * ["weekly: error: Nobody answers."]


async def test_what_met_a_limit_is_given_up_when_the_next_time_comes(store: Store, tmp_path: Path) -> None:
    clock = VirtualClock(START, START + 15 * DAY, waiters=1)

    def limited(desk: ReviewDesk) -> Hold:
        async def hold(review: Review, taken: Taken) -> None:
            if taken.claim.number == 2:
                desk.note(taken.claim, ReviewNotes(thread_id="a-thread", why="Changed: a.md."))
                desk.release(taken.claim)
                raise StoppedByLimit(LimitMet("It costs more.", "Raise it.", limit="cost_usd"))
            desk.note(taken.claim, ReviewNotes(outcome="decided"))

        return hold

    await served(store, clock, reviews(tmp_path), limited)
    assert table(store) == [ENROLLED, ("2026-03-23T08:00", "stopped"), ("2026-03-30T07:00", "decided")]
    stopped = store.reviews("weekly")[1].notes
    assert stopped.thread_id == "a-thread"
    assert stopped.why == "It stopped and was not resumed before the next time came. Changed: a.md."


async def test_what_met_a_limit_is_given_up_at_the_next_time_where_cron_asks(store: Store, tmp_path: Path) -> None:
    """Each of its processes knows of no other's stop."""
    file, clock = reviews(tmp_path), VirtualClock(START, START, waiters=9)
    enrol(desk_of(store, clock, 1), file.reviews[0], file.path, START)
    first = datetime(2026, 3, 23, 8, tzinfo=UTC)
    taken: list[int] = []
    for pid, at in enumerate((first, first + HOUR, first + 7 * DAY - 2 * HOUR, first + 7 * DAY), start=2):
        desk = desk_of(store, clock, pid)
        got = take_due(desk, file.reviews[0], file.path, at)
        assert isinstance(got, Taken)
        taken.append(got.claim.number)
        desk.note(got.claim, ReviewNotes(f"thread-{got.claim.number}", "{}", why="Changed: a.md."))
        desk.release(got.claim)  # a limit is met
    assert taken == [2, 2, 2, 3]
    assert table(store) == [ENROLLED, ("2026-03-23T08:00", "stopped"), ("2026-03-30T07:00", None)]
    stopped, going_on = (row.notes for row in store.reviews("weekly")[1:])
    assert (stopped.thread_id, stopped.seen, going_on.seen) == ("thread-2", None, "{}")


async def test_a_review_that_is_new_is_held_from_its_next_time_on_also_where_cron_asks(
    store: Store, tmp_path: Path
) -> None:
    file, desk = reviews(tmp_path), desk_of(store, VirtualClock(START, START, waiters=9), 1)
    assert isinstance(take_due(desk, file.reviews[0], file.path, START), NotNow)
    assert table(store) == [ENROLLED]
    taken = take_due(desk, file.reviews[0], file.path, datetime(2026, 3, 23, 8, tzinfo=UTC))
    assert isinstance(taken, Taken)
    assert table(store) == [ENROLLED, ("2026-03-23T08:00", None)]


async def test_what_is_over_as_soon_as_it_is_seen_is_never_left_half_written(store: Store, tmp_path: Path) -> None:
    """A second write would be where a process can be killed."""
    file, desk = reviews(tmp_path, "missed: skip"), desk_of(store, VirtualClock(START, START, waiters=9), 1)

    def killed(claim: ReviewClaim, notes: ReviewNotes) -> None:
        raise KeyboardInterrupt

    desk.note = killed  # type: ignore[method-assign]
    enrol(desk, file.reviews[0], file.path, START)
    assert isinstance(take_due(desk, file.reviews[0], file.path, START + 30 * DAY), NotNow)
    assert table(store) == [ENROLLED, ("2026-04-13T07:00", "passed_over")]


async def test_what_a_daemon_held_when_it_was_stopped_the_next_one_goes_on_with(store: Store, tmp_path: Path) -> None:
    clock = VirtualClock(START, START + 60 * DAY, waiters=1)
    at_work = anyio.Event()
    desk = desk_of(store, clock, 1)

    async def hold(review: Review, taken: Taken) -> None:
        desk.note(taken.claim, ReviewNotes(thread_id="a-thread"))
        at_work.set()
        try:
            await anyio.sleep_forever()
        finally:
            desk.release(taken.claim)

    with anyio.fail_after(DEADLINE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(Daemon(desk, reviews(tmp_path), clock, hold, print).serve)
            await at_work.wait()
            group.cancel_scope.cancel()
    resumed: list[ReviewNotes] = []

    def going_on(desk: ReviewDesk) -> Hold:
        async def hold(review: Review, taken: Taken) -> None:
            resumed.append(taken.notes)
            desk.note(taken.claim, taken.notes._replace(outcome="decided"))

        return hold

    later = VirtualClock(START + 8 * DAY, START + 9 * DAY, waiters=1)
    await served(store, later, reviews(tmp_path), going_on)
    assert resumed == [ReviewNotes("a-thread")]
    assert table(store) == [ENROLLED, ("2026-03-23T08:00", "decided")]


async def test_a_review_that_fails_by_our_own_mistake_keeps_no_other_from_being_held(
    store: Store, tmp_path: Path
) -> None:
    file = reviews(tmp_path)
    file.path.write_text(file.path.read_text() + "  - {name: nightly, cron: 0 9 * * 1, topic: 'Right?'}\n")
    clock = VirtualClock(START, START + 8 * DAY, waiters=2)

    def mistaken(desk: ReviewDesk) -> Hold:
        async def hold(review: Review, taken: Taken) -> None:
            desk.note(taken.claim, ReviewNotes(outcome="failed" if review.name == "weekly" else "decided"))
            if review.name == "weekly":
                raise AssertionError("a mistake")

        return hold

    told = await served(store, clock, load_reviews(file.path), mistaken)
    assert [row.notes.outcome for row in store.reviews()] == ["enrolled", "decided", "enrolled", "failed"]
    assert len(told) == 1
    assert "weekly: internal error" in told[0]


async def test_a_name_that_another_file_has_is_refused_and_nothing_begun(store: Store, tmp_path: Path) -> None:
    await served(store, VirtualClock(START, START + DAY, waiters=1), reviews(tmp_path), ending)
    (tmp_path / "other").mkdir()
    other = reviews(tmp_path / "other")
    clock = VirtualClock(START + 8 * DAY, START + 9 * DAY, waiters=1)
    desk = desk_of(store, clock, 1)
    with pytest.raises(UsageError, match=r"knows the review weekly from .*/reviews.yaml, not from .*/other"):
        await Daemon(desk, other, clock, ending(desk), print).serve()
    assert table(store) == [ENROLLED]
    (tmp_path / "reviews.yaml").unlink()  # it was moved
    await served(store, VirtualClock(START + 8 * DAY, START + 9 * DAY, waiters=1), other, ending)
    assert len(table(store)) == 2


async def test_by_hand_a_review_is_held_at_any_time_but_not_while_another_process_is_at_it(
    store: Store, tmp_path: Path
) -> None:
    file, clock = reviews(tmp_path), VirtualClock(START, START, waiters=9)
    mine, theirs = (desk_of(store, clock, pid) for pid in (1, 2))
    taken = take_by_hand(mine, file.reviews[0], file.path, clock.now())
    assert isinstance(taken, Taken)
    busy = take_by_hand(theirs, file.reviews[0], file.path, clock.now())
    assert busy == NotNow("process 1 on a is at it, since 2026-03-16 12:00 UTC.", is_held=True)
    mine.release(taken.claim)
    over = take_by_hand(theirs, file.reviews[0], file.path, clock.now())
    assert isinstance(over, Taken)
    assert over.claim == taken.claim._replace(epoch=2)
    theirs.note(over.claim, ReviewNotes(outcome="decided"))
    again = take_by_hand(mine, file.reviews[0], file.path, clock.now())
    assert isinstance(again, Taken)
    assert again.result == "weekly/2"
