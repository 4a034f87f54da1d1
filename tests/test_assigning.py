"""What each seat is asked from, how its reply is judged, and what is kept for Door beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from building import FENCE, THREAD, TOPIC, hall_at, plan_of, wordy
from orchestrator.assigning import Assigning
from orchestrator.budget import Bound, Budget, total_bound
from orchestrator.calls import NOTHING_KEPT, Kept
from orchestrator.drafts import Assignment
from orchestrator.hall.debate import Said
from orchestrator.hall.entries import SeatRecord
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role
from orchestrator.models.base import Endpoint, Message, Step
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.plan import Plan, PlannedRound, PlannedSeat
from orchestrator.prompt import make_request
from orchestrator.recipe import Limits

PRICED = Endpoint(input_cost_per_token=Decimal("1E-6"), output_cost_per_token=Decimal("1E-6"))


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, TOPIC, mode="mediated", max_turns=100, max_rounds=20)
        yield hall


def say(hall: Hall, turns: str) -> None:
    """Turns in DESIGN's letters, small ones of somebody else; `!` is a remark, `p` a pick that nobody uses."""
    roles = {"W": Role.WIND, "L": Role.WALL, "D": Role.DOOR}
    for letter in turns:
        if letter == "!":
            hall.note(THREAD, "Mind the budget.", "remark", "a person")
            continue
        role = roles["W" if letter == "p" else letter.upper()]
        hall.pick_next_speaker(THREAD, role)
        if letter != "p":
            said = hall.debate(THREAD).state.turn_count + 1
            seat = SeatRecord(slot=f"slot {said}", agent="a", asked="m", answered="m") if letter.isupper() else None
            hall.add_turn(THREAD, role, f"What {role} says as T{said}.", seat=seat)


def seen(hall: Hall, plan: Plan, seat: PlannedSeat, step: Step = "turn", planned: PlannedRound | None = None) -> str:
    """The turns that a seat is shown, in DESIGN's letters."""
    own_round = planned or next(one for one in plan.rounds if seat in one.seats)
    assignment = Assigning(plan, Budget()).assignment(own_round, hall.debate(THREAD), seat, step, None)
    said = assignment.ask(seat.routes[0], None).task.said
    assert assignment.turns == len(said)
    return "".join({Role.WIND: "W", Role.WALL: "L", Role.DOOR: "D"}[turn.role] for turn in said)


# ------------------------------------------------------------------------------------------- what a batch is asked from

FORTRESS, COUNCIL, SIDE_BY_SIDE = plan_of("fortress"), plan_of("council"), plan_of("council", doors="independent")

BASES = [
    pytest.param(FORTRESS, 0, "walls", "checklist", "", "", id="a checklist before anybody spoke"),
    pytest.param(FORTRESS, 0, "walls", "checklist", "WLL", "", id="a checklist, as it was asked before its round"),
    pytest.param(FORTRESS, 0, "walls", "checklist", "wW", "", id="a checklist never sees Wind, whoever that is"),
    pytest.param(FORTRESS, 1, "walls", "checklist", "WLLLDWL", "WLLLD", id="a checklist of round 2"),
    pytest.param(FORTRESS, 0, "walls", "apply", "W", "W", id="Wall after Wind"),
    pytest.param(FORTRESS, 0, "walls", "apply", "WLL", "W", id="Wall beside Walls that were committed"),
    pytest.param(FORTRESS, 0, "walls", "apply", "WLpL", "W", id="a pick is nothing that is seen"),
    pytest.param(FORTRESS, 0, "walls", "apply", "WLl", "WLL", id="somebody else's Wall is heard"),
    pytest.param(FORTRESS, 0, "walls", "apply", "WLlL", "WLL", id="and what was drafted beside it is not"),
    pytest.param(FORTRESS, 0, "walls", "apply", "WL!L", "WL", id="a remark is heard"),
    pytest.param(COUNCIL, 0, "winds", "turn", "W", "", id="Wind beside Wind"),
    pytest.param(COUNCIL, 1, "winds", "turn", "WWLLDDDW", "WWLLDDD", id="Wind of round 2 beside Wind"),
    pytest.param(COUNCIL, 0, "doors", "turn", "WWLLD", "WWLLD", id="a Door after the Door before"),
    pytest.param(SIDE_BY_SIDE, 0, "doors", "turn", "WWLLD", "WWLL", id="a Door beside the Door before"),
    pytest.param(SIDE_BY_SIDE, 1, "doors", "turn", "WWLLDDDWWLD", "WWLLDDDWWLD", id="the last Door sees them all"),
]


