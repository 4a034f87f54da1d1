"""Whole debates: the command, litellm and a real HTTP provider on loopback, checked call by call and entry by entry."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from endpoint import Answer, Call, ModelServer, cut_off, empty, server_error, tokens, wrong_key
from orchestrator.cli.run_debate import run_debate
from orchestrator.decision.seating import contributions
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import FloorGiven, Turn
from orchestrator.hall.hall import Hall
from orchestrator.plan import Plan

TOPIC = "Should we move billing to Kafka?"
EVIDENCE = "Billing runs on PostgreSQL.\nOperations may run no new cluster before March.\n"
ROUNDS = {  # DESIGN section 4
    "speed": ["WLD"],
    "standard": ["WLD"] * 4,
    "deep": ["WLD"] * 12,
    "fortress": ["WLLLD", "WLLD"],
    "laboratory": ["WWWLD", "WWLD"],
    "council": ["WWLLDDD", "WWLDD"],
}
SETTLING = {"council": [["wind-1"] * 2 + ["wall-1"] * 2]}  # the votes, where there are any; then Door's account
ROLE = {"W": "Wind", "L": "Wall", "D": "Door"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_server: ModelServer) -> Path:
    """An empty working folder with a models file, evidence and a hall of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "here.yaml").write_text(model_server.models_file())
    (tmp_path / "facts.md").write_text(EVIDENCE)
    return tmp_path


def debate(*arguments: str) -> Result:
    return CliRunner().invoke(run_debate, ["--models", "./here.yaml", *arguments, TOPIC])


def together(recipe: str) -> Iterator[int]:
    """How many calls are in flight together, batch by batch."""
    return map(len, batches(recipe))


def batches(recipe: str) -> Iterator[list[str]]:
    """The models that are asked together: Winds with checklists, Walls, then Door by Door; voters; Door's account."""
    for shape in ROUNDS[recipe]:
        winds, walls, doors = (shape.count(letter) for letter in "WLD")
        yield ["wind-1"] * winds + ["wall-1"] * walls
        yield ["wall-1"] * walls
        yield from [["door-1"]] * doors
    yield from SETTLING.get(recipe, [])
    yield ["door-1"]


def held(folder: Path) -> tuple[Debate, Plan]:
    with Hall.open(folder / "state") as hall:
        (listed,) = hall.list_debates()
        pinned = hall.debate(listed["thread_id"]).plan
        assert pinned is not None
        return hall.debate(listed["thread_id"]), Plan.decode(pinned)


def turns_of(debate: Debate) -> list[Turn]:
    return [line.entry.body for line in debate.turns if isinstance(line.entry.body, Turn)]


FAST = ("speed", "fortress")


@pytest.mark.parametrize(
    "recipe", [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in ROUNDS]
)
def test_a_recipe_runs_to_its_decision(recipe: str, folder: Path, model_server: ModelServer) -> None:
    model_server.hold_until(*together(recipe))
    result = debate("--recipe", recipe, "--context", "facts.md", "--json")
    assert result.exit_code == 0, result.output
    outcome = json.loads(result.stdout)
    ledger, plan = held(folder)
    assert len(model_server.calls) == plan.calls
    assert_turns_in_order(recipe, ledger)
    assert_calls_in_order(recipe, model_server.calls)
    assert_prompts_append_only(model_server.calls)
    assert_ledger_holds_what_was_answered(ledger, model_server.calls)
    assert_outcome(recipe, outcome, ledger, model_server.calls)


def assert_turns_in_order(recipe: str, debate: Debate) -> None:
    spoken = [(turn.round, turn.role.value) for turn in turns_of(debate)]
    assert spoken == [(n, ROLE[letter]) for n, shape in enumerate(ROUNDS[recipe], 1) for letter in shape]
    assert debate.state.status == "synthesis"
    assert debate.synthesis is not None
    assert debate.synthesis.text == debate.turns[-1].text
    picks = [line.entry.body.role for line in debate.of(FloorGiven) if isinstance(line.entry.body, FloorGiven)]
    mediated = recipe in ("fortress", "laboratory", "council")
    assert picks == ([turn.role for turn in turns_of(debate)] if mediated else [])


