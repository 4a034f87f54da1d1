"""What a run may take, and what happens when a seat cannot be heard: exit codes, first words, last line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from in_process import Table

from building import flowing
from orchestrator.errors import ContentRefused
from orchestrator.models.base import Request

TOPIC = "Should we move billing to Kafka?"
THREAD = "2026-01-06-billing"
MODELS = """\
routes: {PATHOS: [openai/wind], ETHOS: [openai/wall], LOGOS: [openai/door]}
models:
  openai/wind: {input_cost_per_token: 0.000001, output_cost_per_token: 0.000003}
  openai/wall: {input_cost_per_token: 0.000001, output_cost_per_token: 0.000003}
  openai/door: {input_cost_per_token: 0.000001, output_cost_per_token: 0.000003}
"""
CLOSES = """\
name: own
summary: Door closes at a limit.
mode: fixed
turns: 6
ratio: {wind: 1, wall: 1, door: 1}
tier: "1"
limits: {cost_usd: 0.13}
on_limit: close
"""

Command = Callable[..., Result]


@pytest.fixture
def debate(run: Command, table: Table, work: Path) -> Command:
    """`run-debate` with models of known price, each call of which takes a cent."""
    (work / "own.yaml").write_text(MODELS)
    (work / "closes.yaml").write_text(CLOSES.replace("name: own", "name: closes"))
    return lambda *arguments: run("--models", "own.yaml", "--thread-id", THREAD, *arguments, TOPIC)


def json_of(result: Result) -> dict[str, Any]:
    outcome: dict[str, Any] = json.loads(result.stdout)
    assert outcome["exit_code"] == result.exit_code
    return outcome


def files() -> Path:
    return Path("debates") / THREAD


# --------------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("option", "value", "raised", "message"),
    [
        ("--cost-limit", "0.04", "--cost-limit USD", "The next call could take $0.0"),
        ("--token-limit", "12000", "--token-limit N", "tokens, and "),
        ("--time-limit", "0.01", "--time-limit SECONDS", " s of 0.01 s are left."),
    ],
)
def test_a_run_that_meets_a_limit_stops_and_says_which_one_to_raise(
    option: str, value: str, raised: str, message: str, debate: Command, run: Command, table: Table
) -> None:
    stopped = debate("-r", "speed", option, value)
    assert stopped.exit_code == 5, stopped.output
    assert stopped.stdout == ""
    assert message in stopped.stderr
    assert stopped.stderr.splitlines()[-1] == f"Go on with: run-debate --resume {THREAD} {raised}"
    asked = len(table.asked)
    again = json_of(run("--resume", THREAD, "--json"))
    assert (again["exit_code"], again["status"], again["error"]["code"]) == (5, "active", "limit")
    assert again["cost_usd"] == f"{asked / 100:.2f}".rstrip("0").rstrip(".")
    assert len(table.asked) == asked
    ended = json_of(run("--resume", THREAD, "--json", option, "1000000"))
    assert (ended["exit_code"], ended["status"]) == (0, "synthesis")
    assert len(table.asked) == 5
    assert ended["cost_usd"] == "0.05"


def test_the_limits_of_a_recipe_count_unless_others_are_given(debate: Command) -> None:
    assert "limits: $0.13; at a limit: close" in debate("-r", "closes.yaml", "--dry-run").stdout
    given = debate("-r", "closes.yaml", "--cost-limit", "2", "--token-limit", "3000", "--dry-run")
    assert "limits: $2, 3,000 tokens; at a limit: close" in given.stdout


def test_where_the_recipe_says_so_door_closes_at_the_limit_and_every_output_says_it_first(
    debate: Command, run: Command, hall: Command
) -> None:
    result = debate("-r", "closes.yaml", "--cost-limit", "0.11")
    assert result.exit_code == 6, result.output
    first = result.stdout.splitlines()[0]
    assert first.startswith("CLOSED EARLY: Door closed before the plan's end, at a limit. The next")
    assert "Door closes with what is there." in result.stderr
    assert first in flowing((files() / "decision.md").read_text()).split("\n\n")[2]
    assert "MARKS::[CLOSED_EARLY," in (files() / "transcript.oct.md").read_text()
    exported = json.loads((files() / "debate.json").read_text())
    assert exported["marks"] == ["CLOSED_EARLY"]
    assert f"CLOSED EARLY: {exported['record']['closed_early']}" == first
    assert hall("show", THREAD).stdout.startswith("CLOSED_EARLY: ")
    assert "CLOSED_EARLY: " in hall("list").stdout
    again = run("--resume", THREAD)
    assert (again.exit_code, again.stdout) == (6, result.stdout)


# ------------------------------------------------------------------------------------------------------------- failures


def second_wall_is_refused(request: Request) -> None:
    if "failure" in (request.task.lens or ""):
        raise ContentRefused("the filter did not like it", model=request.model)


def test_a_seat_that_fails_pauses_the_run_unless_it_may_do_without(debate: Command, run: Command, table: Table) -> None:
    table.hears = second_wall_is_refused
    paused = debate("-r", "fortress")
    assert paused.exit_code == 3
    assert "Wall critical-engineer (R1.Wall.2) could not be heard: " in paused.stderr
    assert paused.stderr.splitlines()[-1] == f"Go on with: run-debate --resume {THREAD}"
    assert run("--resume", THREAD, "--on-failure", "degrade").exit_code == 6


def test_a_degraded_debate_says_first_who_is_missing_and_why_in_every_output(
    debate: Command, run: Command, hall: Command, table: Table
) -> None:
    table.hears = second_wall_is_refused
    result = debate("-r", "fortress", "--on-failure", "degrade")
    assert result.exit_code == 6, result.output
    first = result.stdout.splitlines()[0]
    missing = [f"Wall critical-engineer (R{number}.Wall.2) is missing: the filter did not like it" for number in (1, 2)]
    assert first == f"DEGRADED: {' '.join(missing)}"
    assert first in flowing((files() / "decision.md").read_text()).split("\n\n")[2]
    octave = (files() / "transcript.oct.md").read_text().splitlines()[:12]
    assert "  MARKS::[DEGRADED]" in octave
    assert any(line.startswith("  DEGRADED::") and all(words in line for words in missing) for line in octave)
    exported = json.loads((files() / "debate.json").read_text())
    assert (exported["marks"], exported["record"]["degraded"]) == (["DEGRADED"], missing)
    assert hall("show", THREAD).stdout.startswith("DEGRADED: ")
    assert "DEGRADED: " in hall("list").stdout
    outcome = json_of(run("--resume", THREAD, "--json"))
    assert (outcome["exit_code"], outcome["degraded"], outcome["record"]["degraded"]) == (6, True, missing)


def test_door_is_never_missing(debate: Command, table: Table) -> None:
    def door_is_refused(request: Request) -> None:
        if request.task.role == "Door":
            raise ContentRefused("the filter did not like it", model=request.model)

    table.hears = door_is_refused
    result = debate("-r", "speed", "--on-failure", "degrade")
    assert result.exit_code == 3
    assert "Door door-agent (R1.Door.1) could not be heard: the filter did not like it" in result.stderr


# -------------------------------------------------------------------------------------------------------------- signing


def test_a_run_signs_its_export_with_the_users_key(debate: Command, hall: Command) -> None:
    made = json.loads(hall("key", "new", "--json").stdout)
    assert debate("-r", "speed", "--sign").exit_code == 0
    verified = hall("verify", "--file", str(files() / "debate.json"), "--public-key", made["public_key"])
    assert verified.exit_code == 0, verified.output
    assert f"signed by the key {made['fingerprint']}" in verified.stdout


def test_a_run_that_cannot_be_signed_is_not_begun(debate: Command, hall: Command, table: Table, work: Path) -> None:
    before = sorted(work.iterdir())
    refused = debate("-r", "speed", "--sign")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "There is no key default in " in refused.stderr
    assert "debate-hall key new" in refused.stderr
    assert hall("key", "new").exit_code == 0
    nothing = debate("-r", "speed", "--sign", "--format", "adr")
    assert "--sign signs debate.json, which is not among the formats. Add --format json." in nothing.stderr
    assert (nothing.exit_code, sorted(work.iterdir()), table.asked) == (2, before, [])
