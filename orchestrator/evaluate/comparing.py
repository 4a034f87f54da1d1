"""Two evaluations, one after the other: is the second as good as the first? A gate for recipes, agents and models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from orchestrator.errors import UsageError
from orchestrator.evaluate.brief import Brief
from orchestrator.evaluate.concluding import points
from orchestrator.evaluate.measuring import ACCEPTANCE, RECALL, SOUNDNESS, Difference, Kind, differing, pairs_of
from orchestrator.evaluate.results import Results
from orchestrator.evaluate.scores import Score, scored
from orchestrator.strict_yaml import Shape
from orchestrator.wording import counted

SHARES = {kind.name: kind for kind in (SOUNDNESS, RECALL, ACCEPTANCE)}
MARGIN = 0.15  # what twenty briefs that are all alike can exclude


class Finding(IntEnum):
    """How the second is beside the first; the value is the exit code."""

    BETTER_OR_EQUAL = 0
    WORSE = 1
    CANNOT_TELL = 2


class Compared(Shape):
    """
    Args:
        finding: `better_or_equal`, `worse` or `cannot_tell`, by the measure that was asked for.
        why: the same in a sentence or two.
        least: how much more of the measure the second has at least (less where less is better: its negative).
        differences: what the second has more than the first, of each share that is measured.
    """

    finding: str
    why: str
    exit_code: int
    measure: str
    margin: float
    least: float | None
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """One arm of an evaluation, as a side of a comparison.

    Args:
        name: how it is called in sentences.
        scores: of that arm.
        answers: what tells whether two sides say the very same: each result's option and words.
    """

    name: str
    scores: tuple[Score, ...]
    answers: Mapping[tuple[str, int], str]


def side(name: str, results: Results, briefs: Mapping[str, Brief], arm: str | None) -> Side:
    """Takes one arm out of an evaluation.

    Args:
        name: of the evaluation, as it was named.
        arm: None where there is but one.

    Raises:
        UsageError: there is no such arm, or there are several and none is named.
    """
    if arm is None and len(results.arms) > 1:
        raise UsageError(f"{name} has several arms: {', '.join(results.arms)}.", "Name one with --arm.")
    chosen = arm or results.arms[0]
    if chosen not in results.arms:
        raise UsageError(f"{name} has no arm {chosen!r:.80}.", f"It has {', '.join(results.arms)}.")
    own = results.model_copy(update={"results": results.of(chosen)})
    answers = {(each.brief, each.repeat): each.answer.model_dump_json() if each.answer else "" for each in own.results}
    return Side(f"{chosen} of {name}", scored(own, briefs), answers)


def compare(first: Side, second: Side, measure: Kind = SOUNDNESS, margin: float = MARGIN, seed: int = 0) -> Compared:
    """Compares the second with the first.

    It is worse where the briefs show it; better where they show that; equal where they exclude that it is worse by more
    than the margin, or where both gave the very same answers. Else nobody can tell.

    Args:
        measure: by which it is found.
        margin: how much worse still counts as equal.
        seed: of the resampling.
    """
    if not first.scores or not second.scores:
        return _compared(Finding.CANNOT_TELL, "One of them holds no result yet.", measure, margin, None, ())
    kinds = [measure, *(kind for kind in SHARES.values() if kind != measure)]
    differences = tuple(differing(second.scores, first.scores, kind, seed) for kind in kinds)
    ours, theirs = (second, first) if measure.more_is_better else (first, second)
    paired = pairs_of(ours.scores, theirs.scores, measure, seed)
    if paired.interval is None or paired.least is None:
        return _compared(Finding.CANNOT_TELL, "They share no brief.", measure, margin, None, differences)
    if first.answers == second.answers:
        finding, how = Finding.BETTER_OR_EQUAL, "gave the very same answers as"
    elif paired.is_worse:
        finding, how = Finding.WORSE, "is worse than"
    elif paired.is_better:
        finding, how = Finding.BETTER_OR_EQUAL, "is better than"
    elif paired.least >= -margin:
        finding, how = Finding.BETTER_OR_EQUAL, f"is, within {round(100 * margin)} points, as good as"
    else:
        finding, how = Finding.CANNOT_TELL, "may be better or worse than"
    shown = differences[0]
    why = (
        f"{second.name} {how} {first.name}: {measure.title.lower()} {points(shown.value or 0)} on "
        f"{counted(shown.briefs, 'brief')}, {_at_worst(paired.least)} with 95 % certainty."
    )
    return _compared(finding, why, measure, margin, paired.least, differences)


def _at_worst(least: float) -> str:
    return f"at worst {'better' if least >= 0 else 'worse'} by {points(abs(least)).removeprefix('+')}"


def _compared(
    finding: Finding,
    why: str,
    measure: Kind,
    margin: float,
    least: float | None,
    differences: Sequence[Difference],
) -> Compared:
    return Compared(
        finding=finding.name.lower(),
        why=why,
        exit_code=finding,
        measure=measure.name,
        margin=margin,
        least=None if least is None else round(least, 6),
        differences=tuple(differences),
    )
