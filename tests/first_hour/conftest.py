"""A person's first hour: an empty home, an empty folder, and nothing in the environment but what a trial names."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

Said = subprocess.CompletedProcess[str]
First = Callable[..., Said]

SCRIPTS = Path(sysconfig.get_path("scripts"))
CLOSED = "http://127.0.0.1:9"  # nothing listens at the discard port


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.slow)  # each loads litellm in a process of its own


@pytest.fixture
def bin(tmp_path: Path) -> Path:
    """The folder on the PATH, beside the system's, into which a trial puts commands."""
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


@pytest.fixture
def surroundings(tmp_path: Path, bin: Path) -> dict[str, str]:
    """That person's environment; the home and the working folder are empty."""
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    return {
        "HOME": str(tmp_path / "home"),
        "PATH": f"{bin}:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }


@pytest.fixture
def first(tmp_path: Path, surroundings: dict[str, str]) -> First:
    """Runs a console script as that person would: `ollama` is where one listens, other keywords are variables."""

    def call(script: str, *arguments: str, ollama: str = "", **environment: str) -> Said:
        # where an Ollama is to be found, all usual ports are asked: its own comes first
        servers = {"OLLAMA_HOST": ollama} if ollama else {"DEBATE_HALL_LOCAL_SERVERS": CLOSED}
        return subprocess.run(
            [sys.executable, str(SCRIPTS / script), *arguments],
            cwd=tmp_path / "work",
            env=surroundings | servers | environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    return call
