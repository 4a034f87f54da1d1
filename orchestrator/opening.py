"""How a new debate comes to its thread id: the one that was asked for, else the first that is free."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.errors import ThreadExists
from orchestrator.hall.entries import Link
from orchestrator.hall.hall import Hall
from orchestrator.plan import Plan
from orchestrator.runner import open_debate


def open_at_free_id(
    hall: Hall, plan: Plan, topic: str, thread_id: str | None, ids: Iterable[str], link: Link | None = None
) -> str:
    """Opens a debate and returns its id.

    Args:
        thread_id: the one that was asked for; None leaves it to `ids`.
        ids: those to try, without end.
        link: the thread whose decision it starts from.

    Raises:
        InvalidInput, ThreadExists: nothing was opened.
    """
    for candidate in [thread_id] if thread_id is not None else ids:
        try:
            open_debate(hall, plan, candidate, topic, link)
        except ThreadExists:
            if thread_id is not None:
                raise
            continue
        return candidate
    raise AssertionError("there is always another id")
