"""The decision record: what was decided, by whom, on what, at what cost, read off the ledger and nothing else.

Nothing in it is believed that a model said about the debate: constraints are those that stand in Wall's turns,
citations are checked against the pinned evidence, seats and costs are those of the committed turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Literal

from pydantic import Field

from orchestrator.contract import lacks, words_of_wind
from orchestrator.evidence import Evidence, cited
from orchestrator.hall.cognition import findings, read_wall
from orchestrator.hall.debate import REHEARSAL, Debate, Line
from orchestrator.hall.entries import Turn
from orchestrator.hall.results import balance
from orchestrator.hall.terms import About, Role, Status
from orchestrator.likeness import near_duplicates
from orchestrator.plan import Plan
from orchestrator.seating import (
    Attempts,
    Contribution,
    Part,
    SeatCost,
    Substitution,
    Tokens,
    attempts_of,
    contributions,
    cost_of,
    seats_of,
    substitutions_of,
    tokens_of,
)

SCHEMA: Literal["run-debate/record/v1"] = "run-debate/record/v1"


class Constraint(Part):
    """A constraint as a Wall stated it; `id` is the turn's, T3.C1."""

    id: str
    turn: int
    statement: str
    nature: str | None


class Verdict(Part):
    turn: int
    agent: str
    verdict: str | None


class Citation(Part):
    """A place that a turn cites, with the words it quotes and the sentence that rests on it; `problem` says why the
    place or the words are not there, None when they are."""

    turn: int
    citation: str
    quote: str | None
    claim: str
    problem: str | None


class EvidenceUsed(Part):
    id: str
    path: str
    sha256: str


class DecisionRecord(Part):
    """What a debate came to. `decision` is None when none was made: a rehearsal, or a debate closed by force.

    `degraded` says which seats are missing and why, `closed_early` at which limit Door closed before the plan's end;
    `uncertain` are calls whose outcome nobody knows, `changes` what a resumed run did otherwise than the pinned plan.
    """

    schema_: Literal["run-debate/record/v1"] = Field(default=SCHEMA, alias="schema", serialization_alias="schema")
    title: str
    question: str
    thread_id: str
    status: Status
    rehearsal: bool
    degraded: tuple[str, ...]
    closed_early: str | None
    decision: str | None
    verdicts: tuple[Verdict, ...]
    constraints: tuple[Constraint, ...]
    evidence: tuple[EvidenceUsed, ...]
    citations: tuple[Citation, ...]
    citations_broken: int
    balance: dict[str, int]
    starved_roles: tuple[Role, ...]
    seats: tuple[SeatCost, ...]
    substitutions: tuple[Substitution, ...]
    attempts: tuple[Attempts, ...]
    resumed: int
    uncertain: tuple[str, ...]
    changes: tuple[str, ...]
    tokens: Tokens
    cost_usd: Decimal | None
    decided_at: str
    plan_hash: str | None
    head: str
    warnings: tuple[str, ...]


def make_record(debate: Debate, plan: Plan | None) -> DecisionRecord:
    """Returns the record of a debate.

    Args:
        plan: the plan it followed; None for one that was held by hand.
    """
    evidence = plan.evidence if plan else ()
    rehearsal = REHEARSAL in debate.state.marks
    written = contributions(debate)
    checked = tuple(_citations(debate, evidence))
    broken = [f"T{found.turn} cites {found.citation}: {found.problem}" for found in checked if found.problem]
    synthesis = debate.synthesis
    return DecisionRecord(
        title=title_of(debate.opening.words),
        question=debate.opening.words,
        thread_id=debate.state.thread_id,
        status=debate.state.status,
        rehearsal=rehearsal,
        degraded=_notes(debate, About.MISSING),
        closed_early=next(iter(_notes(debate, About.CLOSED_EARLY)), None),
        decision=synthesis.words if synthesis and not rehearsal else None,
        verdicts=() if rehearsal else tuple(_verdicts(debate)),
        constraints=() if rehearsal else tuple(_constraints(debate)),
        evidence=tuple(EvidenceUsed(id=piece.id, path=piece.path, sha256=piece.sha256) for piece in evidence),
        citations=checked,
        citations_broken=len(broken),
        balance=balance(debate.state),
        starved_roles=debate.state.starved_roles,
        seats=tuple(seats_of(written)),
        substitutions=tuple(substitutions_of(written)),
        attempts=tuple(attempts_of(written)),
        resumed=len(debate.notes(About.RESUMED)),
        uncertain=_notes(debate, About.UNCERTAIN),
        changes=_notes(debate, About.CHANGED),
        tokens=tokens_of(written),
        cost_usd=cost_of(written),
        decided_at=debate.closing.entry.at if debate.closing else debate.state.updated_at,
        plan_hash=debate.opened.plan,
        head=debate.head,
        warnings=(
            *(plan.notices if plan else ()),
            *(_warnings(debate, plan) if plan else ()),
            *_out_of_balance(debate, written),
            *(() if rehearsal else _near_duplicates(debate, evidence)),
            *dict.fromkeys(broken),
        ),
    )


