"""The assumptions of a decision, and whether they hold."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import NamedTuple

from orchestrator.decision.account import Assumption
from orchestrator.hall.hall import Hall
from orchestrator.review.checking import Finding
from orchestrator.review.checks import Check


class Assumed(NamedTuple):
    """One assumption of a thread's decision record.

    Args:
        number: from 1, in the record's order.
        check: how a machine can check it; None where only a person can.
        finding: what its last check came to; None where there was none.
        at: when that was.
    """

    number: int
    assumption: Assumption
    check: Check | None
    finding: Finding | None = None
    at: str | None = None


def assumptions_of(hall: Hall, thread_id: str) -> tuple[Assumed, ...]:
    """Returns the assumptions of a thread's decision, each with what its last check came to.

    Raises:
        UnknownThread, LedgerBroken
    """
    raise NotImplementedError


async def check_assumptions(
    hall: Hall, thread_id: str, folder: Path, *, today: date, commands: bool
) -> tuple[Assumed, ...]:
    """Checks every assumption that a machine can check, and keeps what that came to.

    Args:
        folder: what the checks are about; their paths start here.
        today: for checks that hold until a day.
        commands: whether checks may run commands.

    Raises:
        UnknownThread, LedgerBroken
    """
    raise NotImplementedError
