"""`debate-hall history` and `review list`: what each time of a review is doing, or came to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import Result

from orchestrator.hall.holder import Holder
from orchestrator.hall.review_desk import ReviewDesk
from orchestrator.hall.review_rows import ReviewClaim, ReviewNotes
from orchestrator.hall.runs import this_process
from orchestrator.hall.store import open_store
from orchestrator.review.outcomes import Outcome

Command = Callable[..., Result]


@pytest.fixture
def file(work: Path) -> Path:
    path = work / "reviews.yaml"
    path.write_text("reviews: [{name: weekly, cron: 0 9 * * 1, recipe: speed, models: rehearsal, topic: 'Right?'}]\n")
    return path


@pytest.fixture
def desk() -> Iterator[ReviewDesk]:
    with closing(open_store()) as store:
        yield ReviewDesk(store, lambda: datetime.now(UTC))


def begun(desk: ReviewDesk, file: Path) -> ReviewClaim:
    claim = desk.begin("weekly", str(file), datetime.now(UTC), desk.newest("weekly"))
    assert claim is not None
    return claim


def told(hall: Command) -> tuple[str, str, str, str]:
    """The outcome in words of the list and of the history, and in the JSON of both."""
    (listed,) = json.loads(hall("review", "list", "--json").stdout)["reviews"]
    step = json.loads(hall("history", "weekly", "--json").stdout)[-1]
    return (
        hall("review", "list").stdout.partition(" UTC: ")[2].strip(),
        hall("history", "weekly").stdout.splitlines()[0][18:],
        listed["last"]["outcome"],
        step["outcome"],
    )


def test_a_review_that_is_not_over_says_who_is_at_it_or_how_it_was_left(
    file: Path, desk: ReviewDesk, hall: Command
) -> None:
    claim = begun(desk, file)
    held = f"held by {this_process()}"
    assert told(hall) == (held, held, "running", "running")
    desk.release(claim)
    assert told(hall) == ("paused",) * 4


def test_a_review_whose_process_is_gone_is_interrupted(file: Path, hall: Command) -> None:
    with closing(open_store()) as store:
        begun(ReviewDesk(store, lambda: datetime.now(UTC), Holder(this_process().place, 2**22 + 1)), file)
    assert told(hall) == ("interrupted",) * 4


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("failed", "not delivered to the webhook"),
        ("uncertain", "it is not known whether it reached the webhook"),
        ("intended", "it is not known whether it reached the webhook"),
        ("sent", None),
    ],
)
def test_a_result_that_did_not_arrive_is_told(
    file: Path, desk: ReviewDesk, hall: Command, state: str, sentence: str | None
) -> None:
    claim = begun(desk, file)
    assert desk.move_delivery("weekly/1", "webhook", None, state)
    desk.note(claim, ReviewNotes(outcome=Outcome.DECIDED))
    (step,) = json.loads(hall("history", "weekly", "--json").stdout)
    assert step["undelivered"] == ([sentence] if sentence else [])
    for shown in (hall("history", "weekly").stdout, hall("review", "list").stdout):
        assert sentence in shown if sentence else "webhook" not in shown


def test_a_rehearsal_is_marked(file: Path, hall: Command) -> None:
    hall("review", "run", "weekly")
    (step,) = json.loads(hall("history", "weekly", "--json").stdout)
    assert step["rehearsal"] is True
    for name in ("weekly", step["thread_id"]):
        assert hall("history", name).stdout.splitlines()[0].endswith("  REHEARSAL")
