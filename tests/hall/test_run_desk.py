"""The desk at which runs report: what any process can read of a run, and ask of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from halls import THREAD, HastyStore

from orchestrator.errors import NotActive, UnknownThread
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.run_state import SILENCE_S, run_state

BEGAN = datetime(2026, 1, 6, 9, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = BEGAN

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hall(tmp_path: Path, clock: Clock) -> Iterator[Hall]:
    with Hall(HastyStore(prepare(tmp_path / "state")), clock=clock) as hall:
        hall.init_debate(THREAD, "Which?")
        yield hall


def state_of(hall: Hall) -> str:
    return run_state(hall.runs.reports(THREAD), hall.runs.silence_s(THREAD))["state"]


def test_a_run_that_is_not_heard_of_is_interrupted_and_one_that_is_heard_of_again_is_running(
    hall: Hall, clock: Clock
) -> None:
    assert (hall.runs.silence_s(THREAD), state_of(hall)) == (None, "none")
    hall.runs.begin(THREAD, "process 7 on a host")
    hall.runs.report(THREAD, [{"type": "run_started", "at": "2026-01-06T09:00:00.000Z"}])
    clock.now += timedelta(seconds=SILENCE_S - 1)
    assert (hall.runs.silence_s(THREAD), state_of(hall)) == (SILENCE_S - 1, "running")
    clock.now += timedelta(seconds=1)
    assert (hall.runs.silence_s(THREAD), state_of(hall)) == (SILENCE_S, "interrupted")
    hall.runs.attend(THREAD)
    assert (hall.runs.silence_s(THREAD), state_of(hall)) == (0.0, "running")


def test_what_was_told_comes_back_with_its_number(hall: Hall) -> None:
    hall.runs.report(THREAD, [{"type": "a", "words": "é \u2028 🙂"}, {"type": "b", "nested": {"list": [1, None]}}])
    hall.runs.report(THREAD, [{"type": "c"}])
    assert hall.runs.reports(THREAD) == [
        {"type": "a", "words": "é \u2028 🙂", "number": 0},
        {"type": "b", "nested": {"list": [1, None]}, "number": 1},
        {"type": "c", "number": 2},
    ]
    assert [report["number"] for report in hall.runs.reports(THREAD, after=1)] == [2]


def test_a_request_reaches_the_run_and_none_can_be_made_where_nobody_runs(hall: Hall) -> None:
    with pytest.raises(NotActive, match=f"Nobody runs {THREAD}"):
        hall.runs.stop(THREAD, "It costs too much.")
    hall.runs.begin(THREAD, "process 7 on a host")
    assert hall.runs.attend(THREAD) == (True, None)
    hall.runs.stop(THREAD.upper(), "It costs too much.")
    assert hall.runs.attend(THREAD) == (True, "It costs too much.")


def test_a_run_hears_the_kill_switch(hall: Hall) -> None:
    hall.runs.begin(THREAD, "process 7 on a host")
    hall.force_close_debate(THREAD, "Wrong question.")
    assert hall.runs.attend(THREAD) == (False, None)


def test_a_thread_that_is_not_there_has_no_desk(hall: Hall) -> None:
    for operation in (
        lambda: hall.runs.begin("nobody", "process 7"),
        lambda: hall.runs.attend("nobody"),
        lambda: hall.runs.stop("nobody", "why"),
        lambda: hall.runs.report("nobody", [{}]),
        lambda: hall.runs.reports("nobody"),
        lambda: hall.runs.silence_s("nobody"),
    ):
        with pytest.raises(UnknownThread):
            operation()


def test_nothing_that_a_run_tells_stands_in_the_debate(hall: Hall) -> None:
    before = hall.export_debate(THREAD), hall.get_debate(THREAD), hall.list_debates(), hall.verify_debate(THREAD)
    hall.runs.begin(THREAD, "process 7 on a host")
    hall.runs.report(THREAD, [{"type": "run_started"}])
    hall.runs.stop(THREAD, "It costs too much.")
    after = hall.export_debate(THREAD), hall.get_debate(THREAD), hall.list_debates(), hall.verify_debate(THREAD)
    assert after == before
