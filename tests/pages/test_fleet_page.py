"""The page on fleets is run as a reader would, against a server of the test's own and a provider on loopback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_shell import DOCS, commands, run

from endpoint import ModelServer
from orchestrator.fleet.holding import FIRST_S, LONGEST_S, MOST_TRIES
from orchestrator.fleet.turns import OUTLASTS_S
from orchestrator.fleet.worker import DEAD_AFTER_S
from postgres import needs_postgres
from postgres_cluster import PASSWORD, cluster, program

PAGE = DOCS / "fleet.md"


@pytest.mark.slow
@needs_postgres
@pytest.mark.skipif(program("initdb") is None, reason="there is no initdb to make a server with")
def test_the_page_runs_from_its_first_command_to_its_last(
    repository: Path, environment: dict[str, str], model_server: ModelServer, nothing_installed: Path
) -> None:
    with cluster() as server:
        environment |= {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "root", "PGPASSWORD": PASSWORD}
        environment["PATH"] = f"{nothing_installed}:{environment['PATH']}"
        ended = run(PAGE, repository, environment)
    said = ended.stdout
    assert ended.returncode == 0, said[-3000:]
    log = (repository / "worker.log").read_text()
    held = re.findall(r"^(\S+): synthesis$", log, re.MULTILINE)
    assert len(held) == len(set(held)) == 4, log
    assert {"2026-01-06-queue", "2026-01-06-bus"} < set(held)
    assert log.endswith("stopped; what was under way is paused, and waits for another worker\n")
    assert "submitted 0 debates; 2 there already: debate-hall fleet" in said
    assert "2026-01-06-bus: taken out of the queue; it stays open" in said
    assert re.search(r"^today \(UTC\): \$0\.\d+ of \$50\.00$", said, re.MULTILINE)
    assert said.count("2026-01-06-bus: verified") == 1  # in what was restored
    assert "has format 2 already" in said
    assert len(model_server.calls) == 3 * 5 + 15


def test_the_page_says_what_the_code_does() -> None:
    page = PAGE.read_text()
    assert (FIRST_S, LONGEST_S) == (30, 3600)
    assert "again after 30 s, then 60 s, up to an hour, or when the provider says" in page
    assert f"given up after {MOST_TRIES} of these" in page
    assert f"put back {DEAD_AFTER_S:.0f} s after it was last heard of (`--dead-after`)" in page
    assert f"(its\n`timeout_s` and {OUTLASTS_S:.0f} seconds)" in page


def test_every_command_on_the_page_can_be_pasted() -> None:
    assert "debate-hall worker" in commands(PAGE)
