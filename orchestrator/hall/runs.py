"""What a run is doing, kept beside the debate: any process can read it, and any process can ask the run to stop.

None of it stands in the ledger: a debate's record is its entries, whoever wrote them.
"""

from __future__ import annotations

import json
import math
import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from orchestrator.errors import LeaseLost, NotActive, RunHeld
from orchestrator.hall import journal
from orchestrator.hall.journal import JournalLine
from orchestrator.hall.store import Attention, Holder, Lease, Report, RunRow, Store
from orchestrator.iso_time import iso_utc

Life = Literal["none", "running", "paused", "interrupted", "done"]

SILENCE_S = 15.0  # a run that is not heard of for this long is taken for dead
_FREE_WORDS = ("message", "reason")  # what a report says in words of providers, models and people


def this_process() -> Holder:
    """Who this process is to others.

    A number is one process in one place: machines that bear one name are told apart by how they were started, and so
    are places of one machine where processes are numbered apart (in a container).
    """
    parts = [socket.gethostname() or "localhost"]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text()[:8])
    with suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return Holder(" ".join(parts), os.getpid())


class RunDesk:
    """The desk at which runs report and are asked to stop.

    Args:
        store: where debates are kept.
        clock: says what time it is.
        holder: who begins runs here.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime], holder: Holder | None = None) -> None:
        self._store, self._clock = store, clock
        self._holder = holder or this_process()

    def begin(self, thread_id: str, succeeds: Lease | None = None) -> Lease:
        """Takes up the run of a thread; one that died or was paused is taken over.

        Args:
            succeeds: the lease of whoever hands over to this process; what was asked of that run is asked of this one.

        Raises:
            RunHeld: another process runs it; says which.
            LeaseLost: the run that was to be handed over has been taken over by another process.
            UnknownThread
        """
        while True:
            row = self._store.run_row(thread_id)
            epoch = row.epoch if row else 0
            if succeeds is not None and succeeds.epoch != epoch:
                raise LeaseLost(
                    f"The run of {thread_id} was handed over too late: another process has taken it over.",
                    f"See how it goes: debate-hall show {thread_id}",
                )
            if row is not None and succeeds is None and self.is_alive(row):
                raise RunHeld(
                    f"{row.holder} has run {thread_id} since {row.began_at[:19].replace('T', ' ')} UTC; it was heard "
                    f"of {self._silence_s(row):.0f} s ago.",
                    f"Wait for it, or stop it; once it is not heard of for {SILENCE_S:.0f} s it can be taken over.",
                )
            lease = self._store.begin_run(thread_id, self._holder, self._now(), epoch, succeeds is not None)
            if lease is not None:
                return lease

    def attend(self, lease: Lease) -> Attention:
        """Says that the run is alive; returns whether its debate is open, and why it should stop, if it should.

        Raises:
            LeaseLost: another process has taken it over.
        """
        return self._store.attend(lease, self._now())

    def release(self, lease: Lease) -> None:
        """Says that the run has ended by itself; of one that was taken over there is nothing to say."""
        self._store.release_run(lease, self._now())

    def stop(self, thread_id: str, why: str) -> None:
        """Asks the run of a thread to stop, wherever it is; its committed turns stand.

        Raises:
            UnknownThread
            NotActive: nobody ever ran it.
        """
        if self._store.run_row(thread_id) is None:
            raise NotActive(f"Nobody runs {thread_id}.", "There is nothing to stop; force_close_debate closes it.")
        self._store.request_stop(thread_id, why)

    def report(self, lease: Lease, reports: Sequence[Mapping[str, Any]]) -> None:
        """Keeps what a run tells.

        Raises:
            LeaseLost: nothing was written.
        """
        self._store.report(lease, [_apart(report) for report in reports])

    def reports(self, thread_id: str, after: int = -1) -> list[dict[str, Any]]:
        """Returns what the runs of a thread told, each report with its `number`, those above `after`.

        Those from before a redaction have no `message` and no `reason`.
        """
        return [
            {**json.loads(report.told), **json.loads(report.words or "{}"), "number": number}
            for number, report in self._store.reports(thread_id, after)
        ]

    def keep(self, lease: Lease, lines: Iterable[JournalLine]) -> None:
        """Adds lines to a thread's journal, numbered on from those that are there.

        Raises:
            NotActive: the debate is closed, and these are not only outcomes of calls; nothing was written.
            LeaseLost: nothing was written.
        """
        self._store.keep(lease, [journal.seal(lease.thread_id, line) for line in lines])

    def row(self, thread_id: str) -> RunRow | None:
        """Returns a thread's newest run; None when there was none."""
        return self._store.run_row(thread_id)

    def is_alive(self, row: RunRow) -> bool:
        """Whether a run goes on: it was heard of lately, and its process, where it can be seen from here, is there."""
        if row.released or self._silence_s(row) >= SILENCE_S:
            return False
        return row.holder.place != self._holder.place or _is_there(row.holder.pid)

    def life(self, row: RunRow | None, active: bool) -> Life:
        """Says in a word what a run is doing.

        Args:
            active: its debate is open.
        """
        if row is None:
            return "none"
        if self.is_alive(row):
            return "running"
        if not active:
            return "done"
        return "paused" if row.released else "interrupted"

    def seconds(self, thread_id: str) -> float:
        """Returns for how long a thread's runs went on, all together."""
        spans = [(_time(first), _time(last)) for first, last in self._store.run_spans(thread_id)]
        return sum(max(0.0, (last - first).total_seconds()) for first, last in spans if first and last)

    def _silence_s(self, row: RunRow) -> float:
        beat_at = _time(row.beat_at)
        # Of whoever was heard of in times to come, the clock was wrong then, or is now.
        return abs((self._clock() - beat_at).total_seconds()) if beat_at else math.inf

    def _now(self) -> str:
        return iso_utc(self._clock(), "microseconds")


def _apart(report: Mapping[str, Any]) -> Report:
    """A report as stores keep it, its free words apart from what the program says."""
    words = {name: report[name] for name in _FREE_WORDS if name in report}
    told = {name: member for name, member in report.items() if name not in words}
    return Report(json.dumps(told), json.dumps(words) if words else None)


def _time(at: str) -> datetime | None:
    """A time as it was written; None where the store is damaged, so that it hides no run and no debate."""
    try:
        time = datetime.fromisoformat(at)
    except ValueError:
        return None
    return time if time.tzinfo else None


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # no process has a number that large
        return False
    except PermissionError:
        pass  # somebody else's, but there
    return True
