"""What a run is doing, as the fold of what it told: who is drafting, how far it is, what it took so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypedDict

State = Literal["none", "running", "paused", "interrupted", "done"]

SILENCE_S = 15.0  # a run that is not heard of for this long is not running any more


class Drafting(TypedDict):
    slot: str
    role: str
    agent: str
    step: str
    model: str


class RunState(TypedDict):
    """`news` numbers the newest report (ask for what came after it); `cost_usd` is null when a price is unknown."""

    state: State
    recipe: str | None
    rehearsal: bool
    round: int
    rounds: int
    turns: int
    planned_turns: int
    drafting: list[Drafting]
    seconds: float
    tokens: dict[str, int]
    cost_usd: str | None
    message: str | None
    news: int


def run_state(reports: Sequence[Mapping[str, Any]], silence_s: float | None) -> RunState:
    """Folds the reports of a thread's newest run.

    Args:
        reports: all that was told of the thread, in order, each with its `number`.
        silence_s: seconds since the run was last heard of.
    """
    begins = max((at for at, report in enumerate(reports) if report["type"] == "run_started"), default=0)
    run = reports[begins:]
    started = run[0] if run else {}
    finished = [report for report in run if report["type"] == "draft_finished"]
    costs = [report["cost_usd"] for report in finished]
    state = _state(run, silence_s)
    return {
        "state": state,
        "recipe": started.get("recipe"),
        "rehearsal": bool(started.get("rehearsal")),
        "round": max((report["round"] for report in run if report["type"] == "round_started"), default=0),
        "rounds": started.get("rounds", 0),
        "turns": sum(report["type"] == "turn_committed" for report in run),
        "planned_turns": started.get("turns", 0),
        "drafting": _drafting(run) if state == "running" else [],
        "seconds": _seconds(run, silence_s if state == "running" else 0.0),
        "tokens": {kind: sum(report[kind] for report in finished) for kind in ("input", "cached", "output")},
        "cost_usd": None if None in costs else format(sum((Decimal(cost) for cost in costs), Decimal(0)), "f"),
        "message": run[-1].get("message") if run and run[-1]["type"] == "paused" else None,
        "news": run[-1]["number"] if run else -1,
    }


def _state(run: Sequence[Mapping[str, Any]], silence_s: float | None) -> State:
    if not run:
        return "none" if silence_s is None else "running" if silence_s < SILENCE_S else "interrupted"
    match run[-1]["type"]:
        case "paused":
            return "paused"
        case "closed":
            return "done"
        case _:
            return "running" if silence_s is not None and silence_s < SILENCE_S else "interrupted"


def _drafting(run: Sequence[Mapping[str, Any]]) -> list[Drafting]:
    """The seats whose newest draft has begun and not ended."""
    open_drafts: dict[str, Drafting] = {}
    for report in run:
        match report["type"]:
            case "draft_started":
                open_drafts[report["slot"]] = {
                    "slot": report["slot"],
                    "role": report["role"],
                    "agent": report["agent"],
                    "step": report["step"],
                    "model": report["model"],
                }
            case "draft_finished" | "draft_failed":
                open_drafts.pop(report["slot"], None)
    return list(open_drafts.values())


def _seconds(run: Sequence[Mapping[str, Any]], silence_s: float | None) -> float:
    if not run:
        return 0.0
    first, last = (datetime.fromisoformat(run[place]["at"]) for place in (0, -1))
    return round((last - first).total_seconds() + (silence_s or 0.0), 1)
