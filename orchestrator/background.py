"""A process that holds one debate by itself: `python -m orchestrator.background THREAD_ID FOLDER EPOCH CHANGES`.

It takes the run over from whoever opened the debate, or took it up again, and holds the lease of that EPOCH; CHANGES is
a JSON object, empty but for a run that goes on otherwise than before. Whoever started the process may go away: the plan
is pinned in the thread, what happens is told to the store, and the folder is written at the end. What goes wrong with
the process itself stands in the folder's `run.log`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType

import anyio

from orchestrator import run_folder
from orchestrator.attendance import NOBODY, People
from orchestrator.decision.record import record_of
from orchestrator.drafting import Drafting
from orchestrator.drafts import Paid
from orchestrator.errors import RunPaused, StoreError
from orchestrator.events import Reader, Stream
from orchestrator.files import prepare_folder
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Lease
from orchestrator.lanes import Lanes, Turns
from orchestrator.models.base import Model
from orchestrator.models.switchboard import Switchboard
from orchestrator.onlookers import Onlookers
from orchestrator.plan import Changes, Plan
from orchestrator.resuming import resumable
from orchestrator.runner import Run, hold_debate
from orchestrator.secrets import SERVER_TOKEN, scrub
from orchestrator.taking_up import FIRST, NO_CHANGES, TakeUp
from orchestrator.telemetry import traced
from orchestrator.watch import Watch

LOG = "run.log"


def start(lease: Lease, folder: Path, changes: Changes = NO_CHANGES) -> subprocess.Popen[bytes]:
    """Starts the process for a debate that is open; it outlives the one that started it.

    Args:
        lease: this process's, which it hands over.
        folder: where the run's files go, made if it is not there.
        changes: what is to be otherwise than before.

    Raises:
        UsageError: the folder cannot be written.
    """
    with (prepare_folder(folder) / LOG).open("ab") as log:
        return subprocess.Popen(
            # -P: nothing that stands in the working folder is taken for a module
            [sys.executable, "-P", "-m", "orchestrator.background", *_arguments(lease, folder, changes)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={name: value for name, value in os.environ.items() if name != SERVER_TOKEN},
        )


def _arguments(lease: Lease, folder: Path, changes: Changes) -> list[str]:
    return [lease.thread_id, str(folder), str(lease.epoch), changes.model_dump_json()]


async def hold(
    hall: Hall,
    plan: Plan,
    thread_id: str,
    paid: Paid,
    *readers: Reader,
    how: TakeUp = FIRST,
    client: Model | None = None,
    seen: bool = False,
    people: People = NOBODY,
    turns: Turns | None = None,
) -> Run:
    """Holds an open debate with the models its plan names.

    Args:
        paid: gathers what the run pays for, also when it does not come to its end.
        readers: who reads its events, beside the store.
        how: how this process takes the run up.
        client: the model of the client that asks for the debate, for the routes that name it.
        seen: whether a reader shows drafts while they are written.
        people: who may speak at the seams of the run.
        turns: says when calls may be made; None: only what the models file says of this process counts.

    Raises:
        RunPaused: as `runner.hold_debate` says.
    """
    watch = Watch(hall)
    async with traced() as tracers, aclosing(Switchboard(client)) as models:
        stream = Stream(thread_id, lambda: datetime.now(UTC), watch, *readers, *tracers)
        drafting = Drafting(models.of, stream, paid=paid, turns=turns or Lanes(), onlookers=Onlookers(seen))
        return await hold_debate(hall, plan, thread_id, drafting, watch, how, people)


def write(folder: Path, plan: Plan, ended: Run) -> None:
    """Writes a run's files."""
    run_folder.forget_drafts(folder)
    run_folder.write_run(folder, run_folder.FORMATS, ended.debate, record_of(ended.debate), plan)


def keep(folder: Path, paid: Paid) -> None:
    """Keeps what was paid for and became no turn."""
    run_folder.keep_drafts(folder, paid.unused)


def main(thread_id: str, folder: Path, epoch: int, changes: Changes) -> None:
    with Hall.open() as hall:
        plan, paid = resumable(hall, thread_id).plan.with_changes(changes), Paid()
        how = TakeUp(Lease(thread_id, epoch), str(folder), changes)
        try:
            write(folder, plan, anyio.run(partial(hold, hall, plan, thread_id, paid, how=how)))
        except RunPaused as paused:  # the reason is told to the store, unless that is the reason
            if isinstance(paused.__cause__, StoreError):
                print(scrub(str(paused)), file=sys.stderr)
        finally:
            keep(folder, paid)


def _tell(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    print(scrub("".join(traceback.format_exception(kind, error, where))), file=sys.stderr)


if __name__ == "__main__":
    sys.excepthook = _tell
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), Changes.model_validate_json(sys.argv[4]))
