"""Halls to test on: a clock that ticks, salts that count, and debates with every kind of entry."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.entries import SeatRecord
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Begun, Intent, JournalLine, Outcome, Record, Reused
from orchestrator.hall.review_rows import ReviewNotes
from orchestrator.hall.sqlite import FILE, SQLiteStore
from orchestrator.hall.terms import Role

THREAD = "2026-01-06-billing"
OTHER = "2026-01-07-other"
SEAT = SeatRecord(
    slot="wall-1",
    agent="critical-engineer",
    asked="openai/wall-1",
    answered="openai/wall-1-0102",
    lens="cost, capacity and reversibility",
    input=900,
    cached=300,
    output=120,
    cost="0.0123",
)
PLAN = "rounds: 1  # ünïcode\r\n"


def ticking_clock() -> Callable[[], datetime]:
    seconds = count()
    return lambda: datetime(2026, 1, 6, 9, tzinfo=UTC) + timedelta(seconds=next(seconds))


def counting_salts() -> Callable[[], str]:
    numbers = count()
    return lambda: salt_number(next(numbers))


def salt_number(number: int) -> str:
    return hashlib.sha256(b"salt %d" % number).hexdigest()


class HastyStore(SQLiteStore):
    """The store, but for waiting for the disk: what a power cut would leave is not what most tests are about."""

    def _connect(self) -> sqlite3.Connection:
        db = super()._connect()
        db.execute("PRAGMA synchronous = OFF")
        return db


def hall_in(folder: Path) -> Hall:
    return Hall(HastyStore(prepare(folder)), clock=ticking_clock(), salt=counting_salts())


def database(folder: Path) -> sqlite3.Connection:
    """A connection that knows nothing of the store's care; close it."""
    db = sqlite3.connect(folder / FILE, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    return db


def dump(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""
    with closing(database(folder)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {table: db.execute(f"SELECT * FROM {table}").fetchall() for table in tables}


def speak(hall: Hall, thread_id: str, *roles: Role, pick: bool = False) -> None:
    for role in roles:
        if pick:
            hall.pick_next_speaker(thread_id, role)
        hall.add_turn(thread_id, role, f"What {role} says.")


def every_record() -> list[JournalLine]:
    """A journal with every kind of record: a seat answers in four words, then at length; another cannot be reached, and
    of its second call nobody knows."""
    at = "2026-01-06T09:00:00.000Z"
    salts = map(salt_number, count(900))
    lines: list[JournalLine] = []

    def add(make: Callable[..., Record], text: str | None = None, **members: Any) -> None:
        words = SaltedText(text, next(salts)) if text is not None else None
        if words is not None:
            members["request" if make is Intent else "digest"] = words.digest
        lines.append(JournalLine(len(lines), make(at=at, **members), text, words.salt if words else None))

    wall = {"epoch": 1, "slot": "wall-1", "step": "turn", "route": "wall-1", "tokens": 9000, "cost": "0.25"}
    wind = {"epoch": 1, "slot": "wind-1", "step": "turn", "route": "wind-1", "tokens": 9000}
    counts = {"input": 900, "cached": 300, "output": 120, "charged": True}
    add(Begun, epoch=1, folder="debates/billing", changes='{"limits":{"tokens":90000}}')
    add(Intent, "the hash of a question", attempt=1, **wall)
    add(Outcome, "Yes, but who pays?", intent=1, failed="degenerate", **counts)
    add(Intent, "the hash of a complaint", attempt=2, **wall)
    add(Outcome, "Yes, but nobody on call knows Kafka.", intent=3, answered="wall-1-0102", cost="0.0123", **counts)
    add(Intent, "the hash of a question", attempt=1, **wind)
    add(Outcome, intent=5, failed="rate_limited")
    add(Intent, "the hash of a question", attempt=2, **wind)
    add(Reused, epoch=1, slot="door-1", step="turn", route="door-1", thread="2026-01-05-billing", record=7)
    return lines


def every_kind(hall: Hall) -> None:
    """Fills a hall: THREAD, which is marked and was run, holds every kind of entry but force_closed, OTHER that one.

    Both have a journal with every kind of record; that of THREAD has lost its texts to a redaction.
    """
    hall.open_run(THREAD, "Should we move billing to Kafka?", PLAN, "mediated", 6, 2, ["REHEARSAL"])
    hall.pick_next_speaker(THREAD, "Wind")
    hall.add_turn(THREAD, "Wind", "What if billing were a log?", agent_role="ideator", model="wind-1", token_input=5)
    hall.note(THREAD, "The second Wall seat was not available.", "route_override", "runner")
    hall.pick_next_speaker(THREAD, "Wall")
    hall.add_turn(THREAD, "Wall", "Yes, but nobody on call knows Kafka.", seat=SEAT)
    hall.pick_next_speaker(THREAD, "Door")
    hall.add_turn(THREAD, "Door", "Therefore an outbox table, and no broker.")
    hall.cast_vote(THREAD, "Wall", "object", "The outbox has no owner.", ["T2.C1"], SEAT)
    hall.refine(THREAD, "Therefore an outbox table, owned by payments.", [8], SEAT)
    hall.cast_vote(THREAD, "Wind", "approve", "It leaves the door open.")
    hall.extend(THREAD, 9, 3, "the lead", "One more round was asked for.")
    lease = hall.runs.begin(THREAD)
    hall.runs.report(lease, [{"type": "run_started"}, {"type": "paused", "message": "Wall could not be heard."}])
    hall.runs.keep(lease, every_record())
    hall.runs.stop(THREAD, "It costs too much.")
    hall.tombstone_turn(THREAD, 0, "It named a customer.")
    hall.close_debate(THREAD, "An outbox table, owned by payments, by March.")
    hall.tombstone_turn(THREAD, 1, "It named a colleague.")
    hall.init_debate(OTHER, "Which queue?")
    hall.add_turn(OTHER, "Wind", "None at all.")
    hall.runs.keep(hall.runs.begin(OTHER), every_record())
    review = hall.reviews.begin("weekly", "/reviews.yaml", datetime(2026, 1, 6, tzinfo=UTC), None)
    assert review is not None
    hall.reviews.note(review, ReviewNotes(OTHER, "{}", "4b825dc", None, "Nothing is known so far."))
    hall.reviews.move_delivery("weekly/1", "webhook", None, "intended")
    hall.force_close_debate(OTHER, "The question went away.")
