"""What a time of a review came to, as one JSON object: for programs, and for those to whom results are delivered."""

from __future__ import annotations

from typing import Any

from orchestrator import result
from orchestrator.decision.record import record_of
from orchestrator.exits import Exit, ended_as
from orchestrator.iso_time import iso_utc
from orchestrator.review.office import Debated, Ended
from orchestrator.review.reviews_file import Review
from orchestrator.review.times import Taken

SCHEMA = "run-debate/review/v1"


_NOTHING: dict[str, Any] = {
    "schema": SCHEMA,
    "review": None,
    "number": None,
    "due_at": None,
    "outcome": None,
    "why": None,
    "exit_code": 0,
    "result": None,
    "problems": [],
    "pull_request": False,
}


def result_of(review: Review, taken: Taken, ended: Ended) -> dict[str, Any]:
    """Returns how a time of a review ended; `result` is that of its debate, as run-debate tells it, if it had one.

    `problems` are sentences about what could not be done with it; `pull_request`: the Action leaves it as a comment.
    """
    return {
        **_NOTHING,
        "review": taken.claim.name,
        "number": taken.claim.number,
        "due_at": iso_utc(taken.due_at, "milliseconds"),
        "outcome": ended.outcome,
        "why": ended.why,
        "exit_code": exit_code_of(ended),
        "result": _of_the_debate(ended.debated) if ended.debated else None,
        "problems": list(ended.problems),
        "pull_request": review.results.pull_request,
    }


def not_held(name: str, why: str) -> dict[str, Any]:
    """Returns the same of a review of which no time was taken up."""
    return {**_NOTHING, "review": name, "why": why}


def exit_code_of(ended: Ended) -> Exit:
    """That of run-debate; where there was nothing to debate it is 0."""
    if ended.debated is None:
        return Exit.DECIDED
    return Exit.FAILED if ended.problems else ended_as(ended.debated.run.debate.state)


def _of_the_debate(debated: Debated) -> dict[str, Any]:
    run = debated.run
    code = ended_as(run.debate.state)
    return result.decided(run.debate, record_of(run.debate), run.spent, debated.files, code, run.uncertain)
