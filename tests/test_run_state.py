"""What a run is doing, folded from what it told."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from orchestrator.hall.runs import Life
from orchestrator.run_state import run_state

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
RESUMED = {"type": "resumed", "turns": 1, "input": 200, "cached": 80, "output": 20, "cost_usd": "0.02", "seconds": 3.0}
CLOSED = {"type": "closed", "status": "synthesis"}


def begun(seat: dict[str, Any]) -> dict[str, Any]:
    return {"type": "draft_started", **seat}


def done(seat: dict[str, Any], cost: str | None = "0.01") -> dict[str, Any]:
    return {"type": "draft_finished", **seat, "input": 100, "cached": 40, "output": 10, "cost_usd": cost}


def failed(seat: dict[str, Any]) -> dict[str, Any]:
    return {"type": "draft_failed", **seat, "input": 50, "cached": 20, "output": 5, "cost_usd": "0.005"}


def told(*reports: dict[str, Any]) -> list[dict[str, Any]]:
    """The reports a second apart."""
    return [{**report, "number": n, "at": f"2026-01-06T09:00:{n:02}.000Z"} for n, report in enumerate(reports)]


def test_a_running_debate_says_who_drafts_and_what_it_took_so_far() -> None:
    state = run_state(told(STARTED, ROUND, begun(WIND), begun(WALL), done(WIND)), "running", 6.04)
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
        "uncertain": [],
        "message": None,
        "news": 4,
    }


@pytest.mark.parametrize("life", get_args(Life))
def test_what_a_run_is_doing_is_what_its_desk_says(life: Life) -> None:
    assert run_state(told(STARTED, CLOSED), life, 0)["state"] == life


def test_a_thread_that_nobody_ran_has_told_nothing() -> None:
    assert run_state([], "none", 0) == {
        "state": "none",
        "recipe": None,
        "rehearsal": False,
        "round": 0,
        "rounds": 0,
        "turns": 0,
        "planned_turns": 0,
        "drafting": [],
        "seconds": 0,
        "tokens": {"input": 0, "cached": 0, "output": 0},
        "cost_usd": "0",
        "uncertain": [],
        "message": None,
        "news": -1,
    }


def test_a_run_that_was_interrupted_drafts_nothing_any_more() -> None:
    assert run_state(told(STARTED, begun(WIND)), "interrupted", 0)["drafting"] == []


def test_a_draft_that_failed_is_not_in_progress() -> None:
    assert run_state(told(STARTED, begun(WIND), begun(WALL), failed(WALL)), "running", 0)["drafting"] == [WIND]


def test_an_unknown_price_makes_the_cost_unknown_and_not_nothing() -> None:
    assert run_state(told(STARTED, done(WIND), done(WALL, None)), "running", 0)["cost_usd"] is None


def test_what_a_failed_draft_took_counts_too() -> None:
    state = run_state(told(STARTED, done(WIND), failed(WALL)), "running", 0)
    assert (state["tokens"], state["cost_usd"]) == ({"input": 150, "cached": 60, "output": 15}, "0.015")


def test_a_run_that_was_taken_up_again_counts_what_the_runs_before_it_took_and_says_only_what_is_now() -> None:
    first = (STARTED, ROUND, begun(WALL), done(WIND), COMMITTED, PAUSED)
    assert run_state(told(*first), "paused", 3.0)["message"] == "Wind could not be heard."
    second = run_state(told(*first, STARTED, RESUMED, done(WALL)), "running", 5.0)
    assert (second["message"], second["drafting"], second["round"], second["news"]) == (None, [], 0, 8)
    assert (second["turns"], second["seconds"]) == (1, 5.0)


def test_what_earlier_runs_took_is_what_their_journal_says_not_what_they_had_time_to_tell() -> None:
    """The first process died with a draft paid for and untold; the second knows it."""
    known = {**done(WALL), "known": True}
    state = run_state(told(STARTED, done(WIND), STARTED, RESUMED, known, done(WIND)), "running", 0)
    assert (state["tokens"], state["cost_usd"]) == ({"input": 300, "cached": 120, "output": 30}, "0.03")
    unknown = run_state(told(STARTED, done(WIND), STARTED, {**RESUMED, "cost_usd": None}), "running", 0)
    assert unknown["cost_usd"] is None
