"""A result is handed to a command: as JSON on its standard input, with the folder of its files in a variable."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from orchestrator.models.cli_process import run
from orchestrator.review.receipts import NotDeliveredError, UnclearError
from orchestrator.secrets import scrub
from orchestrator.wording import shortened, visible

FILES = "DEBATE_HALL_FILES"  # the variable
SECONDS = 600.0

_MOST_TOLD = 200  # characters of what it complains of


async def hand_over(command: Sequence[str], body: bytes, files: Path, folder: Path) -> None:
    """Runs a command, once, as its user would in a folder, and waits until it ends. It is not run by a shell.

    Args:
        command: the program and its arguments.
        body: JSON.
        files: the folder of the run's files.
        folder: where it is run.

    Raises:
        NotDeliveredError: it cannot be started.
        UnclearError: it did not end by itself with exit code 0; what it was to do may be done.
    """
    try:
        ended = await run(command, body, folder=folder, environment={**os.environ, FILES: str(files)}, seconds=SECONDS)
    except OSError as error:
        raise NotDeliveredError(f"{command[0]} cannot be started: {error.strerror or error}") from error
    if ended.late:
        raise UnclearError(f"{command[0]} took longer than {SECONDS:g} seconds, and was ended")
    if ended.flooded:
        raise UnclearError(f"{command[0]} printed too much, and was ended")
    if ended.code != 0:
        lines = ended.errors.strip().splitlines()
        why = f": {shortened(visible(scrub(lines[-1].strip())), _MOST_TOLD)}" if lines else ""
        raise UnclearError(f"{command[0]} ended with exit code {ended.code}{why}")
