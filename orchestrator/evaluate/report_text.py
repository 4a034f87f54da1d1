"""The report of an evaluation as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from orchestrator.evaluate.figures import (
    KIND,
    difference_finding,
    difference_range,
    difference_value,
    dollars,
    figure,
    measure_shown,
    part,
)
from orchestrator.evaluate.judging import Agreed, Agreement
from orchestrator.evaluate.report import Arm, Choice, Report
from orchestrator.wording import counted, visible

SIGNS = {"sound": "✓", "sound_with": "✓", "violates": "✗", "aside": "?", "failed": "–"}
BESIDE = (
    "Answered", "Set aside", "Failed", "Tied", "Conditions stated", "Earlier decisions noticed", "Citations that hold",
    "Dissent kept", "Calls", "Tokens", "Cost", "Might take",
)  # fmt: skip


def render_markdown(report: Report) -> str:
    """Returns `report.md`."""
    return "\n".join(visible(line) for line in _lines(report)) + "\n"


def beside(arm: Arm) -> tuple[str, ...]:
    """What else is known of an arm, in the order of `BESIDE`."""
    known = arm.beside
    return (
        f"{known.answered:,}",
        f"{known.aside:,}",
        f"{known.failed:,}",
        f"{known.tied:,}",
        part(known.conditions, known.conditional),
        part(known.noticed, known.conflicts),
        part(known.verified, known.citations),
        part(known.kept, known.divided),
        f"{known.calls:,}",
        f"{known.tokens:,}",
        dollars(known.cost_usd),
        "—" if known.allowed_usd is None else dollars(known.allowed_usd),
    )


def asked(report: Report) -> str:
    """What was asked of whom, in a sentence."""
    times = f", each {counted(report.repeats, 'time')}" if report.repeats > 1 else ""
    missing = f" {counted(report.missing, 'answer is', 'answers are')} missing." if report.missing else ""
    arms, briefs = counted(len(report.arms), "arm"), counted(report.briefs, "brief")
    return f"{arms} answered {briefs} of {report.folder}{times}; models: {report.models}.{missing}"


def how_compared(report: Report) -> str:
    """How to read the differences."""
    return (
        f"Paired by brief; {100 * report.confidence:.1f} % intervals, so that all of one measure hold together at "
        "95 %. Soundness is what was asked; a finding of another measure is a hint."
    )


def shown_choices(choices: Iterable[Choice]) -> str:
    """What an arm chose at a brief: `B ✓`, and of several times each."""
    return ", ".join(f"{choice.option or ''} {SIGNS[choice.verdict]}".strip() for choice in choices) or "missing"


def agreed(found: Agreed) -> str:
    """How far a judge and the rules agree on one kind of thing."""
    if found.share is None:
        return "nothing to compare"
    kappa = "" if found.kappa is None else f", κ {found.kappa:.2f}"
    same = figure("share", found.share)
    return f"{same} the same{kappa}; only the judge {found.judge_only}, only the rules {found.rule_only}"


def _lines(report: Report) -> Iterator[str]:
    yield from ("# Evaluation", "")
    for mark in report.marks:
        yield from (f"> **{mark}**", "")
    yield from (asked(report), "", "## What can be concluded", "")
    yield from (f"- {sentence}" for sentence in report.conclusions)
    yield from ("", "## What each arm reached", "")
    kinds = [KIND[measure.name] for measure in report.arms[0].measures]
    yield from _table(
        ("Arm", *(kind.title for kind in kinds)),
        [(arm.name, *map(measure_shown, arm.measures)) for arm in report.arms],
    )
    yield from ("", "In brackets: 95 % intervals, by resampling briefs.", "")
    yield from _differences(report)
    yield from ("## Brief by brief", "")
    yield "✓ sound (under conditions, too), ✗ breaks a constraint, ? outside the options, – no answer."
    yield ""
    rows = [(_named(row.brief, row.differs), *map(shown_choices, row.choices)) for row in report.rows]
    yield from _table(("Brief", *(arm.name for arm in report.arms)), rows)
    yield from ("", "Where arms differ, the brief is in bold.", "", "## Beside that", "")
    columns = [beside(arm) for arm in report.arms]
    yield from _table(("", *(arm.name for arm in report.arms)), list(zip(BESIDE, *columns, strict=True)))
    yield from _asides(report)
    if report.judge is not None:
        yield from _judge(report.judge)


def _named(brief: str, differs: bool) -> str:
    return f"**{brief}**" if differs else brief


def _differences(report: Report) -> Iterator[str]:
    if report.against is None:
        return
    yield from (f"## Against {report.against}", "")
    rows = [
        (each.arm, KIND[each.measure].title, difference_value(each), difference_range(each), difference_finding(each))
        for each in report.differences
    ]
    yield from _table(("Arm", "Measure", "Difference", "Interval", "Finding"), rows)
    yield from ("", how_compared(report), "")


def _asides(report: Report) -> Iterator[str]:
    if report.asides:
        yield from ("", "## For a person to place", "")
        for aside in report.asides:
            yield f"- {aside.brief}, {aside.arm}, {aside.repeat}: {' '.join(aside.statement.split())}"


def _judge(judge: Agreement) -> Iterator[str]:
    unheard = f", {judge.unheard} could not be judged" if judge.unheard else ""
    yield from ("", f"## The judge {judge.judge}", "")
    yield f"It judged {counted(judge.judged, 'answer')}{unheard}. No score rests on it."
    yield from (
        "",
        f"- Constraints answered: {agreed(judge.constraints)}",
        f"- False claims accepted: {agreed(judge.claims)}",
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield _row(heads)
    yield _row(["---"] * len(heads))
    yield from map(_row, rows)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
