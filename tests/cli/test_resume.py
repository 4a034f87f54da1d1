"""`run-debate --resume`: what was begun goes on, whoever stopped it, and what cannot go on says why."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from in_process import WAITS, Table

from building import flowing
from orchestrator.errors import AuthenticationFailed
from orchestrator.hall.hall import Hall
from orchestrator.models.base import Request

TOPIC = "Should we move billing to Kafka?"
THREAD = "2026-01-06-billing"
FILES = ["debate.json", "decision.md", "plan.yaml", "report.html", "transcript.oct.md"]
GO_ON = f"Go on with: run-debate --resume {THREAD}"

Command = Callable[..., Result]
Damage = Callable[[str], None]


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def json_of(result: Result) -> dict[str, Any]:
    outcome: dict[str, Any] = json.loads(result.stdout)
    assert outcome["exit_code"] == result.exit_code
    return outcome


def door_refuses(request: Request) -> None:
    if request.task.role == "Door":
        raise AuthenticationFailed("the key is wrong", model=request.model)


@pytest.fixture
def begin(run: Command, table: Table) -> Command:
    """`run-debate --recipe speed`, at the table."""
    return lambda *arguments: run("--recipe", "speed", "--thread-id", THREAD, *arguments, TOPIC)


@pytest.fixture
def resume(run: Command) -> Command:
    """`run-debate --resume` of that debate."""
    return lambda *arguments: run("--resume", THREAD, *arguments)


@pytest.fixture
def paused(begin: Command, table: Table) -> Table:
    """The table of a debate whose Door could not be heard, and would be heard now; it was asked four times."""
    table.hears = door_refuses
    result = begin()
    assert result.exit_code == 3, result.output
    assert result.stderr.splitlines()[-1] == GO_ON
    table.hears = lambda request: None
    return table


# -------------------------------------------------------------------------------------------------- what can be resumed


def test_a_run_that_a_model_paused_goes_on_when_the_model_works_and_buys_nothing_twice(
    run: Command, model_server: Any, work: Path
) -> None:
    from endpoint import tokens, wrong_key

    (work / "here.yaml").write_text(model_server.models_file())
    model_server.inject(wrong_key(), model="door-1", call=1)
    first = run("--models", "here.yaml", "-r", "speed", "--thread-id", THREAD, TOPIC)
    assert (first.exit_code, first.stderr.splitlines()[-1]) == (3, GO_ON)
    outcome = json_of(run("--resume", THREAD, "--json"))
    assert (outcome["exit_code"], outcome["status"], outcome["error"]) == (0, "synthesis", None)
    assert [turn["role"] for turn in outcome["turns"]] == ["Wind", "Wall", "Door"]
    assert sorted(call.model for call in model_server.calls) == ["door-1"] * 3 + ["wall-1", "wall-1", "wind-1"]
    billed = [call for call in model_server.calls if call.answer is not None]
    assert outcome["tokens"]["input"] == sum(tokens(call.messages) for call in billed)
    assert outcome["cost_usd"] == str(sum(map(cost_of, billed)))
    assert outcome["record"]["resumed"] == 1
    assert names(work / "debates" / THREAD) == FILES


def cost_of(call: Any) -> Any:
    from decimal import Decimal

    from endpoint import tokens

    read, written = tokens(call.messages), tokens((("assistant", call.answer),))
    dollars = (read - call.cached) * Decimal("0.000001") + call.cached * Decimal("0.0000005")
    return dollars + written * Decimal("0.000003")


def test_a_resume_tells_what_stood_and_goes_on_from_there(paused: Table, resume: Command) -> None:
    result = resume()
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    assert lines[:4] == [
        f"thread {THREAD}",
        "note: it goes on with the recipe, agents, evidence and models of its start",
        "speed: 3 turns in 1 round",
        "resumed: 2 turns stood, 330 tokens and $0.0300 so far",
    ]
    assert [line.split()[0] for line in lines if "committed as" in line] == ["R1.Door.1"]


def test_what_was_bought_before_an_interrupt_is_taken_up_and_what_nobody_knows_is_told(
    begin: Command, resume: Command, table: Table
) -> None:
    """The third Wall waits for its answer when the run is interrupted; its siblings have theirs."""

    def hears(request: Request) -> object:
        if request.task.step == "apply" and "cost" in (request.task.lens or ""):
            os.kill(os.getpid(), signal.SIGINT)
            return WAITS
        return None

    table.hears = hears
    first = begin("--recipe", "fortress")
    assert first.exit_code == 130
    assert first.stderr.splitlines()[-1] == GO_ON
    assert names(Path("debates") / THREAD) == ["unused-drafts.json"]
    before, table.hears = len(table.asked), lambda request: None
    outcome = json_of(resume("--json"))
    assert outcome["exit_code"] == 0
    assert len(table.asked) - before == 15 - 6  # calls of the plan, without those that were answered before
    assert (outcome["tokens"]["input"], outcome["cost_usd"]) == (1500, "0.15")
    (uncertain,) = outcome["uncertain"]
    assert (uncertain["slot"], uncertain["step"]) == ("R1.Wall.3", "apply")
    (told,) = outcome["record"]["uncertain"]
    assert told.startswith(
        "Nobody knows what became of this call; where its answer is needed it is made again: R1.Wall.3"
    )
    assert names(Path("debates") / THREAD) == FILES  # the drafts have become turns


def test_a_run_goes_on_in_its_own_folder_from_wherever_it_is_resumed(
    begin: Command, resume: Command, table: Table, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.hears = door_refuses
    assert begin("--out", "here").exit_code == 3
    table.hears = lambda request: None
    elsewhere = work.parent / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    result = resume()
    assert result.exit_code == 0, result.output
    assert f"wrote {work}/here/decision.md" in result.stderr
    assert (names(work / "here"), names(elsewhere)) == (FILES, [])


def test_a_folder_that_is_gone_with_all_around_it_is_made_where_a_new_run_would_have_its_own(
    begin: Command, resume: Command, table: Table, work: Path
) -> None:
    table.hears = door_refuses
    assert begin("--out", "deep/here").exit_code == 3
    table.hears = lambda request: None
    (work / "deep" / "here").rmdir()
    (work / "deep").rmdir()
    assert resume().exit_code == 0
    assert names(work) == ["debates"]
    assert names(work / "debates" / THREAD) == FILES


def test_a_resume_can_name_another_folder_which_the_next_one_remembers(
    paused: Table, resume: Command, work: Path
) -> None:
    paused.hears = door_refuses
    assert resume("--out", "other").exit_code == 3
    paused.hears = lambda request: None
    assert resume().exit_code == 0
    assert names(work / "other") == FILES


def test_another_runs_folder_is_not_taken(paused: Table, resume: Command, rehearse: Command, work: Path) -> None:
    assert rehearse("--out", "taken", TOPIC).exit_code == 0
    before = (work / "taken" / "decision.md").read_bytes()
    result = resume("--out", "taken")
    assert result.exit_code == 2
    assert "error: taken holds the files of another run (" in result.stderr
    assert (work / "taken" / "decision.md").read_bytes() == before


def test_quiet_resumes_without_a_word(paused: Table, resume: Command) -> None:
    result = resume("--quiet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Therefore draft")


# ---------------------------------------------------------------------------------------------- debates that have ended


def test_of_a_run_that_has_ended_the_files_are_written_again(
    begin: Command, resume: Command, table: Table, work: Path
) -> None:
    first = begin("--json")
    assert first.exit_code == 0
    asked = len(table.asked)
    for file in (work / "debates" / THREAD).iterdir():
        file.unlink()
    again = resume("--json")
    assert json_of(again) == json_of(first) | {"files": json_of(again)["files"]}
    assert again.stderr.startswith(
        f"{THREAD} has ended already (synthesis): nothing is asked, its files are written again\n"
    )
    assert names(work / "debates" / THREAD) == FILES
    assert len(table.asked) == asked


def test_a_run_that_was_closed_by_force_ends_as_that_once_more(
    paused: Table, resume: Command, hall: Command, work: Path
) -> None:
    assert hall("force-close", THREAD, "--reason", "No longer needed.").exit_code == 0
    result = resume()
    assert (result.exit_code, result.stdout) == (
        4,
        f"No decision: {THREAD} was closed by force (No longer needed.).\n",
    )
    assert "CLOSED BY FORCE: there is no decision." in flowing((work / "debates" / THREAD / "decision.md").read_text())
    assert len(paused.asked) == 4


# ------------------------------------------------------------------------------------------------ what may be otherwise


def test_other_models_and_limits_are_used_from_here_on_and_stand_in_the_record(paused: Table, resume: Command) -> None:
    changed = ("--door", "openai/other", "--cost-limit", "50", "--assume-price", "3/15", "--on-failure", "degrade")
    result = resume("--json", *changed)
    assert result.exit_code == 0, result.output
    told = (
        "from here on Door is asked through openai/other; it may take at most $50; "
        "the price of openai/other is $3/15 per million tokens in/out; a seat that fails makes the run degrade"
    )
    assert f"note: {told}" in result.stderr.splitlines()
    outcome = json_of(result)
    assert outcome["record"]["changes"] == [f"F{told[1:]}."]
    assert {request.model for request in paused.asked[4:] if request.task.role == "Door"} == {"openai/other"}


def test_what_was_changed_once_stays_changed(paused: Table, resume: Command) -> None:
    paused.hears = door_refuses
    assert resume("--door", "openai/other").exit_code == 3
    paused.hears = lambda request: None
    assert resume().exit_code == 0
    assert {request.model for request in paused.asked[4:] if request.task.role == "Door"} == {"openai/other"}


def test_files_that_have_changed_since_are_named_and_not_taken_up(run: Command, table: Table, work: Path) -> None:
    (work / "facts.md").write_text("Billing runs on PostgreSQL.\n")
    table.hears = door_refuses
    assert run("-r", "speed", "-c", "facts.md", "--thread-id", THREAD, TOPIC).exit_code == 3
    table.hears = lambda request: None
    (work / "facts.md").write_text("Billing runs on nothing.\n")
    result = run("--resume", THREAD)
    assert "note: changed since then, and not taken up: E1 (facts.md)" in result.stderr.splitlines()
    assert "runs on PostgreSQL" in str(table.asked[-1].messages)
    assert "runs on nothing" not in str(table.asked[-1].messages)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--wall", "openai/a b"), "--wall: must be the name of a model"),
        (("--door", "anthropic/claude-opus-5-5"), "--door anthropic/claude-opus-5-5: ANTHROPIC_API_KEY or"),
        (("--door", "rehearsal"), "A debate between models cannot go on with the rehearsal"),
        (("--models", "local"), "The models file local changes nothing by itself"),
        (
            ("--door", "openai/mine", "--cost-limit", "1"),
            "no price is known for openai/mine. Give one with --assume-price",
        ),
        (("--assume-price", "3/x"), "'3/x' is no price."),
        (("--sign",), "There is no key default"),
        (("--door", "client"), "The route `client` is the model of an MCP client"),
    ],
)
def test_a_change_that_cannot_be_is_refused_and_nothing_is_begun(
    arguments: tuple[str, ...], sentence: str, paused: Table, resume: Command, work: Path
) -> None:
    with Hall.open() as hall:
        before = (hall.debate(THREAD).head, hall.runs.row(THREAD))
    result = resume(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    with Hall.open() as hall:
        assert (hall.debate(THREAD).head, hall.runs.row(THREAD)) == before
    assert len(paused.asked) == 4


def test_a_cost_limit_is_refused_where_nobody_knows_what_was_spent(
    begin: Command, resume: Command, table: Table
) -> None:
    mine = [word for role in ("wind", "wall", "door") for word in (f"--{role}", "openai/mine")]
    table.cost, table.hears = None, door_refuses
    assert begin(*mine).exit_code == 3
    refused = resume("--cost-limit", "1", "--assume-price", "3/15")
    assert refused.exit_code == 2
    assert "what this run has taken so far has no known price. Resume without --cost-limit" in refused.stderr
    table.hears = lambda request: None
    ended = json_of(resume("--token-limit", "100000", "--json"))
    assert (ended["exit_code"], ended["cost_usd"]) == (0, None)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((TOPIC,), "TOPIC"),
        (("--recipe", "standard"), "--recipe"),
        (("--tier", "2"), "--tier"),
        (("--rehearse",), "--rehearse"),
        (("--context", "facts.md"), "--context"),
        (("--adr", "docs/adr"), "--adr"),
        (("--context-limit", "5"), "--context-limit"),
        (("--consensus",), "--consensus"),
        (("--no-consensus",), "--consensus"),
        (("--early-close",), "--early-close"),
        (("--no-early-close",), "--early-close"),
        (("--thread-id", "2026-01-07-x"), "--thread-id"),
        (("--dry-run",), "--dry-run"),
    ],
)
def test_what_would_be_another_debate_is_refused(arguments: tuple[str, ...], named: str, resume: Command) -> None:
    result = resume(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(
        f"Error: --resume goes on with the plan that was pinned at the start; {named} belongs to a new debate.\n"
    )


# ---------------------------------------------------------------------------------------------------- what cannot go on


def test_a_debate_that_nobody_knows_is_refused(resume: Command) -> None:
    result = resume("--json")
    assert json_of(result)["error"]["code"] == "unknown_thread"
    assert result.stderr == f"error: There is no debate {THREAD}. `debate-hall list` shows those there are.\n"
    assert result.exit_code == 2


def test_a_debate_that_is_held_by_hand_is_refused(resume: Command) -> None:
    with Hall.open() as hall:
        hall.init_debate(THREAD, TOPIC)
    result = resume()
    assert result.exit_code == 2
    assert result.stderr == (
        f"error: {THREAD} is held by hand: it has no plan to go on with. "
        "Take its next turn by hand: add_turn, over MCP (debate-hall serve).\n"
    )


def test_a_run_that_goes_on_elsewhere_is_refused_with_who_holds_it(paused: Table, resume: Command) -> None:
    with Hall.open() as hall:
        hall.runs.begin(THREAD)
    result = resume("--json")
    outcome = json_of(result)
    assert (outcome["exit_code"], outcome["error"]["code"], outcome["thread_id"]) == (2, "run_held", None)
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"error: process {os.getpid()} on ")
    assert "once it is not heard of for 15 s it can be taken over." in last
    assert len(paused.asked) == 4


def test_nothing_is_built_on_a_ledger_that_does_not_verify(paused: Table, resume: Command, damage: Damage) -> None:
    damage("UPDATE texts SET words = replace(words, 'What if', 'Why not') WHERE words LIKE 'What if%'")
    result = resume("--json")
    assert (result.exit_code, json_of(result)["error"]["code"]) == (7, "ledger_broken")
    assert result.stderr.startswith(f"error: The ledger does not verify at {THREAD}, entry 1: ")
    assert len(paused.asked) == 4


def test_nothing_is_built_on_a_journal_that_does_not_verify(paused: Table, resume: Command, damage: Damage) -> None:
    damage("UPDATE texts SET words = 'Nothing to check.' WHERE words LIKE 'checklist,%'")
    result = resume()
    assert result.exit_code == 7, result.output
    assert "record 4 of its journal has another text than was written" in result.stderr
    assert len(paused.asked) == 4
