"""The contract of every store: what checks of a thread's assumptions came to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from threads import add, begin, redact, turn

from orchestrator.errors import UnknownThread
from orchestrator.hall.review_rows import CheckRow
from orchestrator.hall.store import Store

FIRST = CheckRow(0, "holds", "a secret", "09")
SECOND = CheckRow(1, "broken", "another", "09")


def test_what_checks_came_to_comes_back_each_in_place_of_the_one_before(opener: Callable[[], Store]) -> None:
    store, elsewhere = opener(), opener()
    opening, other = begin(store, "Thread"), begin(store, "other")
    assert list(store.checks("thread")) == []
    assert store.keep_checks("thread", opening.head, [SECOND, FIRST])
    assert store.keep_checks("other", other.head, [FIRST])
    assert elsewhere.checks("THREAD") == [FIRST, SECOND]
    later = CheckRow(1, "unknown", None, "10")
    assert elsewhere.keep_checks("thread", opening.head, [later])
    assert store.checks("thread") == [FIRST, later]
    assert store.checks("other") == [FIRST]


def test_what_was_checked_of_a_record_that_reads_otherwise_by_now_is_neither_kept_nor_told(store: Store) -> None:
    opening = begin(store, "thread")
    assert store.keep_checks("thread", opening.head, [FIRST, SECOND])
    after = add(store, opening, turn(opening))
    assert list(store.checks("thread")) == []
    assert not store.keep_checks("thread", opening.head, [FIRST])
    assert list(store.checks("thread")) == []
    later = SECOND._replace(at="10")
    assert store.keep_checks("thread", after.head, [later])
    assert store.checks("thread") == [later]


def test_a_redaction_takes_the_words_and_lets_nobody_write_those_of_before(store: Store) -> None:
    opening = begin(store, "thread")
    said = turn(opening, "a secret")
    before = add(store, opening, said)
    assert store.keep_checks("thread", before.head, [FIRST])
    after = redact(store, before, 1, said.entry.body.digest)  # type: ignore[union-attr]
    assert not store.keep_checks("thread", before.head, [FIRST])
    assert list(store.checks("thread")) == []
    assert store.keep_checks("thread", after.head, [FIRST._replace(why="harmless")])
    assert [row.why for row in store.checks("thread")] == ["harmless"]


def test_there_are_no_checks_of_a_thread_that_is_not_there(store: Store) -> None:
    for use in (lambda: store.checks("never"), lambda: store.keep_checks("never", "sha256:", [FIRST])):
        with pytest.raises(UnknownThread):
            use()
