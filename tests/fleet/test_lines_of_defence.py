"""What defends a fleet, one line at a time: workers that slept, a server that was away, a clock that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from signal import SIGTERM
from threading import Timer

import pytest
from crew import SILENCE_S, Crew, Worker, await_true, kill

from endpoint import ModelServer
from orchestrator.fleet import queue_tables
from orchestrator.hall.address import read
from orchestrator.hall.store_place import migrate
from postgres import fresh_hall, needs_postgres
from postgres_cluster import cluster, program

pytestmark = [pytest.mark.slow, needs_postgres]
THREAD, OTHER = "2026-01-06-queue", "2026-01-06-cache"
FIRST_CALLS = 2  # of a SPEED debate: Wind's, and Wall's for its checklist
NEVER_S = 3600.0
HOUR = pytest.mark.parametrize("hours", [-1.0, 1.0], ids=["late", "early"])


@contextmanager
def crew_at(folder: Path, address: str) -> Iterator[Crew]:
    queue_tables.make(read(address))
    with ModelServer(deadline_s=120) as server:
        crew = Crew(folder, server, address)
        yield crew
        crew.clear()


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    with fresh_hall() as address, crew_at(tmp_path, address) as crew:
        yield crew


# ---------------------------------------------------------------------------------------- a worker that only slept


def sleeper_of(crew: Crew, calls: int) -> Worker:
    """A worker that fell asleep in the first calls of its debate.

    Args:
        calls: whoever has the provider wait for so many lets them go.
    """
    crew.server.hold_until(calls)
    crew.submit(THREAD)
    sleeper = crew.worker()
    crew.await_calls(FIRST_CALLS)
    crew.freeze(sleeper)
    return sleeper


def assert_shut_out(crew: Crew, sleeper: Worker, by: Worker) -> None:
    sleeper.await_told("has taken it over")
    (told,) = sleeper.lines("has taken it over")
    assert f"process {by.process.pid} on" in told


def test_a_worker_that_wakes_up_while_another_holds_its_debate_is_shut_out_and_ends_no_job_of_the_others(
    crew: Crew,
) -> None:
    sleeper = sleeper_of(crew, 2 * FIRST_CALLS + 1)
    other = crew.worker(dead_after_s=SILENCE_S)
    crew.await_calls(2 * FIRST_CALLS)
    held = crew.asked("SELECT id, status::text, worker_id, attempts FROM procrastinate_jobs")
    sleeper.wake()
    assert_shut_out(crew, sleeper, by=other)
    assert crew.asked("SELECT id, status::text, worker_id, attempts FROM procrastinate_jobs") == held
    crew.server.hold_until(FIRST_CALLS + 1)  # those of the sleeper are gone
    crew.submit(OTHER)  # which it takes, under a new name; its first call lets all of them go
    crew.await_ended(THREAD, OTHER)
    assert len(sleeper.lines(f"{OTHER}: synthesis")) == len(sleeper.lines("others took this worker for dead")) == 1
    crew.assert_held_once(THREAD, lost_at_most=FIRST_CALLS)
    crew.assert_held_once(OTHER)


def test_a_worker_that_wakes_up_when_its_debate_is_over_writes_nothing_and_goes_on_with_others(crew: Crew) -> None:
    sleeper = sleeper_of(crew, FIRST_CALLS + 1)
    other = crew.worker()
    crew.await_ended(THREAD)
    other.signal(SIGTERM)
    assert other.ended() == 0
    rows, calls = crew.rows(THREAD), len(crew.server.calls)
    sleeper.wake()
    assert_shut_out(crew, sleeper, by=other)
    crew.submit(OTHER)
    crew.await_ended(OTHER)
    assert len(sleeper.lines("others took this worker for dead")) == 1
    assert crew.rows(THREAD) == rows
    assert len(crew.calls_of(THREAD)) == calls
    crew.assert_held_once(THREAD, lost_at_most=FIRST_CALLS)
    crew.assert_held_once(OTHER)


def test_a_worker_whose_sleep_was_not_noticed_goes_on_with_what_it_heard(crew: Crew) -> None:
    crew.server.hold_until(FIRST_CALLS + 1)
    crew.submit(THREAD)
    sleeper = crew.worker(dead_after_s=NEVER_S, silence_s=NEVER_S)
    crew.await_calls(FIRST_CALLS)
    crew.freeze(sleeper)
    crew.submit(OTHER)
    crew.worker(dead_after_s=NEVER_S, silence_s=NEVER_S)
    crew.await_closed(OTHER)  # its first call let all of them go
    sleeper.wake()
    crew.await_ended(THREAD, OTHER)
    assert sleeper.lines("taken") == [f"{THREAD}: taken"]
    crew.assert_held_once(THREAD)


# ------------------------------------------------------------------------------------------- a server that was away


@pytest.mark.parametrize(
    ("away_s", "dead_after_s"), [(20, 30), (8, 4)], ids=["for 20 s", "for longer than a heart may be silent"]
)
@pytest.mark.skipif(program("initdb") is None, reason="there is no initdb to make a server with")
def test_a_server_that_is_away_in_the_middle_of_commits_loses_nothing_and_is_waited_for(
    tmp_path: Path, away_s: float, dead_after_s: float
) -> None:
    threads = [f"2026-01-06-{number}" for number in range(12)]
    with cluster() as running:
        migrate(running.address())
        with crew_at(tmp_path, running.address()) as crew:
            crew.server.latency_s = 0.3
            crew.submit(*threads)
            workers = [crew.worker(concurrency=3, dead_after_s=dead_after_s, silence_s=15) for _ in range(2)]
            crew.await_calls(12)
            running.stop()
            back = Timer(away_s, running.start)
            back.start()
            back.join()
            crew.await_ended(*threads)
            for worker in workers:
                assert len(worker.lines("is there again")) == 1
                assert worker.lines("others took") == worker.lines("its worker is gone") == []
            for (
                thread_id
            ) in threads:  # whatever is being written when it goes pauses its debate, with the calls in flight
                paused = any(worker.lines(f"{thread_id}: again in 10 s") for worker in workers)
                crew.assert_held_once(thread_id, lost_at_most=FIRST_CALLS if paused else 0)


# ---------------------------------------------------------------------------------------------- a clock that is wrong


@HOUR
def test_a_worker_whose_clock_is_wrong_takes_nobody_for_dead_who_lives(crew: Crew, hours: float) -> None:
    crew.server.hold_until(FIRST_CALLS + 1)
    crew.submit(THREAD)
    right = crew.worker()
    crew.await_calls(FIRST_CALLS)
    held = crew.asked("SELECT id, status::text, worker_id FROM procrastinate_jobs")
    wrong = crew.worker(concurrency=2, hours=hours)
    await_sweeps(crew, wrong, 3)
    assert crew.asked("SELECT id, status::text, worker_id FROM procrastinate_jobs") == held
    crew.put(THREAD)
    crew.asked("UPDATE procrastinate_jobs SET lock = NULL")  # now nothing but the lease keeps it away
    wrong.await_told("again in 5 s")
    (told,) = wrong.lines("again in 5 s")
    assert f"process {right.process.pid} on" in told
    crew.submit(OTHER)  # its first call lets all of them go
    crew.await_ended(THREAD, OTHER)  # also the job that was to be tried in 5 s
    for thread_id in (THREAD, OTHER):
        crew.assert_held_once(thread_id)


def await_sweeps(crew: Crew, worker: Worker, times: int) -> None:
    """Waits until a worker has put back so many jobs of the dead: those of a queue from which nobody takes."""
    crew.asked("INSERT INTO procrastinate_jobs (queue_name, task_name) VALUES ('nobody', 'planted')")

    def swept() -> bool:
        crew.asked("UPDATE procrastinate_jobs SET status = 'doing' WHERE task_name = 'planted'")
        return len(worker.lines("planted: its worker is gone")) >= times

    await_true(swept)
    crew.asked("DELETE FROM procrastinate_jobs WHERE task_name = 'planted'")


@HOUR
def test_a_worker_whose_clock_is_wrong_misses_the_dead_and_writes_down_the_time_of_the_server(
    crew: Crew, hours: float
) -> None:
    crew.server.hold_until(FIRST_CALLS + 1)
    crew.submit(THREAD)
    begun = datetime.now(UTC)
    right = crew.worker()
    crew.await_calls(FIRST_CALLS)
    crew.worker(hours=hours)
    kill(right)
    crew.server.hold_until()
    crew.await_ended(THREAD)
    crew.assert_held_once(THREAD, lost_at_most=FIRST_CALLS)
    with crew.hall() as hall:
        written = [datetime.fromisoformat(line.entry.at) for line in hall.debate(THREAD).lines[1:]]
        told = datetime.fromisoformat(hall.runs.reports(THREAD)[-1]["at"])
    assert begun < min(written) <= max(written) < datetime.now(UTC)
    assert abs(told - written[-1] - timedelta(hours=hours)) < timedelta(minutes=5), "its clock was wrong indeed"


@HOUR
def test_what_a_worker_whose_clock_is_wrong_puts_back_another_takes_at_once(crew: Crew, hours: float) -> None:
    crew.server.hold_until(FIRST_CALLS + 1)
    crew.submit(THREAD)
    wrong = crew.worker(hours=hours, dead_after_s=NEVER_S)
    crew.await_calls(FIRST_CALLS)
    wrong.signal(SIGTERM)
    assert wrong.ended() == 0
    crew.server.hold_until()
    crew.worker(dead_after_s=NEVER_S)
    crew.await_ended(THREAD)
    crew.assert_held_once(THREAD, lost_at_most=FIRST_CALLS)
