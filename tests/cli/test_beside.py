"""What is done beside a run: news that come at any moment, and whoever does not take what is handed on."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

from orchestrator.cli.beside import Beside, Outlet

DEADLINE_S = 10.0


def test_a_signal_in_the_midst_of_news_may_tell_news_too() -> None:
    worked = threading.Semaphore(0)
    beside = Beside(worked.release)
    signals = []

    def as_a_signal(frame: FrameType, event: str, arg: object) -> Any:
        """Comes between any two lines, as a handler of a signal does."""
        signals.append(event)
        beside.wake()
        return as_a_signal

    def tell() -> None:
        sys.settrace(as_a_signal)
        try:
            beside.wake()
        finally:
            sys.settrace(None)

    beside.wake()
    assert worked.acquire(timeout=DEADLINE_S)
    telling = threading.Thread(target=tell, daemon=True)
    telling.start()
    telling.join(DEADLINE_S)
    assert not telling.is_alive(), "it waits for itself"
    assert len(signals) > 3
    assert worked.acquire(timeout=DEADLINE_S)
    beside.close()


def test_all_is_handed_on_in_its_order_before_the_end() -> None:
    handed: list[int] = []
    outlet = Outlet(handed.append)
    for number in range(200):
        outlet(number)
    outlet.close()
    assert handed == list(range(200))
