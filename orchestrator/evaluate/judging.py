"""How far a model that was named as judge agrees with the scores by rule.

It is asked the same closed questions: which of the planted constraints an answer takes into account, and which false
claims it believes. Its opinion is shown beside the scores and changes none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from orchestrator import structured
from orchestrator.evaluate.cassette import Cell
from orchestrator.evaluate.scores import Score
from orchestrator.strict_yaml import Shape
from orchestrator.usage import Usage


class Opinion(structured.Answer):
    """What a judge says of one answer."""

    answered: Annotated[tuple[str, ...], Field(description="ids of the constraints that the answer takes into account")]
    believed: Annotated[tuple[str, ...], Field(description="ids of the false claims that the answer relies on as true")]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge said.

    Args:
        route: of the judge.
        opinions: of each answer that it could be asked about.
        unheard: how many there are about which it gave none.
        usage: what that took.
    """

    route: str
    opinions: Mapping[Cell, Opinion]
    unheard: int
    usage: Usage


class Differing(Shape):
    """Something that only one of them says."""

    brief: str
    arm: str
    repeat: int
    id: str
    said_by: Literal["judge", "rule"]


class Agreed(Shape):
    """How often judge and rule say the same of one kind of thing.

    Args:
        both, judge_only, rule_only, neither: how often who says that it is so.
        share: how often they say the same; None where nothing was asked.
        kappa: the same beyond what chance would bring (J. Cohen, Educational and Psychological Measurement 20, 1960);
            None where chance alone brings all of it.
    """

    both: int
    judge_only: int
    rule_only: int
    neither: int
    share: float | None
    kappa: float | None


class Agreement(Shape):
    """
    Args:
        judge: its route.
        judged: how many answers it judged, and `unheard`, of how many it could not be heard.
        constraints: whether a constraint is answered.
        claims: whether a false claim is believed.
        differing: each thing that only one of them says.
    """

    judge: str
    judged: int
    unheard: int
    constraints: Agreed
    claims: Agreed
    differing: tuple[Differing, ...]


class _Pair(NamedTuple):
    score: Score
    id: str
    judge: bool
    rule: bool


def agreement(judged: Judged, scores: Sequence[Score]) -> Agreement:
    """Returns how far a judge agrees with scores."""
    heard = [(score, judged.opinions[cell]) for score in scores if (cell := _cell(score)) in judged.opinions]
    constraints = [
        _Pair(score, each.id, each.id in opinion.answered, each.by is not None)
        for score, opinion in heard
        for each in score.constraints
    ]
    claims = [
        _Pair(score, each.id, each.id in opinion.believed, each.reading == "accepted")
        for score, opinion in heard
        for each in score.claims
    ]
    return Agreement(
        judge=judged.route,
        judged=len(heard),
        unheard=judged.unheard,
        constraints=_agreed(constraints),
        claims=_agreed(claims),
        differing=tuple(_differing([*constraints, *claims])),
    )


def _cell(score: Score) -> Cell:
    return Cell(score.brief, score.arm, score.repeat)


def _agreed(pairs: Sequence[_Pair]) -> Agreed:
    both = sum(pair.judge and pair.rule for pair in pairs)
    judge_only = sum(pair.judge and not pair.rule for pair in pairs)
    rule_only = sum(pair.rule and not pair.judge for pair in pairs)
    neither = len(pairs) - both - judge_only - rule_only
    return Agreed(
        both=both,
        judge_only=judge_only,
        rule_only=rule_only,
        neither=neither,
        share=round((both + neither) / len(pairs), 4) if pairs else None,
        kappa=_kappa(both, judge_only, rule_only, neither),
    )


def _kappa(both: int, judge_only: int, rule_only: int, neither: int) -> float | None:
    number = both + judge_only + rule_only + neither
    if not number:
        return None
    judge, rule = (both + judge_only) / number, (both + rule_only) / number
    by_chance = judge * rule + (1 - judge) * (1 - rule)
    return None if by_chance == 1 else round(((both + neither) / number - by_chance) / (1 - by_chance), 4)


def _differing(pairs: Sequence[_Pair]) -> Iterator[Differing]:
    for pair in pairs:
        if pair.judge != pair.rule:
            yield Differing(
                brief=pair.score.brief,
                arm=pair.score.arm,
                repeat=pair.score.repeat,
                id=pair.id,
                said_by="judge" if pair.judge else "rule",
            )
