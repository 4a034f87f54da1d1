from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from orchestrator.cli.progress import progress_lines
from orchestrator.events import (
    BallotCounted,
    Closed,
    DraftDelta,
    DraftFailed,
    DraftFinished,
    DraftStarted,
    Event,
    FellBack,
    HeadMoved,
    LeftOut,
    LimitReached,
    Paused,
    Resumed,
    Retried,
    RoundStarted,
    RunStarted,
    SeatMissing,
    SentBack,
    Stream,
    Summarised,
    SynthesisRefined,
    TurnCommitted,
    VoteCast,
)

SEAT: dict[str, Any] = {"slot": "R1.Wall.2", "role": "Wall", "agent": "critical-engineer", "model": "openai/wall-1"}
WHO = "  R1.Wall.2        critical-engineer     "
HASH = f"sha256:{'ab' * 32}"
TAKEN: dict[str, Any] = {"input": 12_345, "cached": 1_000, "output": 678, "cost_usd": Decimal("0.0123")}


def lines(*events: Event) -> list[str]:
    written: list[str] = []
    stream = Stream("2026-01-06-x", lambda: datetime(2026, 1, 6, tzinfo=UTC), progress_lines(written.append))
    for event in events:
        stream(event)
    return written


def test_a_draft_is_one_line_with_its_seconds_and_tokens() -> None:
    assert lines(
        DraftStarted(**SEAT, step="checklist"),
        DraftFinished(**SEAT, step="checklist", answered="wall-1-0102", seconds=12.345, **TAKEN),
        DraftFinished(**SEAT, step="apply", answered="wall-1-0102", seconds=12.345, **TAKEN),
    ) == [
        f"{WHO} wrote its checklist in 12.3 s, 12,345 tokens in (1,000 cached), 678 out, wall-1-0102",
        f"{WHO} drafted in 12.3 s, 12,345 tokens in (1,000 cached), 678 out, wall-1-0102",
    ]


def test_thinking_and_what_a_model_does_not_take_are_told_and_pieces_of_a_draft_are_not() -> None:
    assert lines(
        LeftOut(**SEAT, step="turn", parameters=("effort high", "temperature 0.5")),
        DraftDelta(**SEAT, step="turn", text="Yes, but."),
        DraftFinished(**SEAT, step="turn", answered="w", seconds=1.0, **TAKEN, thinking=1_500),
    ) == [
        f"{WHO} openai/wall-1 does not take effort high, temperature 0.5; it is asked without",
        f"{WHO} drafted in 1.0 s, 12,345 tokens in (1,000 cached), 678 out (1,500 thinking), w",
    ]


def test_a_commit_is_one_line_with_the_turns_number_and_hash() -> None:
    turn: dict[str, Any] = {
        "slot": "R1.Wall.2",
        "role": "Wall",
        "agent": "critical-engineer",
        "model": "wall-1",
        "round": 1,
    }
    assert lines(TurnCommitted(**turn, turn_index=2, hash=HASH)) == [f"{WHO} committed as T3, sha256:{'ab' * 6}…"]


def test_every_seat_has_its_columns_also_one_behind_the_rounds() -> None:
    account: dict[str, Any] = {"slot": "R12.Door.account", "role": "Door", "agent": "synthesizer", "model": "m"}
    told = lines(
        DraftFinished(**SEAT, step="turn", answered="a", seconds=1, **TAKEN),
        DraftFinished(**account, step="account", answered="a", seconds=1, **TAKEN),
        VoteCast(slot="V1.Wall.1", role="Wall", agent="validator", choice="approve", counts=True),
        SynthesisRefined(slot="V1.Door.1", agent="synthesizer", answers=("O1",)),
        SynthesisRefined(slot="V2.Door.1", agent="synthesizer", answers=()),
    )
    assert {line[19:].split()[0] for line in told} == {"critical-engineer", "synthesizer", "validator"}
    assert [line[42:] for line in told[1:]] == [
        "accounted for the decision in 1.0 s, 12,345 tokens in (1,000 cached), 678 out, a",
        "votes: approve",
        "refined the synthesis, answers O1",
        "refined the synthesis",
    ]


