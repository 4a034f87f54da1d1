"""What is left to do and what may be built on, read off a ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from building import THREAD, TOPIC, hall_at, plan_of
from orchestrator.agenda import (
    answering_round,
    before_round,
    before_siblings,
    changes,
    closing_round,
    closing_word_is_said,
    last_word,
    left_of,
    missing,
)
from orchestrator.errors import RunPaused
from orchestrator.hall.entries import SeatRecord
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role

FORTRESS = plan_of("fortress")
ROLES = {"W": Role.WIND, "L": Role.WALL, "D": Role.DOOR}


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, TOPIC, mode="mediated", max_turns=100, max_rounds=20)
        yield hall


def say(hall: Hall, turns: str, *slots: str) -> None:
    """Turns in DESIGN's letters, small ones of somebody else; the run's own take these slots, else the plan's."""
    given = iter(slots)
    for letter in turns:
        role = ROLES[letter.upper()]
        hall.pick_next_speaker(THREAD, role)
        state = hall.debate(THREAD).state
        place = 1 if state.opens_round(role) else state.in_round.of(role) + 1
        slot = next(given, f"R{state.round_of(role)}.{role}.{place}")
        seat = SeatRecord(slot=slot, agent="a", asked="m", answered="m") if letter.isupper() else None
        hall.add_turn(THREAD, role, f"What {role} says as turn {state.turn_count + 1}.", seat=seat)


def left(hall: Hall, role: Role, number: int = 1) -> list[str]:
    planned, debate = FORTRESS.rounds[number - 1], hall.debate(THREAD)
    return [seat.slot for seat in left_of(planned, role, debate)]


# ------------------------------------------------------------------------------------------------------- who is left


@pytest.mark.parametrize(
    ("spoken", "role", "expected"),
    [
        ("", Role.WALL, ["R1.Wall.1", "R1.Wall.2", "R1.Wall.3"]),
        ("WL", Role.WALL, ["R1.Wall.2", "R1.Wall.3"]),
        ("Wl", Role.WALL, ["R1.Wall.2", "R1.Wall.3"]),
        ("WLl", Role.WALL, ["R1.Wall.3"]),
        ("WLLLD", Role.WALL, []),
        ("WLd", Role.WALL, []),  # their turn would open the next round
        ("WLd", Role.DOOR, []),
        ("WLDW", Role.DOOR, []),  # the next round has begun
    ],
)
def test_the_seats_that_have_still_to_speak_are_those_that_no_turn_has_taken(
    hall: Hall, spoken: str, role: Role, expected: list[str]
) -> None:
    say(hall, spoken)
    assert left(hall, role) == expected


def test_a_seat_that_is_missing_has_not_to_speak(hall: Hall) -> None:
    say(hall, "W")
    hall.note(THREAD, "Wall is missing: it is busy.", "missing", "run-debate", slot="R1.Wall.2")
    assert missing(hall.debate(THREAD)) == {"R1.Wall.2"}
    assert left(hall, Role.WALL) == ["R1.Wall.1", "R1.Wall.3"]
    say(hall, "LLDW")
    assert left(hall, Role.WALL, 2) == ["R2.Wall.1", "R2.Wall.2"]


# --------------------------------------------------------------------------------------------------- what was seen


def test_only_turns_votes_refinements_redactions_and_remarks_change_what_may_be_built_on(hall: Hall) -> None:
    counted = []
    for act in (
        lambda: say(hall, "W"),
        lambda: hall.pick_next_speaker(THREAD, "Wall"),
        lambda: hall.note(THREAD, "It was resumed.", "resumed", "run-debate"),
        lambda: hall.note(THREAD, "Mind the budget.", "remark", "a person"),
        lambda: hall.extend(THREAD, 101, 21, "a person", "There is more to say."),
        lambda: hall.tombstone_turn(THREAD, 0, "It named a customer."),
        lambda: say(hall, "LD"),
        lambda: hall.cast_vote(THREAD, "Wall", "object", "It cannot be undone.", ["T2"]),
        lambda: hall.refine(THREAD, "It can be undone.", [9]),
    ):
        act()
        counted.append(changes(hall.debate(THREAD)))
    assert counted == [1, 1, 1, 2, 2, 3, 5, 6, 7]


