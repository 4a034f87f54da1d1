"""Jobs that workers lost: given and never heard of, there twice, put down at the end, left behind by the dead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from signal import SIGTERM

import psycopg
import pytest
from crew import Crew, await_true, kill

from endpoint import ModelServer
from orchestrator.fleet import queue_tables
from orchestrator.hall.address import read
from orchestrator.hall.postgres_schema import parameters_of
from postgres import fresh_hall, needs_postgres

pytestmark = [pytest.mark.slow, needs_postgres]
THREAD, OTHER, THIRD = "2026-01-06-queue", "2026-01-06-cache", "2026-01-06-search"
FIRST_CALLS = 2  # of a SPEED debate: Wind's, and Wall's for its checklist
NEVER_S = 3600.0
NEXT_CENTURY = "2101-01-06T08:00Z"
_WAITING = """  -- for a transaction, or for who waits for it
WITH RECURSIVE waiting (pid) AS (
  VALUES (%s::integer)
  UNION SELECT a.pid FROM pg_stat_activity a JOIN waiting w ON w.pid = ANY (pg_blocking_pids(a.pid))
)
SELECT count(*) - 1 FROM waiting
"""


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    with ModelServer(deadline_s=120) as server, fresh_hall() as address:
        queue_tables.make(read(address))
        crew = Crew(tmp_path, server, address)
        yield crew
        crew.clear()


def test_a_job_that_a_worker_never_heard_it_was_given_is_put_back_by_that_worker(crew: Crew) -> None:
    """The server gave it, and the connection broke before it could say so."""
    worker = crew.worker(concurrency=2)
    await_true(lambda: crew.asked("SELECT count(*) FROM procrastinate_workers") == [(1,)])
    crew.submit(THREAD, asked=("--recipe", "speed", "--after", NEXT_CENTURY))
    crew.asked(
        "UPDATE procrastinate_jobs SET status = 'doing', scheduled_at = NULL, worker_id = w.id "
        "FROM procrastinate_workers w"
    )
    crew.await_ended(THREAD)
    assert (len(worker.lines("taken")), worker.lines("its worker is gone")) == (1, [])
    crew.assert_held_once(THREAD)


# ------------------------------------------------------------------------------------------------------- there twice


def test_a_debate_that_is_in_the_queue_three_times_is_held_once(crew: Crew) -> None:
    crew.submit(THREAD)
    crew.put(THREAD)
    crew.put(THREAD.upper())
    workers = [crew.worker(concurrency=3) for _ in range(2)]
    crew.await_ended(THREAD)
    told = [line for worker in workers for line in worker.lines("synthesis")]
    assert sorted(line.rpartition(": ")[2] for line in told) == ["synthesis", "synthesis already", "synthesis already"]
    crew.assert_held_once(THREAD)


def test_of_workers_that_take_one_debate_at_once_one_holds_it_and_the_others_look_again_later(crew: Crew) -> None:
    """The queue's own lock keeps its jobs apart; without it the lease does."""
    crew.server.hold_until(FIRST_CALLS + 1)
    crew.submit(THREAD)
    first = crew.worker()
    crew.await_calls(FIRST_CALLS)
    crew.put(THREAD)
    crew.asked("UPDATE procrastinate_jobs SET lock = NULL")
    second = crew.worker()
    second.await_told("again in 5 s")
    (told,) = second.lines("again in 5 s")
    assert f"process {first.process.pid} on" in told
    assert len(crew.server.calls) == FIRST_CALLS
    crew.submit(OTHER)  # its first call lets them all go
    crew.await_ended(THREAD, OTHER)
    crew.assert_held_once(THREAD)


# -------------------------------------------------------------------------------------------------------- put down


def test_a_worker_that_is_told_to_stop_puts_its_debates_back_and_another_goes_on_at_once(crew: Crew) -> None:
    crew.server.hold_until(2 * FIRST_CALLS + 1)
    crew.submit(THREAD, OTHER)
    first = crew.worker(concurrency=2, dead_after_s=NEVER_S, silence_s=NEVER_S)
    crew.await_calls(2 * FIRST_CALLS)
    first.signal(SIGTERM)
    assert first.ended() == 0
    assert len(first.lines("paused and put back")) == 2
    assert first.told[-1] == "stopped; what was under way is paused, and waits for another worker"
    crew.server.hold_until()
    second = crew.worker(concurrency=2, dead_after_s=NEVER_S, silence_s=NEVER_S)
    crew.await_ended(THREAD, OTHER)
    assert (len(second.lines("taken")), second.lines("again in")) == (2, [])
    for thread_id in (THREAD, OTHER):
        crew.assert_held_once(thread_id, lost_at_most=FIRST_CALLS)


# ------------------------------------------------------------------------------------------------------ left behind


def test_of_two_that_find_the_jobs_of_the_dead_at_once_one_puts_back_each(crew: Crew) -> None:
    threads = (THREAD, OTHER, THIRD)
    crew.server.hold_until(len(threads) * FIRST_CALLS + 1)
    crew.submit(*threads)
    dead = crew.worker(concurrency=len(threads))
    crew.await_calls(len(threads) * FIRST_CALLS)
    others = [crew.worker() for _ in range(2)]
    await_true(lambda: crew.asked("SELECT count(*) FROM procrastinate_workers") == [(3,)])
    with psycopg.connect("", **parameters_of(read(crew.store))) as db, db.transaction():
        db.execute("SELECT FROM procrastinate_jobs FOR UPDATE")
        kill(dead)
        await_true(lambda: crew.asked(_WAITING, db.info.backend_pid) == [(2,)])
        crew.server.hold_until()
    crew.await_ended(*threads)
    put_back = [line for worker in others for line in worker.lines("put back")]
    assert sorted(put_back) == sorted(f"{thread_id}: its worker is gone; put back" for thread_id in threads)
    assert sum(len(worker.lines("taken")) for worker in others) == len(threads)
    for thread_id in threads:
        crew.assert_held_once(thread_id, lost_at_most=FIRST_CALLS)
