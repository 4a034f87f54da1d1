"""What a commit costs late in a long debate, against early in a short one: alternating, in one warm file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import cycle
from statistics import median
from time import perf_counter

from bench.row import Row
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role

PAIRS = 400
OLD, YOUNG = 1_000, 10  # turns that stand before the one that is measured
CONTENT = "x" * 2_000


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, Hall.open(folder) as hall:
        old = _thread(hall, "old", OLD)
        early, late = [], []
        for number in range(PAIRS):
            young = _thread(hall, f"young-{number}", YOUNG)
            early.append(_timed(hall, f"young-{number}", next(young)))
            late.append(_timed(hall, "old", next(old)))
    ratio = median(late) / median(early)
    detail = f"{median(early) * 1e3:.3f} ms and {median(late) * 1e3:.3f} ms, {PAIRS} pairs"
    yield Row(f"commit of a 2 KB turn at turn {OLD:,} over turn {YOUNG} of a young thread", ratio, 1.2, detail)


def _thread(hall: Hall, thread_id: str, turns: int) -> Iterator[Role]:
    hall.init_debate(thread_id, "What does a turn cost?", max_turns=100_000, max_rounds=100_000)
    roles = cycle(Role)
    for _ in range(turns):
        hall.add_turn(thread_id, next(roles), CONTENT)
    return roles


def _timed(hall: Hall, thread_id: str, role: Role) -> float:
    began = perf_counter()
    hall.add_turn(thread_id, role, CONTENT)
    return perf_counter() - began
