"""The debate of a review: planned, held from where it stands, and its decision put among the others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from orchestrator.background import hold
from orchestrator.decision.record import record_of
from orchestrator.drafts import Paid
from orchestrator.errors import UnknownThread, UsageError
from orchestrator.evidence.revisions import PREFIX
from orchestrator.export import adr_folder
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role, Status
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.models.switchboard import Switchboard
from orchestrator.models_file import models_files
from orchestrator.own_task import in_own_task
from orchestrator.plan import Changes, Plan
from orchestrator.resuming import changes_wanted, resumable
from orchestrator.review.office import Debated, Office
from orchestrator.review.reviews_file import RANGE, Review, ReviewsFile
from orchestrator.runner import Run
from orchestrator.shelves import folders
from orchestrator.taking_up import NO_CHANGES, TakeUp
from orchestrator.thread_id import ids_for
from orchestrator.wanted import DEFAULT_MODELS, Wanted, prepare_recipe
from orchestrator.worker import in_thread


def wanted(review: Review, file: ReviewsFile, span: str | None) -> Wanted:
    """What a review asks for, in the words of the command line.

    Args:
        span: the range of revisions since the last time; without one the diff of it is no evidence.
    """
    context = [source for source in review.context if span is not None or source != RANGE]
    models = review.models
    routes: tuple[str, ...] = ()
    if review.has_own_models:
        models = str(file.folder / os.path.expanduser(models))
    elif models == REHEARSAL or models.lower() not in models_files(folders("configs")):
        models, routes = DEFAULT_MODELS, (models,)
    rehearse = routes == (REHEARSAL,)
    return Wanted(
        models=models,
        voices={} if rehearse else dict.fromkeys(Role, routes),
        rehearse=rehearse,
        context=tuple(f"{PREFIX}{span}" if source == RANGE else source for source in context),
        limits=review.limits,
        on_failure=review.on_failure,
        consensus=review.consensus,
        adr=review.adr,
    )


def records_of(review: Review, file: ReviewsFile) -> Path | None:
    """The folder that a review's decisions go into."""
    return file.folder / os.path.expanduser(review.adr[0]) if review.adr else None


def planned(review: Review, file: ReviewsFile, asked: Wanted) -> Plan:
    """Resolves and pins everything that a review asks for.

    Raises:
        UsageError: it cannot be held as it was asked for; nothing was begun.
    """
    records = records_of(review, file)
    if records is not None and not asked.rehearse:
        adr_folder.require_folder(records)
    if records is not None and adr_folder.is_empty(records):  # the decision can go there, and there is nothing to read
        asked = replace(asked, adr=asked.adr[1:])
    return prepare_recipe(review.recipe_from(file.folder), asked, os.environ, file.folder)


def free_ids(hall: Hall, review: Review, now: datetime) -> Iterator[str]:
    """Thread ids for a review of today that nobody has taken."""
    for thread_id in ids_for(review.name, now.astimezone(review.zone).date()):
        try:
            hall.runs.row(thread_id)
        except UnknownThread:
            yield thread_id


async def debate(office: Office, review: Review, thread_id: str) -> Debated:
    """Holds a debate that is open to its end, from where it stands; of one that has ended the decision is written.

    Raises:
        RunPaused: it stopped before its end, and can be gone on with.
    """
    found = await in_thread(resumable, office.hall, thread_id)
    plan, records = found.plan, found.adr or records_of(review, office.file)
    if found.debate.state.status is not Status.ACTIVE:
        return await _recorded(found.as_run, plan, records)
    changes = NO_CHANGES
    if plan.with_changes(Changes(limits=review.limits)) != plan:  # they were raised, say
        changes = await in_thread(changes_wanted, found, Wanted(limits=review.limits), os.environ)
        plan = plan.with_changes(changes)
    Switchboard(office.client).require(plan.routes)
    how = TakeUp(changes=changes, adr=str(records) if records else None)
    turns = office.turns(thread_id) if office.turns else None
    holding = partial(hold, how=how, client=office.client, turns=turns)
    begun = partial(holding, office.hall, plan, thread_id, Paid(), *office.readers(plan))
    return await _recorded(await in_own_task(begun), plan, records)


async def _recorded(run: Run, plan: Plan, records: Path | None) -> Debated:
    """Puts the decision among the others, where there is one."""
    record = record_of(run.debate)
    if records is None or adr_folder.why_not(record) is not None:
        return Debated(run, plan)
    try:
        kept = await in_thread(adr_folder.keep, records, record, run.debate)
    except UsageError as error:  # the debate was held, and to hold it again would be to pay again
        return Debated(run, plan, problem=f"{error} The debate is kept: debate-hall export {record.thread_id}")
    return Debated(run, plan, (kept.record, *kept.indexes))
