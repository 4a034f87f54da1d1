"""The queue beside the hall: which debates wait there, in which order, and what is taken out and put back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from orchestrator.errors import StoreUnavailable, UsageError
from orchestrator.fleet import queue_tables
from orchestrator.fleet.queue import Queue
from orchestrator.hall.address import read
from postgres import DATABASE, fresh_hall, needs_postgres

pytestmark = needs_postgres
Beside = psycopg.Connection[Any]
THREAD, OTHER = "2026-01-06-Queue", "2026-01-06-cache"


@pytest.fixture
def take(beside: Beside) -> Callable[[], str | None]:
    """Takes the job that comes next, as a worker does; says which debate it is."""
    (worker,) = beside.execute("SELECT worker_id FROM procrastinate_register_worker_v1()").fetchone() or (None,)

    def taken() -> str | None:
        asked = "SELECT args->>'thread_id' FROM procrastinate_fetch_job_v2(ARRAY['debates'], %s)"
        row = beside.execute(asked, (worker,)).fetchone()
        return row[0] if row else None

    return taken


@pytest.fixture
def jobs(beside: Beside) -> Callable[[], list[tuple[str, str, int]]]:
    """The debate, state and priority of each job."""
    asked = "SELECT args->>'thread_id', status::text, priority FROM procrastinate_jobs ORDER BY id"
    return lambda: beside.execute(asked).fetchall()


def end(beside: Beside, status: str) -> None:
    """Ends what is under way, as the worker that does it would."""
    beside.execute(
        "SELECT procrastinate_finish_job_v1(id, %s, false) FROM procrastinate_jobs WHERE status = 'doing'", (status,)
    )


def try_later(beside: Beside) -> None:
    """Puts back what is under way, for a try in an hour."""
    beside.execute(
        "SELECT procrastinate_retry_job_v2(id, now() + interval '1 hour', null, null, null) FROM procrastinate_jobs "
        "WHERE status = 'doing'"
    )


# ----------------------------------------------------------------------------------------------------------- who waits


def test_higher_priorities_are_taken_first_and_of_equals_who_waits_longest(
    queue: Queue, take: Callable[[], str | None]
) -> None:
    for thread_id, priority in (("a", 0), ("b", -5), ("c", 10), ("d", 0), ("e", 10)):
        queue.put(thread_id, priority)
    assert [take() for _ in range(6)] == ["c", "e", "a", "d", "b", None]


def test_what_is_for_later_is_not_taken_before(queue: Queue, take: Callable[[], str | None], beside: Beside) -> None:
    queue.put(THREAD, priority=9, after=datetime.now(UTC) + timedelta(hours=1))
    queue.put(OTHER)
    assert [take(), take()] == [OTHER, None]
    beside.execute("UPDATE procrastinate_jobs SET scheduled_at = scheduled_at - interval '1 hour'")
    assert take() == THREAD


def test_one_debate_is_taken_by_one_worker_at_a_time_however_its_id_is_written(
    queue: Queue, take: Callable[[], str | None], beside: Beside
) -> None:
    for written in (THREAD, THREAD.lower(), THREAD.upper()):
        queue.put(written)
    assert [take(), take()] == [THREAD, None]
    assert queue.has(THREAD.upper())
    end(beside, "succeeded")
    assert [take(), take()] == [THREAD.lower(), None]


def test_what_ended_waits_no_more(queue: Queue, take: Callable[[], str | None], beside: Beside) -> None:
    assert not queue.has(THREAD)
    queue.put(THREAD)
    assert queue.has(THREAD)
    take()
    assert queue.has(THREAD)
    end(beside, "succeeded")
    assert not queue.has(THREAD)


# ------------------------------------------------------------------------------------------------------- taken out


def test_all_that_waits_of_a_debate_is_taken_out_and_nothing_else(
    queue: Queue, take: Callable[[], str | None], jobs: Callable[[], Any]
) -> None:
    queue.put(THREAD)
    take()
    queue.put(THREAD)
    queue.put(THREAD.lower(), after=datetime.now(UTC) + timedelta(hours=1))
    queue.put(OTHER)
    assert queue.cancel(THREAD.upper()) == 2
    assert queue.cancel(THREAD) == 0
    assert jobs() == [(THREAD, "doing", 0), (OTHER, "todo", 0)]


# -------------------------------------------------------------------------------------------------------- tried again


def test_one_that_was_given_up_is_tried_again_as_if_it_was_new(
    queue: Queue, take: Callable[[], str | None], jobs: Callable[[], Any], beside: Beside
) -> None:
    queue.put(THREAD, priority=7)
    take()
    end(beside, "failed")
    assert (queue.has(THREAD), take()) == (False, None)
    assert queue.retry(THREAD)
    assert jobs() == [(THREAD, "todo", 7)]
    assert beside.execute("SELECT attempts FROM procrastinate_jobs").fetchall() == [(0,)]
    assert take() == THREAD


def test_one_that_was_given_up_is_tried_again_while_its_twin_waits(
    queue: Queue, take: Callable[[], str | None], jobs: Callable[[], Any], beside: Beside
) -> None:
    queue.put(THREAD)
    take()
    queue.put(THREAD)
    end(beside, "failed")
    assert not queue.retry(THREAD)
    assert jobs() == [(THREAD, "todo", 0)]


def test_one_that_is_to_be_tried_later_is_tried_now(
    queue: Queue, take: Callable[[], str | None], jobs: Callable[[], Any], beside: Beside
) -> None:
    queue.put(THREAD, priority=7)
    take()
    try_later(beside)
    assert take() is None
    assert queue.retry(THREAD, priority=9)
    assert jobs() == [(THREAD, "todo", 9)]
    assert take() == THREAD


@pytest.mark.parametrize("is_taken", [False, True], ids=["next", "taken"])
def test_one_that_is_next_or_taken_is_left_as_it_is(
    queue: Queue, take: Callable[[], str | None], jobs: Callable[[], Any], is_taken: bool
) -> None:
    queue.put(THREAD)
    if is_taken:
        take()
    before = jobs()
    assert not queue.retry(THREAD)
    assert jobs() == before


def test_one_that_has_no_job_gets_one(queue: Queue, jobs: Callable[[], Any]) -> None:
    assert queue.retry(THREAD)
    assert jobs() == [(THREAD, "todo", 0)]


# ----------------------------------------------------------------------------------------------------------- the tables


def test_a_hall_without_a_queue_says_how_to_make_it() -> None:
    with fresh_hall() as address:
        with pytest.raises(UsageError, match=r"has no queue for a fleet\. Make it: debate-hall store migrate"):
            Queue(read(address))
        assert queue_tables.make(read(address))
        Queue(read(address)).close()


def test_of_many_that_make_the_queue_at_once_one_does() -> None:
    together = threading.Barrier(4)

    def make(address: str) -> bool:
        together.wait(10)
        return queue_tables.make(read(address))

    with fresh_hall() as address, ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(make, [address] * 4)) == [False, False, False, True]
        with closing(Queue(read(address))) as queue:
            queue.put(THREAD)
            assert queue.has(THREAD)


def test_a_queue_of_an_older_version_is_brought_up_with_what_it_lacks() -> None:
    with fresh_hall() as address, psycopg.connect(DATABASE, autocommit=True) as db:
        place = read(address)
        queue_tables.make(place)
        db.execute(f"SET search_path = {place.schema}")
        db.execute("DROP TRIGGER procrastinate_trigger_status_events_update_v1 ON procrastinate_jobs")
        db.execute("COMMENT ON TABLE procrastinate_jobs IS '03.04.00_01_pre_add_retry_failed_job_procedure'")
        assert queue_tables.make(place)
        made = "SELECT tgname FROM pg_trigger WHERE tgrelid = 'procrastinate_jobs'::regclass"
        assert ("procrastinate_trigger_status_events_update_v1",) in db.execute(made).fetchall()
        assert not queue_tables.make(place)


def test_a_queue_that_was_taken_away_says_what_to_restore() -> None:
    with fresh_hall() as address:
        queue_tables.make(read(address))
        with closing(Queue(read(address))) as queue, psycopg.connect(DATABASE, autocommit=True) as db:
            db.execute(f"DROP TABLE {read(address).schema}.procrastinate_jobs CASCADE")
            with pytest.raises(StoreUnavailable, match="Something was removed there"):
                queue.put(THREAD)
