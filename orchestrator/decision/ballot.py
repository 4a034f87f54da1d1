"""Votes on Door's synthesis: who votes, what a vote says, and what all of them come to.

Everything is read off the ledger. A vote counts when it rests on something that exists: a turn, a constraint, lines of
the evidence. There is agreement when every vote that counts approves, and Wind and Wall have one each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field

from orchestrator.decision.constraints import Constraint, constraints_of
from orchestrator.decision.grounds import Grounds, plain_name
from orchestrator.decision.seating import missing
from orchestrator.hall import structure
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Refined, Turn, Vote
from orchestrator.hall.terms import Choice, Role, SettledBy
from orchestrator.plan import Plan, PlannedSeat
from orchestrator.structured import Answer, Words

VOTERS = (Role.WIND, Role.WALL)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _named(names: tuple[str, ...]) -> tuple[str, ...]:
    plain = (plain_name("".join(filter(str.isprintable, name)))[:100].strip() for name in names)
    return tuple(filter(None, plain))


OneLine = Annotated[Words, AfterValidator(_one_line)]
Names = Annotated[tuple[str, ...], AfterValidator(_named)]


class Settlement(Answer):
    """What would end an objection."""

    kind: Literal["fact", "measurement", "change"]
    what: OneLine = Field(description="the fact to find out, what to measure with which result, or what to change")


class VoteAnswer(Answer):
    """What a voter answers."""

    choice: Literal["approve", "object"]
    reason: Words = Field(description="why, in your own words; of an objection the objection itself")
    rests_on: Names = Field(
        description="what the reason rests on, by name: turns (T3), constraints (T3.C1), lines of evidence (E1:12-18)"
    )
    would_settle_it: Settlement | None = Field(description="what would end the objection; null when you approve")


def problems_of(answer: VoteAnswer, grounds: Grounds) -> tuple[str, ...]:
    """What a vote lacks so that it counts, a sentence each to its voter."""
    found = []
    if answer.choice == "object" and answer.would_settle_it is None:
        found.append("would_settle_it: an objection says what would end it.")
    if not grounds.existing(answer.rests_on):
        found.append(
            "rests_on: nothing of it exists in this debate; name a turn (T1), a constraint (T2.C1) or lines of the "
            "evidence (E1:12-18) that your reason rests on."
        )
    return tuple(found)


def vote_text(answer: VoteAnswer) -> str:
    """A vote as words: the reason, and of an objection in the last line what would end it."""
    ends = answer.would_settle_it if answer.choice == "object" else None
    return answer.reason if ends is None else f"{answer.reason}\n\n{_prefix(ends.kind)}{ends.what}"


def _prefix(kind: str) -> str:
    return f"What would end it, a {kind}: "


@dataclass(frozen=True, slots=True)
class CastVote:
    """A vote as the ledger holds it.

    Args:
        slot: its name, V1.Wall.2: the second Wall's vote on the first synthesis that was voted on.
        on: the entry of the synthesis.
        name: of an objection, O1, O2, … over the debate.
        reason: in the voter's own words.
        grounds: what of `rests_on` exists; a vote that rests on nothing does not count.
        settled_by, settlement: what would end an objection.
        answered: the numbers of the refinements that answer it.
    """

    seq: int
    slot: str
    on: int
    role: Role
    agent: str
    lens: str | None
    choice: Choice
    name: str | None
    reason: str
    rests_on: tuple[str, ...]
    grounds: tuple[str, ...]
    settled_by: SettledBy | None
    settlement: str | None
    answered: tuple[int, ...]

    @property
    def counts(self) -> bool:
        return bool(self.grounds)

    @property
    def voter(self) -> tuple[Role, str, str | None]:
        return self.role, self.agent, self.lens


def votes_of(debate: Debate, grounds: Grounds) -> tuple[CastVote, ...]:
    """Every vote of a debate, in order."""
    return tuple(_votes(debate, grounds))


def _votes(debate: Debate, grounds: Grounds) -> Iterator[CastVote]:
    answered: dict[int, list[int]] = {}
    for line in debate.of(Refined):
        body = line.entry.body
        assert isinstance(body, Refined), "only refinements were asked for"
        for seq in body.answers:
            answered.setdefault(seq, []).append(body.number)
    objections = 0
    for line in debate.of(Vote):
        body = line.entry.body
        assert isinstance(body, Vote), "only votes were asked for"
        objections += body.choice is Choice.OBJECT
        name = f"O{objections}" if body.choice is Choice.OBJECT else None
        yield _vote(line, body, name, grounds, tuple(answered.get(line.entry.seq, ())))


def _vote(line: Line, body: Vote, name: str | None, grounds: Grounds, answered: tuple[int, ...]) -> CastVote:
    reason, settlement = line.words, None
    if body.settled_by is not None and line.text is not None:
        reason, _, last = line.text.rpartition("\n")
        settlement = last.removeprefix(_prefix(body.settled_by))
    return CastVote(
        seq=line.entry.seq,
        slot=body.seat.slot if body.seat else "",
        on=body.on,
        role=body.role,
        agent=body.seat.agent if body.seat else "unnamed",
        lens=body.seat.lens if body.seat else None,
        choice=body.choice,
        name=name,
        reason=reason.strip(),
        rests_on=body.rests_on,
        grounds=grounds.existing(body.rests_on),
        settled_by=body.settled_by,
        settlement=settlement,
        answered=answered,
    )


def voters(plan: Plan, number: int) -> tuple[PlannedSeat, ...]:
    """The seats of a ballot, in their order."""
    named = ((seat, place) for role in VOTERS for place, seat in enumerate(_of_role(plan.voters, role), 1))
    return tuple(seat.model_copy(update={"slot": f"V{number}.{seat.role}.{place}"}) for seat, place in named)


def _of_role(seats: Iterable[PlannedSeat], role: Role) -> Iterator[PlannedSeat]:
    return (seat for seat in seats if seat.role is role)


@dataclass(frozen=True, slots=True)
class Case:
    """A debate whose rounds are over: what is voted on, and what was voted so far.

    Args:
        on: the entry of the newest synthesis that is a turn or a refinement; None before Door has spoken.
        synthesis: its words; "" where they were redacted.
        votes: all of the debate.
    """

    on: int | None
    synthesis: str
    constraints: tuple[Constraint, ...]
    votes: tuple[CastVote, ...]
    grounds: Grounds

    @classmethod
    def of(cls, debate: Debate, plan: Plan | None) -> Self:
        evidence, since = (plan.evidence, plan.first_position) if plan else ((), 1)
        grounds = Grounds.of(debate, evidence, since)
        line = next(filter(_is_synthesis, reversed(debate.lines)), None)
        on, words = (line.entry.seq, line.text or "") if line else (None, "")
        return cls(on, words, constraints_of(debate, since=since), votes_of(debate, grounds), grounds)

    @property
    def ballot(self) -> tuple[CastVote, ...]:
        """The votes on the newest synthesis."""
        return tuple(vote for vote in self.votes if vote.on == self.on)

    @property
    def number(self) -> int:
        """Of the ballot on the newest synthesis, from 1."""
        return 1 + len({vote.on for vote in self.votes} - {self.on})


def silent(plan: Plan, debate: Debate, case: Case) -> tuple[PlannedSeat, ...]:
    """The seats that have still to vote on the newest synthesis."""
    done = {vote.slot for vote in case.ballot} | missing(debate)
    return tuple(seat for seat in voters(plan, case.number) if seat.slot not in done)


def _is_synthesis(line: Line) -> bool:
    body = line.entry.body
    return isinstance(body, Refined) or (isinstance(body, Turn) and body.role is Role.DOOR)


def agree(votes: Iterable[CastVote]) -> bool:
    """Whether votes on one synthesis come to an agreement."""
    counted = [vote for vote in votes if vote.counts]
    approving = {vote.role for vote in counted if vote.choice is Choice.APPROVE}
    return approving == set(VOTERS) and not objections_in(counted)


def objections_in(votes: Iterable[CastVote]) -> tuple[CastVote, ...]:
    return tuple(vote for vote in votes if vote.choice is Choice.OBJECT)


def standing_objections(votes: Sequence[CastVote]) -> tuple[CastVote, ...]:
    """The objections whose voters have approved nothing since, in a vote that counts."""
    last_approval = {vote.voter: vote.seq for vote in votes if vote.counts and vote.choice is Choice.APPROVE}
    return tuple(vote for vote in objections_in(votes) if last_approval.get(vote.voter, -1) < vote.seq)


def best_voted_on(votes: Iterable[CastVote]) -> int:
    """The entry of the synthesis with the fewest objections that count; of equal ones the newest."""
    against: dict[int, int] = {}
    for vote in votes:
        against[vote.on] = against.get(vote.on, 0) + (vote.counts and vote.choice is Choice.OBJECT)
    return min(against, key=lambda seq: (against[seq], -seq))


def names_of(votes: Iterable[CastVote]) -> tuple[str, ...]:
    return tuple(vote.name for vote in votes if vote.name is not None)


_OBJECTION = r"O\d{1,4}"


def answers_of(text: str) -> Iterator[tuple[str, str]]:
    """What a refinement answers, objection by objection: a name that a line begins with, and the words behind it."""
    return structure.named(text, _OBJECTION)


def answered_in(text: str, objections: Iterable[CastVote]) -> tuple[CastVote, ...]:
    """The objections that a refinement answers."""
    answered = {name for name, _ in answers_of(text)}
    return tuple(vote for vote in objections if vote.name in answered)
