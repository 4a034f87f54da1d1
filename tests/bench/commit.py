"""What a commit costs late in a long debate, against early in a short one: alternating, in one warm file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from statistics import median

from bench.row import Row
from bench.threads import CONTENT, filled, timed
from orchestrator.hall.hall import Hall

PAIRS = 400
OLD, YOUNG = 10_000, 10  # turns that stand before the one that is measured


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, Hall.open(folder) as hall:
        yield growth(hall)


def growth(hall: Hall) -> Row:
    """What a commit costs late in a debate of an empty hall."""
    old = filled(hall, "old", OLD)
    early, late = [], []
    for number in range(PAIRS):
        young = filled(hall, f"young-{number}", YOUNG)
        early.append(timed(partial(hall.add_turn, f"young-{number}", next(young), CONTENT)))
        late.append(timed(partial(hall.add_turn, "old", next(old), CONTENT)))
    ratio = median(late) / median(early)
    detail = f"{median(early) * 1e3:.3f} ms and {median(late) * 1e3:.3f} ms, {PAIRS} pairs"
    return Row(f"commit of a 2 KB turn at turn {OLD:,} over turn {YOUNG} of a young thread", ratio, 1.1, detail)
