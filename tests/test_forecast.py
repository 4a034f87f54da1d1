"""What a plan says of its calls beforehand is what they come to, at the least and at the most."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

from building import hall_at, hold, plan_of, speech, vote_text
from orchestrator.forecast import Span, calls_of, chain_of, first_close_of
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role
from orchestrator.models.base import Request
from orchestrator.models.scripted import Scripted

pytestmark = pytest.mark.anyio
VOTED: dict[str, Any] = {"consensus": {"required": True, "refinements": 2}}


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


def voices(*, object_always: bool = False, leave_nothing_open: bool = False) -> Scripted:
    numbers = count(1)

    def say(request: Request) -> str:
        number = next(numbers)
        if object_always and request.task.step == "vote":
            return vote_text("object", f"Voice {number} cannot carry it.")
        said = speech(request, number)
        return f"{said}\n\n## OPEN\nNONE" if leave_nothing_open and request.task.role == "Door" else said

    return Scripted(say)


async def asked(hall: Hall, model: Scripted, recipe: str, **changes: Any) -> int:
    with anyio.fail_after(30):
        await hold(hall, plan_of(recipe, **changes), model)
    return len(model.requests)


@pytest.mark.parametrize("recipe", ["speed", "fortress", "council"])
async def test_where_all_approve_at_once_it_takes_the_least(hall: Hall, recipe: str) -> None:
    assert await asked(hall, voices(), recipe, **VOTED) == calls_of(plan_of(recipe, **VOTED)).least


@pytest.mark.parametrize("refinements", [0, 1, 2])
async def test_where_somebody_objects_to_the_end_it_takes_the_most(hall: Hall, refinements: int) -> None:
    voted: dict[str, Any] = {"consensus": {"required": True, "refinements": refinements}}
    assert await asked(hall, voices(object_always=True), "speed", **voted) == calls_of(plan_of("speed", **voted)).most


@pytest.mark.parametrize("changes", [{}, VOTED])
async def test_what_is_settled_as_early_as_can_be_takes_the_least(hall: Hall, changes: dict[str, Any]) -> None:
    plan = plan_of("standard", early_close=True, **changes)
    assert first_close_of(plan) == 1
    assert calls_of(plan).least < calls_of(plan).most
    model = voices(leave_nothing_open=True)
    assert await asked(hall, model, "standard", early_close=True, **changes) == calls_of(plan).least


def test_a_round_that_only_asks_settles_nothing() -> None:
    plan = plan_of("standard", early_close=True, socratic=True)
    assert first_close_of(plan) == 2
    assert first_close_of(plan_of("speed", early_close=True)) is None  # there is no later round to leave out


def test_refinements_wait_for_their_votes_and_the_votes_for_them() -> None:
    assert chain_of(plan_of("speed", **VOTED)) == Span(5, 9)
    assert (str(Span(5, 9)), str(Span(5, 5))) == ("5 to 9", "5")


def test_a_rehearsal_is_neither_voted_on_nor_ended_early() -> None:
    nobody = {role: ["rehearsal"] for role in Role}
    plan = plan_of("standard", early_close=True, routes=nobody, **VOTED)
    assert calls_of(plan) == Span(plan.calls, plan.calls)
    assert chain_of(plan) == Span(plan.longest_chain, plan.longest_chain)
