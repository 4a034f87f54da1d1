"""A new user's place: an empty folder, a hall of its own, no key and no setting in the environment."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from in_process import Table

from orchestrator.cli.debate_hall import debate_hall
from orchestrator.cli.run_debate import run_debate

Command = Callable[..., Result]
Script = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty working folder; the hall is in `../state`, the user's settings in `../config`."""
    for name in os.environ:
        if name.startswith("DEBATE_HALL_") or name.endswith(("_API_KEY", "_TOKEN")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DEBATE_HALL_STAND_INS", "none")  # as for all tests
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """A command that ran in this process leaves no handlers behind."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def run() -> Command:
    """`run-debate`, in this process."""
    return lambda *arguments, **kwargs: CliRunner().invoke(run_debate, arguments, **kwargs)


@pytest.fixture
def rehearse(run: Command) -> Command:
    """`run-debate --rehearse --recipe speed`."""
    return lambda *arguments, **kwargs: run("--rehearse", "--recipe", "speed", *arguments, **kwargs)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    """The table at which every seat of a run sits whose plan names models; none of them is real."""
    table = Table()
    monkeypatch.setenv("OPENAI_API_KEY", "asked-of-nobody")
    monkeypatch.setattr("orchestrator.models.switchboard.Switchboard.of", lambda self, route: table)
    return table


@pytest.fixture
def hall() -> Command:
    """`debate-hall`, in this process."""
    return lambda *arguments, **kwargs: CliRunner().invoke(debate_hall, arguments, **kwargs)


@pytest.fixture
def debates(hall: Command) -> Callable[[], list[dict[str, Any]]]:
    """What `debate-hall list --json` says."""

    def listed() -> list[dict[str, Any]]:
        result = hall("list", "--json")
        assert result.exit_code == 0, result.output
        found: list[dict[str, Any]] = json.loads(result.stdout)
        return found

    return listed


@pytest.fixture
def script() -> Script:
    """A console script, as its own process. Keyword arguments go to `subprocess.run`."""

    def call(name: str, *arguments: str, env: Mapping[str, str] | None = None, shell: str = "", **kwargs: Any) -> Any:
        command = [str(Path(sysconfig.get_path("scripts")) / name), *arguments]
        if shell:  # what a shell does around it, with the command as "$@"
            command = ["sh", "-c", shell, "sh", *command]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | kwargs
        return subprocess.run(command, env={**os.environ, **(env or {})}, timeout=60, check=False, **streams)

    return call


@pytest.fixture
def nobody_reads() -> Iterator[int]:
    """A pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.fixture
def damage(tmp_path: Path) -> Callable[[str], None]:
    """Changes the hall's tables behind its back."""

    def execute(sql: str) -> None:
        with closing(sqlite3.connect(tmp_path / "state" / "hall.sqlite3", isolation_level=None)) as db:
            assert db.execute(sql).rowcount > 0

    return execute
