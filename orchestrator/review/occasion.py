"""Whether a review has anything to debate, and what it is asked then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.decision.record import record_of
from orchestrator.evidence.revisions import newest_commit
from orchestrator.hall.review_rows import ReviewRow
from orchestrator.review.office import Office
from orchestrator.review.outcomes import Outcome
from orchestrator.review.reviews_file import Review
from orchestrator.review.topic import filled


@dataclass(frozen=True, slots=True)
class Occasion:
    """What a review met.

    Args:
        why: a sentence about why it is debated, or why not.
        outcome: how its time ends where there is nothing to debate; None where there is.
        topic: the question.
        seen: what it looked at, to be compared with at its next time.
        revision: the commit that it looked at, where there is one.
        since: the thread of the decision that it starts from.
    """

    why: str
    outcome: Outcome | None
    topic: str
    seen: str | None
    revision: str | None
    since: str | None


def find_occasion(office: Office, review: Review) -> Occasion:
    """Finds out whether there is anything to debate.

    Raises:
        UsageError: it cannot be found out.
    """
    rows = [row for row in office.desk.rows(review.name) if row.notes.outcome in DEBATED]
    since = _last_decided(office, review, rows)
    revision = newest_commit(office.file.folder)
    words = {
        "date": office.now().astimezone(review.zone).date().isoformat(),
        "range": _range(rows[-1].notes.revision if rows else None, revision),
        "decision": _title(office, since),
    }
    return Occasion("It is always debated.", None, filled(review.topic, words), None, revision, since)


DEBATED = {outcome for outcome in Outcome if outcome.is_debated}


def _last_decided(office: Office, review: Review, rows: Sequence[ReviewRow]) -> str | None:
    decided = [row.notes.thread_id for row in rows if row.notes.outcome == Outcome.DECIDED]
    return decided[-1] if decided else review.decision


def _range(before: str | None, now: str | None) -> str:
    if now is None:
        return "no commits"
    return now[:12] if before is None else f"{before[:12]}..{now[:12]}"


def _title(office: Office, since: str | None) -> str:
    return "none so far" if since is None else record_of(office.hall.debate(since)).title
