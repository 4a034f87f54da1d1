"""Who sat where, which models answered, and what it took: read off the entries that seats wrote.

A seat writes turns, votes and notes; Door's also refinements of its synthesis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Note, Refined, SeatRecord, Turn, Vote
from orchestrator.hall.terms import About, Role

A_PERSON = "a person"  # in the place of a model, where a person spoke
NO_ANSWER = "nobody"  # the model that answered, where a seat's calls brought nothing


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tokens(Part):
    input: int
    cached: int
    output: int


class SeatCost(Part):
    """One voice over the whole debate. `cost_usd` is None when a price is unknown, as that of a turn which no runner
    committed; unknown is never zero. A person's words cost nothing."""

    role: Role
    agent: str
    lens: str | None
    asked: str
    answered: tuple[str, ...]
    turns: int
    tokens: Tokens
    cost_usd: Decimal | None


class Substitution(Part):
    """What another route wrote than the one its seat asks first; `why` are the calls that failed before.

    `turn` is the turn, or the last one before a vote, a refinement or an account; `slot` names the seat.
    """

    turn: int
    slot: str
    agent: str
    asked: str
    route: str
    answered: str
    why: tuple[str, ...]


class Attempts(Part):
    """The calls of a seat that brought nothing, `route: what went wrong`, in their order."""

    turn: int
    slot: str
    agent: str
    failed: tuple[str, ...]


class Contribution(NamedTuple):
    """An entry that a seat wrote; `number` is its turn's, that of the turn before for what is none."""

    number: int
    role: Role
    agent: str
    model: str
    tokens: Tokens
    seat: SeatRecord | None
    is_turn: bool
    human: bool = False

    @property
    def name(self) -> str:
        return f"T{self.number}" if self.is_turn or self.seat is None else self.seat.slot


def contributions(debate: Debate) -> tuple[Contribution, ...]:
    return tuple(_contributions(debate))


def _contributions(debate: Debate) -> Iterator[Contribution]:
    number = 0
    for line in debate.of(Turn, Vote, Refined, Note):
        body = line.entry.body
        if isinstance(body, Turn):
            number = body.turn_index + 1
            cached = (body.seat.cached if body.seat else None) or 0
            tokens = Tokens(input=body.token_input or 0, cached=cached, output=body.token_output or 0)
            agent, model = body.agent_role or "unnamed", body.model or (A_PERSON if body.human else "unnamed")
            yield Contribution(number, body.role, agent, model, tokens, body.seat, is_turn=True, human=bool(body.human))
        elif isinstance(body, Note) and body.about == About.BASELINE:
            continue  # who answers alone has no voice in the debate
        elif isinstance(body, Vote | Refined | Note) and (seat := body.seat) is not None:
            tokens = Tokens(input=seat.input or 0, cached=seat.cached or 0, output=seat.output or 0)
            yield Contribution(number, _role_of(body, seat), seat.agent, seat.answered, tokens, seat, is_turn=False)


def _role_of(body: Vote | Refined | Note, seat: SeatRecord) -> Role:
    """Door accounts; of a seat that was not heard the slot says who it is, R1.Wall.2."""
    if isinstance(body, Vote):
        return body.role
    return next((role for role in Role if f".{role}." in seat.slot), Role.DOOR)


def seats_of(written: Sequence[Contribution]) -> Iterator[SeatCost]:
    """One voice after the other, in the order in which they first spoke."""
    groups: dict[tuple[Role, str, str | None], list[Contribution]] = {}
    for one in written:
        groups.setdefault((one.role, one.agent, one.seat.lens if one.seat else None), []).append(one)
    for (role, agent, lens), own in groups.items():
        yield SeatCost(
            role=role,
            agent=agent,
            lens=lens,
            asked=next((one.seat.asked for one in own if one.seat), ""),
            answered=tuple(dict.fromkeys(one.model for one in own if one.model != NO_ANSWER)),
            turns=sum(one.is_turn for one in own),
            tokens=tokens_of(own),
            cost_usd=cost_of(own),
        )


def substitutions_of(written: Sequence[Contribution]) -> Iterator[Substitution]:
    for one in written:
        if one.seat and one.seat.route:
            yield Substitution(
                turn=one.number,
                slot=one.seat.slot,
                agent=one.seat.agent,
                asked=one.seat.asked,
                route=one.seat.route,
                answered=one.seat.answered,
                why=one.seat.tried or (),
            )


def attempts_of(written: Sequence[Contribution]) -> Iterator[Attempts]:
    for one in written:
        if one.seat and one.seat.tried:
            yield Attempts(turn=one.number, slot=one.seat.slot, agent=one.seat.agent, failed=one.seat.tried)


def tokens_of(written: Sequence[Contribution]) -> Tokens:
    return Tokens(
        input=sum(one.tokens.input for one in written),
        cached=sum(one.tokens.cached for one in written),
        output=sum(one.tokens.output for one in written),
    )


def cost_of(written: Sequence[Contribution]) -> Decimal | None:
    costs = [one.seat.cost if one.seat else "0" if one.human else None for one in written]
    return None if None in costs else sum((Decimal(cost) for cost in costs if cost is not None), Decimal(0))


def reused_in(written: Sequence[Contribution]) -> int:
    """How many replies the debate paid for that this one replays."""
    return sum(one.seat.reused or 0 for one in written if one.seat)


def missing(debate: Debate) -> set[str]:
    """The slots of the seats that could not be heard, and without which their round or ballot went on."""
    return {line.note.slot for line in debate.notes(About.MISSING) if line.note.slot}