def test_the_debate_before_a_round_is_the_one_at_the_head_at_which_the_round_began(hall: Hall) -> None:
    say(hall, "WLLLD")
    before = hall.debate(THREAD)
    say(hall, "WL")
    debate = hall.debate(THREAD)
    assert before_round(debate, 2).head == debate.turns[5].entry.prev
    assert before_round(debate, 2).snapshot().turns == before.snapshot().turns
    assert before_round(debate, 1).turns == ()
    assert before_round(debate, 3).head == debate.head


@pytest.mark.parametrize(
    ("spoken", "role", "number", "turns"),
    [
        ("WLL", Role.WALL, 1, 1),
        ("WLL", Role.DOOR, 1, 3),
        ("WLL", Role.WALL, 2, 3),  # a seat of another round was not drafted beside them
        ("WLlL", Role.WALL, 1, 3),
        ("WLLl", Role.WALL, 1, 4),
    ],
)
def test_before_siblings_is_before_the_runs_own_newest_turns_of_that_role_and_round(
    hall: Hall, spoken: str, role: Role, number: int, turns: int
) -> None:
    say(hall, spoken)
    assert len(before_siblings(hall.debate(THREAD), role, number).turns) == turns


# ------------------------------------------------------------------------------------------------------- how it ends


def test_a_round_that_somebody_else_opened_is_answered_by_one_voice_a_role(hall: Hall) -> None:
    say(hall, "WLLLDWLLDw")
    answering = answering_round(FORTRESS, hall.debate(THREAD))
    assert [seat.slot for seat in answering.seats] == ["R3.Wind.1", "R3.Wall.1", "R3.Door.1"]
    assert (answering.number, answering.closes) == (3, False)


@pytest.mark.parametrize(
    ("spoken", "slots"),
    [
        ("", None),
        ("W", ["R1.Wall.1", "R1.Door.close"]),
        ("Wl", ["R1.Door.close"]),
        ("WL", ["R1.Door.close"]),
        ("WLLLD", ["R1.Door.close"]),
        ("WLLLDW", ["R2.Wall.1", "R2.Door.close"]),
        ("WLLLDWLLDw", ["R3.Wall.close", "R3.Door.close"]),
    ],
)
def test_door_closes_with_the_fewest_seats_that_its_round_still_needs(
    hall: Hall, spoken: str, slots: list[str] | None
) -> None:
    say(hall, spoken)
    closing = closing_round(FORTRESS, hall.debate(THREAD))
    assert (closing and [seat.slot for seat in closing.seats]) == slots
    assert closing is None or closing.closes


def test_the_wall_that_is_heard_before_door_closes_is_not_one_that_is_missing(hall: Hall) -> None:
    say(hall, "W")
    hall.note(THREAD, "Wall is missing: it is busy.", "missing", "run-debate", slot="R1.Wall.1")
    closing = closing_round(FORTRESS, hall.debate(THREAD))
    assert closing is not None
    assert [seat.slot for seat in closing.walls] == ["R1.Wall.2"]
    assert closing.walls[0].lens == FORTRESS.rounds[0].walls[1].lens


def test_doors_closing_word_is_known_by_its_slot_as_a_turn_or_as_a_refinement(hall: Hall) -> None:
    assert not closing_word_is_said(hall.debate(THREAD))
    say(hall, "WLLLD")
    assert not closing_word_is_said(hall.debate(THREAD))
    seat = SeatRecord(slot="R1.Door.close", agent="a", asked="m", answered="m")
    hall.refine(THREAD, "Therefore an outbox, and no broker.", seat=seat)
    assert closing_word_is_said(hall.debate(THREAD))
    say(hall, "WLD", "R2.Wind.1", "R2.Wall.1", "R2.Door.close")
    assert closing_word_is_said(hall.debate(THREAD))
    say(hall, "wld")
    assert not closing_word_is_said(hall.debate(THREAD))


def test_a_debate_closes_with_doors_newest_word(hall: Hall) -> None:
    say(hall, "WLLLD")
    assert last_word(hall.debate(THREAD)) == "What Door says as turn 5."
    hall.refine(THREAD, "Therefore an outbox.")
    assert last_word(hall.debate(THREAD)) == "Therefore an outbox."
    hall.tombstone(THREAD, hall.debate(THREAD).state.seq, "It named a customer of ours in full.")
    with pytest.raises(RunPaused, match="redacted") as paused:
        last_word(hall.debate(THREAD))
    assert "close_debate" in paused.value.cure
