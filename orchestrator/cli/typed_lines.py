"""Lines that a person types or pastes at a terminal, between what a run shows there."""

from __future__ import annotations

import os
import select
import sys
import termios

import anyio

from orchestrator.wording import counted, visible
from orchestrator.worker import in_thread

_LONGEST = 4095  # bytes of a line that Linux's terminals hold; what comes after them is lost without a word


class TypedLines:
    """They are waited for in the event loop, so that Ctrl-C ends the waiting."""

    def __init__(self) -> None:
        self._typed = b""

    async def next(self, prompt: str) -> str | None:
        """Returns the next line that is whole; None when there is none any more."""
        while True:
            if not self._more():
                await in_thread(put, prompt)
            line = await self._line()
            if line is None:
                return None
            if len(line) >= _LONGEST:
                await in_thread(put, f"Not taken: a terminal keeps {_LONGEST:,} bytes of a line. Write shorter ones.\n")
                continue
            try:
                return line.decode()
            except UnicodeDecodeError:
                await in_thread(put, "Not taken: that line is not UTF-8. Write it again.\n")

    async def words(self, begun: str) -> str:
        """Returns what was begun on a line, with the lines after it, up to an empty one.

        What is pasted comes at once and is taken whole, its empty lines too. A line that nothing follows is all.
        """
        if begun and not self._more():
            return begun
        await in_thread(put, "An empty line ends it.\n")
        lines = [begun]
        while (line := await self.next("| ")) is not None and (line.strip() or self._more()):
            lines.append(line)
        return "\n".join(lines).strip()

    async def pass_over(self) -> None:
        """Takes what was typed before somebody asked for it, and says what becomes of it: nothing."""
        lines = []
        while self._more() and (line := await self._line()) is not None:
            lines.append(line)
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # a line that has no end yet
        if any(map(bytes.strip, lines)):
            await in_thread(put, f"{counted(len(lines), 'line')} passed over, for nobody had asked yet.\n")

    def _more(self) -> bool:
        return b"\n" in self._typed or bool(select.select([sys.stdin], [], [], 0)[0])

    async def _line(self) -> bytes | None:
        while b"\n" not in self._typed:
            try:
                await anyio.wait_readable(sys.stdin)
            except anyio.get_cancelled_exc_class():
                put("\n")  # what is shown next begins a line
                raise
            more = os.read(sys.stdin.fileno(), 65_536)
            if not more:  # Ctrl-D, which ends a line that was begun
                rest, self._typed = self._typed, b""
                await in_thread(put, "\n" if rest else "")
                return rest or None
            self._typed += more
        line, _, self._typed = self._typed.partition(b"\n")
        return line


def put(text: str) -> None:
    """Writes to the terminal itself: what else shows the run stands aside. A terminal that takes nothing (Ctrl-S) holds
    it up, so it is called in a thread."""
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, visible(text).encode())
