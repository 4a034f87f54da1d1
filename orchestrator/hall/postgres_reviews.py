"""Reviews on PostgreSQL: each time of one is a row, taken up and given back by compare-and-swap in one statement."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from orchestrator.hall.holder import Holder
from orchestrator.hall.postgres_runs import PostgresRuns, bytes_of, locked_row, text_of, thread_row
from orchestrator.hall.postgres_schema import Connection
from orchestrator.hall.review_rows import (
    NOTHING,
    CheckRow,
    Delivery,
    KeptCheck,
    KeptDelivery,
    ReviewClaim,
    ReviewNotes,
    ReviewRow,
)
from orchestrator.hall.rows import review_lost, review_of

_ROW = (
    "name, number, file, due_at, thread_id, seen, revision, outcome, words,"
    " epoch, place, pid, began_at, beat_at, released"
)
_CLAIMED = "name = %s AND number = %s AND epoch = %s AND NOT released"


class PostgresReviews(PostgresRuns):
    """The part of a `Store` that reviews use."""

    def claim_review(
        self, name: str, file: str, due_at: str, holder: Holder, at: str, after: int, notes: ReviewNotes = NOTHING
    ) -> ReviewClaim | None:
        noted = notes._asdict() | {"why": bytes_of(notes.why), "is_over": notes.outcome is not None}
        with self._connection() as db:
            claimed = db.execute(
                "INSERT INTO reviews (name, number, file, due_at, epoch, place, pid, began_at, beat_at,"
                " thread_id, seen, revision, outcome, words, released)"
                " SELECT %(name)s, %(after)s + 1, %(file)s, %(due_at)s, 1, %(place)s, %(pid)s, %(at)s, %(at)s,"
                " %(thread_id)s, %(seen)s, %(revision)s, %(outcome)s, %(why)s::bytea, %(is_over)s"
                " WHERE coalesce((SELECT max(number) FROM reviews WHERE name = %(name)s), 0) = %(after)s"
                " AND NOT EXISTS (SELECT FROM reviews WHERE name = %(name)s AND outcome IS NULL)"
                " ON CONFLICT DO NOTHING RETURNING number",
                {"name": name, "after": after, "file": file, "due_at": due_at, "at": at, **holder._asdict(), **noted},
            ).fetchone()
        return ReviewClaim(name, claimed[0], 1) if claimed else None

    def take_review(self, claim: ReviewClaim, holder: Holder, at: str) -> ReviewClaim | None:
        with self._connection() as db:
            taken = db.execute(
                "UPDATE reviews SET epoch = epoch + 1, place = %s, pid = %s, began_at = %s, beat_at = %s,"
                " released = false WHERE name = %s AND number = %s AND epoch = %s AND outcome IS NULL RETURNING epoch",
                (holder.place, holder.pid, at, at, *claim),
            ).fetchone()
        return claim._replace(epoch=taken[0]) if taken else None

    def attend_review(self, claim: ReviewClaim, at: str) -> None:
        with self._connection() as db:
            _require(db.execute(f"UPDATE reviews SET beat_at = %s WHERE {_CLAIMED}", (at, *claim)).rowcount, claim)

    def note_review(self, claim: ReviewClaim, notes: ReviewNotes, at: str) -> None:
        is_over = notes.outcome is not None
        kept = (*notes[:4], bytes_of(notes.why), at, is_over)
        with self._connection() as db:
            noted = db.execute(
                "UPDATE reviews SET thread_id = %s, seen = %s, revision = %s, outcome = %s, words = %s, beat_at = %s,"
                f" released = %s WHERE {_CLAIMED}",
                (*kept, *claim),
            )
            _require(noted.rowcount, claim)

    def release_review(self, claim: ReviewClaim, at: str) -> None:
        with self._connection() as db:
            db.execute(f"UPDATE reviews SET released = true, beat_at = %s WHERE {_CLAIMED}", (at, *claim))

    def reviews(self, name: str | None = None) -> Sequence[ReviewRow]:
        with self._connection() as db:
            asked = f"SELECT {_ROW} FROM reviews WHERE %(name)s::text IS NULL OR name = %(name)s ORDER BY name, number"
            return [_read(row) for row in db.execute(asked, {"name": name})]

    def newest_review(self, name: str, outcomes: Collection[str] = ()) -> ReviewRow | None:
        ended = " AND outcome = ANY (%(outcomes)s)" if outcomes else ""
        asked = f"SELECT {_ROW} FROM reviews WHERE name = %(name)s{ended} ORDER BY number DESC LIMIT 1"
        with self._connection() as db:
            row = db.execute(asked, {"name": name, "outcomes": list(outcomes)}).fetchone()
        return _read(row) if row else None

    def delivery(self, result: str, target: str) -> Delivery | None:
        with self._connection() as db:
            asked = "SELECT state, attempts, at FROM deliveries WHERE result = %s AND target = %s"
            row = db.execute(asked, (result, target)).fetchone()
        return Delivery(*row) if row else None

    def move_delivery(self, result: str, target: str, before: str | None, after: str, at: str) -> bool:
        with self._connection() as db:
            if before is None:
                begun = "INSERT INTO deliveries VALUES (%s, %s, %s, 1, %s) ON CONFLICT DO NOTHING"
                moved = db.execute(begun, (result, target, after, at))
            else:
                moved = db.execute(
                    "UPDATE deliveries SET state = %s, attempts = attempts + 1, at = %s"
                    " WHERE result = %s AND target = %s AND state = %s",
                    (after, at, result, target, before),
                )
            return moved.rowcount == 1

    def deliveries(self) -> Sequence[KeptDelivery]:
        with self._connection() as db:
            rows = db.execute("SELECT result, target, state, attempts, at FROM deliveries ORDER BY result, target")
            return [KeptDelivery(result, target, Delivery(*rest)) for result, target, *rest in rows]

    def adopt_reviews(self, rows: Sequence[ReviewRow], deliveries: Sequence[KeptDelivery]) -> None:
        with self._transaction() as db, db.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO reviews ({_ROW}) VALUES ({', '.join(['%s'] * 15)}) ON CONFLICT DO NOTHING",
                [
                    (*row[:4], *row.notes[:4], bytes_of(row.notes.why), row.run.epoch, *row.run.holder, *row.run[2:])
                    for row in rows
                ],
            )
            cursor.executemany(
                "INSERT INTO deliveries (result, target, state, attempts, at) VALUES (%s, %s, %s, %s, %s)"
                " ON CONFLICT DO NOTHING",
                [(result, target, *delivery) for result, target, delivery in deliveries],
            )

    def keep_checks(self, thread_id: str, head: str, checks: Sequence[CheckRow]) -> bool:
        with self._transaction() as db:
            row = locked_row(db, thread_id)
            if row.head != head:
                return False
            put_checks(db, row.no, [KeptCheck(head, check) for check in checks])
        return True

    def checks(self, thread_id: str) -> Sequence[CheckRow]:
        with self._snapshot() as db:
            row = thread_row(db, thread_id)
            return [check for head, check in checks_of(db, row.no) if head == row.head]


def checks_of(db: Connection, no: int) -> list[KeptCheck]:
    asked = "SELECT checked, assumption, result, words, at FROM checks WHERE no = %s ORDER BY assumption"
    rows = db.execute(asked, (no,)).fetchall()
    return [KeptCheck(head, CheckRow(number, result, text_of(words), at)) for head, number, result, words, at in rows]


def put_checks(db: Connection, no: int, checks: Sequence[KeptCheck]) -> None:
    """Keeps checks, each in place of the one before."""
    with db.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO checks (no, assumption, checked, result, at, words) VALUES (%s, %s, %s, %s, %s, %s)"
            " ON CONFLICT (no, assumption) DO UPDATE SET checked = excluded.checked, result = excluded.result,"
            " at = excluded.at, words = excluded.words",
            [(no, row.assumption, head, row.result, row.at, bytes_of(row.why)) for head, row in checks],
        )


def _read(row: tuple[Any, ...]) -> ReviewRow:
    return review_of((*row[:8], text_of(row[8]), *row[9:]))


def _require(rows: int, claim: ReviewClaim) -> None:
    if rows == 0:
        raise review_lost(claim)
