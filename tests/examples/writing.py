"""The files of an example debate, as a run leaves them behind."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from examples.shelf import Make
from orchestrator.run_folder import FORMATS, write_run

COMMAND = "python -m tests.examples"


def write(make: Make, folder: Path) -> tuple[Path, ...]:
    """Holds an example and writes what a run of it would into a folder, in every format."""
    with TemporaryDirectory() as state:
        debate, record, plan = make(Path(state))
    assert plan is not None, "what is written was held by a run"
    return write_run(folder, FORMATS, debate, record, plan)
