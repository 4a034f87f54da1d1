"""The embedded store's runs: who holds a thread, what they told, and the journal of what they asked.

Every write of a run checks its lease in its own transaction: a process that was only asleep, and whose thread another
has taken over, writes nothing any more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from orchestrator.hall.journal import StoredRecord
from orchestrator.hall.rows import is_forgotten, no_more_calls, require_held, run_of, standing_of, unknown_thread
from orchestrator.hall.sqlite_file import SQLiteFile
from orchestrator.hall.store import Attention, Holder, Lease, Report, RunRow, StoredRun
from orchestrator.hall.terms import Status

RUN = "epoch, place, pid, began_at, beat_at, released"
# Overwrites in place: a blob of as many bytes leaves the row's size, and so its place, as it was.
ZEROS = "UPDATE texts SET salt = zeroblob(length(CAST(salt AS BLOB))), words = zeroblob(length(CAST(words AS BLOB)))"
_WORDS = "iif(typeof(words) = 'text', words, NULL)"
_SALT = "iif(typeof(salt) = 'text', salt, NULL)"
_NEWEST = "no = ?1 AND epoch = (SELECT max(epoch) FROM runs WHERE no = ?1)"


class SQLiteRuns(SQLiteFile):
    """The half of a `Store` that runs use."""

    def begin_run(self, thread_id: str, holder: Holder, at: str, after: int, succeeds: bool = False) -> Lease | None:
        with self._transaction() as db:
            no, name, *_ = thread_row(db, thread_id)
            newest = db.execute(f"SELECT epoch, request_id FROM runs WHERE {_NEWEST}", (no,)).fetchone()
            epoch, request_id = newest or (0, None)
            if epoch != after:
                return None
            db.execute(
                "INSERT INTO runs (no, epoch, place, pid, began_at, beat_at, request_id) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (no, epoch + 1, holder.place, holder.pid, at, at, request_id if succeeds else None),
            )
        return Lease(name, epoch + 1)

    def attend(self, lease: Lease, at: str) -> Attention:
        with self._transaction() as db:
            no, *rest = held_row(db, lease)
            (request,) = db.execute(
                "UPDATE runs SET beat_at = ? WHERE no = ? AND epoch = ?"
                f" RETURNING (SELECT coalesce({_WORDS}, '') FROM texts WHERE id = request_id)",
                (at, no, lease.epoch),
            ).fetchone()
        return Attention(standing_of(*rest).state.status is Status.ACTIVE, request)

    def release_run(self, lease: Lease, at: str) -> None:
        with self._transaction() as db:
            no = thread_row(db, lease.thread_id)[0]
            released = f"UPDATE runs SET released = 1, beat_at = ?2 WHERE {_NEWEST} AND epoch = ?3 AND NOT released"
            db.execute(released, (no, at, lease.epoch))

    def request_stop(self, thread_id: str, why: str) -> None:
        with self._transaction() as db:
            no = thread_row(db, thread_id)[0]
            # The words that are replaced would be out of a redaction's reach.
            db.execute(f"{ZEROS} WHERE id = (SELECT request_id FROM runs WHERE {_NEWEST})", (no,))
            db.execute(f"UPDATE runs SET request_id = ?2 WHERE {_NEWEST}", (no, add_text(db, "", why)))

    def report(self, lease: Lease, reports: Sequence[Report]) -> None:
        with self._transaction() as db:
            put_reports(db, held_row(db, lease)[0], reports)

    def reports(self, thread_id: str, after: int) -> Sequence[tuple[int, Report]]:
        with self._snapshot() as db:
            found = reports_of(db, thread_row(db, thread_id)[0], after)
        return list(enumerate(found, max(after, -1) + 1))

    def run_row(self, thread_id: str) -> RunRow | None:
        with self._snapshot() as db:
            return newest_run(db, thread_row(db, thread_id)[0])

    def run_spans(self, thread_id: str) -> Sequence[tuple[str, str]]:
        with self._snapshot() as db:
            spans = "SELECT began_at, beat_at FROM runs WHERE no = ? ORDER BY epoch"
            return db.execute(spans, (thread_row(db, thread_id)[0],)).fetchall()

    def keep(self, lease: Lease, records: Sequence[StoredRecord]) -> None:
        with self._transaction() as db:
            no, *rest = held_row(db, lease)
            begins = any(record.answers is None for record in records)
            if begins and standing_of(*rest).state.status is not Status.ACTIVE:
                raise no_more_calls(lease.thread_id)
            put_records(db, no, records)

    def journal(self, thread_id: str) -> Sequence[StoredRecord]:
        with self._snapshot() as db:
            return records_of(db, thread_row(db, thread_id)[0])


def runs_of(db: sqlite3.Connection, no: int) -> list[StoredRun]:
    request = f"iif(request_id IS NULL, NULL, coalesce({_WORDS}, ''))"
    asked = f"SELECT {RUN}, {request} FROM runs LEFT JOIN texts ON id = request_id WHERE no = ? ORDER BY epoch"
    rows = [(run_of(*run), request) for *run, request in db.execute(asked, (no,))]
    return [StoredRun(row, request) for row, request in rows if row is not None]


def put_runs(db: sqlite3.Connection, no: int, runs: Sequence[StoredRun]) -> None:
    for (epoch, holder, began_at, beat_at, released), request in runs:
        request_id = add_text(db, "", request) if request is not None else None
        row = (no, epoch, holder.place, holder.pid, began_at, beat_at, released, request_id)
        db.execute(f"INSERT INTO runs (no, {RUN}, request_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def reports_of(db: sqlite3.Connection, no: int, after: int = -1) -> list[Report]:
    asked = f"SELECT told, {_WORDS} FROM reports LEFT JOIN texts ON id = text_id WHERE no = ? AND number > ?"
    return [Report(*row) for row in db.execute(f"{asked} ORDER BY number", (no, after))]


def put_reports(db: sqlite3.Connection, no: int, reports: Sequence[Report]) -> None:
    """Adds reports behind those that are there."""
    (last,) = db.execute("SELECT max(number) FROM reports WHERE no = ?", (no,)).fetchone()
    for number, report in enumerate(reports, start=0 if last is None else last + 1):
        text_id = add_text(db, "", report.words) if report.words is not None else None
        db.execute("INSERT INTO reports VALUES (?, ?, ?, ?)", (no, number, report.told, text_id))


def records_of(db: sqlite3.Connection, no: int) -> list[StoredRecord]:
    asked = f"SELECT number, hash, stored, {_WORDS}, {_SALT} FROM journal LEFT JOIN texts ON id = text_id WHERE no = ?"
    return [StoredRecord(*row) for row in db.execute(f"{asked} ORDER BY number", (no,))]


def put_records(db: sqlite3.Connection, no: int, records: Sequence[StoredRecord]) -> None:
    """Adds records to a journal. Of one whose text a redaction has taken, elsewhere maybe, that stays known."""
    for record in records:
        text_id = None
        if is_forgotten(record):
            text_id = add_text(db, b"", b"")
        elif record.text is not None and record.salt is not None and not _is_forgotten(db, no, record.answers):
            text_id = add_text(db, record.salt, record.text)
        row = (no, record.number, record.hash, record.stored, text_id)
        db.execute("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", row)


def _is_forgotten(db: sqlite3.Connection, no: int, number: int | None) -> bool:
    """Whether a redaction has taken the text of a record."""
    asked = "SELECT typeof(words) FROM journal JOIN texts ON id = text_id WHERE no = ? AND number = ?"
    return number is not None and db.execute(asked, (no, number)).fetchone() == ("blob",)


def add_text(db: sqlite3.Connection, salt: str | bytes, words: str | bytes) -> int:
    text_id: int
    (text_id,) = db.execute("INSERT INTO texts (salt, words) VALUES (?, ?) RETURNING id", (salt, words)).fetchone()
    return text_id


def thread_row(db: sqlite3.Connection, thread_id: str) -> tuple[int, str, str, str]:
    row: tuple[int, str, str, str] | None = None
    # No other id can be there, and SQLite cannot be asked for a lone surrogate.
    if isinstance(thread_id, str) and thread_id.isascii():
        named = db.execute("SELECT no, thread_id, head, state FROM threads WHERE thread_id = ?", (thread_id,))
        row = named.fetchone()
    if row is None:
        known = [name for (name,) in db.execute("SELECT thread_id FROM threads ORDER BY no DESC")]
        raise unknown_thread(thread_id, known)
    return row


def held_row(db: sqlite3.Connection, lease: Lease) -> tuple[int, str, str, str]:
    """Returns the thread's row, if the lease is good."""
    row = thread_row(db, lease.thread_id)
    require_held(row[1], newest_run(db, row[0]), lease.epoch)
    return row


def newest_run(db: sqlite3.Connection, no: int) -> RunRow | None:
    row = db.execute(f"SELECT {RUN} FROM runs WHERE no = ? ORDER BY epoch DESC LIMIT 1", (no,)).fetchone()
    return run_of(*row) if row else None
