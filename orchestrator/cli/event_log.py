"""`--events`: what a run tells, as one JSON object a line, for programs that follow it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from typing import Any

from orchestrator.cli.plain import answer, tell
from orchestrator.errors import UsageError
from orchestrator.events import Told
from orchestrator.secrets import scrub

STANDARD_OUTPUT = "-"
_CURE = "Name a file in a folder that you can write, or - for standard output."


class EventLog:
    """Takes events and writes each at once. Where that fails, it says so, and the run goes on without it.

    Args:
        where: a file, to which it appends, or - for standard output.

    Raises:
        UsageError: it cannot be written.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._write: Callable[[str], None] | None = answer if where == STANDARD_OUTPUT else _appending(where)

    def __call__(self, told: Told) -> None:
        if self._write is None:
            return
        try:
            self._write(json.dumps(_scrubbed(told.as_dict())) + "\n")
        except UsageError as error:
            self._write = None
            tell(f"note: the events stop here, and the run goes on: {error}")


def _appending(where: str) -> Callable[[str], None]:
    path = os.path.expanduser(where)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise UsageError(f"--events {where} cannot be written: {error.strerror}.", _CURE) from error

    def write(line: str) -> None:
        whole = os.fstat(descriptor)
        data = line.encode()
        try:
            while data:
                data = data[os.write(descriptor, data) :]
        except OSError as error:
            if stat.S_ISREG(whole.st_mode):
                os.ftruncate(descriptor, whole.st_size)  # no half line is left
            raise UsageError(f"--events {where} cannot be written: {error.strerror}.", _CURE) from error

    return write


def _scrubbed(value: Any) -> Any:
    """A value of JSON without secrets."""
    match value:
        case str():
            return scrub(value)
        case dict():
            return {name: _scrubbed(member) for name, member in value.items()}
        case list() | tuple():
            return [_scrubbed(member) for member in value]
        case other:
            return other
