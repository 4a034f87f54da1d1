"""Lines at the bottom of a terminal that are drawn again in place, and lines above them that stay.

Each time all is written at once, past the buffers of `sys.stderr`: whoever else writes there need not wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions
from rich.text import Text

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"


class Region:
    """The lines at the bottom of one terminal; one thread uses them at a time.

    Args:
        descriptor: of the terminal.
        console: knows its colours; it writes nothing itself.
    """

    def __init__(self, descriptor: int, console: Console) -> None:
        self._descriptor, self._console = descriptor, console
        self._drawn: list[int] = []  # the widths of its lines

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines; 80 × 24 where the terminal does not know."""
        columns, lines = os.get_terminal_size(self._descriptor)
        return columns or 80, lines or 24

    @property
    def is_in_front(self) -> bool:
        """Whether the terminal is this process's to draw on, and not some other job's."""
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:  # it controls no jobs
            return True

    def draw(self, above: Sequence[Text], below: Sequence[Text]) -> None:
        """Lets lines stand above, and draws the region again.

        Raises:
            OSError: the terminal is gone.
        """
        columns, lines = self.size
        self._console.size = ConsoleDimensions(columns, lines)
        with self._console.capture() as captured:
            for line in (*above, *below):
                line.truncate(columns, overflow="ellipsis")
                self._console.print(line, no_wrap=True, crop=False, end="\n")
        self._write(self._erasing(columns) + captured.get() + (_HIDE if below else _SHOW))
        self._drawn = [cell_len(line.plain) for line in below]

    def erase(self) -> None:
        """Takes the region off the terminal, which is as it was before.

        Raises:
            OSError: the terminal is gone.
        """
        if self._drawn:
            self.draw((), ())

    def _erasing(self, columns: int) -> str:
        """Most terminals break lines anew where they have become narrower, so that the region has more of them."""
        rows = sum(max(-(-width // columns), 1) for width in self._drawn)
        return f"\x1b[{rows}F\x1b[J" if rows else ""

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._descriptor, data) :]
