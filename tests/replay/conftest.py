"""A working folder with evidence and a hall of its own, and the two commands in this process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.in_process import Table
from hall.halls import HastyStore
from orchestrator.cli.debate_hall import debate_hall
from orchestrator.cli.run_debate import run_debate
from replay.stage import Command


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the working folder is: always the same, so that what a debate left there fits there again."""
    return tmp_path_factory.mktemp("replays") / "stage"


@pytest.fixture(autouse=True)
def stage(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working folder."""
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(place / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "config"))
    monkeypatch.setenv("OPENAI_API_KEY", "asked-of-nobody")
    monkeypatch.setattr("orchestrator.hall.store_place.SQLiteStore", HastyStore)
    (place / "facts.md").write_text("Billing runs on PostgreSQL.\nOperations may run no new cluster.\n")
    (place / "load.md").write_text("The queue holds 40 messages at noon.\n")
    yield place
    shutil.rmtree(place)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    """The table at which all seats sit; none of their models is real."""
    table = Table()
    monkeypatch.setattr("orchestrator.models.switchboard.Switchboard.of", lambda self, route: table)
    return table


@pytest.fixture
def hall() -> Command:
    """`debate-hall`, in this process."""
    return lambda *arguments: CliRunner().invoke(debate_hall, arguments)


@pytest.fixture
def run() -> Command:
    """`run-debate`, in this process."""
    return lambda *arguments: CliRunner().invoke(run_debate, arguments)
