"""`debate-hall fleet`: what it shows of queue, workers and spending, what it takes out, puts back and lets be spent."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from click.testing import Result

from building import TOPIC, plan_of
from orchestrator.fleet.permits import Permits, Wish
from orchestrator.fleet.queue import Queue
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role, Status
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.runner import open_debate
from postgres import fresh_hall, needs_postgres

pytestmark = needs_postgres
Command = Callable[..., Result]
QUEUE, CACHE, LOG = "2026-01-06-queue", "2026-01-06-cache", "2026-01-06-log"


@pytest.fixture
def fleet(command: Command) -> Command:
    return lambda *arguments: command("fleet", *arguments)


@pytest.fixture
def opened(hall: Hall) -> Callable[[str], None]:
    """Opens a debate that a worker could hold."""
    plan = plan_of("speed", routes={role: [REHEARSAL] for role in Role})
    return lambda thread_id: open_debate(hall, plan, thread_id, TOPIC)


@pytest.fixture
def take(beside: psycopg.Connection[Any]) -> Callable[[], int]:
    """A worker takes the job that comes next; returns the worker's number."""

    def taken() -> int:
        (worker,) = beside.execute("SELECT worker_id FROM procrastinate_register_worker_v1()").fetchone() or (0,)
        beside.execute("SELECT procrastinate_fetch_job_v2(ARRAY['debates'], %s)", (worker,))
        return int(worker)

    return taken


def give_up(beside: psycopg.Connection[Any]) -> None:
    beside.execute(
        "SELECT procrastinate_finish_job_v1(id, 'failed', false) FROM procrastinate_jobs WHERE status = 'doing'"
    )


