"""A store on PostgreSQL: the same hall for processes on many machines.

A commit locks its thread's row, compares the head, and sends all that it writes together with the commit itself: two
trips to the server, however much is written. Acknowledged is what the server has on its disk (synchronous_commit, where
nobody has switched it off).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import errors

from orchestrator.errors import StaleHead
from orchestrator.hall import postgres_schema, postgres_search
from orchestrator.hall.address import read
from orchestrator.hall.ledger import Sealed, Standing, StoredLine, StoredThread
from orchestrator.hall.postgres_formats import FORMATS, HOLD_WORDS
from orchestrator.hall.postgres_reviews import PostgresReviews, checks_of, put_checks
from orchestrator.hall.postgres_runs import (
    NO,
    ThreadRow,
    bytes_of,
    held,
    key_of,
    locked_row,
    put_records,
    put_reports,
    put_runs,
    records_of,
    reports_of,
    runs_of,
    text_of,
    thread_row,
    with_thread,
)
from orchestrator.hall.postgres_schema import Connection
from orchestrator.hall.rows import (
    line_of,
    link_in,
    newest_first,
    readable,
    run_of,
    standing_of,
    thread_exists,
    told_in,
)
from orchestrator.hall.search import Query
from orchestrator.hall.store import Beside, Erasure, Lease, Listed, Place, Whole, Window

_VACUUM_PATIENCE = "2s"

_LINES = """
SELECT e.seq, e.turn_index, e.hash, e.stored, e.words, e.salt, e.erased_by, why.words
FROM entries e LEFT JOIN entries why ON why.no = e.no AND why.seq = e.erased_by
WHERE e.no = %s
"""
_LINES_OF = _LINES.replace("= %s", f"= {NO}")
_LISTED = """
SELECT t.thread_id, t.head, t.state, e.words, t.plan IS NOT NULL, e.stored,
       r.epoch, r.place, r.pid, r.began_at, r.beat_at, r.released
