from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import UsageError
from orchestrator.hall.terms import Mode, Role
from orchestrator.layout import RoundShape, Slot, check_ratio, lay_out, seat_order

Ratio = tuple[int, int, int]


@cache
def every_mediated_layout() -> list[tuple[int, Ratio, tuple[RoundShape, ...]]]:
    parts = range(1, 10)
    cases = ((turns, (wind, wall, door)) for turns, wind, wall, door in product(range(3, 61), parts, parts, parts))
    return [(turns, ratio, lay_out(turns, ratio, Mode.MEDIATED)) for turns, ratio in cases]


def totals_of(shapes: tuple[RoundShape, ...]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*shapes, strict=True)))


@pytest.mark.parametrize(
    ("turns", "ratio", "mode", "rounds"),
    [
        pytest.param(3, (1, 1, 1), Mode.FIXED, [(1, 1, 1)], id="speed"),
        pytest.param(12, (4, 4, 4), Mode.FIXED, [(1, 1, 1)] * 4, id="standard"),
        pytest.param(36, (12, 12, 12), Mode.FIXED, [(1, 1, 1)] * 12, id="deep"),
        pytest.param(9, (1, 3, 1), Mode.MEDIATED, [(1, 3, 1), (1, 2, 1)], id="fortress"),
        pytest.param(9, (3, 1, 1), Mode.MEDIATED, [(3, 1, 1), (2, 1, 1)], id="laboratory"),
        pytest.param(12, (2, 2, 3), Mode.MEDIATED, [(2, 2, 3), (2, 1, 2)], id="council"),
    ],
)
def test_the_six_recipes_are_laid_out_as_the_design_says(
    turns: int, ratio: Ratio, mode: Mode, rounds: list[tuple[int, int, int]]
) -> None:
    assert lay_out(turns, ratio, mode) == tuple(RoundShape(*shape) for shape in rounds)


@pytest.mark.slow
def test_the_rounds_hold_exactly_the_turns() -> None:
    for turns, ratio, shapes in every_mediated_layout():
        assert sum(totals_of(shapes)) == turns, (turns, ratio, shapes)


def test_every_round_holds_each_role() -> None:
    for turns, ratio, shapes in every_mediated_layout():
        assert min(map(min, shapes)) >= 1, (turns, ratio, shapes)


