"""Threads that write at once share a commit: each is told what became of its own, and only once it is on the disk."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event, Semaphore

import pytest

from orchestrator.errors import StoreUnavailable
from orchestrator.hall.sqlite_file import SQLiteFile

FORMAT = """
CREATE TABLE names (name TEXT PRIMARY KEY);
CREATE TABLE said (by TEXT REFERENCES names DEFERRABLE INITIALLY DEFERRED);
"""
DEADLINE_S = 20
Write = Callable[[sqlite3.Connection], object]


class Announced(deque[Event]):
    """The threads that wait for their turn; who waits for them is told of each."""

    def __init__(self) -> None:
        super().__init__()
        self.came = Semaphore(0)

    def append(self, waits: Event) -> None:
        super().append(waits)
        self.came.release()


class Names(SQLiteFile):
    """A file of names, and how many commits brought them."""

    def __init__(self, folder: Path) -> None:
        self.commits = 0
        super().__init__(folder / "names.db", [FORMAT.strip()])
        self.commits = 0
        self._writers._turns._waiting = self.waiting = Announced()
        self._threads = ThreadPoolExecutor()
        self.ended: list[Future[None]] = []

    def close(self) -> None:
        self._threads.shutdown()
        super().close()

    def _connect(self) -> sqlite3.Connection:
        db = super()._connect()
        db.set_trace_callback(self._count)
        return db

    def _count(self, statement: str) -> None:
        self.commits += statement == "COMMIT"

    def write(self, write: Write) -> None:
        with self._transaction() as db:
            write(db)

    def at_once(self, *writes: Write) -> list[Future[None]]:
        """Writes in threads of their own, in this order: the first goes on when all others wait for their turn."""
        begun, all_wait = Event(), Event()

        def first(db: sqlite3.Connection) -> None:
            begun.set()
            assert all_wait.wait(DEADLINE_S)
            writes[0](db)

        self.ended = [self._threads.submit(self.write, first)]
        assert begun.wait(DEADLINE_S)
        for write in writes[1:]:
            self.ended.append(self._threads.submit(self.write, write))
            assert self.waiting.came.acquire(timeout=DEADLINE_S)
        all_wait.set()
        return self.ended

    @property
    def kept(self) -> list[str]:
        with self._connection() as db:
            return [name for (name,) in db.execute("SELECT name FROM names ORDER BY rowid")]


@pytest.fixture
def names(tmp_path: Path) -> Iterator[Names]:
    names = Names(tmp_path)
    yield names
    names.close()


def adding(name: str) -> Write:
    return lambda db: db.execute("INSERT INTO names VALUES (?)", (name,))


class Refused(Exception):
    """What the rules say, not SQLite."""


def refused_after(name: str) -> Write:
    def write(db: sqlite3.Connection) -> None:
        adding(name)(db)
        raise Refused

    return write


def errors_of(ended: list[Future[None]]) -> list[type[BaseException] | None]:
    return [type(error) if (error := each.exception(DEADLINE_S)) else None for each in ended]


def test_those_that_wait_go_to_the_disk_with_one_commit(names: Names) -> None:
    ended = names.at_once(adding("one"), adding("two"), adding("three"))
    assert errors_of(ended) == [None, None, None]
    assert (names.kept, names.commits) == (["one", "two", "three"], 1)


def test_who_writes_alone_has_a_commit_of_its_own(names: Names) -> None:
    for name in ("one", "two"):
        names.write(adding(name))
        assert names.kept[-1] == name
    assert names.commits == 2


def test_nobody_goes_on_before_all_of_it_is_on_the_disk(names: Names) -> None:
    seen: list[object] = []

    def look(db: sqlite3.Connection) -> None:
        adding("two")(db)
        seen.append(names.kept)  # as a reader sees it
        seen.extend(each.done() for each in names.ended)

    ended = names.at_once(adding("one"), look)
    assert errors_of(ended) == [None, None]
    assert seen == [[], False, False]
    assert names.kept == ["one", "two"]


@pytest.mark.parametrize("place", range(3))
def test_one_that_is_refused_takes_back_its_own_alone(names: Names, place: int) -> None:
    writes = [adding("one"), adding("two")]
    writes.insert(place, refused_after("never"))
    errors = errors_of(names.at_once(*writes))
    assert errors.pop(place) is Refused
    assert errors == [None, None]
    assert names.kept == ["one", "two"]


def test_where_the_commit_fails_nobody_is_told_that_it_is_kept(names: Names) -> None:
    ended = names.at_once(adding("one"), lambda db: db.execute("INSERT INTO said VALUES ('nobody')"), adding("two"))
    assert errors_of(ended) == [StoreUnavailable] * 3
    assert names.kept == []
    names.write(adding("three"))
    assert names.kept == ["three"]


def test_what_sqlite_takes_back_whole_nobody_is_told_to_have_kept(names: Names) -> None:
    names.write(adding("taken"))
    taken = "INSERT OR ROLLBACK INTO names VALUES ('taken')"  # as a full disk may do it
    ended = names.at_once(adding("one"), lambda db: db.execute(taken), adding("two"))
    assert errors_of(ended) == [StoreUnavailable, StoreUnavailable, None]
    assert "UNIQUE" in str(ended[0].exception())
    assert names.kept == ["taken", "two"]
