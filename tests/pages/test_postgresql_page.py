"""The page on PostgreSQL is run as a reader would, against a server of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_shell import DOCS, commands, run

from postgres import needs_postgres
from postgres_cluster import PASSWORD, cluster, program

PAGE = DOCS / "postgresql.md"


@pytest.mark.slow
@needs_postgres
@pytest.mark.skipif(program("initdb") is None, reason="there is no initdb to make a server with")
def test_the_page_runs_from_its_first_command_to_its_last(
    repository: Path, environment: dict[str, str], nothing_installed: Path
) -> None:
    with cluster() as server:
        environment |= {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "root", "PGPASSWORD": PASSWORD}
        environment["PATH"] = f"{nothing_installed}:{environment['PATH']}"
        ended = run(PAGE, repository, environment)
    assert ended.returncode == 0, ended.stdout[-3000:]
    assert ended.stdout.count("2026-01-06-queue: verified") == 4
    assert "postgresql:///hall: PostgreSQL, format 2" in ended.stdout
    assert "2 copied, 0 there already, 0 refused" in ended.stdout
    assert PASSWORD not in ended.stdout


def test_every_command_on_the_page_can_be_pasted() -> None:
    assert "debate-hall store migrate" in commands(PAGE)
