"""What `debate-hall history` shows: a line of decisions, what became of each, and what differs from the one before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.cli.review_times import ReviewTime, told_of
from orchestrator.decision.difference import Difference, difference
from orchestrator.decision.record import DecisionRecord, record_of
from orchestrator.errors import UnknownThread
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.hall.review_rows import ReviewRow
from orchestrator.hall.terms import Status
from orchestrator.review.outcomes import Outcome
from orchestrator.usage import amount


@dataclass(frozen=True, slots=True)
class Step:
    """A debate of the line, or a time of a review at which there was none.

    Args:
        at: when it ended, or was due.
        outcome: how a time of a review ended, or what it is doing; of a debate alone its status.
        why: a sentence about that, of a review.
        time: what else is told of a time of a review.
        changed: how its decision differs from the one before it in the line.
    """

    at: str
    outcome: str
    why: str | None = None
    record: DecisionRecord | None = None
    time: ReviewTime | None = None
    changed: Difference | None = None

    def described(self) -> dict[str, Any]:
        record = self.record
        return {
            "at": self.at,
            "outcome": self.outcome,
            "why": self.why,
            "holder": self.time.holder if self.time else None,
            "undelivered": list(self.time.undelivered) if self.time else [],
            "rehearsal": record.rehearsal if record else False,
            "thread_id": record.thread_id if record else None,
            "head": record.head if record else None,
            "title": record.title if record else None,
            "decision": record.decision if record else None,
            "relation": record.relation if record else None,
            "reviews": record.reviews.thread_id if record and record.reviews else None,
            "cost_usd": amount(record.cost_usd) if record else "0",
            "changed": self.changed.model_dump(mode="json") if self.changed else None,
        }


def line_of(hall: Hall, name: str) -> list[Step]:
    """Returns the line that a thread stands in, or that of a review.

    Raises:
        UnknownThread: there is neither.
        LedgerBroken
    """
    try:
        steps = [_of(debate) for debate in _debates(hall, hall.debate(name))]
    except UnknownThread:
        rows = [row for row in hall.reviews.rows(name.lower()) if row.notes.outcome != Outcome.ENROLLED]
        if not rows:
            raise
        steps = [_of_time(hall, row) for row in rows]
    return list(_compared(steps))


def _debates(hall: Hall, debate: Debate) -> Iterator[Debate]:
    """Back to the first decision, then from each to those that start from it."""
    seen = {debate.state.thread_id}
    while debate.reviews is not None and debate.reviews.thread_id not in seen:
        try:
            debate = hall.debate(debate.reviews.thread_id)
        except UnknownThread:  # it is in another hall
            break
        seen.add(debate.state.thread_id)
    waiting = [debate]
    while waiting:
        debate = waiting.pop(0)
        yield debate
        waiting += hall.reviews_of(debate.state.thread_id)


def _of(debate: Debate) -> Step:
    record = record_of(debate)
    return Step(record.decided_at, record.status, record=record)


def _of_time(hall: Hall, row: ReviewRow) -> Step:
    notes = row.notes
    record = record_of(hall.debate(notes.thread_id)) if notes.thread_id and _is_there(hall, notes.thread_id) else None
    time = told_of(hall.reviews, row)
    return Step(row.due_at, time.outcome, notes.why, record, time)


def _is_there(hall: Hall, thread_id: str) -> bool:
    try:
        hall.runs.row(thread_id)
    except UnknownThread:
        return False
    return True


def _compared(steps: Sequence[Step]) -> Iterator[Step]:
    records = {step.record.thread_id: step.record for step in steps if step.record}
    for step in steps:
        reviews = step.record.reviews if step.record else None
        before = records.get(reviews.thread_id) if reviews else None
        if before and step.record and _decided(before) and _decided(step.record):
            step = replace(step, changed=difference(before, step.record))
        yield step


def _decided(record: DecisionRecord) -> bool:
    """Whether there is a decision to compare: where none was made, or none yet, nothing of one was dropped."""
    return record.status is not Status.ACTIVE and record.decision is not None


def lines(line: Sequence[Step]) -> str:
    return "".join(f"{told}\n" for step in line for told in _told(step))


def _told(step: Step) -> Iterator[str]:
    told = step.time.told if step.time else step.outcome.replace("_", " ")
    mark = "  REHEARSAL" if step.record and step.record.rehearsal else ""
    yield f"{step.at[:16].replace('T', ' ')}  {told}{mark}"
    yield from (f"  {sentence}" for sentence in (step.time.undelivered if step.time else ()))
    if step.why:
        yield f"  {step.why}"
    record = step.record
    if record is None:
        return
    cost = "cost unknown" if record.cost_usd is None else f"${record.cost_usd:.4f}"
    yield f"  {record.thread_id}: {record.title} ({cost})"
    if record.reviews is not None:
        yield f"  {record.relation or 'reviews'} {record.reviews.thread_id}"
    if step.changed is not None:
        yield f"  changed: {', '.join(_differing(step.changed)) or 'nothing'}"


def _differing(found: Difference) -> Iterator[str]:
    """What differs, in a few words; `debate-hall diff` says all of it."""
    if found.question:
        yield "the question"
    if found.decision:
        yield "the decision"
    yield from (change.what for change in found.outcome)
    for what in ("options", "constraints", "dissent", "assumptions"):
        part = getattr(found, what)
        if part.differs:
            yield f"{what} (+{len(part.only_b)} −{len(part.only_a)} ~{len(part.alike)})"
