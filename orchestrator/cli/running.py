"""What `run-debate` does with a topic: prepare a plan, open the debate, hold it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from orchestrator import run_folder
from orchestrator.attendance import People
from orchestrator.background import hold
from orchestrator.cli import recording, standard_input
from orchestrator.cli.at_the_table import person_at, require_terminals
from orchestrator.cli.ending import Exit
from orchestrator.cli.outcome import Call, Place, ending_well, finished, held, signing_key
from orchestrator.cli.plain import answer, json_text
from orchestrator.cli.telling import telling
from orchestrator.earlier import earlier_decision
from orchestrator.errors import LedgerBroken, ThreadExists, UnknownThread, UsageError
from orchestrator.files import folder_to_fill
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import require_thread_id, require_words, thread_id_warnings
from orchestrator.models.switchboard import Switchboard
from orchestrator.plan import Plan
from orchestrator.quote import quote_of, with_baseline
from orchestrator.runner import Run, open_debate
from orchestrator.taking_up import TakeUp
from orchestrator.thread_id import ids_for
from orchestrator.wanted import Wanted, prepare
from orchestrator.wording import visible
from orchestrator.worker import in_thread

_INSTEAD = "the topic, or files,"
_SHORTER = "Send the question alone; what it rests on is given with --context."


def run(call: Call, topic: str, wanted: Wanted) -> int:
    """Does it all and returns the exit code."""
    return ending_well(call, partial(_run, call, topic, wanted))


def _run(call: Call, given: str, wanted: Wanted, place: Place) -> int:
    topic = standard_input.text("topic", _INSTEAD, _SHORTER) if given == "-" else given
    require_words(topic, "topic")
    if call.thread_id is not None:
        require_thread_id(call.thread_id)
    if call.interactive and not call.dry_run:
        require_terminals()
    if call.out is not None and not call.dry_run:
        run_folder.require_unused(call.out)
    wanted = _started_from(call.since, wanted, place)
    place.adr = recording.folder_of(wanted)
    read = partial(standard_input.read, _INSTEAD)
    plan = prepare(recording.with_records(wanted), os.environ, _working_folder(), standard_input=read)
    if call.baseline:
        plan = with_baseline(plan, topic)
    Switchboard().require(plan.routes)
    place.rehearsal, place.key = plan.is_rehearsal, signing_key(call)
    place.quote = quote_of(plan, topic)
    if call.dry_run:
        _show(call, plan, place)
        return Exit.DECIDED
    for notice in (*plan.notices, *(thread_id_warnings(call.thread_id) if call.thread_id else ())):
        call.tell(f"note: {notice}")
    if place.quote and place.quote.asks_models:
        call.tell(f"quote: {place.quote}")
    place.telling = telling(plan, quiet=call.quiet, colour=call.colour, events=call.events)
    with Hall.open() as hall:
        ended = held_anew(call, topic, plan, hall, place, ids_for(topic, datetime.now().astimezone().date()))
    return finished(call, plan, ended, place)


def _started_from(since: str | None, wanted: Wanted, place: Place) -> Wanted:
    """The same, from an earlier decision where one is named."""
    if since is None:
        return wanted
    with Hall.open() as hall:
        earlier = earlier_decision(hall, since)
    place.link = earlier.link
    return replace(wanted, earlier=earlier)


def _show(call: Call, plan: Plan, place: Place) -> None:
    """Prints a plan with its quote, and where its decision would go."""
    record = recording.to_be_written(place.adr, plan)
    if call.as_json:
        decision = {"decision_record": record} if place.adr else {}
        answer(json_text({**run_folder.describe(plan), "quote": place.quoted, **decision}))
        return
    told = record or f"none: a rehearsal writes none to {place.adr}"
    answer(visible(run_folder.outline(plan, place.quote) + (f"decision record: {told}\n" if place.adr else "")))


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError("The working folder is gone.", "Change to one that is there.") from error


def held_anew(call: Call, topic: str, plan: Plan, hall: Hall, place: Place, ids: Iterable[str]) -> Run:
    """Opens a debate and holds it, under the id that was asked for, else under the first free one.

    Args:
        ids: those to try, without end.
    """
    for thread_id in _candidates(call, ids, hall):
        try:
            with folder_to_fill(call.out or default_folder(thread_id)) as place.folder:
                call.tell(f"thread {thread_id}")
                place.thread_id = thread_id
                with person_at(call, hall, place) as people:
                    return held(partial(_debate, hall, plan, place, topic, people))
        except ThreadExists:
            place.thread_id = None
            if call.thread_id is not None:
                raise
    raise AssertionError("there is always another id")


async def _debate(hall: Hall, plan: Plan, place: Place, topic: str, people: People) -> Run:
    assert place.thread_id is not None, "it was chosen before"
    await in_thread(open_debate, hall, plan, place.thread_id, topic, place.link)
    how = TakeUp(folder=_absolute(place.folder), adr=_absolute(place.adr))
    told = place.telling
    return await hold(hall, plan, place.thread_id, place.paid, *told.readers, how=how, seen=told.is_seen, people=people)


def _absolute(folder: Path | None) -> str | None:
    return str(folder.resolve()) if folder else None


def _candidates(call: Call, ids: Iterable[str], hall: Hall) -> Iterator[str]:
    if call.thread_id is not None:
        yield call.thread_id
        return
    for thread_id in ids:
        free = call.out is not None or not os.path.lexists(default_folder(thread_id))
        if free and not _is_taken(hall, thread_id):
            yield thread_id


def _is_taken(hall: Hall, thread_id: str) -> bool:
    try:
        hall.get_debate(thread_id, include_transcript=False)
    except UnknownThread:
        return False
    except LedgerBroken:
        pass  # it is there
    return True


def default_folder(thread_id: str) -> Path:
    """Where a run's files go unless they are wanted elsewhere."""
    return Path("debates") / thread_id
