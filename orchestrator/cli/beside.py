"""Work that is done beside a run: whoever does not read what is written holds up the last words, never the run."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class Beside:
    """A thread that works whenever there is news; it starts with the first.

    Args:
        work: is called after news, never twice at a time; an OSError of its ends it, for then nobody is there any more.
        every_s: and as often without any.
        gap_s: it rests so long after each time, except at the end.
    """

    def __init__(self, work: Callable[[], None], every_s: float | None = None, gap_s: float = 0.0) -> None:
        self._work, self._every_s, self._gap_s = work, every_s, gap_s
        self._news: SimpleQueue[None] = (
            SimpleQueue()
        )  # a signal may tell it news in the midst of news; no Event bears that
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._failed: Exception | None = None

    def wake(self) -> None:
        """Tells that there is news; a signal handler may do it too."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="beside", daemon=True)
            self._thread.start()
        if self._news.empty():
            self._news.put(None)

    def close(self) -> None:
        """Waits until all is done; who interrupts that, waits no more.

        Raises:
            Exception: what the work raised.
        """
        self._ending.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            self._news.put(None)
            thread.join()
        if self._failed is not None:
            raise self._failed

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                with suppress(Empty):
                    self._news.get(timeout=self._every_s)
                self._work()
                self._ending.wait(self._gap_s)
            self._work()
        except OSError:
            pass
        except Exception as error:  # noqa: BLE001  it is told when the run has ended
            self._failed = error


class Outlet(Generic[T]):
    """Hands things on beside the run, in their order.

    Args:
        hand_on: takes each of them, as slowly as it may be.
    """

    def __init__(self, hand_on: Callable[[T], None]) -> None:
        self._hand_on = hand_on
        self._waiting: deque[T] = deque()
        self._handing = threading.Lock()
        self._beside = Beside(self.flush)

    def __call__(self, thing: T) -> None:
        self._waiting.append(thing)
        self._beside.wake()

    def close(self) -> None:
        """Waits until all is handed on.

        Raises:
            Exception: what handing on raised, an OSError apart.
        """
        self._beside.close()

    def flush(self) -> None:
        """Hands on what waits, now."""
        with self._handing:
            while self._waiting:
                self._hand_on(self._waiting.popleft())
