"""A disk that fills: the run says how to go on, and goes on once there is room, with what was paid for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from promises import UNUSED, assert_nothing_lost_nothing_twice
from stage import BEGIN, BEHIND_THE_CLOSE, RESUME, Ended, Stage

from building import THREAD

pytestmark = pytest.mark.slow

# Of a FORTRESS debate, from its opening to its close: see `test_kills`.
PLACES = range(3, BEHIND_THE_CLOSE, 6)


def assert_paused(ended: Ended) -> None:
    assert ended.code == 3, ended.told
    assert ended.last_line == f"Go on with: run-debate --resume {THREAD}"
    assert "See that the disk has room" in ended.told


def texts_kept(stage: Stage) -> set[str | None]:
    """What was paid for, wherever it is: in the journal, or where that had no room for it, in the run's folder."""
    with stage.hall() as hall:
        journal = [line.text for line in hall.journal(THREAD)]
    file = stage.out / UNUSED
    drafts: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
    return {*journal, *(draft["text"] for draft in drafts)}


@contextmanager
def small_disk(place: Path, kib: int) -> Iterator[None]:
    place.mkdir(mode=0o700)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kib}k,mode=700", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a file system of a given size cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_disk_without_room_for_the_opening_begins_nothing(stage: Stage) -> None:
    refused = stage.run(*BEGIN, at=1, by="FULL")
    assert refused.code == 2
    assert "See that the disk has room" in refused.last_line
    assert not stage.is_open()
    assert stage.server.calls == []
    assert_nothing_lost_nothing_twice(stage, stage.run(*BEGIN))


@pytest.mark.parametrize("place", PLACES)
def test_a_disk_that_fills_pauses_the_run_with_all_that_was_paid_for(place: int, stage: Stage) -> None:
    paused = stage.run(*BEGIN, at=place, by="FULL")
    assert_paused(paused)
    lost = {call.answer for call in stage.server.calls if call.answer is not None} - texts_kept(stage)
    assert len(lost) <= len(paused.outcome["uncertain"])  # calls that ended with the run
    assert_nothing_lost_nothing_twice(stage, stage.run(*RESUME))


@pytest.mark.parametrize("kib", [144, 240, 400])
def test_a_file_system_that_is_full_is_left_with_nothing_to_repair(kib: int, stage: Stage) -> None:
    state = stage.folder / "state"
    with small_disk(state, kib):
        assert_paused(stage.run(*BEGIN))
        subprocess.run(["mount", "-o", "remount,size=8m", str(state)], check=True)
        assert_nothing_lost_nothing_twice(stage, stage.run(*RESUME))
