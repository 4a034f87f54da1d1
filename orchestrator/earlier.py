"""An earlier decision that a new debate starts from: its record, and what has changed since, as evidence."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.decision.record import record_of
from orchestrator.decision.reviewed import place_of
from orchestrator.errors import UsageError
from orchestrator.evidence import Evidence
from orchestrator.evidence.pieces import Kind
from orchestrator.evidence.reading import digest_of
from orchestrator.hall.entries import Link
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import LinkKind
from orchestrator.plan import Plan


@dataclass(frozen=True, slots=True)
class Earlier:
    """A decision, as it stood at the head that the link names.

    Args:
        record: its decision record, as Markdown.
        evidence: what it rested on.
    """

    link: Link
    record: str
    evidence: tuple[Evidence, ...]


def earlier_decision(hall: Hall, thread_id: str) -> Earlier:
    """Reads the decision of a debate that has ended.

    Raises:
        UnknownThread, LedgerBroken
        UsageError: it decided nothing.
    """
    from orchestrator.export.markdown import render_adr  # here: a parser of Markdown takes a while to load

    debate = hall.debate(thread_id)
    record = record_of(debate)
    if record.decision is None or record.answers is not None:
        raise UsageError(
            f"{record.thread_id} has no decision that could be reviewed.", "Name a debate that has ended with one."
        )
    evidence = Plan.decode(debate.plan).evidence if debate.plan else ()
    link = Link(LinkKind.REVIEWS, record.thread_id, debate.head)
    return Earlier(link, render_adr(record, debate), tuple(evidence))


def with_earlier(evidence: Sequence[Evidence], earlier: Earlier) -> tuple[Evidence, ...]:
    """The evidence of a new debate, and behind it the earlier decision and what reads otherwise now than then."""
    name = earlier.link.thread_id
    diff = "".join(_differences(_texts(earlier.evidence), _texts(evidence)))
    pieces = [*evidence, _piece(len(evidence) + 1, place_of(earlier.link), earlier.record, "adr")]
    if diff:
        pieces.append(_piece(len(pieces) + 1, f"what has changed since {name}", diff, "diff"))
    return tuple(pieces)


def _texts(evidence: Sequence[Evidence]) -> Mapping[str, str]:
    """What can change: what was read from files."""
    return {piece.path: piece.text for piece in evidence if piece.kind == "file"}


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for path in sorted(before.keys() | now.keys()):
        old, new = (texts.get(path) for texts in (before, now))
        if old == new:
            continue
        names = ("/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}")
        lines = difflib.unified_diff((old or "").splitlines(), (new or "").splitlines(), *names, lineterm="")
        yield from (f"{line}\n" for line in lines)


def _piece(number: int, path: str, text: str, kind: Kind) -> Evidence:
    return Evidence(f"E{number}", path, digest_of(text.encode()), text, kind)
