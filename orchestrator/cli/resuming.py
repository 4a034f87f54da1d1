"""What `run-debate --resume` does: go on with a run that stopped, or write the files of one that has ended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from orchestrator import run_folder
from orchestrator.background import hold
from orchestrator.cli.at_the_table import person_at, require_terminals
from orchestrator.cli.outcome import Call, Place, ending_well, finished, held, signing_key
from orchestrator.cli.running import default_folder
from orchestrator.cli.telling import telling
from orchestrator.errors import UsageError
from orchestrator.export import adr_folder
from orchestrator.files import prepare_folder
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Status
from orchestrator.models.switchboard import Switchboard
from orchestrator.plan import Changes, Plan
from orchestrator.quote import quote_of
from orchestrator.resuming import Resumable, changed_files, changes_wanted, resumable
from orchestrator.runner import Run
from orchestrator.taking_up import TakeUp
from orchestrator.wanted import Wanted


def resume(call: Call, thread_id: str, wanted: Wanted) -> int:
    """Does it all and returns the exit code."""
    return ending_well(call, partial(_resume, call, thread_id, wanted))


def _resume(call: Call, thread_id: str, wanted: Wanted, place: Place) -> int:
    if call.interactive:
        require_terminals()
    with Hall.open() as hall:
        found = resumable(hall, thread_id)
        plan = found.plan
        place.rehearsal, place.key = plan.is_rehearsal, signing_key(call)
        place.adr = _records(call, found)
        if found.debate.state.status is Status.ACTIVE:
            changes = changes_wanted(found, wanted, os.environ)
            plan = plan.with_changes(changes)
            Switchboard().require(plan.routes)
            ended = _held(call, hall, found, plan, changes, place)
        else:
            ended = _ended(call, found, place)
    return finished(call, plan, ended, place)


def _held(call: Call, hall: Hall, found: Resumable, plan: Plan, changes: Changes, place: Place) -> Run:
    """Holds the debate to its end, from where it stands."""
    folder = place.folder = _folder(call, found)
    place.quote = quote_of(plan, found.debate.opening.words)
    for line in _first_words(found, changes):
        call.tell(line)
    place.thread_id = found.debate.state.thread_id
    how = TakeUp(folder=str(folder.resolve()), changes=changes)
    told = place.telling = telling(plan, quiet=call.quiet, colour=call.colour, events=call.events, debate=found.debate)
    readers = told.readers
    with person_at(call, hall, place) as people:
        goes_on = partial(hold, hall, plan, place.thread_id, place.paid, *readers, how=how, seen=told.is_seen)
        ended = held(partial(goes_on, people=people))
    run_folder.forget_drafts(folder)
    return ended


def _ended(call: Call, found: Resumable, place: Place) -> Run:
    """A debate that is closed: all that may be missing are its files."""
    state = found.debate.state
    place.folder = _folder(call, found)
    place.quote = quote_of(found.plan, found.debate.opening.words)
    call.tell(f"{state.thread_id} has ended already ({state.status}): nothing is asked, its files are written again")
    return found.as_run


def _folder(call: Call, found: Resumable) -> Path:
    """Where the run's files go; what is not its own folder must not hold those of another."""
    folder = call.out or found.folder_else(default_folder(found.debate.state.thread_id))
    if folder.resolve() != found.folder:
        run_folder.require_unused(folder)
    return prepare_folder(folder)


def _records(call: Call, found: Resumable) -> Path | None:
    """The folder that the decision was to go into; where it cannot any more, that is no reason to stop."""
    if found.adr is not None and not found.plan.is_rehearsal:
        try:
            adr_folder.require_folder(found.adr)
        except UsageError as error:
            call.tell(f"note: no decision record will be written: {error}")
            return None
    return found.adr


def _first_words(found: Resumable, changes: Changes) -> Iterator[str]:
    yield f"thread {found.debate.state.thread_id}"
    yield "note: it goes on with the recipe, agents, evidence and models of its start"
    changed = list(changed_files(found.plan))
    if changed:
        yield f"note: changed since then, and not taken up: {', '.join(changed)}"
    if changes:
        yield f"note: from here on {changes}"
