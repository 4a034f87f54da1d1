"""How fast a ledger is derived again, against the bare hashing and JSON that nobody who verifies can do without.

Bare: of each entry the JSON is read and written again in canonical form, and the bytes and the salted text are hashed.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from bench.row import Row
from bench.threads import filled, timed
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.ledger import StoredLine
from orchestrator.hall.sqlite import SQLiteStore

PAIRS = 15
TURNS = 2_000


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, Hall(store := SQLiteStore(prepare(Path(folder)))) as hall:
        filled(hall, "thread", TURNS)
        lines = store.thread("thread").lines
        bare, verified = [], []
        for _ in range(PAIRS):
            bare.append(timed(partial(_bare, lines)))
            verified.append(timed(partial(hall.verify_debate, "thread")))
    rates = [len(lines) / median(times) for times in (verified, bare)]
    detail = f"{rates[0]:,.0f} and {rates[1]:,.0f} entries a second, {PAIRS} pairs of {TURNS:,} turns of 2 KB"
    yield Row("verify, entries a second over bare hashing and JSON", rates[0] / rates[1], 0.5, detail, at_least=True)


def _bare(lines: Sequence[StoredLine]) -> None:
    for line in lines:
        members = json.loads(line.stored)
        written = json.dumps(members, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
        hashlib.sha256(written.encode()).hexdigest()
        hashlib.sha256(f"{line.salt}\n{line.text}".encode()).hexdigest()
