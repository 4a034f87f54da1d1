"""The contract of every store: threads and their ledgers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from threads import HERE, RECORDS, add, begin, redact, sealed, speak, turn

from orchestrator.errors import StaleHead, StoreUnavailable, ThreadExists, UnknownThread
from orchestrator.hall import ledger
from orchestrator.hall.entries import Closed, Note
from orchestrator.hall.ledger import Standing
from orchestrator.hall.store import Lease, Report, Store
from orchestrator.hall.terms import Status


def test_what_is_created_and_appended_comes_back_as_it_was(store: Store) -> None:
    plan = "a plan\r\n\u202e🙂\n"
    opening = begin(store, "Thread", "a topic\r\n", plan)
    first = turn(opening, "===END===\r\n")
    after = add(store, opening, first)
    assert store.standing("Thread") == after
    thread = store.thread("Thread")
    assert (thread.thread_id, thread.head, thread.state, thread.plan) == (
        "Thread",
        after.head,
        after.state.encode(),
        plan,
    )
    assert [(line.seq, line.turn_index, line.hash, line.text) for line in thread.lines] == [
        (0, None, opening.head, "a topic\r\n"),
        (1, 0, first.hash, "===END===\r\n"),
    ]
    assert ledger.verify(thread).head == after.head


def test_threads_are_found_and_taken_without_regard_to_case(store: Store) -> None:
    after = begin(store, "2026-Kafka")
    assert store.standing("2026-KAFKA") == store.standing("2026-kafka") == after
    assert store.thread("2026-kafka").thread_id == "2026-Kafka"
    for taken in ("2026-Kafka", "2026-kafka", "2026-KAFKA"):
        with pytest.raises(ThreadExists, match=taken):
            begin(store, taken)
    assert [Standing(listed.head, listed.state) for listed in store.listed() if listed.state] == [after]


@pytest.mark.parametrize("thread_id", ["nobody", "", "x\0", "\udcff", "２０２６", "a' OR '1'='1"])
def test_a_thread_that_is_not_there_is_unknown(store: Store, thread_id: str) -> None:
    begin(store, "somebody")
    for operation in (
        lambda: store.standing(thread_id),
        lambda: store.thread(thread_id),
        lambda: store.window(thread_id, 1),
        lambda: store.linked_to(thread_id),
        lambda: store.begin_run(thread_id, HERE, "09", 0),
        lambda: store.attend(Lease(thread_id, 1), "09"),
        lambda: store.release_run(Lease(thread_id, 1), "09"),
        lambda: store.request_stop(thread_id, "why"),
        lambda: store.report(Lease(thread_id, 1), [Report("{}")]),
        lambda: store.reports(thread_id, -1),
        lambda: store.run_row(thread_id),
        lambda: store.run_spans(thread_id),
        lambda: store.keep(Lease(thread_id, 1), RECORDS),
        lambda: store.journal(thread_id),
    ):
        with pytest.raises(UnknownThread):
            operation()


def test_an_entry_behind_another_head_is_refused_with_the_current_one_and_nothing_is_written(store: Store) -> None:
    opening = begin(store, "thread")
    newest = speak(store, opening, "first")
    before = store.thread("thread")
    with pytest.raises(StaleHead) as stale:
        add(store, opening, turn(opening, "too late"))
    assert (stale.value.expected, stale.value.current) == (opening.head, newest.head)
    assert store.thread("thread") == before


def test_several_entries_are_appended_together_or_not_at_all(store: Store) -> None:
    opening = begin(store, "thread")
    first = turn(opening)
    after = ledger.standing(first, opening)
    twice = turn(after)
    wrong = replace(twice, entry=twice.entry._replace(seq=1))
    before = store.thread("thread")
    with pytest.raises(StoreUnavailable):
        store.append(opening.head, [first, wrong], ledger.standing(twice, after))
    assert store.thread("thread") == before
    add(store, opening, first, twice)
    assert store.standing("thread").state.turn_count == 2


def test_of_many_writers_behind_one_head_exactly_one_succeeds(opener: Callable[[], Store]) -> None:
    stores = [opener() for _ in range(4)]
    opening = begin(stores[0], "thread")
    together = threading.Barrier(8)

    def write(number: int) -> bool:
        together.wait()
        try:
            add(stores[number % 4], opening, turn(opening, f"writer {number}"))
        except StaleHead:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(write, range(8)))
    assert won.count(True) == 1
    assert [line.text for line in stores[0].thread("thread").lines] == ["topic", f"writer {won.index(True)}"]


def test_of_many_that_open_one_thread_exactly_one_succeeds(opener: Callable[[], Store]) -> None:
    stores = [opener() for _ in range(4)]
    together = threading.Barrier(8)

    def create(number: int) -> bool:
        together.wait()
        try:
            begin(stores[number % 4], "thread" if number % 2 else "THREAD", f"topic {number}")
        except ThreadExists:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(create, range(8)))
    assert won.count(True) == 1
    assert [listed.topic for listed in stores[0].listed()] == [f"topic {won.index(True)}"]


def test_two_store_objects_on_one_place_see_each_others_commits(opener: Callable[[], Store]) -> None:
    one, two = opener(), opener()
    opening = begin(one, "thread")
    first = speak(two, opening, "first")
    assert one.standing("thread") == first
    second = speak(one, first, "second")
    assert two.thread("thread") == one.thread("thread")
    two.close()
    assert speak(one, second, "third") == opener().standing("thread")


def test_a_window_holds_the_opening_the_newest_turns_and_the_closing(store: Store) -> None:
    opening = begin(store, "thread")
    standing = speak(store, opening, "1", "2", "3", "4", "5")
    standing = add(store, standing, sealed("thread", standing, Note(digest="", about="a", by="b"), "note"))
    for turns, texts in ((1, ["5"]), (3, ["3", "4", "5"]), (0, []), (100, ["1", "2", "3", "4", "5"])):
        window = store.window("thread", turns)
        assert [line.text for line in window.lines] == ["topic", *texts]
        assert window.standing == standing
    standing = add(store, standing, sealed("thread", standing, Closed(digest="", status=Status.STALEMATE), "end"))
    window = store.window("thread", 2)
    assert [line.text for line in window.lines] == ["topic", "4", "5", "end"]
    assert [line.seq for line in window.lines] == [0, 4, 5, 7]


def test_threads_are_listed_with_the_one_that_moved_last_first(store: Store) -> None:
    first = begin(store, "first", "topic 1", at="09")
    begin(store, "second", "topic 2", "a plan", at="10")
    begin(store, "third", "topic 3", at="11")
    moved = sealed("first", first, Note(digest="", about="a", by="b"), at="12")
    add(store, first, moved)
    listed = [(listed.thread_id, listed.topic, listed.planned) for listed in store.listed()]
    assert listed == [("first", "topic 1", False), ("third", "topic 3", False), ("second", "topic 2", True)]


def test_a_redacted_text_is_gone_with_its_salt_and_the_line_says_by_what_and_why(store: Store) -> None:
    opening = begin(store, "thread")
    said = turn(opening, "a secret")
    after = redact(store, add(store, opening, said), 1, said.entry.body.digest)  # type: ignore[union-attr]
    line = store.thread("thread").lines[1]
    assert (line.text, line.salt, line.erased_by, line.erased_why) == (None, None, 2, "the reason")
    assert store.window("thread", 1).lines[1] == line
    assert store.erase_traces() is True
    assert ledger.verify(store.thread("thread")).head == after.head


def test_a_redaction_behind_another_head_deletes_nothing(store: Store) -> None:
    opening = begin(store, "thread")
    said = turn(opening, "a secret")
    stale = add(store, opening, said)
    speak(store, stale, "another writer")
    with pytest.raises(StaleHead):
        redact(store, stale, 1, said.entry.body.digest)  # type: ignore[union-attr]
    assert store.thread("thread").lines[1].text == "a secret"


def test_erasing_is_done_when_there_is_nothing_to_erase(store: Store) -> None:
    assert store.erase_traces() is True


def test_a_closed_store_can_be_closed_again(store: Store) -> None:
    begin(store, "thread")
    store.close()
    store.close()
