"""Every call of an evaluation and what came of it, in a file that only grows.

What holds at every moment:
- A call stands in the file, with the most it can take, before it is made; its reply before anybody reads it.
- A call without an outcome, because its process died, counts at its bound: no limit is passed by dying.
- A reply is found again by the cell it was for, its step and the digest of what was asked; so is an answer of no use
  that was paid for. What brought nothing is not served: it is asked again.
- A line that was not written to its end, because the machine stopped, is none.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

from orchestrator.budget import Bound, total_bound
from orchestrator.errors import ConfigurationError, ModelError, UsageError
from orchestrator.evaluate.cassette_lines import Asked, Begun, Call, Counted, Failed, Line, Replied, lines_in
from orchestrator.evaluate.cassette_lines import Cell as Cell
from orchestrator.evaluate.cassette_lines import Place as Place
from orchestrator.files import create_once
from orchestrator.models.base import Reply, Request

FILE = "cassette.jsonl"


class Cassette:
    """The calls of one evaluation. One process writes it; threads may share it.

    Args:
        lines: what stands in it already.
        file: where lines are added; None: nothing may be.

    Attributes:
        begun: who asked last; None: nobody yet.
    """

    def __init__(self, lines: Iterable[Line] = (), file: int | None = None) -> None:
        self.begun: Begun | None = None
        self._calls: dict[int, Call] = {}
        self._numbers: defaultdict[Place, list[int]] = defaultdict(list)
        self._file, self._lock = file, Lock()
        for line in lines:
            self._add(line)

    @classmethod
    def recording(cls, folder: Path) -> Cassette:
        """Opens the cassette of a folder to go on with it; there need not be one yet.

        Raises:
            UsageError: another process is at it, or it cannot be written.
            ConfigurationError: it holds something else.
        """
        path = folder / FILE
        create_once(folder, FILE, "")
        try:
            file = os.open(path, os.O_RDWR | os.O_APPEND)
        except OSError as error:
            raise UsageError(f"Cannot write {path}: {error.strerror}.", "Choose another folder with --out.") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            data = path.read_bytes()
            whole = data.rfind(b"\n") + 1
            cassette = cls(lines_in(data[:whole], path), file)
            os.ftruncate(file, whole)
        except BlockingIOError as error:
            os.close(file)
            raise UsageError(f"Another process evaluates into {folder}.", "Wait for it, or stop it.") from error
        except BaseException:
            os.close(file)
            raise
        return cassette

    @classmethod
    def to_replay(cls, folder: Path) -> Cassette:
        """Reads the cassette of a folder.

        Raises:
            ConfigurationError: there is none, or it holds something else.
        """
        path = folder / FILE
        try:
            data = path.read_bytes()
        except OSError as error:
            cure = "Leave out --replay, so that one is made."
            raise ConfigurationError(f"cannot be read: {error.strerror}.", cure, source=str(path)) from error
        return cls(lines_in(data[: data.rfind(b"\n") + 1], path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.close(self._file)

    @property
    def spent(self) -> Bound:
        """The most that all its calls can have taken."""
        return total_bound(call.taken for call in self._calls.values())

    def at(self, place: Place) -> tuple[Call, ...]:
        """The calls of a place, in the order in which they were made."""
        with self._lock:
            return tuple(self._calls[number] for number in self._numbers.get(place, ()))

    def begin(self, variables: Iterable[str]) -> None:
        """Writes down who asks from here on, where that is another than before.

        Raises:
            UsageError: it cannot be written.
        """
        begun = Begun(variables=tuple(sorted(variables)))
        if begun != self.begun:
            self._write(begun)
            self._add(begun)

    def asked(self, place: Place, request: Request, bound: Bound, began: float) -> int:
        """Writes down that a call will be made; returns its number.

        Raises:
            UsageError: it cannot be written, and must not be made.
        """
        with self._lock:
            line = Asked(
                number=len(self._calls) + 1,
                **place.cell._asdict(),
                step=place.step,
                request=digest_of(request),
                route=request.model,
                began=began,
                tokens=bound.tokens,
                cost_usd=bound.cost_usd,
            )
            self._write(line)
            self._add(line)
            return line.number

    def replied(self, number: int, reply: Reply, seconds: float) -> None:
        """Writes down what a call brought.

        Raises:
            UsageError: it cannot be written; then it must not count.
        """
        self._end(
            Replied(
                number=number,
                seconds=seconds,
                text=reply.text,
                model=reply.model,
                usage=Counted.of(reply.usage),
                left_out=reply.left_out,
            )
        )

    def failed(self, number: int, error: ModelError, seconds: float) -> None:
        """Writes down why a call brought nothing, or nothing of use.

        Raises:
            UsageError: it cannot be written.
        """
        self._end(
            Failed(
                number=number,
                seconds=seconds,
                code=error.code,
                message=error.message,
                route=error.model,
                text=error.text,
                usage=Counted.of(error.usage) if error.usage else None,
                maybe_billed=error.maybe_billed,
            )
        )

    def _end(self, outcome: Replied | Failed) -> None:
        with self._lock:
            self._write(outcome)
            self._add(outcome)

    def _add(self, line: Line) -> None:
        match line:
            case Begun():
                self.begun = line
            case Asked():
                self._calls[line.number] = Call(line)
                self._numbers[line.place].append(line.number)
            case _:
                self._calls[line.number] = replace(self._calls[line.number], outcome=line)

    def _write(self, line: Line) -> None:
        """Writes a line, whole or not at all: what comes after it must begin a line."""
        assert self._file is not None, "what is replayed is not written"
        data, size = line.model_dump_json().encode() + b"\n", os.fstat(self._file).st_size
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, size)
            raise UsageError(f"Cannot write the cassette: {error.strerror}.", "Make room and run it again.") from error


def digest_of(request: Request) -> str:
    """What tells two requests apart: all that a model is asked and how, but not its price or how long it may take."""
    asked = {
        "model": request.model,
        "messages": [[message.speaker, message.text] for message in request.messages],
        "most": request.max_output_tokens,
        "temperature": request.temperature,
        "effort": request.endpoint.effort,
        "shape": request.shape.schema if request.shape else None,
    }
    return f"sha256:{hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()}"
