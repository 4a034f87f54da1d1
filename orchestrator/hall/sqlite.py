"""The embedded store: one SQLite file in WAL mode, every commit on disk before it is acknowledged.

Texts stand in a table that only grows, apart from the entries. So the B-tree moves texts but once, when the table
outgrows its first page, and secure_delete zeroes the page they leave. A redaction overwrites a text where it stands,
with zeros of the same length; what is left is the copy in the write-ahead log, which a TRUNCATE checkpoint removes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from orchestrator.errors import (
    HallError,
    LedgerBroken,
    StaleHead,
    ThreadExists,
    UnknownThread,
)
from orchestrator.hall.debate import State
from orchestrator.hall.ledger import Sealed, Standing, StoredLine, StoredThread
from orchestrator.hall.sqlite_file import BUSY_TIMEOUT_MS, SQLiteFile
from orchestrator.hall.store import Attention, Erasure, Listed, RunRow, Window
from orchestrator.hall.terms import Status

FILE = "hall.sqlite3"
VERSION = 1
CHECKPOINT_TIMEOUT_MS = 2_000

_SCHEMA = """
CREATE TABLE threads (
  no INTEGER PRIMARY KEY,
  thread_id TEXT NOT NULL UNIQUE COLLATE NOCASE,
  head TEXT NOT NULL,
  state TEXT NOT NULL
) STRICT;
CREATE TABLE texts (
  id INTEGER PRIMARY KEY,
  salt ANY NOT NULL,            -- text; a blob of zeros once it is redacted
  words ANY NOT NULL
) STRICT;
CREATE TABLE entries (
  no INTEGER NOT NULL REFERENCES threads,
  seq INTEGER NOT NULL,
  turn_index INTEGER,
  hash TEXT NOT NULL,
  stored TEXT NOT NULL,
  text_id INTEGER REFERENCES texts,
  erased_by INTEGER,
  PRIMARY KEY (no, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX turns ON entries (no, turn_index) WHERE turn_index IS NOT NULL;
CREATE TABLE plans (no INTEGER PRIMARY KEY REFERENCES threads, plan TEXT NOT NULL) STRICT;
CREATE TABLE runs (
  no INTEGER PRIMARY KEY REFERENCES threads,
  holder TEXT NOT NULL,
  beat_at TEXT NOT NULL,
  request TEXT
) STRICT;
CREATE TABLE reports (
  no INTEGER NOT NULL REFERENCES threads,
  number INTEGER NOT NULL,
  report TEXT NOT NULL,
  PRIMARY KEY (no, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE pending_erasure (no INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (no, seq)) STRICT, WITHOUT ROWID;
"""

_LINES = """
SELECT e.seq, e.turn_index, e.hash, e.stored,
       iif(typeof(t.words) = 'text', t.words, NULL), iif(typeof(t.salt) = 'text', t.salt, NULL),
       e.erased_by, iif(typeof(why.words) = 'text', why.words, NULL)
FROM entries e
LEFT JOIN texts t ON t.id = e.text_id
LEFT JOIN entries tombstone ON tombstone.no = e.no AND tombstone.seq = e.erased_by
LEFT JOIN texts why ON why.id = tombstone.text_id
WHERE e.no = ?
"""


class SQLiteStore(SQLiteFile):
    """A `Store` in one file of a folder.

    Args:
        folder: an existing folder that is safe (`folder.prepare`).

    Raises:
        StoreUnavailable: the file cannot be opened or made.
        StoreTooNew: a newer version of this program wrote it.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / FILE, _SCHEMA, VERSION)
        if self._has_pending_erasures():
            self.erase_traces()

    def create(self, opening: Sealed, after: Standing, plan: str | None) -> None:
        with self._transaction() as db:
            try:
                (no,) = db.execute(
                    "INSERT INTO threads (thread_id, head, state) VALUES (?, ?, ?) RETURNING no",
                    (after.state.thread_id, after.head, after.state.encode()),
                ).fetchone()
            except sqlite3.IntegrityError as error:
                raise ThreadExists(
                    f"There is a debate {after.state.thread_id} already.",
                    "Choose another thread id, or read that one with get_debate.",
                ) from error
            _insert(db, no, opening)
            if plan is not None:
                db.execute("INSERT INTO plans VALUES (?, ?)", (no, plan))

    def append(
        self, expected_head: str, entries: Sequence[Sealed], after: Standing, erase: Sequence[Erasure] = ()
    ) -> None:
        thread_id = after.state.thread_id
        with self._transaction() as db:
            moved = db.execute(
                "UPDATE threads SET head = ?, state = ? WHERE thread_id = ? AND head = ? RETURNING no",
                (after.head, after.state.encode(), thread_id, expected_head),
            ).fetchone()
            if moved is None:
                raise StaleHead(thread_id, expected_head, _row(db, thread_id)[2])
            for sealed in entries:
                _insert(db, moved[0], sealed)
            for erasure in erase:
                _erase(db, moved[0], erasure)

    def standing(self, thread_id: str) -> Standing:
        with self._connection() as db:
            return _standing(*_row(db, thread_id)[1:])

    def thread(self, thread_id: str) -> StoredThread:
        with self._snapshot() as db:
            no, name, head, state = _row(db, thread_id)
            lines = [StoredLine(*row) for row in db.execute(f"{_LINES} ORDER BY e.seq", (no,))]
            plan = db.execute("SELECT plan FROM plans WHERE no = ?", (no,)).fetchone()
        return StoredThread(name, head, state, lines, plan[0] if plan else None)

    def window(self, thread_id: str, turns: int) -> Window:
        with self._snapshot() as db:
            no, *rest = _row(db, thread_id)
            standing = _standing(*rest)
            first = standing.state.turn_count - turns
            ends = db.execute(f"{_LINES} AND e.seq IN (0, ?)", (no, standing.state.closing_seq)).fetchall()
            newest = db.execute(f"{_LINES} AND e.turn_index >= ?", (no, first)).fetchall()
        return Window(standing, sorted((StoredLine(*row) for row in ends + newest), key=lambda line: line.seq))

    def listed(self) -> Sequence[Listed]:
        with self._connection() as db:
            rows = db.execute(
                "SELECT thread_id, head, state, iif(typeof(words) = 'text', words, NULL), plans.no IS NOT NULL"
                " FROM threads JOIN entries ON entries.no = threads.no AND seq = 0 JOIN texts ON id = text_id"
                " LEFT JOIN plans ON plans.no = threads.no"
            ).fetchall()
        threads = [
            Listed(name, head, _readable(state), topic, bool(planned)) for name, head, state, topic, planned in rows
        ]
        return sorted(threads, key=lambda listed: listed.state.updated_at if listed.state else "", reverse=True)

    def begin_run(self, thread_id: str, holder: str, at: str) -> None:
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, NULL)", (_row(db, thread_id)[0], holder, at))

    def attend(self, thread_id: str, at: str) -> Attention:
        with self._transaction() as db:
            no, *rest = _row(db, thread_id)
            (request,) = db.execute("UPDATE runs SET beat_at = ? WHERE no = ? RETURNING request", (at, no)).fetchone()
        return Attention(_standing(*rest).state.status is Status.ACTIVE, request)

    def request_stop(self, thread_id: str, why: str) -> None:
        with self._transaction() as db:
            db.execute("UPDATE runs SET request = ? WHERE no = ?", (why, _row(db, thread_id)[0]))

    def report(self, thread_id: str, reports: Sequence[str]) -> None:
        with self._transaction() as db:
            no = _row(db, thread_id)[0]
            (told,) = db.execute("SELECT count(*) FROM reports WHERE no = ?", (no,)).fetchone()
            rows = [(no, number, report) for number, report in enumerate(reports, start=told)]
            db.executemany("INSERT INTO reports VALUES (?, ?, ?)", rows)

    def reports(self, thread_id: str, after: int) -> Sequence[tuple[int, str]]:
        with self._snapshot() as db:
            told = "SELECT number, report FROM reports WHERE no = ? AND number > ? ORDER BY number"
            return db.execute(told, (_row(db, thread_id)[0], after)).fetchall()

    def run_row(self, thread_id: str) -> RunRow:
        with self._snapshot() as db:
            row = db.execute("SELECT holder, beat_at FROM runs WHERE no = ?", (_row(db, thread_id)[0],)).fetchone()
        return RunRow(*row) if row else RunRow(None, None)

    def erase_traces(self) -> bool:
        with self._connection() as db:
            try:
                db.execute(f"PRAGMA busy_timeout = {CHECKPOINT_TIMEOUT_MS}")
                marks = db.execute("SELECT no, seq FROM pending_erasure").fetchall()
                done = _checkpoint(db)
                if done:  # only what was marked before the checkpoint: another process may have redacted since
                    db.executemany("DELETE FROM pending_erasure WHERE no = ? AND seq = ?", marks)
            except sqlite3.OperationalError:  # a lock, a full disk: the marks stand, and the redaction with them
                done = False
            finally:
                db.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        return done

    def _has_pending_erasures(self) -> bool:
        with self._connection() as db:
            return db.execute("SELECT 1 FROM pending_erasure").fetchone() is not None


def _insert(db: sqlite3.Connection, no: int, sealed: Sealed) -> None:
    text_id = None
    if sealed.words is not None:
        (text_id,) = db.execute(
            "INSERT INTO texts (salt, words) VALUES (?, ?) RETURNING id", (sealed.words.salt, sealed.words.text)
        ).fetchone()
    db.execute(
        "INSERT INTO entries (no, seq, turn_index, hash, stored, text_id) VALUES (?, ?, ?, ?, ?, ?)",
        (no, sealed.entry.seq, sealed.turn_index, sealed.hash, sealed.stored, text_id),
    )


def _erase(db: sqlite3.Connection, no: int, erasure: Erasure) -> None:
    """Overwrites in place: a blob of as many bytes leaves the row's size, and so its place, as it was."""
    db.execute(
        "UPDATE texts SET salt = zeroblob(length(CAST(salt AS BLOB))),"
        " words = zeroblob(length(CAST(words AS BLOB)))"
        " WHERE id = (SELECT text_id FROM entries WHERE no = ? AND seq = ?)",
        (no, erasure.target),
    )
    db.execute("UPDATE entries SET erased_by = ? WHERE no = ? AND seq = ?", (erasure.by, no, erasure.target))
    db.execute("INSERT INTO pending_erasure VALUES (?, ?)", (no, erasure.by))


def _checkpoint(db: sqlite3.Connection) -> bool:
    busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def _row(db: sqlite3.Connection, thread_id: str) -> tuple[int, str, str, str]:
    row: tuple[int, str, str, str] | None = None
    if (
        isinstance(thread_id, str) and thread_id.isascii()
    ):  # no other id can be there, and SQLite cannot be asked for a lone surrogate
        named = db.execute("SELECT no, thread_id, head, state FROM threads WHERE thread_id = ?", (thread_id,))
        row = named.fetchone()
    if row is None:
        raise UnknownThread(f"There is no debate {thread_id}.", "`debate-hall list` shows those there are.")
    return row


def _standing(thread_id: str, head: str, state: str) -> Standing:
    decoded = _readable(state)
    if decoded is None:
        raise LedgerBroken(thread_id, None, "the state beside the head cannot be read")
    return Standing(head, decoded)


def _readable(state: str) -> State | None:
    try:
        return State.decode(state)
    except (ValueError, RecursionError, HallError):
        return None
