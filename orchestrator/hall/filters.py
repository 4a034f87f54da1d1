"""Which debates of a hall are asked for: by status, words, recipe, and when they last moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from orchestrator.errors import InvalidInput
from orchestrator.hall.inputs import MAX_LIMIT, word
from orchestrator.hall.store import Listed
from orchestrator.hall.terms import Status
from orchestrator.iso_time import iso_utc


@dataclass(frozen=True, slots=True)
class Filters:
    """What a debate must be to be among those asked for; what is None or empty asks for nothing."""

    statuses: tuple[Status, ...] = ()
    text: str = ""
    recipe: str | None = None
    since: str | None = None  # the moment, ISO 8601 in UTC
    before: str | None = None

    def admit(self, listed: Listed) -> bool:
        state = listed.state
        if self.statuses and (state is None or state.status not in self.statuses):
            return False
        if self.recipe is not None and (listed.recipe is None or listed.recipe.casefold() != self.recipe):
            return False
        if (self.since or self.before) and not (
            state and (self.since or "") <= state.updated_at and (not self.before or state.updated_at < self.before)
        ):
            return False
        return self.text in f"{listed.thread_id}\n{listed.topic or ''}".casefold()


def read(
    status: str | Sequence[str] | None,
    text: str | None,
    recipe: str | None,
    since: str | None,
    until: str | None,
) -> Filters:
    """Returns the filters that these words mean.

    Args:
        status: one, or several of which any will do.
        text: the thread id or the topic holds this, in any case.
        recipe: its name, in any case.
        since, until: the first and the last day of this machine on which it may have moved last, as in 2026-01-06.

    Raises:
        InvalidInput
    """
    named = () if status is None else (status,) if isinstance(status, str) else tuple(status)
    return Filters(
        statuses=tuple(word(Status, each, "status") for each in named),
        text=str(text or "").casefold(),
        recipe=str(recipe).casefold() if recipe is not None else None,
        since=_midnight(since, "since") if since is not None else None,
        before=_midnight(until, "until", days_later=1) if until is not None else None,
    )


def require_limit(limit: int) -> int:
    """Returns how many are asked for at most.

    Raises:
        InvalidInput: less than one, or far too many.
    """
    if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit is {limit!r}; it can be 1 to {MAX_LIMIT:,}.")
    return limit


def _midnight(day: str, what: str, days_later: int = 0) -> str:
    try:
        begins = date.fromisoformat(day) + timedelta(days=days_later)
        return iso_utc(datetime.combine(begins, time()).astimezone(), "microseconds")
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInput(f"{what} is {day!r:.60}; it is a day, written as 2026-01-06.") from error
