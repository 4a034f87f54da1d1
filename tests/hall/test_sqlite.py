"""What the SQLite store promises beside the contract of every store."""

from __future__ import annotations

import os
import resource
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from halls import OTHER, PLAN, THREAD, HastyStore, database, dump, every_record, hall_in, salt_number
from test_writers import OPEN, race
from threads import RECORDS, add, begin, hold, redact, speak, turn

from orchestrator.errors import StoreTooNew, StoreUnavailable
from orchestrator.hall import journal, ledger, sqlite, sqlite_file
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import JournalLine, Outcome
from orchestrator.hall.sqlite import FILE, SQLiteStore
from orchestrator.hall.sqlite_file import SQLiteFile
from orchestrator.hall.sqlite_formats import FORMATS
from orchestrator.hall.store import Report


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
        db.execute(f"PRAGMA user_version = {len(FORMATS) + 1}")
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


@pytest.mark.parametrize("room", [0, 100, 5_000, 50_000])
def test_on_a_full_disk_no_part_of_what_a_run_keeps_is_kept(folder: Path, room: int) -> None:
    long = SaltedText("x" * 200_000, salt_number(0))
    reply = JournalLine(2, Outcome(at="09", intent=1, answered="wall-1", digest=long.digest), long.text, long.salt)
    with closing(SQLiteStore(folder)) as store:
        begin(store, "thread")
        lease = hold(store)
        store.keep(lease, RECORDS[:2])
        kept, limits = dump(folder), resource.getrlimit(resource.RLIMIT_FSIZE)
        size = (folder / f"{FILE}-wal").stat().st_size
        for write in (
            lambda: store.keep(lease, [journal.seal("thread", reply), RECORDS[3]]),
            lambda: store.report(lease, [Report("{}"), Report("{}", long.text)]),
        ):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, limits[1]))
            try:
                with pytest.raises(StoreUnavailable, match=r"cannot be used.*disk has room"):
                    write()
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert dump(folder) == kept
        store.keep(lease, RECORDS[2:])
        assert [record.hash for record in store.journal("thread")] == [record.hash for record in RECORDS]


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


def test_who_waits_for_another_process_too_long_is_told_and_writes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_TIMEOUT_MS", 50)
    with hall_in(folder) as hall, closing(database(folder)) as other:
        head = hall.init_debate(THREAD, "Which queue?")["head"]
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="Another process kept it locked"):
            hall.add_turn(THREAD, "Wind", "What if it were a log?")
        other.rollback()
        assert hall.debate(THREAD).head == head
        hall.add_turn(THREAD, "Wind", "What if it were a log?")


RECOVERS = """
import fcntl, os, sys
shared = os.open(sys.argv[1], os.O_RDWR)
for lock in (120, 122):  # that of the writer, and that of who recovers
    fcntl.lockf(shared, fcntl.LOCK_EX, 1, lock)
header = os.pread(shared, 96, 0)
os.pwrite(shared, bytes(96), 0)
print("begun", flush=True)
sys.stdin.read()
os.pwrite(shared, header, 0)
"""


