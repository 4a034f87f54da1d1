"""What `debate-hall worker` does: it takes debates from the queue and holds them, until it is told to stop."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import procrastinate

from orchestrator.cli.ending import Exit
from orchestrator.cli.outcome import politely
from orchestrator.cli.plain import tell
from orchestrator.cli.reviews_held import daemon_of
from orchestrator.errors import DebateError
from orchestrator.files import prepare_folder
from orchestrator.fleet.holding import Holding
from orchestrator.fleet.permits import Permits
from orchestrator.fleet.place import fleet_address
from orchestrator.fleet.turns import FleetTurns
from orchestrator.fleet.worker import Worker
from orchestrator.hall.hall import Hall
from orchestrator.own_task import in_own_task
from orchestrator.review.in_fleet import Rounds
from orchestrator.wording import counted


@dataclass(frozen=True, slots=True)
class Manner:
    """How a worker works.

    Args:
        concurrency: so many debates at once.
        out: where it writes their files; None: nowhere.
        dead_after_s: whoever is not heard of for so long is taken for dead.
        reviews: the file of the reviews that it holds, too.
    """

    concurrency: int
    out: Path | None
    dead_after_s: float
    reviews: Path | None


def work(manner: Manner) -> int:
    """Works until it is told to stop; returns the exit code."""
    return politely(partial(_work, manner), _end)


def _work(manner: Manner) -> int:
    address = fleet_address()
    out = prepare_folder(Path(os.path.expanduser(manner.out))).absolute() if manner.out is not None else None
    with Hall.open() as hall, closing(Permits(address)) as permits:
        turns = partial(FleetTurns, permits, queues={})
        holding = Holding(hall, turns, out, permits.now)
        rounds = Rounds(daemon_of(hall, manner.reviews, turns)) if manner.reviews is not None else None
        more = rounds.add_to if rounds else _nothing_more
        worker = Worker(address, holding, manner.concurrency, tell, manner.dead_after_s, more)
        tell(f"taking debates from {address.shown}, {counted(manner.concurrency, 'debate')} at once")

        async def serve() -> None:
            if rounds is not None:
                await rounds.daemon.enrol()
            await worker.serve()

        anyio.run(in_own_task, serve)
    return Exit.DECIDED


def _nothing_more(app: procrastinate.App) -> Sequence[str]:
    return ()


def _end(error: DebateError, code: Exit) -> int:
    """To be told to stop is how a worker ends."""
    if code is Exit.INTERRUPTED:
        tell("stopped; what was under way is paused, and waits for another worker")
        return Exit.DECIDED
    tell(f"error: {error}")
    return code
