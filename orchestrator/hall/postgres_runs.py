"""Runs on PostgreSQL: who holds a thread, what they told, and the journal of what they asked.

Whoever writes of a thread locks its row first; what is read behind that lock stands until the commit. So a lease that
another process takes over is good until then, or no more at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from orchestrator.hall.journal import StoredRecord
from orchestrator.hall.postgres_schema import Connection, PostgresSchema
from orchestrator.hall.rows import is_forgotten, no_more_calls, require_held, run_of, standing_of, unknown_thread
from orchestrator.hall.store import Attention, Holder, Lease, Report, RunRow, StoredRun
from orchestrator.hall.terms import Status

RUN = "epoch, place, pid, began_at, beat_at, released"
NO = "(SELECT no FROM threads WHERE lower(thread_id) = %s)"
_THREAD = "SELECT no, thread_id, head, state FROM threads WHERE lower(thread_id) = %s"


class ThreadRow(NamedTuple):
    no: int
    thread_id: str
    head: str
    state: str


class PostgresRuns(PostgresSchema):
    """The half of a `Store` that runs use."""

    def begin_run(self, thread_id: str, holder: Holder, at: str, after: int, succeeds: bool = False) -> Lease | None:
        with self._transaction() as db:
            row, newest, request = locked_with_run(db, thread_id)
            if (newest.epoch if newest else 0) != after:
                return None
            db.execute(
                "INSERT INTO runs (no, epoch, place, pid, began_at, beat_at, request)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s)",
                (row.no, after + 1, holder.place, holder.pid, at, at, request if succeeds else None),
            )
        return Lease(row.thread_id, after + 1)

    def attend(self, lease: Lease, at: str) -> Attention:
        with self._transaction() as db:
            row, newest, request = locked_with_run(db, lease.thread_id)
            require_held(row.thread_id, newest, lease.epoch)
            db.execute("UPDATE runs SET beat_at = %s WHERE no = %s AND epoch = %s", (at, row.no, lease.epoch))
        active = standing_of(*row[1:]).state.status is Status.ACTIVE
        return Attention(active, None if request is None else request.decode())

    def release_run(self, lease: Lease, at: str) -> None:
        with self._transaction() as db:
            row, newest, _ = locked_with_run(db, lease.thread_id)
            if newest is not None and newest.epoch == lease.epoch and not newest.released:
                released = "UPDATE runs SET released = true, beat_at = %s WHERE no = %s AND epoch = %s"
                db.execute(released, (at, row.no, lease.epoch))

    def request_stop(self, thread_id: str, why: str) -> None:
        with self._transaction() as db:
            row, newest, _ = locked_with_run(db, thread_id)
            if newest is not None:
                asked = "UPDATE runs SET request = %s WHERE no = %s AND epoch = %s"
                db.execute(asked, (why.encode(), row.no, newest.epoch))

    def report(self, lease: Lease, reports: Sequence[Report]) -> None:
        with self._transaction() as db:
            put_reports(db, held(db, lease).no, reports)

    def reports(self, thread_id: str, after: int) -> Sequence[tuple[int, Report]]:
        with self._snapshot() as db:
            found = reports_of(db, thread_row(db, thread_id).no, after)
        return list(enumerate(found, max(after, -1) + 1))

    def run_row(self, thread_id: str) -> RunRow | None:
        with self._snapshot() as db:
            newest = f"SELECT {RUN} FROM runs WHERE no = {NO} ORDER BY epoch DESC LIMIT 1"
            _, rows = with_thread(db, thread_id, newest)
        return run_of(*rows[0]) if rows else None

    def run_spans(self, thread_id: str) -> Sequence[tuple[str, str]]:
        with self._snapshot() as db:
            asked = f"SELECT began_at, beat_at FROM runs WHERE no = {NO} ORDER BY epoch"
            return with_thread(db, thread_id, asked)[1]

    def keep(self, lease: Lease, records: Sequence[StoredRecord]) -> None:
        with self._transaction() as db:
            row = held(db, lease)
            begins = any(record.answers is None for record in records)
            if begins and standing_of(*row[1:]).state.status is not Status.ACTIVE:
                raise no_more_calls(lease.thread_id)
            forgotten = _forgotten(db, row.no, records)
            put_records(
                db,
                row.no,
                [each._replace(text=None, salt=None) if each.answers in forgotten else each for each in records],
            )

    def journal(self, thread_id: str) -> Sequence[StoredRecord]:
        with self._snapshot() as db:
            return records_of(db, thread_row(db, thread_id).no)


def key_of(thread_id: str) -> str:
    """What a thread is found by; of what no id can be, a key of none."""
    is_id = isinstance(thread_id, str) and thread_id.isascii() and "\0" not in thread_id
    return thread_id.lower() if is_id else ""


def text_of(words: bytes | None) -> str | None:
    return None if words is None else words.decode()


def bytes_of(words: str | None) -> bytes | None:
    return None if words is None else words.encode()


def with_thread(db: Connection, thread_id: str, asked: str, *more: object) -> tuple[ThreadRow, list[tuple[Any, ...]]]:
    """A thread's row and what else is asked of it, read together; of what is asked, the thread is the first value."""
    key = key_of(thread_id)
    found = db.execute(_THREAD, (key,))
    rest = db.execute(asked, (key, *more))
    return _row(db, found.fetchone(), thread_id), rest.fetchall()


