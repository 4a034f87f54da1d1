"""A fleet on PostgreSQL: SPEED debates of one, two and four workers, and what a long queue costs who takes from it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.row import Row
from endpoint import ModelServer
from orchestrator.fleet import names, queue_tables
from orchestrator.fleet.queue import Queue
from orchestrator.fleet.submitting import Submission, open_and_put, planned
from orchestrator.hall.address import read
from orchestrator.hall.hall import Hall
from orchestrator.hall.postgres_schema import parameters_of
from orchestrator.hall.terms import Status
from orchestrator.wanted import Wanted
from postgres import DATABASE, fresh_hall

DEBATES, AT_ONCE, LATENCY_S, CHAIN = 80, 10, 1.0, 4
TAKEN = 60  # jobs, from a queue of each length
PATIENCE_S = 300


def measure() -> Iterator[Row]:
    assert DATABASE, "DEBATE_HALL_TEST_POSTGRES names the server"
    yield _taking()
    alone = _seconds(1)
    yield Row(
        f"{DEBATES} SPEED debates of one worker, over their chains one after another on {AT_ONCE} places",
        alone / (DEBATES / AT_ONCE * CHAIN * LATENCY_S),
        None,
        f"{alone:.1f} s",
    )
    for workers in (2, 4):
        together = _seconds(workers)
        yield Row(f"the same with {workers} workers, over one", together / alone, None, f"{together:.1f} s")


def _seconds(workers: int) -> float:
    """How long so many workers take for all debates, once each of them has held some."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address = stack.enter_context(_queued_hall())
        server = stack.enter_context(ModelServer(latency_s=LATENCY_S))
        (folder / "here.yaml").write_text(server.models_file())
        stack.enter_context(_at_work(workers, address, folder))
        hall = stack.enter_context(Hall.open(address))
        queue = stack.enter_context(closing(Queue(read(address))))
        _held(hall, queue, folder, "warm", workers * AT_ONCE)
        began = perf_counter()
        _held(hall, queue, folder, "measured", DEBATES)
        return perf_counter() - began


@contextmanager
def _queued_hall() -> Iterator[str]:
    with fresh_hall() as address:
        queue_tables.make(read(address))
        yield address


@contextmanager
def _at_work(workers: int, address: str, folder: Path) -> Iterator[None]:
    code = "from orchestrator.cli.debate_hall import main; main()"
    command = [sys.executable, "-c", code, "worker", "--concurrency", str(AT_ONCE)]
    environment = {**os.environ, "DEBATE_HALL_STORE": address}
    started = [
        subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL) for _ in range(workers)
    ]
    try:
        yield
    finally:
        for worker in started:
            worker.send_signal(signal.SIGTERM)
        for worker in started:
            worker.wait(PATIENCE_S)


def _held(hall: Hall, queue: Queue, folder: Path, name: str, count: int) -> None:
    """Submits debates, and waits until all of them are closed."""
    wanted = Wanted(recipe="speed", models=str(folder / "here.yaml"))
    plan = planned(Submission("Is it soon?", wanted), folder, assume_keys=True)
    for number in range(count):
        open_and_put(hall, queue, Submission(f"Is it soon, {number}?", wanted, f"{name}-{number}"), plan, ())
    deadline = perf_counter() + PATIENCE_S
    while any(debate["status"] == Status.ACTIVE for debate in hall.list_debates()):
        assert perf_counter() < deadline, "the fleet does not come to an end"
        time.sleep(0.2)


def _taking() -> Row:
    few, many = _ms_to_take(10 * TAKEN), _ms_to_take(1_000_000)
    return Row("taking a job with 1,000,000 in the queue, over 600", many / few, 2, f"{many:.2f} and {few:.2f} ms")


def _ms_to_take(waiting: int) -> float:
    import psycopg

    queued = """
        INSERT INTO procrastinate_jobs (queue_name, task_name, lock, args)
        SELECT %s, %s, 't' || i, jsonb_build_object('thread_id', 't' || i) FROM generate_series(1, %s) i
    """
    with _queued_hall() as address, psycopg.connect("", **parameters_of(read(address))) as db:
        db.execute(queued, (names.DEBATES, names.DEBATE, waiting))
        db.execute("ANALYZE procrastinate_jobs")
        ((worker,),) = db.execute("SELECT worker_id FROM procrastinate_register_worker_v1()").fetchall()
        took = []
        for _ in range(TAKEN):
            began = perf_counter()
            db.execute("SELECT id FROM procrastinate_fetch_job_v2(%s, %s)", ([names.DEBATES], worker)).fetchone()
            took.append(perf_counter() - began)
    return median(took) * 1000
