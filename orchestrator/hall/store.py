"""What a hall asks of the place where ledgers are kept.

A store moves a thread's head and appends the entries that move it in one transaction, or does neither. It believes
nothing and decides nothing: rules.py and ledger.py do.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from orchestrator.errors import StoreUnavailable
from orchestrator.hall import folder
from orchestrator.hall.debate import State
from orchestrator.hall.ledger import Sealed, Standing, StoredLine, StoredThread


class Erasure(NamedTuple):
    """The text of entry `target` and its salt go; entry `by` is the tombstone."""

    target: int
    by: int


class Listed(NamedTuple):
    """A thread as a list shows it."""

    thread_id: str
    head: str
    state: State | None  # None when it cannot be read: one damaged thread hides no other
    topic: str | None  # None when it was redacted
    planned: bool  # a runner opened it


class Window(NamedTuple):
    """A thread's standing with its opening, its closing and its newest turns, read at one moment."""

    standing: Standing
    lines: Sequence[StoredLine]


class Attention(NamedTuple):
    """What a run hears when it says that it is alive."""

    active: bool  # the debate is still open
    request: str | None  # why it should stop, when somebody asked for that


class RunRow(NamedTuple):
    """Who runs a thread and when they were last heard of (ISO 8601, UTC); None when no run was ever begun."""

    holder: str | None
    beat_at: str | None


class Store(Protocol):
    """One contract for every store; `tests/hall/test_store.py` runs against each.

    Thread ids are found without regard to case. Each method is one transaction and may be called from any thread.
    Every method may raise StoreUnavailable, and all that take a thread id but `create` raise UnknownThread.
    """

    def create(self, opening: Sealed, after: Standing, plan: str | None) -> None:
        """Begins a thread.

        Raises:
            ThreadExists: the id is taken.
        """

    def append(
        self, expected_head: str, entries: Sequence[Sealed], after: Standing, erase: Sequence[Erasure] = ()
    ) -> None:
        """Appends entries behind `expected_head` and deletes the texts that they redact.

        Raises:
            StaleHead: the head is another one by now; nothing was written.
        """

    def standing(self, thread_id: str) -> Standing: ...

    def thread(self, thread_id: str) -> StoredThread:
        """Returns all of a thread, read at one moment."""

    def window(self, thread_id: str, turns: int) -> Window:
        """Returns the newest `turns` turns; the cost does not depend on how many there are before."""

    def listed(self) -> Sequence[Listed]:
        """Returns every thread, the one that moved last first."""

    def begin_run(self, thread_id: str, holder: str, at: str) -> None:
        """Notes who runs a thread; a request to the run before is forgotten."""

    def attend(self, thread_id: str, at: str) -> Attention:
        """Notes that the run is alive, and says what it should know."""

    def request_stop(self, thread_id: str, why: str) -> None: ...

    def report(self, thread_id: str, reports: Sequence[str]) -> None:
        """Keeps what a run tells, one JSON object each, behind what it told before."""

    def reports(self, thread_id: str, after: int) -> Sequence[tuple[int, str]]:
        """Returns the reports numbered above `after` (the first is 0), with their numbers."""

    def run_row(self, thread_id: str) -> RunRow: ...

    def erase_traces(self) -> bool:
        """Removes what deleted texts left behind in the store's own files.

        Returns:
            False while something, a reader say, keeps it from being done; it is tried again when the store is opened.
        """

    def close(self) -> None: ...


def open_store(location: str | Path | None = None) -> Store:
    """Opens the store at `location`: a folder, else what DEBATE_HALL_STORE names, else this machine's state folder.

    Raises:
        StoreError: it cannot be used; the error says why and what to do.
    """
    from orchestrator.hall.sqlite import SQLiteStore

    named = location or os.environ.get("DEBATE_HALL_STORE", "").strip()
    if isinstance(named, str) and "://" in named:
        raise StoreUnavailable(
            f"This version keeps ledgers in SQLite, not at {named.split('://')[0]}://….",
            f"Unset DEBATE_HALL_STORE, or set it to a folder ({folder.STATE_DIR} does the same).",
        )
    return SQLiteStore(folder.prepare(Path(named) if named else folder.state_folder(os.environ)))