def test_a_writer_waits_while_another_process_recovers_the_log_of_one_that_died(folder: Path) -> None:
    """It recovers where the writer has read already where the thread stands, which waits by itself."""
    with closing(SQLiteStore(folder)) as store, ThreadPoolExecutor(1) as pool:
        opening = begin(store, "thread")
        command = [sys.executable, "-c", RECOVERS, f"{folder / FILE}-shm"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"begun\n"
            writing = pool.submit(speak, store, opening, "waited")
            with pytest.raises(TimeoutError):
                writing.result(0.1)
            other.communicate(b"")
        assert writing.result(10) == store.standing("thread")


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


# ------------------------------------------------------------------------------------------------------ earlier formats


class FirstFormat(HastyStore):
    """The store as the first format knew it: a run had no epoch, and there was no journal."""

    def __init__(self, folder: Path) -> None:
        SQLiteFile.__init__(self, folder / FILE, FORMATS[:1])


def first_format(folder: Path, turns: int = 2) -> dict[str, str]:
    """Makes a file of the first format with two debates and what a run told; returns the debates as exported."""
    with Hall(FirstFormat(folder)) as hall:
        hall.open_run(THREAD, "Should we move billing to Kafka?", PLAN, "fixed", 12, 4)
        hall.init_debate(OTHER, "Which queue?")
        for number in range(turns):
            hall.add_turn(THREAD, ("Wind", "Wall", "Door")[number % 3], f"Turn {number} names Mrs Miller.")
        exported = {thread_id: hall.export_debate(thread_id) for thread_id in (THREAD, OTHER)}
    with closing(database(folder)) as db:
        db.execute("INSERT INTO runs VALUES (1, 'process 7 on a host', '2026-01-06T09:00:00Z', 'It costs too much.')")
        told = [(number, f'{{"type": "paused", "message": "Turn {number} names Mrs Miller."}}') for number in range(40)]
        db.executemany("INSERT INTO reports VALUES (1, ?, ?)", told)
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
    return exported


def test_a_file_of_the_first_format_keeps_its_debates_and_serves_runs(folder: Path) -> None:
    exported = first_format(folder)
    with hall_in(folder) as hall:
        assert {thread_id: hall.export_debate(thread_id) for thread_id in (THREAD, OTHER)} == exported
        assert all(hall.verify_debate(thread_id)["verified"] for thread_id in (THREAD, OTHER))
        assert {listed["thread_id"]: listed["run"] for listed in hall.list_debates()} == {THREAD: "none", OTHER: "none"}
        assert (hall.journal(THREAD), hall.runs.reports(THREAD)) == ((), [])
        lease = hall.runs.begin(THREAD)
        hall.runs.keep(lease, every_record())
        hall.under(lease).add_turn(THREAD, "Door", "Therefore.")
        assert [line.number for line in hall.journal(THREAD)] == list(range(9))
    with closing(database(folder)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (len(FORMATS),)


def test_what_a_file_of_the_first_format_says_can_be_redacted_without_a_trace(folder: Path) -> None:
    first_format(folder)
    with hall_in(folder) as hall:
        for turn_index in (0, 1):
            assert hall.tombstone_turn(THREAD, turn_index, "It named a customer.")["erased"] == "done"
        assert b"Miller" not in b"".join(path.read_bytes() for path in folder.iterdir())


def test_a_file_of_the_first_format_that_many_open_at_once_is_brought_up_once(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def open_and_list(folder: Path) -> set[str]:
        together.wait()
        with closing(SQLiteStore(folder)) as store:
            return {listed.thread_id for listed in store.listed()}

    with ThreadPoolExecutor(8) as pool:
        for attempt in range(3):
            folder = prepare(tmp_path / f"{attempt}")
            first_format(folder)
            assert list(pool.map(open_and_list, [folder] * 8)) == [{THREAD, OTHER}] * 8


@pytest.mark.slow
def test_a_file_of_the_first_format_that_processes_open_at_once_is_brought_up_once(tmp_path: Path) -> None:
    for attempt in range(2):
        folder = prepare(tmp_path / f"{attempt}")
        exported = first_format(folder)
        assert race(OPEN, 4, str(folder)) == [2] * 4
        with hall_in(folder) as hall:
            assert {thread_id: hall.export_debate(thread_id) for thread_id in (THREAD, OTHER)} == exported


def test_an_older_file_is_brought_up_whole_or_not_at_all(folder: Path) -> None:
    exported = first_format(folder)
    before = dump(folder)
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        SQLiteFile(folder / FILE, (FORMATS[0], FORMATS[1] + "CREATE TABLE threads (no INTEGER);\n"))
    assert dump(folder) == before
    with hall_in(folder) as hall:
        assert hall.export_debate(THREAD) == exported[THREAD]


def test_on_a_full_disk_an_older_file_stays_as_it_is(folder: Path) -> None:
    exported = first_format(folder)
    before, limits = dump(folder), resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (0, 4_000, 20_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            with pytest.raises(StoreUnavailable, match="cannot be used"):
                SQLiteStore(folder)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert dump(folder) == before
    with hall_in(folder) as hall:
        assert hall.export_debate(THREAD) == exported[THREAD]
