"""Exit codes: what a process, and whoever it tells, says of how something ended.

`--help` reads them here, so that nothing heavy is loaded with them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Self

from orchestrator.errors import HallError, LedgerBroken, RunPaused, StoppedByLimit, StoreError, UsageError

if TYPE_CHECKING:
    from orchestrator.hall.debate import State


class Exit(IntEnum):
    """What a caller can rely on; `meaning` says it to people."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        member = int.__new__(cls, code)
        member._value_, member.meaning = code, meaning
        return member

    DECIDED = 0, "decided, or done"
    FAILED = 1, "internal error, or what was held cannot be written: files, or the answer itself"
    USAGE = 2, "usage or configuration; nothing was begun"
    PAUSED = 3, "paused, can be resumed"
    NO_CONSENSUS = 4, "closed without consensus, or by force"
    LIMIT = 5, "stopped by a limit, can be resumed"
    DEGRADED = 6, "decided, but degraded or closed early by a limit"
    LEDGER_BROKEN = 7, "a ledger does not verify"
    INTERRUPTED = 130, "interrupted, can be resumed"


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
    from orchestrator.hall.debate import CLOSED_EARLY, DEGRADED
    from orchestrator.hall.terms import Status

    if state.status is not Status.SYNTHESIS:
        return Exit.NO_CONSENSUS
    return Exit.DEGRADED if {DEGRADED, CLOSED_EARLY} & set(state.marks) else Exit.DECIDED
