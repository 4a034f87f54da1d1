"""A working folder with evidence and a models file whose models stand on loopback, and a debate that was held there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from endpoint import ModelServer
from orchestrator.cli.debate_hall import debate_hall
from orchestrator.cli.run_debate import run_debate

Command = Callable[..., Result]

THREAD = "2026-01-06-billing"
TOPIC = "Should we move billing to Kafka?"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_server: ModelServer) -> Path:
    """The working folder, with a hall of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config/debate-hall/configs").mkdir(parents=True)
    (tmp_path / "config/debate-hall/configs/models.yaml").write_text(model_server.models_file())
    (tmp_path / "other.yaml").write_text(model_server.models_file(pathos="other", ethos="other", logos="other"))
    (tmp_path / "facts.md").write_text("Billing runs on PostgreSQL.\nOperations may run no new cluster.\n")
    (tmp_path / "load.md").write_text("The queue holds 40 messages at noon.\n")
    return tmp_path


@pytest.fixture
def hall() -> Command:
    """`debate-hall`, in this process."""
    return lambda *arguments: CliRunner().invoke(debate_hall, arguments)


@pytest.fixture
def run() -> Command:
    """`run-debate`, in this process."""
    return lambda *arguments: CliRunner().invoke(run_debate, arguments)


@pytest.fixture
def debate(run: Command) -> Callable[..., dict[str, Any]]:
    """Holds the debate that is replayed; returns its outcome."""

    def held(recipe: str, *arguments: str) -> dict[str, Any]:
        evidence = ("-c", "facts.md", "-c", "load.md")
        result = run("-r", recipe, *evidence, "--thread-id", THREAD, "--json", *arguments, TOPIC)
        assert result.exit_code == 0, result.output
        told: dict[str, Any] = json.loads(result.stdout)
        return told

    return held
