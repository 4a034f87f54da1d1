"""The embedded store's reviews: each time of one is a row, taken up and given back by compare-and-swap."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from orchestrator.errors import LeaseLost
from orchestrator.hall.holder import Holder, RunRow
from orchestrator.hall.review_rows import NOTHING, CheckRow, Delivery, ReviewClaim, ReviewNotes, ReviewRow
from orchestrator.hall.sqlite_runs import ZEROS, SQLiteRuns, add_text, run_of, thread_row

_ROW = (
    "name, number, file, due_at, thread_id, seen, revision, outcome, iif(typeof(words) = 'text', words, NULL),"
    " epoch, place, pid, began_at, beat_at, released"
)
_FROM = f"SELECT {_ROW} FROM reviews LEFT JOIN texts ON id = text_id"
_CLAIMED = "name = ? AND number = ? AND epoch = ? AND NOT released"


class SQLiteReviews(SQLiteRuns):
    """The part of a `Store` that reviews use."""

    def claim_review(
        self, name: str, file: str, due_at: str, holder: Holder, at: str, after: int, notes: ReviewNotes = NOTHING
    ) -> ReviewClaim | None:
        with self._transaction() as db:
            newest = _newest(db, name)
            if (newest.number if newest else 0) != after or (newest and not newest.is_over):
                return None
            db.execute(
                "INSERT INTO reviews (name, number, file, due_at, epoch, place, pid, began_at, beat_at,"
                " thread_id, seen, revision, outcome, text_id, released)"
                " VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (name, after + 1, file, due_at, holder.place, holder.pid, at, at, *_noted(db, notes)),
            )
        return ReviewClaim(name, after + 1, 1)

    def take_review(self, claim: ReviewClaim, holder: Holder, at: str) -> ReviewClaim | None:
        with self._transaction() as db:
            taken = db.execute(
                "UPDATE reviews SET epoch = epoch + 1, place = ?, pid = ?, began_at = ?, beat_at = ?, released = 0"
                " WHERE name = ? AND number = ? AND epoch = ? AND outcome IS NULL RETURNING epoch",
                (holder.place, holder.pid, at, at, *claim),
            ).fetchone()
        return claim._replace(epoch=taken[0]) if taken else None

    def attend_review(self, claim: ReviewClaim, at: str) -> None:
        with self._transaction() as db:
            attended = db.execute(f"UPDATE reviews SET beat_at = ? WHERE {_CLAIMED} RETURNING 1", (at, *claim))
            _require(attended.fetchone(), claim)

    def note_review(self, claim: ReviewClaim, notes: ReviewNotes, at: str) -> None:
        with self._transaction() as db:
            row = db.execute(f"SELECT text_id FROM reviews WHERE {_CLAIMED}", claim).fetchone()
            _require(row, claim)
            # The words that are replaced would be out of a redaction's reach.
            db.execute(f"{ZEROS} WHERE id = ?", row)
            db.execute(
                "UPDATE reviews SET thread_id = ?, seen = ?, revision = ?, outcome = ?, text_id = ?, released = ?,"
                " beat_at = ? WHERE name = ? AND number = ?",
                (*_noted(db, notes), at, claim.name, claim.number),
            )

    def release_review(self, claim: ReviewClaim, at: str) -> None:
        with self._transaction() as db:
            db.execute(f"UPDATE reviews SET released = 1, beat_at = ? WHERE {_CLAIMED}", (at, *claim))

    def reviews(self, name: str | None = None) -> Sequence[ReviewRow]:
        with self._snapshot() as db:
            rows = db.execute(f"{_FROM} WHERE ?1 IS NULL OR name = ?1 ORDER BY name, number", (name,))
            return [_row_of(row) for row in rows]

    def newest_review(self, name: str, outcomes: Collection[str] = ()) -> ReviewRow | None:
        with self._snapshot() as db:
            return _newest(db, name, outcomes)

    def delivery(self, result: str, target: str) -> Delivery | None:
        with self._snapshot() as db:
            asked = "SELECT state, attempts, at FROM deliveries WHERE result = ? AND target = ?"
            row = db.execute(asked, (result, target)).fetchone()
        return Delivery(*row) if row else None

    def move_delivery(self, result: str, target: str, before: str | None, after: str, at: str) -> bool:
        with self._transaction() as db:
            if before is None:
                moved = db.execute(
                    "INSERT INTO deliveries VALUES (?, ?, ?, 1, ?) ON CONFLICT DO NOTHING RETURNING 1",
                    (result, target, after, at),
                ).fetchone()
            else:
                moved = db.execute(
                    "UPDATE deliveries SET state = ?, attempts = attempts + 1, at = ?"
                    " WHERE result = ? AND target = ? AND state = ? RETURNING 1",
                    (after, at, result, target, before),
                ).fetchone()
        return moved is not None

    def keep_checks(self, thread_id: str, head: str, checks: Sequence[CheckRow]) -> bool:
        with self._transaction() as db:
            no, _, now, _ = thread_row(db, thread_id)
            if now != head:
                return False
            for row in checks:
                # As above: a redaction reaches only the words that a row leads to.
                db.execute(
                    f"{ZEROS} WHERE id = (SELECT text_id FROM checks WHERE no = ? AND assumption = ?)",
                    (no, row.assumption),
                )
                text_id = add_text(db, "", row.why) if row.why is not None else None
                kept = (no, row.assumption, head, row.result, row.at, text_id)
                db.execute("INSERT OR REPLACE INTO checks VALUES (?, ?, ?, ?, ?, ?)", kept)
        return True

    def checks(self, thread_id: str) -> Sequence[CheckRow]:
        with self._snapshot() as db:
            no, _, head, _ = thread_row(db, thread_id)
            rows = db.execute(
                "SELECT assumption, result, iif(typeof(words) = 'text', words, NULL), at FROM checks"
                " LEFT JOIN texts ON id = text_id WHERE no = ? AND checked = ? ORDER BY assumption",
                (no, head),
            )
            return [CheckRow(*row) for row in rows]


def _noted(db: sqlite3.Connection, notes: ReviewNotes) -> tuple[object, ...]:
    """The values of `thread_id`, `seen`, `revision`, `outcome`, `text_id` and `released`."""
    text_id = add_text(db, "", notes.why) if notes.why is not None else None
    return notes.thread_id, notes.seen, notes.revision, notes.outcome, text_id, notes.outcome is not None


def _newest(db: sqlite3.Connection, name: str, outcomes: Collection[str] = ()) -> ReviewRow | None:
    ended = f" AND outcome IN ({', '.join('?' * len(outcomes))})" if outcomes else ""
    asked = f"{_FROM} WHERE name = ?{ended} ORDER BY number DESC LIMIT 1"
    row = db.execute(asked, (name, *outcomes)).fetchone()
    return _row_of(row) if row else None


def _row_of(row: Sequence[object]) -> ReviewRow:
    name, number, file, due_at, *notes = row[:9]
    run = run_of(*row[9:])  # type: ignore[arg-type]
    assert isinstance(run, RunRow), "a row of a review has an epoch"
    return ReviewRow(name, number, file, due_at, run, ReviewNotes(*notes))  # type: ignore[arg-type]


def _require(row: object, claim: ReviewClaim) -> None:
    if row is None:
        raise LeaseLost(
            f"This process does not hold the review {claim.name} any more: another has taken it over, or it is over."
            " Nothing more was written.",
            f"See what became of it: debate-hall history {claim.name}",
        )
