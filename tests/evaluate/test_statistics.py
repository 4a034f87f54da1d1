"""Intervals hold what they should as often as they say, and say nothing that so few briefs cannot."""

from __future__ import annotations

import math
import random
from statistics import NormalDist, fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.evaluate import statistics
from orchestrator.evaluate.statistics import interval, paired, power_of, share, smallest_difference

rates = st.lists(st.floats(0, 1), min_size=2, max_size=25)
by_brief = st.dictionaries(st.sampled_from("abcdefghijkl"), st.sampled_from([0.0, 0.5, 1.0]), min_size=3)


@given(rates, st.integers(0, 9))
def test_an_interval_holds_its_value_and_the_same_seed_gives_the_same_one(values: list[float], seed: int) -> None:
    found = share(values, seed)
    assert found is not None
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.value == pytest.approx(fmean(values))
    assert found == share(values, seed)


@given(by_brief, by_brief)
def test_what_one_has_more_the_other_has_less(ours: dict[str, float], theirs: dict[str, float]) -> None:
    one, other = paired(ours, theirs), paired(theirs, ours)
    assert one.differences == {brief: -value for brief, value in other.differences.items()}
    assert (one.interval is None) == (not ours.keys() & theirs.keys())
    if one.interval and other.interval:
        assert (one.interval.value, one.interval.low) == pytest.approx((-other.interval.value, -other.interval.high))
        assert not (one.is_better and other.is_better)
        assert one.is_better == other.is_worse


@given(st.integers(2, 200), st.floats(0, 1))
def test_more_briefs_show_smaller_differences_and_one_shows_none(briefs: int, spread: float) -> None:
    fewer, more = smallest_difference(briefs, spread), smallest_difference(4 * briefs, spread)
    assert fewer is None or (more is not None and more < fewer)
    assert smallest_difference(1, spread) is None


@given(st.integers(8, 200), st.floats(0.5, 1))
def test_the_smallest_difference_is_the_one_that_is_found_with_the_stated_power(briefs: int, spread: float) -> None:
    smallest = smallest_difference(briefs, spread)
    if smallest is not None and smallest > 0.3:
        assert power_of(briefs, smallest, spread) >= statistics.POWER - 1e-9


@pytest.mark.parametrize(
    ("freedom", "known"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (19, 2.093), (99, 1.984)]
)
def test_the_quantiles_of_students_t_are_those_of_the_tables(freedom: int, known: float) -> None:
    assert statistics._t(freedom, 0.95) == pytest.approx(known, rel=0.005)


@pytest.mark.parametrize(
    ("briefs", "rate"), [(8, 0.5), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((20, 0.7), (40, 0.9)))]
)
def test_intervals_hold_the_true_share_about_as_often_as_they_say(briefs: int, rate: float) -> None:
    draw = random.Random(1)
    held = 0
    for _ in range(200):
        found = share([float(draw.random() < rate) for _ in range(briefs)])
        assert found is not None
        held += found.low <= rate <= found.high
    assert held / 200 >= 0.91


def test_what_never_varied_is_not_taken_for_certain() -> None:
    twenty, two = share([1.0] * 20), share([1.0] * 2)
    assert twenty is not None
    assert two is not None
    assert (twenty.value, twenty.high) == (1, 1)
    assert twenty.low == pytest.approx(0.8316, abs=1e-4)  # Clopper and Pearson, 20 of 20
    assert two.low == pytest.approx(0.1581, abs=1e-4)
    same = paired(dict.fromkeys("abcde", 1.0), dict.fromkeys("abcde", 1.0))
    assert same.interval is not None
    assert same.interval.low < -0.4
    assert not same.is_better
    assert not same.is_worse


def test_one_brief_shows_nothing_and_none_has_no_interval() -> None:
    assert interval([3.0], fmean) == statistics.Interval(-math.inf, 3.0, math.inf)
    assert share([]) is None
    nothing = paired({"a": 1.0}, {"b": 1.0})
    assert (nothing.differences, nothing.interval, nothing.least, nothing.smallest) == ({}, None, None, None)
    one = paired({"a": 1.0}, {"a": 0.0})
    assert not one.is_better


def test_a_cost_of_one_success_without_any_has_no_end() -> None:
    def cost(drawn: object) -> float:
        successes = sum(drawn)  # type: ignore[call-overload]
        return 6 / successes if successes else math.inf

    found = interval([0, 0, 0, 1, 0, 0], cost)
    assert found is not None
    assert found.high == math.inf
    assert found.value == 6


def test_a_lower_bound_on_one_side_is_nearer_than_an_interval_of_the_same_confidence() -> None:
    ours = {str(n): float(n % 3 > 0) for n in range(24)}
    theirs = {str(n): float(n % 4 > 1) for n in range(24)}
    found = paired(ours, theirs)
    assert found.interval is not None
    assert found.least is not None
    assert found.interval.low < found.least <= found.interval.value


def test_the_normal_limit_of_many_briefs() -> None:
    z = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)
    assert smallest_difference(100_000, 0.5) == pytest.approx(z * 0.5 / math.sqrt(100_000), rel=1e-3)
