"""What an answer reached, by rule: the verdict of its option, and what became of all that was planted.

No model judges here. What the rules cannot know is left open: an answer outside the listed options has no verdict, and
waits for a person.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from orchestrator.evaluate.answer import Answer
from orchestrator.evaluate.brief import Brief, Conflict, Constraint, FalseClaim, Planted, Verdict
from orchestrator.evaluate.claims import Reading, Refutation, dismissed, dismisses, reading_of
from orchestrator.evaluate.phrases import Unit, numbers_in, plain
from orchestrator.evaluate.results import Outcome, Result, Results, Spent
from orchestrator.evidence import Citation, Evidence, check, citations, cited
from orchestrator.evidence.citing import piece_of
from orchestrator.strict_yaml import Shape

_NUMBERED = re.compile(r"adr-0*(\d+)\b")  # how the name of a decision record's file mostly begins
_MOST_LINES = 12  # of a citation that points at something; one of a whole document points at nothing

By = Literal["record", "phrase"]


class Answered(Shape):
    """What became of a planted constraint.

    Args:
        by: `record`: one of the answer's constraints cites its line; `phrase`: its phrases are used; None: neither.
        sentence: where.
    """

    id: str
    by: By | None
    sentence: str = ""


class Believed(Shape):
    """What became of a false claim, and the sentence that shows it."""

    id: str
    reading: Reading
    sentence: str = ""


class Noticed(Shape):
    """Whether an accepted decision record was named, and whether the option chosen contradicts it."""

    id: str
    noticed: bool
    contradicted: bool


class Score(Shape):
    """One result, scored.

    Args:
        brief, arm, repeat, outcome: the result.
        option: the id of the option chosen; None where it is none of those listed, or there is no answer.
        verdict: of that option.
        constraints, claims, conflicts: what became of what was planted; nothing where there is no answer.
        conditions: of an option that is sound with conditions: whether all of them were answered; else None.
        citations, verified: how many different ones the answer has, and of how many lines and quoted words are there.
        voices: how many were of another mind than the answer: votes for other options, and objections that stand.
        dissent: whether what they said stands beside the answer; None where nobody was of another mind. A count of
            votes does not say it.
        spent: what it took.
    """

    brief: str
    arm: str
    repeat: Annotated[int, Field(ge=1)]
    outcome: Outcome
    option: str | None
    verdict: Verdict | None
    constraints: tuple[Answered, ...] = ()
    claims: tuple[Believed, ...] = ()
    conflicts: tuple[Noticed, ...] = ()
    conditions: bool | None = None
    citations: int = 0
    verified: int = 0
    voices: int = 0
    dissent: bool | None = None
    spent: Spent

    @property
    def sound(self) -> bool | None:
        """Whether the option chosen stands, with its conditions or without; an arm that failed chose none.

        None where a person has to say.
        """
        if self.outcome == "aside":
            return None
        return self.verdict in ("sound", "sound_with")

    @property
    def recall(self) -> float:
        """The share of the planted constraints that were answered; none of them by an arm that failed."""
        return _share([answered.by is not None for answered in self.constraints]) or 0.0

    @property
    def accepted(self) -> float | None:
        """The share of the false claims that were believed; None without an answer."""
        return _share([believed.reading == "accepted" for believed in self.claims])


class Scores(Shape):
    """All scores of an evaluation, with the sentences that they rest on."""

    version: Literal["run-debate/evaluation-scores/v1"] = "run-debate/evaluation-scores/v1"
    scores: tuple[Score, ...]

    @property
    def text(self) -> str:
        """The bytes of its file."""
        return self.model_dump_json(indent=2) + "\n"


def scored(results: Results, briefs: Mapping[str, Brief]) -> tuple[Score, ...]:
    """Scores all results, in their order.

    Args:
        results: of an evaluation.
        briefs: by id, all that were asked.
    """
    return tuple(score(result, briefs[result.brief]) for result in results.results)


def score(result: Result, brief: Brief) -> Score:
    """Scores one result of a brief."""
    answer = result.answer
    option = brief.option(answer.option) if answer and result.outcome == "answered" else None
    bare = Score(
        brief=result.brief,
        arm=result.arm,
        repeat=result.repeat,
        outcome=result.outcome,
        option=option.id if option else None,
        verdict=option.verdict if option else None,
        spent=result.spent,
    )
    if answer is None:
        return bare
    units = units_of(answer)
    constraints = tuple(_answered(each, answer, units, brief) for each in brief.constraints)
    met = {each.id for each in constraints if each.by is not None}
    found = cited(answer.text, brief.documents)
    others = _of_another_mind(result, brief)
    return bare.model_copy(
        update={
            "constraints": constraints,
            "claims": tuple(_believed(each, units, brief) for each in brief.false_claims),
            "conflicts": tuple(_noticed(each, units, bare.option, brief) for each in brief.conflicts),
            "conditions": met.issuperset(option.because) if option and option.verdict == "sound_with" else None,
            "citations": len({each.citation for each in found}),
            "verified": len({each.citation for each in found if each.problem is None}),
            "voices": others,
            "dissent": bool(result.dissent) if others else None,
        }
    )


def units_of(answer: Answer) -> tuple[Unit, ...]:
    """The parts of an answer that stand for themselves: its statement, each reason, each constraint with its answer."""
    constraints = (f"{_sentence(each.constraint)} {each.how}" for each in answer.constraints)
    return tuple(Unit(text) for text in (answer.statement, *answer.reasons, *constraints))


def _answered(constraint: Constraint, answer: Answer, units: Sequence[Unit], brief: Brief) -> Answered:
    place = Planted.at(constraint.where, brief.documents)
    own = units[len(units) - len(answer.constraints) :]
    for unit in own:
        if _cites(unit.text, place, brief.documents) and not dismisses(unit):
            return Answered(id=constraint.id, by="record", sentence=unit.text)
    for unit in units:
        for use in unit.uses(constraint.mentioned_by, constraint.statement):
            if not dismissed(unit, use):
                return Answered(id=constraint.id, by="phrase", sentence=unit.said[use.number])
    return Answered(id=constraint.id, by=None)


def _believed(claim: FalseClaim, units: Sequence[Unit], brief: Brief) -> Believed:
    place = Planted.at(claim.refuted_by, brief.documents)
    own = numbers_in(" ".join([claim.claim, *claim.accepted_by]))
    refutation = Refutation(
        numbers=numbers_in(" ".join(place.lines(brief.documents))) - own,
        is_cited_in=lambda text: _cites(text, place, brief.documents),
    )
    read = reading_of(units, claim.accepted_by, claim.claim, refutation)
    return Believed(id=claim.id, reading=read.reading, sentence=read.sentence)


def _noticed(conflict: Conflict, units: Sequence[Unit], chosen: str | None, brief: Brief) -> Noticed:
    place = Planted.at(f"{conflict.adr}:{conflict.line}", brief.documents)
    name = _name_of(conflict.adr)
    noticed = any(_cites(unit.text, place, brief.documents) or any(map(name.search, unit.sentences)) for unit in units)
    return Noticed(id=conflict.id, noticed=noticed, contradicted=chosen == conflict.contradicted_by)


def _name_of(path: str) -> re.Pattern[str]:
    """How people call a decision record, as phrases are compared: `adr 0007`, `adr 7`, or by its file."""
    file = path.rpartition("/")[2]
    numbered = _NUMBERED.match(file)
    by_number = rf"|\badr 0*{numbered[1]}\b" if numbered else ""
    return re.compile(re.escape(plain(file)) + by_number)


def _cites(text: str, place: Planted, documents: Sequence[Evidence]) -> bool:
    """Whether a text cites lines, few enough to point at them, that hold a place."""
    return any(_points_at(citation, place, documents) for citation in citations(text, documents))


def _points_at(citation: Citation, place: Planted, documents: Sequence[Evidence]) -> bool:
    piece = piece_of(citation, documents)
    return (
        piece is not None
        and piece.id == place.document
        and check(citation, documents) is None
        and citation.first <= place.last
        and place.first <= citation.last
        and citation.last - citation.first < _MOST_LINES
    )


def _of_another_mind(result: Result, brief: Brief) -> int:
    chosen = brief.choice(result.answer.option) if result.answer else None
    others = sum(votes.count for votes in result.votes if brief.choice(votes.option) != chosen)
    return others + len(result.dissent)


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def _sentence(text: str) -> str:
    return text if text.rstrip().endswith((".", "!", "?")) else f"{text.rstrip()}."