FROM threads t JOIN entries e ON e.no = t.no AND e.seq = 0
LEFT JOIN LATERAL (SELECT * FROM runs WHERE runs.no = t.no ORDER BY epoch DESC LIMIT 1) r ON true
ORDER BY t.no
"""


_DESCENDED = """
WITH RECURSIVE found AS (
  SELECT no, lower(thread_id) AS id FROM threads WHERE linked_to = %s
  UNION SELECT t.no, lower(t.thread_id) FROM threads t JOIN found ON t.linked_to = found.id
)
SELECT no FROM threads WHERE no IN (SELECT no FROM found) ORDER BY no FOR NO KEY UPDATE
"""


class PostgresStore(PostgresReviews):
    """A `Store` in one schema of a PostgreSQL database.

    Args:
        location: `postgresql://…`, as libpq reads it, and `schema`, if it is to be another than debate_hall.

    Raises:
        StoreUnavailable: it cannot be reached or used, or has no hall of this version's format (`migrate`).
        StoreTooNew: a newer version of this program wrote it.
    """

    def __init__(self, location: str) -> None:
        super().__init__(read(location), FORMATS)

    def create(self, opening: Sealed, after: Standing, plan: str | None) -> None:
        line = line_of(opening)
        self.adopt(StoredThread(after.state.thread_id, after.head, after.state.encode(), [line], plan))

    def adopt(self, thread: StoredThread, beside: Beside | None = None) -> None:
        with self._transaction() as db:
            no = _begin(db, thread)
            _insert(db, no, thread.thread_id, thread.lines)
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
            row = held(db, lease) if lease is not None else locked_row(db, thread_id)
            if row.head != expected_head:
                raise StaleHead(thread_id, expected_head, row.head)
            moved = "UPDATE threads SET head = %s, state = %s WHERE no = %s"
            db.execute(moved, (after.head, after.state.encode(), row.no))
            _insert(db, row.no, row.thread_id, [line_of(sealed) for sealed in entries])
            if erase:
                _erase(db, row, erase)

    def standing(self, thread_id: str) -> Standing:
        with self._connection() as db:
            return standing_of(*thread_row(db, thread_id)[1:])

    def thread(self, thread_id: str) -> StoredThread:
        with self._snapshot() as db:
            return _thread(db, thread_row(db, thread_id))

    def whole(self, thread_id: str) -> Whole:
        with self._snapshot() as db:
            row = thread_row(db, thread_id)
            kept = Beside(runs_of(db, row.no), reports_of(db, row.no), records_of(db, row.no), checks_of(db, row.no))
            return Whole(_thread(db, row), kept)

    def window(self, thread_id: str, turns: int) -> Window:
        with self._snapshot() as db:
            row = thread_row(db, thread_id)
            standing = standing_of(*row[1:])
            ends = db.execute(f"{_LINES} AND e.seq IN (0, %s)", (row.no, standing.state.closing_seq))
            first = standing.state.turn_count - turns
            newest = db.execute(f"{_LINES} AND e.turn_index >= %s", (row.no, first))
            lines = [_line(line) for line in (*ends.fetchall(), *newest.fetchall())]
        return Window(standing, sorted(lines, key=lambda line: line.seq))

    def newer(self, thread_id: str, seq: int) -> Window:
        with self._snapshot() as db:
            row, lines = with_thread(db, thread_id, f"{_LINES_OF} AND e.seq > %s ORDER BY e.seq", seq)
        return Window(standing_of(*row[1:]), [_line(line) for line in lines])

    def line(self, thread_id: str, seq: int) -> StoredLine | None:
        with self._snapshot() as db:
            _, lines = with_thread(db, thread_id, f"{_LINES_OF} AND e.seq = %s", seq)
        return _line(lines[0]) if lines else None

    def linked_to(self, thread_id: str) -> Sequence[str]:
        linked = "SELECT thread_id FROM threads WHERE linked_to = %s ORDER BY no"
        with self._snapshot() as db:
            return [name for (name,) in with_thread(db, thread_id, linked)[1]]

    def search(self, query: Query, apart: bool = False) -> Sequence[Place]:
        with self._snapshot() as db:
            return postgres_search.find(db, query, apart)

    def listed(self) -> Sequence[Listed]:
        with self._connection() as db:
            rows = db.execute(_LISTED).fetchall()
        return newest_first(
            Listed(name, head, readable(state), text_of(topic), planned, run_of(*run), *told_in(opening))
            for name, head, state, topic, planned, opening, *run in rows
        )

    def erase_traces(self) -> bool:
        """Lets the server clear away the rows that held deleted texts.

        What is left, in the unused parts of its pages and in its write-ahead log, no statement reads, and none removes.
        """
        warnings: list[str | None] = []
        with self._connection() as db:
            db.add_notice_handler(handler := lambda said: warnings.append(said.message_primary))
            try:
                db.execute(f"SET lock_timeout = '{_VACUUM_PATIENCE}'")
                db.execute(f"VACUUM {', '.join(HOLD_WORDS)}")
            except (errors.LockNotAvailable, errors.InsufficientPrivilege):
                return False
            finally:
                db.execute("RESET lock_timeout")
                db.remove_notice_handler(handler)
        return not warnings  # it warns of a table that is not this user's to clear


def migrate(location: str) -> tuple[int, int]:
    """Makes the newest format; returns the version before, 0 where there was none, and now.

    Raises:
        StoreUnavailable
        StoreTooNew: a newer version of this program wrote it.
    """
    return postgres_schema.migrate(read(location), FORMATS)


def _thread(db: Connection, row: ThreadRow) -> StoredThread:
    lines = db.execute(f"{_LINES} ORDER BY e.seq", (row.no,))
    plan = db.execute("SELECT plan FROM threads WHERE no = %s", (row.no,))
    return StoredThread(*row[1:], [_line(line) for line in lines.fetchall()], (plan.fetchone() or (None,))[0])


def _line(row: tuple[Any, ...]) -> StoredLine:
    seq, turn_index, hash_, stored, words, salt, erased_by, why = row
    return StoredLine(seq, turn_index, hash_, stored, text_of(words), salt, erased_by, text_of(why))


def format_at(location: str) -> tuple[int, int]:
    """Returns the version of a schema's format, 0 where there is none yet, and the newest.

    Raises:
        StoreUnavailable
        StoreTooNew: a newer version of this program wrote it.
    """
    return postgres_schema.format_at(read(location), FORMATS)


def _begin(db: Connection, thread: StoredThread) -> int:
    """Adds a thread without its entries, and returns its number."""
    linked_to = key_of(link_in(thread.lines[0].stored) or "") if thread.lines else ""
    begun = db.ask(
        "INSERT INTO threads (thread_id, head, state, plan, linked_to) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING RETURNING no",
        (thread.thread_id, thread.head, thread.state, thread.plan, linked_to or None),
    )
    if not begun:
        raise thread_exists(thread.thread_id)
    return int(begun[0][0])


def _insert(db: Connection, no: int, thread_id: str, lines: Sequence[StoredLine]) -> None:
    with db.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO entries (no, seq, turn_index, hash, stored, words, salt, erased_by)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (no, line.seq, line.turn_index, line.hash, line.stored, bytes_of(line.text), line.salt, line.erased_by)
                for line in lines
            ],
        )
    postgres_search.put_words(db, no, thread_id, lines)


def _erase(db: Connection, row: ThreadRow, erase: Sequence[Erasure]) -> None:
    """Takes texts, and what might hold them: the journals, runs, checks and reviews of this and of linked threads.

    The rows of the linked ones are locked too, later ones after earlier ones as everywhere: what their runs keep
    meanwhile is kept before this, and taken, or after it.
    """
    for erasure in erase:
        db.execute(
            "UPDATE entries SET words = NULL, salt = NULL, erased_by = %s WHERE no = %s AND seq = %s",
            (erasure.by, row.no, erasure.target),
        )
        db.execute("DELETE FROM said WHERE no = %s AND seq = %s", (row.no, erasure.target))
    linked = db.ask(_DESCENDED, (key_of(row.thread_id),))
    numbers = [row.no, *(no for (no,) in linked)]
    for forgotten in (
        "UPDATE journal SET words = NULL, salt = NULL, forgotten = true WHERE no = ANY (%s) AND words IS NOT NULL",
        "UPDATE reports SET words = NULL WHERE no = ANY (%s) AND words IS NOT NULL",
        "UPDATE runs SET request = '' WHERE no = ANY (%s) AND request IS NOT NULL",
        "UPDATE checks SET words = NULL WHERE no = ANY (%s) AND words IS NOT NULL",
        "UPDATE reviews SET words = NULL WHERE words IS NOT NULL"
        " AND lower(thread_id) IN (SELECT lower(thread_id) FROM threads WHERE no = ANY (%s))",
    ):
        db.execute(forgotten, (numbers,))
