"""One run of another program, of which nothing is left afterwards, however it ended.

It gets a session of its own, so that its children can be killed with it, and a mark in its environment, by which a
child that left the session is found where there is a /proc. Standard input, output and error are nameless files: a
child that lives on and holds them keeps nobody waiting, and a program that does not read its input breaks no pipe.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from uuid import uuid4

import anyio
from anyio.abc import Process
from anyio.lowlevel import checkpoint

MARK = "DEBATE_HALL_CALL"  # the variable that holds a run's mark
MOST_OUTPUT = 16 << 20  # bytes
MOST_ERRORS = 64 << 10  # bytes, of which the last are kept
_GRACE_S = 1.0  # between being asked to end and being killed
_LOOK_S = 0.05  # between two looks at how much it has written
_PASSES = 5  # searches for children that left: each may have started another one meanwhile


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that ended by itself; or was ended, since it took too long (late) or wrote more than `MOST_OUTPUT`."""

    code: int  # below zero: the signal that ended it
    output: str
    errors: str
    flooded: bool = False
    late: bool = False


async def run(
    command: Sequence[str], prompt: bytes, *, folder: Path, environment: Mapping[str, str], seconds: float
) -> Ended:
    """Runs a program to its end. It and its children are killed when this is cancelled, and what is left of them then.

    Args:
        command: the program and its arguments.
        prompt: what it finds on standard input.
        folder: where it runs.
        environment: all that it sees.
        seconds: how long it may take.

    Raises:
        OSError: it cannot be started.
    """
    mark = uuid4().hex
    with TemporaryFile() as sent, TemporaryFile() as output, TemporaryFile() as errors:
        sent.write(prompt)
        sent.seek(0)
        with anyio.CancelScope(shield=True):  # a process that starts while this is cancelled would be lost sight of
            process = await anyio.open_process(
                command,
                stdin=sent,
                stdout=output,
                stderr=errors,
                cwd=folder,
                env={**environment, MARK: mark},
                start_new_session=True,
            )
        flooded = False
        try:
            with anyio.move_on_after(seconds) as limit:
                flooded = await _ends(process, (output, errors))
        finally:
            with anyio.CancelScope(shield=True):
                await _kill(process, mark)
        return Ended(
            code=await process.wait(),
            output=_text(output, 0, MOST_OUTPUT),
            errors=_text(errors, max(0, _size(errors) - MOST_ERRORS), MOST_ERRORS),
            flooded=flooded,
            late=limit.cancelled_caught,
        )


async def _ends(process: Process, files: Sequence[IO[bytes]]) -> bool:
    """Waits for the end; True as soon as too much was written."""
    flooded = False

    async def watch() -> None:
        nonlocal flooded
        while not _any_floods(files):  # noqa: ASYNC110 - nobody tells when a file grows
            await anyio.sleep(_LOOK_S)
        flooded = True
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        await process.wait()
        flooded = _any_floods(files)
        group.cancel_scope.cancel()
    return flooded


async def _kill(process: Process, mark: str) -> None:
    """Ends the process, where it has not ended, and every child of it."""
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGTERM)
        with anyio.move_on_after(_GRACE_S):
            await process.wait()
    _signal_group(process.pid, signal.SIGKILL)
    await process.wait()
    for _ in range(_PASSES):
        strays = tuple(marked(mark))
        for stray in strays:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(stray, signal.SIGKILL)
        if not strays:
            return
        await checkpoint()


def marked(mark: str) -> Iterator[int]:
    """The processes that have a mark in their environment; none where there is no /proc to see them in."""
    wanted = f"{MARK}={mark}".encode()
    for place in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or is somebody else's
            if wanted in place.read_bytes().split(b"\0"):
                yield int(place.parent.name)


def _signal_group(leader: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # nobody is left; macOS says so of zombies
        os.killpg(leader, number)


def _any_floods(files: Sequence[IO[bytes]]) -> bool:
    return any(_size(file) > MOST_OUTPUT for file in files)


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _text(file: IO[bytes], start: int, most: int) -> str:
    file.seek(start)
    return file.read(most).decode("utf-8", "replace")
