"""What a debate decided: what became of each constraint, who objects, and what the outcome hangs on.

Computed from the ledger and from the part of Door's account that holds against it; no model is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from orchestrator.decision.account import Account, Ledger, answered_in, problems_of
from orchestrator.decision.ballot import Case, CastVote, agree, standing_objections
from orchestrator.decision.constraints import Constraint, Outcome, statements
from orchestrator.decision.reviewed import reviewed_in
from orchestrator.decision.seating import Part
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Closed, Refined
from orchestrator.hall.terms import About, Role, SettledBy
from orchestrator.plan import Plan
from orchestrator.structured import Unreadable, read


class AnswerGiven(Part):
    """What was said to a constraint in a line of its own, and where: `T4`, or `refinement 1`."""

    where: str
    role: Role
    word: str
    sentence: str


class ConstraintAnswered(Part):
    """A constraint as a Wall stated it, and what became of it; `id` is the turn's, T3.C1.

    `sentence` is the one of the synthesis that answers it; without one its outcome is open.
    """

    id: str
    turn: int
    agent: str
    statement: str
    nature: str | None
    blocks: bool
    lifted: bool
    outcome: Outcome
    sentence: str | None
    answers: tuple[AnswerGiven, ...]


class VoteCast(Part):
    """A vote; `name` is an objection's, O1. One that is not grounded does not count."""

    slot: str
    ballot: int
    on: str
    role: Role
    agent: str
    lens: str | None
    choice: str
    name: str | None
    reason: str
    rests_on: tuple[str, ...]
    grounded: bool
    settled_by: SettledBy | None
    settlement: str | None
    answered_in: tuple[str, ...]


class Dissent(Part):
    """An objection that stands, in its seat's own words, and what would end it: a vote's (O1), or a constraint that has
    no answer (T3.C1)."""

    id: str
    role: Role
    agent: str
    lens: str | None
    turn: int | None
    objection: str
    rests_on: tuple[str, ...]
    grounded: bool
    settled_by: SettledBy | None
    settlement: str | None


class LoadBearing(Part):
    """A vote or a constraint without which the outcome would be another, and how."""

    id: str
    kind: Literal["vote", "constraint"]
    without_it: str


