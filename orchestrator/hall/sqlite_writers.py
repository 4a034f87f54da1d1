"""Threads of one process write one after the other, and wait for the disk together.

What a thread writes while others wait to write goes to the disk with theirs, in one commit; none of them goes on before
that is done, so what is acknowledged is on the disk. A thread that nobody waits for commits by itself.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock


class _Batch:
    """The writes of several threads between one BEGIN and one COMMIT.

    Attributes:
        parts: how many there are.
        lost: why SQLite took all of them back, if it did; a full disk makes it.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db, self.parts = db, 0
        self.lost: BaseException | None = None
        self._ended = Event()

    @contextmanager
    def part(self) -> Iterator[None]:
        """What one thread adds: all of it, or nothing."""
        joins = self.parts > 0
        if joins:
            self.db.execute("SAVEPOINT part")
        try:
            yield
            if joins:
                self.db.execute("RELEASE part")
        except BaseException as error:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK TO part" if joins else "ROLLBACK")
            else:
                self.lost = error
            raise
        self.parts += 1

    def end(self) -> None:
        """Commits, and lets all go on who wait for that."""
        try:
            if self.parts and self.lost is None:
                self.lost = sqlite3.OperationalError("interrupted")  # until it is done
                self.db.execute("COMMIT")
                self.lost = None
        except sqlite3.Error as error:
            self.lost = error
        finally:
            self._ended.set()

    def await_end(self) -> None:
        """
        Raises:
            sqlite3.Error: nothing of it was written.
        """
        self._ended.wait()
        if self.lost is not None:
            raise self.lost


class Writers:
    """The threads that write to one file.

    Args:
        begin: lends a connection on which a transaction has begun.
        give_back: takes it back; what was not committed is rolled back.
    """

    def __init__(
        self, begin: Callable[[], sqlite3.Connection], give_back: Callable[[sqlite3.Connection], None]
    ) -> None:
        self._begin, self._give_back = begin, give_back
        self._turns = _Turns()
        self._batch: _Batch | None = None  # whoever has the turn may add to it

    @contextmanager
    def transaction(self, patience_s: float) -> Iterator[sqlite3.Connection]:
        """Lends a connection to write with, once it is this thread's turn; what was written is on the disk behind it.

        Who has waited too long begins all the same: SQLite says why that cannot be.
        """
        if not self._turns.take(patience_s):
            with self._alone() as db:
                yield db
            return
        batch = self._joined()
        try:
            with batch.part():
                yield batch.db
        finally:
            self._pass_on(batch)
        batch.await_end()

    @contextmanager
    def _alone(self) -> Iterator[sqlite3.Connection]:
        db = self._begin()
        try:
            yield db
            db.execute("COMMIT")
        finally:
            self._give_back(db)

    def _joined(self) -> _Batch:
        try:
            self._batch = self._batch or _Batch(self._begin())
        except BaseException:
            self._turns.give_up()
            raise
        return self._batch

    def _pass_on(self, batch: _Batch) -> None:
        """The thread that waits next adds to the batch; where none waits, or nothing can be added, it ends."""
        if batch.db.in_transaction and self._turns.pass_on():
            return
        self._batch = None
        try:
            batch.end()
        finally:
            self._give_back(batch.db)
            self._turns.give_up()


class _Turns:
    """A lock that whoever has it can hand to the one who has waited longest."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_taken = False
        self._waiting: deque[Event] = deque()

    def take(self, patience_s: float) -> bool:
        """Returns whether it is this thread's turn."""
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return True
            mine = Event()
            self._waiting.append(mine)
        if mine.wait(patience_s):
            return True
        with self._lock:
            if mine.is_set():  # in this very moment
                return True
            self._waiting.remove(mine)
            return False

    def pass_on(self) -> bool:
        """Returns whether another thread has the turn now; else it stays this one's."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
                return True
            return False

    def give_up(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._is_taken = False
