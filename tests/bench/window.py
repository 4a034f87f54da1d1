"""What the newest ten turns cost in a long debate, against a short one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from statistics import median

from bench.row import Row
from bench.threads import filled, timed
from orchestrator.hall.hall import Hall

PAIRS = 200
LONG, SHORT, WINDOW = 10_000, 100, 10


def measure() -> Iterator[Row]:
    long, short = [], []
    with tempfile.TemporaryDirectory() as folder, Hall.open(folder) as hall:
        filled(hall, "long", LONG)
        filled(hall, "short", SHORT)
        for _ in range(PAIRS):
            short.append(timed(partial(hall.get_debate, "short", context_turns=WINDOW)))
            long.append(timed(partial(hall.get_debate, "long", context_turns=WINDOW)))
    detail = f"{median(short) * 1e3:.2f} ms and {median(long) * 1e3:.2f} ms, {PAIRS} pairs"
    what = f"get_debate, the newest {WINDOW} turns: at {LONG:,} turns over {SHORT}"
    yield Row(what, median(long) / median(short), 1.2, detail)
