"""What stands in a prompt for a turn of a round that is over, where the recipe wants older rounds as Door's synthesis.

Door's turns are that synthesis and stay as they are; so does what people said, word for word. Of a Wall's turn its
verdict stays, each constraint with its name and parts, and what it said to earlier ones; of a Wind's the options by
their titles. So every name of a debate can still be cited, and its account can still say what became of each option.

Each brief is made of one turn alone. It takes the turn's place when its round is over and never changes after that: so
prompts go on to grow at their end only, and a run that is resumed asks the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.decision.constraints import answers_in, constraints_in
from orchestrator.hall.cognition import options_in, read_wall
from orchestrator.hall.debate import Said
from orchestrator.hall.terms import Role


def brief_of(said: Said) -> str | None:
    """Returns what stands in a turn's place; None where the turn stays as it is.

    It stays where nothing in it has a form that could be kept, and where that would save nothing.
    """
    if said.human or said.role is Role.DOOR:
        return None
    brief = "\n".join(_wall(said) if said.role is Role.WALL else _wind(said))
    return brief if brief and len(brief) < len(said.text) else None


def _wind(said: Said) -> Iterator[str]:
    yield from (f"- {title}" for title in options_in(said.text))


def _wall(said: Said) -> Iterator[str]:
    if verdict := read_wall(said.text).verdict:
        yield f"VERDICT: {verdict}"
    for stated in constraints_in((said,)):
        parts = (f"{label}: {words}" for label in stated.parts if (words := stated.part(label)))
        yield " ".join([f"- [{stated.id}] {stated.nature or 'nature not stated'}: {stated.statement}", *parts])
    for name, word, sentence in answers_in(said.text, said.role):
        yield f"- [{name}] {word}: {sentence}".rstrip(": ")