def test_a_vote_that_does_not_count_says_so_and_each_ballot_is_counted() -> None:
    vote: dict[str, Any] = {"slot": "V1.Wall.1", "role": "Wall", "agent": "validator"}
    assert lines(
        VoteCast(**vote, choice="approve", counts=False),
        BallotCounted(ballot=1, approve=2, object=0, void=1),
        BallotCounted(ballot=2, approve=2, object=1, void=2),
        BallotCounted(ballot=3, approve=3, object=0, void=0),
    ) == [
        "  V1.Wall.1        validator              votes: approve, which does not count: it rests on nothing that "
        "exists",
        "  ballot 1: 2 approve, 0 object, 1 does not count",
        "  ballot 2: 2 approve, 1 object, 2 do not count",
        "  ballot 3: 3 approve, 0 object",
    ]


def test_a_run_is_told_from_its_start_to_its_close() -> None:
    assert lines(
        RunStarted(recipe="speed", rounds=1, turns=3, plan_hash=HASH, rehearsal=False),
        RoundStarted(round=1, rounds=1),
        Closed(status="synthesis", head=HASH),
    ) == ["speed: 3 turns in 1 round", "round 1 of 1", f"closed: synthesis, head {HASH}"]


def test_every_trouble_is_told_with_its_cause() -> None:
    why = {"code": "rate_limited", "message": "openai/wall-1 answered HTTP 429: slow down"}
    assert lines(
        Retried(**SEAT, step="turn", attempt=1, wait_s=2.04, **why),
        FellBack(**SEAT, step="turn", to="gemini/x", **why),
        SentBack(**SEAT, step="turn", reason="It quotes nothing."),
        DraftFailed(**SEAT, step="turn", seconds=3.0, **why, **TAKEN),
        HeadMoved(head=HASH, turns=1),
        HeadMoved(head=HASH, turns=0),
    ) == [
        f"{WHO} attempt 1 failed, again in 2.0 s: openai/wall-1 answered HTTP 429: slow down",
        f"{WHO} openai/wall-1 failed, now gemini/x: openai/wall-1 answered HTTP 429: slow down",
        f"{WHO} sent back once: It quotes nothing.",
        f"{WHO} failed after 3.0 s: openai/wall-1 answered HTTP 429: slow down",
        "  another writer moved the head with 1 turn",
        "  another writer moved the head without words",
    ]


def test_a_run_that_is_resumed_says_what_stood_and_what_nobody_knows() -> None:
    call = "R1.Wall.2 apply, attempt 1 through openai/wall-1 at 2026-01-06T09:00:00.000Z"
    spent = {**TAKEN, "seconds": 60.0}
    assert lines(
        Resumed(turns=1, uncertain=(call,), **spent),
        DraftFinished(**SEAT, step="checklist", answered="wall-1", seconds=0.0, known=True, **TAKEN),
        Resumed(turns=4, uncertain=(), **{**spent, "cost_usd": None}),
    ) == [
        f"resumed: 1 turn stood, 13,023 tokens and $0.0123 so far\n  uncertain, made again if it is needed: {call}",
        f"{WHO} wrote its checklist before the run was resumed, wall-1",
        "resumed: 4 turns stood, 13,023 tokens and an unknown cost so far",
    ]


def test_what_a_run_goes_on_without_is_told() -> None:
    met = {"limit": "tokens", "message": "The next call could take 9 tokens, and 8 of 20 are left."}
    seat = {name: SEAT[name] for name in ("slot", "role", "agent")}
    assert lines(
        SeatMissing(**seat, code="timed_out", message="openai/wall-1 did not answer in 180 s"),
        Summarised(**SEAT, step="turn", turns=6),
        LimitReached(**met, closes=False),
        LimitReached(**met, closes=True),
    ) == [
        f"{WHO} is missing, the round goes on without it: openai/wall-1 did not answer in 180 s",
        f"{WHO} cannot read all turns; of T1 to T6 it reads a summary",
        f"  limit: {met['message']}",
        f"  limit: {met['message']} Door closes with what is there.",
    ]


def test_a_pause_is_left_to_the_last_line_of_the_command() -> None:
    assert lines(Paused(code="paused", message="Wind could not be heard")) == []
