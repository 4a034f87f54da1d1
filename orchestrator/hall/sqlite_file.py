"""One SQLite file that threads and processes share: opened safely, connections lent, errors in plain words.

Nothing in the program may open such a file but SQLite: whoever closes a descriptor of it drops the locks of every
connection of the same process (POSIX advisory locks), and commits are lost.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from queue import Empty, LifoQueue
from threading import Lock
from time import monotonic, sleep

from orchestrator.errors import DebateError, StoreTooNew, StoreUnavailable

BUSY_TIMEOUT_MS = 30_000

_DAMAGED = ("SQLITE_NOTADB", "SQLITE_CORRUPT")  # what the names of such errors begin with


class SQLiteFile:
    """A database in WAL mode, every commit on disk before it is acknowledged.

    Args:
        path: in an existing folder that is safe (`folder.prepare`).
        formats: for each version of the format, from 1, the statements that make it from the one before, each ended by
            `;` and a line end. The version is kept as `user_version`; an older file is brought up to the newest.

    Raises:
        StoreUnavailable: the file cannot be opened or made.
        StoreTooNew: a newer version of this program wrote it.
    """

    def __init__(self, path: Path, formats: Sequence[str]) -> None:
        self._path, self._formats = path, formats
        self._idle: LifoQueue[sqlite3.Connection] = LifoQueue()
        self._writing = Lock()
        with self._explained(), _alone_in(path.parent):
            self._prepare()

    def close(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return

    def _prepare(self) -> None:
        if not self._path.exists():
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        elif self._path.stat().st_mode & 0o077:
            self._path.chmod(0o600)
        with self._connection() as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            require_known(self._path, version, len(self._formats))
            if version == 0:
                db.execute("PRAGMA journal_mode = WAL")
            if version < len(self._formats):
                self._upgrade(db)

    def _upgrade(self, db: sqlite3.Connection) -> None:
        """Makes the newest format, whole or not at all; another process may have done it by now."""
        db.execute("BEGIN IMMEDIATE")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        for statements in self._formats[version:]:
            for statement in statements.split(";\n"):
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {len(self._formats)}")
        db.execute("COMMIT")

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        db.text_factory = partial(str, encoding="utf-8", errors="replace")  # damaged bytes are verify's to find
        try:
            for pragma in (
                f"busy_timeout = {BUSY_TIMEOUT_MS}",
                "synchronous = FULL",
                "secure_delete = ON",
                "temp_store = MEMORY",
                "foreign_keys = ON",
            ):
                db.execute(f"PRAGMA {pragma}")
        except BaseException:
            db.close()
            raise
        return db

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Lends a connection, idle or new, so that a writer who waits for the file keeps no reader waiting."""
        with self._explained():
            try:
                db = self._idle.get_nowait()
            except Empty:
                db = self._connect()
            try:
                yield db
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                self._idle.put(db)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._next_writer(), self._connection() as db:
            _begin_to_write(db)
            yield db
            db.execute("COMMIT")

    @contextmanager
    def _next_writer(self) -> Iterator[None]:
        """Threads of this process write one after the other, each woken when the one before is done.

        SQLite lets who waits sleep, longer each time. Who has waited too long here asks it all the same: it says why.
        """
        has_turn = self._writing.acquire(timeout=BUSY_TIMEOUT_MS / 1000)
        try:
            yield
        finally:
            if has_turn:
                self._writing.release()

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """Several reads at one moment."""
        with self._connection() as db:
            db.execute("BEGIN")
            yield db

    def _explained(self) -> AbstractContextManager[None]:
        return _explained(self._path)


def format_of(path: Path) -> int:
    """Returns the version of a file's format, and leaves the file as it is; 0 where none has been made.

    Raises:
        StoreUnavailable
    """
    with _explained(path), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def require_known(path: Path, version: int, newest: int) -> None:
    """
    Raises:
        StoreTooNew: a newer version of this program wrote the file.
    """
    if version > newest:
        raise StoreTooNew(
            f"{path} was written by a newer version (format {version}; this one knows {newest}).",
            "Upgrade with `pip install -U run-debate`.",
        )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Says in plain words what SQLite or the file system said."""
    try:
        yield
    except DebateError:
        raise
    except (sqlite3.Error, OSError, UnicodeError) as error:  # UnicodeError: SQLite quotes damaged bytes
        raise StoreUnavailable(f"The store {path} cannot be used: {error}.", _cure(error)) from error


def _begin_to_write(db: sqlite3.Connection) -> None:
    """Waits for other processes as SQLite would, but looks again sooner.

    A commit takes less time than SQLite sleeps between two looks, so that with several writers the file lies idle.
    """
    over = monotonic() + BUSY_TIMEOUT_MS / 1000
    db.execute("PRAGMA busy_timeout = 0")
    try:
        for pause_s in chain((0.0002, 0.0004, 0.0008), repeat(0.001)):
            try:
                db.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                is_busy = error.sqlite_errorname.startswith("SQLITE_BUSY")  # or ..._RECOVERY, behind one who died
                if not is_busy or monotonic() > over:
                    raise
            sleep(pause_s)
    finally:
        db.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Opens stores one at a time: SQLite does not wait when two connections switch a new file to WAL at once."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_damaged(error: DebateError) -> bool:
    """Whether a file cannot be used because of what stands in it."""
    return (getattr(error.__cause__, "sqlite_errorname", "") or "").startswith(_DAMAGED)


def _cure(error: Exception) -> str:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith("SQLITE_BUSY"):
        return f"Another process kept it locked for {BUSY_TIMEOUT_MS // 1000} s; see what writes there and try again."
    if name.startswith(_DAMAGED) or isinstance(error, UnicodeError):
        return "The file is damaged or not a store: move it away, or restore it from a backup."
    return "See that the disk has room and that you may write the folder, or set DEBATE_HALL_STATE_DIR to another one."
