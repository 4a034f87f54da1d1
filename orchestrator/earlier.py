"""An earlier decision that a new debate starts from: its record, and what has changed since, as evidence."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.decision.record import record_of
from orchestrator.decision.reviewed import place_of
from orchestrator.errors import UsageError
from orchestrator.evidence import Evidence
from orchestrator.evidence.account import LeftOut, Unfit
from orchestrator.evidence.gathering import Gathered, tokens_in, too_many
from orchestrator.evidence.pieces import Kind
from orchestrator.evidence.reading import digest_of, left_out, look, read, require_no_secret
from orchestrator.hall.entries import Link
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import LinkKind
from orchestrator.plan import Plan

_FROM_FILES = ("file", "adr")
_OF_ITS_FOLDER = re.compile(r"^(?:status: |# ).*\n", re.MULTILINE)  # what a folder of records makes otherwise


@dataclass(frozen=True, slots=True)
class Earlier:
    """A decision, as it stood at the head that the link names.

    Args:
        record: its decision record, as Markdown.
        files: what it rested on that was read from files.
        seen: the hashes of all that it rested on.
    """

    link: Link
    record: str
    files: tuple[Evidence, ...]
    seen: frozenset[str] = frozenset()


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
    pinned = Plan.decode(debate.plan).evidence if debate.plan else ()
    before_it = place_of(debate.reviews) if debate.reviews else None
    files = tuple(piece for piece in pinned if piece.kind in _FROM_FILES and piece.path != before_it)
    link = Link(LinkKind.REVIEWS, record.thread_id, debate.head)
    return Earlier(link, render_adr(record, debate), files, frozenset(piece.sha256 for piece in pinned))


def with_earlier(gathered: Gathered, earlier: Earlier, base: Path, budget_tokens: int) -> Gathered:
    """The evidence of a new debate, and behind it the earlier decision and what its files say now.

    A record of that decision in a folder of records is not said twice: it stands behind the rest as it was accepted.

    Args:
        base: the folder that relative paths start from.
        budget_tokens: how much may be taken in all. The decision always is; a file whose changes do not fit is named.
    """
    name = earlier.link.thread_id
    kept = [piece for piece in gathered.evidence if piece.kind == "adr" and _is_of(earlier, piece.text)][-1:]
    others = [piece for piece in gathered.evidence if piece not in kept]
    pieces = [replace(piece, id=f"E{number}") for number, piece in enumerate(others, start=1)]
    decision = kept[0].text if kept else earlier.record
    pieces.append(_piece(len(pieces) + 1, place_of(earlier.link), decision, "adr"))
    left = budget_tokens - sum(tokens_in(piece.text) for piece in pieces)
    told, without = [], list(gathered.left_out)
    for change in _changes(earlier, pieces[:-1], base):
        if isinstance(change, LeftOut):
            without.append(change)
        elif tokens_in(change.text) > left:
            without.append(too_many(f"what has changed in {change.path}", change.text, budget_tokens))
        else:
            told.append(change.text)
            left -= tokens_in(change.text)
    if told:
        pieces.append(_piece(len(pieces) + 1, f"what has changed since {name}", "".join(told), "diff"))
    return Gathered(tuple(pieces), tuple(without))


def _is_of(earlier: Earlier, text: str) -> bool:
    """Whether a text is its record, but for the status that people gave it and the number in its title."""
    return _OF_ITS_FOLDER.sub("", text) == _OF_ITS_FOLDER.sub("", earlier.record)


@dataclass(frozen=True, slots=True)
class _Change:
    path: str
    text: str


def _changes(earlier: Earlier, evidence: Sequence[Evidence], base: Path) -> Iterator[_Change | LeftOut]:
    """What reads otherwise now than then, whether or not it is evidence of the new debate."""
    now = {piece.path: piece for piece in evidence if piece.kind in _FROM_FILES}
    texts, unfit = _texts_now(earlier, now, base)
    yield from unfit
    if texts and not any(text is not None for text in texts.values()):
        name = earlier.link.thread_id
        yield LeftOut(f"what has changed since {name}", "is unknown: none of the files that it rested on is here")
        return
    before = {piece.path: piece.text for piece in earlier.files}
    for path, text in sorted(texts.items()):
        if text != before[path]:
            yield _Change(path, _diff(path, before[path], text))
    for path in sorted(path for path in now.keys() - before.keys() if now[path].sha256 not in earlier.seen):
        yield _Change(path, f"new: {path}, which is {now[path].id}\n")


def _texts_now(
    earlier: Earlier, now: Mapping[str, Evidence], base: Path
) -> tuple[dict[str, str | None], tuple[LeftOut, ...]]:
    """What the files say, None of one that is gone; and those that must not be read."""
    texts: dict[str, str | None] = {}
    unfit = []
    for path in (piece.path for piece in earlier.files):
        try:
            texts[path] = now[path].text if path in now else _read(path, base)
        except Unfit as reason:
            if isinstance(reason.__cause__, FileNotFoundError):
                texts[path] = None
            else:
                unfit.append(left_out(path, base, reason))
    return texts, tuple(unfit)


def _read(path: str, base: Path) -> str:
    _, text = read(look(path, base))
    require_no_secret(text)
    return text


def _diff(path: str, before: str, now: str | None) -> str:
    """A unified diff; that the last line has no end is said as git says it."""
    names = f"a/{path}", "/dev/null" if now is None else f"b/{path}"
    lines = difflib.unified_diff(_lines(before), _lines(now or ""), *names)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def _piece(number: int, path: str, text: str, kind: Kind) -> Evidence:
    return Evidence(f"E{number}", path, digest_of(text.encode()), text, kind)
