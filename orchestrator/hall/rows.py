"""What the rows of every store mean, and what is said where one is missing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from orchestrator.errors import HallError, LeaseLost, LedgerBroken, NotActive, ThreadExists, UnknownThread
from orchestrator.hall.debate import State
from orchestrator.hall.holder import Holder, RunRow
from orchestrator.hall.journal import StoredRecord
from orchestrator.hall.ledger import Sealed, Standing, StoredLine
from orchestrator.hall.review_rows import ReviewClaim, ReviewNotes, ReviewRow
from orchestrator.hall.store import Listed
from orchestrator.hall.terms import LinkKind
from orchestrator.wording import did_you_mean

_TELLING = 4  # characters of a thread id from which a part of it tells which one was meant


def line_of(sealed: Sealed) -> StoredLine:
    words = sealed.words
    text, salt = (words.text, words.salt) if words is not None else (None, None)
    return StoredLine(sealed.entry.seq, sealed.turn_index, sealed.hash, sealed.stored, text, salt)


def standing_of(thread_id: str, head: str, state: str) -> Standing:
    decoded = readable(state)
    if decoded is None:
        raise LedgerBroken(thread_id, None, "the state beside the head cannot be read")
    return Standing(head, decoded)


def readable(state: str) -> State | None:
    try:
        return State.decode(state)
    except (ValueError, TypeError, RecursionError, HallError):  # TypeError: damaged into NULL
        return None


def run_of(epoch: int | None, place: str, pid: int, began_at: str, beat_at: str, released: int) -> RunRow | None:
    return None if epoch is None else RunRow(epoch, Holder(place, pid), began_at, beat_at, bool(released))


def review_of(row: Sequence[Any]) -> ReviewRow:
    """The row of a review: its name, number, file and time, five notes, and who has it."""
    name, number, file, due_at, *notes = row[:9]
    run = run_of(*row[9:])
    assert isinstance(run, RunRow), "a row of a review has an epoch"
    return ReviewRow(name, number, file, due_at, run, ReviewNotes(*notes))


def newest_first(threads: Iterable[Listed]) -> list[Listed]:
    return sorted(threads, key=lambda listed: listed.state.updated_at if listed.state else "", reverse=True)


def told_in(opening: str) -> tuple[str | None, str | None]:
    """The recipe, and the thread that is reviewed; not parsed as entries are, which takes half of a list's time."""
    told = _members(opening)
    recipe, link = told.get("recipe"), told.get("link")
    reviews = isinstance(link, dict) and link.get("kind") == LinkKind.REVIEWS
    return (recipe if isinstance(recipe, str) else None, _linked(link) if reviews else None)


def link_in(opening: str) -> str | None:
    """The thread that an opening links to."""
    return _linked(_members(opening).get("link"))


def _linked(link: object) -> str | None:
    thread_id = link.get("thread_id") if isinstance(link, dict) else None
    return thread_id if isinstance(thread_id, str) else None


def is_forgotten(record: StoredRecord) -> bool:
    """Whether a redaction has taken the text of a record of a journal: it has the digest of one."""
    members = _members(record.stored) if record.text is None else {}
    return isinstance(members.get("request") or members.get("digest"), str)


def _members(stored: str) -> dict[str, Any]:
    try:
        members = json.loads(stored)
    except (ValueError, TypeError, RecursionError):  # verify says what is wrong with it
        return {}
    return members if isinstance(members, dict) else {}


# ---------------------------------------------------------------------------------------------- what is not as it was


def unknown_thread(thread_id: str, known: Sequence[str]) -> UnknownThread:
    """
    Args:
        known: the threads that there are, the newest first.
    """
    return UnknownThread(f"There is no debate {thread_id}.", " ".join(_nearest(thread_id, known)))


def _nearest(thread_id: str, known: Sequence[str]) -> Iterator[str]:
    asked = str(thread_id).casefold()
    holding = [name for name in known if len(asked) >= _TELLING and asked in name.casefold()]
    near = f"Did you mean {holding[0]}?" if holding else did_you_mean(asked, known)
    if near:
        yield near
    yield "`debate-hall list` shows those there are."


def thread_exists(thread_id: str) -> ThreadExists:
    return ThreadExists(f"There is a debate {thread_id} already.", "Choose another thread id, or read that one.")


def require_held(thread_id: str, newest: RunRow | None, epoch: int) -> None:
    """Refuses a lease that is good no more.

    Raises:
        LeaseLost
    """
    if newest is None or newest.epoch != epoch or newest.released:
        now = f"{newest.holder} has taken it over" if newest and newest.epoch != epoch else "it has ended"
        raise LeaseLost(
            f"This process does not run {thread_id} any more: {now}. Nothing more was written.",
            f"See how it goes: debate-hall show {thread_id}",
        )


def no_more_calls(thread_id: str) -> NotActive:
    return NotActive(f"{thread_id} is closed: no call is made for it any more.")


def review_lost(claim: ReviewClaim) -> LeaseLost:
    return LeaseLost(
        f"This process does not hold the review {claim.name} any more: another has taken it over, or it is over."
        " Nothing more was written.",
        f"See what became of it: debate-hall history {claim.name}",
    )
