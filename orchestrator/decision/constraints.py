"""Constraints over a whole debate: what each Wall stated, and what was answered to it since.

A constraint is named by its turn, T3.C1. It is answered in a line that begins with its name and one word, which
`_WORDS` lists: Door's `- [T3.C1] MET: …`, a later Wall's `- [T3.C1] STANDS: …`. Prose answers nothing, however it is
worded, and the last answer counts.

A constraint of a BLOCKED verdict is a block; where such a turn states none, that stands as its C0. Door lifts one by
changing course, not by judging it: a CONSTRAINT is rerouted or its path is dropped, an OPPORTUNITY becomes something to
build. Wall may lift it too. What is lifted stays so until somebody says that it is open again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from orchestrator.hall import structure
from orchestrator.hall.cognition import Nature, read_wall
from orchestrator.hall.debate import Debate, Said, Snapshot
from orchestrator.hall.entries import Closed, Refined, Turn
from orchestrator.hall.structure import LEAD, SAID
from orchestrator.hall.terms import Role
from orchestrator.hall.verdict import Verdict


class Outcome(StrEnum):
    """What became of a constraint."""

    MET = "met"
    TRADED_OFF = "traded_off"
    REFUTED = "refuted"
    OPEN = "open"


class _Word(NamedTuple):
    """A word of answer: the outcome it states, who may say it, and the natures whose block it lifts."""

    outcome: Outcome
    role: Role
    lifts: frozenset[Nature | None] = frozenset()


_ANY = frozenset({*Nature, None})
_REROUTES = frozenset({Nature.CONSTRAINT, None})
_BUILDS = frozenset({Nature.OPPORTUNITY, None})
_WORDS = {
    "MET": _Word(Outcome.MET, Role.DOOR),
    "TRADED OFF": _Word(Outcome.TRADED_OFF, Role.DOOR),
    "REFUTED": _Word(Outcome.REFUTED, Role.DOOR),
    "OPEN": _Word(Outcome.OPEN, Role.DOOR),
    "REROUTED": _Word(Outcome.MET, Role.DOOR, _REROUTES),
    "DROPPED": _Word(Outcome.MET, Role.DOOR, _REROUTES),
    "BUILD": _Word(Outcome.MET, Role.DOOR, _BUILDS),
    "STANDS": _Word(Outcome.OPEN, Role.WALL),
    "LIFTED": _Word(Outcome.MET, Role.WALL, _ANY),
}

# Possessive where two runs meet, so that a line of nothing but asterisks is read once.
_NAME = r"[\[(]?T\d{1,6}\.C\d{1,4}[\])]?"
_ANSWER = re.compile(
    rf"{SAID}{LEAD}({_NAME}(?:(?:\s?[,&](?:\sand)?|\sand)?\s{_NAME})*)[*_`\s]*+(?:[:—–-]\s*+[*_`]*+)?"
    rf"((?a:{'|'.join(word.replace(' ', '[ _-]') for word in _WORDS)}))[*_`]*+\s*+(?:(?:[:—–]|\.(?!\.)|-\s)(.*)|$)",
    re.IGNORECASE,
)
_NAMES = re.compile(r"T\d{1,6}\.C\d{1,4}")


class Answer(NamedTuple):
    """What was said to a constraint: by whom, where (`T4`, or `refinement 1`), in which word and sentence."""

    role: Role
    where: str
    word: str
    sentence: str

    @property
    def outcome(self) -> Outcome:
        return outcome_of(self.word)


def outcome_of(word: str) -> Outcome:
    """What a word of answer comes to."""
    return _WORDS[word].outcome


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint as a Wall stated it, with the answers to it in their order.

    `parts` are its labelled words (Instead, Build, Done when, Remediation, …); `blocks` says that its turn's verdict is
    BLOCKED.
    """

    id: str
    turn: int
    agent: str
    statement: str
    nature: Nature | None
    blocks: bool
    parts: Mapping[str, str]
    answers: tuple[Answer, ...] = ()

    @property
    def outcome(self) -> Outcome:
        return self.answers[-1].outcome if self.answers else Outcome.OPEN

    @property
    def is_open_block(self) -> bool:
        lifted = False
        for answer in self.answers:
            lifted = answer.outcome is not Outcome.OPEN and (lifted or self.nature in _WORDS[answer.word].lifts)
        return self.blocks and not lifted

    @property
    def stands(self) -> bool:
        """Whether the last that was said to it is a Wall's word that it stands."""
        return bool(self.answers) and self.answers[-1].role is Role.WALL and self.outcome is Outcome.OPEN

    @property
    def why_open(self) -> str | None:
        """Why it is open, whatever is claimed; None where a claim may close it."""
        last = self.answers[-1] if self.answers else None
        if self.is_open_block:
            said = f"{last.where} answers {last.word}, which lifts no block" if last else "Door does not answer it"
            return f"{self.id} blocks, and {said}."
        if last is not None and self.stands:
            return f"{self.id} stands, as {last.where} says, and nobody answers that."
        return None

    def part(self, label: str) -> str:
        return self.parts.get(label, "").strip(" *_")


CLOSE = "the close"


class Statement(NamedTuple):
    """Words of a debate, and where they stand: `T4`, `refinement 1`, or `the close`; `seq` is their entry."""

    where: str
    said: Said
    seq: int


