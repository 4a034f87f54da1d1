"""A hall of many debates, written at once: whole debates with topics, turns and decisions of their own."""

from __future__ import annotations

import random
from collections.abc import Iterator

from threads import OPENED, sealed, turn

from orchestrator.hall import ledger
from orchestrator.hall.entries import Closed
from orchestrator.hall.ledger import Standing, StoredLine, StoredThread
from orchestrator.hall.store import Store
from orchestrator.hall.terms import Status

TURNS = 6
_SUBJECTS = ("billing", "search", "logins", "invoices", "exports", "alerts", "imports", "backups")
_WAYS = ("Kafka", "an outbox table", "Postgres", "a queue", "cron", "webhooks", "a monolith", "a cache")
_CLOSED = Closed(digest="", status=Status.SYNTHESIS)


def fill(store: Store, count: int, words: int = 300) -> None:
    """Adds debates numbered from 0, each of whose turns has so many words; `turn_text` says which are told apart."""
    for thread in debates(count, words):
        store.adopt(thread)


def debates(count: int, words: int) -> Iterator[StoredThread]:
    chance = random.Random(7)
    vocabulary = [f"{chance.choice('bcdfgklmprst')}{number:x}" for number in range(8_000)]
    for number in range(count):
        subject, way = _SUBJECTS[number % 8], _WAYS[number // 8 % 8]
        texts = [" ".join(chance.choices(vocabulary, k=words)) for _ in range(TURNS)]
        texts[0] += f" What if {subject} moved to {way}?"
        texts[1] += f" Yes — but who owns {way}? Unique{number}word."
        yield _thread(number, f"Should we move {subject} to {way}?", texts, f"We move {subject} to {way}.")


def _thread(number: int, topic: str, texts: list[str], decision: str) -> StoredThread:
    thread_id = f"2026-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}-debate-{number}"
    at = f"{thread_id[:10]}T09:00:00.000000Z"
    entries = [sealed(thread_id, None, OPENED, topic, at)]
    standing = ledger.standing(entries[0], None)
    for text in texts:
        standing = _with(entries, standing, turn(standing, text))
    standing = _with(entries, standing, sealed(thread_id, standing, _CLOSED, decision, at))
    lines = [
        StoredLine(entry.entry.seq, entry.turn_index, entry.hash, entry.stored, entry.words.text, entry.words.salt)
        for entry in entries
        if entry.words is not None
    ]
    return StoredThread(thread_id, standing.head, standing.state.encode(), lines, None)


def _with(entries: list[ledger.Sealed], before: Standing, entry: ledger.Sealed) -> Standing:
    entries.append(entry)
    return ledger.standing(entry, before)
