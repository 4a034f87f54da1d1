"""Where a decision goes beside its run's folder: into the folder of decision records that `--adr` names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from orchestrator.cli.plain import answer, tell
from orchestrator.decision.record import DecisionRecord, record_of
from orchestrator.errors import UsageError
from orchestrator.export import adr_folder
from orchestrator.export.adr_folder import Kept
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.plan import Plan
from orchestrator.wanted import Wanted


def folder_of(wanted: Wanted) -> Path | None:
    """The folder that the decision goes into: the first of those that were named; the others are evidence alone.

    Raises:
        UsageError: it cannot take one, which is known before anything is spent. A rehearsal writes none.
    """
    if not wanted.adr:
        return None
    folder = Path(os.path.expanduser(wanted.adr[0]))
    if not wanted.rehearse:
        adr_folder.require_folder(folder)
    return folder


def with_records(wanted: Wanted) -> Wanted:
    """The same, without a folder that holds no record yet: the decision can go there, and there is nothing to read."""
    first = wanted.adr[:1]
    if first and adr_folder.is_empty(Path(os.path.expanduser(first[0]))):
        return replace(wanted, adr=wanted.adr[1:])
    return wanted


def to_be_written(folder: Path | None, plan: Plan) -> str | None:
    """Where the decision will stand, its title apart; None if it is written nowhere."""
    if folder is None or plan.is_rehearsal:
        return None
    return str(folder / adr_folder.next_name(folder, datetime.now().astimezone().date()))


def kept(folder: Path | None, record: DecisionRecord, debate: Debate) -> Kept | None:
    """Writes the decision of a debate that ended; None where there is nothing to write, or nowhere.

    Raises:
        UsageError: it cannot be written.
    """
    if folder is None or adr_folder.why_not(record) is not None:
        return None
    return adr_folder.keep(folder, record, debate)


def words_on(folder: Path | None, record: DecisionRecord, done: Kept | None) -> Iterator[str]:
    """What is said of it, beside the files that were written."""
    if folder is None:
        return
    why = adr_folder.why_not(record)
    if why is not None:
        yield f"note: no decision record was written to {folder}: {why}"
    elif done is not None and not done.is_new:
        yield f"note: {_held(done)}"


def export(thread_id: str, folder: Path) -> None:
    """Writes the decision of a debate of the hall, and prints where it stands.

    A stalemate is written too, where it is asked for by name: its record says that it is one.

    Raises:
        UsageError: there is no decision, or it cannot be written.
    """
    with Hall.open() as hall:
        debate = hall.debate(thread_id)
    record = record_of(debate)
    if record.decision is None:
        raise UsageError(f"{record.thread_id} has no decision to record: {adr_folder.why_not(record)}.")
    done = adr_folder.keep(Path(os.path.expanduser(folder)), record, debate)
    for index in done.indexes:
        tell(f"wrote {index}")
    if done.is_old:
        raise UsageError(f"{_held(done)}.", "Remove it to have it written again.")
    answer(f"{done.record}\n")


def _held(done: Kept) -> str:
    if done.is_old:
        return f"{done.record} holds this decision as it was before its ledger went on; it is left as it is"
    return f"{done.record} holds this decision already; it is left as it is"
