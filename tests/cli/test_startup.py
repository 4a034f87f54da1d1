"""What starting costs: only what the command at hand needs is imported."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROBE = """
import json, sys
from orchestrator.cli.{module} import {command}
try:
    {command}.main({arguments!r})
finally:
    print(json.dumps(sorted(name for name in sys.modules if "." not in name)), file=sys.stderr)
"""
HEAVY = {"anyio", "jinja2", "litellm", "mcp", "pydantic", "rich", "yaml"}


def imported(command: str, *arguments: str) -> set[str]:
    """The packages that are loaded once a command has run in a new process."""
    probe = PROBE.format(module=command, command=command, arguments=list(arguments))
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert result.stdout
    return set(json.loads(result.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments", [("run_debate", "--help"), ("debate_hall", "--help"), ("run_debate", "--version")]
)
def test_help_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert imported(*arguments) & HEAVY == set()


@pytest.mark.slow
def test_a_dry_run_knows_prices_and_models_without_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    assert imported("run_debate", "--dry-run", "Kafka?") & {"litellm", "mcp"} == set()


@pytest.mark.slow
def test_a_rehearsal_runs_without_litellm_and_without_telemetry() -> None:
    loaded = imported("run_debate", "--rehearse", "-r", "speed", "--quiet", "Kafka?")
    assert loaded & {"litellm", "mcp", "opentelemetry"} == set()


def test_looking_into_the_hall_needs_no_model_and_no_parser() -> None:
    assert imported("debate_hall", "list") & {"jinja2", "litellm", "markdown_it", "mcp"} == set()
