"""What a turn costs at turn 1,000, in process: ours over debate-hall-mcp's, alternating."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from bench.rival_python import rival_python
from bench.row import Row
from bench.threads import CONTENT, filled, timed
from orchestrator.hall.hall import Hall

PAIRS = 50
TURNS = 1_000

_THEIRS = """
import itertools, sys, time
from pathlib import Path
from debate_hall_mcp.tools.init import debate_init
from debate_hall_mcp.tools.turn import debate_turn

folder, turns, content = Path(sys.argv[1]), int(sys.argv[2]), "x" * int(sys.argv[3])
debate_init("2026-01-06-thread", "What does a turn cost?", max_turns=10**6, max_rounds=10**6, state_dir=folder)
roles = itertools.cycle(("Wind", "Wall", "Door"))
for _ in range(turns):
    debate_turn("2026-01-06-thread", next(roles), content, state_dir=folder)
print("ready", flush=True)
for _ in sys.stdin:
    began = time.perf_counter()
    debate_turn("2026-01-06-thread", next(roles), content, state_dir=folder)
    print(time.perf_counter() - began, flush=True)
"""


def measure() -> Iterator[Row]:
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder, Hall.open(Path(folder, "ours")) as hall:
        Path(folder, "theirs").mkdir()
        command = [rival_python(), "-c", _THEIRS, f"{folder}/theirs", str(TURNS), str(len(CONTENT))]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder) as rival:
            assert rival.stdin is not None
            assert rival.stdout is not None
            roles = filled(hall, "thread", TURNS)
            assert rival.stdout.readline() == "ready\n"
            for _ in range(PAIRS):
                ours.append(timed(partial(hall.add_turn, "thread", next(roles), CONTENT)))
                rival.stdin.write("\n")
                rival.stdin.flush()
                theirs.append(float(rival.stdout.readline()))
            rival.stdin.close()
    detail = f"{median(ours) * 1e3:.2f} ms and {median(theirs) * 1e3:.1f} ms, {PAIRS} pairs, both durable"
    what = f"add_turn in process, 2 KB, at turn {TURNS:,}, over debate-hall-mcp's"
    yield Row(what, median(ours) / median(theirs), 1 / 50, detail)
