"""All that a store holds goes to another one as it is, of whatever kind the two are; what is there already is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest
from halls import OTHER, THREAD, HastyStore, counting_salts, database, every_kind, salt_number, ticking_clock
from many import fill
from threads import HERE, begin, speak

from orchestrator.errors import LedgerBroken, RunHeld, ThreadExists
from orchestrator.hall import journal
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.copying import Copied, copy_reviews, copy_threads
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.holder import Holder
from orchestrator.hall.journal import JournalLine, Outcome
from orchestrator.hall.review_rows import CheckRow, ReviewNotes
from orchestrator.hall.search import read
from orchestrator.hall.store import Store
from orchestrator.hall.store_place import open_store
from postgres import fresh_hall, needs_postgres

LONG_AGO = "2026-01-06T08:00:00.000000Z"
GONE = Holder("a host that is gone", 7)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Callable[[str], Store]]:
    """Opens an empty store of a kind."""
    with ExitStack() as stack:

        def open_one(kind: str) -> Store:
            if kind == "postgres":
                store: Store = open_store(stack.enter_context(fresh_hall()))
            else:
                store = HastyStore(prepare(tmp_path / f"{kind}-{len(list(tmp_path.iterdir()))}"))
            return stack.enter_context(closing(store))

        yield open_one


@pytest.fixture
def filled(place: Callable[[str], Store]) -> Store:
    store = place("sqlite")
    fill_up(store)
    return store


def fill_up(store: Store) -> None:
    """Debates with every kind of entry and of what stands beside them, redacted and not, and nobody at any of it."""
    with_every_kind = Hall(store, clock=lambda: datetime(2026, 1, 6, 8, tzinfo=UTC), salt=counting_salts())
    every_kind(with_every_kind)
    head = store.standing(OTHER).head
    store.keep_checks(OTHER, head, [CheckRow(0, "held", "nothing changed", "09"), CheckRow(2, "broken", None, "10")])
    again = store.claim_review("monthly", "/reviews.yaml", "11", GONE, LONG_AGO, 0)
    assert again is not None
    store.note_review(again, ReviewNotes(THREAD, seen='{"files": 3}', why="Billing grew."), LONG_AGO)


def exports(store: Store) -> dict[str, list[str]]:
    hall = Hall(store)
    names = [listed["thread_id"] for listed in hall.list_debates()]
    return {name: [hall.export_debate(name, form) for form in ("json", "octave")] for name in names}


def everything(store: Store) -> object:
    wholes = {listed.thread_id: store.whole(listed.thread_id) for listed in store.listed()}
    return wholes, store.reviews(), store.deliveries(), store.listed(), {name: store.checks(name) for name in wholes}


KINDS = [
    pytest.param(kinds, id=" to ".join(kinds), marks=[needs_postgres] if "postgres" in kinds else [])
    for kinds in product(["sqlite", "postgres"], repeat=2)
]


@pytest.mark.parametrize("kinds", KINDS)
def test_a_copy_is_equal_to_the_last_word_and_verifies(kinds: tuple[str, str], place: Callable[[str], Store]) -> None:
    source, target = map(place, kinds)
    fill_up(source)
    assert [(copied.thread_id, copied.is_new, copied.refused) for copied in copy_threads(source, target)] == [
        (THREAD, True, None),
        (OTHER, True, None),
    ]
    assert copy_reviews(source, target) == 2
    assert everything(target) == everything(source)
    assert exports(target) == exports(source)
    for name in exports(target):
        Hall(target).verify_debate(name, source.standing(name).head)


@needs_postgres
def test_there_and_back_again_gives_equal_exports_tombstones_included(
    filled: Store, place: Callable[[str], Store]
) -> None:
    there, back = place("postgres"), place("sqlite")
    for source, target in ((filled, there), (there, back)):
        assert [copied.refused for copied in copy_threads(source, target)] == [None, None]
        copy_reviews(source, target)
    assert exports(back) == exports(there) == exports(filled)
    assert everything(back) == everything(filled)
    assert sum(line.erased_by is not None for line in back.thread(THREAD).lines) == 2


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=needs_postgres)])
def test_what_was_copied_goes_on_as_it_would_have_where_it_was(
    kind: str, filled: Store, place: Callable[[str], Store]
) -> None:
    target = place(kind)
    list(copy_threads(filled, target))
    for store in (filled, target):
        lease = store.begin_run(THREAD, HERE, "12", 1, succeeds=True)
        assert lease is not None
        assert store.attend(lease, "13").request == "", "asked before a redaction: it is still to stop"
        words = SaltedText("what it answers", salt_number(1))
        late = Outcome(at="13", intent=7, answered="wind-1", digest=words.digest)
        store.keep(lease, [journal.seal(THREAD, JournalLine(9, late, words.text, words.salt))])
        assert store.journal(THREAD)[9].text is None, "what it was asked was taken by a redaction"
        assert store.search(read("outbox")) == filled.search(read("outbox"))
        Hall(store, clock=ticking_clock()).tombstone(THREAD, 0, "It named a customer.")
        assert Hall(store).verify_debate(THREAD)


def test_what_is_there_already_is_left_and_a_copy_made_again_adds_the_rest(
    filled: Store, place: Callable[[str], Store]
) -> None:
    target = place("sqlite")
    first = next(copied := copy_threads(filled, target))
    copied.close()  # type: ignore[attr-defined]  # interrupted
    assert (first.thread_id, [listed.thread_id for listed in target.listed()]) == (THREAD, [THREAD])
    again = list(copy_threads(filled, target))
    assert [(copied.thread_id, copied.is_new) for copied in again] == [(THREAD, False), (OTHER, True)]
    assert [copied.is_new for copied in copy_threads(filled, target)] == [False, False]
    assert copy_reviews(filled, target) == copy_reviews(filled, target) == 2
    assert everything(target) == everything(filled)


def refusals(copied: Iterator[Copied]) -> dict[str, type[Exception] | None]:
    return {each.thread_id: type(each.refused) if each.refused else None for each in copied}


def test_another_debate_under_an_id_is_left_as_it_is_and_the_others_are_copied(
    filled: Store, place: Callable[[str], Store]
) -> None:
    target = place("sqlite")
    begin(target, OTHER, "Another question.")
    before = target.whole(OTHER)
    assert refusals(copy_threads(filled, target)) == {THREAD: None, OTHER: ThreadExists}
    assert target.whole(OTHER) == before


def test_a_debate_that_went_on_since_it_was_copied_is_refused(filled: Store, place: Callable[[str], Store]) -> None:
    target = place("sqlite")
    begin(filled, "open")
    list(copy_threads(filled, target))
    speak(filled, filled.standing("open"), "more")
    assert refusals(copy_threads(filled, target)) == {THREAD: None, OTHER: None, "open": ThreadExists}
    assert target.standing("open").state.turn_count == 0


def test_what_is_under_way_is_not_copied(filled: Store, place: Callable[[str], Store]) -> None:
    target = place("sqlite")
    hall = Hall(filled)
    hall.runs.begin(OTHER)
    claim = hall.reviews.take_over(filled.reviews()[1])
    assert refusals(copy_threads(filled, target)) == {THREAD: None, OTHER: RunHeld}
    with pytest.raises(RunHeld, match="is at the review weekly"):
        copy_reviews(filled, target)
    assert claim is not None
    hall.reviews.release(claim)
    assert copy_reviews(filled, target) == 2


def test_a_ledger_that_does_not_verify_is_not_copied_and_hides_no_other(
    filled: Store, place: Callable[[str], Store], tmp_path: Path
) -> None:
    target = place("sqlite")
    with closing(database(tmp_path / "sqlite-0")) as db:
        db.execute("UPDATE entries SET hash = 'sha256:0' WHERE seq = 1 AND no = 1")
    assert refusals(copy_threads(filled, target)) == {THREAD: LedgerBroken, OTHER: None}
    assert [listed.thread_id for listed in target.listed()] == [OTHER]


def test_a_review_that_went_otherwise_there_is_refused(filled: Store, place: Callable[[str], Store]) -> None:
    target = place("sqlite")
    target.claim_review("weekly", "/another.yaml", "09", HERE, "09", 0)
    with pytest.raises(ThreadExists, match="that went otherwise: weekly"):
        copy_reviews(filled, target)
    assert target.reviews("weekly")[0].file == "/another.yaml"


COPY = """
import sys
from contextlib import closing
from orchestrator.hall import journal
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.copying import copy_threads
from orchestrator.hall.store_place import open_store
with closing(open_store(sys.argv[1])) as source, closing(open_store(sys.argv[2])) as target:
    for copied in copy_threads(source, target):
        print(copied.thread_id, flush=True)
"""


@pytest.mark.slow
@needs_postgres
def test_a_copy_that_is_killed_is_made_again_and_is_whole(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "source")
    with closing(HastyStore(folder)) as source, fresh_hall() as address:
        fill(source, 120)
        for _ in range(3):
            copying = subprocess.Popen(
                [sys.executable, "-c", COPY, str(folder), address], stdout=subprocess.PIPE, env=dict(os.environ)
            )
            with copying:
                assert copying.stdout is not None
                for _ in range(25):
                    copying.stdout.readline()
                copying.send_signal(signal.SIGKILL)
        with closing(open_store(address)) as target:
            there = len(target.listed())
            assert 25 <= there < 120
            copied = list(copy_threads(source, target))
            assert (len(copied), sum(not each.is_new for each in copied)) == (120, there)
            assert everything(target) == everything(source)
