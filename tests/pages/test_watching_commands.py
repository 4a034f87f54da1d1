"""The commands of the page about watching a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from page_shell import DOCS, run


@pytest.mark.slow
def test_a_program_follows_a_run_as_the_page_says(repository: Path, environment: dict[str, str]) -> None:
    ended = run(DOCS / "watching.md", repository, environment)
    assert ended.returncode == 0, ended.stdout
    assert ended.stdout.splitlines()[-2] == "3"
    assert len(json.loads((repository / "turns.json").read_text())["transcript"]) == 3