def assert_calls_in_order(recipe: str, calls: list[Call]) -> None:
    """Each batch is answered before the next begins; within a batch all three kinds may arrive in any order."""
    rest = list(calls)
    for batch in batches(recipe):
        now, rest = rest[: len(batch)], rest[len(batch) :]
        assert sorted(call.model for call in now) == sorted(batch)
        assert all(call.finished is not None for call in now)
        if rest:
            assert max(call.finished or 0 for call in now) < rest[0].started
    assert rest == []


def assert_prompts_append_only(calls: list[Call]) -> None:
    """A later request begins with all messages of an earlier one but its last, whoever asked."""
    for earlier, later in pairwise(calls):
        shared = earlier.messages[:-1]
        assert later.messages[: len(shared)] == shared
    first = calls[0].messages
    assert first[0][0] == "system"
    assert TOPIC in first[1][1]
    assert "2| Operations may run no new cluster before March." in first[1][1]


def assert_ledger_holds_what_was_answered(debate: Debate, calls: list[Call]) -> None:
    """Every turn is the answer to one call, and that call saw exactly the turns that its barrier allows."""
    said = [line.text or "" for line in debate.turns]
    for turn, text in zip(turns_of(debate), said, strict=True):
        own_words = text.split('". ')[-1]  # what a Wall quotes names another call
        number = re.search(r"[Cc]all (\d+)", own_words)
        assert number is not None
        call = calls[int(number[1]) - 1]
        seen = [text for text in said if any(text in message for _, message in call.messages[2:-1])]
        assert seen == said[: _visible(debate, turn)]
        assert turn.seat is not None
        model = f"{turn.role.lower()}-1"
        assert (turn.model, turn.seat.asked, turn.seat.answered) == (model, f"openai/{model}", model)


def _visible(debate: Debate, turn: Turn) -> int:
    """How many turns stood when this one was drafted: Winds see the rounds before, Walls also the Winds, Doors all."""
    spoken = turns_of(debate)
    before = [other for other in spoken if other.round < turn.round]
    if turn.role == "Wind":
        return len(before)
    if turn.role == "Wall":
        return len(before) + sum(other.round == turn.round and other.role == "Wind" for other in spoken)
    return turn.turn_index


def assert_outcome(recipe: str, outcome: dict[str, Any], debate: Debate, calls: list[Call]) -> None:
    assert outcome["head"] == debate.head
    assert outcome["decision"] == debate.turns[-1].text
    assert outcome["error"] is None
    assert [turn["content"] for turn in outcome["turns"]] == [line.text for line in debate.turns]
    seats = [one.seat for one in contributions(debate) if one.seat]  # turns, votes and the account
    assert outcome["tokens"]["input"] == sum(seat.input or 0 for seat in seats) > 0
    assert outcome["tokens"]["cached"] == sum(seat.cached or 0 for seat in seats)
    assert sum(seat.input or 0 for seat in seats) == billed(calls)[0]
    assert Decimal(outcome["cost_usd"]) == cost_of(outcome["tokens"], calls)
    record, stated = outcome["record"], sum(shape.count("L") for shape in ROUNDS[recipe]) * 2
    assert [each["outcome"] for each in record["constraints"]] == ["met"] * stated
    assert record["incomplete"] == []
    assert (record["agreed"], len(record["votes"])) == ((True, 4) if recipe in SETTLING else (None, 0))
    assert sorted(Path(file).name for file in outcome["files"]) == [
        "debate.json",
        "decision.md",
        "plan.yaml",
        "report.html",
        "transcript.oct.md",
    ]


