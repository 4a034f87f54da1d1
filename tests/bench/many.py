"""Many SPEED debates at once in one process, against a provider of 1 s latency: how wall time and memory grow.

Below the larger of two nothing can be: the longest chain of calls × latency, and the CPU that the same calls take
through bare litellm, since one process of Python has one core.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.pattern import Batches, batches_of, child, run_bare
from bench.row import Row
from endpoint import ModelServer

LATENCY_S = 1.0
COUNTS = (1, 10, 100, 300)


def measure() -> Iterator[Row]:
    for count in COUNTS:
        yield from _measured(count, count == COUNTS[-1])


def _measured(count: int, is_judged: bool) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, ModelServer(latency_s=LATENCY_S) as server:
        models = Path(folder, "here.yaml")
        models.write_text(server.models_file())
        took = child("debates", "speed", str(count), str(models))
        batches = _of_one(server)
        bare = run_bare(folder, batches, warm=1, times=count)
    calls = sum(map(len, batches))
    floor = max(len(batches) * LATENCY_S, bare["cpu_s"])
    detail = (
        f"{took['wall_s']:.2f} s, of it {took['cpu_s']:.2f} s CPU; a chain of {len(batches)}; {count * calls:,} calls,"
        f" which take bare litellm {bare['cpu_s']:.2f} s CPU and {bare['wall_s']:.2f} s"
    )
    what = f"{count} debates at once (SPEED, 1 s latency), wall over the larger of chain and bare litellm's CPU"
    yield Row(what, took["wall_s"] / floor, 1.25 if is_judged else None, detail)
    if count > 1:
        each = took["mb_beyond_one"] / (count - 1)
        yield Row(f"{count} debates at once, MB each beyond one's", each, 1 if is_judged else None, "resident, most")


def _of_one(server: ModelServer) -> Batches:
    """The first debate of the process was held alone; its calls end before any other begins."""
    calls = sorted(server.calls, key=lambda call: call.started)
    topics = [call for call in calls if call.number <= _CALLS]
    return batches_of(topics, server.base_url)


_CALLS = 5  # of a SPEED debate: Wind and Wall's checklist, Wall, Door, the account
