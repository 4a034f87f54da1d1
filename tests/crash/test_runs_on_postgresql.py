"""Runs whose hall is on PostgreSQL: killed and put to sleep as those on a file are, and taken over by others."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Timer

import pytest
from promises import assert_nothing_lost_nothing_twice
from stage import BEGIN, RESUME, WALLS_INTENDED, Stage, ended
from test_kills import BATCHES
from test_kills import PLACES as KILLED_AT
from test_sleepers import PLACES as ASLEEP_AT
from test_sleepers import assert_taken_over, await_asleep, put_to_sleep

from endpoint import Call, ModelServer
from endpoint_voices import plausible
from orchestrator.hall.store_place import migrate
from postgres import fresh_hall, needs_postgres
from postgres_cluster import PASSWORD, Cluster, cluster, program

pytestmark = [pytest.mark.slow, needs_postgres]
has_a_server = pytest.mark.skipif(program("initdb") is None, reason="there is no initdb to make a server with")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with ModelServer(deadline_s=60) as server, fresh_hall() as address:
        stage = Stage(tmp_path, server, address)
        yield stage
        stage.clear()


def test_a_run_makes_the_same_transactions_as_on_a_file(stage: Stage) -> None:
    tally = stage.folder / "tally.json"
    assert_nothing_lost_nothing_twice(stage, stage.run(*BEGIN, tally=str(tally)))
    assert Counter(place.split()[1] for place in json.loads(tally.read_text())) == KILLED_AT
    assert not (stage.folder / "state" / "hall.sqlite3").exists()


@pytest.mark.parametrize("place", range(1, sum(KILLED_AT.values()) + 1, 9))
def test_a_run_that_is_killed_at_a_write_or_beside_a_call_goes_on(place: int, stage: Stage) -> None:
    killed = stage.run(*BEGIN, at=place)
    assert killed.code == -signal.SIGKILL, killed.told
    assert_nothing_lost_nothing_twice(stage, stage.go_on())


def test_the_calls_in_flight_at_the_kill_are_told_and_are_the_only_ones_made_again(stage: Stage) -> None:
    stage.server.hold_until(BATCHES[0] + 1)
    process = stage.start(*BEGIN)
    stage.await_calls(BATCHES[0])
    os.kill(process.pid, signal.SIGKILL)
    ended(process)
    stage.await_callers_gone(BATCHES[0])
    resumed = stage.run(*RESUME)
    assert_nothing_lost_nothing_twice(stage, resumed)
    assert len(resumed.outcome["uncertain"]) == BATCHES[0]


@pytest.mark.parametrize("place", ASLEEP_AT[::17])
def test_a_runner_that_slept_at_a_write_or_beside_a_call_writes_nothing(place: int, stage: Stage) -> None:
    sleeper = stage.start(*BEGIN, at=place, by="SIGSTOP")
    await_asleep(sleeper)
    assert_taken_over(stage, sleeper)


def test_a_runner_that_slept_in_its_calls_keeps_no_answer_of_theirs(stage: Stage) -> None:
    stage.server.hold_until(5)  # the successor's first call lets them all go
    sleeper = stage.start(*BEGIN)
    stage.await_calls(4)
    put_to_sleep(sleeper)
    assert_taken_over(stage, sleeper)


def test_of_processes_that_go_on_at_once_one_does_and_the_others_are_told(stage: Stage) -> None:
    stage.run(*BEGIN, at=WALLS_INTENDED)
    all_ended = [ended(process) for process in [stage.start(*RESUME) for _ in range(4)]]
    refused = [process for process in all_ended if process.code == 2]
    assert {process.outcome["error"]["code"] for process in refused} <= {"run_held"}
    went_on = [process for process in all_ended if process not in refused]
    assert went_on
    for process in went_on:
        assert_nothing_lost_nothing_twice(stage, process)


# ------------------------------------------------------------------------------------------------- the server is lost


@pytest.fixture
def lost(tmp_path: Path) -> Iterator[tuple[Stage, Cluster]]:
    """A debate's place whose hall is on a server of its own."""
    with ModelServer(deadline_s=60) as provider, cluster() as server:
        migrate(server.address())
        stage = Stage(tmp_path, provider, server.address())
        yield stage, server
        stage.clear()


@has_a_server
def test_a_run_whose_server_is_away_for_a_while_waits_for_it(lost: tuple[Stage, Cluster]) -> None:
    stage, server = lost

    def reply(call: Call) -> str:
        """The first answer comes when there is nowhere to keep it."""
        if call.number == 1:
            server.stop()
            Timer(2, server.start).start()
        return plausible(call)

    stage.server.reply = reply
    assert_nothing_lost_nothing_twice(stage, stage.run(*BEGIN))


@has_a_server
def test_a_run_whose_server_dies_in_the_middle_of_commits_goes_on_with_all_that_was_paid_for(
    lost: tuple[Stage, Cluster],
) -> None:
    stage, server = lost
    stage.server.latency_s = 0.1
    codes: list[int] = []
    while not codes or codes[-1] != 0:
        process = stage.start(*(RESUME if stage.is_open() else BEGIN))
        for _ in range(4 if len(codes) < 3 else 0):
            Event().wait(0.35)
            server.kill()
            server.start()
        outcome = ended(process)
        codes.append(outcome.code)
        assert outcome.code in (0, 2, 3), outcome.told
        assert PASSWORD not in outcome.told + outcome.answer
    assert_nothing_lost_nothing_twice(stage, outcome)
