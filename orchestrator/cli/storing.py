"""What `debate-hall store` does: it says how a store is, brings it to the newest format, and copies it."""

from __future__ import annotations

import os
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from orchestrator.cli.ending import exit_code
from orchestrator.cli.plain import answer, json_text
from orchestrator.cli.showing import put
from orchestrator.errors import DebateError, UsageError
from orchestrator.hall import copying, folder
from orchestrator.hall.address import is_address, read
from orchestrator.hall.copying import Copied
from orchestrator.hall.folder import FILE
from orchestrator.hall.store import Store
from orchestrator.hall.store_place import StoreStatus, migrate, open_store, status_of
from orchestrator.secrets import scrub
from orchestrator.wording import counted, visible


def status(place: str | None, as_json: bool) -> bool:
    """Says how a store is; returns whether it can be used."""
    found = status_of(place)
    put(found._asdict(), as_json, status_line(found) + "\n")
    return not found.problem


def status_line(found: StoreStatus) -> str:
    if found.problem:
        return scrub(found.problem)
    if found.format == 0:
        return f"{found.place}: nothing is kept there yet"
    older = f", which this version brings to {found.newest}" if found.format != found.newest else ""
    return f"{found.place}: {found.kind}, format {found.format}{older}"


def migrate_to_newest(place: str | None, as_json: bool) -> None:
    """
    Raises:
        StoreError
    """
    before, now = migrate(place)
    queue_made = _queue_made(place)
    words = f"made, with format {now}" if before == 0 else f"brought from format {before} to {now}"
    told = f"has format {now} already" if before == now else words
    put({"before": before, "now": now}, as_json, f"{told}{', and made the queue of the fleet' if queue_made else ''}\n")


def _queue_made(place: str | None) -> bool:
    """Makes the queue of a fleet, where a fleet can be and its libraries are installed; whether that was needed."""
    located = folder.located(os.environ, place)
    if isinstance(located, Path) or find_spec("procrastinate") is None:
        return False
    from orchestrator.fleet import queue_tables

    return queue_tables.make(read(located))


def copy(source: str, target: str, as_json: bool) -> int:
    """Copies a store into another; returns the exit code.

    Raises:
        UsageError: there is no store to copy.
        StoreError
    """
    if not is_address(source) and not (Path(source).expanduser() / FILE).is_file():
        raise UsageError(f"There is no store in {source}.", f"Name a folder with {FILE} in it, or postgresql://….")
    with closing(open_store(source)) as ours, closing(open_store(target)) as theirs:
        threads = []
        for copied in copying.copy_threads(ours, theirs):
            threads.append(copied)
            if not as_json:
                answer(visible(scrub(_line(copied))) + "\n")
        reviews = _reviews(ours, theirs)
    refusals = [copied.refused for copied in threads if copied.refused]
    if isinstance(reviews, DebateError):
        refusals.append(reviews)
    if as_json:
        told = None if isinstance(reviews, DebateError) else reviews
        refused = [scrub(str(error)) for error in refusals]
        answer(json_text({"threads": [_members(copied) for copied in threads], "reviews": told, "refused": refused}))
    else:
        answer(f"{scrub(str(reviews))}\n" if isinstance(reviews, DebateError) else f"{_counts(threads, reviews)}\n")
    return exit_code(refusals[0]) if refusals else 0


def _reviews(ours: Store, theirs: Store) -> int | DebateError:
    try:
        return copying.copy_reviews(ours, theirs)
    except DebateError as error:
        return error


def _line(copied: Copied) -> str:
    if copied.refused:
        return f"{copied.thread_id}: not copied: {copied.refused}"
    what = "copied" if copied.is_new else "is there already"
    return f"{copied.thread_id}: {what}, {counted(copied.entries, 'entry', 'entries')}, head {copied.head}"


def _counts(threads: list[Copied], reviews: int) -> str:
    new, there = (sum(not copied.refused and copied.is_new == is_new for copied in threads) for is_new in (True, False))
    refused = sum(copied.refused is not None for copied in threads)
    return f"{new} copied, {there} there already, {refused} refused; {counted(reviews, 'time')} of reviews"


def _members(copied: Copied) -> dict[str, Any]:
    return {
        "thread_id": copied.thread_id,
        "head": copied.head,
        "entries": copied.entries,
        "is_new": copied.is_new,
        "refused": scrub(str(copied.refused)) if copied.refused else None,
    }
