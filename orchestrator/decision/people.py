"""What people said at the table, and whether Door has answered it.

A person's turn is named as every turn, T5, a note N1. Door answers in a line that begins with the name; prose answers
nothing, however it is worded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator.hall import structure
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Closed, Extended, Note, Refined, Turn
from orchestrator.hall.terms import About, Role

_NAMES = r"[TN]\d{1,6}(?![\d.])"  # not T3.C1, which is Wall's


@dataclass(frozen=True, slots=True)
class PersonsWord:
    """A turn or a note of a person.

    Args:
        name: T5, or N1 for the first note to the table.
        role: as which the person spoke; None for a note.
        by: the person's name.
        seq: its entry.
    """

    name: str
    role: Role | None
    by: str
    seq: int


def named(speaker: str, human: bool | None) -> str:
    """Who spoke, for a reader: a person is called one."""
    return f"{speaker}, a person" if human else speaker


def words_of_people(debate: Debate) -> tuple[PersonsWord, ...]:
    """Every turn and note of a person that still says something, in order."""
    remarks = {line.entry.seq: number for number, line in enumerate(debate.notes(About.REMARK), 1)}
    return tuple(_words(debate.of(Turn, Note), remarks))


def _words(lines: Iterable[Line], remarks: dict[int, int]) -> Iterator[PersonsWord]:
    for line in lines:
        body, seq = line.entry.body, line.entry.seq
        if line.text is None:
            continue
        if isinstance(body, Turn) and body.human:
            yield PersonsWord(f"T{body.turn_index + 1}", body.role, body.agent_role or "unnamed", seq)
        elif isinstance(body, Note) and body.human and seq in remarks:
            yield PersonsWord(f"N{remarks[seq]}", None, body.by, seq)


def unanswered(debate: Debate) -> tuple[PersonsWord, ...]:
    """What people said and no word of Door has answered since."""
    words = words_of_people(debate)
    doors = [line for line in debate.lines if _is_doors(line)] if words else []  # else nobody asks
    said = [(line.entry.seq, answers_in(line.text or "")) for line in doors]
    return tuple(word for word in words if not any(seq > word.seq and word.name in told for seq, told in said))


def unheard(debate: Debate) -> Iterator[str]:
    """What people said and Door has not answered, a sentence each."""
    for word in unanswered(debate):
        yield f"{word.name} ({named(word.by, True)}) has no answer of Door in a line of its own."


def wishes(debate: Debate) -> Iterator[str]:
    """What people made a debate do otherwise than its plan: the rounds they asked for, and the end of it."""
    for line in debate.of(Extended, Note):
        body = line.entry.body
        if (isinstance(body, Extended) or body.about == About.SETTLED) and body.human:  # type: ignore[union-attr]
            yield line.words


def answers_in(text: str) -> frozenset[str]:
    """The names that a text of Door answers."""
    return frozenset(name for name, _ in structure.named(text, _NAMES))


def complaint(due: Iterable[PersonsWord], text: str) -> str | None:
    """What Door is told when its text leaves people without an answer; None when it answers all of them."""
    answered = answers_in(text)
    missing = [word for word in due if word.name not in answered]
    if not missing:
        return None
    names = " and ".join(f"{word.name} ({word.by})" for word in missing)
    return (
        f"Your turn does not answer {names}: people at the table said that, and they need an answer each, in a line of "
        f"its own that begins with the name, `- [{missing[0].name}] your answer`. Give the whole turn again."
    )


def _is_doors(line: Line) -> bool:
    body = line.entry.body
    return isinstance(body, Refined | Closed) or (isinstance(body, Turn) and body.role is Role.DOOR)
