"""What a run is doing, kept beside the debate: any process can read it, and any process can ask the run to stop.

None of it stands in the ledger: a debate's record is its entries, whoever wrote them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from orchestrator.errors import NotActive
from orchestrator.hall.store import Attention, Store


class RunDesk:
    """The desk at which runs report and are asked to stop.

    Args:
        store: where debates are kept.
        clock: says what time it is.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store, self._clock = store, clock

    def begin(self, thread_id: str, holder: str) -> None:
        """Notes who runs a thread: a process and its host, in words."""
        self._store.begin_run(thread_id, holder, self._now())

    def attend(self, thread_id: str) -> Attention:
        """Says that the run is alive; returns whether its debate is open, and why it should stop, if it should."""
        return self._store.attend(thread_id, self._now())

    def stop(self, thread_id: str, why: str) -> None:
        """Asks the run of a thread to stop, wherever it is; its committed turns stand.

        Raises:
            UnknownThread
            NotActive: nobody ever ran it.
        """
        if self._store.run_row(thread_id).holder is None:
            raise NotActive(f"Nobody runs {thread_id}.", "There is nothing to stop; force_close_debate closes it.")
        self._store.request_stop(thread_id, why)

    def report(self, thread_id: str, reports: Sequence[Mapping[str, Any]]) -> None:
        """Keeps what a run tells."""
        self._store.report(thread_id, [json.dumps(report, ensure_ascii=False) for report in reports])

    def reports(self, thread_id: str, after: int = -1) -> list[dict[str, Any]]:
        """Returns what the runs of a thread told, each report with its `number`, those above `after`."""
        return [{**json.loads(report), "number": number} for number, report in self._store.reports(thread_id, after)]

    def silence_s(self, thread_id: str) -> float | None:
        """Returns for how many seconds the run of a thread has not been heard of; None when there was none."""
        beat_at = self._store.run_row(thread_id).beat_at
        return None if beat_at is None else (self._clock() - datetime.fromisoformat(beat_at)).total_seconds()

    def _now(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
