"""All that a store holds goes to another one, of whatever kind, as it is: verified before, and compared after.

A thread is there whole or not at all, so a copy that was interrupted is made again and goes on. What is under way is
not copied: two runs of one thread, in two stores, would each buy what the other bought.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.errors import DebateError, RunHeld, StoreUnavailable, ThreadExists
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Store, Whole


@dataclass(frozen=True, slots=True)
class Copied:
    """What became of a thread: `refused` says why it is not there."""

    thread_id: str
    head: str
    entries: int = 0
    is_new: bool = False
    refused: DebateError | None = None


def copy_threads(source: Store, target: Store) -> Iterator[Copied]:
    """Copies every thread with what stands beside it, the one that was opened first before those that link to it.

    Raises:
        StoreError: one of the stores cannot be used; what was copied until then is whole.
    """
    hall = Hall(source, clock=source.now)
    threads = sorted(source.listed(), key=lambda listed: listed.state.opened_at if listed.state else "")
    for listed in threads:
        try:
            whole = _verified(source, hall, listed.thread_id)
            is_new = _put(target, whole)
            yield Copied(listed.thread_id, whole.thread.head, len(whole.thread.lines), is_new)
        except StoreUnavailable:
            raise
        except DebateError as error:
            yield Copied(listed.thread_id, listed.head, refused=error)


def copy_reviews(source: Store, target: Store) -> int:
    """Copies the times of all reviews and what was delivered; returns how many times there are.

    Raises:
        RunHeld: somebody is at one of them; nothing was written.
        ThreadExists: a time of one stands there otherwise, or a delivery has come less far than here.
        StoreError
    """
    desk = Hall(source, clock=source.now).reviews
    rows, deliveries = source.reviews(), source.deliveries()
    for row in rows:
        if desk.is_held(row):
            raise RunHeld(f"{row.run.holder} is at the review {row.name}.", "Wait for it, or stop it.")
    target.adopt_reviews(rows, deliveries)
    missing = {row.name for row in {*rows} - {*target.reviews()}} | {
        kept.result for kept in {*deliveries} - {*target.deliveries()}
    }
    if missing:
        raise ThreadExists(
            f"There are reviews or deliveries already that went otherwise: {', '.join(sorted(missing))}.",
            "Copy into a store that held none of them.",
        )
    return len(rows)


def _verified(source: Store, hall: Hall, thread_id: str) -> Whole:
    run = source.run_row(thread_id)
    if run is not None and hall.runs.is_alive(run):
        raise RunHeld(f"{run.holder} runs {thread_id}.", "Wait for it, or stop it; then copy again.")
    hall.verify_debate(thread_id)
    return source.whole(thread_id)


def _put(target: Store, whole: Whole) -> bool:
    """Adds a thread; False where it stood there already, the same to the last word."""
    thread_id = whole.thread.thread_id
    try:
        target.adopt(*whole)
        is_new = True
    except ThreadExists:
        is_new = False
    if target.whole(thread_id) != whole:
        raise ThreadExists(
            f"There is another debate {thread_id} already, or it has gone on, here or there, since it was copied.",
            "Copy into a store that does not have it.",
        )
    return is_new
