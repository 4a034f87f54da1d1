"""What `debate-hall review list` and `next` show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import Any

from orchestrator.cli.review_times import ReviewTime, told_of
from orchestrator.cli.showing import hall, put
from orchestrator.hall.review_desk import ReviewDesk
from orchestrator.hall.review_rows import ReviewRow
from orchestrator.iso_time import iso_utc
from orchestrator.review.outcomes import Outcome
from orchestrator.review.reviews_file import Review, find_reviews_file, load_reviews
from orchestrator.review.schedule import upcoming


def show_list(given: Path | None, as_json: bool) -> None:
    """Shows each review of a file with its schedule, its next time and its last.

    Raises:
        UsageError: the file is missing, or says something wrong.
    """
    file = load_reviews(find_reviews_file(given))
    now = datetime.now(UTC)
    with hall() as opened:
        found = [_described(review, now, opened.reviews) for review in file.reviews]
    put({"file": str(file.path), "reviews": found}, as_json, _lines(found))


def _described(review: Review, now: datetime, desk: ReviewDesk) -> dict[str, Any]:
    newest = desk.newest(review.name)
    return {
        "name": review.name,
        "cron": review.cron,
        "timezone": review.timezone,
        "when": review.when,
        "recipe": review.recipe,
        "models": review.models,
        "next": next(upcoming(review, now)).isoformat(),
        "last": _last(desk, newest) if newest else None,
    }


def _last(desk: ReviewDesk, row: ReviewRow) -> dict[str, Any]:
    notes, time = row.notes, told_of(desk, row)
    return {"due_at": row.due_at, **time._asdict(), "why": notes.why, "thread_id": notes.thread_id}


def _lines(found: Sequence[dict[str, Any]]) -> str:
    width = max(len(review["name"]) for review in found)
    lines = []
    for review in found:
        coming = f"{datetime.fromisoformat(review['next']):%a %Y-%m-%d %H:%M} {review['timezone']}"
        lines.append(f"{review['name']:<{width}}  next {coming}  {review['when']:<7}  {_told(review)}")
    return "".join(f"{line}\n" for line in lines)


def _told(review: dict[str, Any]) -> str:
    last = review["last"]
    if last is None:
        return "never held"
    if last["outcome"] == Outcome.ENROLLED:
        return "not held yet"
    time = ReviewTime(last["outcome"], last["holder"], last["undelivered"])
    thread = f", {last['thread_id']}" if last["thread_id"] else ""
    return "; ".join((f"last {last['due_at'][:16].replace('T', ' ')} UTC: {time.told}{thread}", *time.undelivered))


def show_next(given: Path | None, count: int, as_json: bool) -> None:
    """Shows the times that come next, of all reviews together.

    Raises:
        UsageError: the file is missing, or says something wrong.
    """
    file = load_reviews(find_reviews_file(given))
    now = datetime.now(UTC)
    coming = list(islice(merge(*(_times(review, now) for review in file.reviews)), count))
    found = [{"name": name, "at": iso_utc(at, "milliseconds"), "local": local} for at, name, local in coming]
    put(found, as_json, "".join(f"{at:%a %Y-%m-%d %H:%M} UTC  {local}  {name}\n" for at, name, local in coming))


def _times(review: Review, now: datetime) -> Iterator[tuple[datetime, str, str]]:
    for time in upcoming(review, now):
        yield time.astimezone(UTC), review.name, f"{time.isoformat(timespec='minutes')} {review.timezone}"
