"""What must be true of a debate in the end, however many processes it took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from stage import Ended, Stage

from building import THREAD
from endpoint import Call
from held_once import assert_every_turn_once, calls_of, is_useless, kept_of, lost
from orchestrator.plan import Plan

FILES = {"debate.json", "decision.md", "plan.yaml", "report.html", "transcript.oct.md"}
UNUSED = "unused-drafts.json"


def assert_nothing_lost_nothing_twice(stage: Stage, last: Ended) -> None:
    """Judges a debate that came to its end.

    Every planned turn stands once, in the plan's order, and so do votes, refinement and account. No question was asked
    again once it had an answer of use, and no other calls brought nothing than those that failed, and those in flight
    at the end of a process, which are told. What was counted is what was billed for the answers that were kept. The
    files are there.
    """
    assert last.code == 0, last.told
    with stage.hall() as hall:
        debate = hall.debate(THREAD)
        hall.verify_debate(THREAD)
        lines = hall.journal(THREAD)
    plan = Plan.decode(debate.plan or "")
    assert_every_turn_once(debate, plan)
    kept = kept_of(plan, stage.server.calls, lines)
    _assert_asked_once(plan, stage.server.calls, kept)
    _assert_billed(last.outcome, kept)
    uncertain = lost(lines)
    assert Counter((call["slot"], call["step"]) for call in last.outcome["uncertain"]) == uncertain
    noted = last.outcome["record"]["uncertain"]
    assert len(set(noted)) == len(noted) == uncertain.total()
    besides = {UNUSED} if any(map(is_useless, kept)) else set[str]()
    assert FILES <= {file.name for file in stage.out.iterdir()} <= FILES | besides


def _assert_asked_once(plan: Plan, calls: Sequence[Call], kept: Sequence[Call]) -> None:
    """One answer that is no turn may be asked for again, and brings one question more, in which it is sent back."""
    useful = [call for call in kept if not is_useless(call)]
    questions: dict[Any, list[Call]] = {}
    for call in calls:
        questions.setdefault(call.messages, []).append(call)
    assert calls_of(plan) <= len(questions) <= calls_of(plan) + len(kept) - len(useful)
    for call in useful:
        assert call == questions[call.messages][-1], f"call {call.number} was answered, and is made again"


def _assert_billed(outcome: Mapping[str, Any], calls: Sequence[Call]) -> None:
    read, cached, written = (sum(counts) for counts in zip(*(call.charged or () for call in calls), strict=True))
    assert outcome["tokens"] == {"input": read, "cached": cached, "output": written}
    millionths = (read - cached) + cached * Decimal("0.5") + written * 3  # `ModelServer.models_file`
    assert Decimal(outcome["cost_usd"]) == millionths / 1_000_000