@dataclass(frozen=True, slots=True)
class Decided:
    """A debate with what its votes and its account come to.

    Args:
        account: Door's, where it gave one that can be read.
        problems: what in it does not hold.
    """

    debate: Debate
    case: Case
    ledger: Ledger
    account: Account | None
    problems: tuple[str, ...]

    @classmethod
    def of(cls, debate: Debate, plan: Plan | None) -> Self:
        case = Case.of(debate, plan)
        closing = debate.synthesis
        synthesis = (closing.text or "") if closing else case.synthesis
        ledger = Ledger(synthesis, case.constraints, case.grounds, reviewed_in(case.grounds.evidence, debate))
        account = _account_in(debate)
        return cls(debate, case, ledger, account, problems_of(account, ledger) if account else ())

    def constraints(self) -> Iterator[ConstraintAnswered]:
        for constraint in self.case.constraints:
            outcome, sentence = self._outcome(constraint)
            yield ConstraintAnswered(
                id=constraint.id,
                turn=constraint.turn,
                agent=constraint.agent,
                statement=constraint.statement,
                nature=constraint.nature,
                blocks=constraint.blocks,
                lifted=constraint.blocks and not constraint.is_open_block,
                outcome=outcome,
                sentence=sentence,
                answers=tuple(
                    AnswerGiven(where=answer.where, role=answer.role, word=answer.word, sentence=answer.sentence)
                    for answer in constraint.answers
                ),
            )

    def _outcome(self, constraint: Constraint) -> tuple[Outcome, str | None]:
        """An outcome that nothing in the synthesis bears out, or that leaves standing what stands, is none."""
        if constraint.why_open is not None:
            return Outcome.OPEN, None
        if self.account is not None:
            told = answered_in(self.account, constraint, self.ledger)
            return (Outcome(told.outcome), told.sentence) if told else (Outcome.OPEN, None)
        sentence = constraint.answers[-1].sentence if constraint.answers else None
        return constraint.outcome, sentence or None

    def votes(self) -> Iterator[VoteCast]:
        named = {statement.seq: statement.where for statement in statements(self.debate)}
        ballots = {on: number for number, on in enumerate(dict.fromkeys(vote.on for vote in self.case.votes), 1)}
        for vote in self.case.votes:
            yield VoteCast(
                slot=vote.slot,
                ballot=ballots[vote.on],
                on=named.get(vote.on, f"entry {vote.on}"),
                role=vote.role,
                agent=vote.agent,
                lens=vote.lens,
                choice=vote.choice,
                name=vote.name,
                reason=vote.reason,
                rests_on=vote.rests_on,
                grounded=vote.counts,
                settled_by=vote.settled_by,
                settlement=vote.settlement,
                answered_in=tuple(f"refinement {number}" for number in vote.answered),
            )

    def dissent(self, answered: Iterable[ConstraintAnswered]) -> Iterator[Dissent]:
        """The objections whose voters approved nothing since, and the constraints without an outcome."""
        for vote in standing_objections(self.case.votes):
            yield Dissent(
                id=vote.name or vote.slot,
                role=vote.role,
                agent=vote.agent,
                lens=vote.lens,
                turn=None,
                objection=vote.reason,
                rests_on=vote.rests_on,
                grounded=vote.counts,
                settled_by=vote.settled_by,
                settlement=vote.settlement,
            )
        unanswered = {each.id for each in answered if each.outcome is Outcome.OPEN}
        yield from (_unanswered(each) for each in self.case.constraints if each.id in unanswered)

    def unanswered(self) -> Iterator[str]:
        """The objections that stand and that a refinement passed over, a sentence each."""
        refined = max((line.entry.seq for line in self.debate.of(Refined)), default=-1)
        for vote in standing_objections(self.case.votes):
            if vote.seq < refined and not vote.answered:
                yield f"{vote.name} has no answer in a line of its own, though Door refined its synthesis after it."

    def load_bearing(self) -> Iterator[LoadBearing]:
        """Votes and constraints: each is taken away in turn, and it is counted again."""
        ballot = _last_ballot(self.case.votes)
        agreed = agree(ballot)
        instead = "Without it there is no agreement." if agreed else "Without it there is agreement."
        for vote in ballot:
            if vote.counts and agree(other for other in ballot if other is not vote) != agreed:
                yield LoadBearing(id=vote.name or vote.slot, kind="vote", without_it=instead)
        for constraint in self.case.constraints:
            without = [instead] if agree(_without(ballot, constraint.id)) != agreed else []
            without += [f"Without it nothing rules out: {title}." for title in self._ruled_out_by(constraint.id)]
            if without:
                yield LoadBearing(id=constraint.id, kind="constraint", without_it=" ".join(without))

    def _ruled_out_by(self, name: str) -> Iterator[str]:
        """The options that were not taken, and for no other reason that exists."""
        for option in self.account.options if self.account else ():
            if not option.taken and self.case.grounds.existing(option.because) == (name,):
                yield option.title.rstrip(".")

    def unlifted(self) -> Iterator[str]:
        """The constraints that nobody can claim to be answered, a sentence each."""
        return (why for constraint in self.case.constraints if (why := constraint.why_open) is not None)


def _last_ballot(votes: Sequence[CastVote]) -> tuple[CastVote, ...]:
    return tuple(vote for vote in votes if vote.on == votes[-1].on)


def _without(ballot: Iterable[CastVote], name: str) -> tuple[CastVote, ...]:
    """The votes as they would count if a constraint did not exist."""
    return tuple(replace(vote, grounds=tuple(ground for ground in vote.grounds if ground != name)) for vote in ballot)


def _unanswered(constraint: Constraint) -> Dissent:
    settlement = next(filter(None, map(constraint.part, ("Remediation", "Instead", "Build"))), None)
    return Dissent(
        id=constraint.id,
        role=Role.WALL,
        agent=constraint.agent,
        lens=None,
        turn=constraint.turn,
        objection=constraint.statement,
        rests_on=(f"T{constraint.turn}",),
        grounded=True,
        settled_by=SettledBy.CHANGE if settlement else None,
        settlement=settlement,
    )


def _account_in(debate: Debate) -> Account | None:
    """The account that the debate was closed with; of an open one its newest."""
    for line in reversed(debate.notes(About.ACCOUNT)):
        if line.text is not None and _is_of(debate.synthesis, line):
            try:
                return read(line.text, Account)
            except Unreadable:  # written by another version
                return None
    return None


def _is_of(closing: Line | None, line: Line) -> bool:
    body = closing.entry.body if closing else None
    return not isinstance(body, Closed) or body.record == line.note.digest
