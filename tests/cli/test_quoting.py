"""What a debate will take is said before it, beside what it took after it, and in the JSON of every outcome."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from in_process import Table

TOPIC = "Should we move billing to Kafka?"
THREAD = "2026-01-06-billing"
PRICE = "{input_cost_per_token: 0.000001, output_cost_per_token: 0.000003}"
MODELS = f"""\
routes: {{PATHOS: [openai/wind], ETHOS: [openai/wall], LOGOS: [openai/door]}}
models: {{openai/wind: {PRICE}, openai/wall: {PRICE}, openai/door: {PRICE}}}
"""
RANGE = r"\d[\d.]*[kM]?–\d[\d.]*[kM]?–\d[\d.]*[kM]?"

Command = Callable[..., Result]


@pytest.fixture
def debate(run: Command, table: Table, work: Path) -> Command:
    """`run-debate` of one round with models of known price, each call of which takes a cent."""
    (work / "own.yaml").write_text(MODELS)
    return lambda *arguments: run("--models", "own.yaml", "-r", "speed", "--thread-id", THREAD, *arguments, TOPIC)


def json_of(result: Result) -> dict[str, Any]:
    outcome: dict[str, Any] = json.loads(result.stdout)
    return outcome


def test_a_dry_run_shows_it_below_the_calls_and_says_how_it_was_estimated(debate: Command, table: Table) -> None:
    lines = debate("--dry-run").stdout.splitlines()
    place = lines.index("5 calls, 4 of them one after another; an answer that fails or is sent back takes one more")
    told = rf"quote: {RANGE} tokens \(in {RANGE}, out {RANGE}\), \${RANGE}"
    assert re.fullmatch(told, lines[place + 1])
    assert lines[place + 2].startswith("  low–expected–high, from the prompts of this plan with answers as short as ")
    quote = json_of(debate("--dry-run", "--json"))["quote"]
    assert quote["calls"] == {"least": 5, "most": 5}
    assert quote["tokens"]["low"] <= quote["tokens"]["expected"] <= quote["tokens"]["high"]
    assert table.asked == []


def test_evidence_and_a_longer_question_stand_in_it(debate: Command, run: Command, work: Path) -> None:
    (work / "facts.md").write_text("A fact that every seat reads.\n" * 400)
    plain, with_facts = (json_of(debate("--dry-run", "--json", *more))["quote"] for more in ((), ("-c", "facts.md")))
    asked = run("--models", "own.yaml", "-r", "speed", "--dry-run", "--json", f"{TOPIC} {'And then? ' * 400}")
    for longer in (with_facts, json_of(asked)["quote"]):
        assert longer["input"]["low"] >= plain["input"]["low"] + 5 * 4000 / 5
        assert longer["output"] == plain["output"]


def test_a_run_says_it_before_it_begins_and_beside_what_it_took_when_it_has_ended(debate: Command) -> None:
    lines = debate().stderr.splitlines()
    before = lines[lines.index(f"thread {THREAD}") - 1]
    assert re.fullmatch(rf"quote: {RANGE} tokens, \${RANGE}", before)
    assert lines[-1] == f"quoted {before.removeprefix('quote: ')}; took 550 tokens, $0.0500"


def test_its_json_holds_it_on_failure_too(debate: Command, run: Command) -> None:
    quote = json_of(debate("--dry-run", "--json"))["quote"]
    stopped = json_of(debate("--json", "--token-limit", "12000"))
    assert stopped["error"]["code"] == "limit"
    assert stopped["quote"] == quote
    ended = json_of(run("--resume", THREAD, "--json", "--token-limit", "1000000"))
    assert (ended["status"], ended["quote"]) == ("synthesis", quote)
    again = json_of(run("--resume", THREAD, "--json"))  # nothing is asked any more
    assert (again["status"], again["quote"]) == ("synthesis", quote)


def test_who_wants_to_read_the_decision_alone_reads_no_quote(debate: Command) -> None:
    assert debate("--quiet").stderr == ""


def test_a_price_that_is_not_known_is_named(debate: Command, work: Path) -> None:
    (work / "own.yaml").write_text(MODELS.replace(f"openai/wall: {PRICE}, ", ""))
    assert "cost unknown: no price is known for openai/wall" in debate("--dry-run").stdout
    assert json_of(debate("--dry-run", "--json"))["quote"]["cost_usd"] is None
    assumed = json_of(debate("--dry-run", "--json", "--assume-price", "1/3"))["quote"]
    assert float(assumed["cost_usd"]["high"]) > 0


def test_a_rehearsal_quotes_nothing(run: Command) -> None:
    assert "quote:" not in run("--rehearse", "-r", "speed", "--dry-run", TOPIC).stdout
    held = run("--rehearse", "-r", "speed", TOPIC)
    assert "quote" not in held.stderr


def test_three_models_for_three_seats_by_one_flag(run: Command) -> None:
    """And what is said where they are one."""
    spread_out = run("-r", "fortress", "--wind", "ollama/w", "--wall", "ollama/a,ollama/b,ollama/c", *DOOR)
    seats = [line.split()[2] for line in spread_out.stdout.splitlines() if line.startswith("  Wall")]
    assert seats == ["ollama/a,", "ollama/b,", "ollama/c,", "ollama/a,", "ollama/b,"]
    assert "one model" not in spread_out.stdout
    alike = run("-r", "fortress", "--wind", "ollama/w", "--wall", "ollama/a", *DOOR).stdout
    assert "note: 3 seats of critical-engineer ask one model (ollama/a). Different models disagree better: " in alike


DOOR = ("--door", "ollama/d", "--dry-run", TOPIC)
