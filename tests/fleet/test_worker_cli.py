"""A worker holds what it takes, tries later or gives up what it cannot hold, and puts back what it must put down."""

from __future__ import annotations

import signal
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
from click.testing import Result

from building import TOPIC, plan_of
from orchestrator.budget import Bound
from orchestrator.errors import LimitMet, UsageError
from orchestrator.fleet.holding import Holding, Later
from orchestrator.fleet.queue import Queue
from orchestrator.fleet.worker import Worker
from orchestrator.hall.address import Address, read
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role, Status
from orchestrator.lanes import Lanes, Turn, Turns
from orchestrator.models.base import Request
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.own_task import in_own_task
from orchestrator.runner import open_debate
from orchestrator.worker import in_thread
from postgres import fresh_hall, needs_postgres

pytestmark = [pytest.mark.anyio, needs_postgres]
Command = Callable[..., Result]
THREADS = [f"2026-01-06-queue-{number}" for number in range(1, 5)]
THREAD = THREADS[0]
DEADLINE_S = 30
NOON = datetime(2101, 1, 6, 12, tzinfo=UTC)
WAITING_UNTIL = "SELECT scheduled_at FROM procrastinate_jobs WHERE status = 'todo'"


class Heard:
    """The lines that a worker tells; a test waits for one."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._more = anyio.Event()

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        self._more.set()

    async def wait_for(self, *parts: str) -> None:
        """Waits until each part stood in a line."""
        while not all(any(part in line for line in self.lines) for part in parts):
            self._more = anyio.Event()
            await self._more.wait()


class Held:
    """Turns that come when they are let; it is known how many wait."""

    def __init__(self) -> None:
        self.waiting: set[str] = set()
        self.let = anyio.Event()
        self.asked = anyio.Event()

    def of(self, thread_id: str) -> Turns:
        return _HeldTurns(self, thread_id)


class _HeldTurns:
    def __init__(self, held: Held, thread_id: str) -> None:
        self.held, self.thread_id = held, thread_id

    @asynccontextmanager
    async def turn(self, request: Request, bound: Bound) -> AsyncIterator[Turn]:
        self.held.waiting.add(self.thread_id)
        self.held.asked.set()
        await self.held.let.wait()
        yield Turn()


class Refusing:
    """Turns that never come."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    @asynccontextmanager
    async def turn(self, request: Request, bound: Bound) -> AsyncIterator[Turn]:
        raise self.error
        yield Turn()


def submit(hall: Hall, queue: Queue, *threads: str) -> None:
    plan = plan_of("speed", routes={role: [REHEARSAL] for role in Role})
    for thread_id in threads:
        open_debate(hall, plan, thread_id, TOPIC)
        queue.put(thread_id)


