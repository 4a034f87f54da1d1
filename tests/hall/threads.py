"""Threads written into a store without a hall: what stands in them decides nothing, so all of it is made up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from halls import every_record, salt_number

from orchestrator.hall import journal, ledger
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.entries import Body, Opened, Tombstoned, Turn
from orchestrator.hall.ledger import Sealed, Standing
from orchestrator.hall.store import Erasure, Holder, Lease, Store
from orchestrator.hall.terms import Mode, Role

OPENED = Opened(digest="", mode=Mode.FIXED, max_turns=12, max_rounds=4, strict_cognition=False, barrier=True)
HERE, THERE = Holder("here pid:[1]", 7), Holder("elsewhere pid:[1]", 8)
RECORDS = [journal.seal("thread", line) for line in every_record()]


def sealed(thread_id: str, before: Standing | None, body: Body, text: str = "words", at: str = "09") -> Sealed:
    words = SaltedText(text, salt_number(before.state.seq + 1 if before else 0))
    return ledger.seal(thread_id, before, replace(body, digest=words.digest), words, at)  # type: ignore[call-arg]


def begin(store: Store, thread_id: str, topic: str = "topic", plan: str | None = None, at: str = "09") -> Standing:
    body = replace(OPENED, plan=ledger.plan_digest(plan) if plan is not None else None)
    opening = sealed(thread_id, None, body, topic, at)
    after = ledger.standing(opening, None)
    store.create(opening, after, plan)
    return after


def turn(before: Standing, text: str = "words") -> Sealed:
    state = before.state
    role = tuple(Role)[state.turn_count % 3]
    body = Turn(digest="", turn_index=state.turn_count, round=state.round_of(role), role=role, cognition=role.cognition)
    return sealed(state.thread_id, before, body, text)


def add(store: Store, before: Standing, *entries: Sealed) -> Standing:
    after = before
    for entry in entries:
        after = ledger.standing(entry, after)
    store.append(before.head, entries, after)
    return after


def speak(store: Store, before: Standing, *texts: str) -> Standing:
    for text in texts:
        before = add(store, before, turn(before, text))
    return before


def redact(store: Store, before: Standing, target: int, original: str) -> Standing:
    body = Tombstoned(digest="", target=target, original=original, turn_index=target - 1)
    entry = sealed(before.state.thread_id, before, body, "the reason")
    after = ledger.standing(entry, before)
    store.append(before.head, [entry], after, [Erasure(target, entry.entry.seq)])
    return after


def hold(store: Store, thread_id: str = "thread", after: int = 0) -> Lease:
    lease = store.begin_run(thread_id, HERE, "09", after)
    assert lease is not None
    return lease


def all_of(store: Store, thread_id: str = "thread") -> tuple[Any, ...]:
    """All that a store holds of a thread."""
    reads = (store.thread, store.run_row, store.run_spans, store.journal)
    return (*(read(thread_id) for read in reads), store.reports(thread_id, -1), store.listed())
