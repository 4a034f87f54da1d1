"""What `debate-hall diff` does: two debates, of the hall or from files, side by side.

What is compared is what the ledgers tell; a file's own record is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple

from orchestrator.cli import checking, showing
from orchestrator.decision.account import Assumption, Option
from orchestrator.decision.decided import ConstraintAnswered, Dissent
from orchestrator.decision.difference import MATCHED_BY, Changed, Compared, Difference, Item, Pair, difference
from orchestrator.decision.record import DecisionRecord, record_of
from orchestrator.errors import UsageError
from orchestrator.export.marks import marks_of
from orchestrator.hall.debate import Debate
from orchestrator.run_folder import NAMES
from orchestrator.wording import shortened

SCHEMA = "run-debate/diff/v1"

_WIDTH = 100  # of a line about one item; longer ones are cut, and stand whole in the JSON
_LISTING = "its decision record"


def compare(a: str, b: str) -> tuple[dict[str, Any], str]:
    """Compares two debates; returns the comparison as JSON members and as text.

    Args:
        a, b: a thread of the hall, an exported file, or a run's folder. What is a path is not looked for in the hall.

    Raises:
        UnknownThread, UsageError, InvalidInput: one of them is no debate.
        LedgerBroken: the ledger of one does not verify.
    """
    return compared(_debate(a), _debate(b), (a, b))


def compared(a: Debate, b: Debate, sources: tuple[str, str]) -> tuple[dict[str, Any], str]:
    """The same of two debates that were found.

    Args:
        sources: where.
    """
    first, second = record_of(a), record_of(b)
    found = difference(first, second)
    sides = {"a": _side(sources[0], first), "b": _side(sources[1], second)}
    return {"schema": SCHEMA, **sides, **_rounded(found)}, "\n".join(_lines(first, second, found)) + "\n"


def _debate(name: str) -> Debate:
    path = Path(name)
    file = path / NAMES["json"] if path.is_dir() else path
    if file.is_file():
        found = checking.read(file)
        checking.signer(found, None)
        return found.debate
    if file != path:
        raise UsageError(f"There is no {file.name} in {name}.", "Give the folder of a run, or an exported file.")
    if path.name != name:
        raise UsageError(f"There is no file {name}.", "Give an exported debate.json, or a thread of the hall.")
    with showing.hall() as hall:
        return hall.debate(name)


def _side(source: str, record: DecisionRecord) -> dict[str, Any]:
    return {
        "source": source,
        "thread_id": record.thread_id,
        "question": record.question,
        "status": record.status,
        "title": record.title,
        "decided_at": record.decided_at,
        "head": record.head,
        "marks": [mark._asdict() for mark in marks_of(record, _LISTING)],
    }


def _rounded(found: Difference) -> dict[str, Any]:
    """The difference as JSON; a likeness is no more exact than a hundredth."""
    members = found.model_dump(mode="json")
    for kind in ("options", "constraints", "dissent", "assumptions"):
        for pair in members[kind]["alike"]:
            pair["likeness"] = round(pair["likeness"], 2)
    return members


# ------------------------------------------------------------------------------------------------------------- as text


class _Kind(NamedTuple, Generic[Item]):
    """How items of a kind are told: what they are called, a line each, and the member that no line shows."""

    name: str
    line: Callable[[Item], str]
    beside: str


def _option(option: Option) -> str:
    return f"{'taken' if option.taken else 'not taken'}: {option.title}"


def _constraint(one: ConstraintAnswered) -> str:
    block = ", lifted" if one.lifted else ", blocks" if one.blocks else ""
    nature = one.nature or "nature not stated"
    return f"{one.id}, {nature}, {one.outcome.replace('_', ' ')}{block}: {one.statement}"


def _dissent(one: Dissent) -> str:
    void = "" if one.grounded else ", which does not count"
    return f"{one.id}, {one.role} {one.agent}{void}: {one.objection}"


def _assumption(one: Assumption) -> str:
    return one.what


_CONSTRAINTS = _Kind("Constraints", _constraint, "sentence")
_OPTIONS = _Kind("Options", _option, "why")
_DISSENTS = _Kind("Objections that stand", _dissent, "settlement")
_ASSUMPTIONS = _Kind("Assumptions", _assumption, "check")


def _lines(a: DecisionRecord, b: DecisionRecord, found: Difference) -> Iterator[str]:
    if found.question is not None:
        yield "They answer different questions, and are compared all the same:"
        yield from (*_both(found.question), "")
    yield from (*_head("A", a), *_head("B", b))
    if found.is_empty:
        yield from ("", "Nothing differs.")
    for fact in found.decision:
        yield from ("", fact.what.capitalize(), *_both(fact))
    yield from _facts("Outcome", found.outcome)
    yield from _items(_CONSTRAINTS, found.constraints)
    yield from _items(_OPTIONS, found.options)
    yield from _items(_DISSENTS, found.dissent)
    yield from _items(_ASSUMPTIONS, found.assumptions)
    yield from _facts("Cost", found.cost, none="unknown")


def _head(side: str, record: DecisionRecord) -> Iterator[str]:
    """Which debate it is, and what is to be said first of it, whole."""
    yield f"{side}  {record.thread_id}, {record.status}, {record.decided_at[:10]}"
    yield from (f"   {_one_line(str(mark))}" for mark in marks_of(record, _LISTING))


def _both(fact: Changed) -> Iterator[str]:
    yield _row("  A  ", _told(fact.a))
    yield _row("  B  ", _told(fact.b))


def _facts(heading: str, facts: Sequence[Changed], none: str = "none") -> Iterator[str]:
    if facts:
        rows = [("", "A", "B"), *((fact.what, _told(fact.a, none), _told(fact.b, none)) for fact in facts)]
        what, left = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
        yield from ("", heading)
        yield from (_row(f"  {row[0]:<{what}}  {row[1]:<{left}}  ", row[2]) for row in rows)


def _items(kind: _Kind[Item], found: Compared[Item]) -> Iterator[str]:
    if found.differs or found.same:
        yield from ("", f"{kind.name}: {_counts(found)}")
    for pair in found.alike:
        yield f"  {_matched_by(pair)}; what differs: {_listed(pair.differs)}"
        for side, item in (("A", pair.a), ("B", pair.b)):
            yield _row(f"    {side}  ", kind.line(item))
            if kind.beside in pair.differs:
                yield _row("       → ", _told(getattr(item, kind.beside)))
    for side, items in (("A", found.only_a), ("B", found.only_b)):
        yield from (_row(f"  only {side}  ", kind.line(item)) for item in items)


def _counts(found: Compared[Item]) -> str:
    counts = {"the same": found.same, "alike in words": len(found.alike)}
    counts |= {"only in A": len(found.only_a), "only in B": len(found.only_b)}
    return ", ".join(f"{number} {where}" for where, number in counts.items() if number)


def _matched_by(pair: Pair[Item]) -> str:
    """Why two items stand together, and no more than that."""
    return f"{pair.likeness * 100:.0f} % alike in words" if pair.differs[0] in MATCHED_BY else "the same words"


def _told(value: object, none: str = "none") -> str:
    return none if value is None else _one_line(f"{value:,}" if isinstance(value, int) else str(value))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names).replace("_", " ")


def _row(before: str, words: str) -> str:
    """A line of the screen; words that do not fit are cut, and said to be."""
    return shortened(f"{before}{_one_line(words)}", _WIDTH)


def _one_line(words: str) -> str:
    return " ".join(words.split())
