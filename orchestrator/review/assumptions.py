"""The assumptions of a decision, and whether they hold."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

from orchestrator.decision.account import Assumption
from orchestrator.decision.record import record_of
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.review.checking import Finding, State, evaluate
from orchestrator.review.checks import Check, RunsCommand, parse
from orchestrator.worker import in_thread


class Assumed(NamedTuple):
    """One assumption of a thread's decision record.

    Args:
        number: from 1, in the record's order.
        check: how a machine can check it; None where only a person can.
        finding: what its last check came to; None where there was none.
        at: when that was, where it is not now.
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
    last = {row.assumption: row for row in hall.reviews.checks(thread_id)}
    return tuple(
        assumed._replace(finding=Finding(State(row.result), row.why or "why is redacted"), at=row.at)
        if (row := last.get(assumed.number - 1))
        else assumed
        for assumed in _assumed(hall.debate(thread_id))
    )


async def check_assumptions(
    hall: Hall, thread_id: str, folder: Path, *, today: date, commands: bool
) -> tuple[Assumed, ...]:
    """Checks every assumption that a machine can check, one after the other, and keeps what that came to.

    Of a command that may not run nothing is kept: what it came to where it might is worth more.

    Args:
        folder: what the checks are about; their paths start here.
        today: for checks that hold until a day.
        commands: whether checks may run commands.

    Raises:
        UnknownThread, LedgerBroken
    """
    debate = await in_thread(hall.debate, thread_id)
    found = []
    for assumed in _assumed(debate):
        check = assumed.check
        if check is not None:
            finding = await evaluate(check, folder, today=today, commands=commands)
            assumed = assumed._replace(finding=finding)
        found.append(assumed)
    kept = [
        (assumed.number - 1, *assumed.finding)
        for assumed in found
        if assumed.finding and (commands or not isinstance(assumed.check, RunsCommand))
    ]
    await in_thread(hall.reviews.keep_checks, thread_id, debate.head, kept)
    return tuple(found)


def _assumed(debate: Debate) -> Iterator[Assumed]:
    for number, one in enumerate(record_of(debate).assumptions, start=1):
        yield Assumed(number, one, parse(one.check) if one.check else None)
