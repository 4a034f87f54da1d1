"""Whether a review has anything to debate, and what it is asked then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from orchestrator.decision.record import record_of
from orchestrator.evidence.revisions import known_commit
from orchestrator.hall.review_rows import ReviewRow
from orchestrator.review.assumptions import Assumed, check_assumptions
from orchestrator.review.changes import Seen, compared, decoded, encoded, look
from orchestrator.review.checking import State
from orchestrator.review.office import Office
from orchestrator.review.outcomes import Outcome
from orchestrator.review.reviews_file import RANGE, Review
from orchestrator.review.topic import filled
from orchestrator.wording import shortened
from orchestrator.worker import in_thread

_LONGEST = 400  # characters of what is told of one assumption
DEBATED = tuple(outcome for outcome in Outcome if outcome.is_debated)


class Span(NamedTuple):
    """The commits from the last time to this one; None where there is none.

    `lost` is that of the last time where the repository has it no more: history was rewritten, or a clone is shallow.
    """

    before: str | None
    now: str | None
    lost: str | None = None

    @property
    def range(self) -> str | None:
        """The range of revisions, where they differ."""
        if self.before is None or self.now is None or self.before == self.now:
            return None
        return f"{self.before[:12]}..{self.now[:12]}"

    def __str__(self) -> str:
        return self.range or (self.now[:12] if self.now else "no commits")


@dataclass(frozen=True, slots=True)
class Occasion:
    """What a review met.

    Args:
        why: a sentence about why it is debated, or why not.
        outcome: how its time ends where there is nothing to debate; None where there is.
        topic: the question.
        seen: what it looked at, to be compared with at its next time.
        span: the commits since the last time.
        since: the thread of the decision that it starts from.
    """

    why: str
    outcome: Outcome | None
    topic: str
    seen: str
    span: Span
    since: str | None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why there is something to debate, or why not, and what the topic says of it beside the question."""

    why: str
    outcome: Outcome | None = None
    told: str = ""


async def find_occasion(office: Office, review: Review) -> Occasion:
    """Finds out whether there is anything to debate.

    Raises:
        UsageError: it cannot be found out.
    """
    last = await in_thread(office.desk.newest, review.name, DEBATED)
    decided = await in_thread(office.desk.newest, review.name, (Outcome.DECIDED,))
    since = decided.notes.thread_id if decided else review.decision
    folder = office.file.folder
    seen = await in_thread(look, review.context, review.adr, folder)
    span = await in_thread(_span, folder, last.notes.revision if last else None)
    match review.when:
        case "always":
            reason = Reason("It is always debated.")
        case "changed":
            reason = _changed(last, seen)
        case "broken":
            reason = await _broken(office, review, since)
    words = {
        "date": office.now().astimezone(review.zone).date().isoformat(),
        "range": str(span),
        "decision": "none so far" if since is None else await in_thread(_title, office, since),
    }
    topic = "\n\n".join(filter(None, (filled(review.topic, words), reason.told)))
    why = f"{reason.why} {_lost(span.lost)}" if span.lost and _asks_for_range(review) else reason.why
    return Occasion(why, reason.outcome, topic, encoded(seen), span, since)


def _span(folder: Path, before: str | None) -> Span:
    now = known_commit(folder)
    is_lost = before is not None and now is not None and known_commit(folder, before) is None
    return Span(None, now, before) if is_lost else Span(before, now)


def _asks_for_range(review: Review) -> bool:
    return RANGE in review.context or "{range}" in review.topic


def _lost(commit: str) -> str:
    return f"There is no range: {commit[:12]}, the commit of its last time, is not in the repository any more."


def _changed(last: ReviewRow | None, seen: Seen) -> Reason:
    if last is None or last.notes.seen is None:
        return Reason("It is reviewed for the first time.")
    changes = compared(decoded(last.notes.seen), seen)
    then = last.due_at[:10]
    if not changes:
        return Reason(f"Nothing that it looks at has changed since {then}.", Outcome.UNCHANGED)
    why = f"Since {then} {changes}."
    return Reason(why, told=f"What it rests on reads otherwise now. {why}")


async def _broken(office: Office, review: Review, since: str | None) -> Reason:
    if since is None:
        return Reason("There is no decision yet whose assumptions could be checked.")
    today = office.now().astimezone(review.zone).date()
    found = await check_assumptions(office.hall, since, office.file.folder, today=today, commands=review.commands)
    broken = [assumed for assumed in found if assumed.finding and assumed.finding.state is State.BROKEN]
    if not broken:
        return Reason(f"No assumption of {since} is known to be broken ({_counts(found)}).", Outcome.HOLDING)
    told = [f"- {_line(assumed)}" for assumed in broken]
    names = ", ".join(f"{assumed.number}" for assumed in broken)
    return Reason(
        f"Broken since {since}: assumption {names}.",
        told="\n".join(["What the last decision assumed does not hold any more:", *told]),
    )


def _counts(found: Sequence[Assumed]) -> str:
    hold = sum(1 for assumed in found if assumed.finding and assumed.finding.state is State.HOLDS)
    people = sum(1 for assumed in found if assumed.check is None)
    return f"holding: {hold}, not known: {len(found) - hold - people}, for people to check: {people}"


def _line(assumed: Assumed) -> str:
    assert assumed.finding is not None
    return shortened(f"{assumed.assumption.what} ({assumed.finding.why})", _LONGEST)


def _title(office: Office, since: str) -> str:
    return record_of(office.hall.debate(since)).title
