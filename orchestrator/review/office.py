"""What reviews are held with, and how the time of one ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from orchestrator.events import Reader
from orchestrator.hall.hall import Hall
from orchestrator.hall.review_desk import ReviewDesk
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
    """

    hall: Hall
    file: ReviewsFile
    now: Callable[[], datetime]
    tell: Callable[[str], None]
    client: Model | None = None
    readers: Callable[[Plan], Sequence[Reader]] = _nobody

    @property
    def desk(self) -> ReviewDesk:
        return self.hall.reviews


@dataclass(frozen=True, slots=True)
class Debated:
    """A debate that ended: the run that ended it, its plan, and where its decision record was written."""

    run: Run
    plan: Plan
    files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a time of a review ended; `debated` is None where there was nothing to debate."""

    outcome: Outcome
    why: str
    debated: Debated | None = None
