"""Threads of the hall to measure on: turns of 2 KB in fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from time import perf_counter

from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role

CONTENT = "x" * 2_000
MOST = 100_000


def filled(hall: Hall, thread_id: str, turns: int) -> Iterator[Role]:
    """Opens a thread with so many turns; returns the roles that come next, one by one."""
    hall.init_debate(thread_id, "What does a turn cost?", max_turns=MOST, max_rounds=MOST)
    roles = cycle(Role)
    for _ in range(turns):
        hall.add_turn(thread_id, next(roles), CONTENT)
    return roles


def timed(work: Callable[[], object]) -> float:
    """Seconds."""
    began = perf_counter()
    work()
    return perf_counter() - began
