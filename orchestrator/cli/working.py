"""What `debate-hall worker` does: it takes debates from the queue and holds them, until it is told to stop."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio

from orchestrator.cli.ending import Exit
from orchestrator.cli.outcome import politely
from orchestrator.cli.plain import tell
from orchestrator.errors import DebateError
from orchestrator.files import prepare_folder
from orchestrator.fleet.holding import Holding
from orchestrator.fleet.permits import Permits
from orchestrator.fleet.place import fleet_address
from orchestrator.fleet.turns import FleetTurns
from orchestrator.fleet.worker import Worker
from orchestrator.hall.hall import Hall
from orchestrator.own_task import in_own_task
from orchestrator.wording import counted


@dataclass(frozen=True, slots=True)
class Manner:
    """How a worker works.

    Args:
        concurrency: so many debates at once.
        out: where it writes their files; None: nowhere.
        dead_after_s: whoever is not heard of for so long is taken for dead.
        reviews: the reviews that it holds, too.
    """

    concurrency: int
    out: Path | None
    dead_after_s: float


def work(manner: Manner) -> int:
    """Works until it is told to stop; returns the exit code."""
    return politely(partial(_work, manner), _end)


def _work(manner: Manner) -> int:
    address = fleet_address()
    out = prepare_folder(Path(os.path.expanduser(manner.out))).absolute() if manner.out is not None else None
    with Hall.open() as hall, closing(Permits(address)) as permits:
        turns = partial(FleetTurns, permits, queues={})
        holding = Holding(hall, turns, out, lambda: datetime.now(UTC))
        worker = Worker(address, holding, manner.concurrency, tell, manner.dead_after_s)
        tell(f"taking debates from {address.shown}, {counted(manner.concurrency, 'debate')} at once")
        anyio.run(in_own_task, worker.serve)
    return Exit.DECIDED


def _end(error: DebateError, code: Exit) -> int:
    """To be told to stop is how a worker ends."""
    if code is Exit.INTERRUPTED:
        tell("stopped; what was under way is paused, and waits for another worker")
        return Exit.DECIDED
    tell(f"error: {error}")
    return code
