"""What a run is doing, as the fold of what it told: who is drafting, how far it is, what it took so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from typing_extensions import TypedDict

from orchestrator.hall.runs import Life


class Drafting(TypedDict):
    slot: str
    role: str
    agent: str
    step: str
    model: str


class RunState(TypedDict):
    """`news` numbers the newest report (ask for what came after it); `cost_usd` is null when a price is unknown.

    `uncertain` are the calls that a resume found without an outcome, in words.
    """

    state: Life
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
    uncertain: list[str]
    message: str | None
    news: int


_COUNTED = ("resumed", "draft_finished", "draft_failed")  # the first tells what all runs before it took


def run_state(reports: Sequence[Mapping[str, Any]], life: Life, seconds: float) -> RunState:
    """Folds what the runs of a thread told. Tokens and cost are those of all of them, the rest is of the newest.

    Args:
        reports: all that was told of the thread, in order, each with its `number`.
        life: what its newest run is doing.
        seconds: for how long its runs went on, all together.
    """
    begins = max((at for at, report in enumerate(reports) if report["type"] == "run_started"), default=0)
    run = reports[begins:]
    started = run[0] if run else {}
    resumed = max((at for at, report in enumerate(reports) if report["type"] == "resumed"), default=0)
    paid = [report for report in reports[resumed:] if report["type"] in _COUNTED and not report.get("known")]
    costs = [report.get("cost_usd", "0") for report in paid]
    return {
        "state": life,
        "recipe": started.get("recipe"),
        "rehearsal": bool(started.get("rehearsal")),
        "round": max((report["round"] for report in run if report["type"] == "round_started"), default=0),
        "rounds": started.get("rounds", 0),
        "turns": sum(report["type"] == "turn_committed" for report in reports),
        "planned_turns": started.get("turns", 0),
        "drafting": _drafting(run) if life == "running" else [],
        "seconds": round(seconds, 1),
        "tokens": {kind: sum(report.get(kind, 0) for report in paid) for kind in ("input", "cached", "output")},
        "cost_usd": None if None in costs else format(sum((Decimal(cost) for cost in costs), Decimal(0)), "f"),
        "uncertain": [call for report in reports for call in report.get("uncertain", ())],
        "message": run[-1].get("message") if run and run[-1]["type"] == "paused" else None,
        "news": run[-1]["number"] if run else -1,
    }


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