def statements(debate: Debate) -> Iterator[Statement]:
    """Every turn, every refinement of the synthesis and the closing words, in order; what was redacted says nothing."""
    number = round = 0
    for line in debate.of(Turn, Refined, Closed):
        body, words, seq = line.entry.body, line.text or "", line.entry.seq
        if isinstance(body, Turn):
            number, round = body.turn_index + 1, body.round
            yield Statement(f"T{number}", Said(number, round, body.role, body.agent_role or "unnamed", words), seq)
        elif isinstance(body, Refined):
            agent = body.seat.agent if body.seat else "unnamed"
            yield Statement(f"refinement {body.number}", Said(number, round, Role.DOOR, agent, words), seq)
        else:
            yield Statement(CLOSE, Said(number, round, Role.DOOR, "unnamed", words), seq)


def constraints_of(debate: Debate, synthesis: str | None = None, since: int = 1) -> tuple[Constraint, ...]:
    """Every constraint of a debate, in the order stated.

    Args:
        synthesis: the words with which an open debate is to be closed, where that is known.
        since: the first round whose verdicts are read; before it nobody takes a position.
    """
    spoken = tuple(statements(debate))
    if debate.synthesis is not None:
        synthesis = debate.synthesis.text
    decided = spoken if synthesis is None else _decided_with(synthesis, spoken)
    return _fold(((statement.where, statement.said) for statement in decided), since)


def _decided_with(synthesis: str, spoken: Sequence[Statement]) -> Iterator[Statement]:
    """The words up to the synthesis that is closed with: what refined it after that, and lost, answers nothing."""
    same = [at for at, statement in enumerate(spoken) if statement.said.text == synthesis and statement.where != CLOSE]
    for at, statement in enumerate(spoken):
        if not same or at <= same[-1] or statement.said.role is not Role.DOOR or statement.where == CLOSE:
            yield statement


def constraints_in(turns: Iterable[Said]) -> tuple[Constraint, ...]:
    """Those of some turns, the first ones of a debate."""
    return _fold((f"T{said.number}", said) for said in turns)


def constraints_seen(snapshot: Snapshot, since: int = 1) -> tuple[Constraint, ...]:
    """Those that a seat may see."""
    spoken = [(f"T{said.number}", said) for said in snapshot.turns]
    if snapshot.refined is not None:  # behind Door's last turn, which it takes the place of
        at = max(place for place, (_, said) in enumerate(spoken, 1) if said.role is Role.DOOR)
        where, said = spoken[at - 1]
        spoken.insert(at, (f"{where}, refined", replace(said, text=snapshot.refined)))
    return _fold(spoken, since)


@lru_cache(maxsize=256)  # every later seat of a debate reads the same turns
def answers_in(text: str, role: Role) -> tuple[tuple[str, str, str], ...]:
    """The answers that stand in a text of a role: the constraint's name, the word, the sentence.

    What closes a constraint says how; only OPEN and STANDS may stand alone.
    """
    return tuple(_answers_in(text, role))


def _answers_in(text: str, role: Role) -> Iterator[tuple[str, str, str]]:
    for item in structure.items(text):
        match = _ANSWER.fullmatch(item)
        word = re.sub(r"[ _-]", " ", match[2].upper()) if match else ""
        sentence = (match[3] or "").strip(" *_") if match else ""
        if match and _WORDS[word].role is role and (structure.says(sentence) or outcome_of(word) is Outcome.OPEN):
            yield from ((name, word, sentence) for name in _NAMES.findall(match[1].upper()))


def open_blocks(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    return tuple(constraint for constraint in constraints if constraint.is_open_block)


def _fold(spoken: Iterable[tuple[str, Said]], since: int = 1) -> tuple[Constraint, ...]:
    known: dict[str, Constraint] = {}
    for where, said in spoken:
        for name, word, sentence in answers_in(said.text, said.role) if said.role is not Role.WIND else ():
            answer = Answer(said.role, where, word, sentence)
            if name in known and not _is_said_again(answer, known[name]):
                known[name] = replace(known[name], answers=(*known[name].answers, answer))
        for each in _stated(said, since) if said.role is Role.WALL else ():
            known[each.id] = _both(known[each.id], each) if each.id in known else each
    return tuple(known.values())


def _is_said_again(answer: Answer, constraint: Constraint) -> bool:
    """A debate closes with the words of its synthesis."""
    return bool(constraint.answers) and constraint.answers[-1] == answer._replace(where=constraint.answers[-1].where)


def _both(first: Constraint, second: Constraint) -> Constraint:
    """Two that a Wall stated under one id, though it was told: neither is dropped."""
    return replace(
        first,
        statement=f"{first.statement} And: {second.statement}",
        nature=first.nature if first.nature is second.nature else None,
        parts={**second.parts, **first.parts},
    )


def _stated(said: Said, since: int) -> Iterator[Constraint]:
    reading = read_wall(said.text)
    blocks = reading.verdict is Verdict.BLOCKED and said.round >= since
    for stated in reading.constraints:
        yield Constraint(
            id=f"T{said.number}.{stated.id}",
            turn=said.number,
            agent=said.agent,
            statement=stated.statement,
            nature=stated.nature,
            blocks=blocks,
            parts=stated.parts,
        )
    if blocks and not reading.constraints:
        statement = "The turn is BLOCKED and states no constraint."
        yield Constraint(f"T{said.number}.C0", said.number, said.agent, statement, None, blocks=True, parts={})
