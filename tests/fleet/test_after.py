"""What becomes of a debate that a worker could not hold to its end: tried again, and when, or given up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import anyio
import pytest

from building import THREAD, TOPIC, plan_of
from orchestrator.errors import (
    AuthenticationFailed,
    BadRequest,
    ConnectionFailed,
    ContentRefused,
    ContextTooLong,
    DebateError,
    LedgerBroken,
    LimitMet,
    ModelError,
    NoSuchModel,
    NotActive,
    Overloaded,
    RateLimited,
    RunHeld,
    RunPaused,
    ServerFailed,
    StoppedByLimit,
    StoreTooNew,
    StoreUnavailable,
    TimedOut,
    UnknownThread,
    UsageError,
)
from orchestrator.fleet.holding import MOST_TRIES, GivenUp, Holding, Later, after
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role
from orchestrator.lanes import Lanes
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.plan import Plan
from orchestrator.runner import open_debate
from postgres import needs_postgres

NOON = datetime(2026, 1, 6, 12, tzinfo=UTC)


def paused(cause: DebateError) -> RunPaused:
    """As a run says that it stopped for something."""
    error = RunPaused(f"It stopped. {cause.message}", "Go on with it.")
    error.__cause__ = cause
    return error


def failed(kind: type[ModelError], **more: Any) -> RunPaused:
    return paused(kind("It failed.", "", model="a/x", **more))


def over(limit: Any) -> StoppedByLimit:
    return StoppedByLimit(LimitMet("It could take too much.", "Raise it.", limit=limit))


def seconds(error: DebateError, tries: int = 0, now: datetime = NOON) -> float | None:
    """After how many it is tried again; None: never."""
    match after(error, tries, now):
        case Later(seconds=seconds):
            return seconds
        case GivenUp():
            return None


# ----------------------------------------------------------------------------------------------------------- the table


@pytest.mark.parametrize(
    ("error", "again_s"),
    [
        pytest.param(RunHeld("Another process holds it.", ""), 5, id="held by another"),
        pytest.param(StoreUnavailable("The server is away.", ""), 10, id="store away"),
        pytest.param(paused(StoreUnavailable("The server is away.", "")), 10, id="paused, store away"),
        pytest.param(failed(RateLimited), 30, id="rate limited"),
        pytest.param(failed(Overloaded), 30, id="overloaded"),
        pytest.param(failed(ServerFailed), 30, id="server failed"),
        pytest.param(failed(ConnectionFailed), 30, id="no connection"),
        pytest.param(failed(TimedOut), 30, id="timed out"),
        pytest.param(failed(RateLimited, retry_after=900), 900, id="the provider says when"),
        pytest.param(failed(RateLimited, retry_after=2), 30, id="the provider says soon"),
        pytest.param(over("fleet_budget"), 12 * 3600, id="fleet budget"),
        pytest.param(over("cost_usd"), None, id="its own limit"),
        pytest.param(over("tokens"), None, id="its own tokens"),
        pytest.param(over("seconds"), None, id="its own time"),
        pytest.param(failed(AuthenticationFailed), None, id="no key"),
        pytest.param(failed(NoSuchModel), None, id="no such model"),
        pytest.param(failed(BadRequest), None, id="bad request"),
        pytest.param(failed(ContextTooLong), None, id="too long"),
        pytest.param(failed(ContentRefused), None, id="refused"),
        pytest.param(LedgerBroken(THREAD, 3, "Its hash is another."), None, id="broken ledger"),
        pytest.param(UnknownThread("There is no such debate.", ""), None, id="unknown"),
        pytest.param(NotActive("It is closed.", ""), None, id="closed"),
        pytest.param(UsageError("OPENAI_API_KEY is not set.", ""), None, id="no key here"),
    ],
)
def test_what_becomes_of_a_stop(error: DebateError, again_s: float | None) -> None:
    assert seconds(error) == again_s


def test_a_store_of_a_newer_version_is_waited_for_until_somebody_upgrades_this_worker() -> None:
    assert seconds(StoreTooNew("A newer version wrote it.", "")) == 10


def test_the_wait_after_a_providers_failures_doubles_up_to_an_hour_and_ends() -> None:
    waits = [seconds(failed(Overloaded), tries) for tries in range(MOST_TRIES + 1)]
    assert waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600, 3600, None]


@pytest.mark.parametrize("error", [RunHeld("Another.", ""), StoreUnavailable("Away.", ""), over("fleet_budget")])
def test_what_is_nobodys_fault_is_tried_without_end(error: DebateError) -> None:
    assert seconds(error, tries=10_000) == seconds(error)


@pytest.mark.parametrize(
    ("now", "again_s"),
    [
        (datetime(2026, 1, 6, 23, 59, 59, tzinfo=UTC), 1),
        (datetime(2026, 1, 6, 0, 0, 0, tzinfo=UTC), 24 * 3600),
        (datetime(2026, 1, 7, 1, 0, 0, tzinfo=timezone(timedelta(hours=2))), 3600),
    ],
    ids=["before midnight", "at midnight", "elsewhere it is tomorrow"],
)
def test_a_fleet_that_may_spend_no_more_goes_on_when_its_day_is_over(now: datetime, again_s: float) -> None:
    assert seconds(over("fleet_budget"), now=now) == again_s


def test_only_what_a_provider_failed_counts_as_a_try() -> None:
    errors = (failed(Overloaded), RunHeld("Another.", ""), paused(StoreUnavailable("Away.", "")), over("fleet_budget"))
    stops = [after(error, 0, NOON) for error in errors]
    assert [isinstance(stop, Later) and stop.counts for stop in stops] == [True, False, False, False]


def test_what_is_said_is_what_happened() -> None:
    assert str(after(over("cost_usd"), 0, NOON)) == "It could take too much. Raise it."


# ------------------------------------------------------------------------------------------------------------ held


@pytest.fixture
def holding(hall: Hall, tmp_path: Path) -> Holding:
    return Holding(hall, lambda thread_id: Lanes(), tmp_path / "debates", lambda: NOON)


def rehearsal() -> Plan:
    return plan_of("speed", routes={role: [REHEARSAL] for role in Role})


@needs_postgres
@pytest.mark.anyio
async def test_a_debate_is_held_once_however_often_it_is_taken(hall: Hall, holding: Holding, tmp_path: Path) -> None:
    open_debate(hall, rehearsal(), THREAD, TOPIC)
    with anyio.fail_after(30):
        assert await holding.hold(THREAD, 0) == "synthesis"
        before = hall.export_debate(THREAD)
        assert await holding.hold(THREAD, 1) == "synthesis already"
    assert hall.export_debate(THREAD) == before
    assert (tmp_path / "debates" / THREAD / "decision.md").is_file()


@needs_postgres
@pytest.mark.anyio
async def test_a_debate_that_another_process_runs_is_looked_at_again(hall: Hall, holding: Holding) -> None:
    open_debate(hall, rehearsal(), THREAD, TOPIC)
    hall.runs.begin(THREAD)
    with anyio.fail_after(30), pytest.raises(Later) as raised:
        await holding.hold(THREAD, 0)
    assert raised.value.seconds == 5


@needs_postgres
@pytest.mark.anyio
async def test_what_no_worker_can_hold_is_given_up(hall: Hall, holding: Holding) -> None:
    hall.init_debate(THREAD, TOPIC)
    with anyio.fail_after(30):
        with pytest.raises(GivenUp, match=r"by hand|recipe"):
            await holding.hold(THREAD, 0)
        with pytest.raises(GivenUp, match="There is no debate"):
            await holding.hold("2026-01-06-nobody-opened", 0)
