"""A working folder with evidence and a hall of its own, and the two commands in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.in_process import Table
from hall.halls import HastyStore
from orchestrator.cli.debate_hall import debate_hall
from orchestrator.cli.run_debate import run_debate
from replay.stage import Command


@pytest.fixture(autouse=True)
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("OPENAI_API_KEY", "asked-of-nobody")
    monkeypatch.setattr("orchestrator.hall.store_place.SQLiteStore", HastyStore)
    (tmp_path / "facts.md").write_text("Billing runs on PostgreSQL.\nOperations may run no new cluster.\n")
    (tmp_path / "load.md").write_text("The queue holds 40 messages at noon.\n")
    return tmp_path


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
