"""The embedded store: one SQLite file in WAL mode, every commit on disk before it is acknowledged.

All that a redaction can take stands in `texts`, a table that only grows, apart from what it belongs to. So the B-tree
moves texts but once, when the table outgrows its first page, and secure_delete zeroes the page they leave. A redaction
overwrites a text where it stands, with zeros of the same length; what is left is the copy in the write-ahead log, which
a TRUNCATE checkpoint removes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.errors import StaleHead
from orchestrator.hall import sqlite_search
from orchestrator.hall.folder import FILE
from orchestrator.hall.ledger import Sealed, Standing, StoredLine, StoredThread
from orchestrator.hall.rows import line_of, newest_first, readable, run_of, standing_of, thread_exists, told_in
from orchestrator.hall.search import Query
from orchestrator.hall.sqlite_file import BUSY_TIMEOUT_MS, format_of, require_known
from orchestrator.hall.sqlite_formats import FORMATS
from orchestrator.hall.sqlite_reviews import SQLiteReviews, checks_of, put_checks
from orchestrator.hall.sqlite_runs import (
    RUN,
    ZEROS,
    add_text,
    held_row,
    put_records,
    put_reports,
    put_runs,
    records_of,
    reports_of,
    runs_of,
    thread_row,
)
from orchestrator.hall.store import Beside, Erasure, Lease, Listed, Place, Whole, Window

CHECKPOINT_TIMEOUT_MS = 2_000

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


class SQLiteStore(SQLiteReviews):
    """A `Store` in one file of a folder.

    Args:
        folder: an existing folder that is safe (`folder.prepare`).

    Raises:
        StoreUnavailable: the file cannot be opened or made.
        StoreTooNew: a newer version of this program wrote it.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / FILE, FORMATS)
        if self._has_pending_erasures():
            self.erase_traces()

    def create(self, opening: Sealed, after: Standing, plan: str | None) -> None:
        with self._transaction() as db:
            _insert(db, _begin(db, after.state.thread_id, after.head, after.state.encode(), plan), line_of(opening))

    def adopt(self, thread: StoredThread, beside: Beside | None = None) -> None:
        with self._transaction() as db:
            no = _begin(db, thread.thread_id, thread.head, thread.state, thread.plan)
            for line in thread.lines:
                _insert(db, no, line)
            if beside is not None:
                put_runs(db, no, beside.runs)
                put_reports(db, no, beside.reports)
                put_records(db, no, beside.journal)
                put_checks(db, no, beside.checks)

    def append(
        self,
        expected_head: str,
        entries: Sequence[Sealed],
        after: Standing,
        erase: Sequence[Erasure] = (),
        lease: Lease | None = None,
    ) -> None:
        thread_id = after.state.thread_id
        with self._transaction() as db:
            if lease is not None:
                held_row(db, lease)
            moved = db.execute(
                "UPDATE threads SET head = ?, state = ? WHERE thread_id = ? AND head = ? RETURNING no",
                (after.head, after.state.encode(), thread_id, expected_head),
            ).fetchone()
            if moved is None:
                raise StaleHead(thread_id, expected_head, thread_row(db, thread_id)[2])
            for sealed in entries:
                _insert(db, moved[0], line_of(sealed))
            for erasure in erase:
                _erase(db, moved[0], erasure)
            if erase:
                for no in (moved[0], *_descended_from(db, thread_id)):
                    _forget(db, no)

    def standing(self, thread_id: str) -> Standing:
        with self._connection() as db:
            return standing_of(*thread_row(db, thread_id)[1:])

    def thread(self, thread_id: str) -> StoredThread:
        with self._snapshot() as db:
            return _thread(db, *thread_row(db, thread_id))

    def whole(self, thread_id: str) -> Whole:
        with self._snapshot() as db:
            row = thread_row(db, thread_id)
            kept = Beside(runs_of(db, row[0]), reports_of(db, row[0]), records_of(db, row[0]), checks_of(db, row[0]))
            return Whole(_thread(db, *row), kept)

    def window(self, thread_id: str, turns: int) -> Window:
        with self._snapshot() as db:
            no, *rest = thread_row(db, thread_id)
            standing = standing_of(*rest)
            first = standing.state.turn_count - turns
            ends = db.execute(f"{_LINES} AND e.seq IN (0, ?)", (no, standing.state.closing_seq)).fetchall()
            newest = db.execute(f"{_LINES} AND e.turn_index >= ?", (no, first)).fetchall()
        return Window(standing, sorted((StoredLine(*row) for row in ends + newest), key=lambda line: line.seq))

    def newer(self, thread_id: str, seq: int) -> Window:
        with self._snapshot() as db:
            no, *standing = thread_row(db, thread_id)
            rows = db.execute(f"{_LINES} AND e.seq > ? ORDER BY e.seq", (no, seq))
            return Window(standing_of(*standing), [StoredLine(*row) for row in rows])

    def line(self, thread_id: str, seq: int) -> StoredLine | None:
        with self._snapshot() as db:
            row = db.execute(f"{_LINES} AND e.seq = ?", (thread_row(db, thread_id)[0], seq)).fetchone()
        return StoredLine(*row) if row else None

    def lines_from(self, thread_id: str, seq: int) -> Sequence[StoredLine]:
        """Returns the entries of a thread from the one numbered `seq`."""
        with self._snapshot() as db:
            no = thread_row(db, thread_id)[0]
            return [StoredLine(*row) for row in db.execute(f"{_LINES} AND e.seq >= ? ORDER BY e.seq", (no, seq))]

    def heads(self) -> Mapping[str, str]:
        """Returns the head of each thread."""
        with self._connection() as db:
            return dict(db.execute("SELECT thread_id, head FROM threads").fetchall())

    def linked_to(self, thread_id: str) -> Sequence[str]:
        with self._snapshot() as db:
            asked = "SELECT thread_id FROM threads WHERE no = ?"
            return [db.execute(asked, (no,)).fetchone()[0] for no in _linked_to(db, thread_row(db, thread_id)[1])]

    def search(self, query: Query, apart: bool = False) -> Sequence[Place]:
        if self._has_pending_erasures():
            self._erase_traces(patience_ms=0)
        return sqlite_search.find(self._path.parent, self, query, apart)

    def listed(self) -> Sequence[Listed]:
        with self._connection() as db:
            rows = db.execute(
                "SELECT thread_id, head, state, iif(typeof(words) = 'text', words, NULL), plans.no IS NOT NULL, stored,"
                f" {RUN} FROM threads JOIN entries ON entries.no = threads.no AND seq = 0"
                " LEFT JOIN texts ON id = text_id"
                " LEFT JOIN plans ON plans.no = threads.no"
                " LEFT JOIN runs ON runs.no = threads.no"
                " AND epoch = (SELECT max(epoch) FROM runs newest WHERE newest.no = threads.no)"
            ).fetchall()
        threads = (
            Listed(name, head, readable(state), topic, bool(planned), run_of(*run), *told_in(opening))
            for name, head, state, topic, planned, opening, *run in rows
        )
        return newest_first(threads)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def erase_traces(self) -> bool:
        return self._erase_traces(CHECKPOINT_TIMEOUT_MS)

    def _erase_traces(self, patience_ms: int) -> bool:
        with self._connection() as db:
            try:
                db.execute(f"PRAGMA busy_timeout = {patience_ms}")
                marks = db.execute("SELECT no, seq FROM pending_erasure").fetchall()
                emptied = sqlite_search.empty(self._path.parent, patience_ms)
                done = _checkpoint(db) and emptied
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


