"""The contract of every store: who runs a thread, what runs tell, and the journal of what they asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from halls import salt_number
from threads import HERE, OPENED, RECORDS, THERE, add, all_of, begin, hold, redact, sealed, speak, turn

from orchestrator.errors import LeaseLost, NotActive, StaleHead, StoreUnavailable
from orchestrator.hall import ledger
from orchestrator.hall.entries import Closed, ForceClosed, Link
from orchestrator.hall.journal import StoredRecord
from orchestrator.hall.store import Attention, Holder, Lease, Report, RunRow, Store
from orchestrator.hall.terms import LinkKind, Status


def test_a_thread_that_nobody_ran_has_no_holder_no_journal_and_told_nothing(store: Store) -> None:
    begin(store, "thread")
    assert store.run_row("thread") is None
    assert [list(read("thread")) for read in (store.run_spans, store.journal)] == [[], []]
    assert list(store.reports("thread", -1)) == []
    assert [listed.run for listed in store.listed()] == [None]


def test_who_runs_a_thread_since_when_and_when_they_were_last_heard_of_is_kept(opener: Callable[[], Store]) -> None:
    store, elsewhere = opener(), opener()
    begin(store, "Thread")
    begin(store, "other")
    lease = store.begin_run("thread", HERE, "09", 0)
    assert lease == Lease("Thread", 1)
    assert elsewhere.run_row("THREAD") == RunRow(1, HERE, "09", "09", released=False)
    assert elsewhere.attend(lease, "10") == Attention(active=True, request=None)
    assert store.run_row("thread") == RunRow(1, HERE, "09", "10", released=False)
    elsewhere.release_run(lease, "11")
    assert store.run_row("thread") == RunRow(1, HERE, "09", "11", released=True)
    assert elsewhere.begin_run("thread", THERE, "12", 1) == Lease("Thread", 2)
    assert store.run_row("thread") == RunRow(2, THERE, "12", "12", released=False)
    assert store.run_row("other") is None
    assert list(store.run_spans("thread")) == [("09", "11"), ("12", "12")]
    assert {listed.thread_id: listed.run for listed in elsewhere.listed()} == {
        "Thread": RunRow(2, THERE, "12", "12", released=False),
        "other": None,
    }


@pytest.mark.parametrize("after", [-1, 0, 2, 3])
def test_a_run_begins_only_behind_the_newest_one(store: Store, after: int) -> None:
    begin(store, "thread")
    hold(store)
    before = all_of(store)
    assert store.begin_run("thread", THERE, "10", after) is None
    assert store.begin_run("thread", THERE, "10", after, succeeds=True) is None
    assert all_of(store) == before


def test_of_many_that_begin_at_once_exactly_one_gets_each_epoch(opener: Callable[[], Store]) -> None:
    stores = [opener() for _ in range(4)]
    begin(stores[0], "thread")
    together = threading.Barrier(8)

    def run(number: int) -> list[int]:
        got = []
        for epoch in range(6):
            together.wait()
            lease = stores[number % 4].begin_run("thread", Holder("host", number), "09", epoch)
            got += [lease.epoch] if lease else []
        return got

    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(run, range(8)))
    assert sorted(epoch for epochs in got for epoch in epochs) == [1, 2, 3, 4, 5, 6]
    newest = stores[0].run_row("thread")
    assert newest is not None
    assert newest.epoch in got[newest.holder.pid]


LOST: dict[str, Callable[[Store, Lease], object]] = {
    "taken over": lambda store, lease: store.begin_run("thread", THERE, "10", lease.epoch),
    "handed over": lambda store, lease: store.begin_run("thread", THERE, "10", lease.epoch, succeeds=True),
    "released": lambda store, lease: store.release_run(lease, "10"),
    "released and taken over": lambda store, lease: [
        store.release_run(lease, "10"),
        store.begin_run("thread", THERE, "11", lease.epoch),
    ],
}


@pytest.mark.parametrize("lose", LOST.values(), ids=LOST)
def test_under_a_lease_that_is_good_no_more_nothing_is_written(opener: Callable[[], Store], lose: Any) -> None:
    store, elsewhere = opener(), opener()
    opening = begin(store, "thread")
    lease = hold(store)
    lose(elsewhere, lease)
    before = all_of(store)
    said = turn(opening)  # behind the head that stands
    for write in (
        lambda: store.append(opening.head, [said], ledger.standing(said, opening), lease=lease),
        lambda: store.keep(lease, RECORDS),
        lambda: store.keep(lease, []),
        lambda: store.report(lease, [Report("{}")]),
        lambda: store.report(lease, []),
        lambda: store.attend(lease, "12"),
    ):
        with pytest.raises(LeaseLost, match="does not run thread any more"):
            write()
        assert all_of(store) == before
    store.release_run(lease, "13")
    assert all_of(store) == before


def test_who_took_a_run_over_is_named(store: Store) -> None:
    begin(store, "thread")
    lease = hold(store)
    store.begin_run("thread", THERE, "10", 1)
    with pytest.raises(LeaseLost, match="process 8 on elsewhere has taken it over"):
        store.attend(lease, "11")


def test_a_lease_that_never_was_is_no_lease(store: Store) -> None:
    opening = begin(store, "thread")
    said = turn(opening)
    for epoch in (-1, 0, 1):
        with pytest.raises(LeaseLost):
            store.append(opening.head, [said], ledger.standing(said, opening), lease=Lease("thread", epoch))
    hold(store)
    with pytest.raises(LeaseLost):
        store.attend(Lease("thread", 2), "10")


def test_the_lease_is_judged_before_the_head(store: Store) -> None:
    """Who has lost its lease is told that, and not to read again and try once more."""
    opening = begin(store, "thread")
    lease = hold(store)
    speak(store, opening, "another writer")
    said = turn(opening)
    with pytest.raises(StaleHead):
        store.append(opening.head, [said], ledger.standing(said, opening), lease=lease)
    store.release_run(lease, "10")
    with pytest.raises(LeaseLost):
        store.append(opening.head, [said], ledger.standing(said, opening), lease=lease)


def test_a_run_commits_under_its_lease_and_others_without_one(store: Store) -> None:
    opening = begin(store, "thread")
    lease = hold(store)
    first = turn(opening)
    after = ledger.standing(first, opening)
    store.append(opening.head, [first], after, lease=lease)
    speak(store, after, "a person")
    assert [line.text for line in store.thread("thread").lines] == ["topic", "words", "a person"]
    assert store.attend(lease, "10").active


def test_a_run_hears_a_request_until_another_one_takes_over(opener: Callable[[], Store]) -> None:
    store, elsewhere = opener(), opener()
    begin(store, "thread")
    begin(store, "other")
    lease, other = hold(store), hold(store, "other")
    elsewhere.request_stop("Thread", "it costs too much")
    assert [store.attend(lease, "10").request for _ in range(2)] == ["it costs too much"] * 2
    assert store.attend(other, "10").request is None
    elsewhere.request_stop("thread", "another reason")
    assert store.attend(lease, "10").request == "another reason"
    taken_over = hold(store, after=1)
    assert store.attend(taken_over, "12") == Attention(active=True, request=None)


def test_what_is_asked_of_a_run_is_asked_of_the_one_to_which_it_hands_over(store: Store) -> None:
    begin(store, "thread")
    hold(store)
    store.request_stop("thread", "it costs too much")
    first = store.begin_run("thread", THERE, "10", 1, succeeds=True)
    second = store.begin_run("thread", THERE, "10", 2, succeeds=True)
    assert (first, second) == (Lease("thread", 2), Lease("thread", 3))
    assert second is not None
    assert store.attend(second, "11").request == "it costs too much"


def test_who_asks_a_thread_to_stop_that_nobody_runs_asks_nobody(store: Store) -> None:
    begin(store, "thread")
    store.request_stop("thread", "why")
    assert store.attend(hold(store), "10").request is None


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(Closed(digest="", status=Status.STALEMATE), id="closed"),
        pytest.param(ForceClosed(digest=""), id="closed by force"),
    ],
)
def test_a_run_hears_that_its_debate_is_closed(store: Store, body: Closed | ForceClosed) -> None:
    standing = begin(store, "thread")
    lease = hold(store)
    add(store, standing, sealed("thread", standing, body, "end"))
    assert store.attend(lease, "10") == Attention(active=False, request=None)


def test_what_runs_tell_is_numbered_from_0_in_the_order_in_which_it_came(opener: Callable[[], Store]) -> None:
    store, elsewhere = opener(), opener()
    begin(store, "thread")
    begin(store, "other")
    first, other = hold(store), hold(store, "other")
    told = [Report('{"a": "é\\n"}', '{"message": "words\\n"}'), Report("{}"), Report('{"b": 1}', "")]
    store.report(first, told[:2])
    elsewhere.report(hold(elsewhere, after=1), told[2:])
    store.report(other, [Report('{"c": 2}')])
    numbered = list(enumerate(told))
    assert [list(elsewhere.reports("Thread", after)) for after in (-1, 0, 1, 2, 99)] == [
        numbered,
        numbered[1:],
        numbered[2:],
        [],
        [],
    ]
    assert list(store.reports("other", -1)) == [(0, Report('{"c": 2}'))]


def test_of_one_run_that_tells_from_many_threads_nothing_is_lost(opener: Callable[[], Store]) -> None:
    stores = [opener() for _ in range(4)]
    begin(stores[0], "thread")
    lease = hold(stores[0])
    together = threading.Barrier(4)

    def tell(number: int) -> None:
        together.wait()
        for report in range(5):
            stores[number].report(lease, [Report(f'"{number}.{report}"')] * 2)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tell, range(4)))
    told = stores[0].reports("thread", -1)
    assert [number for number, _ in told] == list(range(40))
    for number in range(4):
        own = [report for _, (report, _) in told if report.startswith(f'"{number}.')]
        assert own == [f'"{number}.{report}"' for report in range(5) for _ in range(2)]


def test_what_a_run_tells_and_keeps_moves_no_head_and_changes_no_ledger(store: Store) -> None:
    begin(store, "thread")
    before = store.thread("thread"), store.standing("thread"), [listed[:5] for listed in store.listed()]
    lease = hold(store)
    store.report(lease, [Report("{}")])
    store.keep(lease, RECORDS)
    store.request_stop("thread", "why")
    store.attend(lease, "10")
    assert (store.thread("thread"), store.standing("thread"), [listed[:5] for listed in store.listed()]) == before


# ------------------------------------------------------------------------------------------------------------- journal


def stored(records: Sequence[StoredRecord]) -> list[StoredRecord]:
    """The records as they come back: which intent an outcome answers is told when it is written, and no more."""
    return [record._replace(answers=None) for record in records]


def test_what_is_kept_in_a_journal_comes_back_as_it_was_in_its_order(opener: Callable[[], Store]) -> None:
    store, elsewhere = opener(), opener()
    begin(store, "Thread")
    begin(store, "other")
    lease = hold(store)
    store.keep(lease, RECORDS[:3])
    elsewhere.keep(lease, RECORDS[3:5])
    second = hold(store, after=1)
    store.keep(second, [])
    store.keep(second, RECORDS[5:])
    assert list(elsewhere.journal("THREAD")) == stored(RECORDS)
    assert list(store.journal("other")) == []


def test_records_are_kept_together_or_not_at_all(store: Store) -> None:
    begin(store, "thread")
    lease = hold(store)
    store.keep(lease, RECORDS[:2])
    before = all_of(store)
    for records in ([RECORDS[2], RECORDS[1]], [*RECORDS[2:], RECORDS[2]]):  # a number is taken
        with pytest.raises(StoreUnavailable):
            store.keep(lease, records)
        assert all_of(store) == before
    store.keep(lease, RECORDS[2:])
    assert list(store.journal("thread")) == stored(RECORDS)


def test_a_redaction_takes_the_texts_of_the_journal_and_all_free_words_of_the_runs(store: Store) -> None:
    opening = begin(store, "thread")
    begin(store, "other")
    lease, other = hold(store), hold(store, "other")
    said = turn(opening)
    after = add(store, opening, said)
    for held in (lease, other):
        store.keep(held, RECORDS)
        store.report(held, [Report('{"type": "paused"}', '{"message": "words"}'), Report("{}")])
        store.request_stop(held.thread_id, "why")
    before = all_of(store)
    with pytest.raises(StaleHead):
        redact(store, opening, 1, said.entry.body.digest)  # type: ignore[union-attr]
    assert all_of(store) == before
    redact(store, after, 1, said.entry.body.digest)  # type: ignore[union-attr]
    assert list(store.journal("thread")) == [record._replace(text=None, salt=None) for record in stored(RECORDS)]
    assert list(store.reports("thread", -1)) == [(0, Report('{"type": "paused"}')), (1, Report("{}"))]
    assert store.attend(lease, "10") == Attention(active=True, request="")  # it is still to stop
    assert list(store.journal("other")) == stored(RECORDS)
    assert store.reports("other", -1)[0] == (0, Report('{"type": "paused"}', '{"message": "words"}'))
    assert store.attend(other, "10").request == "why"


def test_a_redaction_reaches_the_journals_of_the_threads_that_are_linked_and_of_those_linked_to_them(
    store: Store,
) -> None:
    opening = begin(store, "thread")
    names = ("answer", "replay", "its-replay", "apart")
    for name, about in zip(names, ("Thread", "thread", "REPLAY", None), strict=True):
        link = Link(LinkKind.REVIEWS, about, opening.head) if about else None
        first = sealed(name, None, replace(OPENED, link=link))
        store.create(first, ledger.standing(first, None), None)
        store.keep(hold(store, name), RECORDS)
    said = turn(opening)
    after = add(store, opening, said)
    redact(store, after, 1, said.entry.body.digest)  # type: ignore[union-attr]
    texts = {name: [record.text for record in store.journal(name) if record.text is not None] for name in names}
    assert texts == {**{name: [] for name in names}, "apart": [each.text for each in RECORDS if each.text is not None]}


def test_an_answer_to_what_was_asked_before_a_redaction_is_kept_without_its_text(store: Store) -> None:
    opening = begin(store, "thread")
    lease = hold(store)
    said = turn(opening)
    after = add(store, opening, said)
    store.keep(lease, RECORDS[:2])
    redact(store, after, 1, said.entry.body.digest)  # type: ignore[union-attr]
    store.keep(lease, RECORDS[2:])
    texts = [(record.number, record.text) for record in store.journal("thread") if record.text is not None]
    assert texts == [(record.number, record.text) for record in RECORDS[3:] if record.text is not None]


def test_once_a_debate_is_closed_no_call_can_begin_and_the_outcome_of_one_that_did_is_kept(store: Store) -> None:
    after, lease = begin(store, "thread"), hold(store)
    asked = StoredRecord(0, "hash", "an intent", "asked", salt_number(1))
    store.keep(lease, [asked])
    add(store, after, sealed("thread", after, ForceClosed(digest="")))
    answered = StoredRecord(1, "hash", "an outcome", "an answer", salt_number(2), answers=0)
    with pytest.raises(NotActive, match="thread is closed: no call is made for it any more"):
        store.keep(lease, [answered, StoredRecord(2, "hash", "another intent", "asked", salt_number(3))])
    assert [record.number for record in store.journal("thread")] == [0]
    store.keep(lease, [answered])
    assert [record.text for record in store.journal("thread")] == ["asked", "an answer"]
