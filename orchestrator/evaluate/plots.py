"""The geometry of the page's plots: a dot with its interval for each arm, and on how many briefs arms differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.evaluate.figures import (
    KIND,
    difference_range,
    difference_value,
    figure,
    measure_range,
    measure_value,
)
from orchestrator.evaluate.measuring import Difference, Measure, Unit
from orchestrator.evaluate.report import Report

WIDTH, LEFT, RIGHT, ROW, TOP = 860, 190, 560, 34, 30  # of a plot: its scale lies between left and right
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A row of a plot; without a dot it only says what there is to say. `end` is missing where there is none."""

    label: str
    y: float
    told: str
    dot: float | None
    low: float
    high: float
    endless: bool


@dataclass(frozen=True, slots=True)
class Plot:
    """
    Args:
        name: of the measure; `title` says it to people, `words` the whole plot to those who do not see it.
        zero: where no difference lies; None where that is no matter.
    """

    name: str
    title: str
    words: str
    ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    zero: float | None

    @property
    def height(self) -> int:
        return TOP + ROW * len(self.marks) + 6

    @property
    def bottom(self) -> int:
        return TOP + ROW * len(self.marks)


@dataclass(frozen=True, slots=True)
class Strip:
    """On how many briefs an arm decided soundly more often than another, as often, and less often."""

    arm: str
    better: int
    same: int
    worse: int

    @property
    def parts(self) -> tuple[tuple[str, int, float, float], ...]:
        """Each part that is there: its name, its number, where it begins, how wide it is."""
        scale = (RIGHT - LEFT) / max(self.better + self.same + self.worse, 1)
        found, at = [], float(LEFT)
        for name, number in (("better", self.better), ("same", self.same), ("worse", self.worse)):
            if number:
                found.append((name, number, round(at, 1), round(number * scale, 1)))
            at += number * scale
        return tuple(found)


@dataclass(frozen=True, slots=True)
class _Drawn:
    label: str
    value: float | None
    low: float | None
    high: float | None
    told: str


def plots_of(report: Report) -> tuple[Plot, ...]:
    """A plot of each measure, all arms in it."""
    return tuple(_measure_plot(report, number) for number in range(len(report.arms[0].measures)))


def differences_of(report: Report, measure: str) -> Plot | None:
    """A plot of what the arms differ by in a measure; None where nothing is compared."""
    found = [each for each in report.differences if each.measure == measure]
    if not found:
        return None
    kind = KIND[measure]
    title = f"{kind.title}: what each has more than {report.against}"
    return _plot(measure, title, kind.unit, [_drawn_difference(each) for each in found], around_zero=True)


def strips_of(report: Report, measure: str) -> tuple[Strip, ...]:
    """On how many briefs each arm is ahead of the one it is compared with, and behind it."""
    found = [each for each in report.differences if each.measure == measure]
    return tuple(
        Strip(
            arm=each.arm,
            better=sum(value > 0 for value in each.by_brief.values()),
            same=sum(value == 0 for value in each.by_brief.values()),
            worse=sum(value < 0 for value in each.by_brief.values()),
        )
        for each in found
    )


def _measure_plot(report: Report, number: int) -> Plot:
    kind = KIND[report.arms[0].measures[number].name]
    better = "more" if kind.more_is_better else "less"
    drawn = [_drawn_measure(arm.name, arm.measures[number]) for arm in report.arms]
    return _plot(kind.name, f"{kind.title} ({better} is better)", kind.unit, drawn, around_zero=False)


def _drawn_measure(arm: str, measure: Measure) -> _Drawn:
    told = f"{measure_value(measure)}, {measure_range(measure)}".rstrip(", ")
    return _Drawn(arm, measure.value, measure.low, measure.high, told)


def _drawn_difference(found: Difference) -> _Drawn:
    told = f"{difference_value(found)}, {difference_range(found)}".rstrip(", ")
    return _Drawn(found.arm, found.value, found.low, found.high, told)


def _plot(name: str, title: str, unit: Unit, drawn: Sequence[_Drawn], *, around_zero: bool) -> Plot:
    first, last = _scale(unit, drawn, around_zero)

    def at(value: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (min(max(value, first), last) - first) / (last - first), 1)

    marks = tuple(
        Mark(
            label=each.label,
            y=TOP + ROW * number + ROW / 2,
            told=each.told,
            dot=None if each.value is None else at(each.value),
            low=at(first if each.low is None else each.low),
            high=at(last if each.high is None else each.high),
            endless=each.value is not None and each.high is None,
        )
        for number, each in enumerate(drawn)
    )
    steps = [first + (last - first) * step / (_TICKS - 1) for step in range(_TICKS)]
    ticks = tuple(Tick(at(value), _tick(unit, value, around_zero)) for value in steps)
    words = "; ".join(f"{each.label}: {each.told}" for each in drawn)
    return Plot(name, title, words, ticks, marks, at(0) if around_zero else None)


def _scale(unit: Unit, drawn: Sequence[_Drawn], around_zero: bool) -> tuple[float, float]:
    """From where to where a plot reaches: shares from 0 to 1, differences as far on either side of zero."""
    if unit == "share":
        return (-1.0, 1.0) if around_zero else (0.0, 1.0)
    ends = [abs(end) for each in drawn for end in (each.low, each.value, each.high) if end is not None]
    most = _rounded_up(max(ends, default=1.0))
    return (-most if around_zero else 0.0), most


def _rounded_up(value: float) -> float:
    """To one or two and a half or five of the power of ten that it needs, or ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2.5, 5, 10) if step * power >= value * (1 - 1e-9))


def _tick(unit: Unit, value: float, around_zero: bool) -> str:
    sign = "−" if value < 0 else "+" if around_zero and value > 0 else ""
    if unit == "share" and around_zero:
        return f"{sign}{abs(round(100 * value))}"
    return f"{sign}{figure(unit, abs(value))}"