def thread_row(db: Connection, thread_id: str) -> ThreadRow:
    return _row(db, db.execute(_THREAD, (key_of(thread_id),)).fetchone(), thread_id)


def locked_row(db: Connection, thread_id: str) -> ThreadRow:
    """A thread's row, which nobody else changes until the transaction ends."""
    rows = db.ask(f"{_THREAD} FOR NO KEY UPDATE", (key_of(thread_id),))
    return _row(db, rows[0] if rows else None, thread_id)


def locked_with_run(db: Connection, thread_id: str) -> tuple[ThreadRow, RunRow | None, bytes | None]:
    """A thread's row, locked, with its newest run and what was asked of that.

    The run is read by a statement of its own: one that waited for the lock sees what stood when it began.
    """
    key = key_of(thread_id)
    found = db.execute(f"{_THREAD} FOR NO KEY UPDATE", (key,))
    runs = db.ask(f"SELECT {RUN}, request FROM runs WHERE no = {NO} ORDER BY epoch DESC LIMIT 1", (key,))
    row = _row(db, found.fetchone(), thread_id)
    return (row, run_of(*runs[0][:6]), runs[0][6]) if runs else (row, None, None)


def held(db: Connection, lease: Lease) -> ThreadRow:
    """Returns the thread's row, locked, if the lease is good."""
    row, newest, _ = locked_with_run(db, lease.thread_id)
    require_held(row.thread_id, newest, lease.epoch)
    return row


def _row(db: Connection, row: tuple[Any, ...] | None, thread_id: str) -> ThreadRow:
    if row is None:
        known = db.execute("SELECT thread_id FROM threads ORDER BY no DESC")
        raise unknown_thread(thread_id, [name for (name,) in known.fetchall()])
    return ThreadRow(*row)


def _forgotten(db: Connection, no: int, records: Sequence[StoredRecord]) -> set[int]:
    """The records among those that are answered whose texts a redaction has taken."""
    answered = [record.answers for record in records if record.answers is not None and record.text is not None]
    asked = "SELECT number FROM journal WHERE no = %s AND forgotten AND number = ANY (%s)"
    return {number for (number,) in db.ask(asked, (no, answered))} if answered else set()


def runs_of(db: Connection, no: int) -> list[StoredRun]:
    rows = db.execute(f"SELECT {RUN}, request FROM runs WHERE no = %s ORDER BY epoch", (no,)).fetchall()
    runs = [(run_of(*run), text_of(request)) for *run, request in rows]
    return [StoredRun(row, request) for row, request in runs if row is not None]


def put_runs(db: Connection, no: int, runs: Sequence[StoredRun]) -> None:
    rows = [
        (no, epoch, *holder, began_at, beat_at, released, bytes_of(request))
        for (epoch, holder, began_at, beat_at, released), request in runs
    ]
    with db.cursor() as cursor:
        cursor.executemany(f"INSERT INTO runs (no, {RUN}, request) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", rows)


def reports_of(db: Connection, no: int, after: int = -1) -> list[Report]:
    asked = "SELECT told, words FROM reports WHERE no = %s AND number > %s ORDER BY number"
    return [Report(told, text_of(words)) for told, words in db.execute(asked, (no, after)).fetchall()]


def put_reports(db: Connection, no: int, reports: Sequence[Report]) -> None:
    """Adds reports behind those that are there."""
    db.execute(
        "INSERT INTO reports (no, number, told, words) SELECT %(no)s,"
        " (SELECT coalesce(max(number), -1) FROM reports WHERE no = %(no)s) + place, told, words"
        " FROM unnest(%(told)s::text[], %(words)s::bytea[]) WITH ORDINALITY AS told (told, words, place)",
        {
            "no": no,
            "told": [report.told for report in reports],
            "words": [bytes_of(report.words) for report in reports],
        },
    )


def records_of(db: Connection, no: int) -> list[StoredRecord]:
    asked = "SELECT number, hash, stored, words, salt FROM journal WHERE no = %s ORDER BY number"
    rows = db.execute(asked, (no,)).fetchall()
    return [StoredRecord(number, hash_, stored, text_of(words), salt) for number, hash_, stored, words, salt in rows]


def put_records(db: Connection, no: int, records: Sequence[StoredRecord]) -> None:
    """Adds records to a journal. Of one whose text a redaction has taken, elsewhere maybe, that stays known."""
    rows = [
        (no, each.number, each.hash, each.stored, bytes_of(each.text), each.salt, is_forgotten(each))
        for each in records
    ]
    with db.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO journal (no, number, hash, stored, words, salt, forgotten)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)",
            rows,
        )
