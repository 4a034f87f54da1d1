"""What reviews are held with, and how the time of one ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from orchestrator.events import Reader
from orchestrator.hall.hall import Hall
from orchestrator.hall.review_desk import ReviewDesk
from orchestrator.lanes import Turns
from orchestrator.models.base import Model
from orchestrator.plan import Plan
from orchestrator.review.outcomes import Outcome
from orchestrator.review.reviews_file import ReviewsFile
from orchestrator.runner import Run


def _nobody(plan: Plan) -> Sequence[Reader]:
    return ()


@dataclass(frozen=True, slots=True)
class Office:
    """
    Args:
        hall: where debates and reviews are kept.
        file: the reviews.
        now: says what time it is.
        tell: hears a line about what happens.
        client: the model for the routes that name one of the caller's own.
        readers: who reads the events of a debate.
        turns: for a thread, what says when its calls may be made; None: only what the models file says counts.
    """

    hall: Hall
    file: ReviewsFile
    now: Callable[[], datetime]
    tell: Callable[[str], None]
    client: Model | None = None
    readers: Callable[[Plan], Sequence[Reader]] = _nobody
    turns: Callable[[str], Turns] | None = None

    @property
    def desk(self) -> ReviewDesk:
        return self.hall.reviews


@dataclass(frozen=True, slots=True)
class Debated:
    """A debate that ended.

    Args:
        run: the one that ended it.
        files: the decision record and the index of its folder, where they were written.
        problem: a sentence about why they were not.
    """

    run: Run
    plan: Plan
    files: tuple[Path, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a time of a review ended.

    Args:
        why: a sentence about why it was debated, or why not.
        debated: None where there was nothing to debate.
        problems: sentences about what could not be done with the result.
    """

    outcome: Outcome
    why: str
    debated: Debated | None = None
    problems: tuple[str, ...] = ()
