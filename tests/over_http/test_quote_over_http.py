"""What a dry run quotes is what the run takes, as the provider counts it; and no server is asked more than it takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from building import RECIPES
from endpoint import Call, ModelServer
from orchestrator.cli.run_debate import run_debate
from orchestrator.hall.entries import Turn
from orchestrator.hall.hall import Hall
from orchestrator.plan import Plan

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("litellm")]

TOPIC = "Should we move billing to Kafka?"
EVIDENCE = "Billing runs on PostgreSQL.\nOperations may run no new cluster before March.\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with evidence and a hall of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "facts.md").write_text(EVIDENCE)
    return tmp_path


def debate(*arguments: str) -> Result:
    return CliRunner().invoke(run_debate, ["--models", "./here.yaml", "--context", "facts.md", *arguments, TOPIC])


def said(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    outcome: dict[str, Any] = json.loads(result.stdout)
    return outcome


# ----------------------------------------------------------------------------------------------------------- the quote


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_dry_run_quotes_what_a_run_of_each_recipe_then_takes(
    recipe: str, folder: Path, model_server: ModelServer
) -> None:
    (folder / "here.yaml").write_text(model_server.models_file())
    quote = said(debate("--recipe", recipe, "--dry-run", "--json"))["quote"]
    assert model_server.calls == []
    outcome = said(debate("--recipe", recipe, "--json"))
    assert outcome["quote"] == quote
    assert quote["calls"]["least"] <= len(model_server.calls) <= quote["calls"]["most"]
    charged = [call.charged for call in model_server.calls if call.charged]
    read, written = sum(counts[0] for counts in charged), sum(counts[2] for counts in charged)
    assert outcome["tokens"]["input"] + outcome["tokens"]["output"] == read + written
    assert_within(quote["tokens"], read + written)
    assert_within(quote["input"], read)
    assert_within(quote["output"], written)
    assert_within(quote["cost_usd"], outcome["cost_usd"])


def assert_within(quote: Mapping[str, Any], taken: Any) -> None:
    low, expected, high = (Decimal(quote[name]) for name in ("low", "expected", "high"))
    assert low <= expected <= high
    assert low <= Decimal(taken) <= high


def test_what_was_quoted_is_told_before_and_beside_what_was_taken(folder: Path, model_server: ModelServer) -> None:
    (folder / "here.yaml").write_text(model_server.models_file())
    result = debate("--recipe", "speed")
    lines = result.stderr.splitlines()
    (before,) = (line.removeprefix("quote: ") for line in lines if line.startswith("quote: "))
    assert lines[-1].startswith(f"quoted {before}; took ")
    assert lines.index(f"quote: {before}") < next(n for n, line in enumerate(lines) if line.startswith("thread "))


# -------------------------------------------------------------------------------------------------------- max_parallel


def bounded(server: ModelServer, most: int) -> str:
    """A models file whose three models are one server, of which one says how many calls it takes at once."""
    text = server.models_file()
    assert text.count("context_tokens: 200000\n") == 3
    return text.replace("context_tokens: 200000\n", f"context_tokens: 200000\n    max_parallel: {most}\n", 1)


def at_once(calls: list[Call]) -> int:
    """The most calls that were under way together, as the server saw them."""
    events = [(call.started, 1) for call in calls] + [(call.finished or 0, -1) for call in calls]
    under_way = most = 0
    for _, change in sorted(events):
        under_way += change
        most = max(most, under_way)
    return most


def slots_of(folder: Path) -> tuple[list[str], list[str]]:
    """The slots of the turns as they stand in the ledger, and those of the plan."""
    with Hall.open(folder / "state") as hall:
        (listed,) = hall.list_debates()
        debate = hall.debate(listed["thread_id"])
    plan = Plan.pinned_in(debate)
    assert plan is not None
    turns = [line.entry.body for line in debate.turns if isinstance(line.entry.body, Turn)]
    return [turn.seat.slot for turn in turns if turn.seat], [seat.slot for each in plan.rounds for seat in each.seats]


@pytest.mark.parametrize("most", [1, 2])
def test_a_server_is_never_asked_more_at_once_than_it_takes_and_the_run_ends_in_seat_order(
    most: int, folder: Path, model_server: ModelServer
) -> None:
    """FORTRESS has four calls to make at once. Where two are taken, the server answers none before it has two."""
    (folder / "here.yaml").write_text(bounded(model_server, most))
    model_server.latency_s = 0.02
    if most == 2:
        model_server.hold_until(2, 2)
    outcome = said(debate("--recipe", "fortress", "--json"))
    assert at_once(model_server.calls) == most
    assert len(model_server.calls) == outcome["quote"]["calls"]["least"]
    spoken, planned = slots_of(folder)
    assert spoken == planned


def test_a_server_of_which_nothing_is_said_is_asked_all_at_once(folder: Path, model_server: ModelServer) -> None:
    (folder / "here.yaml").write_text(model_server.models_file())
    model_server.hold_until(4)
    said(debate("--recipe", "fortress", "--json"))
    assert at_once(model_server.calls) == 4
