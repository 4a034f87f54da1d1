"""Processes on one store that are killed while they write: what was acknowledged is there, and nothing needs repair."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from threading import Condition, Thread
from typing import Any

import pytest

from orchestrator.hall.hall import Hall
from orchestrator.hall.sqlite import FILE
from postgres import fresh_hall, needs_postgres

pytestmark = pytest.mark.slow

SHARED = "2026-01-06-shared"
WRITERS, FILES, KILLS = 4, 8, 25
DEADLINE_S = 60


class Writer:
    """A `writer.py` and what it has acknowledged so far."""

    def __init__(self, place: str, thread_id: str) -> None:
        self.thread_id = thread_id
        self.acknowledged: list[list[Any]] = []
        self._more = Condition()
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("writer.py")), place, thread_id, SHARED],
            stdout=subprocess.PIPE,
        )
        self._reader = Thread(target=self._read)
        self._reader.start()

    def kill_after(self, writes: int) -> None:
        """Kills it in the midst of what it does after so many writes more."""
        with self._more:
            enough = len(self.acknowledged) + writes
            assert self._more.wait_for(lambda: len(self.acknowledged) >= enough, DEADLINE_S)
        self.kill()

    def kill(self) -> None:
        with self._process:
            self._process.kill()
            self._reader.join()

    def of(self, kind: str) -> list[list[Any]]:
        return [what for what_kind, *what in self.acknowledged if what_kind == kind]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith(b"\n"):  # the last may be cut off by the kill
                with self._more:
                    self.acknowledged.append(json.loads(line))
                    self._more.notify()


def assert_kept(place: str, writer: Writer) -> None:
    """The store opens as it is, and holds what the writer was told that it holds, at most one write more."""
    with Hall.open(place) as hall:
        hall.verify_debate(writer.thread_id)
        turns = [[turn["turn_index"], turn["turn_hash"]] for turn in hall.get_debate(writer.thread_id)["transcript"]]
        journal = [[line.number, line.text] for line in hall.journal(writer.thread_id)]
    for stored, kind in ((turns, "turn"), (journal, "journal")):
        assert stored[: len(writer.of(kind))] == writer.of(kind)
        assert len(stored) <= len(writer.of(kind)) + 1


def assert_sound(folder: Path) -> None:
    """The file is sound to its last page."""
    with closing(sqlite3.connect(folder / FILE)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def assert_whole(place: str, killed: Iterable[Writer]) -> None:
    """Every turn that was acknowledged in the shared thread stands there."""
    with Hall.open(place) as hall:
        hall.verify_debate(SHARED)
        stored = [[turn["turn_index"], turn["turn_hash"]] for turn in hall.get_debate(SHARED)["transcript"]]
    acknowledged = [turn for writer in killed for turn in writer.of("shared")]
    assert len({index for index, _ in acknowledged}) == len(acknowledged) <= len(stored)
    assert [turn for turn in acknowledged if turn not in stored] == []


@pytest.mark.parametrize("file", range(FILES))
def test_what_was_acknowledged_before_a_kill_is_kept(file: int, tmp_path: Path) -> None:
    kill_and_look(str(tmp_path / "state"), f"{file}")
    assert_sound(tmp_path / "state")


@needs_postgres
def test_what_was_acknowledged_before_a_kill_is_kept_on_postgresql() -> None:
    with fresh_hall() as place:
        kill_and_look(place, "postgres")


def kill_and_look(place: str, name: str) -> None:
    """Lets writers work, kills one after the other in the midst of it, and looks what is there."""
    seed = os.environ.get("CRASH_SEED") or f"{random.randrange(2**32)}-{name}"
    print(f"CRASH_SEED={seed}")  # shown when it fails; set it to have the same choices again
    chance = random.Random(seed)
    with Hall.open(place) as hall:
        hall.init_debate(SHARED, "Which?", max_turns=100_000, max_rounds=100_000)
    names = (f"2026-01-06-writer-{number}" for number in range(WRITERS + KILLS))
    writers, killed = [Writer(place, next(names)) for _ in range(WRITERS)], list[Writer]()
    try:
        for _ in range(KILLS):
            killed.append(writers.pop(chance.randrange(WRITERS)))
            killed[-1].kill_after(chance.randint(1, 12))
            writers.append(Writer(place, next(names)))
            assert_kept(place, killed[-1])
    finally:
        for writer in writers:
            writer.kill()
    assert_whole(place, [*killed, *writers])
