"""What `run-debate --resume` does: go on with a run that stopped, or write the files of one that has ended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio

from orchestrator.background import hold
from orchestrator.budget import require_prices
from orchestrator.cli.outcome import Call, Place, ending_well, finished, signing_key
from orchestrator.cli.plain import tell
from orchestrator.cli.progress import progress_lines
from orchestrator.files import prepare_folder
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Status
from orchestrator.journal import Journal
from orchestrator.models.switchboard import Switchboard
from orchestrator.plan import Changes
from orchestrator.resuming import Resumable, changed_files, changes_wanted, resumable
from orchestrator.runner import Run
from orchestrator.taking_up import TakeUp
from orchestrator.wanted import Wanted


def resume(call: Call, thread_id: str, wanted: Wanted) -> int:
    """Does it all and returns the exit code."""
    return ending_well(call, partial(_resume, call, thread_id, wanted))


def _resume(call: Call, thread_id: str, wanted: Wanted, place: Place) -> int:
    with Hall.open() as hall:
        found = resumable(hall, thread_id)
        changes = changes_wanted(
            found.plan,
            wanted.voices,
            wanted.models,
            os.environ,
            wanted.limits,
            wanted.assumed,
            wanted.on_failure,
        )
        plan = found.plan.with_changes(changes)
        Switchboard().require(plan.routes)
        require_prices(((route, plan.endpoint(route)) for route in sorted(plan.routes)), plan.limits)
        place.rehearsal, place.key = plan.is_rehearsal, signing_key(call)
        place.folder = prepare_folder(call.out or _folder(found))
        place.thread_id = found.debate.state.thread_id
        if found.debate.state.status is Status.ACTIVE:
            for line in _first_words(found, changes):
                call.tell(line)
            how = TakeUp(folder=str(place.folder.resolve()), changes=changes)
            readers = [] if call.quiet else [progress_lines(tell)]
            ended = anyio.run(partial(hold, hall, plan, place.thread_id, place.paid, *readers, how=how))
        else:
            call.tell(f"{place.thread_id} has ended already: {found.debate.state.status}. Its files are written again.")
            ended = _ended(hall, found)
    return finished(call, plan, ended, place)


def _folder(found: Resumable) -> Path:
    """Where the run's files were to go, if that is still there."""
    default = Path("debates") / found.debate.state.thread_id
    return found.folder if found.folder is not None and found.folder.parent.is_dir() else default


def _first_words(found: Resumable, changes: Changes) -> Iterator[str]:
    yield f"thread {found.debate.state.thread_id}"
    yield "note: it goes on with the recipe, agents, evidence and models of its start"
    changed = list(changed_files(found.plan))
    if changed:
        yield f"note: changed since then, and not taken up: {', '.join(changed)}"
    if changes:
        yield f"note: from here on {changes}"


def _ended(hall: Hall, found: Resumable) -> Run:
    """A run that came to its end before its files were written."""
    journal = Journal.to_read(hall, found.debate.state.thread_id)
    return Run(found.debate, journal.spent, (), journal.uncertain)
