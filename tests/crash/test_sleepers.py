"""A process that only slept, and whose thread another has taken over, writes nothing any more."""

from __future__ import annotations

import os
import signal
import socket
import subprocess

import pytest
from promises import assert_nothing_lost_nothing_twice
from stage import BEGIN, BEHIND_THE_CLOSE, RESUME, WALLS_INTENDED, Stage, ended

from building import THREAD
from endpoint import rate_limited

pytestmark = pytest.mark.slow

# Of a FORTRESS debate, those at which its run holds the thread and the debate is open: see `test_kills`.
PLACES = range(4, BEHIND_THE_CLOSE)
LEASE_TAKEN = 2  # the place at which one that goes on has the lease, and has done nothing else
IN_FLIGHT_AT_MOST = 4


def put_to_sleep(process: subprocess.Popen[bytes]) -> None:
    os.kill(process.pid, signal.SIGSTOP)
    await_asleep(process)


def await_asleep(process: subprocess.Popen[bytes]) -> None:
    seen = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert seen is not None
    assert seen.si_code == os.CLD_STOPPED


def files(stage: Stage) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in stage.out.iterdir()}


def assert_woken_too_late(stage: Stage, sleeper: subprocess.Popen[bytes], successor: int, in_flight: int) -> None:
    """Lets a process wake up after its thread was taken over; it says by whom, and changes nothing."""
    rows, left, calls = stage.rows(), files(stage), len(stage.server.calls)
    os.kill(sleeper.pid, signal.SIGCONT)
    woken = ended(sleeper)
    assert woken.code == 3, woken.told
    assert woken.outcome["error"]["code"] == "lease_lost"
    assert f"process {successor} on {socket.gethostname()} has taken it over" in woken.told
    assert "--resume" not in woken.told
    assert stage.rows() == rows
    assert {name: text for name, text in files(stage).items() if name != "unused-drafts-elsewhere.json"} == left
    assert len(stage.server.calls) - calls <= in_flight, "it asked for more"


def assert_taken_over(stage: Stage, sleeper: subprocess.Popen[bytes]) -> None:
    """Lets another process take the thread over and end it, before the sleeper wakes up."""
    successor = stage.start(*RESUME, silence_s=0)
    taken_over = ended(successor)
    assert_nothing_lost_nothing_twice(stage, taken_over)
    assert_woken_too_late(stage, sleeper, successor.pid, len(taken_over.outcome["uncertain"]))


def test_a_thread_that_another_process_runs_is_refused_with_its_name(stage: Stage) -> None:
    stage.server.hold_until(5)
    first = stage.start(*BEGIN)
    stage.await_calls(4)
    second = stage.run(*RESUME)
    assert second.code == 2
    assert second.outcome["error"]["code"] == "run_held"
    assert f"process {first.pid} on {socket.gethostname()} has run {THREAD} since" in second.told
    assert "--resume" not in second.told
    put_to_sleep(first)
    assert stage.run(*RESUME).outcome["error"]["code"] == "run_held"  # it may be asleep for a moment only
    os.kill(first.pid, signal.SIGKILL)
    ended(first)
    stage.await_callers_gone(4)
    assert_nothing_lost_nothing_twice(stage, stage.run(*RESUME))


def test_of_processes_that_go_on_at_once_one_does_and_the_others_are_told(stage: Stage) -> None:
    stage.run(*BEGIN, at=WALLS_INTENDED)
    all_ended = [ended(process) for process in [stage.start(*RESUME) for _ in range(4)]]
    refused = [process for process in all_ended if process.code == 2]
    assert {process.outcome["error"]["code"] for process in refused} <= {"run_held"}
    others = [process for process in all_ended if process not in refused]  # who comes when it is over writes files
    assert others
    for process in others:
        assert_nothing_lost_nothing_twice(stage, process)
        assert process.outcome["record"]["resumed"] == 1


def test_a_runner_that_slept_and_was_not_missed_goes_on(stage: Stage) -> None:
    sleeper = stage.start(*BEGIN, at=WALLS_INTENDED, by="SIGSTOP")
    await_asleep(sleeper)
    os.kill(sleeper.pid, signal.SIGCONT)
    woken = ended(sleeper)
    assert_nothing_lost_nothing_twice(stage, woken)
    assert woken.outcome["record"]["resumed"] == 0


def test_a_runner_that_slept_in_its_calls_keeps_no_answer_of_theirs(stage: Stage) -> None:
    stage.server.hold_until(5)  # the successor's first call lets them all go
    sleeper = stage.start(*BEGIN)
    stage.await_calls(4)
    put_to_sleep(sleeper)
    assert_taken_over(stage, sleeper)


def test_a_runner_that_slept_in_a_wait_asks_no_more(stage: Stage) -> None:
    stage.server.inject(rate_limited(60), model="wind-1", call=1)
    sleeper = stage.start(*BEGIN)
    assert sleeper.stderr is not None
    while b"attempt 1 failed, again in 60.0 s" not in (line := sleeper.stderr.readline()):
        assert line, "it ended"
    put_to_sleep(sleeper)
    assert_taken_over(stage, sleeper)


@pytest.mark.parametrize("place", PLACES[::5])
def test_a_runner_that_slept_at_a_write_or_beside_a_call_writes_nothing(place: int, stage: Stage) -> None:
    sleeper = stage.start(*BEGIN, at=place, by="SIGSTOP")
    await_asleep(sleeper)
    assert_taken_over(stage, sleeper)


@pytest.mark.parametrize("place", PLACES[1::6])
def test_a_runner_whose_thread_was_only_just_taken_over_writes_nothing(place: int, stage: Stage) -> None:
    """Nothing but its lease forbids it: the debate is open, its head and its journal are as the sleeper knows them."""
    sleeper = stage.start(*BEGIN, at=place, by="SIGSTOP")
    await_asleep(sleeper)
    successor = stage.start(*RESUME, at=LEASE_TAKEN, silence_s=0)
    assert ended(successor).code == -signal.SIGKILL
    assert_woken_too_late(stage, sleeper, successor.pid, IN_FLIGHT_AT_MOST)
    (stage.out / "unused-drafts-elsewhere.json").unlink(missing_ok=True)
    assert_nothing_lost_nothing_twice(stage, stage.run(*RESUME))
