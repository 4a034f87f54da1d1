"""The contract of every store, and what the SQLite store promises beside it."""

from __future__ import annotations

import os
import resource
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from halls import HastyStore, database, dump, salt_number

from orchestrator.errors import (
    StaleHead,
    StoreTooNew,
    StoreUnavailable,
    ThreadExists,
    UnknownThread,
)
from orchestrator.hall import ledger, sqlite
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.entries import Body, Closed, ForceClosed, Note, Opened, Tombstoned, Turn
from orchestrator.hall.folder import prepare
from orchestrator.hall.ledger import Sealed, Standing
from orchestrator.hall.sqlite import FILE, SQLiteStore
from orchestrator.hall.store import Attention, Erasure, RunRow, Store
from orchestrator.hall.terms import Mode, Role, Status

OPENED = Opened(digest="", mode=Mode.FIXED, max_turns=12, max_rounds=4, strict_cognition=False, barrier=True)
STORES: dict[str, Callable[[Path], Store]] = {"sqlite": lambda folder: HastyStore(prepare(folder))}


@pytest.fixture(params=STORES)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens store objects on one and the same place."""
    opened: list[Store] = []

    def open_another() -> Store:
        opened.append(STORES[request.param](tmp_path / "state"))
        return opened[-1]

    yield open_another
    for store in opened:
        store.close()


@pytest.fixture
def store(opener: Callable[[], Store]) -> Store:
    return opener()


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


# ------------------------------------------------------------------------------------------------------ the contract


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
        lambda: store.begin_run(thread_id, "process 1", "09"),
        lambda: store.attend(thread_id, "09"),
        lambda: store.request_stop(thread_id, "why"),
        lambda: store.report(thread_id, ["{}"]),
        lambda: store.reports(thread_id, -1),
        lambda: store.run_row(thread_id),
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
    wrong = replace(twice, entry=replace(twice.entry, seq=1))
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


def test_a_thread_that_nobody_ran_has_no_holder_and_told_nothing(store: Store) -> None:
    begin(store, "thread")
    assert store.run_row("thread") == RunRow(None, None)
    assert list(store.reports("thread", -1)) == []


def test_who_runs_a_thread_and_when_they_were_last_heard_of_is_kept(opener: Callable[[], Store]) -> None:
    store, elsewhere = opener(), opener()
    begin(store, "thread")
    begin(store, "other")
    store.begin_run("thread", "process 1", "09")
    assert elsewhere.run_row("THREAD") == RunRow("process 1", "09")
    assert elsewhere.attend("thread", "10") == Attention(active=True, request=None)
    assert store.run_row("thread") == RunRow("process 1", "10")
    store.begin_run("thread", "process 2", "11")
    assert elsewhere.run_row("thread") == RunRow("process 2", "11")
    assert store.run_row("other") == RunRow(None, None)


def test_a_run_hears_a_request_until_the_next_run_begins(opener: Callable[[], Store]) -> None:
    store, elsewhere = opener(), opener()
    begin(store, "thread")
    begin(store, "other")
    for name in ("thread", "other"):
        store.begin_run(name, "process 1", "09")
    elsewhere.request_stop("Thread", "it costs too much")
    assert [store.attend("thread", "10").request for _ in range(2)] == ["it costs too much"] * 2
    assert store.attend("other", "10").request is None
    elsewhere.request_stop("thread", "another reason")
    assert store.attend("thread", "10").request == "another reason"
    store.begin_run("thread", "process 2", "11")
    assert store.attend("thread", "12") == Attention(active=True, request=None)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(Closed(digest="", status=Status.STALEMATE), id="closed"),
        pytest.param(ForceClosed(digest=""), id="closed by force"),
    ],
)
def test_a_run_hears_that_its_debate_is_closed(store: Store, body: Closed | ForceClosed) -> None:
    standing = begin(store, "thread")
    store.begin_run("thread", "process 1", "09")
    add(store, standing, sealed("thread", standing, body, "end"))
    assert store.attend("thread", "10") == Attention(active=False, request=None)


def test_what_runs_tell_is_numbered_from_0_in_the_order_in_which_it_came(opener: Callable[[], Store]) -> None:
    store, elsewhere = opener(), opener()
    begin(store, "thread")
    begin(store, "other")
    store.report("thread", ['{"a": "é\\n"}', "{}"])
    elsewhere.report("Thread", ['{"b": 1}'])
    store.report("thread", [])
    store.report("other", ['{"c": 2}'])
    told = [(0, '{"a": "é\\n"}'), (1, "{}"), (2, '{"b": 1}')]
    assert [list(elsewhere.reports("thread", after)) for after in (-1, 0, 1, 2, 99)] == [
        told,
        told[1:],
        told[2:],
        [],
        [],
    ]
    assert list(store.reports("other", -1)) == [(0, '{"c": 2}')]


def test_of_two_runs_that_tell_at_once_nothing_is_lost(opener: Callable[[], Store]) -> None:
    stores = [opener() for _ in range(4)]
    begin(stores[0], "thread")
    together = threading.Barrier(4)

    def tell(number: int) -> None:
        together.wait()
        for report in range(5):
            stores[number].report("thread", [f'"{number}.{report}"'] * 2)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tell, range(4)))
    told = stores[0].reports("thread", -1)
    assert [number for number, _ in told] == list(range(40))
    for number in range(4):
        own = [report for _, report in told if report.startswith(f'"{number}.')]
        assert own == [f'"{number}.{report}"' for report in range(5) for _ in range(2)]


def test_what_a_run_tells_moves_no_head_and_changes_no_ledger(store: Store) -> None:
    begin(store, "thread")
    before = store.thread("thread"), store.standing("thread"), store.listed()
    store.begin_run("thread", "process 1", "09")
    store.report("thread", ["{}"])
    store.request_stop("thread", "why")
    store.attend("thread", "10")
    assert (store.thread("thread"), store.standing("thread"), store.listed()) == before


def test_erasing_is_done_when_there_is_nothing_to_erase(store: Store) -> None:
    assert store.erase_traces() is True


def test_a_closed_store_can_be_closed_again(store: Store) -> None:
    begin(store, "thread")
    store.close()
    store.close()


# ---------------------------------------------------------------------------------------------- the SQLite store's own


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return prepare(tmp_path / "state")


def test_every_connection_has_the_pragmas_it_needs(folder: Path) -> None:
    store = SQLiteStore(folder)
    together = threading.Barrier(3)

    def pragmas() -> dict[str, Any]:
        with store._connection() as db:
            together.wait()  # three connections at once
            names = ("secure_delete", "synchronous", "journal_mode", "busy_timeout", "temp_store", "foreign_keys")
            return {name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in names}

    expected = {
        "secure_delete": 1,
        "synchronous": 2,
        "journal_mode": "wal",
        "busy_timeout": 30_000,
        "temp_store": 2,
        "foreign_keys": 1,
    }
    with closing(store), ThreadPoolExecutor(3) as pool:
        for _ in range(2):  # new connections, then idle ones
            assert list(pool.map(lambda _: pragmas(), range(3))) == [expected] * 3
        store.erase_traces()
        assert list(pool.map(lambda _: pragmas(), range(3))) == [expected] * 3


def test_folder_and_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with closing(SQLiteStore(prepare(tmp_path / "new"))) as store:
            begin(store, "thread")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
            assert modes == {FILE: 0o600, f"{FILE}-wal": 0o600, f"{FILE}-shm": 0o600}
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_file_that_others_may_read_or_write_is_taken_back(folder: Path) -> None:
    SQLiteStore(folder).close()
    (folder / FILE).chmod(0o666)
    SQLiteStore(folder).close()
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600


def test_a_store_of_a_newer_version_is_refused_and_left_as_it_is(folder: Path) -> None:
    SQLiteStore(folder).close()
    with closing(database(folder)) as db:
        db.execute("PRAGMA user_version = 2")
    before = (folder / FILE).read_bytes()
    with pytest.raises(StoreTooNew, match="Upgrade"):
        SQLiteStore(folder)
    assert (folder / FILE).read_bytes() == before


@pytest.mark.parametrize("content", [b"This is a text, not a database. " * 40, b"SQLite format 3\0" + b"\xff" * 4080])
def test_a_file_that_is_no_store_is_refused_with_the_cure_and_left_as_it_is(folder: Path, content: bytes) -> None:
    (folder / FILE).write_bytes(content)
    with pytest.raises(StoreUnavailable, match="damaged or not a store"):
        SQLiteStore(folder)
    assert (folder / FILE).read_bytes() == content


def test_a_folder_in_the_place_of_the_file_is_refused(folder: Path) -> None:
    (folder / FILE).mkdir()
    with pytest.raises(StoreUnavailable):
        SQLiteStore(folder)


def test_a_file_whose_making_was_interrupted_is_finished(folder: Path) -> None:
    (folder / FILE).touch(0o600)
    with closing(SQLiteStore(folder)) as store:
        begin(store, "thread")


def test_a_second_store_in_the_process_does_not_drop_the_locks_of_the_first(folder: Path) -> None:
    """Closing any descriptor of the file would (POSIX), and another process that closes would take the log away."""
    with closing(SQLiteStore(folder)) as first, closing(SQLiteStore(folder)):
        opening = begin(first, "thread")
        elsewhere = f"from orchestrator.hall.hall import Hall\nwith Hall.open({str(folder)!r}) as h: h.list_debates()"
        subprocess.run([sys.executable, "-c", elsewhere], check=True)
        assert (folder / f"{FILE}-wal").exists()
        speak(first, opening, "acknowledged")
    with closing(SQLiteStore(folder)) as later:
        assert later.standing("thread").state.turn_count == 1


def test_a_full_disk_is_said_in_plain_words_and_nothing_is_half_written(folder: Path) -> None:
    with closing(SQLiteStore(folder)) as store:
        before = speak(store, begin(store, "thread"), "first")
        kept = dump(folder)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = (folder / f"{FILE}-wal").stat().st_size
        for room in (0, 100, 5_000, 50_000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, limits[1]))
            try:
                with pytest.raises(StoreUnavailable, match=r"cannot be used.*disk has room"):
                    speak(store, before, "x" * 200_000)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert store.standing("thread") == before
            assert dump(folder) == kept
        after = speak(store, before, "x" * 200_000)
        assert ledger.verify(store.thread("thread")).head == after.head


def test_a_disk_that_is_full_from_the_beginning_is_said_in_plain_words(folder: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (0, 1_000, 5_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            with pytest.raises(StoreUnavailable, match="cannot be used"):
                SQLiteStore(folder)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with closing(SQLiteStore(folder)) as store:
        begin(store, "thread")


def test_a_redaction_that_cannot_be_erased_yet_is_pending_and_keeps_its_mark(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(HastyStore(folder)) as store:
        opening = begin(store, "thread")
        said = turn(opening, "a secret")
        redact(store, add(store, opening, said), 1, said.entry.body.digest)  # type: ignore[union-attr]
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            assert store.erase_traces() is False
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert dump(folder)["pending_erasure"] == [(1, 2)]
        with store._connection() as db:
            assert db.execute("PRAGMA busy_timeout").fetchone() == (30_000,)
        assert store.erase_traces() is True
        assert dump(folder)["pending_erasure"] == []


def test_a_mark_that_another_process_made_meanwhile_stands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = sqlite._checkpoint

    def checkpoint_and_then_a_redaction(db: sqlite3.Connection) -> bool:
        done = checkpoint(db)
        with closing(database(folder)) as other:
            other.execute("INSERT INTO pending_erasure VALUES (2, 9)")
        return done

    monkeypatch.setattr(sqlite, "_checkpoint", checkpoint_and_then_a_redaction)
    with closing(HastyStore(folder)) as store:
        with closing(database(folder)) as other:
            other.execute("INSERT INTO pending_erasure VALUES (1, 2)")
        assert store.erase_traces() is True
    assert dump(folder)["pending_erasure"] == [(2, 9)]


@pytest.mark.parametrize("read", ["thread", "window"])
def test_what_is_read_of_a_thread_is_of_one_moment(folder: Path, read: str) -> None:
    """Another writer commits after the reader has seen the head and before it asks for the entries."""
    between: list[Callable[[], object]] = []

    class Interrupted(HastyStore):
        def _connect(self) -> sqlite3.Connection:
            db = super()._connect()
            db.set_trace_callback(
                lambda statement: between.pop()() if "FROM entries" in statement and between else None
            )
            return db

    with closing(HastyStore(folder)) as writer, closing(Interrupted(folder)) as reader:
        first = speak(writer, begin(writer, "thread"), "first")
        between.append(lambda: speak(writer, first, "second"))
        head, lines = (
            ((thread := reader.thread("thread")).head, thread.lines)
            if read == "thread"
            else ((window := reader.window("thread", 9)).standing.head, window.lines)
        )
        assert not between
        assert (head, [line.text for line in lines]) == (first.head, ["topic", "first"])
        assert len(reader.thread("thread").lines) == 3


def test_a_writer_that_waits_for_another_process_stops_no_reader(folder: Path) -> None:
    """The lock is held until the reads are done, so a reader that waited for the writer would never see them."""
    begun = threading.Event()

    class Watched(HastyStore):
        def _connect(self) -> sqlite3.Connection:
            db = super()._connect()
            db.set_trace_callback(lambda statement: begun.set() if statement == "BEGIN IMMEDIATE" else None)
            return db

    with closing(Watched(folder)) as store, closing(database(folder)) as other, ThreadPoolExecutor(1) as pool:
        opening = begin(store, "thread")
        begun.clear()
        other.execute("BEGIN IMMEDIATE")
        writing = pool.submit(speak, store, opening, "waited")
        assert begun.wait(10)
        for _ in range(3):
            assert store.standing("thread") == store.window("thread", 5).standing == opening
            assert store.thread("thread").head == opening.head
            assert len(store.listed()) == 1
        assert not writing.done()
        other.execute("ROLLBACK")
        assert writing.result() == store.standing("thread")


def test_of_many_that_open_a_fresh_folder_at_once_all_succeed(tmp_path: Path) -> None:
    """SQLite says busy at once, without waiting, when two switch a new file to WAL; so opening is done one by one."""
    together = threading.Barrier(8)

    def open_and_list(folder: Path) -> int:
        together.wait()
        with closing(SQLiteStore(folder)) as store:
            return len(store.listed())

    with ThreadPoolExecutor(8) as pool:
        for attempt in range(12):
            folder = prepare(tmp_path / f"{attempt}")
            assert list(pool.map(open_and_list, [folder] * 8)) == [0] * 8
