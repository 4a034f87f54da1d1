"""How what was measured is written: shares in per cent, costs in dollars, with their intervals."""

from __future__ import annotations

from decimal import Decimal

from orchestrator.evaluate.concluding import points
from orchestrator.evaluate.measuring import KINDS, Difference, Measure, Unit

KIND = {kind.name: kind for kind in KINDS}
NONE_SOUND = "none was sound"
UNKNOWN = "unknown"


def figure(unit: Unit, value: float) -> str:
    """A value: `72 %`, `$0.0123`, `41.2 s`."""
    match unit:
        case "share":
            return f"{100 * value:.0f} %"
        case "usd":
            return f"${value:.4f}"
        case "seconds":
            return f"{value:.1f} s"


def measure_value(measure: Measure) -> str:
    """The value of a measure, without its interval."""
    if measure.value is not None:
        return figure(KIND[measure.name].unit, measure.value)
    return NONE_SOUND if measure.briefs else UNKNOWN


def measure_range(measure: Measure) -> str:
    """From where to where it may as well be; empty where there is no interval."""
    unit = KIND[measure.name].unit
    if measure.value is None:
        return ""
    if measure.low is None and measure.high is None:
        return "one brief, no interval"
    if measure.high is None:
        return f"{figure(unit, measure.low or 0)} or more"
    return f"{figure(unit, measure.low or 0)} to {figure(unit, measure.high)}"


def measure_shown(measure: Measure) -> str:
    """Value and interval: `72 % (51 % to 87 %)`."""
    between = measure_range(measure)
    return f"{measure_value(measure)} ({between})" if between else measure_value(measure)


def difference_value(found: Difference) -> str:
    """A difference: `+12 points`, `+$0.0010`, `−3.1 s`; a dash where there is none."""
    return "—" if found.value is None else _signed(KIND[found.measure].unit, found.value)


def difference_range(found: Difference) -> str:
    """From where to where it may as well be."""
    if found.value is None:
        return ""
    unit = KIND[found.measure].unit
    low, high = ("no end" if end is None else _signed(unit, end) for end in (found.low, found.high))
    return f"{low} to {high}"


def difference_finding(found: Difference) -> str:
    """What it shows, for people: better, worse, or nothing."""
    if found.shows == "nothing":
        return "not shown"
    return "better" if (found.shows == "more") == KIND[found.measure].more_is_better else "worse"


def dollars(cost: Decimal | None) -> str:
    """A sum of costs."""
    return UNKNOWN if cost is None else f"${cost:.4f}"


def part(some: int, every: int) -> str:
    """So many of so many: `3 of 4`; a dash where there are none."""
    return f"{some:,} of {every:,}" if every else "—"


def _signed(unit: Unit, value: float) -> str:
    if unit == "share":
        return points(value)
    sign = "−" if value < 0 else "+"
    return f"{sign}{figure(unit, abs(value))}"
