"""Reviews that workers hold: of two workers with one file one holds a time that has come, once."""

from __future__ import annotations

import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.fleet import queue_tables
from orchestrator.hall.address import read
from orchestrator.hall.hall import Hall
from orchestrator.hall.review_rows import ReviewNotes
from orchestrator.hall.store_place import open_store
from orchestrator.hall.terms import Status
from orchestrator.review.outcomes import Outcome
from postgres import fresh_hall, needs_postgres

pytestmark = [pytest.mark.slow, needs_postgres]
WORKER = [sys.executable, str(Path(sysconfig.get_path("scripts")) / "debate-hall"), "worker", "--reviews"]
DEADLINE_S = 90
FILE = """
reviews:
  - name: weekly
    cron: '0 9 * * 1'
    timezone: Europe/Berlin
    recipe: speed
    models: rehearsal
    topic: Is it still right on {date}?
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """One that the hall has known for eight days, in which a time of its review came and nobody held it."""
    path = tmp_path / "reviews.yaml"
    path.write_text(FILE)
    with fresh_hall() as address:
        monkeypatch.setenv("DEBATE_HALL_STORE", address)
        queue_tables.make(read(address))
        then = datetime.now(UTC) - timedelta(days=8)
        with Hall(open_store(), clock=lambda: then) as hall:
            claim = hall.reviews.begin("weekly", str(path), then, None)
            assert claim is not None
            hall.reviews.note(claim, ReviewNotes(outcome=Outcome.ENROLLED))
        yield path


def outcomes() -> list[str | None]:
    with Hall.open() as hall:
        return [row.notes.outcome for row in hall.reviews.rows("weekly")]


def test_of_two_workers_one_holds_a_time_that_was_missed(file: Path, tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    workers = [subprocess.Popen([*WORKER, str(file)], cwd=tmp_path, stderr=pipe, text=True) for _ in range(2)]
    try:
        deadline = time.monotonic() + DEADLINE_S
        while outcomes()[-1] in (None, Outcome.ENROLLED):
            assert time.monotonic() < deadline, "nobody held it"
            time.sleep(0.2)
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        told = [worker.communicate(timeout=DEADLINE_S)[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], told
    assert outcomes() == [Outcome.ENROLLED, Outcome.REHEARSED]
    assert sum("its time has come" in lines for lines in told) == 1
    with Hall.open() as hall:
        assert [debate["status"] for debate in hall.list_debates()] == [Status.SYNTHESIS]
