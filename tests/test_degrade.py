"""A round that goes on without a seat: when it may, what is noted, and who is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

from building import (
    THREAD,
    flowing,
    hall_at,
    hold,
    order,
    plan_of,
    priced,
    resume,
    speech,
    turns_of,
    voices,
)
from orchestrator.decision.record import record_of
from orchestrator.errors import Overloaded, RunPaused
from orchestrator.events import Event, HeadMoved, SeatMissing
from orchestrator.export.markdown import render_adr
from orchestrator.hall.debate import DEGRADED
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import About, Role, Status
from orchestrator.models.base import Request, Task
from orchestrator.models.scripted import Line, Scripted
from orchestrator.plan import Changes, Plan
from orchestrator.taking_up import TakeUp

pytestmark = pytest.mark.anyio

TRUST, FAILURE, COST = (seat.lens for seat in plan_of("fortress").rounds[0].walls)


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


def without(silent: Callable[[Task], bool]) -> Scripted:
    """A table at which some calls fail for good."""
    numbers = count(1)

    def line(request: Request) -> Line:
        fails = Overloaded("x: busy", "Wait.", model=request.model)
        return fails if silent(request.task) else priced(speech(request, next(numbers)))

    return Scripted(line)


def degrading(recipe: str = "fortress", **changes: object) -> Plan:
    return plan_of(recipe, on_failure="degrade", **changes)


def missing(hall: Hall) -> list[tuple[str | None, str]]:
    return [(line.note.slot, line.words) for line in hall.debate(THREAD).notes(About.MISSING)]


def slots(hall: Hall) -> list[str | None]:
    return [turn.seat.slot if turn.seat else None for turn in turns_of(hall.debate(THREAD))]


# ------------------------------------------------------------------------------------------------- who can be missing

WALLS = [
    pytest.param(lambda task: task.step == "checklist" and task.lens == FAILURE, id="at its checklist"),
    pytest.param(lambda task: task.step == "apply" and task.lens == FAILURE, id="at its turn"),
]


@pytest.mark.parametrize("silent", WALLS)
async def test_a_round_goes_on_without_one_of_several_walls(hall: Hall, silent: Callable[[Task], bool]) -> None:
    events, model = list[Event](), without(lambda task: task.round == 1 and silent(task))
    with anyio.fail_after(10):
        run = await hold(hall, degrading(), model, events.append)
    assert order(run.debate) == "WLLD · WLLD"
    assert slots(hall)[:4] == ["R1.Wind.1", "R1.Wall.1", "R1.Wall.3", "R1.Door.1"]
    words = "Wall critical-engineer (R1.Wall.2) is missing: x: busy"
    assert missing(hall) == [("R1.Wall.2", words)]
    assert [event for event in events if isinstance(event, SeatMissing)] == [
        SeatMissing(slot="R1.Wall.2", role="Wall", agent="critical-engineer", code="overloaded", message="x: busy")
    ]
    assert run.debate.state.marks == (DEGRADED,)
    assert record_of(run.debate).degraded == (words,)
    assert (run.debate.state.status, run.debate.state.starved_roles) == (Status.SYNTHESIS, ())
    asked = [request.task for request in model.requests if request.task.lens == FAILURE and request.task.round == 1]
    assert len(asked) == 4 + (asked[-1].step == "apply")  # as often as the table says, and not once more


async def test_the_same_seat_is_asked_again_in_the_next_round(hall: Hall) -> None:
    with anyio.fail_after(10):
        await hold(hall, degrading(), without(lambda task: task.round == 1 and task.lens == FAILURE))
    heard = [
        (turn.round, turn.seat and turn.seat.lens) for turn in turns_of(hall.debate(THREAD)) if turn.role is Role.WALL
    ]
    assert heard == [(1, TRUST), (1, COST), (2, TRUST), (2, FAILURE)]


@pytest.mark.parametrize("place", [1, 2, 3])
async def test_a_round_goes_on_without_one_of_several_winds(hall: Hall, place: int) -> None:
    agent = degrading("laboratory").rounds[0].winds[place - 1].agent
    with anyio.fail_after(10):
        run = await hold(hall, degrading("laboratory"), without(lambda task: task.round == 1 and task.agent == agent))
    assert order(run.debate) == "WWLD · WWLD"
    assert f"R1.Wind.{place}" not in slots(hall)
    assert [slot for slot, _ in missing(hall)] == [f"R1.Wind.{place}"]


async def test_a_round_goes_on_with_one_voice_a_role(hall: Hall) -> None:
    with anyio.fail_after(10):
        run = await hold(hall, degrading(), without(lambda task: task.lens in (TRUST, COST)))
    assert order(run.debate) == "WLD · WLD"
    assert [slot for slot, _ in missing(hall)] == ["R1.Wall.1", "R1.Wall.3", "R2.Wall.1"]
    assert len(record_of(run.debate).degraded) == 3
    assert run.debate.state.marks == (DEGRADED,)


async def test_what_a_missing_seat_had_written_is_handed_back(hall: Hall) -> None:
    with anyio.fail_after(10):
        run = await hold(hall, degrading(), without(lambda task: task.step == "apply" and task.lens == COST))
    assert [(draft.seat.slot, draft.step) for draft in run.unused] == [("R1.Wall.3", "checklist")]


# --------------------------------------------------------------------------------------------------- who never is

NEVER = [
    pytest.param("fortress", lambda task: task.role is Role.DOOR, "WLLL", "R1.Door.1", id="Door"),
    pytest.param("council", lambda task: len(task.said) == 5, "WWLLD", "R1.Door.2", id="one of several Doors"),
    pytest.param("fortress", lambda task: task.role is Role.WIND, "", "R1.Wind.1", id="the only Wind"),
    pytest.param("speed", lambda task: task.step == "apply", "W", "R1.Wall.1", id="the only Wall"),
    pytest.param("speed", lambda task: task.step == "checklist", "W", "R1.Wall.1", id="the only checklist"),
    pytest.param("fortress", lambda task: task.step == "checklist", "W", "R1.Wall.1", id="every checklist"),
    pytest.param("fortress", lambda task: task.step == "apply", "W", "R1.Wall.1", id="every Wall"),
]


@pytest.mark.parametrize(("recipe", "silent", "spoken", "slot"), NEVER)
async def test_no_round_goes_on_without_door_or_without_the_only_voice_of_a_role(
    hall: Hall, recipe: str, silent: Callable[[Task], bool], spoken: str, slot: str
) -> None:
    with anyio.fail_after(10), pytest.raises(RunPaused, match=f"{slot}.*could not be heard: x: busy"):
        await hold(hall, degrading(recipe), without(silent))
    assert order(hall.debate(THREAD)) == spoken
    assert (missing(hall), hall.debate(THREAD).state.marks) == ([], ())


async def test_a_run_that_pauses_does_not_go_on_without_anybody(hall: Hall) -> None:
    with anyio.fail_after(10), pytest.raises(RunPaused, match=r"R1\.Wall\.2"):
        await hold(hall, plan_of("fortress"), without(lambda task: task.step == "apply" and task.lens == FAILURE))
    assert (order(hall.debate(THREAD)), missing(hall)) == ("WL", [])


async def test_the_last_wall_left_is_not_missing_though_the_others_are(hall: Hall) -> None:
    """Two Walls have no checklist; the third has one, and fails when it applies it."""
    silent = without(lambda task: task.lens in (TRUST, FAILURE) or task.step == "apply")
    with anyio.fail_after(10), pytest.raises(RunPaused, match=r"R1\.Wall\.3"):
        await hold(hall, degrading(), silent)
    assert [slot for slot, _ in missing(hall)] == ["R1.Wall.1", "R1.Wall.2"]
    model = voices()
    with anyio.fail_after(10):
        run = await resume(hall, model)
    assert order(run.debate) == "WLD · WLLD"
    assert {request.task.lens for request in model.requests if request.task.round == 1} == {COST, None}


# --------------------------------------------------------------------------------------------- over several processes


async def test_who_was_missing_stays_missing_when_the_run_is_resumed(hall: Hall) -> None:
    def silent(task: Task) -> bool:
        return task.role is Role.DOOR or (task.step == "apply" and task.lens == FAILURE)

    with anyio.fail_after(10):
        with pytest.raises(RunPaused, match=r"R1\.Door\.1"):
            await hold(hall, degrading(), without(silent))
        model = voices()
        run = await resume(hall, model)
    assert order(run.debate) == "WLLD · WLLD"
    assert not [request for request in model.requests if request.task.lens == FAILURE and request.task.round == 1]
    assert [slot for slot, _ in missing(hall)] == ["R1.Wall.2"]
    assert len(record_of(run.debate).degraded) == 1


async def test_a_paused_run_can_be_resumed_without_the_seat_that_made_it_pause(hall: Hall) -> None:
    silent = without(lambda task: task.step == "apply" and task.lens == FAILURE)
    with anyio.fail_after(10):
        with pytest.raises(RunPaused):
            await hold(hall, plan_of("fortress"), silent)
        run = await resume(hall, silent, how=TakeUp(changes=Changes(on_failure="degrade")))
    assert order(run.debate) == "WLLD · WLD"
    assert record_of(run.debate).changes == ("From here on a seat that fails makes the run degrade.",)


# ------------------------------------------------------------------------------------------------------- another writer


@pytest.fixture
def interjected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Somebody makes a remark in the very moment before the first seat is noted missing."""
    made, note = list[str](), Hall.note

    def note_after_a_remark(self: Hall, thread_id: str, words: str, about: str, *args: Any, **kwargs: Any) -> Any:
        if about == About.MISSING and not made:
            made.append("Mind the budget.")
            note(self, thread_id, made[0], "remark", "a person")
        return note(self, thread_id, words, about, *args, **kwargs)

    monkeypatch.setattr(Hall, "note", note_after_a_remark)
    return made