def migrate(folder: Path) -> tuple[int, int]:
    """Brings a folder's file to the newest format, as opening it does.

    Returns:
        the version before, 0 where there was none, and now.

    Raises:
        StoreUnavailable
        StoreTooNew: a newer version of this program wrote it.
    """
    before, newest = format_at(folder)
    SQLiteStore(folder).close()
    return before, newest


def format_at(folder: Path) -> tuple[int, int]:
    """Returns the version of a folder's format, 0 where there is none yet, and the newest.

    Raises:
        StoreUnavailable
        StoreTooNew: a newer version of this program wrote it.
    """
    path = folder.expanduser() / FILE
    version = format_of(path) if path.exists() else 0
    require_known(path, version, len(FORMATS))
    return version, len(FORMATS)


def _thread(db: sqlite3.Connection, no: int, thread_id: str, head: str, state: str) -> StoredThread:
    lines = [StoredLine(*row) for row in db.execute(f"{_LINES} ORDER BY e.seq", (no,))]
    plan = db.execute("SELECT plan FROM plans WHERE no = ?", (no,)).fetchone()
    return StoredThread(thread_id, head, state, lines, plan[0] if plan else None)


def _begin(db: sqlite3.Connection, thread_id: str, head: str, state: str, plan: str | None) -> int:
    """Adds a thread without its entries, and returns its number."""
    try:
        number: int
        (number,) = db.execute(
            "INSERT INTO threads (thread_id, head, state) VALUES (?, ?, ?) RETURNING no", (thread_id, head, state)
        ).fetchone()
    except sqlite3.IntegrityError as error:
        raise thread_exists(thread_id) from error
    if plan is not None:
        db.execute("INSERT INTO plans VALUES (?, ?)", (number, plan))
    return number


