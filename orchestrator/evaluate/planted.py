"""Whether what is planted in a brief stands where the brief says: mechanically, so that no score rests on a slip.

A place and what is said of it have to share a word that says something. That finds a document whose lines have moved,
not each line number that is off by one. What is only worth a look is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from orchestrator.errors import ConfigurationError
from orchestrator.evaluate.brief import DOCS, FILE, Brief, Conflict, Planted, load_brief
from orchestrator.strict_yaml import read
from orchestrator.wording import counted

_DOCUMENTS = range(2, 5)
_LINES = range(25, 71)
_WORD = re.compile(r"[a-z]{5,}")
_EMPTY_WORDS = """
    about above after again against already always another because before being below between beyond could either every
    everybody first further given itself least makes might more most must needs never nobody nothing often only other
    others over rather shall should since still takes than their there these they this those three through today twelve
    under until using where which while whole whose with within without would"""
_ACCEPTED = re.compile(r"^\W*status\W+accepted", re.IGNORECASE | re.MULTILINE)
_CONSTRAINT = re.compile(r"\s*- id: (\S+)\s*$")
_SECOND_PLACE = re.compile(r"\s*where: \S+\s+# decisive together with (docs/\S+)")


class Finding(NamedTuple):
    """What is wrong with a brief, or only worth a look, as `source: key: sentence`."""

    text: str
    is_error: bool


def check_folder(folder: Path) -> tuple[Finding, ...]:
    """What is found in a brief's folder; nothing where all is well."""
    try:
        brief = load_brief(folder)
        return tuple(_found_in(brief, folder))
    except ConfigurationError as error:
        return (Finding(str(error), is_error=True),)


def require_sound(brief: Brief, folder: Path) -> None:
    """Raises:
    ConfigurationError: something that is planted does not stand where the brief says.
    """
    wrong = [finding.text for finding in _found_in(brief, folder) if finding.is_error]
    if wrong:
        raise ConfigurationError(wrong[0], "See all of it with: debate-hall eval check FOLDER")


def _found_in(brief: Brief, folder: Path) -> Iterator[Finding]:
    source = folder / FILE
    for key, message in _errors(brief, read(source)):
        yield Finding(f"{source}: {key}: {message}", is_error=True)
    for key, message in _warnings(brief):
        yield Finding(f"{source}: {key}: {message}", is_error=False)


def _errors(brief: Brief, written: str) -> Iterator[tuple[str, str]]:
    if len(brief.documents) not in _DOCUMENTS:
        yield DOCS, f"there are {counted(len(brief.documents), 'document')}; a brief has two to four."
    for piece in brief.documents:
        if not piece.path.endswith(".md"):
            yield DOCS, f"{piece.path} is no .md file."
    for key, place, said in (*_places(brief), *_second_places(brief, written)):
        wrong = _misplaced(brief, place, said)
        if wrong:
            yield key, wrong
    yield from _undecided(brief)
    for number, conflict in enumerate(brief.conflicts):
        text = "\n".join(next((piece.lines for piece in brief.documents if piece.path == conflict.adr), ()))
        if not _ACCEPTED.search(text):
            yield (
                f"conflicts[{number}].adr",
                f"{conflict.adr} is no accepted decision: it has no line `Status: accepted`.",
            )


def _places(brief: Brief) -> Iterator[tuple[str, str, str]]:
    """The key of each place, the place, and what is said of it."""
    for number, constraint in enumerate(brief.constraints):
        yield f"constraints[{number}].where", constraint.where, constraint.statement
    for number, false in enumerate(brief.false_claims):
        yield f"false_claims[{number}].where", false.where, false.claim
        yield f"false_claims[{number}].refuted_by", false.refuted_by, false.claim
    for number, conflict in enumerate(brief.conflicts):
        yield f"conflicts[{number}].line", f"{conflict.adr}:{conflict.line}", _contradicted(brief, conflict)


def _contradicted(brief: Brief, conflict: Conflict) -> str:
    """What an option that contradicts a decision says, and why it cannot be had."""
    option = brief.option(conflict.contradicted_by)
    assert option is not None, "the shape has seen to it"
    because = [constraint.statement for constraint in brief.constraints if constraint.id in option.because]
    return " ".join([option.name, *because])


def _second_places(brief: Brief, written: str) -> Iterator[tuple[str, str, str]]:
    """Those of hidden constraints, which stand in comments behind the first."""
    numbers = {constraint.id: number for number, constraint in enumerate(brief.constraints)}
    at: int | None = None
    for line in written.splitlines():
        if opened := _CONSTRAINT.match(line):
            at = numbers.get(opened[1])
        if (second := _SECOND_PLACE.match(line)) and at is not None:
            yield f"constraints[{at}].where, its second place", second[1], brief.constraints[at].statement


def _misplaced(brief: Brief, place: str, said: str) -> str | None:
    try:
        lines = Planted.at(place, brief.documents).lines(brief.documents)
    except ValueError as error:
        return str(error)
    stands = " ".join(lines).lower()
    if not stands.strip():
        return f"{place} is blank."
    if any(word in stands for word in _words(said)):
        return None
    return f"{place} shares no word with {said!r:.120}; there stands {stands!r:.120}."


def _undecided(brief: Brief) -> Iterator[tuple[str, str]]:
    """Constraints that could be left out without any verdict changing, as far as the brief tells."""
    used = {name for option in brief.options for name in option.because}
    for number, constraint in enumerate(brief.constraints):
        in_key = re.search(rf"\b{re.escape(constraint.id)}\b", brief.key)
        if constraint.id not in used and not in_key and len(_words(constraint.statement) & _words(brief.key)) < 2:
            yield f"constraints[{number}]", f"{constraint.id} stands in no because, and the key does not speak of it."


def _warnings(brief: Brief) -> Iterator[tuple[str, str]]:
    for piece in brief.documents:
        if len(piece.lines) not in _LINES:
            yield DOCS, f"{piece.path} has {counted(len(piece.lines), 'line')}; 25 to 70 are usual."
    for number, constraint in enumerate(brief.constraints):
        for place, phrase in enumerate(constraint.mentioned_by):
            if phrase.lower() in brief.question.lower():
                yield f"constraints[{number}].mentioned_by[{place}]", f"{phrase!r:.80} stands in the question."
    for number, conflict in enumerate(brief.conflicts):
        option = brief.option(conflict.contradicted_by)
        if option is not None and option.verdict != "violates":
            yield f"conflicts[{number}].contradicted_by", f"{option.id} contradicts a decision and is {option.verdict}."


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower())) - set(_EMPTY_WORDS.split())
