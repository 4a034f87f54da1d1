"""What so many briefs can show: intervals, paired differences, power.

A brief is what is drawn: repetitions of one are averaged first, since the second answer to a question tells less than
the answer to a second question. Intervals come from resampling briefs, with the same seed each time. Percentiles of a
small sample's resamples are too narrow; they are taken farther out, as Student's t asks (T. Hesterberg, "What Teachers
Should Know About the Bootstrap", The American Statistician 69, 2015, section 5.3).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, stdev
from typing import TypeVar

CONFIDENCE = 0.95
POWER = 0.8
RESAMPLES = 2000

_FEW = 5  # briefs that differ from all others; from so many on resampling tells the spread
_HALVINGS = 50

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with what it may as well be. An end is infinite where the value may be without end."""

    low: float
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class Paired:
    """What one arm has more than another, brief by brief.

    Args:
        differences: of each brief that both have, in the order of their names.
        interval: the mean of them; None without any.
        least: what the mean difference is at least, at `CONFIDENCE` on this side alone; None without any.
        smallest: the smallest difference that so many briefs show with `POWER`; None where no number of them could.
    """

    differences: Mapping[str, float]
    interval: Interval | None
    least: float | None
    smallest: float | None

    @property
    def is_better(self) -> bool:
        return self.interval is not None and self.interval.low > 0

    @property
    def is_worse(self) -> bool:
        return self.interval is not None and self.interval.high < 0


def interval(
    drawn: Sequence[T],
    of: Callable[[Sequence[T]], float],
    seed: int = 0,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """Returns a statistic of a sample with its interval; None where nothing was drawn.

    Args:
        drawn: one item a brief.
        of: the statistic; infinite where it has no end, as the cost of one success without any.
        seed: the same seed gives the same interval.
        confidence: how often such an interval holds the true value.
        resamples: how often the sample is drawn again.
    """
    if not drawn:
        return None
    value = of(drawn)
    if len(drawn) == 1:
        return Interval(-math.inf, value, math.inf)
    number = len(drawn)
    again = random.Random(seed).choices(drawn, k=number * resamples)  # all at once, which is faster
    found = sorted(of(again[at : at + number]) for at in range(0, len(again), number))
    tail = _tail(number, confidence)
    low, high = _quantile(found, tail), _quantile(found, 1 - tail)
    return Interval(min(low, value), value, max(high, value))


def mean(values: Sequence[float]) -> float:
    """Returns the mean of some values; what rounding adds is far below what resampling does."""
    return sum(values) / len(values)


def share(values: Sequence[float], seed: int = 0, confidence: float = CONFIDENCE) -> Interval | None:
    """Returns the mean of values from 0 to 1 with its interval; None where there are none."""
    return _of_shares(values, 0.0, seed, confidence)


def paired(
    ours: Mapping[str, float], theirs: Mapping[str, float], seed: int = 0, confidence: float = CONFIDENCE
) -> Paired:
    """Returns what we have more than they, over the briefs that both have.

    Args:
        ours, theirs: by brief, each value from 0 to 1.
        seed: of the resampling.
        confidence: of the interval.
    """
    both = sorted(ours.keys() & theirs.keys())
    differences = {brief: ours[brief] - theirs[brief] for brief in both}
    values = list(differences.values())
    one_sided = _of_shares(values, -1.0, seed, 2 * confidence - 1)
    return Paired(
        differences=differences,
        interval=_of_shares(values, -1.0, seed, confidence),
        least=one_sided.low if one_sided else None,
        smallest=smallest_difference(len(values), stdev(values) if len(values) > 1 else 0.0, confidence),
    )


def smallest_difference(
    briefs: int, spread: float, confidence: float = CONFIDENCE, power: float = POWER
) -> float | None:
    """Returns the smallest mean difference that so many briefs show, with so much power.

    However alike briefs are, it is no smaller than what shows where every brief that differs does so one way: of n
    briefs a share p differs by one, which spreads by √(p(1-p)), and the mean p is seen.

    Args:
        briefs: how many both arms answered.
        spread: the standard deviation of their differences.
        confidence: of the interval that must leave out zero.
        power: how often it shall.

    Returns:
        a difference of values from 0 to 1; None where it would be larger than 1.
    """
    if briefs < 2:
        return None
    reach = _t(briefs - 1, confidence) + NormalDist().inv_cdf(power)
    alone = reach**2 / (briefs + reach**2)
    needed = max(reach * spread / math.sqrt(briefs), alone)
    return needed if needed <= 1 else None


def power_of(briefs: int, difference: float, spread: float, confidence: float = CONFIDENCE) -> float:
    """Returns how often so many briefs show a difference that is there."""
    if briefs < 2:
        return 0.0
    if spread == 0:
        return float(difference != 0)
    return NormalDist().cdf(abs(difference) * math.sqrt(briefs) / spread - _t(briefs - 1, confidence))


def _of_shares(values: Sequence[float], least: float, seed: int, confidence: float) -> Interval | None:
    """The mean of values from `least` to 1 with its interval, which is no narrower than so few that differ allow."""
    found = interval(values, mean, seed, confidence)
    if found is None:
        return None
    unseen = _unseen(values, confidence)
    low, high = min(found.low, found.value - unseen), max(found.high, found.value + unseen)
    return Interval(max(least, low), found.value, min(1.0, high))


def _unseen(values: Sequence[float], confidence: float) -> float:
    """How many more of all briefs, as a share, may differ from what most of these say; 0 where many of these do.

    Resampling knows none but those that were drawn. What else there may be is known for shares (C. J. Clopper and
    E. S. Pearson, Biometrika 26, 1934): twenty of twenty may be 83 % of all, nineteen of them 75 %.
    """
    few = len(values) - max(Counter(values).values())
    if few >= _FEW:
        return 0.0
    low, high = few / len(values), 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _at_most(few, len(values), middle) > (1 - confidence) / 2:
            low = middle
        else:
            high = middle
    return high - few / len(values)


def _at_most(number: int, drawn: int, rate: float) -> float:
    """How often at most so many of those drawn are of a kind that is as common as that."""
    return sum(math.comb(drawn, k) * rate**k * (1 - rate) ** (drawn - k) for k in range(number + 1))


def _tail(briefs: int, confidence: float) -> float:
    """What is cut off on each side, so that a small sample's percentiles are as wide as Student's t is."""
    return NormalDist().cdf(-math.sqrt(briefs / (briefs - 1)) * _t(briefs - 1, confidence))


def _t(freedom: int, confidence: float) -> float:
    """The quantile of Student's t that leaves out half of the rest on each side.

    By its expansion around the normal one (M. Abramowitz and I. A. Stegun, Handbook, 26.7.5), except where that is too
    short and the quantile is known exactly.
    """
    if freedom == 1:
        return math.tan(math.pi * confidence / 2)
    if freedom == 2:
        return confidence * math.sqrt(2 / (1 - confidence**2))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


def _quantile(ordered: Sequence[float], at: float) -> float:
    """The value below which this share of them lies, between its two neighbours."""
    place = at * (len(ordered) - 1)
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    return above if below == above or math.isinf(above) else below + (above - below) * (place - math.floor(place))
