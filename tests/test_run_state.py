"""What a run is doing, folded from what it told."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.run_state import SILENCE_S, run_state

STARTED = {"type": "run_started", "recipe": "speed", "rounds": 1, "turns": 3, "rehearsal": False}
ROUND = {"type": "round_started", "round": 1, "rounds": 1}
WIND: dict[str, Any] = {"slot": "R1.Wind.1", "role": "Wind", "agent": "wind-agent", "step": "turn", "model": "a/wind"}
WALL: dict[str, Any] = {
    "slot": "R1.Wall.1",
    "role": "Wall",
    "agent": "wall-agent",
    "step": "checklist",
    "model": "a/wall",
}
COMMITTED = {"type": "turn_committed", "slot": "R1.Wind.1"}
PAUSED = {"type": "paused", "code": "paused", "message": "Wind could not be heard."}
CLOSED = {"type": "closed", "status": "synthesis"}


def begun(seat: dict[str, Any]) -> dict[str, Any]:
    return {"type": "draft_started", **seat}


def done(seat: dict[str, Any], cost: str | None = "0.01") -> dict[str, Any]:
    return {"type": "draft_finished", **seat, "input": 100, "cached": 40, "output": 10, "cost_usd": cost}


def failed(seat: dict[str, Any]) -> dict[str, Any]:
    return {"type": "draft_failed", **seat}


def told(*reports: dict[str, Any]) -> list[dict[str, Any]]:
    """The reports a second apart."""
    return [{**report, "number": n, "at": f"2026-01-06T09:00:{n:02}.000Z"} for n, report in enumerate(reports)]


def test_a_running_debate_says_who_drafts_and_what_it_took_so_far() -> None:
    state = run_state(told(STARTED, ROUND, begun(WIND), begun(WALL), done(WIND)), 2.0)
    assert state == {
        "state": "running",
        "recipe": "speed",
        "rehearsal": False,
        "round": 1,
        "rounds": 1,
        "turns": 0,
        "planned_turns": 3,
        "drafting": [WALL],
        "seconds": 6.0,
        "tokens": {"input": 100, "cached": 40, "output": 10},
        "cost_usd": "0.01",
        "message": None,
        "news": 4,
    }


@pytest.mark.parametrize(
    ("reports", "silence_s", "state"),
    [
        ((), None, "none"),
        ((), 0.0, "running"),  # begun, and nothing told yet
        ((), SILENCE_S, "interrupted"),
        ((STARTED,), 0.0, "running"),
        ((STARTED,), SILENCE_S, "interrupted"),
        ((STARTED,), None, "interrupted"),
        ((STARTED, PAUSED), 0.0, "paused"),
        ((STARTED, PAUSED), 1e6, "paused"),
        ((STARTED, CLOSED), 1e6, "done"),
        ((STARTED, PAUSED, STARTED), 0.0, "running"),
    ],
)
def test_the_state_follows_the_last_report_and_how_long_ago_the_run_was_heard_of(
    reports: tuple[dict[str, Any], ...], silence_s: float | None, state: str
) -> None:
    assert run_state(told(*reports), silence_s)["state"] == state


def test_a_run_that_was_interrupted_drafts_nothing_any_more() -> None:
    assert run_state(told(STARTED, begun(WIND)), SILENCE_S)["drafting"] == []


def test_a_draft_that_failed_is_not_in_progress() -> None:
    assert run_state(told(STARTED, begun(WIND), begun(WALL), failed(WALL)), 0.0)["drafting"] == [WIND]


def test_an_unknown_price_makes_the_cost_unknown_and_not_nothing() -> None:
    assert run_state(told(STARTED, done(WIND), done(WALL, None)), 0.0)["cost_usd"] is None


def test_a_paused_run_says_why_and_a_later_run_counts_for_itself() -> None:
    first = (STARTED, done(WIND), COMMITTED, PAUSED)
    assert run_state(told(*first), 0.0)["message"] == "Wind could not be heard."
    second = run_state(told(*first, STARTED, done(WALL)), 0.0)
    assert (second["message"], second["turns"], second["tokens"]["input"], second["news"]) == (None, 0, 100, 5)
