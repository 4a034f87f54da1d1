"""What a hall asks of the place where ledgers are kept.

A store moves a thread's head and appends the entries that move it in one transaction, or does neither. It believes
nothing and decides nothing: rules.py and ledger.py do.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from orchestrator.hall.debate import State
from orchestrator.hall.holder import Holder as Holder
from orchestrator.hall.holder import RunRow as RunRow
from orchestrator.hall.journal import StoredRecord
from orchestrator.hall.ledger import Sealed, Standing, StoredLine, StoredThread
from orchestrator.hall.review_rows import KeptCheck, ReviewStore
from orchestrator.hall.search import Query


class Erasure(NamedTuple):
    """The text of entry `target` and its salt go; entry `by` is the tombstone."""

    target: int
    by: int


class Lease(NamedTuple):
    """The right to write as the run of a thread; it is good as long as no higher epoch has begun."""

    thread_id: str
    epoch: int


class Report(NamedTuple):
    """What a run tells: one JSON object, and apart from it another with what it says in free words, if anything."""

    told: str
    words: str | None = None  # None, too, once a redaction has taken them


class Listed(NamedTuple):
    """A thread as a list shows it."""

    thread_id: str
    head: str
    state: State | None  # None when it cannot be read: one damaged thread hides no other
    topic: str | None  # None when it was redacted
    planned: bool  # a runner opened it
    run: RunRow | None = None
    recipe: str | None = None  # that its plan was made from, where its opening says it
    reviews: str | None = None  # the thread whose decision it starts from, likewise


class StoredRun(NamedTuple):
    """A run of a thread, and why it was asked to stop, if it was; empty once a redaction has taken the words."""

    row: RunRow
    request: str | None


class Beside(NamedTuple):
    """What stands beside a thread's ledger."""

    runs: Sequence[StoredRun] = ()
    reports: Sequence[Report] = ()
    journal: Sequence[StoredRecord] = ()
    checks: Sequence[KeptCheck] = ()


class Whole(NamedTuple):
    """All that a store holds of a thread."""

    thread: StoredThread
    beside: Beside


class Window(NamedTuple):
    """A thread's standing with some of its entries, read at one moment."""

    standing: Standing
    lines: Sequence[StoredLine]


class Place(NamedTuple):
    """An entry of a thread."""

    thread_id: str
    seq: int


class Attention(NamedTuple):
    """What a run hears when it says that it is alive."""

    active: bool  # the debate is still open
    request: str | None  # why it should stop, when somebody asked for that; empty once a redaction has taken the words


class Store(ReviewStore, Protocol):
    """One contract for every store; the `test_store*.py` of `tests/hall` run against each.

    Thread ids are found without regard to case. Each method is one transaction and may be called from any thread.
    Every method may raise StoreUnavailable, and all that take a thread id but `create` and `adopt` raise UnknownThread.
    """

    def create(self, opening: Sealed, after: Standing, plan: str | None) -> None:
        """Begins a thread.

        Raises:
            ThreadExists: the id is taken.
        """

    def adopt(self, thread: StoredThread, beside: Beside | None = None) -> None:
        """Adds a whole thread that was verified elsewhere, and what stood beside it there, if that comes with it.

        Raises:
            ThreadExists: the id is taken; nothing was written.
        """

    def append(
        self,
        expected_head: str,
        entries: Sequence[Sealed],
        after: Standing,
        erase: Sequence[Erasure] = (),
        lease: Lease | None = None,
    ) -> None:
        """Appends entries behind `expected_head` and deletes the texts that they redact.

        A redaction takes the texts of the thread's journal with it, and what its runs told and were asked in free
        words, and the same of the threads whose opening leads to it, straight or through others: any may hold the text.

        Raises:
            StaleHead: the head is another one by now; nothing was written.
            LeaseLost: a lease was given and is good no more; nothing was written.
        """

    def standing(self, thread_id: str) -> Standing: ...

    def thread(self, thread_id: str) -> StoredThread:
        """Returns all of a thread, read at one moment."""

    def whole(self, thread_id: str) -> Whole:
        """Returns all of a thread and what stands beside it, read at one moment."""

    def window(self, thread_id: str, turns: int) -> Window:
        """Returns the newest `turns` turns with the opening and the closing; what stands before costs nothing."""

    def newer(self, thread_id: str, seq: int) -> Window:
        """Returns the entries behind the one numbered `seq`; what stands before costs nothing."""

    def line(self, thread_id: str, seq: int) -> StoredLine | None:
        """Returns one entry; None when there is none with that number."""

    def listed(self) -> Sequence[Listed]:
        """Returns every thread, the one that moved last first."""

    def linked_to(self, thread_id: str) -> Sequence[str]:
        """Returns the threads whose opening links to this one, the oldest first."""

    def search(self, query: Query, apart: bool = False) -> Sequence[Place]:
        """Returns the entries in whose texts every term of a query stands, the best first, of equals the newest.

        Topics and decisions (`search.is_weighty`) count for more. Looked through are the texts that `search.place_of`
        names, as `search.words` cuts them into words. An index may lag behind and is no proof: whoever shows a text
        reads it from its entry.

        Args:
            apart: of each thread in which every term stands, whether in one entry or not, the best entry with any.
        """

    def begin_run(self, thread_id: str, holder: Holder, at: str, after: int, succeeds: bool = False) -> Lease | None:
        """Notes who runs a thread from now on.

        Args:
            after: the epoch of the run before, 0 for the first.
            succeeds: that run hands over to this one; what was asked of it is asked of this one.

        Returns:
            None when the newest run is another than `after`; nothing was written.
        """

    def attend(self, lease: Lease, at: str) -> Attention:
        """Notes that the run is alive, and says what it should know.

        Raises:
            LeaseLost
        """

    def release_run(self, lease: Lease, at: str) -> None:
        """Notes that a run has ended by itself; that of a lease which is good no more changes nothing."""

    def request_stop(self, thread_id: str, why: str) -> None:
        """Asks the newest run to stop; a later request takes the place of one before."""

    def report(self, lease: Lease, reports: Sequence[Report]) -> None:
        """Keeps what a run tells, behind what was told before.

        Raises:
            LeaseLost: nothing was written.
        """

    def reports(self, thread_id: str, after: int) -> Sequence[tuple[int, Report]]:
        """Returns the reports numbered above `after` (the first is 0), with their numbers."""

    def run_row(self, thread_id: str) -> RunRow | None: ...

    def run_spans(self, thread_id: str) -> Sequence[tuple[str, str]]:
        """Returns of each run when it began and when it was last heard of."""

    def keep(self, lease: Lease, records: Sequence[StoredRecord]) -> None:
        """Adds records to a thread's journal.

        Raises:
            NotActive: the debate is closed, and these are not only outcomes of calls; nothing was written.
            LeaseLost: nothing was written.
        """

    def journal(self, thread_id: str) -> Sequence[StoredRecord]: ...

    def now(self) -> datetime:
        """Returns what time it is for all that share the store, in UTC: by its server's clock, where it has one."""

    def erase_traces(self) -> bool:
        """Removes what deleted texts left behind in the store's own files, an index of their words among them.

        Returns:
            False while something, a reader say, keeps it from being done; it is tried again when the store is opened,
            at each search and with the next redaction.
        """

    def close(self) -> None: ...
