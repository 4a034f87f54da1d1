"""How a command ends: exit codes, and the one error behind many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import DebateError
from orchestrator.exits import Exit as Exit
from orchestrator.exits import ended_as as ended_as
from orchestrator.exits import exit_code as exit_code


def only_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error behind a task group's: the first that is one of ours, else the first."""
    leaves = list(_leaves(group))
    return next((error for error in leaves if isinstance(error, DebateError)), leaves[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


@contextmanager
def plain_group() -> Iterator[None]:
    """Raises the one error behind an exception group."""
    try:
        yield
    except BaseExceptionGroup as group:
        raise only_error(group) from group
