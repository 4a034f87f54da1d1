"""The live view beside a run: it reads the run's events and draws them, and leaves the terminal as it was."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from functools import partial
from types import FrameType

from rich.console import Console
from rich.text import Text

from orchestrator.cli.beside import Beside
from orchestrator.cli.live.folding import fold
from orchestrator.cli.live.picture import picture, plain
from orchestrator.cli.live.region import Region
from orchestrator.cli.live.state import View
from orchestrator.cli.live.story import story_of
from orchestrator.events import Told

_EVERY_S, _GAP_S = 1.0, 0.12  # seconds go on counting; more pictures than eight a second nobody sees
_PATIENCE_S = 1.0  # with a terminal that takes nothing, before the shell has it

Lines = Callable[[Console], Iterator[Text]]


class Display:
    """A reader of a run's events that shows them in a terminal, on standard error.

    Only what is quick is done while the run waits; a thread draws.

    Args:
        begin: the view at a time, before the first event.
        descriptor: of the terminal.
    """

    def __init__(self, begin: Callable[[float], View], descriptor: int) -> None:
        self._begin = begin
        self._view: View | None = None
        self._console = Console(
            stderr=True, force_terminal=True, legacy_windows=False, markup=False, emoji=False, highlight=False
        )
        self._region = Region(descriptor, self._console)
        self._above: list[Lines] = []
        self._changing, self._drawing = threading.Lock(), threading.Lock()
        self._beside = Beside(self._draw, _EVERY_S, _GAP_S)
        self._signals = _Signals({signal.SIGTSTP: self._stopped, signal.SIGWINCH: self._resized})
        self._written = _Above(self._tell)
        self._errors = redirect_stderr(self._written)

    def __call__(self, told: Told) -> None:
        now = time.monotonic()
        with self._changing:
            begins = self._view is None
            self._view = fold(told.event, self._view or self._begin(now), now)
            self._above.append(partial(story_of, told.event))
        if begins:
            self._signals.take()
            self._errors.__enter__()
        self._beside.wake()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Leaves the terminal, with all that was told so far, to somebody else for a while."""
        with self._drawing:
            if self._view is None:
                yield
                return
            with suppress(OSError):  # a terminal that is gone ends no run
                self._region.draw(self._news(), [])
            self._errors.__exit__(None, None, None)
            try:
                yield
            finally:
                self._errors.__enter__()
        self._beside.wake()

    def close(self) -> None:
        """Takes the view off the terminal; what it left above stays."""
        if self._view is None:
            return
        self._errors.__exit__(None, None, None)
        self._written.end()
        self._signals.give_back()
        with self._changing:
            self._view = None
        self._beside.close()

    def _tell(self, line: str) -> None:
        """Shows a line that something else writes to standard error."""
        with self._changing:
            self._above.append(lambda console: iter([plain(line)]))
        self._beside.wake()

    def _draw(self) -> None:
        with self._drawing:
            with self._changing:
                view = self._view
            if view is not None and not self._region.is_in_front:
                return
            self._region.draw(self._news(), picture(view, time.monotonic(), *self._region.size) if view else [])

    def _news(self) -> list[Text]:
        """What is to stand above from now on."""
        with self._changing:
            news, self._above = self._above, []
        return [line for lines in news for line in lines(self._console)]

    def _resized(self, number: int, frame: FrameType | None) -> None:
        self._beside.wake()

    def _stopped(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-Z: the shell gets its terminal as it was; the view comes back with the run."""
        held = self._drawing.acquire(timeout=_PATIENCE_S)
        try:
            if held:
                with suppress(OSError):
                    self._region.erase()
            self._signals.give_back()
            os.kill(os.getpid(), number)  # here it stands still
            self._signals.take()
        finally:
            if held:
                self._drawing.release()
        self._beside.wake()


class _Signals:
    """Handlers for a while, in the place of those that stood there."""

    def __init__(self, handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]]) -> None:
        self._handlers = handlers
        self._before: dict[signal.Signals, object] = {}

    def take(self) -> None:
        self._before = {number: signal.signal(number, handler) for number, handler in self._handlers.items()}

    def give_back(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # type: ignore[arg-type]
        self._before = {}


class _Above(io.StringIO):
    """What is written to standard error meanwhile, line by line."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell, self._line = tell, ""

    def write(self, text: str) -> int:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._tell(line)
        return len(text)

    def end(self) -> None:
        if self._line:
            self.write("\n")