def _insert(db: sqlite3.Connection, no: int, line: StoredLine) -> None:
    text_id = add_text(db, line.salt, line.text) if line.text is not None and line.salt is not None else None
    db.execute(
        "INSERT INTO entries (no, seq, turn_index, hash, stored, text_id, erased_by) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (no, line.seq, line.turn_index, line.hash, line.stored, text_id, line.erased_by),
    )


def _erase(db: sqlite3.Connection, no: int, erasure: Erasure) -> None:
    db.execute(f"{ZEROS} WHERE id = (SELECT text_id FROM entries WHERE no = ? AND seq = ?)", (no, erasure.target))
    db.execute("UPDATE entries SET erased_by = ? WHERE no = ? AND seq = ?", (erasure.by, no, erasure.target))
    db.execute("INSERT INTO pending_erasure VALUES (?, ?)", (no, erasure.by))


def _linked_to(db: sqlite3.Connection, thread_id: str) -> list[int]:
    """The threads that are about one: their runs were asked with its words, and may have been answered with them."""
    linked = "iif(json_valid(stored), json_extract(stored, '$.link.thread_id'), NULL)"
    openings = "threads JOIN entries ON entries.no = threads.no AND seq = 0"  # each found by its key
    asked = f"SELECT threads.no FROM {openings} WHERE {linked} = ? COLLATE NOCASE ORDER BY threads.no"
    return [no for (no,) in db.execute(asked, (thread_id,))]


def _descended_from(db: sqlite3.Connection, thread_id: str) -> list[int]:
    """The threads that are linked to one, and those linked to them: what replays took over may be its words."""
    found: dict[int, None] = {}
    names = [thread_id]
    while names:
        news = [no for no in _linked_to(db, names.pop()) if no not in found]
        found.update(dict.fromkeys(news))
        names += [db.execute("SELECT thread_id FROM threads WHERE no = ?", (no,)).fetchone()[0] for no in news]
    return list(found)


def _forget(db: sqlite3.Connection, no: int) -> None:
    """Takes the texts of a thread's journal, of its runs and checks, and of the reviews that held it."""
    for column in ("text_id FROM journal", "text_id FROM reports", "request_id FROM runs", "text_id FROM checks"):
        db.execute(f"{ZEROS} WHERE id IN (SELECT {column} WHERE no = ?)", (no,))
    held = "SELECT text_id FROM reviews WHERE thread_id = (SELECT thread_id FROM threads WHERE no = ?)"
    db.execute(f"{ZEROS} WHERE id IN ({held})", (no,))


def _checkpoint(db: sqlite3.Connection) -> bool:
    busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy
