"""Every example debate: those that stand in docs/examples, and those that only tests look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path

from building import TOPIC, account_text, plan_of, speech, vote_text, wordy
from examples.everything import ROUTES, everything
from examples.stage import BRIEF, Shown, Stage, evidence_in, stage_at
from golden.planting import CONSTRAINT, answered, door, objection, playing, stated, wall
from orchestrator.errors import AuthenticationFailed, RunPaused
from orchestrator.hall.terms import Role
from orchestrator.models.base import Request
from orchestrator.models.rehearsal import NAME, Rehearsal
from orchestrator.models.scripted import Line, Scripted
from orchestrator.plan import Plan

Make = Callable[[Path], Shown]
"""Holds a debate in a hall that it opens in a folder."""

THREAD = "2026-01-06-should-we-move-billing-to-kafka"


def rehearsal(folder: Path) -> Shown:
    """As `run-debate --rehearse --recipe fortress --context evidence/brief.md` makes it."""
    routes = {role: (NAME,) for role in Role}
    plan = plan_of("fortress", routes=routes, max_output_tokens=8000, evidence=evidence_in(BRIEF))
    with stage_at(folder) as stage:
        stage.play(plan, THREAD, TOPIC, Rehearsal())
        return stage.shown(THREAD, plan)


def stalemate(folder: Path) -> Shown:
    """Wall objects to the synthesis and to its refinement, and a constraint has no answer."""
    plan = plan_of("speed", routes=ROUTES, consensus={"required": True, "refinements": 1})
    parts = {
        "Wall 1": wall("CONDITIONAL", stated("C1", CONSTRAINT)),
        "Door 1": door("- [T2.C1] OPEN: Nobody has said who is trained."),
        "vote of wind-agent": vote_text(),
        "vote of wall-agent": [objection("Nobody is trained.", "T2.C1"), objection("Still nobody is.", "T2.C1")],
        "account": account_text(constraints=[answered("T2.C1", "open", None)]),
    }
    with stage_at(folder) as stage:
        stage.play(plan, THREAD, TOPIC, playing(parts))
        return stage.shown(THREAD, plan)


def running(folder: Path) -> Shown:
    """Wind and Wall have spoken, and Door has still to."""
    plan = plan_of("speed", routes=ROUTES)
    with stage_at(folder) as stage:
        _until_door(stage, plan)
        return stage.shown(THREAD, plan)


def forced(folder: Path) -> Shown:
    """Closed by force before Door has spoken."""
    plan = plan_of("speed", routes=ROUTES)
    with stage_at(folder) as stage:
        _until_door(stage, plan)
        stage.hall.force_close_debate(THREAD, "The question went away: billing is bought in.")
        return stage.shown(THREAD, plan)


def by_hand(folder: Path) -> Shown:
    """Three people took a turn each; no plan and no model."""
    with stage_at(folder) as stage:
        hall = stage.hall
        hall.init_debate(THREAD, TOPIC)
        for role, name, words in (
            (Role.WIND, "ada", wordy("What if billing wrote an event for each invoice?")),
            (Role.WALL, "ben", wall_by_hand()),
            (Role.DOOR, "maria", door("- [T2.C1] MET: The first step is taken by somebody who was trained for it.")),
        ):
            hall.say(THREAD, role, words, name)
        hall.close_debate(THREAD, hall.debate(THREAD).turns[-1].words)
        return stage.shown(THREAD)


def wall_by_hand() -> str:
    return "\n".join(["VERDICT: CONDITIONAL", wordy("This was tested"), "", stated("C1", CONSTRAINT)])


def _until_door(stage: Stage, plan: Plan) -> None:
    numbers = count(1)

    def line(request: Request) -> Line:
        if request.task.role is Role.DOOR:
            return AuthenticationFailed("scripted/door-1: no such key", model=request.model)
        return speech(request, next(numbers))

    with suppress(RunPaused):
        stage.play(plan, THREAD, TOPIC, Scripted(line))


WRITTEN: Mapping[str, Make] = {"rehearsal": rehearsal, "everything": everything}
"""Those in docs/examples, by the name of their folder."""

ALL: Mapping[str, Make] = WRITTEN | {
    "stalemate": stalemate, "running": running, "forced": forced, "by-hand": by_hand
}  # fmt: skip
