"""A command in a terminal of its own: a pseudo-terminal, and a screen that is what a person would see in it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import sysconfig
import termios
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pyte

RUN_DEBATE = (sys.executable, str(Path(sysconfig.get_path("scripts")) / "run-debate"))
STAGED = (sys.executable, str(Path(__file__).with_name("staged.py")))
DEADLINE_S = 60.0
_SCROLLBACK = 2_000


class Terminal:
    """What a command writes to its terminal, as it stands on the screen.

    Args:
        process: it.
        descriptor: the person's side of the pseudo-terminal.
    """

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int, columns: int, lines: int) -> None:
        self.process, self.written = process, b""
        self._descriptor = descriptor
        self._screen = pyte.HistoryScreen(columns, lines, history=_SCROLLBACK, ratio=1.0)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def screen(self) -> list[str]:
        """The lines that are seen, without those that are empty at its end."""
        lines = [line.rstrip() for line in self._screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def scrolled(self) -> list[str]:
        """All that was written, what has scrolled off the screen too."""
        width = self._screen.columns
        off = ["".join(line[column].data for column in range(width)).rstrip() for line in self._screen.history.top]
        return off + self.screen

    @property
    def cursor_is_shown(self) -> bool:
        return not self._screen.cursor.hidden

    @property
    def cursor_is_at_a_line(self) -> bool:
        """Whether what comes next begins a line."""
        return self._screen.cursor.x == 0

    def until(self, seen: Callable[[list[str]], object]) -> list[str]:
        """Looks on until something is seen on the screen; returns the screen."""
        deadline = monotonic() + DEADLINE_S
        while not seen(self.screen):
            if monotonic() > deadline or not self._read(deadline):
                raise AssertionError("it was never seen; the screen is\n" + "\n".join(self.screen))
        return self.screen

    def until_drawn(self) -> None:
        """Looks on until something has been drawn again, and again, so that all of the second is newer than now."""
        deadline = monotonic() + DEADLINE_S
        for _ in range(2):
            assert self._read(deadline), "nothing is drawn any more"

    def end(self) -> int:
        """Looks on until the command has ended; returns its exit code."""
        deadline = monotonic() + DEADLINE_S
        while self._read(deadline):
            assert monotonic() < deadline, "it does not end"
        return self.process.wait(DEADLINE_S)

    def press(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode(errors="surrogateescape"))

    def resize(self, columns: int, lines: int) -> None:
        """As a window manager does: the size changes, and whoever is in front is told."""
        self._screen.resize(lines, columns)
        _set_size(self._descriptor, columns, lines)

    def _read(self, deadline: float) -> bool:
        """Takes what was written; False at its end."""
        ready, _, _ = select.select([self._descriptor], [], [], max(deadline - monotonic(), 0))
        try:
            data = os.read(self._descriptor, 65_536) if ready else b""
        except OSError:  # Linux says so when the other side is closed
            data = b""
        self.written += data
        self._stream.feed(data)
        return bool(data)


@contextmanager
def terminal(
    *command: str,
    folder: Path,
    columns: int = 80,
    lines: int = 24,
    env: Mapping[str, str] | None = None,
    **streams: int,
) -> Iterator[Terminal]:
    """Runs a command in a folder, with a hall of its own there, in a terminal of its own.

    Of its standard streams, those that are given lead elsewhere.
    """
    place = {"DEBATE_HALL_STATE_DIR": str(folder / "state"), "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    screen = {"TERM": "xterm-256color", "COLORTERM": "", "NO_COLOR": ""}
    unsized = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    ours, theirs = pty.openpty()
    _set_size(theirs, columns, lines)
    process = subprocess.Popen(
        command,
        **{"stdin": theirs, "stdout": theirs, "stderr": theirs, **streams},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),  # it is its terminal, so that keys interrupt it
        cwd=folder,
        env={**unsized, **place, **screen, **(env or {})},
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours, columns, lines)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(ours)


def normal(lines: list[str]) -> str:
    """A screen without what differs from run to run: seconds, tokens that come in, hashes, the port of a server."""
    return "".join(f"{_normal(line)}\n" for line in lines)


_DIFFERS = (
    (r"\b\d+:\d\d\b", "0:00"),
    (r"(?<= )\d+ s\b", "0 s"),
    (r"~[\d,]+ tok", "~0 tok"),
    (r"sha256:[0-9a-f]+", "sha256:0"),
    (r"^[0-9a-f]{20,}", "0"),  # what a narrow terminal breaks off a hash
    (r"127\.0\.0\.1:\d+", "127.0.0.1:0"),
)


def _normal(line: str) -> str:
    for pattern, told in _DIFFERS:  # what stands in a lane keeps its columns
        line = re.sub(rf"{pattern}(?=( *))", lambda match, told=told: told.ljust(len(match[0])), line)
    return line.rstrip()


def _set_size(descriptor: int, columns: int, lines: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
