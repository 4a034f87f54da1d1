"""A weekly review of a small repository over a month in which things change, on a clock that takes no time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import anyio
import pytest
from offices import Speaker, commit, office_of, repository, reviews_of
from virtual_clock import VirtualClock

from hall.halls import HastyStore
from orchestrator.cli.history import line_of, lines
from orchestrator.decision.record import record_of
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.review.daemon import Daemon
from orchestrator.review.office import Office
from orchestrator.review.reviews_file import Review
from orchestrator.review.running import hold_review
from orchestrator.review.times import Taken

pytestmark = pytest.mark.anyio

START = datetime(2026, 3, 16, 12, tzinfo=UTC)  # a Monday; the clocks go forward on the 29th
DAY = timedelta(days=1)
DEADLINE_S = 60

HISTORY = """\
2026-03-23 08:00  decided
  It is reviewed for the first time.
  2026-03-23-weekly: What was decided ($0.0500)
2026-03-30 07:00  unchanged
  Nothing that it looks at has changed since 2026-03-23.
2026-04-06 07:00  decided
  Since 2026-03-23 changed: docs/billing.md.
  2026-04-06-weekly: What was decided ($0.0500)
  supersedes 2026-03-23-weekly
  changed: the question
2026-04-13 07:00  decided
  Since 2026-04-06 changed: adr/{record}.
  2026-04-13-weekly: What was decided ($0.0500)
  confirms 2026-04-06-weekly
  changed: the question
"""

Plant = Callable[[], object]


async def kept(office: Office, clock: VirtualClock, planted: dict[datetime, Plant]) -> None:
    """Lets a daemon keep the reviews while things change, until the clock has come to its end."""

    async def hold(review: Review, taken: Taken) -> None:
        await hold_review(office, review, taken)

    async def change() -> None:
        for moment, plant in sorted(planted.items()):
            await clock.until(moment)
            plant()
        await clock.until(datetime.max.replace(tzinfo=UTC))

    with anyio.fail_after(DEADLINE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(change)
            group.start_soon(Daemon(office.desk, office.file, clock, hold, office.tell).serve)
            await clock.ended.wait()
            group.cancel_scope.cancel()


def accepted(place: Path) -> None:
    """A person accepts the newest record."""
    record = sorted((place / "adr").glob("*.md"))[-1]
    record.write_text(record.read_text().replace("status: proposed", "status: accepted"))


async def test_a_month_of_weeks_is_debated_when_something_changed_and_costs_nothing_else(tmp_path: Path) -> None:
    place, speaker = repository(tmp_path / "repo"), Speaker()
    keys = ('topic: "Is billing still right on {date}?"', "context: docs/*.md", "adr: adr", "when: changed")
    file = reviews_of(place, *keys)
    planted: dict[datetime, Plant] = {
        START + 16 * DAY: lambda: commit(place, billing="# Billing\n\nBilling is two services.\n"),
        START + 22 * DAY: lambda: accepted(place),
    }
    clock = VirtualClock(START, START + 29 * DAY, waiters=2)
    with Hall(HastyStore(prepare(tmp_path / "state")), clock=clock.now) as hall:
        await kept(office_of(hall, file, speaker, clock.now), clock, planted)
        rows = hall.reviews.rows("weekly")
        told = lines(line_of(hall, "weekly"))
        records = {row.number: record_of(hall.debate(row.notes.thread_id)) for row in rows if row.notes.thread_id}
    accepted_one = sorted((place / "adr").iterdir())[1].name
    assert [(row.due_at[:16], row.notes.outcome, row.notes.why) for row in rows] == [
        ("2026-03-16T12:00", "enrolled", "Its schedule is kept from here on."),
        ("2026-03-23T08:00", "decided", "It is reviewed for the first time."),
        ("2026-03-30T07:00", "unchanged", "Nothing that it looks at has changed since 2026-03-23."),
        ("2026-04-06T07:00", "decided", "Since 2026-03-23 changed: docs/billing.md."),
        ("2026-04-13T07:00", "decided", f"Since 2026-04-06 changed: adr/{accepted_one}."),
    ]
    assert told == HISTORY.format(record=accepted_one)
    relations = [(record.relation, record.reviews and record.reviews.thread_id) for record in records.values()]
    assert relations == [
        (None, None),
        ("supersedes", "2026-03-23-weekly"),
        ("confirms", "2026-04-06-weekly"),
    ]
    assert [record.incomplete for record in records.values()] == [(), (), ()]
    assert [record.cost_usd for record in records.values()] == [Decimal("0.05")] * 3
    assert len(speaker.asked) == 3 * 5
