"""The desk at which runs report: who may run a thread, what any process can read of a run, and ask of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from halls import THREAD, HastyStore, database, every_record

from orchestrator.errors import LeaseLost, NotActive, RunHeld, UnknownThread
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.runs import SILENCE_S, RunDesk, this_process
from orchestrator.hall.store import Holder, Lease

BEGAN = datetime(2026, 1, 6, 9, tzinfo=UTC)
NO_TIMES = ("", "another", "2026-01-06T09:00:00", "9999-12-31T23:59:59Z")
HERE = this_process()
BEGIN_AND_WAIT = """
import sys
from orchestrator.hall.hall import Hall
with Hall.open(sys.argv[1]) as hall:
    hall.runs.begin(sys.argv[2])
    print("begun", flush=True)
    sys.stdin.readline()
"""


class Clock:
    def __init__(self) -> None:
        self.now = BEGAN

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HastyStore]:
    store = HastyStore(prepare(tmp_path / "state"))
    yield store
    store.close()


@pytest.fixture
def hall(store: HastyStore, clock: Clock) -> Hall:
    hall = Hall(store, clock=clock)
    hall.init_debate(THREAD, "Which?")
    return hall


@pytest.fixture
def desk_of(store: HastyStore, hall: Hall, clock: Clock) -> Callable[[Holder], RunDesk]:
    """A desk of the hall as another process sees it."""
    return lambda holder: RunDesk(store, clock, holder)


def life(desk: RunDesk, active: bool = True) -> str:
    return desk.life(desk.row(THREAD), active)


# ------------------------------------------------------------------------------------------------------- who may run it


def test_who_holds_a_thread_is_named_with_the_time_and_the_cure(
    hall: Hall, clock: Clock, desk_of: Callable[[Holder], RunDesk]
) -> None:
    hall.runs.begin(THREAD)
    clock.forward(3)
    with pytest.raises(RunHeld) as held:
        desk_of(Holder("elsewhere pid:[1]", 8)).begin(THREAD.upper())
    assert str(held.value) == (
        f"{HERE} has run {THREAD.upper()} since 2026-01-06 09:00:00 UTC; it was heard of 3 s ago. "
        "Wait for it, or stop it; once it is not heard of for 15 s it can be taken over."
    )
    assert str(HERE).startswith(f"process {HERE.pid} on ")
    assert "[" not in str(HERE)  # what tells its processes apart is for programs


def test_one_process_cannot_run_a_thread_twice_at_once(hall: Hall) -> None:
    hall.runs.begin(THREAD)
    with pytest.raises(RunHeld):
        hall.runs.begin(THREAD)


def test_a_run_that_has_ended_is_taken_over_at_once(hall: Hall, desk_of: Callable[[Holder], RunDesk]) -> None:
    lease = hall.runs.begin(THREAD)
    hall.runs.release(lease)
    assert desk_of(Holder("elsewhere pid:[1]", 8)).begin(THREAD) == Lease(THREAD, 2)
    with pytest.raises(LeaseLost):
        hall.runs.attend(lease)


@pytest.mark.parametrize("place", [HERE.place, "elsewhere pid:[1]"], ids=["on this host", "on another host"])
def test_a_run_is_taken_over_once_it_is_silent_for_long_enough(
    hall: Hall, clock: Clock, desk_of: Callable[[Holder], RunDesk], place: str
) -> None:
    lease = desk_of(Holder(place, HERE.pid)).begin(THREAD)  # this process is there, wherever it is taken to be
    clock.forward(SILENCE_S - 0.1)
    with pytest.raises(RunHeld):
        hall.runs.begin(THREAD)
    hall.runs.attend(lease)  # it was heard of
    clock.forward(SILENCE_S - 0.1)
    with pytest.raises(RunHeld):
        hall.runs.begin(THREAD)
    clock.forward(0.1)
    assert hall.runs.begin(THREAD) == Lease(THREAD, 2)


def test_a_run_from_times_to_come_holds_nobody_up(hall: Hall, clock: Clock) -> None:
    """The clock was set back, and whoever lives has told the new time since."""
    hall.runs.begin(THREAD)
    clock.forward(-3600)
    assert life(hall.runs) == "interrupted"
    assert hall.runs.begin(THREAD).epoch == 2


def test_a_process_that_died_on_this_host_is_taken_over_at_once(
    tmp_path: Path, hall: Hall, clock: Clock, desk_of: Callable[[Holder], RunDesk]
) -> None:
    clock.now = datetime.now(UTC)  # as it is for the other process
    command = [sys.executable, "-c", BEGIN_AND_WAIT, str(tmp_path / "state"), THREAD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        with pytest.raises(RunHeld, match=f"process {process.pid} on "):
            hall.runs.begin(THREAD)
        assert life(hall.runs) == "running"
        process.kill()
    assert life(hall.runs) == "interrupted"
    assert life(desk_of(Holder("elsewhere pid:[1]", 8))) == "running"  # who is elsewhere cannot see that
    assert hall.runs.begin(THREAD) == Lease(THREAD, 2)


def test_a_run_is_handed_over_while_it_goes_on_and_with_what_was_asked_of_it(
    hall: Hall, desk_of: Callable[[Holder], RunDesk]
) -> None:
    first = hall.runs.begin(THREAD)
    hall.runs.stop(THREAD, "It costs too much.")
    second = desk_of(Holder(HERE.place, 8)).begin(THREAD, succeeds=first)
    assert second == Lease(THREAD, 2)
    assert hall.runs.attend(second).request == "It costs too much."
    with pytest.raises(LeaseLost, match=r"process 8 on .* has taken it over"):
        hall.runs.attend(first)


@pytest.mark.parametrize("ended", [False, True], ids=["and goes on", "and has ended"])
def test_a_hand_over_comes_too_late_where_another_has_taken_over(
    hall: Hall, desk_of: Callable[[Holder], RunDesk], ended: bool
) -> None:
    """The process that was to go on was asleep; what has happened since was not meant for it."""
    first = hall.runs.begin(THREAD)
    hall.runs.release(first)
    second = hall.runs.begin(THREAD)
    if ended:
        hall.runs.release(second)
    with pytest.raises(LeaseLost, match="handed over too late"):
        desk_of(Holder("elsewhere pid:[1]", 8)).begin(THREAD, succeeds=first)
    row = hall.runs.row(THREAD)
    assert row is not None
    assert row.epoch == second.epoch


def test_where_another_begins_between_the_look_and_the_step_it_holds_the_thread(hall: Hall, store: HastyStore) -> None:
    look, rival = store.run_row, RunDesk(store, Clock(), Holder("elsewhere pid:[1]", 8))

    def look_and_be_overtaken(thread_id: str) -> object:
        seen = look(thread_id)
        store.run_row = look  # type: ignore[method-assign]
        rival.begin(thread_id)
        return seen

    store.run_row = look_and_be_overtaken  # type: ignore[method-assign, assignment]
    with pytest.raises(RunHeld, match="process 8 on elsewhere"):
        hall.runs.begin(THREAD)


# ----------------------------------------------------------------------------------------------------- what it is doing


def test_the_life_of_a_run_in_five_words(hall: Hall, clock: Clock) -> None:
    assert [life(hall.runs, active) for active in (True, False)] == ["none", "none"]
    lease = hall.runs.begin(THREAD)
    assert [life(hall.runs, active) for active in (True, False)] == ["running", "running"]
    clock.forward(SILENCE_S)
    assert [life(hall.runs, active) for active in (True, False)] == ["interrupted", "done"]
    hall.runs.attend(lease)
    assert [life(hall.runs, active) for active in (True, False)] == ["running", "running"]
    hall.runs.release(lease)
    assert [life(hall.runs, active) for active in (True, False)] == ["paused", "done"]


def test_a_list_says_what_the_run_of_each_debate_is_doing(hall: Hall, clock: Clock) -> None:
    for number in range(5):
        hall.init_debate(f"2026-01-07-{number}", "Which?")
    leases = [hall.runs.begin(f"2026-01-07-{number}") for number in range(1, 5)]
    hall.runs.release(leases[1])
    hall.force_close_debate("2026-01-07-4", "Wrong question.")
    hall.runs.release(leases[3])
    clock.forward(SILENCE_S)
    hall.runs.attend(leases[0])
    listed = {each["thread_id"]: each["run"] for each in hall.list_debates()}
    words = ["none", "running", "paused", "interrupted", "done"]
    assert listed == {THREAD: "none"} | {f"2026-01-07-{number}": word for number, word in enumerate(words)}


def test_how_long_runs_went_on_is_counted_over_all_of_them_and_not_between(hall: Hall, clock: Clock) -> None:
    assert hall.runs.seconds(THREAD) == 0
    first = hall.runs.begin(THREAD)
    clock.forward(10)
    hall.runs.attend(first)
    clock.forward(100)  # it died at some time since
    assert hall.runs.seconds(THREAD) == 10
    second = hall.runs.begin(THREAD)
    clock.forward(2.5)
    hall.runs.release(second)
    clock.forward(1000)
    hall.runs.release(second)  # once more; it has ended already
    assert hall.runs.seconds(THREAD) == 12.5
    hall.runs.begin(THREAD)
    assert hall.runs.seconds(THREAD) == 12.5


def test_a_clock_that_is_set_back_gives_no_time_back(hall: Hall, clock: Clock) -> None:
    lease = hall.runs.begin(THREAD)
    clock.forward(-60)
    hall.runs.release(lease)
    assert hall.runs.seconds(THREAD) == 0


@pytest.mark.parametrize(
    ("column", "value", "word"),
    [
        *(("beat_at", value, "interrupted") for value in NO_TIMES),
        *(("began_at", value, "running") for value in NO_TIMES),
        *(("place", value, "running") for value in ("", " ", "another")),
        ("pid", 2**62, "interrupted"),
    ],
)
def test_a_damaged_run_hides_no_debate_and_holds_nobody_up_for_long(
    hall: Hall, clock: Clock, tmp_path: Path, column: str, value: object, word: str
) -> None:
    hall.runs.begin(THREAD)
    with closing(database(tmp_path / "state")) as db:
        db.execute(f"UPDATE runs SET {column} = ?", (value,))
    assert [listed["run"] for listed in hall.list_debates()] == [word]
    assert hall.runs.seconds(THREAD) >= 0
    if word == "running":
        with pytest.raises(RunHeld, match="process "):
            hall.runs.begin(THREAD)
        clock.forward(SILENCE_S)
    assert hall.runs.begin(THREAD).epoch == 2


# ------------------------------------------------------------------------------------------------------- what is told


def test_what_was_told_comes_back_with_its_number(hall: Hall) -> None:
    lease = hall.runs.begin(THREAD)
    hall.runs.report(lease, [{"type": "a", "words": "é \u2028 🙂"}, {"type": "b", "nested": {"list": [1, None]}}])
    hall.runs.report(lease, [{"type": "c", "message": "half a \ud83d pair", "reason": None}])
    assert hall.runs.reports(THREAD) == [
        {"type": "a", "words": "é \u2028 🙂", "number": 0},
        {"type": "b", "nested": {"list": [1, None]}, "number": 1},
        {"type": "c", "message": "half a \ud83d pair", "reason": None, "number": 2},
    ]
    assert [report["number"] for report in hall.runs.reports(THREAD, after=1)] == [2]


def test_after_a_redaction_nothing_is_told_in_free_words(hall: Hall) -> None:
    hall.add_turn(THREAD, "Wind", "Mrs Miller knows.")
    lease = hall.runs.begin(THREAD)
    hall.runs.report(lease, [{"type": "retried", "code": "server", "message": "Mrs Miller?", "attempt": 1}])
    hall.runs.report(lease, [{"type": "sent_back", "reason": "Who is Mrs Miller?"}])
    hall.tombstone_turn(THREAD, 0, "It named a customer.")
    hall.runs.report(lease, [{"type": "paused", "message": "The disk is full."}])
    assert hall.runs.reports(THREAD) == [
        {"type": "retried", "code": "server", "attempt": 1, "number": 0},
        {"type": "sent_back", "number": 1},
        {"type": "paused", "message": "The disk is full.", "number": 2},
    ]


def test_a_request_reaches_the_run_and_none_can_be_made_where_nobody_runs(hall: Hall) -> None:
    with pytest.raises(NotActive, match=f"Nobody runs {THREAD}"):
        hall.runs.stop(THREAD, "It costs too much.")
    lease = hall.runs.begin(THREAD)
    assert hall.runs.attend(lease) == (True, None)
    hall.runs.stop(THREAD.upper(), "It costs too much.")
    assert hall.runs.attend(lease) == (True, "It costs too much.")


def test_a_run_hears_the_kill_switch(hall: Hall) -> None:
    lease = hall.runs.begin(THREAD)
    hall.force_close_debate(THREAD, "Wrong question.")
    assert hall.runs.attend(lease) == (False, None)


def test_a_hall_under_a_lease_writes_as_long_as_the_lease_is_good(hall: Hall) -> None:
    lease = hall.runs.begin(THREAD)
    under = hall.under(lease)
    under.add_turn(THREAD, "Wind", "What if?")
    hall.add_turn(THREAD, "Wall", "Yes, but.")  # somebody else, while the run goes on
    hall.runs.release(lease)
    before = hall.export_debate(THREAD)
    with pytest.raises(LeaseLost, match="it has ended"):
        under.add_turn(THREAD, "Door", "Therefore.")
    with pytest.raises(LeaseLost):
        under.note(THREAD, "words", "remark", "the runner")
    assert hall.export_debate(THREAD) == before


def test_a_thread_that_is_not_there_has_no_desk(hall: Hall) -> None:
    nobody = Lease("nobody", 1)
    for operation in (
        lambda: hall.runs.begin("nobody"),
        lambda: hall.runs.attend(nobody),
        lambda: hall.runs.release(nobody),
        lambda: hall.runs.stop("nobody", "why"),
        lambda: hall.runs.report(nobody, [{}]),
        lambda: hall.runs.reports("nobody"),
        lambda: hall.runs.keep(nobody, every_record()),
        lambda: hall.runs.row("nobody"),
        lambda: hall.runs.seconds("nobody"),
        lambda: hall.journal("nobody"),
    ):
        with pytest.raises(UnknownThread):
            operation()


def test_nothing_that_a_run_tells_or_keeps_stands_in_the_debate(hall: Hall) -> None:
    def shown() -> list[object]:
        listed = [{**each, "run": None} for each in hall.list_debates()]
        return [hall.export_debate(THREAD), hall.get_debate(THREAD), listed, hall.verify_debate(THREAD)]

    before = shown()
    lease = hall.runs.begin(THREAD)
    hall.runs.report(lease, [{"type": "run_started"}])
    hall.runs.keep(lease, every_record())
    hall.runs.stop(THREAD, "It costs too much.")
    assert shown() == before
