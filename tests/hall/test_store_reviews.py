"""The contract of every store: the times of reviews, who took them up, and what was delivered."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from threads import HERE, OPENED, THERE, add, begin, redact, sealed, turn

from orchestrator.errors import LeaseLost
from orchestrator.hall import ledger
from orchestrator.hall.entries import Link
from orchestrator.hall.holder import Holder, RunRow
from orchestrator.hall.review_rows import Delivery, ReviewClaim, ReviewNotes, ReviewRow
from orchestrator.hall.store import Store
from orchestrator.hall.terms import LinkKind

FILE = "/a/reviews.yaml"
OVER = ReviewNotes(outcome="unchanged", why="nothing changed")


def claim(store: Store, name: str = "weekly", after: int = 0, holder: Holder = HERE) -> ReviewClaim:
    claimed = store.claim_review(name, FILE, f"due {after}", holder, "09", after)
    assert claimed is not None
    return claimed


def test_what_is_noted_of_a_review_comes_back_as_it_was(opener: Callable[[], Store]) -> None:
    store, elsewhere = opener(), opener()
    assert store.newest_review("weekly") is None
    first = claim(store)
    running = RunRow(1, HERE, "09", "09", released=False)
    assert elsewhere.newest_review("weekly") == ReviewRow("weekly", 1, FILE, "due 0", running, ReviewNotes())
    notes = ReviewNotes("2026-01-05-weekly", '{"a": 1}', "abc", None, "changed: a")
    store.note_review(first, notes, "10")
    assert elsewhere.newest_review("weekly") == ReviewRow(
        "weekly", 1, FILE, "due 0", running._replace(beat_at="10"), notes
    )
    store.note_review(first, notes._replace(outcome="decided", why="…"), "11")
    second = claim(store, after=1)
    other = claim(store, "nightly")
    assert [row.claim for row in elsewhere.reviews()] == [other, first, second]
    assert [(row.number, row.notes.outcome, row.notes.why, row.run) for row in elsewhere.reviews("weekly")] == [
        (1, "decided", "…", RunRow(1, HERE, "09", "11", released=True)),
        (2, None, None, running),
    ]
    assert list(store.reviews("never")) == []


def test_a_time_that_is_over_from_the_start_is_one_write(opener: Callable[[], Store]) -> None:
    store, elsewhere = opener(), opener()
    over = ReviewNotes(None, '{"a": 1}', "abc", "passed_over", "nobody was there")
    first = store.claim_review("weekly", FILE, "due 0", HERE, "09", 0, over)
    assert first == ReviewClaim("weekly", 1, 1)
    ended = RunRow(1, HERE, "09", "09", released=True)
    assert elsewhere.newest_review("weekly") == ReviewRow("weekly", 1, FILE, "due 0", ended, over)
    assert store.claim_review("weekly", FILE, "due 0", HERE, "10", 0, over) is None  # somebody else was faster
    with pytest.raises(LeaseLost):
        store.note_review(first, OVER, "10")
    assert claim(store, after=1).number == 2


def test_the_newest_time_that_ended_in_a_certain_way_is_found(store: Store) -> None:
    for after, outcome in enumerate(("decided", "undecided", "unchanged", "unchanged")):
        store.note_review(claim(store, after=after), ReviewNotes(outcome=outcome), "10")
    claim(store, after=4)  # is under way
    store.note_review(claim(store, "nightly"), ReviewNotes(outcome="holding"), "10")

    def newest(*outcomes: str) -> int | None:
        row = store.newest_review("weekly", outcomes)
        return row.number if row else None

    assert newest() == 5
    assert newest("decided") == 1
    assert newest("decided", "undecided") == newest("undecided", "decided") == 2
    assert newest("unchanged") == 4
    assert newest("holding") is None


@pytest.mark.parametrize("after", [-1, 0, 2, 3])
def test_the_next_time_is_taken_up_only_behind_the_newest_and_once_that_is_over(store: Store, after: int) -> None:
    first = claim(store)
    assert store.claim_review("weekly", FILE, "due", THERE, "10", 1) is None
    store.note_review(first, OVER, "10")
    assert store.claim_review("weekly", FILE, "due", THERE, "10", after) is None
    assert len(store.reviews()) == 1
    assert store.claim_review("weekly", FILE, "due", THERE, "10", 1) == ReviewClaim("weekly", 2, 1)


def test_what_was_left_behind_is_taken_over_once_and_who_left_it_writes_no_more(store: Store) -> None:
    left = claim(store)
    store.note_review(left, ReviewNotes("thread"), "10")
    taken = store.take_review(left, THERE, "11")
    assert taken == left._replace(epoch=2)
    assert store.take_review(left, HERE, "12") is None
    before = store.reviews()
    for write in (
        lambda: store.note_review(left, OVER, "12"),
        lambda: store.attend_review(left, "12"),
    ):
        with pytest.raises(LeaseLost, match="weekly"):
            write()
    store.release_review(left, "12")
    assert store.reviews() == before
    assert before[0].run == RunRow(2, THERE, "11", "11", released=False)
    store.attend_review(taken, "13")
    store.release_review(taken, "14")
    assert store.reviews()[0].run == RunRow(2, THERE, "11", "14", released=True)
    with pytest.raises(LeaseLost):
        store.note_review(taken, OVER, "15")  # it was given back


def test_what_is_over_is_neither_taken_over_nor_noted_again(store: Store) -> None:
    done = claim(store)
    store.note_review(done, OVER, "10")
    before = store.reviews()
    assert store.take_review(done, THERE, "11") is None
    for claimed in (done, ReviewClaim("never", 1, 1)):
        with pytest.raises(LeaseLost):
            store.note_review(claimed, ReviewNotes(), "11")
    assert store.reviews() == before


def test_of_many_that_take_a_time_up_at_once_exactly_one_gets_it(opener: Callable[[], Store]) -> None:
    stores = [opener() for _ in range(4)]
    together = threading.Barrier(8)

    def take_up(number: int) -> list[ReviewClaim]:
        store, got = stores[number % 4], []
        for after in range(6):
            together.wait()
            claimed = store.claim_review("weekly", FILE, "due", Holder("host", number), "09", after)
            together.wait()
            if claimed:
                got.append(claimed)
                store.note_review(claimed, OVER, "10")
        return got

    with ThreadPoolExecutor(8) as pool:
        got = [claimed for some in pool.map(take_up, range(8)) for claimed in some]
    assert sorted(got) == [ReviewClaim("weekly", number, 1) for number in range(1, 7)]


def test_a_redaction_of_its_thread_takes_what_was_said_of_a_review(store: Store) -> None:
    mine, other = claim(store), claim(store, "nightly")
    opening = begin(store, "Thread")
    store.note_review(mine, ReviewNotes("thread", outcome="decided", why="a secret"), "10")
    store.note_review(other, ReviewNotes("another", outcome="decided", why="no secret"), "10")
    said = turn(opening, "a secret")
    redact(store, add(store, opening, said), 1, said.entry.body.digest)  # type: ignore[union-attr]
    assert [row.notes.why for row in store.reviews()] == ["no secret", None]


def test_a_delivery_moves_only_from_the_state_that_it_is_in(opener: Callable[[], Store]) -> None:
    store, elsewhere = opener(), opener()
    assert store.delivery("weekly/1", "webhook") is None
    assert not store.move_delivery("weekly/1", "webhook", "intended", "sent", "09")
    assert store.move_delivery("weekly/1", "webhook", None, "intended", "10")
    assert not elsewhere.move_delivery("weekly/1", "webhook", None, "intended", "11")
    assert elsewhere.move_delivery("weekly/1", "webhook", "intended", "sent", "12")
    assert store.delivery("weekly/1", "webhook") == Delivery("sent", 2, "12")
    assert store.delivery("weekly/1", "folder") is store.delivery("weekly/2", "webhook") is None


def test_the_threads_that_are_linked_to_one_are_found_the_oldest_first(store: Store) -> None:
    about = begin(store, "Thread")
    for name, thread_id in (("second", "thread"), ("first", "THREAD"), ("other", "second")):
        link = Link(LinkKind.REVIEWS, thread_id, about.head)
        opening = sealed(name, None, replace(OPENED, link=link))
        store.create(opening, ledger.standing(opening, None), None)
    assert store.linked_to("thread") == ["second", "first"]
    assert store.linked_to("second") == ["other"]
    assert list(store.linked_to("other")) == []