@pytest.mark.slow
def test_there_are_as_many_rounds_as_the_unreduced_ratio_asks_for_and_the_turns_can_fill() -> None:
    for turns, ratio, shapes in every_mediated_layout():
        asked = next(rounds for rounds in range(1, turns + 1) if rounds * sum(ratio) >= turns)
        assert len(shapes) == min(asked, turns // 3), (turns, ratio, shapes)


@pytest.mark.slow
def test_a_role_is_spread_evenly_with_its_larger_rounds_first() -> None:
    for turns, ratio, shapes in every_mediated_layout():
        for shares in zip(*shapes, strict=True):
            assert list(shares) == sorted(shares, reverse=True), (turns, ratio, shapes)
            assert max(shares) - min(shares) <= 1, (turns, ratio, shapes)


@pytest.mark.slow
def test_a_role_is_within_one_turn_of_its_share_but_for_what_one_turn_a_round_demands() -> None:
    for turns, ratio, shapes in every_mediated_layout():
        shares = [Fraction(turns * part, sum(ratio)) for part in ratio]
        somebody_was_lifted = min(shares) < len(shapes)
        for total, share in zip(totals_of(shapes), shares, strict=True):
            lifted = total == len(shapes) > share
            assert total - share < 1 or lifted, (turns, ratio, shapes)
            assert share - total < 1 or somebody_was_lifted, (turns, ratio, shapes)


@pytest.mark.slow
def test_no_turn_moved_from_one_role_to_another_would_come_closer_to_the_ratio() -> None:
    """With one turn a round as the floor, this makes the totals the closest possible in the sum of squares."""
    for turns, ratio, shapes in every_mediated_layout():
        totals, rounds = totals_of(shapes), len(shapes)
        for giver, taker in permutations(range(3), 2):
            if totals[giver] > rounds:
                above = [total * sum(ratio) - turns * part for total, part in zip(totals, ratio, strict=True)]
                now = above[giver] ** 2 + above[taker] ** 2
                moved = (above[giver] - sum(ratio)) ** 2 + (above[taker] + sum(ratio)) ** 2
                assert now <= moved, (turns, ratio, shapes)


@pytest.mark.parametrize(
    ("turns", "ratio", "totals"),
    [
        pytest.param(4, (1, 1, 1), (2, 1, 1), id="the first remainder to Wind"),
        pytest.param(5, (1, 1, 1), (2, 2, 1), id="the second to Wall"),
        pytest.param(10, (1, 3, 1), (2, 6, 2), id="no remainder"),
        pytest.param(9, (1, 3, 1), (2, 5, 2), id="the larger remainders before the smaller"),
        pytest.param(6, (1, 3, 1), (2, 2, 2), id="the lift taken back from the role above its share"),
        pytest.param(7, (1, 1, 9), (1, 1, 5), id="two roles lifted to one round"),
        pytest.param(12, (9, 9, 1), (6, 5, 1), id="a tie given to Wind"),
    ],
)
def test_totals_follow_the_largest_remainder(turns: int, ratio: Ratio, totals: Ratio) -> None:
    assert totals_of(lay_out(turns, ratio, Mode.MEDIATED)) == totals


@given(turns=st.integers(1, 2000).map(lambda rounds: rounds * 3), part=st.integers(1, 40))
@settings(deadline=None, max_examples=50)
def test_fixed_rounds_are_one_wind_one_wall_one_door(turns: int, part: int) -> None:
    assert lay_out(turns, (part, part, part), Mode.FIXED) == (RoundShape(1, 1, 1),) * (turns // 3)


@pytest.mark.parametrize(
    ("turns", "ratio", "mode", "sentence"),
    [
        (9, (1, 0, 1), Mode.MEDIATED, "The ratio 1:0:1 leaves Wall without a turn. Give every role at least 1."),
        (9, (-1, 1, 1), Mode.MEDIATED, "The ratio -1:1:1 leaves Wind without a turn. Give every role at least 1."),
        (9, (0, 0, 0), Mode.FIXED, "The ratio 0:0:0 leaves Wind without a turn. Give every role at least 1."),
        (2, (1, 1, 1), Mode.MEDIATED, "2 turns cannot hold a Wind, a Wall and a Door. Use at least 3 turns."),
        (0, (1, 1, 1), Mode.FIXED, "0 turns cannot hold a Wind, a Wall and a Door. Use at least 3 turns."),
        (
            10,
            (1, 1, 1),
            Mode.FIXED,
            "10 turns are no whole number of Wind, Wall, Door rounds, as a fixed debate needs. "
            "Use 9 or 12 turns, or mode: mediated.",
        ),
        (
            9,
            (1, 3, 1),
            Mode.FIXED,
            "A fixed debate gives every role the same number of turns; the ratio 1:3:1 does not. "
            "Make the parts equal (1:1:1), or use mode: mediated.",
        ),
    ],
)
def test_what_cannot_be_laid_out_is_refused_with_a_cure(turns: int, ratio: Ratio, mode: Mode, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        lay_out(turns, ratio, mode)
    assert str(refused.value) == sentence


def test_a_ratio_can_be_checked_before_there_are_turns() -> None:
    check_ratio((1, 3, 1), Mode.MEDIATED)
    with pytest.raises(UsageError):
        check_ratio((1, 3, 1), Mode.FIXED)


def test_seats_rotate_from_round_to_round() -> None:
    wind, wall, door = Role.WIND, Role.WALL, Role.DOOR
    assert seat_order((RoundShape(1, 3, 1), RoundShape(1, 2, 1)), (1, 4, 1)) == (
        (Slot(wind, 0), Slot(wall, 0), Slot(wall, 1), Slot(wall, 2), Slot(door, 0)),
        (Slot(wind, 0), Slot(wall, 3), Slot(wall, 0), Slot(door, 0)),
    )


@given(
    turns=st.integers(3, 60),
    ratio=st.tuples(*[st.integers(1, 9)] * 3),
    seats=st.tuples(*[st.integers(1, 5)] * 3),
)
@settings(deadline=None)
def test_a_round_is_all_winds_then_all_walls_then_all_doors_and_its_seats_have_fair_turns(
    turns: int, ratio: Ratio, seats: Ratio
) -> None:
    shapes = lay_out(turns, ratio, Mode.MEDIATED)
    order = seat_order(shapes, seats)
    assert [[slot.role for slot in slots] for slots in order] == [
        [Role.WIND] * shape.wind + [Role.WALL] * shape.wall + [Role.DOOR] * shape.door for shape in shapes
    ]
    spoken = [slot for slots in order for slot in slots]
    for role, places in zip(Role, seats, strict=True):
        counts = [spoken.count(Slot(role, seat)) for seat in range(places)]
        assert max(counts) - min(counts) <= 1
        assert counts == sorted(counts, reverse=True)