def record_of(debate: Debate) -> DecisionRecord:
    """Returns the record of a debate with the plan that is pinned in it, if a run opened it.

    Raises:
        ConfigurationError: this version cannot read the plan.
    """
    return make_record(debate, Plan.pinned_in(debate))


def _notes(debate: Debate, about: About) -> tuple[str, ...]:
    """Each once: a process that died while it took a run up may have noted what the next one notes again."""
    return tuple(dict.fromkeys(line.words for line in debate.notes(about)))


def _warnings(debate: Debate, plan: Plan) -> Iterator[str]:
    """What the turns of the run's seats lack, each sentence once a turn."""
    for line in debate.turns:
        turn, text = line.turn, line.text
        if turn.seat is None or text is None:
            continue
        told = f"T{turn.turn_index + 1} ({turn.role}, {turn.seat.agent})"
        if turn.seat.summarised:
            yield f"{told}: its model could not read all turns; of T1 to T{turn.seat.summarised} it read a summary."
        for found in dict.fromkeys(_lacking(debate, plan, turn, text)):
            yield f"{told}: {found}"


def _lacking(debate: Debate, plan: Plan, turn: Turn, text: str) -> Iterator[str]:
    takes_position = not plan.is_rehearsal and not plan.only_asks(turn.round)
    if takes_position:
        yield from findings(turn.role, text)
    if turn.role is Role.WALL:
        yield from read_wall(text).missing if takes_position else ()
        yield from lacks(words_of_wind(debate, turn.round), takes_position, text)


def _out_of_balance(debate: Debate, written: Sequence[Contribution]) -> Iterator[str]:
    """Roles that were starved, and seats that were substituted."""
    for role in debate.state.starved_roles:
        yield f"{role} was starved: a round went by without it."
    for one in written:
        if one.seat and one.seat.route:
            why = f" ({'; '.join(one.seat.tried)})" if one.seat.tried else ""
            asked, route = one.seat.asked, one.seat.route
            yield f"T{one.number} ({one.role}, {one.agent}) was asked through {asked} and answered by {route}{why}."


def _near_duplicates(debate: Debate, evidence: Sequence[Evidence]) -> Iterator[str]:
    """Turns of different seats of one role that barely differ.

    What a seat may quote is no likeness: the topic, the evidence, and the roles that speak before its own in a round.
    """
    said: dict[Role, dict[int, Line]] = {role: {} for role in Role}
    common = [debate.opening.words, *(piece.text for piece in evidence)]
    for line in debate.turns:
        said[line.turn.role][line.turn.turn_index + 1] = line
    for lines in said.values():
        texts = [(number, line.text) for number, line in lines.items() if line.text is not None]
        for pair in near_duplicates(texts, common):
            one, other = _seat_of(lines[pair.first].turn), _seat_of(lines[pair.second].turn)
            if one != other:
                alike = f"barely differ ({pair.share * 100:.0f} % of their words run alike)."
                yield f"T{pair.first} ({one}) and T{pair.second} ({other}) {alike}"
        common += [text for _, text in texts]


def _seat_of(turn: Turn) -> str:
    lens = f", lens {turn.seat.lens}" if turn.seat and turn.seat.lens else ""
    return f"{turn.role}, {turn.agent_role or 'unnamed'}{lens}"


def title_of(topic: str) -> str:
    """The topic's first line, short enough for a heading."""
    line = next((line.strip() for line in topic.splitlines() if line.strip()), topic.strip())
    line = line.lstrip("# ").strip() or "Untitled"
    return line if len(line) <= 100 else f"{line[:97].rstrip()}…"


def _walls(debate: Debate) -> Iterator[tuple[Turn, str]]:
    return ((line.turn, line.text) for line in debate.turns if line.turn.role is Role.WALL and line.text is not None)


def _verdicts(debate: Debate) -> Iterator[Verdict]:
    for turn, text in _walls(debate):
        yield Verdict(turn=turn.turn_index + 1, agent=turn.agent_role or "unnamed", verdict=read_wall(text).verdict)


def _constraints(debate: Debate) -> Iterator[Constraint]:
    for turn, text in _walls(debate):
        number = turn.turn_index + 1
        for stated in read_wall(text).constraints:
            yield Constraint(id=f"T{number}.{stated.id}", turn=number, statement=stated.statement, nature=stated.nature)


def _citations(debate: Debate, evidence: Sequence[Evidence]) -> Iterator[Citation]:
    for line in debate.turns:
        for found in cited(line.text or "", evidence):
            yield Citation(
                turn=line.turn.turn_index + 1,
                citation=str(found.citation),
                quote=found.citation.quote,
                claim=found.claim,
                problem=found.problem,
            )
