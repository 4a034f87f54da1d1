"""What debates, reviews and their jobs are called in the queue, and which priorities they have there."""

from __future__ import annotations

DEBATES, DEBATE = "debates", "debate"  # the queue, and the task of its jobs
LEAST, MOST = -1000, 1000  # the priorities of debates
REVIEWS, DUE = "reviews", "due_reviews"


def lock_of(thread_id: str) -> str:
    """What the jobs of one debate share: of those, workers take one at a time. Ids are the same in any case."""
    return thread_id.lower()