def test_a_model_that_fails_for_good_pauses_the_run_with_its_turns_intact(
    folder: Path, model_server: ModelServer
) -> None:
    key = "sk-proj-" + "q7Wd0ZkT2mXv9LbR4cYh"
    model_server.inject(wrong_key(key), model="door-1")
    result = debate("--recipe", "fortress")
    assert result.exit_code == 3
    assert result.stdout == ""
    assert "Door technical-architect (R1.Door.1) could not be heard" in result.stderr
    assert "Incorrect API key provided" in result.stderr
    assert key not in result.output
    assert "openai/door-1 answered HTTP 401" in result.stderr
    assert "4 committed turns are kept" in result.stderr
    ledger, _ = held(folder)
    assert [turn.role.value for turn in turns_of(ledger)] == ["Wind", "Wall", "Wall", "Wall"]
    assert ledger.state.status == "active"
    assert [call.model for call in model_server.calls].count("door-1") == 1  # a wrong key is not tried again


def test_a_fallback_answers_when_a_route_is_gone_and_the_record_says_so(
    folder: Path, model_server: ModelServer
) -> None:
    (folder / "here.yaml").write_text(
        model_server.models_file().replace("ETHOS: [openai/wall-1]", "ETHOS: [openai/gone-1, openai/wall-1]")
        + f"  openai/gone-1:\n    api_base: {model_server.base_url}\n"
    )
    model_server.inject(wrong_key(), model="gone-1")
    result = debate("--recipe", "speed", "--json")
    assert result.exit_code == 0, result.output
    (change,) = json.loads(result.stdout)["substitutions"]
    assert change == {
        "turn": 2,
        "slot": "R1.Wall.1",
        "agent": "wall-agent",
        "asked": "openai/gone-1",
        "route": "openai/wall-1",
        "answered": "wall-1",
        "why": ["openai/gone-1: authentication", "openai/gone-1: authentication, not asked again"],
    }
    assert "openai/gone-1 failed, now openai/wall-1" in result.stderr
    assert [call.model for call in model_server.calls].count("gone-1") == 1  # for the checklist, not for the turn


def test_paid_drafts_of_a_paused_run_are_kept_in_a_file(folder: Path, model_server: ModelServer) -> None:
    model_server.inject(wrong_key(), model="wind-1")
    result = debate("--recipe", "fortress", "--out", "out")
    assert result.exit_code == 3
    kept = json.loads((folder / "out" / "unused-drafts.json").read_text())
    assert [draft["step"] for draft in kept] == ["checklist"] * 3
    assert all(draft["text"].startswith("VERDICT") for draft in kept)


# ------------------------------------------------------------------------------------------------------------- the bill

USELESS = [
    pytest.param(cut_off(), id="cut off"),
    pytest.param(empty(), id="empty"),
    pytest.param(Answer("I cannot", finish_reason="content_filter"), id="filtered"),
    pytest.param(Answer("Therefore we take one step."), id="too short"),
]
ATTEMPTS = 2  # what is of no use is sent back once


@pytest.fixture
def without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.drafting.Patience.wait", lambda self, state: 0.0)


def door_asks_first(server: ModelServer, *, price: bool = True, then: str = ", openai/door-1") -> str:
    """A models file whose Door asks short-1 before it falls back."""
    entry = f"  openai/short-1:\n    api_base: {server.base_url}\n"
    prices = "    input_cost_per_token: 0.000001\n    output_cost_per_token: 0.000003\n"
    text = server.models_file().replace("LOGOS: [openai/door-1]", f"LOGOS: [openai/short-1{then}]")
    return text + entry + (prices if price else "")


def billed(calls: list[Call]) -> tuple[int, int]:
    """What the provider counted: tokens in and out."""
    read = sum(tokens(call.messages) for call in calls)
    return read, sum(tokens((("assistant", text),)) for call in calls for text in [call.answer] if text is not None)


