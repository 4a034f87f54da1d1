"""How a hall grows: what a commit, a window, a look of a run and a verification cost at so many turns of 2 KB."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

from bench.row import Row
from bench.threads import CONTENT, filled, timed
from orchestrator.hall.hall import Hall

TURNS = (10, 100, 1_000, 10_000)


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, Hall.open(Path(folder)) as hall:
        for turns in TURNS:
            name = f"turns-{turns}"
            roles = filled(hall, name, turns)
            known = hall.debate(name)
            yield _row(turns, "commit of a turn", 60, lambda: hall.add_turn(name, next(roles), CONTENT))  # noqa: B023
            yield _row(turns, "get_debate, the newest 10 turns", 60, partial(hall.get_debate, name, context_turns=10))
            newest = hall.debate(name, known)
            yield _row(turns, "a look of a run, nothing new", 60, partial(hall.debate, name, newest))
            yield _row(turns, "verify, the whole", 3, partial(hall.verify_debate, name))


def _row(turns: int, what: str, times: int, work: Callable[[], object]) -> Row:
    ms = median(timed(work) for _ in range(times)) * 1e3
    return Row(f"at {turns:,} turns: {what}, ms", ms, None, f"median of {times}")
