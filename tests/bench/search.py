"""What a search over a thousand debates costs: the first, which makes the index, and a later one, which finds it made.

The first stands against verifying them all, a later one against listing them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.row import Row
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.sqlite import SQLiteStore
from orchestrator.hall.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "hall"))  # as the tests of the hall have it

from many import fill

DEBATES = 1_000
PAIRS = 20


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, closing(SQLiteStore(prepare(Path(folder) / "state"))) as store:
        yield from searches(store)


def searches(store: Store) -> Iterator[Row]:
    """What searches cost over the debates that an empty store is filled with."""
    fill(store, DEBATES)
    hall = Hall(store)
    first = _timed(lambda: hall.search_debates("kafka billing"))
    names = [listed["thread_id"] for listed in hall.list_debates()]
    verified = _timed(lambda: [hall.verify_debate(name) for name in names])
    later, lists = [], []
    for _ in range(PAIRS):
        later.append(_timed(lambda: hall.search_debates("kafka billing")))
        lists.append(_timed(hall.list_debates))
    detail = f"{first:.2f} s and {verified:.2f} s"
    yield Row(f"first search over {DEBATES:,} debates over verifying each", first / verified, 3.0, detail)
    detail = f"{median(later) * 1e3:.0f} ms and {median(lists) * 1e3:.0f} ms, {PAIRS} pairs"
    yield Row(f"later search over {DEBATES:,} debates over a list of them", median(later) / median(lists), 2.0, detail)


def _timed(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began
