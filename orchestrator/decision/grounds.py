"""What words rest on: the turns, constraints and lines of evidence they name, and which of these exist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from orchestrator.contract import QUOTED_WORDS
from orchestrator.decision.constraints import constraints_of
from orchestrator.evidence import Evidence, check, citations
from orchestrator.hall.cognition import read_wall
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.terms import Role
from orchestrator.hall.verdict import Verdict
from orchestrator.quotes import quotes_run

_MENTIONED = re.compile(r"(?<![\w.])T\d{1,6}(?:\.C\d{1,4})?(?![\w])")


@dataclass(frozen=True, slots=True)
class Grounds:
    """What exists in a debate and can be named.

    Args:
        turns: how many there are.
        constraints: their names, T3.C1.
    """

    turns: int
    constraints: frozenset[str]
    evidence: tuple[Evidence, ...]

    @classmethod
    def of(cls, debate: Debate, evidence: Sequence[Evidence], since: int = 1) -> Self:
        names = frozenset(constraint.id for constraint in constraints_of(debate, since=since))
        return cls(debate.state.turn_count, names, tuple(evidence))

    def hold(self, name: str) -> bool:
        """Whether a turn (T3), a constraint (T3.C1) or lines of evidence (E1:12-18) of that name exist."""
        if _MENTIONED.fullmatch(name):
            return name in self.constraints if "." in name else 1 <= int(name[1:]) <= self.turns
        cited = citations(f"[{name}]", self.evidence)
        return len(cited) == 1 and check(cited[0], self.evidence) is None

    def existing(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name in map(plain_name, names) if self.hold(name)))

    def missing_in(self, text: str) -> Iterator[str]:
        """The turns and constraints that a text names and that do not exist."""
        return (name for name in mentioned(text) if not self.hold(name))


def mentioned(text: str) -> tuple[str, ...]:
    """The turns and constraints that a text names, each once."""
    return tuple(dict.fromkeys(_MENTIONED.findall(text)))


def plain_name(name: str) -> str:
    """A name as the record writes it, without the brackets around it and the full stop behind it."""
    return name.lstrip(" [`*\"'").rstrip(" ].`*\"'")


@dataclass(frozen=True, slots=True)
class WallTurn:
    """A Wall's turn: its verdict, and what it rests on of what exists; one that rests on nothing is ungrounded."""

    number: int
    round: int
    agent: str
    verdict: Verdict | None
    rests_on: tuple[str, ...]


def walls_of(debate: Debate, grounds: Grounds, number: int | None = None) -> tuple[WallTurn, ...]:
    """The Walls' turns, of one round or of all; those that were redacted say nothing."""
    return tuple(
        WallTurn(
            line.turn.turn_index + 1,
            line.turn.round,
            line.turn.agent_role or "unnamed",
            read_wall(line.text).verdict,
            _rests_on(debate, line, line.text, grounds),
        )
        for line in debate.turns
        if line.turn.role is Role.WALL and line.text is not None and number in (None, line.turn.round)
    )


def _rests_on(debate: Debate, wall: Line, text: str, grounds: Grounds) -> tuple[str, ...]:
    """The earlier turns and constraints it names or quotes, the lines it cites, the constraints it states."""
    number = wall.turn.turn_index + 1
    named = (name for name in mentioned(text) if int(name[1:].partition(".")[0]) < number)
    quoted = (f"T{line.turn.turn_index + 1}" for line in debate.turns if _quotes(text, line, number))
    found = citations(text, grounds.evidence)
    cited = (str(citation).strip("[]") for citation in found if check(citation, grounds.evidence) is None)
    stated = (f"T{number}.{constraint.id}" for constraint in read_wall(text).constraints)
    return tuple(dict.fromkeys([*grounds.existing(named), *quoted, *cited, *stated]))


def _quotes(text: str, line: Line, before: int) -> bool:
    said = line.text or ""
    return line.turn.turn_index + 1 < before and quotes_run(text, [said], QUOTED_WORDS) is not None