@pytest.mark.slow
@pytest.mark.parametrize("answer", USELESS)
def test_answers_that_were_of_no_use_are_on_the_bill_of_a_debate_that_decided(
    folder: Path, model_server: ModelServer, without_waits: None, answer: Answer
) -> None:
    (folder / "here.yaml").write_text(door_asks_first(model_server))
    model_server.inject(answer, model="short-1")
    result = debate("--recipe", "speed", "--json")
    assert result.exit_code == 0, result.output
    outcome = json.loads(result.stdout)
    assert len(model_server.calls) == 5 + 2 * ATTEMPTS  # Door asks that route for its turn and for its account
    read, written = billed(model_server.calls)
    assert (outcome["tokens"]["input"], outcome["tokens"]["output"]) == (read, written)
    ledger, _ = held(folder)
    turn, account = (one.seat for one in contributions(ledger)[2:])
    asked = [call for call in model_server.calls if call.model in ("short-1", "door-1")]
    for seat, own in ((turn, asked[: ATTEMPTS + 1]), (account, asked[ATTEMPTS + 1 :])):
        assert seat is not None
        assert (seat.input, seat.output) == billed(own)
    assert turn is not None
    assert account is not None
    door = outcome["turns"][2]
    assert (door["usage"]["input"], door["usage"]["output"], door["cost_usd"]) == (turn.input, turn.output, turn.cost)
    turns = sum(Decimal(each["cost_usd"]) for each in outcome["turns"])
    assert turns + Decimal(account.cost or 0) == Decimal(outcome["cost_usd"])
    assert Decimal(outcome["cost_usd"]) == cost_of(outcome["tokens"], model_server.calls)


def cost_of(taken: dict[str, int], calls: list[Call]) -> Decimal:
    """At the prices of the models files above; short-1 has no price for cached tokens, so they cost as others do."""
    cached = taken["cached"] - sum(call.cached for call in calls if call.model == "short-1")
    cents = (taken["input"] - cached) * Decimal("1") + cached * Decimal("0.5") + taken["output"] * Decimal("3")
    return cents / 1_000_000


@pytest.mark.parametrize("answer", USELESS)
def test_answers_that_were_of_no_use_are_on_the_bill_of_a_debate_that_paused(
    folder: Path, model_server: ModelServer, without_waits: None, answer: Answer
) -> None:
    (folder / "here.yaml").write_text(door_asks_first(model_server, then=""))
    model_server.inject(answer, model="short-1")
    result = debate("--recipe", "speed", "--json", "--out", "out")
    assert result.exit_code == 3
    outcome = json.loads(result.stdout)
    assert len(model_server.calls) == 3 + ATTEMPTS
    assert (outcome["tokens"]["input"], outcome["tokens"]["output"]) == billed(model_server.calls)
    assert Decimal(outcome["cost_usd"]) == cost_of(outcome["tokens"], model_server.calls)
    kept = json.loads((folder / "out" / "unused-drafts.json").read_text()) if outcome["files"] else []
    assert [draft["text"] for draft in kept] == [answer.text] * (ATTEMPTS if answer.text else 0)


def test_one_answer_without_a_price_makes_the_cost_unknown_decided_or_paused(
    folder: Path, model_server: ModelServer
) -> None:
    model_server.inject(cut_off(), model="short-1")
    for then, code in ((", openai/door-1", 0), ("", 3)):
        (folder / "here.yaml").write_text(door_asks_first(model_server, price=False, then=then))
        result = debate("--recipe", "speed", "--json", "--out", f"out-{code}")
        outcome = json.loads(result.stdout)
        assert (result.exit_code, outcome["cost_usd"]) == (code, None)
        assert outcome["tokens"]["input"] > 0
        assert [turn["cost_usd"] is None for turn in outcome["turns"]] == [False, False, True][: 3 - bool(code)]


def test_a_server_that_fails_once_is_asked_again(folder: Path, model_server: ModelServer, without_waits: None) -> None:
    model_server.inject(server_error(), model="wall-1", call=1)
    result = debate("--recipe", "speed")
    assert result.exit_code == 0, result.output
    assert "attempt 1 failed, again in 0.0 s" in result.stderr
