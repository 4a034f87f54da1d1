"""What is measured of an arm: a value for each brief, and from these one with its interval, or what two arms differ by.

Repetitions of a brief are averaged; a value that nobody can know (an answer that is set aside, a cost without a price)
is left out, never guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from orchestrator.evaluate.scores import Score
from orchestrator.evaluate.statistics import CONFIDENCE, Interval, Paired, interval, mean, paired, share
from orchestrator.strict_yaml import Shape

Unit = Literal["share", "usd", "seconds"]


class Kind(NamedTuple):
    """Something that is measured.

    Args:
        of: its value for one result; None where nobody can know it.
        per: what it is divided by, summed over all briefs; None: it is averaged.
    """

    name: str
    title: str
    unit: Unit
    more_is_better: bool
    of: Callable[[Score], float | None]
    per: Callable[[Score], float | None] | None = None


def _sound(score: Score) -> float | None:
    return None if score.sound is None else float(score.sound)


def _cost(score: Score) -> float | None:
    return None if score.spent.cost_usd is None else float(score.spent.cost_usd)


SOUNDNESS = Kind("soundness", "Sound decisions", "share", True, _sound)
RECALL = Kind("constraint_recall", "Planted constraints answered", "share", True, lambda score: score.recall)
ACCEPTANCE = Kind("false_claims", "False claims accepted", "share", False, lambda score: score.accepted)
COST = Kind("cost_per_sound", "Cost per sound decision", "usd", False, _cost, _sound)
SECONDS = Kind("seconds", "Seconds", "seconds", False, lambda score: score.spent.seconds)
KINDS = (SOUNDNESS, RECALL, ACCEPTANCE, COST, SECONDS)


class Measure(Shape):
    """A value of an arm.

    Args:
        name: of its kind.
        briefs: how many it rests on.
        value: None where it is unknown, or without end: the cost of one sound decision where none was.
        low, high: its interval; None where that has no end, or there is none.
    """

    name: str
    briefs: int
    value: float | None
    low: float | None
    high: float | None


class Difference(Shape):
    """What an arm has more than another, over the briefs that both answered.

    Args:
        measure: the name of its kind.
        arm, against: this one, and the one it is compared with.
        by_brief: the difference at each brief; empty for what is no value of one brief.
        value, low, high: the mean, with its interval.
        smallest: the smallest difference that so many briefs can show; None where no difference could be shown.
    """

    measure: str
    arm: str
    against: str
    briefs: int
    by_brief: dict[str, float]
    value: float | None
    low: float | None
    high: float | None
    smallest: float | None = None

    @property
    def shows(self) -> Literal["more", "less", "nothing"]:
        """What the briefs show of it: that there is more, or less, or neither."""
        if self.value is None:
            return "nothing"
        if self.low is not None and self.low > 0:
            return "more"
        return "less" if self.high is not None and self.high < 0 else "nothing"


def measured(scores: Sequence[Score], kind: Kind, seed: int = 0) -> Measure:
    """Measures one arm.

    Args:
        scores: of that arm.
    """
    if kind.per is not None:
        drawn = list(_quotients(scores, kind).values())
        return _measure(kind, len(drawn), interval(drawn, _quotient, seed))
    values = list(by_brief(scores, kind).values())
    found = share(values, seed) if kind.unit == "share" else interval(values, mean, seed)
    return _measure(kind, len(values), found)


def differing(
    ours: Sequence[Score], theirs: Sequence[Score], kind: Kind, seed: int = 0, confidence: float = CONFIDENCE
) -> Difference:
    """Compares two arms, brief by brief.

    Args:
        ours, theirs: the scores of one arm each, neither empty.
        confidence: of the interval.
    """
    if kind.per is not None:
        return _of_quotients(ours, theirs, kind, seed, confidence)
    found = pairs_of(ours, theirs, kind, seed, confidence)
    spread = found.interval if kind.unit == "share" else _unbounded(found, seed, confidence)
    smallest = found.smallest if kind.unit == "share" else None
    return _difference(kind, ours, theirs, found.differences, len(found.differences), spread, smallest)


def pairs_of(
    ours: Sequence[Score], theirs: Sequence[Score], kind: Kind, seed: int = 0, confidence: float = CONFIDENCE
) -> Paired:
    """Pairs two arms by brief."""
    return paired(by_brief(ours, kind), by_brief(theirs, kind), seed, confidence)


def by_brief(scores: Iterable[Score], kind: Kind) -> dict[str, float]:
    """The value of each brief that has one: the mean of its repetitions."""
    values: dict[str, list[float]] = {}
    for score in scores:
        value = kind.of(score)
        if value is not None:
            values.setdefault(score.brief, []).append(value)
    return {brief: mean(each) for brief, each in values.items()}


class _Parts(NamedTuple):
    above: float
    below: float


def _quotients(scores: Sequence[Score], kind: Kind) -> dict[str, _Parts]:
    """What is divided and by what, summed by brief. Without one price nothing of it is known."""
    assert kind.per is not None, "only quotients come here"
    parts: dict[str, _Parts] = {}
    for score in scores:
        above, below = kind.of(score), kind.per(score)
        if above is None:
            return {}
        before = parts.get(score.brief, _Parts(0, 0))
        parts[score.brief] = _Parts(before.above + above, before.below + (below or 0))
    return parts


def _quotient(parts: Sequence[_Parts]) -> float:
    below = sum(each.below for each in parts)
    return sum(each.above for each in parts) / below if below else math.inf


def _of_quotients(
    ours: Sequence[Score], theirs: Sequence[Score], kind: Kind, seed: int, confidence: float
) -> Difference:
    left, right = _quotients(ours, kind), _quotients(theirs, kind)
    drawn = [(left[brief], right[brief]) for brief in sorted(left.keys() & right.keys())]

    def difference(pairs: Sequence[tuple[_Parts, _Parts]]) -> float:
        more, less = _quotient([pair[0] for pair in pairs]), _quotient([pair[1] for pair in pairs])
        return 0.0 if more == less else more - less  # two that are without end are no different

    return _difference(kind, ours, theirs, {}, len(drawn), interval(drawn, difference, seed, confidence), None)


def _unbounded(found: Paired, seed: int, confidence: float) -> Interval | None:
    return interval(list(found.differences.values()), mean, seed, confidence)


def _difference(
    kind: Kind,
    ours: Sequence[Score],
    theirs: Sequence[Score],
    by_brief: Mapping[str, float],
    briefs: int,
    found: Interval | None,
    smallest: float | None,
) -> Difference:
    return Difference(
        measure=kind.name,
        arm=ours[0].arm,
        against=theirs[0].arm,
        briefs=briefs,
        by_brief={brief: _round(value) for brief, value in by_brief.items()},
        value=_finite(found.value) if found else None,
        low=_finite(found.low) if found else None,
        high=_finite(found.high) if found else None,
        smallest=None if smallest is None else _round(smallest),
    )


def _measure(kind: Kind, briefs: int, found: Interval | None) -> Measure:
    if found is None:
        return Measure(name=kind.name, briefs=0, value=None, low=None, high=None)
    return Measure(
        name=kind.name,
        briefs=briefs,
        value=_finite(found.value),
        low=_finite(found.low),
        high=_finite(found.high),
    )


def _finite(value: float) -> float | None:
    return _round(value) if math.isfinite(value) else None


def _round(value: float) -> float:
    """To what can be told apart anywhere, so that a report is the same on every machine."""
    return float(f"{value:.6g}")
