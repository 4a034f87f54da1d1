"""A council that has met nearly all that a debate can meet; docs/examples/README.md says what to look for in it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from building import TOPIC, plan_of, vote_text
from examples.stage import BRIEF, WORDS, Script, Shown, evidence_in, read_words, speaking, stage_at
from golden.planting import objection
from orchestrator.errors import ServerFailed, TimedOut
from orchestrator.events import Event, TurnCommitted
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import About, Role
from orchestrator.models.base import Endpoint
from orchestrator.plan import Plan

THREAD = "2026-01-13-should-we-move-billing-to-kafka"
ROUTES = {
    Role.WIND: ("scripted/wind-1",),
    Role.WALL: ("scripted/wall-1", "scripted/wall-2"),
    Role.DOOR: ("scripted/door-1",),
}
PRICE = Endpoint(
    input_cost_per_token=Decimal("0.000003"),
    cached_cost_per_token=Decimal("0.0000003"),
    output_cost_per_token=Decimal("0.000015"),
)
REMARK = "Legal answers by 30 January how long a billing event may be kept. Please do not decide that for them."
REDACTED = 5  # T6
UNHEARD = objection(
    "Nobody has counted what four replicas would cost, so that they were put aside unheard.",
    "T19",
    kind="fact",
    what="the price of four replicas of this database",
)
REASON = "It named a customer and an amount, which stand in no evidence."


def everything(folder: Path) -> Shown:
    """Holds it to its end; a turn is redacted after that."""
    plan = council()
    with stage_at(folder, day=13) as stage:
        stage.play(plan, THREAD, TOPIC, speaking(script()), _person(stage.hall))
        stage.clock.move(3600)
        stage.hall.tombstone_turn(THREAD, REDACTED, REASON)
        return stage.shown(THREAD, plan)


def council() -> Plan:
    evidence = evidence_in(BRIEF, "evidence/on-call-notes.md", "evidence/load-2025.csv", adr=["evidence/adr"])
    return plan_of("council", routes=ROUTES, endpoint=PRICE, evidence=evidence, on_failure="degrade")


def _person(hall: Hall) -> Callable[[Event], None]:
    """Somebody who has a word for the table between the rounds."""

    def meanwhile(event: Event) -> None:
        if isinstance(event, TurnCommitted) and event.turn_index == 6:
            hall.note(THREAD, REMARK, About.REMARK.value, "Mara Lindqvist")

    return meanwhile


def script() -> Script:
    words = read_words("everything")
    account = (WORDS / "everything" / "account.json").read_text(encoding="utf-8")
    late = TimedOut("scripted/wall-1: no answer within 180 s", model="scripted/wall-1")
    down = ServerFailed("scripted/wind-1: HTTP 503, the service is down", model="scripted/wind-1", status=503)
    return words | {
        "round-1-wall-critical-engineer": [late, late, words["round-1-wall-critical-engineer"]],
        "round-2-wind-edge-optimizer": [down] * 4,
        "vote-ideator": [
            vote_text(reason="It keeps the contract of T8 and gives up my log, which T3 turned the right way round.",
                      rests_on=["T3", "T8"]),
            vote_text(reason="Nothing that I carried is lost.", rests_on=["T8"]),
        ],
        "vote-edge-optimizer": [
            *[UNHEARD] * 2,  # it is asked once more for what exists, and names no other
            vote_text(reason="The price of four replicas is named now, and it buys no shorter way in.",
                      rests_on=["E1:15", "refinement 1"]),
        ],
        "vote-validator": [
            vote_text(reason="All of mine are answered but T9.C1, and that is said to be open.",
                      rests_on=["T9.C1", "T11"]),
            vote_text(reason="As before; the page at ten minutes is what T9.C2 asked for.", rests_on=["T9.C2"]),
        ],
        "vote-critical-engineer": [
            objection(
                "A feed that is ten minutes behind is the replica that pages today [E2:5]. The synthesis has a gate "
                "for April and nothing for the night before.",
                "E2:5", "T4.C2", kind="change", what="say at which lag whom it wakes, and how consumers get back",
            ),
            vote_text(reason="Two minutes, ten minutes, and a switch: that I can hand to the rota.",
                      rests_on=["T4.C2", "E2:5"]),
        ],
        # Of T9.C2 it tells a sentence that the synthesis does not hold, and no other when it is asked once more.
        "account": account,
    }  # fmt: skip
