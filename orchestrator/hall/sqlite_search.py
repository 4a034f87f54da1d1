"""The embedded store's index of words: a file beside the hall's that may be deleted at any time.

It holds no text, only which words stand in which entry. No commit waits for it: whoever searches first brings it up to
date. A redaction empties it, since FTS5 cannot forget one entry without a trace; the next search makes it again.

Entries are read from the hall while the index is locked for writing, and a redaction empties it once the hall has
forgotten the text. So what a search read before that is emptied too, and what it reads afterwards holds the text no
more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from orchestrator.errors import HallError, StoreTooNew, StoreUnavailable
from orchestrator.hall import ledger
from orchestrator.hall.debate import Line
from orchestrator.hall.ledger import StoredLine
from orchestrator.hall.search import Query, Term, folded_text, is_weighty, place_of
from orchestrator.hall.sqlite_file import SQLiteFile, is_damaged
from orchestrator.hall.store import Place

FILE = "search.sqlite3"
_WEIGHT = 3.0  # of what is found in a topic or a decision, against the same in a turn

_TABLES = """
CREATE TABLE threads (no INTEGER PRIMARY KEY, thread_id TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL, head TEXT NOT NULL)
STRICT;
CREATE TABLE said (
  id INTEGER PRIMARY KEY,
  no INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at TEXT NOT NULL,
  weight REAL NOT NULL
) STRICT;
CREATE VIRTUAL TABLE words USING fts5(folded, content = '', tokenize = 'ascii')
"""
_EMPTIED = f"DROP TABLE words;\nDROP TABLE said;\nDROP TABLE threads;\n{_TABLES}"

_FOUND = "FROM words JOIN said ON said.id = words.rowid JOIN threads ON threads.no = said.no WHERE words MATCH ?"
_RANKED = f"SELECT thread_id, said.seq {_FOUND} ORDER BY bm25(words) * weight, at DESC, said.id DESC"
_THREADS = f"SELECT said.no {_FOUND}"


class Indexed(NamedTuple):
    """How far a thread has been read: to the entry `seq`, whose hash is `head`."""

    seq: int
    head: str


class Source(Protocol):
    """The hall, of which this is an index."""

    def heads(self) -> Mapping[str, str]:
        """Returns the head of each thread."""

    def lines_from(self, thread_id: str, seq: int) -> Sequence[StoredLine]:
        """Returns the entries of a thread from the one numbered `seq`."""


def find(folder: Path, source: Source, query: Query, apart: bool) -> Sequence[Place]:
    """Returns what a store's `search` does; an index that cannot be read is made again.

    Raises:
        StoreUnavailable
    """
    try:
        return _find(folder, source, query, apart)
    except (StoreUnavailable, StoreTooNew) as error:
        if not _is_useless(error):
            raise
        _remove(folder)
        return _find(folder, source, query, apart)


def empty(folder: Path, patience_ms: int) -> bool:
    """Removes all words from the index, if there is one.

    Args:
        patience_ms: how long to wait for whoever uses it.

    Returns:
        False while somebody keeps it from being done.
    """
    if not any(folder.glob(f"{FILE}*")):
        return True
    try:
        with closing(_Index(folder)) as index:
            return index.empty(patience_ms)
    except (StoreUnavailable, StoreTooNew) as error:
        if not _is_useless(error):
            return False
        _remove(folder)
        return True


def _find(folder: Path, source: Source, query: Query, apart: bool) -> Sequence[Place]:
    with closing(_Index(folder)) as index:
        return index.find(source, query, apart)


def _is_useless(error: StoreUnavailable | StoreTooNew) -> bool:
    return isinstance(error, StoreTooNew) or is_damaged(error)


def _remove(folder: Path) -> None:
    logs_first = sorted(folder.glob(f"{FILE}*"), reverse=True)  # SQLite would play one that is left into a new file
    for path in logs_first:
        with suppress(FileNotFoundError):
            path.unlink()


class _Index(SQLiteFile):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder / FILE, [_TABLES])

    def find(self, source: Source, query: Query, apart: bool) -> Sequence[Place]:
        look = _apart if apart else _together
        with self._snapshot() as db:
            heads = {thread_id: indexed.head for thread_id, indexed in _indexed(db).items()}
            if heads == source.heads():
                return look(db, query)
        with self._transaction() as db:
            _bring_up(db, source)
            return look(db, query)

    def empty(self, patience_ms: int) -> bool:
        with self._connection() as db:
            db.execute(f"PRAGMA busy_timeout = {patience_ms}")
            db.execute("BEGIN IMMEDIATE")
            _clear(db)
            db.execute("COMMIT")
            busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy


def _clear(db: sqlite3.Connection) -> None:
    for statement in _EMPTIED.split(";\n"):
        db.execute(statement)


def _indexed(db: sqlite3.Connection) -> dict[str, Indexed]:
    return {name: Indexed(seq, head) for name, seq, head in db.execute("SELECT thread_id, seq, head FROM threads")}


def _bring_up(db: sqlite3.Connection, source: Source) -> None:
    """Adds the entries that have been written since."""
    heads, indexed = source.heads(), _indexed(db)
    if not indexed.keys() <= heads.keys() or not all(_add(db, source, name, heads, indexed) for name in heads):
        _clear(db)  # the hall is another than the one that was read: a backup was restored, say
        for name in heads:
            _add(db, source, name, heads, {})


def _add(
    db: sqlite3.Connection, source: Source, name: str, heads: Mapping[str, str], indexed: Mapping[str, Indexed]
) -> bool:
    """Adds what is new of a thread; False where its ledger is not the one that was read before."""
    before = indexed.get(name)
    if before is not None and before.head == heads[name]:
        return True
    lines = source.lines_from(name, before.seq if before else 0)
    if not lines:
        return before is None
    if before is not None and lines[0].hash != before.head:
        return False
    (no,) = db.execute(
        "INSERT INTO threads (thread_id, seq, head) VALUES (?, ?, ?)"
        " ON CONFLICT (thread_id) DO UPDATE SET seq = excluded.seq, head = excluded.head RETURNING no",
        (name, lines[-1].seq, lines[-1].hash),
    ).fetchone()
    for line in _readable(name, lines if before is None else lines[1:]):
        _add_line(db, no, line)
    return True


def _readable(thread_id: str, lines: Iterable[StoredLine]) -> Iterable[Line]:
    """The entries that are what was written; what is wrong with the others, verify says."""
    for line in lines:
        with suppress(HallError):
            yield ledger.read_alone(thread_id, line)


def _add_line(db: sqlite3.Connection, no: int, line: Line) -> None:
    entry = line.entry
    if line.text is None or place_of(entry.body) is None:
        return
    weight = _WEIGHT if is_weighty(entry.body) else 1.0
    row = db.execute(
        "INSERT INTO said (no, seq, at, weight) VALUES (?, ?, ?, ?) RETURNING id", (no, entry.seq, entry.at, weight)
    ).fetchone()
    db.execute("INSERT INTO words (rowid, folded) VALUES (?, ?)", (*row, folded_text(line.text)))


def _together(db: sqlite3.Connection, query: Query) -> Sequence[Place]:
    asked = " AND ".join(map(_expression, query.terms))
    return [Place(*row) for row in db.execute(_RANKED, (asked,))]


def _apart(db: sqlite3.Connection, query: Query) -> Sequence[Place]:
    each = [{no for (no,) in db.execute(_THREADS, (_expression(term),))} for term in query.terms]
    wanted = set.intersection(*each)
    ranked = _RANKED.replace("SELECT", "SELECT said.no,", 1)
    any_of_them = " OR ".join(map(_expression, query.terms))
    best: dict[int, Place] = {}
    for no, *place in db.execute(ranked, (any_of_them,)):
        if no in wanted:
            best.setdefault(no, Place(*place))
    return list(best.values())


def _expression(term: Term) -> str:
    """A term as FTS5 reads it: folded words hold no sign that means anything there."""
    return f'"{" ".join(term.words)}"{" *" if term.begun else ""}'
