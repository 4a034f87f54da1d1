"""What an evaluation showed: each arm with its measures, their differences, and what can be concluded from them.

One report, told three ways: as JSON (its shape), as Markdown (`report_text`) and as a page (`report_page`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal

from orchestrator.errors import UsageError
from orchestrator.evaluate.brief import Brief
from orchestrator.evaluate.concluding import concluded
from orchestrator.evaluate.judging import Agreement, Judged, agreement
from orchestrator.evaluate.measuring import KINDS, Difference, Measure, differing, measured
from orchestrator.evaluate.panel import MODELS as SIMULATED
from orchestrator.evaluate.results import Results
from orchestrator.evaluate.scores import Score, scored
from orchestrator.evaluate.statistics import CONFIDENCE
from orchestrator.strict_yaml import Shape

NOTHING_REAL = (
    "SIMULATED: no language model was asked. A panel whose truth is known answered, to check the instrument; the "
    "figures say nothing about real models."
)

_MANY_VOICES = "majority"  # what the others are compared with, where it is there: it is the one that is hard to beat


class Beside(Shape):
    """What else is known of an arm, as counts.

    Args:
        answered, aside, failed: its results.
        conditions, conditional: of the choices that are sound with conditions (the second), how many state them all.
        noticed, conflicts: earlier decisions that an attractive option contradicts, and how many were named.
        verified, citations: citations, and how many hold.
        kept, divided: results in which somebody was of another mind, and in how many that stands beside the answer.
        tied: results that came about by the first of several options with equally many votes.
        calls, tokens, cost_usd: what it took; the cost is None as soon as one price is unknown.
        allowed_usd: what it was to take; None where nothing was to be equal.
    """

    answered: int
    aside: int
    failed: int
    conditions: int
    conditional: int
    noticed: int
    conflicts: int
    verified: int
    citations: int
    kept: int
    divided: int
    tied: int
    calls: int
    tokens: int
    cost_usd: Decimal | None
    allowed_usd: Decimal | None


class Arm(Shape):
    name: str
    measures: tuple[Measure, ...]
    beside: Beside


class Choice(Shape):
    """What an arm chose at a brief each time: option, verdict (None: a person has to say), whether it failed."""

    option: str | None
    verdict: Literal["sound", "sound_with", "violates", "aside", "failed"]

    @property
    def is_sound(self) -> bool:
        return self.verdict in ("sound", "sound_with")


class Row(Shape):
    """One brief: the choices of each arm, in the order of the arms."""

    brief: str
    title: str
    choices: tuple[tuple[Choice, ...], ...]

    @property
    def differs(self) -> bool:
        """Whether arms differ in how often they decided soundly, as far as that is known."""
        known = [[each.is_sound for each in choices if each.verdict != "aside"] for choices in self.choices]
        return len({sum(each) / len(each) for each in known if each}) > 1


class Aside(Shape):
    """An answer outside the options, for a person to place."""

    brief: str
    arm: str
    repeat: int
    statement: str


class Report(Shape):
    """
    Args:
        marks: what is to be read first.
        briefs: how many were asked; `missing`: results that are not there, since a limit came first.
        against: the arm that the others are compared with.
        confidence: of the intervals of differences: all of one measure hold together at `CONFIDENCE`.
        conclusions: what can be concluded and what cannot, a sentence or two each.
        judge: what a model that was named as judge says to the same, and how far it agrees.
    """

    version: Literal["run-debate/evaluation-report/v1"] = "run-debate/evaluation-report/v1"
    marks: tuple[str, ...]
    folder: str
    models: str
    briefs: int
    repeats: int
    missing: int
    against: str | None
    confidence: float
    conclusions: tuple[str, ...]
    arms: tuple[Arm, ...]
    differences: tuple[Difference, ...]
    rows: tuple[Row, ...]
    asides: tuple[Aside, ...]
    judge: Agreement | None = None

    @property
    def text(self) -> str:
        """The bytes of its JSON file."""
        return self.model_dump_json(indent=2) + "\n"

    def difference(self, arm: str, measure: str) -> Difference | None:
        """What an arm has more of a measure than the one it is compared with; None for that one itself."""
        return next((each for each in self.differences if (each.arm, each.measure) == (arm, measure)), None)


def report_of(
    results: Results,
    briefs: Mapping[str, Brief],
    against: str | None = None,
    judged: Judged | None = None,
    seed: int = 0,
) -> Report:
    """Reports an evaluation.

    Args:
        results: what its arms reached.
        briefs: by id.
        against: the arm that the others are compared with; None: `majority` where it is there, else the first.
        judged: what a judge says; None: none was named.
        seed: of the resampling.

    Raises:
        UsageError: there is no such arm, or nothing was answered.
    """
    scores = scored(results, briefs)
    by_arm = {arm: [score for score in scores if score.arm == arm] for arm in results.arms}
    there = {arm: each for arm, each in by_arm.items() if each}
    if not there:
        raise UsageError("There is no result in it yet.", "Run `debate-hall eval run` into it first.")
    base = _compared_with(list(there), against)
    others = [arm for arm in there if arm != base]
    confidence = 1 - (1 - CONFIDENCE) / max(len(others), 1)  # Bonferroni's
    differences = tuple(differing(there[arm], there[base], kind, seed, confidence) for kind in KINDS for arm in others)
    return Report(
        marks=(NOTHING_REAL,) if results.models == SIMULATED else (),
        folder=results.briefs,
        models=results.models,
        briefs=len(results.ids),
        repeats=results.repeats,
        missing=results.missing,
        against=base if others else None,
        confidence=confidence,
        conclusions=concluded(differences, len(results.ids), results.repeats, there, base),
        arms=tuple(_arm(arm, each, results, seed) for arm, each in there.items()),
        differences=differences,
        rows=tuple(_row(briefs[id], there) for id in results.ids),
        asides=_asides(results),
        judge=agreement(judged, scores) if judged else None,
    )


def _compared_with(arms: Sequence[str], against: str | None) -> str:
    if against is None:
        return next((arm for arm in arms if arm.partition(":")[0] == _MANY_VOICES), arms[0])
    if against not in arms:
        raise UsageError(f"There is no arm {against!r:.80} in it.", f"There are {', '.join(arms)}.")
    return against


def _arm(name: str, scores: Sequence[Score], results: Results, seed: int) -> Arm:
    return Arm(
        name=name,
        measures=tuple(measured(scores, kind, seed) for kind in KINDS),
        beside=_beside(name, scores, results),
    )


def _beside(name: str, scores: Sequence[Score], results: Results) -> Beside:
    own = [result for result in results.results if result.arm == name]
    costs = [score.spent.cost_usd for score in scores]
    allowed = [result.allowed_usd for result in own if result.allowed_usd is not None]
    conflicts = [conflict for score in scores for conflict in score.conflicts]
    return Beside(
        answered=sum(score.outcome == "answered" for score in scores),
        aside=sum(score.outcome == "aside" for score in scores),
        failed=sum(score.outcome == "failed" for score in scores),
        conditions=sum(score.conditions is True for score in scores),
        conditional=sum(score.conditions is not None for score in scores),
        noticed=sum(conflict.noticed for conflict in conflicts),
        conflicts=len(conflicts),
        verified=sum(score.verified for score in scores),
        citations=sum(score.citations for score in scores),
        kept=sum(score.dissent is True for score in scores),
        divided=sum(score.dissent is not None for score in scores),
        tied=sum(bool(result.tied) for result in own),
        calls=sum(score.spent.calls for score in scores),
        tokens=sum(score.spent.tokens for score in scores),
        cost_usd=None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0)),
        allowed_usd=sum(allowed, Decimal(0)) if len(allowed) == len(own) else None,
    )


def _row(brief: Brief, there: Mapping[str, Sequence[Score]]) -> Row:
    return Row(
        brief=brief.id,
        title=brief.title,
        choices=tuple(
            tuple(_choice(score) for score in scores if score.brief == brief.id) for scores in there.values()
        ),
    )


def _choice(score: Score) -> Choice:
    if score.outcome == "answered" and score.verdict is not None:
        return Choice(option=score.option, verdict=score.verdict)
    return Choice(option=None, verdict="failed" if score.outcome == "failed" else "aside")


def _asides(results: Results) -> tuple[Aside, ...]:
    return tuple(
        Aside(brief=each.brief, arm=each.arm, repeat=each.repeat, statement=each.answer.statement)
        for each in results.results
        if each.outcome == "aside" and each.answer is not None
    )
