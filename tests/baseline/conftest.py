"""A working folder with a hall of its own, the command in this process, and those who speak at a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from baseline.singles import Singles
from hall.halls import HastyStore
from orchestrator.cli.run_debate import run_debate


@pytest.fixture(autouse=True)
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("OPENAI_API_KEY", "asked-of-nobody")
    monkeypatch.setattr("orchestrator.hall.store_place.SQLiteStore", HastyStore)
    (tmp_path / "facts.md").write_text("Billing runs on PostgreSQL.\nOperations may run no new cluster.\n")
    return tmp_path


@pytest.fixture
def singles(monkeypatch: pytest.MonkeyPatch) -> Singles:
    """Everybody who is asked."""
    singles = Singles()
    monkeypatch.setattr("orchestrator.models.switchboard.Switchboard.of", lambda self, route: singles)
    return singles


@pytest.fixture
def run() -> Callable[..., Result]:
    """`run-debate`, in this process."""
    return lambda *arguments: CliRunner().invoke(run_debate, arguments)
