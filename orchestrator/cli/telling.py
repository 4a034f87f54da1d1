"""How a run is told while it goes on: as a live view, as plain lines, or not at all; and its events to a program."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from orchestrator.cli.beside import Outlet
from orchestrator.cli.event_log import EventLog
from orchestrator.cli.plain import tell
from orchestrator.cli.progress import progress_lines
from orchestrator.events import Reader
from orchestrator.hall.debate import Debate
from orchestrator.plan import Plan

if TYPE_CHECKING:
    from orchestrator.cli.live.display import Display

_NO_CURSOR = ("", "dumb", "unknown")  # TERM of terminals on which nothing can be drawn again


class Telling:
    """Those who are told of a run.

    Args:
        readers: of its events.
        closing: what each of them has to end with, in order.
        display: the live view, where there is one.
        lines: the plain lines, where those are told.
    """

    def __init__(
        self,
        readers: tuple[Reader, ...] = (),
        closing: tuple[Callable[[], None], ...] = (),
        display: Display | None = None,
        lines: Outlet[str] | None = None,
    ) -> None:
        self.readers, self._closing, self._display, self._lines = readers, list(closing), display, lines

    @property
    def is_seen(self) -> bool:
        """Whether somebody sees drafts while they are written."""
        return self._display is not None

    def away(self) -> AbstractContextManager[None]:
        """Leaves the terminal, with all that was told so far, to somebody else for a while."""
        if self._lines is not None:
            self._lines.flush()
        return self._display.away() if self._display else nullcontext()

    def close(self) -> None:
        """Ends the telling, and waits for those who read slowly. What goes wrong with it is told, and ends nothing."""
        while self._closing:
            try:
                self._closing.pop(0)()
            except Exception:  # noqa: BLE001  the run is what counts
                tell(f"note: the run could not be shown to its end\n{traceback.format_exc()}")


def telling(plan: Plan, *, quiet: bool, colour: bool, events: str | None, debate: Debate | None = None) -> Telling:
    """Who is told of a run of this plan.

    Args:
        quiet: nobody on standard error.
        colour: standard error may be drawn on, where it is a terminal that can be.
        events: a file for its events, or - for standard output.
        debate: what stands already.

    Raises:
        UsageError: the file cannot be written.
    """
    readers: list[Reader] = []
    closing: list[Callable[[], None]] = []
    display: Display | None = None
    lines: Outlet[str] | None = None
    if events is not None:
        log = Outlet(EventLog(events))
        readers.append(log)
        closing.append(log.close)
    terminal = _terminal() if colour and not quiet else None
    if terminal is not None:
        from orchestrator.cli.live.display import Display
        from orchestrator.cli.live.state import begin

        display = Display(partial(begin, plan, dict(_spoken(debate))), terminal)
        readers.append(display)
        closing.insert(0, display.close)
    elif not quiet:
        lines = Outlet(tell)
        readers.append(progress_lines(lines))
        closing.insert(0, lines.close)
    return Telling(tuple(readers), tuple(closing), display, lines)


def _terminal() -> int | None:
    """The descriptor of standard error, where it is a terminal on which lines can be drawn again."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM", "") in _NO_CURSOR:
        return None
    takes_signs = (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"
    return sys.stderr.fileno() if takes_signs else None


def _spoken(debate: Debate | None) -> Iterator[tuple[str, int]]:
    """The turns that stand, by their slots."""
    for number, line in enumerate(debate.turns if debate else (), 1):
        seat = getattr(line.entry.body, "seat", None)
        if seat is not None:
            yield seat.slot, number
