"""`--events`: what a program that follows a run reads, line by line."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from in_process import WAITS, Table

from building import THREAD, TOPIC
from orchestrator.cli.event_log import EventLog
from orchestrator.events import Paused, RoundStarted, Told
from orchestrator.models.base import Request

Command = Callable[..., Result]
Script = Callable[..., Any]
Listed = Callable[[], list[dict[str, Any]]]
SPEED = ("--recipe", "speed", "--thread-id", THREAD, "--out", "out", TOPIC)


def lines(text: str) -> list[dict[str, Any]]:
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def told(event: Any, seq: int = 0) -> Told:
    return Told(seq, "2026-01-06T09:00:00.000Z", THREAD, event)


def test_a_file_holds_every_event_a_line_each_in_order_and_no_words_of_a_turn(rehearse: Command) -> None:
    result = rehearse("--events", "events.jsonl", TOPIC)
    assert result.exit_code == 0, result.output
    told = lines(Path("events.jsonl").read_text())
    assert [line["seq"] for line in told] == list(range(len(told)))
    assert (told[0]["type"], told[-1]["type"]) == ("run_started", "closed")
    committed = [line for line in told if line["type"] == "turn_committed"]
    assert [line["turn_index"] for line in committed] == [0, 1, 2]
    assert not any("text" in line for line in committed)
    assert "REHEARSAL: " in result.stdout


def test_a_run_that_is_resumed_goes_on_in_the_same_file(run: Command, table: Table) -> None:
    def interrupted(request: Request) -> object:
        if request.task.role != "Door":
            return None
        os.kill(os.getpid(), 2)
        return WAITS

    table.hears = interrupted
    assert run("--events", "events.jsonl", *SPEED).exit_code == 130
    table.hears = lambda request: None
    assert run("--resume", THREAD, "--events", "events.jsonl").exit_code == 0
    types = [line["type"] for line in lines(Path("events.jsonl").read_text())]
    assert [name for name in types if name in ("run_started", "paused", "resumed", "closed")] == [
        "run_started",
        "paused",
        "run_started",
        "resumed",
        "closed",
    ]


def test_a_dash_sends_them_to_standard_output_in_place_of_the_decision(rehearse: Command) -> None:
    result = rehearse("--events", "-", TOPIC)
    assert lines(result.stdout)[-1]["type"] == "closed"
    assert "wrote debates" in result.stderr


def test_standard_output_is_not_shared_with_json(rehearse: Command, debates: Listed) -> None:
    result = rehearse("--events", "-", "--json", TOPIC)
    assert (result.exit_code, debates()) == (2, [])
    assert "name a file for the events" in result.stderr


@pytest.mark.parametrize("where", [".", "no/such/folder/events.jsonl"])
def test_what_cannot_be_written_is_refused_before_anything_begins(
    where: str, rehearse: Command, debates: Listed
) -> None:
    result = rehearse("--events", where, TOPIC)
    assert (result.exit_code, debates()) == (2, [])
    assert result.stderr.startswith(f"error: --events {where} cannot be written: ")


def test_a_disk_that_is_full_is_told_once_and_the_run_goes_on(rehearse: Command) -> None:
    result = rehearse("--events", "/dev/full", TOPIC)
    assert result.exit_code == 0
    (note,) = [line for line in result.stderr.splitlines() if "/dev/full" in line]
    assert note.startswith("note: the events stop here, and the run goes on: --events /dev/full cannot be written: No")
    assert "committed as T3" in result.stderr


def test_no_half_line_is_left_for_those_who_read_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = EventLog(str(tmp_path / "events"))
    log(told(RoundStarted(round=1, rounds=2)))
    whole, write = (tmp_path / "events").read_text(), os.write

    def fills_up(descriptor: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:-10])

    monkeypatch.setattr(os, "write", fills_up)
    log(told(RoundStarted(round=2, rounds=2), 1))
    monkeypatch.undo()
    assert (tmp_path / "events").read_text() == whole
    assert "No space left" in capsys.readouterr().err


@pytest.mark.slow
def test_a_reader_who_has_enough_ends_no_run(script: Script, nobody_reads: int) -> None:
    command = ("run-debate", "--rehearse", "-r", "speed", "--events", "-", "--quiet", TOPIC)
    result = script(*command, stdout=nobody_reads)
    assert (result.returncode, result.stderr) == (0, b"")


def test_no_secret_and_nothing_that_steers_a_terminal_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHED_PASSWORD", 'the "heron" walks')
    EventLog(str(tmp_path / "events"))(told(Paused(code="paused", message='by dusk the "heron" walks\n\x1b[2J\u202e')))
    (line,) = (tmp_path / "events").read_text().splitlines()
    assert json.loads(line)["message"] == "by dusk [secret removed]\n\x1b[2J\u202e"
    assert line.isascii()
    assert line.isprintable()
