"""The draft journal: what a run is about to ask, and what came of it, so that nothing is bought twice.

Records stand beside the ledger and are no part of it: a draft is not a turn. Of a text a record holds the salted
digest; the text, a reply or the hash of a request, stands beside it with the salt, as in the ledger. So a redaction
that deletes texts and salts leaves nothing that a redacted word could be guessed from.

A record's hash covers its thread and number, so a changed, moved or missing one is found, unless the last are missing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, get_args

from orchestrator.errors import InvalidInput, LedgerBroken
from orchestrator.hall import canonical
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.entries import build, plain

VERSION = 1
DOMAIN = "debate-hall/journal/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A process took the run up.

    `folder` is where its files go, `adr` the folder of records that the decision goes into; `changes` says, as JSON,
    what it does otherwise than the pinned plan.
    """

    kind: ClassVar[str] = "begun"
    epoch: int
    at: str
    folder: str | None = None
    changes: str | None = None
    adr: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A call that is about to be made: for which seat and step, which attempt, through which route.

    `request` is the digest of what is asked, which is a hash itself; `tokens` and `cost` (US dollars, None when no
    price is known) are the most that the call can take.
    """

    kind: ClassVar[str] = "intent"
    epoch: int
    at: str
    slot: str
    step: str
    attempt: int  # from 1, over all processes
    route: str
    request: str
    tokens: int
    cost: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a call: a reply, or a failure with its code; what it took, as far as the provider said.

    `digest` is that of the reply, or of an answer that was of no use. `charged` says of a call without usage that its
    whole bound counts as spent.
    """

    kind: ClassVar[str] = "outcome"
    at: str
    intent: int  # the number of its intent
    answered: str | None = None
    failed: str | None = None
    digest: str | None = None
    input: int | None = None
    cached: int | None = None
    output: int | None = None
    cost: str | None = None
    charged: bool = False
    thinking: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reused:
    """A call that was not made: the debate that this one replays had asked the same, and its reply was taken.

    `record` is the number of the reply's record in the journal of `thread`.
    """

    kind: ClassVar[str] = "reused"
    epoch: int
    at: str
    slot: str
    step: str
    route: str
    thread: str
    record: int


Record = Begun | Intent | Outcome | Reused

_KINDS = {record.kind: record for record in get_args(Record)}


class StoredRecord(NamedTuple):
    """A row as a store holds it, nothing believed yet. A text and its salt stand beside a record that has a digest.

    `answers` tells the store which intent an outcome belongs to: where a redaction has taken the text of that one, what
    was asked held the redacted words, and the answer is kept without its text.
    """

    number: int
    hash: str
    stored: str
    text: str | None = None
    salt: str | None = None
    answers: int | None = None


@dataclass(frozen=True, slots=True)
class JournalLine:
    """A record in its place, with its text and salt; both are None once a redaction has deleted them."""

    number: int
    record: Record
    text: str | None = None
    salt: str | None = None


def seal(thread_id: str, line: JournalLine) -> StoredRecord:
    """Returns a line in the form in which stores keep it."""
    header = {"v": VERSION, "thread_id": thread_id, "number": line.number, "kind": line.record.kind}
    stored = canonical.encode(header | plain(line.record))
    answers = line.record.intent if isinstance(line.record, Outcome) else None
    return StoredRecord(line.number, canonical.digest(DOMAIN, stored.encode()), stored, line.text, line.salt, answers)


def read(thread_id: str, rows: Sequence[StoredRecord], *, redacted: bool) -> tuple[JournalLine, ...]:
    """Returns a thread's journal, each record checked.

    Args:
        redacted: the thread holds a tombstone, so that texts may be missing.

    Raises:
        LedgerBroken: a record is not what was written.
    """
    return tuple(_read(thread_id, row, number, redacted) for number, row in enumerate(rows))


def _read(thread_id: str, row: StoredRecord, number: int, redacted: bool) -> JournalLine:
    def broken(why: str) -> LedgerBroken:
        return LedgerBroken(thread_id, None, f"record {number} of its journal {why}")

    if row.hash != canonical.digest(DOMAIN, row.stored.encode("utf-8", "surrogatepass")):
        raise broken("is not what was written")
    try:
        members = json.loads(row.stored)
        for name in ("v", "thread_id", "number"):
            del members[name]
        line = JournalLine(number, build(_KINDS[members.pop("kind")], members), row.text, row.salt)
        in_this_place = seal(thread_id, line).stored
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, InvalidInput) as error:
        raise broken(f"cannot be read ({error})") from error
    if (row.number, row.stored) != (number, in_this_place):
        raise broken("stands in another's place, or is not in canonical form")
    if not _is_whole(row, _digest_of(line.record), redacted):
        raise broken("has another text than was written")
    return line


def _digest_of(record: Record) -> str | None:
    match record:
        case Intent():
            return record.request
        case Outcome():
            return record.digest
        case Begun() | Reused():
            return None


def _is_whole(row: StoredRecord, digest: str | None, redacted: bool) -> bool:
    if digest is None:
        return (row.text, row.salt) == (None, None)
    if row.text is None or row.salt is None:
        return redacted
    try:
        return SaltedText(row.text, row.salt).digest == digest
    except InvalidInput:
        return False
