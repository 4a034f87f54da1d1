"""How a command ends: exit codes, and what is said when it fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from orchestrator.errors import (
    DebateError,
    HallError,
    LedgerBroken,
    RunPaused,
    StoppedByLimit,
    StoreError,
    UsageError,
)
from orchestrator.hall.debate import CLOSED_EARLY, DEGRADED, State
from orchestrator.hall.terms import Status


class Exit(IntEnum):
    """What a caller can rely on."""

    DECIDED = 0
    FAILED = 1
    USAGE = 2
    PAUSED = 3
    NO_CONSENSUS = 4
    LIMIT = 5
    DEGRADED = 6
    LEDGER_BROKEN = 7
    INTERRUPTED = 130


def exit_code(error: BaseException) -> Exit:
    """The exit code for an error."""
    match error:
        case StoppedByLimit():
            return Exit.LIMIT
        case RunPaused():
            return Exit.PAUSED
        case LedgerBroken():
            return Exit.LEDGER_BROKEN
        case UsageError() | HallError() | StoreError():
            return Exit.USAGE
        case KeyboardInterrupt():
            return Exit.INTERRUPTED
        case _:
            return Exit.FAILED


def ended_as(state: State) -> Exit:
    """The exit code for a debate that is closed."""
    if state.status is not Status.SYNTHESIS:
        return Exit.NO_CONSENSUS
    return Exit.DEGRADED if {DEGRADED, CLOSED_EARLY} & set(state.marks) else Exit.DECIDED


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