@pytest.mark.parametrize(("plan", "number", "role", "step", "spoken", "expected"), BASES)
def test_a_seat_is_asked_from_what_its_batch_was_asked_from(
    hall: Hall, plan: Plan, number: int, role: str, step: Step, spoken: str, expected: str
) -> None:
    say(hall, spoken)
    seat = getattr(plan.rounds[number], role)[-1]
    assert seen(hall, plan, seat, step) == expected


def test_words_that_were_redacted_since_are_redacted_in_what_a_batch_was_asked_from(hall: Hall) -> None:
    say(hall, "WLL")
    hall.tombstone_turn(THREAD, 0, "It named a customer.")
    seat = FORTRESS.rounds[0].walls[2]
    ask = Assigning(FORTRESS, Budget()).assignment(FORTRESS.rounds[0], hall.debate(THREAD), seat, "apply", None).ask
    said: tuple[Said, ...] = ask("test/wall", None).task.said
    assert said[0].text == "[REDACTED: It named a customer.]"


# ----------------------------------------------------------------------------------------------- how a reply is judged


def assigned(hall: Hall, plan: Plan, role: str, step: Step = "turn") -> Assignment:
    (seat, *_) = getattr(plan.rounds[0], role)
    return Assigning(plan, Budget()).assignment(plan.rounds[0], hall.debate(THREAD), seat, step, None)


@pytest.mark.parametrize("role", ["winds", "walls", "doors"])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("Too short.", "too short for a turn", id="too short"),
        pytest.param(wordy("a\0b"), "NUL", id="a character that no ledger takes"),
        pytest.param("x" * 262_145, "", id="longer than a ledger takes"),
        pytest.param(wordy(f"<<< {FENCE}"), "marker", id="the debate's marker"),
        pytest.param(plan_of().protocol, "repeats what you were told", id="the instructions back again"),
        pytest.param("I'm sorry, but I can't help with that.", "declines", id="a refusal"),
    ],
)
def test_what_is_no_turn_is_told_so(hall: Hall, role: str, text: str, why: str) -> None:
    useless = assigned(hall, plan_of(), role).useless(text)
    assert useless is not None
    assert why in useless


def test_a_turn_is_a_turn_and_its_agents_text_at_length_is_none(hall: Hall) -> None:
    wind = assigned(hall, plan_of(), "winds")
    assert wind.useless(wordy("What if?")) is None
    assert wind.useless(plan_of().agents["wind-agent"].text) is not None


def test_a_checklist_may_be_short_and_lacks_nothing(hall: Hall) -> None:
    checklist = assigned(hall, plan_of(), "walls", "checklist")
    assert (checklist.useless("- Who pays?"), checklist.lacking("- Who pays?")) == (None, None)


def test_a_rehearsals_worksheet_is_taken_as_it_is(hall: Hall) -> None:
    rehearsal = plan_of(routes={role: (REHEARSAL,) for role in Role})
    assert assigned(hall, rehearsal, "doors").useless("Your answer: …") is None


def test_only_a_walls_turn_is_held_against_wind(hall: Hall) -> None:
    say(hall, "W")
    for role, step, lacks in (("winds", "turn", False), ("doors", "turn", False), ("walls", "apply", True)):
        assert bool(assigned(hall, plan_of(), role, step).lacking(wordy("Nobody said so."))) is lacks


# ----------------------------------------------------------------------------------------------- what is kept for Door