def described(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def refused(result: Result) -> str:
    assert result.exit_code == 2, result.output
    error: dict[str, str] = json.loads(result.stdout)["error"]
    assert result.stderr == f"error: {error['message']}\n"
    return f"{error['code']}: {error['message']}"


# ------------------------------------------------------------------------------------------------------------ the state


def test_a_fleet_that_does_nothing(fleet: Command) -> None:
    result = fleet()
    assert result.exit_code == 0, result.output
    assert result.stdout == "waiting: nothing\nworkers: none: debate-hall worker\ntoday (UTC): $0.0000; no budget\n"
    found = described(fleet("status", "--json"))
    assert found == described(fleet("--json"))
    assert {name: value for name, value in found.items() if name != "today"} == {
        "waiting": [], "oldest_s": None, "held": [], "failed": [], "workers": [], "servers": [],
    }  # fmt: skip


def test_a_fleet_at_work(
    fleet: Command,
    opened: Callable[[str], None],
    hall: Hall,
    queue: Queue,
    permits: Permits,
    take: Callable[[], int],
    beside: psycopg.Connection[Any],
) -> None:
    for thread_id in (QUEUE, CACHE, LOG):
        opened(thread_id)
    queue.put(CACHE)
    take()
    give_up(beside)
    queue.put(QUEUE.upper(), 9)
    worker = take()
    hall.runs.begin(QUEUE)
    queue.put(LOG, 5)
    queue.put(LOG, 5)
    queue.put(LOG, 5)
    queue.put(LOG)
    beside.execute(
        "UPDATE procrastinate_jobs SET scheduled_at = now() + interval '1 hour' "
        "WHERE id = (SELECT max(id) FROM procrastinate_jobs WHERE priority = 5)"
    )
    permits.set_budget(Decimal(5))
    priced, unknown = (Wish("http://here/v1", QUEUE, 2, None, 60, cost) for cost in (Decimal("0.5"), None))
    permits.take(priced)
    permits.set_budget(None)
    permits.take(unknown)
    permits.set_budget(Decimal(5))
    lines = fleet().stdout.splitlines()
    place = next(line for line in lines if line.startswith("held: ")).partition(" at ")[2]
    assert lines == [
        "waiting: 3 of priority 5 (1 of them later), 1 of priority 0; the next has waited 0 s",
        lines[1],
        "today (UTC): $0.5000 of $5.00; 1 call of unknown price",
        "server http://here/v1: 2 under way, 2 in the last minute",
        f"held: {QUEUE.upper()}, worker {worker} at {place}",
        f"given up: {CACHE}: debate-hall fleet retry {CACHE}",
    ]
    assert f"{worker} (1, heard of 0 s ago)" in lines[1]
    found = described(fleet("--json"))
    assert found["waiting"] == [{"priority": 5, "jobs": 3, "later": 1}, {"priority": 0, "jobs": 1, "later": 0}]
    (held,) = found["held"]
    assert (held["thread_id"], held["worker"], held["tries"], held["place"]) == (QUEUE.upper(), worker, 0, place)
    assert found["failed"] == [CACHE]
    assert (found["today"]["cost_usd"], found["today"]["budget_usd"], found["today"]["unpriced"]) == ("0.5", "5", 1)
    assert found["servers"] == [{"server": "http://here/v1", "under_way": 2, "last_minute": 2}]


def test_a_debate_that_was_given_up_and_has_ended_since_is_shown_no_more(
    fleet: Command,
    opened: Callable[[str], None],
    hall: Hall,
    queue: Queue,
    take: Callable[[], int],
    beside: psycopg.Connection[Any],
) -> None:
    opened(QUEUE)
    queue.put(QUEUE)
    take()
    give_up(beside)
    assert described(fleet("--json"))["failed"] == [QUEUE]
    hall.force_close_debate(QUEUE, "Somebody decided it.")
    assert described(fleet("--json"))["failed"] == []


# ----------------------------------------------------------------------------------------------------------- the budget


def test_a_budget_is_set_and_taken_away(fleet: Command, permits: Permits) -> None:
    assert fleet("budget", "50").stdout == "at most $50 a day (UTC), all workers together\n"
    assert permits.today().budget_usd == 50
    assert described(fleet("budget", "0.5", "--json")) == {"budget_usd": "0.5"}
    assert permits.today().budget_usd == Decimal("0.5")
    assert fleet("budget", "none").stdout == "no budget\n"
    assert described(fleet("budget", "none", "--json")) == {"budget_usd": None}
    assert permits.today().budget_usd is None


@pytest.mark.parametrize("amount", ["-1", "much", "NaN", "inf", ""])
def test_a_budget_is_an_amount(amount: str, fleet: Command, permits: Permits) -> None:
    result = fleet("budget", "--json", "--", amount)
    assert result.exit_code == 2
    assert permits.today().budget_usd is None


# ------------------------------------------------------------------------------------------------------------ taken out


def test_a_debate_that_waits_is_taken_out_and_stays_open(
    fleet: Command, opened: Callable[[str], None], hall: Hall, queue: Queue
) -> None:
    opened(QUEUE)
    queue.put(QUEUE)
    assert fleet("cancel", QUEUE).stdout == f"{QUEUE}: taken out of the queue; it stays open\n"
    assert not queue.has(QUEUE)
    assert hall.debate(QUEUE).state.status is Status.ACTIVE
    assert refused(fleet("cancel", QUEUE, "--json")).startswith(f"not_active: {QUEUE} is neither in the queue nor held")


def test_a_debate_that_is_held_is_told_to_stop(
    fleet: Command, opened: Callable[[str], None], hall: Hall, queue: Queue, take: Callable[[], int]
) -> None:
    opened(QUEUE)
    queue.put(QUEUE)
    take()
    hall.runs.begin(QUEUE)
    assert described(fleet("cancel", QUEUE, "--json")) == {"thread_id": QUEUE, "was_held": True}
    assert queue.has(QUEUE)  # until the worker has put it down


def test_a_debate_that_is_not_there_cannot_be_taken_out(fleet: Command) -> None:
    for asked in ("cancel", "retry"):
        assert QUEUE in refused(fleet(asked, QUEUE, "--json"))


# ---------------------------------------------------------------------------------------------------------- tried again


def test_a_debate_that_was_given_up_waits_again(
    fleet: Command,
    opened: Callable[[str], None],
    queue: Queue,
    take: Callable[[], int],
    beside: psycopg.Connection[Any],
) -> None:
    opened(QUEUE)
    queue.put(QUEUE, 3)
    take()
    give_up(beside)
    assert fleet("retry", QUEUE.upper()).stdout == f"{QUEUE} waits for a worker\n"
    assert described(fleet("--json"))["waiting"] == [{"priority": 3, "jobs": 1, "later": 0}]
    assert fleet("retry", QUEUE).stdout == f"{QUEUE} waits for a worker already, or has one\n"
    assert described(fleet("retry", QUEUE, "--json")) == {"thread_id": QUEUE, "was_waiting": True}


def test_a_debate_that_nobody_submitted_is_put_in_the_queue(
    fleet: Command, opened: Callable[[str], None], queue: Queue
) -> None:
    opened(QUEUE)
    assert described(fleet("retry", QUEUE, "--priority", "4", "--json")) == {"thread_id": QUEUE, "was_waiting": False}
    assert queue.has(QUEUE)
    assert described(fleet("--json"))["waiting"][0]["priority"] == 4


def test_what_no_worker_can_hold_is_not_put_in_the_queue(
    fleet: Command, opened: Callable[[str], None], hall: Hall, queue: Queue
) -> None:
    hall.init_debate(CACHE, TOPIC)
    opened(QUEUE)
    hall.force_close_debate(QUEUE, "Somebody decided it.")
    assert "is held by hand: no worker can hold it" in refused(fleet("retry", CACHE, "--json"))
    assert "there is nothing to go on with" in refused(fleet("retry", QUEUE, "--json"))
    assert not queue.has(CACHE)
    assert not queue.has(QUEUE)


def test_a_hall_without_a_queue_says_how_to_make_it(fleet: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh_hall() as address:
        monkeypatch.setenv("DEBATE_HALL_STORE", address)
        assert "has no queue for a fleet. Make it: debate-hall store migrate" in fleet().stderr
        assert refused(fleet("--json")).startswith("usage: ")