@pytest.mark.parametrize("silent", WALLS)
async def test_a_seat_is_told_missing_once_though_another_writer_spoke_meanwhile(
    hall: Hall, silent: Callable[[Task], bool], interjected: list[str]
) -> None:
    events, model = list[Event](), without(lambda task: task.round == 1 and silent(task))
    with anyio.fail_after(10):
        run = await hold(hall, degrading(), model, events.append)
    assert interjected != []
    assert [event for event in events if isinstance(event, HeadMoved)] != []
    told = [event.slot for event in events if isinstance(event, SeatMissing)]
    assert told == [slot for slot, _ in missing(hall)] == ["R1.Wall.2"]
    assert order(run.debate) == "WLLD · WLLD"


async def test_a_wall_without_a_checklist_is_not_asked_for_its_turn_whatever_others_said(
    hall: Hall, interjected: list[str]
) -> None:
    model = without(lambda task: task.round == 1 and task.step == "checklist" and task.lens == FAILURE)
    with anyio.fail_after(10):
        await hold(hall, degrading(), model)
    asked = [request.task for request in model.requests if request.task.lens == FAILURE]
    assert {task.step for task in asked if task.round == 1} == {"checklist"}


# --------------------------------------------------------------------------------------------------------- who is told


async def test_every_output_says_first_who_is_missing_and_why(hall: Hall) -> None:
    with anyio.fail_after(10):
        run = await hold(hall, degrading(), without(lambda task: task.step == "apply" and task.lens == COST))
    words = "DEGRADED: Wall critical-engineer (R1.Wall.3) is missing: x: busy"
    record = record_of(run.debate)
    document = flowing(render_adr(record, run.debate))
    title, mark = document.split("\n\n")[1:3]
    assert (title, mark) == (f"# {record.title}", words)
    meta = hall.export_debate(THREAD, "octave").partition("THREAD_ID::")[0]
    assert f'DEGRADED::"{words.removeprefix("DEGRADED: ")}"' in meta


async def test_the_mark_is_what_anybody_sees_who_reads_the_debate(hall: Hall) -> None:
    dead = without(lambda task: task.step == "checklist" and task.lens == TRUST)
    with anyio.fail_after(10):
        await hold(hall, degrading(), dead)
    view = hall.get_debate(THREAD, include_transcript=False)
    assert view["marks"] == [DEGRADED]
