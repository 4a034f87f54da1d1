"""A run that is told to end: by a signal, by a terminal that goes away, by the kill switch in another process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client
from promises import assert_nothing_lost_nothing_twice
from stage import BEGIN, BEHIND_THE_CLOSE, DEADLINE_S, DOOMED, RESUME, WALLS_INTENDED, Ended, Stage, ended

from building import THREAD
from orchestrator.hall.debate import Debate
from orchestrator.hall.journal import Intent, JournalLine
from orchestrator.mcp_server import build

pytestmark = pytest.mark.slow

SCRIPTS = Path(sysconfig.get_path("scripts"))
REASON = "It costs too much."
IN_FLIGHT = 4  # the first calls of a FORTRESS debate


@pytest.fixture
def running(stage: Stage) -> Iterator[subprocess.Popen[bytes]]:
    """A run whose first calls are held."""
    stage.server.hold_until(IN_FLIGHT + 1)
    with stage.start(*BEGIN) as process:
        stage.await_calls(IN_FLIGHT)
        yield process
        process.kill()


def assert_resumed(stage: Stage) -> None:
    stage.await_callers_gone(IN_FLIGHT)
    assert stage.life() == "paused"
    resumed = stage.run(*RESUME)
    assert_nothing_lost_nothing_twice(stage, resumed)
    assert len(resumed.outcome["uncertain"]) == IN_FLIGHT


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_calls_and_the_last_line_says_how_to_go_on(
    how: signal.Signals, stage: Stage, running: subprocess.Popen[bytes]
) -> None:
    running.send_signal(how)
    interrupted = ended(running)
    assert interrupted.code == 130, interrupted.told
    assert interrupted.last_line == f"Go on with: run-debate --resume {THREAD}"
    assert len(interrupted.outcome["uncertain"]) == IN_FLIGHT
    assert_resumed(stage)


@pytest.mark.parametrize("place", range(3, BEHIND_THE_CLOSE - 1, 12))
def test_a_signal_at_any_other_moment_leaves_a_paused_run(place: int, stage: Stage) -> None:
    interrupted = stage.run(*BEGIN, at=place, by="SIGTERM")
    assert interrupted.code == 130, interrupted.told
    assert interrupted.last_line == f"Go on with: run-debate --resume {THREAD}"
    assert stage.life() == "paused"
    assert_nothing_lost_nothing_twice(stage, stage.run(*RESUME))


@pytest.mark.parametrize("place", [1, 2])
def test_a_signal_at_the_opening_leaves_a_debate_that_can_be_gone_on_with(place: int, stage: Stage) -> None:
    interrupted = stage.run(*BEGIN, at=place, by="SIGINT")
    assert interrupted.code == 130, interrupted.told
    assert interrupted.last_line == f"Go on with: run-debate --resume {THREAD}"
    assert_nothing_lost_nothing_twice(stage, stage.run(*RESUME))


@pytest.mark.parametrize("place", [BEHIND_THE_CLOSE, BEHIND_THE_CLOSE + 1])  # before the files
def test_a_signal_before_the_files_are_written_says_how_they_are(place: int, stage: Stage) -> None:
    interrupted = stage.run(*BEGIN, at=place, by="SIGINT")
    assert interrupted.code == 130, interrupted.told
    assert interrupted.last_line == f"It is closed; write its files with: run-debate --resume {THREAD}"
    assert_nothing_lost_nothing_twice(stage, stage.run(*RESUME))


@pytest.mark.parametrize("arguments", [BEGIN, [word for word in BEGIN if word != "--json"]], ids=["json", "plain"])
def test_a_terminal_that_is_closed_ends_the_run_politely(arguments: list[str], stage: Stage) -> None:
    stage.server.hold_until(IN_FLIGHT + 1)
    ours, theirs = os.openpty()
    terminal = os.ttyname(theirs)
    # who leads a session and opens a terminal has it: what happens in a terminal's window
    command = ["sh", "-c", f'exec "$@" <{terminal} >{terminal} 2>&1', "sh", sys.executable, str(DOOMED), "{}"]
    with subprocess.Popen(
        [*command, *arguments], cwd=stage.folder, env=stage.environment, start_new_session=True
    ) as process:
        stage.await_calls(IN_FLIGHT)
        os.close(theirs)
        os.close(ours)
        try:
            assert process.wait(DEADLINE_S) == 130
        finally:
            process.kill()
    assert_resumed(stage)


def assert_closed_by_force(stage: Stage, stopped: Ended) -> None:
    assert stopped.code == 4, stopped.told
    assert (stopped.outcome["status"], stopped.outcome["exit_code"]) == ("force_closed", 4)
    message = f"{THREAD} was closed by force: {REASON}"
    assert stopped.outcome["error"] == {"code": "force_closed", "message": message}


def written(stage: Stage) -> tuple[Debate, tuple[JournalLine, ...]]:
    with stage.hall() as hall:
        return hall.debate(THREAD), hall.journal(THREAD)


def assert_nothing_written_since(stage: Stage, at_the_close: tuple[Debate, tuple[JournalLine, ...]]) -> None:
    debate, journal = written(stage)
    assert (debate, journal) == at_the_close
    assert debate.lines[-1].entry.body.kind == "force_closed"
    assert sum(isinstance(line.record, Intent) for line in journal) == IN_FLIGHT == len(stage.server.calls)


def test_the_kill_switch_on_the_command_line_ends_a_run_of_another_process(
    stage: Stage, running: subprocess.Popen[bytes]
) -> None:
    pulled = ended(stage.spawn(str(SCRIPTS / "debate-hall"), "force-close", THREAD, "--reason", REASON))
    assert pulled.code == 0, pulled.told
    at_the_close = written(stage)
    stage.await_callers_gone(IN_FLIGHT)
    assert_closed_by_force(stage, ended(running))
    assert_nothing_written_since(stage, at_the_close)


@pytest.mark.parametrize("place", range(5, BEHIND_THE_CLOSE - 1, 12))
def test_behind_the_kill_switch_nothing_is_committed(place: int, stage: Stage) -> None:
    assert_closed_by_force(stage, stage.run(*BEGIN, at=place, by="CLOSED"))
    debate, _ = written(stage)
    assert debate.lines[-1].entry.body.kind == "force_closed"


@pytest.mark.parametrize(("place", "calls"), [(7, 0), (WALLS_INTENDED - 1, 4)])
def test_behind_the_kill_switch_no_call_is_made(place: int, calls: int, stage: Stage) -> None:
    assert_closed_by_force(stage, stage.run(*BEGIN, at=place, by="CLOSED"))
    _, journal = written(stage)
    assert sum(isinstance(line.record, Intent) for line in journal) == len(stage.server.calls) == calls


@pytest.mark.anyio
async def test_the_kill_switch_of_an_mcp_client_ends_a_run_of_another_process(
    stage: Stage, running: subprocess.Popen[bytes]
) -> None:
    with anyio.fail_after(DEADLINE_S), stage.hall() as hall:
        async with Client(build(hall, roots=(), out=None)) as client:
            result = await client.call_tool("force_close_debate", {"thread_id": THREAD, "reason": REASON})
            assert not result.is_error
    at_the_close = written(stage)
    stage.await_callers_gone(IN_FLIGHT)
    assert_closed_by_force(stage, ended(running))
    assert_nothing_written_since(stage, at_the_close)
