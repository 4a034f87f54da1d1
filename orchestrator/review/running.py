"""A time of a review, held to its end: is there anything to debate, the debate, what becomes of its result.

What is known is noted before it is acted on: the thread's id before it is opened, the outcome after the last delivery.
So whoever takes over what was left behind, at whatever moment, goes on with the same debate and sends nothing twice.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial

from orchestrator.decision.record import record_of
from orchestrator.earlier import earlier_decision
from orchestrator.errors import (
    ConfigurationError,
    DebateError,
    HallError,
    RunHeld,
    RunPaused,
    ThreadExists,
    UnknownThread,
    UsageError,
)
from orchestrator.hall.review_rows import ReviewNotes
from orchestrator.hall.terms import Status
from orchestrator.review.attending import attended
from orchestrator.review.changes import decoded, encoded, look, with_own
from orchestrator.review.debating import debate, free_ids, planned, wanted
from orchestrator.review.delivering import deliver
from orchestrator.review.occasion import Occasion, find_occasion
from orchestrator.review.office import Debated, Ended, Office
from orchestrator.review.outcomes import Outcome
from orchestrator.review.reviews_file import Review
from orchestrator.review.times import Taken
from orchestrator.runner import open_debate
from orchestrator.secrets import scrub
from orchestrator.worker import in_thread


async def hold_review(office: Office, review: Review, taken: Taken) -> Ended:
    """Holds a time that was taken up to its end.

    Raises:
        RunPaused: its debate stopped before its end, and can be gone on with; LeaseLost, RunHeld: another process does
            that.
        UsageError, HallError: it cannot be held as the file asks for. That is noted: as its end, or, for a time of the
            schedule of which nothing was begun, as the reason why it is still due. Where its debate is under way it
            cannot be gone on with as things are.
        StoreError: the hall cannot be used.
    """
    return await attended(office.desk, taken.claim, partial(_held, office, review, taken))


async def _held(office: Office, review: Review, taken: Taken) -> Ended:
    try:
        return await _to_its_end(office, review, taken)
    except (RunPaused, RunHeld):
        raise
    except (UsageError, HallError) as error:
        await in_thread(_failed, office, taken, error)
        raise


async def _to_its_end(office: Office, review: Review, taken: Taken) -> Ended:
    notes = taken.notes
    if notes.thread_id is None or not await in_thread(_is_open, office, notes.thread_id):
        occasion = await find_occasion(office, review)
        if occasion.outcome is not None:
            return await in_thread(_nothing_to_debate, office, taken, occasion)
        notes = await in_thread(_opened, office, review, taken, occasion)
        office.tell(f"{review.name}: {notes.thread_id}: {notes.why}")
    assert notes.thread_id is not None, "it is noted before it is opened"
    debated = await debate(office, review, notes.thread_id)
    problems = (debated.problem,) if debated.problem else ()
    ended = await deliver(office, review, taken, Ended(_outcome_of(debated), notes.why or "", debated, problems))
    await in_thread(_noted, office, review, taken, notes, ended)
    return ended


def _is_open(office: Office, thread_id: str) -> bool:
    """Whether the debate that was to be opened was."""
    try:
        office.hall.runs.row(thread_id)
    except UnknownThread:
        return False
    return True


def _is_under_way(office: Office, thread_id: str) -> bool:
    return office.hall.debate(thread_id).state.status is Status.ACTIVE


def _failed(office: Office, taken: Taken, error: DebateError) -> None:
    newest = office.desk.newest(taken.claim.name)
    known = newest.notes if newest else taken.notes
    is_begun = known.thread_id is not None and _is_open(office, known.thread_id)
    if known.thread_id is not None and is_begun and _is_under_way(office, known.thread_id):
        return  # it was paid for, and can be gone on with once that is mended
    outcome = None if taken.is_of_schedule and not is_begun else Outcome.FAILED  # the one stays due until the next
    office.desk.note(taken.claim, known._replace(seen=None, outcome=outcome, why=scrub(str(error))))


def _nothing_to_debate(office: Office, taken: Taken, occasion: Occasion) -> Ended:
    assert occasion.outcome is not None
    notes = ReviewNotes(None, None, occasion.span.now, occasion.outcome, occasion.why)
    office.desk.note(taken.claim, notes)
    return Ended(occasion.outcome, occasion.why)


def _opened(office: Office, review: Review, taken: Taken, occasion: Occasion) -> ReviewNotes:
    """Opens the debate under an id that is noted before."""
    review.results.require_deliverable(os.environ)
    earlier = earlier_decision(office.hall, occasion.since) if occasion.since is not None else None
    asked = replace(wanted(review, office.file, occasion.span.range), earlier=earlier)
    plan = planned(review, office.file, asked)
    for thread_id in free_ids(office.hall, review, office.now()):
        notes = ReviewNotes(thread_id, occasion.seen, occasion.span.now, None, occasion.why)
        office.desk.note(taken.claim, notes)
        try:
            open_debate(office.hall, plan, thread_id, occasion.topic, earlier.link if earlier else None)
        except ThreadExists:
            continue
        return notes
    raise AssertionError("there is always another id")


def _noted(office: Office, review: Review, taken: Taken, notes: ReviewNotes, ended: Ended) -> None:
    assert ended.debated is not None
    seen = _seen(office, review, notes, ended.debated)
    office.desk.note(taken.claim, notes._replace(seen=seen, outcome=ended.outcome))


def _seen(office: Office, review: Review, notes: ReviewNotes, debated: Debated) -> str | None:
    """What it looked at, its own new record with it: that is no reason to review again."""
    if notes.seen is None or not debated.files:
        return notes.seen
    try:
        now = look(review.context, review.adr, office.file.folder)
    except ConfigurationError:  # what it looked at is gone by now, which the next time will find
        return notes.seen
    return encoded(with_own(decoded(notes.seen), now, debated.files, office.file.folder))


def _outcome_of(debated: Debated) -> Outcome:
    record = record_of(debated.run.debate)
    if record.rehearsal:
        return Outcome.REHEARSED
    return Outcome.DECIDED if record.status is Status.SYNTHESIS else Outcome.UNDECIDED
