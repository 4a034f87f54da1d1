"""Debates that ended in every way, each with its record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import anyio

from building import RECIPES, THREAD, account_text, evidence_of, hall_at, hold, plan_of, voices
from export.test_markdown import ACCOUNT, ADR, debate_of
from golden.planting import CONSTRAINT, OPPORTUNITY, answered, door, objection, playing, stated, wall
from orchestrator.decision.record import DecisionRecord, make_record
from orchestrator.hall.debate import Debate
from orchestrator.hall.terms import About, Role
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.models.rehearsal import Rehearsal
from orchestrator.plan import Plan


class Ended(NamedTuple):
    debate: Debate
    record: DecisionRecord


def _by_hand(folder: Path, text: str = "Therefore an outbox.", *, close: bool = True) -> Ended:
    debate = debate_of(folder, text, topic="Kafka?", close=close)
    return Ended(debate, make_record(debate, None))


def _forced(folder: Path) -> Ended:
    _by_hand(folder, close=False)
    with hall_at(folder) as hall:
        hall.force_close_debate(THREAD, "Enough.")
        debate = hall.debate(THREAD)
    return Ended(debate, make_record(debate, None))


def _noted(folder: Path) -> Ended:
    """Degraded, closed early at a limit, resumed, with calls of which nobody knows."""
    _by_hand(folder, close=False)
    with hall_at(folder) as hall:
        for about in About:
            hall.note(THREAD, f"What is to be said about {about.value}", about.value, "run-debate", slot="R1.Wall.1")
        hall.close_debate(THREAD, "Therefore an outbox.")
        debate = hall.debate(THREAD)
    return Ended(debate, make_record(debate, None))


def _accounted(folder: Path) -> Ended:
    plan = plan_of(evidence=[evidence_of(), ADR])
    debate = debate_of(folder, "It is moved. It is kept.", topic="Kafka?", plan=plan)
    return Ended(debate, make_record(debate, plan).model_copy(update=ACCOUNT))


def _held(folder: Path, plan: Plan, parts: dict[str, object] | None = None) -> Ended:
    model = Rehearsal() if plan.is_rehearsal else playing(parts) if parts else voices()  # type: ignore[arg-type]

    async def work() -> Debate:
        with hall_at(folder) as hall, anyio.fail_after(60):
            return (await hold(hall, plan, model)).debate

    debate = anyio.run(work)
    return Ended(debate, make_record(debate, plan))


def _decided(recipe: str) -> Callable[[Path], Ended]:
    return lambda folder: _held(folder, plan_of(recipe))


def _rehearsed(recipe: str) -> Callable[[Path], Ended]:
    plan = plan_of(recipe, routes={role: (REHEARSAL,) for role in Role}, evidence=[evidence_of()])
    return lambda folder: _held(folder, plan)


def _with_dissent(folder: Path) -> Ended:
    """Constraints met and open, broken citations, an objection that stands."""
    parts = {
        "Wall 1": wall("BLOCKED", stated("C1", CONSTRAINT), stated("C2", OPPORTUNITY)),
        "Door 1": door('- [T2.C1] REROUTED: We train the rota first, says "third" [E1:2].', "", "See [E9:1]."),
        "vote of wall-agent": objection("Nobody owns it [E1:7].", "T2.C2"),
        "account": account_text(
            constraints=[
                answered("T2.C1", "met", 'We train the rota first, says "third" [E1:2].'),
                answered("T2.C2", "open", None),
            ],
            consequences=[{"kind": kind, "what": f"It is {kind}."} for kind in ("good", "neutral", "bad")],
            review_by="2027-01-31",
        ),
    }
    evidence = [evidence_of()]
    return _held(folder, plan_of(evidence=evidence, consensus={"required": True, "refinements": 0}), parts)


ENDINGS: dict[str, Callable[[Path], Ended]] = {
    "by hand": _by_hand,
    "open": lambda folder: _by_hand(folder, close=False),
    "forced": _forced,
    "noted": _noted,
    "accounted": _accounted,
    "stalemate with dissent": _with_dissent,
    **{recipe: _decided(recipe) for recipe in RECIPES if recipe != "deep"},
    **{f"{recipe}, rehearsed": _rehearsed(recipe) for recipe in RECIPES if recipe != "deep"},
}
