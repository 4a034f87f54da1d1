"""Where two debates on one plan part: the first of their statements that do not say the same.

Turns, votes, refinements and Door's account are held against each other in their order, word for word. A text that was
redacted says nothing, and is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from orchestrator.decision.seating import Part
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Note, Refined, SeatRecord, Turn, Vote
from orchestrator.hall.terms import About


class Speaker(Part):
    """Who made a statement; `model` is the one that answered."""

    slot: str | None
    agent: str | None
    model: str | None


class Parting(Part):
    """The first statement that differs: T4, a vote, a refinement, the account; a side that has none there is None."""

    where: str
    a: Speaker | None
    b: Speaker | None


class _Statement(NamedTuple):
    where: str
    by: Speaker
    said: tuple[str, ...] | None  # None: redacted


def parting(a: Debate, b: Debate) -> Parting | None:
    """Returns where two debates part; None where all that both still say is the same."""
    for one, other in zip_longest(_statements(a), _statements(b)):
        if one is None or other is None or (None not in (one.said, other.said) and one.said != other.said):
            where = one.where if one else other.where if other else ""
            return Parting(where=where, a=one.by if one else None, b=other.by if other else None)
    return None


def _statements(debate: Debate) -> Iterator[_Statement]:
    for line in debate.of(Turn, Vote, Refined, Note):
        body, words = line.entry.body, line.text
        match body:
            case Turn():
                speaker = _speaker(body.seat, body.agent_role, body.model)
                yield _Statement(f"T{body.turn_index + 1}", speaker, _said(words, body.role))
            case Vote():
                where = f"the vote {body.seat.slot}" if body.seat else "a vote"
                yield _Statement(where, _speaker(body.seat), _said(words, body.choice, *body.rests_on))
            case Refined():
                yield _Statement(f"refinement {body.number}", _speaker(body.seat), _said(words))
            case Note(about=About.ACCOUNT | About.NO_ACCOUNT):
                yield _Statement("the account", _speaker(body.seat), _said(words, body.about))


def _said(words: str | None, *beside: str) -> tuple[str, ...] | None:
    return None if words is None else (words, *beside)


def _speaker(seat: SeatRecord | None, agent: str | None = None, model: str | None = None) -> Speaker:
    if seat is None:
        return Speaker(slot=None, agent=agent, model=model)
    return Speaker(slot=seat.slot, agent=seat.agent, model=seat.answered)
