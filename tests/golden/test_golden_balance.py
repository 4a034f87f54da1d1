"""Balance: starved roles, substituted seats and agents that wrote the same are warnings in the record."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

import anyio
import pytest

from building import THREAD, TOPIC, hall_at, hold, plan_of, speech
from orchestrator.decision.record import DecisionRecord, make_record, record_of
from orchestrator.errors import AuthenticationFailed
from orchestrator.hall.terms import Role
from orchestrator.models.base import Request
from orchestrator.models.scripted import Line, Scripted

pytestmark = pytest.mark.anyio


def by_hand(folder: Path, roles: Sequence[str], barrier: bool = False) -> DecisionRecord:
    """A mediated debate that people hold by hand, closed at its end."""
    with hall_at(folder) as hall:
        hall.init_debate(THREAD, TOPIC, mode="mediated", barrier=barrier)
        for number, role in enumerate(roles):
            hall.pick_next_speaker(THREAD, role)
            hall.add_turn(THREAD, role, f"{role} says number {number}.")
        hall.close_debate(THREAD, "It is done.")
        return record_of(hall.debate(THREAD))


@pytest.mark.parametrize(
    ("roles", "starved"),
    [
        (["Wind", "Wall", "Door"], []),
        (["Wind", "Wall", "Door", "Wind", "Wall", "Door"], []),
        (["Wind", "Wall"], []),  # who closes speaks as Door
        (["Wind", "Door"], [Role.WALL]),
        (["Wall", "Door"], [Role.WIND]),
        (["Door"], [Role.WIND, Role.WALL]),
        (["Wind", "Door", "Wind", "Wall", "Door"], [Role.WALL]),
        (["Wind", "Wall", "Door", "Wall", "Door"], [Role.WIND]),
        (["Wind", "Door", "Wall", "Door"], [Role.WIND, Role.WALL]),
    ],
)
def test_a_role_that_a_round_went_without_is_named_once(
    tmp_path: Path, roles: Sequence[str], starved: list[Role]
) -> None:
    record = by_hand(tmp_path, roles)
    assert list(record.starved_roles) == starved
    assert list(record.warnings) == [f"{role} was starved: a round went by without it." for role in starved]
    assert record.balance == {role: roles.count(role) for role in Role}


async def with_routes(folder: Path, steps: Sequence[str]) -> DecisionRecord:
    """A debate with votes in which Wall's first route refuses these steps."""
    numbers = count(1)

    def line(request: Request) -> Line:
        if request.model == "test/first" and request.task.step in steps:
            return AuthenticationFailed("no key", model="test/first")
        return speech(request, next(numbers))

    plan = plan_of(routes={Role.WALL: ("test/first", "test/second")}, consensus={"required": True, "refinements": 0})
    with hall_at(folder) as hall, anyio.fail_after(30):
        run = await hold(hall, plan, Scripted(line))
    return make_record(run.debate, plan)


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        ((), []),
        (("vote",), ["V1.Wall.1"]),
        (("apply",), ["T2", "V1.Wall.1"]),
        (("checklist",), ["T2", "V1.Wall.1"]),
    ],
)
async def test_a_seat_that_another_route_answered_for_is_named_wherever_it_spoke(
    tmp_path: Path, steps: Sequence[str], names: list[str]
) -> None:
    """A route that refuses its key is not asked again."""
    record = await with_routes(tmp_path, steps)
    substituted = [warning for warning in record.warnings if "was asked through" in warning]
    assert [warning.split(" ")[0] for warning in substituted] == names
    assert all(
        "(Wall, wall-agent) was asked through test/first and answered by test/second" in one for one in substituted
    )
    slots = {"T2": "R1.Wall.1"}
    assert [(each.slot, each.asked, each.route) for each in record.substitutions] == [
        (slots.get(name, name), "test/first", "test/second") for name in names
    ]


WORDS = [f"The {noun} is moved to the outbox before the {verb} of the rota begins." for noun, verb in zip(
    ["ledger", "invoice", "tariff", "customer"], ["training", "writing", "planning", "testing"], strict=True
)]  # fmt: skip


async def laboratory(folder: Path, changed: int) -> DecisionRecord:
    """Three agents of Wind of whom two say the same; the second changes so many of the sentences."""
    numbers = count(1)

    def line(request: Request) -> Line:
        task = request.task
        if task.role is Role.WIND and task.step == "turn" and task.agent in ("ideator", "edge-optimizer"):
            own = [sentence.replace("the", "no").replace("is", "was") for sentence in WORDS]
            kept = changed if task.agent == "edge-optimizer" else 0
            return " ".join([*own[:kept], *WORDS[kept:]])
        return speech(request, next(numbers))

    plan = plan_of("laboratory", turns=5)
    with hall_at(folder) as hall, anyio.fail_after(30):
        run = await hold(hall, plan, Scripted(line))
    return make_record(run.debate, plan)


@pytest.mark.parametrize(("changed", "alike"), [(0, True), (1, True), (4, False)])
async def test_agents_whose_turns_barely_differ_are_named_with_the_share(
    tmp_path: Path, changed: int, alike: bool
) -> None:
    record = await laboratory(tmp_path, changed)
    found = [warning for warning in record.warnings if "barely differ" in warning]
    assert [warning.partition(" barely")[0] for warning in found] == (
        ["T1 and T2 (Wind, ideator and edge-optimizer)"] if alike else []
    )
    if changed == 0:
        assert found[0].endswith("barely differ (100 % of their words run alike).")