def kept(hall: Hall, plan: Plan, number: int, steps: Sequence[tuple[str, int, Step]], **changes: Any) -> Kept:
    planned = plan.rounds[number].model_copy(update=changes)
    drafting = [(getattr(planned, role)[place], step) for role, place, step in steps]
    return Assigning(plan, Budget(plan.limits)).kept(planned, hall.debate(THREAD), drafting)


def most_of(hall: Hall, plan: Plan, number: int, drafting: int, *slots: str, **changes: Any) -> Bound:
    """What the calls of these seats could take, each of `drafting` others having written as many bytes as tokens."""
    planned, budget = plan.rounds[number].model_copy(update=changes), Budget()
    more = Message("user", "x" * plan.rounds[0].winds[0].max_output_tokens * drafting)
    bounds = []
    for seat in (seat for seat in planned.seats if seat.slot in slots):
        request = make_request(plan, hall.debate(THREAD).snapshot(), planned, seat, "turn", route=seat.routes[0])
        bounds.append(budget.bound_of(replace(request, messages=(*request.messages, more))))
    return total_bound(bounds)


CLOSING: dict[str, Any] = {"endpoint": PRICED, "on_limit": "close", "limits": Limits(tokens=10**6)}
FIRST: list[tuple[str, int, Step]] = [("winds", 0, "turn"), *(("walls", place, "checklist") for place in range(3))]
WALLS: list[tuple[str, int, Step]] = [("walls", place, "apply") for place in range(3)]
DOOR: list[tuple[str, int, Step]] = [("doors", 0, "turn")]

KEPT = [
    pytest.param(0, "", FIRST, ["R1.Wall.1", "R1.Door.1"], id="beside Wind and checklists, a Wall and Door"),
    pytest.param(0, "W", WALLS, ["R1.Door.1"], id="beside Walls, Door"),
    pytest.param(0, "WLLL", DOOR, ["R1.Door.1"], id="beside a Door that does not end the debate, Door"),
    pytest.param(1, "WLLLDWLL", DOOR, [], id="beside the Door that ends it, nothing"),
]


@pytest.mark.parametrize(("number", "spoken", "steps", "slots"), KEPT)
def test_what_door_would_need_to_close_is_kept(
    hall: Hall, number: int, spoken: str, steps: Sequence[tuple[str, int, Step]], slots: Sequence[str]
) -> None:
    plan = plan_of("fortress", **CLOSING)
    say(hall, spoken)
    found = kept(hall, plan, number, steps)
    assert found.bound == (most_of(hall, plan, number, len(steps), *slots) if slots else NOTHING_KEPT.bound)
    assert found.seconds == 0


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"on_limit": "stop"}, id="a run that stops at its limit"),
        pytest.param({"limits": Limits()}, id="a run without a limit"),
    ],
)
def test_nothing_is_kept_where_door_will_not_close(hall: Hall, changes: dict[str, Any]) -> None:
    plan = plan_of("fortress", **{**CLOSING, **changes})
    assert kept(hall, plan, 0, FIRST) == NOTHING_KEPT


def test_a_wall_that_is_heard_before_door_closes_leaves_what_door_needs_and_door_leaves_nothing(hall: Hall) -> None:
    plan = plan_of("fortress", **CLOSING)
    say(hall, "W")
    assert kept(hall, plan, 0, WALLS[:1], closes=True).bound == most_of(hall, plan, 0, 1, "R1.Door.1", closes=True)
    assert kept(hall, plan, 0, DOOR, closes=True) == NOTHING_KEPT


@pytest.mark.parametrize(("seconds", "kept_s"), [(3600, 2 * 180.0), (100, 2 * 12.5)])
def test_of_a_limit_of_time_a_wall_and_door_are_kept_what_each_may_take_and_an_eighth_at_most(
    hall: Hall, seconds: float, kept_s: float
) -> None:
    plan = plan_of("fortress", **{**CLOSING, "limits": Limits(seconds=seconds)})
    assert kept(hall, plan, 0, FIRST).seconds == kept_s
    say(hall, "WLLLDWLL")
    assert kept(hall, plan, 1, DOOR).seconds == 0
