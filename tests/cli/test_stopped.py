"""A run that is stopped before its end: by a key, by a signal, by a terminal that closes, by a disk that is full.

What was paid for is kept, the exit code says what happened, and the last line how to go on.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from in_process import WAITS, Table

from orchestrator.hall.hall import Hall
from orchestrator.models.base import Request

TOPIC = "Should we move billing to Kafka?"
THREAD = "2026-01-06-billing"
GO_ON = f"Go on with: run-debate --resume {THREAD}"
RUN_DEBATE = str(Path(sysconfig.get_path("scripts")) / "run-debate")
LENSES = ("attack surface and trust boundaries", "failure, recovery and on-call load")
KEPT = [(f"R1.Wall.{n}", "checklist") for n in (1, 2, 3)] + [(f"R1.Wall.{n}", "apply") for n in (1, 2)]

Command = Callable[..., Result]
Script = Callable[..., Any]
Listed = Callable[[], list[dict[str, Any]]]
Stopped = Callable[..., Result]


@pytest.fixture
def stopped(run: Command, table: Table) -> Stopped:
    """Runs a fortress in which something happens when the third Wall is asked for its turn, which it never gives."""

    def ended(what: Callable[[], object], *arguments: str) -> Result:
        def hears(request: Request) -> object:
            if request.task.step != "apply" or request.task.lens in LENSES:
                return None
            what()
            return WAITS

        table.hears = hears
        return run("--recipe", "fortress", "--out", "out", "--thread-id", THREAD, *arguments, TOPIC)

    return ended


def sends(number: signal.Signals) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


def internal_error() -> None:
    raise ZeroDivisionError("by us")


@pytest.mark.parametrize(
    ("what", "code"),
    [
        pytest.param(sends(signal.SIGINT), 130, id="Ctrl-C"),
        pytest.param(sends(signal.SIGTERM), 130, id="SIGTERM"),
        pytest.param(sends(signal.SIGHUP), 130, id="SIGHUP"),
        pytest.param(internal_error, 1, id="an internal error"),
    ],
)
def test_what_was_paid_for_is_kept_and_counted_however_a_run_ends_too_early(
    stopped: Stopped, what: Callable[[], object], code: int
) -> None:
    result = stopped(what, "--json")
    outcome = json.loads(result.stdout)
    assert result.exit_code == outcome["exit_code"] == code
    assert "Answers that were paid for and are not on the ledger are in out/unused-drafts.json\n" in result.stderr
    assert result.stderr.splitlines()[-1] == GO_ON
    with Hall.open() as hall:
        last = hall.runs.reports(THREAD)[-1]
    assert (last["type"] == "paused" and last["code"] == "interrupted") == (code == 130)
    assert outcome["files"] == ["out/unused-drafts.json"]
    kept = json.loads(Path("out/unused-drafts.json").read_text())
    assert [(draft["slot"], draft["step"]) for draft in kept] == KEPT
    assert all(draft["text"] and draft["model"] == "test/answered" for draft in kept)
    assert [turn["role"] for turn in outcome["turns"]] == ["Wind"]
    assert outcome["tokens"] == {"input": 600, "cached": 240, "output": 60}  # Wind, three checklists, two turns
    assert outcome["cost_usd"] == "0.06"


def test_drafts_that_no_file_takes_are_told(stopped: Stopped) -> None:
    def no_folder_and_a_stop() -> None:
        Path("out").rmdir()
        Path("out").write_text("A file in its place.")
        os.kill(os.getpid(), signal.SIGTERM)

    result = stopped(no_folder_and_a_stop)
    assert result.exit_code == 130
    assert "error: Cannot write to out: there is a file of that name, not a folder." in result.stderr
    told = re.findall(
        r"^The draft of (R1\.Wall\.\d) \(critical-engineer, (\w+), test/answered\):$", result.stderr, re.M
    )
    assert told == KEPT
    assert "checklist, draft 2 of critical-engineer in round 1" in result.stderr
    assert result.stderr.splitlines()[-1] == GO_ON


def test_the_way_to_go_on_is_told_where_the_store_cannot_be_read_any_more(
    stopped: Stopped, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_store_and_a_stop() -> None:
        monkeypatch.setenv("DEBATE_HALL_STATE_DIR", os.devnull)
        os.kill(os.getpid(), signal.SIGTERM)

    result = stopped(no_store_and_a_stop)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (130, GO_ON)


def test_a_run_under_nohup_outlives_its_terminal(run: Command, table: Table) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    table.hears = lambda request: os.kill(os.getpid(), signal.SIGHUP)
    assert run("--recipe", "speed", TOPIC).exit_code == 0


def test_an_interrupt_before_anything_began_keeps_nothing(
    run: Command, work: Path, debates: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("orchestrator.cli.running.prepare", interrupted)
    result = run("--rehearse", TOPIC)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "error: Interrupted.\n")
    assert (debates(), list(work.iterdir())) == ([], [])


def test_an_error_of_our_own_is_told_whole(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **named: Any) -> None:
        raise ZeroDivisionError("by us")

    monkeypatch.setattr("orchestrator.cli.running.prepare", broken)
    result = run("--rehearse", "--json", TOPIC)
    outcome = json.loads(result.stdout)
    assert result.exit_code == outcome["exit_code"] == 1
    assert outcome["error"]["message"].startswith("Internal error: ZeroDivisionError('by us').")
    assert 'raise ZeroDivisionError("by us")' in result.stderr


# ------------------------------------------------------------------------------------------- over HTTP, in processes


def hold_door(model_server: Any) -> None:
    """Lets Door wait for an answer in vain."""
    model_server.deadline_s = 60
    model_server.hold_until(2, 1, 2)  # Wind with the checklist, Wall, and Door, who would need company


def wait_for_door(model_server: Any) -> None:
    wait_for_calls(model_server, 4)


def wait_for_calls(model_server: Any, number: int) -> None:
    while len(model_server.calls) < number:
        assert model_server.arrived.wait(60)
        model_server.arrived.clear()


@pytest.fixture
def door_waits(model_server: Any, work: Path) -> Any:
    """The provider of `here.yaml`, which does not answer Door."""
    (work / "here.yaml").write_text(model_server.models_file())
    hold_door(model_server)
    return model_server


SPEED = ("--models", "here.yaml", "-r", "speed", "--thread-id", THREAD)


def test_an_interrupt_keeps_the_turns_and_names_the_call_that_nobody_knows_of(
    run: Command, door_waits: Any, debates: Listed
) -> None:
    def interrupt() -> None:
        wait_for_door(door_waits)
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(interrupt)
        result = run(*SPEED, "--json", TOPIC)
    outcome = json.loads(result.stdout)
    assert result.exit_code == outcome["exit_code"] == 130
    assert [turn["role"] for turn in outcome["turns"]] == ["Wind", "Wall"]
    assert re.sub(r"\d{4}-[\dT:.-]+Z", "…", result.stderr).splitlines()[-4:] == [
        "error: Interrupted.",
        f"2 committed turns are kept: debate-hall show {THREAD}",
        "uncertain: R1.Door.1 turn, attempt 1 through openai/door-1 at …",
        GO_ON,
    ]
    (uncertain,) = outcome["uncertain"]
    assert (uncertain["slot"], uncertain["step"], uncertain["model"]) == ("R1.Door.1", "turn", "openai/door-1")
    assert uncertain["tokens"] > 4000  # at most what it may write, and what it reads
    assert [debate["status"] for debate in debates()] == ["active"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_stopped_goes_on_with_all_that_it_was_answered(
    number: signal.Signals, run: Command, model_server: Any, work: Path
) -> None:
    from endpoint import tokens

    (work / "here.yaml").write_text(model_server.models_file())
    model_server.deadline_s = 60
    model_server.hold_until(4, 1, 9)  # Wind with the checklists, one Wall, and two Walls who wait in vain
    command = (RUN_DEBATE, "--models", "here.yaml", "-r", "fortress", "--thread-id", THREAD, "--json", TOPIC)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert any(re.match(rb"  R1\.Wall\.\d .* drafted in ", line) for line in process.stderr)
        wait_for_calls(model_server, 7)
        process.send_signal(number)
        answer, told = process.communicate(timeout=60)
    outcome = json.loads(answer)
    assert process.returncode == outcome["exit_code"] == 130
    assert b"Traceback" not in told
    assert told.decode().splitlines()[-1] == GO_ON
    answered = [call for call in model_server.calls if call.finished]
    assert len(answered) == 5
    assert outcome["tokens"]["input"] == sum(tokens(call.messages) for call in answered)
    kept = json.loads(Path("debates", THREAD, "unused-drafts.json").read_text())
    assert sorted(draft["step"] for draft in kept) == ["apply", "checklist", "checklist", "checklist"]
    model_server.hold_until()
    ended = json.loads(run("--resume", THREAD, "--json").stdout)
    assert (ended["exit_code"], len(ended["turns"]), len(ended["uncertain"])) == (0, 9, 2)
    assert len(model_server.calls) == 15 + 2  # the calls of the plan, and the two that were in flight


ON_A_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@contextmanager
def terminal() -> Iterator[tuple[int, Callable[[], None]]]:
    """A terminal for a process, and what closes its window."""
    window, screen = os.openpty()
    open_ends = {window, screen}

    def close(end: int) -> None:
        if end in open_ends:
            open_ends.remove(end)
            os.close(end)

    try:
        yield screen, lambda: close(window)
    finally:
        close(screen)
        close(window)


@pytest.mark.slow
def test_a_terminal_that_is_closed_loses_nothing(run: Command, door_waits: Any, debates: Listed) -> None:
    """Standard error goes to a file, so that somebody can read the last line."""
    command = (sys.executable, "-c", ON_A_TERMINAL, RUN_DEBATE, *SPEED, TOPIC)
    with terminal() as (screen, hang_up), open("told", "wb") as told:
        process = subprocess.Popen(command, stdin=screen, stdout=screen, stderr=told, start_new_session=True)
        wait_for_door(door_waits)
        hang_up()
        assert process.wait(60) == 130
    assert Path("told").read_text().splitlines()[-1] == GO_ON
    assert [(debate["run"], debate["turn_count"]) for debate in debates()] == [("paused", 2)]
    door_waits.hold_until()
    assert run("--resume", THREAD).exit_code == 0


@pytest.mark.slow
def test_a_terminal_that_takes_every_stream_with_it_loses_nothing(
    run: Command, door_waits: Any, debates: Listed
) -> None:
    command = (sys.executable, "-c", ON_A_TERMINAL, RUN_DEBATE, *SPEED, TOPIC)
    with terminal() as (screen, hang_up):
        process = subprocess.Popen(command, stdin=screen, stdout=screen, stderr=screen, start_new_session=True)
        wait_for_door(door_waits)
        hang_up()
        assert process.wait(60) == 130
    assert [(debate["run"], debate["turn_count"]) for debate in debates()] == [("paused", 2)]
    door_waits.hold_until()
    assert run("--resume", THREAD).exit_code == 0


@pytest.mark.slow
def test_a_process_that_is_killed_is_resumed_with_its_call_in_flight_told(
    run: Command, door_waits: Any, debates: Listed
) -> None:
    process = subprocess.Popen((RUN_DEBATE, *SPEED, TOPIC), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_door(door_waits)
    process.kill()
    process.wait(60)
    assert [debate["run"] for debate in debates()] == ["interrupted"]
    door_waits.hold_until()
    result = run("--resume", THREAD, "--json")
    outcome = json.loads(result.stdout)
    assert (outcome["exit_code"], [call["slot"] for call in outcome["uncertain"]]) == (0, ["R1.Door.1"])
    assert "  uncertain, made again if it is needed: R1.Door.1 turn, attempt 1 through openai/door-1" in result.stderr
    assert [call.model for call in door_waits.calls].count("door-1") == 3  # in flight, once more, and the account


@pytest.mark.slow
def test_a_disk_that_fills_in_the_middle_pauses_the_run_which_goes_on_when_there_is_room(
    script: Script, run: Command, tmp_path: Path
) -> None:
    """At ten sizes, of which some leave room for the opening and not for the end."""
    rehearsal = ("run-debate", "--rehearse", "-r", "fortress", "--thread-id", THREAD, "--json", TOPIC)
    paused = 0
    for blocks in range(160, 560, 40):
        place = {"DEBATE_HALL_STATE_DIR": str(tmp_path / f"state-{blocks}")}
        arguments = (*rehearsal, "--out", f"out-{blocks}")
        full = script(*arguments, shell=f'ulimit -f {blocks}; exec "$@"', env=place)
        if full.returncode == 3:
            told = full.stderr.decode()
            assert "hall.sqlite3 cannot be used: " in told
            assert told.splitlines()[-1] == GO_ON
            outcome = json.loads(run("--resume", THREAD, "--json", env=place).stdout)
            assert (outcome["exit_code"], len(outcome["turns"])) == (0, 9)
            paused += 1
        else:
            assert full.returncode in (0, 2), full.stderr
    assert paused >= 3