@asynccontextmanager
async def working(
    address: Address,
    hall: Hall,
    turns: Callable[[str], Turns] = lambda thread_id: Lanes(),
    *,
    concurrency: int = 2,
    out: Path | None = None,
    dead_after_s: float = 30,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    holding: Holding | None = None,
) -> AsyncIterator[Heard]:
    """A worker that is told to stop afterwards."""
    heard = Heard()
    worker = Worker(address, holding or Holding(hall, turns, out, now), concurrency, heard, dead_after_s)
    with anyio.fail_after(DEADLINE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(in_own_task, worker.serve)
            yield heard
            group.cancel_scope.cancel()


@pytest.fixture
def jobs(beside: psycopg.Connection[Any]) -> Callable[[], list[tuple[str, str]]]:
    """The debate and state of each job."""
    asked = "SELECT args->>'thread_id', status::text FROM procrastinate_jobs ORDER BY id"
    return lambda: beside.execute(asked).fetchall()


@pytest.fixture
def tries(beside: psycopg.Connection[Any]) -> Callable[[], list[int]]:
    """How often each job was tried, as far as that counts."""
    return lambda: [tries for (tries,) in beside.execute("SELECT attempts FROM procrastinate_jobs ORDER BY id")]


# ------------------------------------------------------------------------------------------------------------ it holds


async def test_debates_are_taken_and_held_and_their_files_written(
    address: Address, hall: Hall, queue: Queue, jobs: Callable[[], Any], tmp_path: Path
) -> None:
    submit(hall, queue, *THREADS)
    async with working(address, hall, out=tmp_path / "out") as heard:
        await heard.wait_for(*(f"{thread_id}: synthesis" for thread_id in THREADS))
    assert {hall.debate(thread_id).state.status for thread_id in THREADS} == {Status.SYNTHESIS}
    assert all((tmp_path / "out" / thread_id / "decision.md").is_file() for thread_id in THREADS)
    assert jobs() == []


async def test_no_more_are_held_at_once_than_it_was_told(
    address: Address, hall: Hall, queue: Queue, jobs: Callable[[], Any]
) -> None:
    submit(hall, queue, *THREADS)
    held = Held()
    async with working(address, hall, held.of, concurrency=3) as heard:
        await heard.wait_for(*(f"{thread_id}: taken" for thread_id in THREADS[:3]))
        while len(held.waiting) < 3:
            held.asked = anyio.Event()
            await held.asked.wait()
        assert [status for _, status in jobs()] == ["doing"] * 3 + ["todo"]
        held.let.set()
        await heard.wait_for(*(f"{thread_id}: synthesis" for thread_id in THREADS))


async def test_a_debate_that_is_in_the_queue_twice_is_held_once(
    address: Address, hall: Hall, queue: Queue, jobs: Callable[[], Any]
) -> None:
    submit(hall, queue, THREAD)
    queue.put(THREAD.upper())
    async with working(address, hall) as heard:
        await heard.wait_for(f"{THREAD}: synthesis", f"{THREAD.upper()}: synthesis already")
    hall.verify_debate(THREAD)
    assert jobs() == []


# ------------------------------------------------------------------------------------------------------------ it stops


async def test_a_worker_that_is_told_to_stop_puts_back_what_it_holds_and_another_goes_on(
    address: Address, hall: Hall, queue: Queue, jobs: Callable[[], Any], tries: Callable[[], list[int]]
) -> None:
    submit(hall, queue, THREAD)
    held = Held()
    async with working(address, hall, held.of) as heard:
        await held.asked.wait()
    assert f"{THREAD}: paused and put back" in heard.lines
    assert (jobs(), tries()) == ([(THREAD, "todo")], [0])
    assert hall.debate(THREAD).state.status is Status.ACTIVE
    async with working(address, hall) as heard:
        await heard.wait_for(f"{THREAD}: synthesis")


async def test_what_is_put_back_can_be_taken_at_once_whatever_the_clock_of_the_worker_says(
    address: Address, hall: Hall, queue: Queue, beside: psycopg.Connection[Any]
) -> None:
    submit(hall, queue, THREAD)
    held = Held()
    async with working(address, hall, held.of, now=lambda: NOON):  # which is the queue's
        await held.asked.wait()
    assert beside.execute(WAITING_UNTIL).fetchall() == [(NOON,)]


async def test_a_debate_that_is_stopped_is_left_alone_and_stays_open(
    address: Address, hall: Hall, queue: Queue, jobs: Callable[[], Any]
) -> None:
    submit(hall, queue, THREAD)
    held = Held()
    async with working(address, hall, held.of) as heard:
        await held.asked.wait()
        await in_thread(hall.runs.stop, THREAD, "It was cancelled.")
        await heard.wait_for("It was cancelled.")
    assert hall.debate(THREAD).state.status is Status.ACTIVE
    assert jobs() == []


# ------------------------------------------------------------------------------------------------------------ it cannot


async def test_what_cannot_be_held_is_given_up_and_it_is_said_how_to_try_it_again(
    address: Address, hall: Hall, queue: Queue, jobs: Callable[[], Any]
) -> None:
    hall.init_debate(THREAD, TOPIC)  # by hand: there is no plan
    for thread_id in (THREAD, "2026-01-06-nobody"):
        queue.put(thread_id)
    submit(hall, queue, THREADS[1])
    async with working(address, hall) as heard:
        await heard.wait_for(
            f"{THREAD}: given up: ", "nobody: given up: There is no debate", f"{THREADS[1]}: synthesis"
        )
    assert any(line.endswith(f"Try it again: debate-hall fleet retry {THREAD}") for line in heard.lines)
    assert jobs() == [(THREAD, "failed"), ("2026-01-06-nobody", "failed")]


async def test_what_the_fleet_may_not_pay_for_today_waits_for_tomorrow(
    address: Address,
    hall: Hall,
    queue: Queue,
    beside: psycopg.Connection[Any],
    tries: Callable[[], list[int]],
) -> None:
    submit(hall, queue, THREAD)
    met = LimitMet("There is nothing left.", "It goes on tomorrow.", limit="fleet_budget")
    async with working(address, hall, lambda thread_id: Refusing(met), now=lambda: NOON) as heard:
        await heard.wait_for(f"{THREAD}: again in 43200 s: There is nothing left.")
    assert beside.execute(WAITING_UNTIL).fetchall() == [(datetime(2101, 1, 7, tzinfo=UTC),)]
    assert tries() == [0]
    assert hall.debate(THREAD).state.status is Status.ACTIVE


@dataclass(frozen=True)
class Failing(Holding):
    """Whatever is held stops, and is to be tried again."""

    counts: bool = False

    async def hold(self, thread_id: str, tries: int) -> str:
        raise Later("It stopped.", 30, counts=self.counts)


@pytest.mark.parametrize("counts", [True, False])
async def test_a_try_counts_where_a_provider_failed(
    counts: bool, address: Address, hall: Hall, queue: Queue, tries: Callable[[], list[int]]
) -> None:
    queue.put(THREAD)
    failing = Failing(hall, lambda thread_id: Lanes(), None, lambda: datetime.now(UTC), counts)
    async with working(address, hall, holding=failing) as heard:
        await heard.wait_for(f"{THREAD}: again in 30 s: It stopped.")
    assert tries() == [int(counts)]


async def test_what_nobody_foresaw_is_told_whole_and_the_others_go_on(
    address: Address, hall: Hall, queue: Queue, jobs: Callable[[], Any]
) -> None:
    submit(hall, queue, *THREADS[:2])

    def turns(thread_id: str) -> Turns:
        return Refusing(LookupError("nobody foresaw it")) if thread_id == THREAD else Lanes()

    async with working(address, hall, turns) as heard:
        await heard.wait_for(f"{THREAD}: internal error: ", f"{THREADS[1]}: synthesis")
    assert any("LookupError: nobody foresaw it" in line for line in heard.lines)
    assert jobs() == [(THREAD, "failed")]


async def test_a_hall_without_a_queue_is_said_at_the_start(work: Path) -> None:
    with fresh_hall() as place, Hall.open(place) as hall, anyio.fail_after(DEADLINE_S):
        holding = Holding(hall, lambda thread_id: Lanes(), None, lambda: datetime.now(UTC))
        with pytest.raises(UsageError, match="has no queue for a fleet"):
            await in_own_task(Worker(read(place), holding, 1, print).serve)


# ----------------------------------------------------------------------------------------------------- others have died


async def test_what_a_dead_worker_had_is_put_back_and_held(
    address: Address, hall: Hall, queue: Queue, beside: psycopg.Connection[Any], jobs: Callable[[], Any]
) -> None:
    submit(hall, queue, THREAD)
    beside.execute(
        "SELECT procrastinate_fetch_job_v2(ARRAY['debates'], worker_id) FROM procrastinate_register_worker_v1()"
    )
    beside.execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 minute'")
    async with working(address, hall, dead_after_s=0.6) as heard:
        await heard.wait_for(f"{THREAD}: its worker is gone; put back", f"{THREAD}: synthesis")
    assert jobs() == []
    assert beside.execute("SELECT count(*) FROM procrastinate_workers").fetchone() == (0,)


async def test_what_it_never_heard_it_was_given_is_put_back(
    address: Address, hall: Hall, queue: Queue, beside: psycopg.Connection[Any]
) -> None:
    """As when the server goes away between a job's being taken and its being told."""
    held = Held()
    submit(hall, queue, THREAD)
    async with working(address, hall, held.of, concurrency=3, dead_after_s=0.6) as heard:
        await held.asked.wait()
        submit(hall, queue, THREADS[1])
        with suppress(psycopg.errors.Error):
            beside.execute("SELECT procrastinate_fetch_job_v2(ARRAY['debates'], id) FROM procrastinate_workers")
        held.let.set()
        await heard.wait_for(f"{THREAD}: synthesis", f"{THREADS[1]}: synthesis")


# --------------------------------------------------------------------------------------------------- the command line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--concurrency", "0"], "0 is not in the range"),
        (["--dead-after", "soon"], "soon"),
        (["--reviews", "missing.yaml"], "does not exist"),
        (["--reviews", "bad.yaml"], "bad.yaml"),
        (["--out", "bad.yaml/out"], "bad.yaml/out"),
        (["more"], "unexpected extra argument"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_a_worker_cannot_be_asked(arguments: list[str], message: str, command: Command, work: Path) -> None:
    (work / "bad.yaml").write_text("reviews: 5\n")
    result = command("worker", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.fixture
def process(
    address: Address, made: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[subprocess.Popen[str]]:
    """A worker of its own, with the command as it is installed."""
    monkeypatch.setenv("DEBATE_HALL_STORE", made)
    script = [sys.executable, str(Path(sysconfig.get_path("scripts")) / "debate-hall"), "worker", "--concurrency", "3"]
    with subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        yield running
        running.kill()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_ends_well_when_it_is_told_to(
    number: signal.Signals, process: subprocess.Popen[str], address: Address, hall: Hall, queue: Queue
) -> None:
    submit(hall, queue, THREAD)
    assert process.stderr is not None
    told = [process.stderr.readline() for _ in range(3)]
    assert told[0].startswith(f"taking debates from {address.shown}, 3 debates at once")
    assert told[1:] == [f"{THREAD}: taken\n", f"{THREAD}: synthesis\n"]
    process.send_signal(number)
    output, rest = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, output) == (0, "")
    assert rest.endswith("stopped; what was under way is paused, and waits for another worker\n")
