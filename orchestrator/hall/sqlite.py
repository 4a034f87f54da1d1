"""The embedded store: one SQLite file in WAL mode, every commit on disk before it is acknowledged.

Texts stand in a table that only grows, apart from the entries. So no text is ever moved by the B-tree, and a redaction
overwrites it where it stands, with zeros of the same length; what is left is the copy in the write-ahead log, which a
TRUNCATE checkpoint removes.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from queue import Empty, LifoQueue

from orchestrator.errors import (
    DebateError,
    LedgerBroken,
    StaleHead,
    StoreTooNew,
    StoreUnavailable,
    ThreadExists,
    UnknownThread,
)
from orchestrator.hall.debate import State
from orchestrator.hall.ledger import Sealed, Standing, StoredLine, StoredThread
from orchestrator.hall.store import Erasure, Listed, Window

FILE = "hall.sqlite3"
VERSION = 1
BUSY_TIMEOUT_MS = 30_000
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
CREATE TABLE pending_erasure (no INTEGER PRIMARY KEY) STRICT;
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


class SQLiteStore:
    """A `Store` in one file of a folder.

    Args:
        folder: an existing folder that is safe (`folder.prepare`).

    Raises:
        StoreUnavailable: the file cannot be opened or made.
        StoreTooNew: a newer version of this program wrote it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._idle: LifoQueue[sqlite3.Connection] = LifoQueue()
        with self._explained():
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            self._prepare()

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
            ends = db.execute(f"{_LINES} AND e.seq IN (0, ?) ORDER BY e.seq", (no, standing.state.closing_seq))
            opening, *closing_line = [StoredLine(*row) for row in ends]
            newest = db.execute(f"{_LINES} AND e.turn_index >= ? ORDER BY e.turn_index", (no, first))
            return Window(standing, [opening, *(StoredLine(*row) for row in newest), *closing_line])

    def line(self, thread_id: str, turn_index: int) -> StoredLine | None:
        with self._snapshot() as db:
            row = db.execute(f"{_LINES} AND e.turn_index = ?", (_row(db, thread_id)[0], turn_index)).fetchone()
        return StoredLine(*row) if row else None

    def listed(self) -> Sequence[Listed]:
        with self._connection() as db:
            rows = db.execute(
                "SELECT thread_id, head, state, iif(typeof(words) = 'text', words, NULL), plans.no IS NOT NULL"
                " FROM threads JOIN entries ON entries.no = threads.no AND seq = 0 JOIN texts ON id = text_id"
                " LEFT JOIN plans ON plans.no = threads.no"
            ).fetchall()
        threads = [Listed(_standing(*row[:3]), row[3], bool(row[4])) for row in rows]
        return sorted(threads, key=lambda listed: listed.standing.state.updated_at, reverse=True)

    def erase_traces(self) -> bool:
        with self._connection() as db:
            db.execute(f"PRAGMA busy_timeout = {CHECKPOINT_TIMEOUT_MS}")
            done = _checkpoint(db)
            if done:
                db.execute("DELETE FROM pending_erasure")
            db.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        return done

    def close(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return

    def _prepare(self) -> None:
        with closing(self._connect()) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("BEGIN IMMEDIATE")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise StoreTooNew(
                    f"{self._path} was written by a newer version (format {version}; this one knows {VERSION}).",
                    "Upgrade with `pip install -U run-debate`.",
                )
            if version == 0:
                for statement in _SCHEMA.split(";\n"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION}")
            db.execute("COMMIT")
            pending = db.execute("SELECT 1 FROM pending_erasure").fetchone()
        if pending:
            self.erase_traces()

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        for pragma in (
            f"busy_timeout = {BUSY_TIMEOUT_MS}",
            "synchronous = FULL",
            "secure_delete = ON",
            "temp_store = MEMORY",
            "foreign_keys = ON",
        ):
            db.execute(f"PRAGMA {pragma}")
        return db

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Lends a connection, idle or new, so that a writer who waits for the file keeps no reader waiting."""
        with self._explained():
            try:
                db = self._idle.get_nowait()
            except Empty:
                db = self._connect()
            try:
                yield db
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                self._idle.put(db)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connection() as db:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """Several reads at one moment."""
        with self._connection() as db:
            db.execute("BEGIN")
            yield db

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Says in plain words what SQLite or the file system said."""
        try:
            yield
        except DebateError:
            raise
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"The store {self._path} cannot be used: {error}.", _cure(error)) from error


def _cure(error: Exception) -> str:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith("SQLITE_BUSY"):
        return f"Another process kept it locked for {BUSY_TIMEOUT_MS // 1000} s; see what writes there and try again."
    if name.startswith("SQLITE_NOTADB") or name.startswith("SQLITE_CORRUPT"):
        return "The file is damaged or not a store: move it away, or restore it from a backup."
    return "See that the disk has room and that you may write the folder, or set DEBATE_HALL_STATE_DIR to another one."


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
    db.execute("INSERT OR IGNORE INTO pending_erasure VALUES (?)", (no,))


def _checkpoint(db: sqlite3.Connection) -> bool:
    busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def _row(db: sqlite3.Connection, thread_id: str) -> tuple[int, str, str, str]:
    row: tuple[int, str, str, str] | None = db.execute(
        "SELECT no, thread_id, head, state FROM threads WHERE thread_id = ?", (thread_id,)
    ).fetchone()
    if row is None:
        raise UnknownThread(f"There is no debate {thread_id}.", "`debate-hall list` shows those there are.")
    return row


def _standing(thread_id: str, head: str, state: str) -> Standing:
    try:
        return Standing(head, State.decode(state))
    except (ValueError, TypeError, AttributeError) as error:
        raise LedgerBroken(thread_id, None, "the state beside the head cannot be read") from error
