"""What `debate-hall assumptions` does: show what a decision assumed, and check it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from orchestrator.cli.listing import moment
from orchestrator.cli.outcome import politely
from orchestrator.cli.plain import print_failure, tell
from orchestrator.cli.showing import hall, put
from orchestrator.errors import DebateError
from orchestrator.exits import Exit
from orchestrator.own_task import in_own_task
from orchestrator.review.assumptions import Assumed, assumptions_of, check_assumptions

SCHEMA = "run-debate/assumptions/v1"


def show(thread_id: str, as_json: bool) -> None:
    """Shows the assumptions of a thread's decision, each with what its last check came to.

    Raises:
        UnknownThread, LedgerBroken, StoreError
    """
    with hall() as opened:
        found = assumptions_of(opened, thread_id)
    _put(thread_id, found, as_json)


def check(thread_id: str, folder: Path, as_json: bool, *, commands: bool) -> int:
    """Checks them, keeps what that came to, and shows it; returns the exit code."""

    def checked() -> int:
        today = datetime.now(UTC).astimezone().date()
        with hall() as opened:
            checking = partial(check_assumptions, opened, thread_id, folder, today=today, commands=commands)
            found = anyio.run(in_own_task, checking)
        _put(thread_id, found, as_json)
        return Exit.DECIDED

    return politely(checked, partial(_report, as_json))  # else a command that was stopped would live on


def _report(as_json: bool, error: DebateError, code: Exit) -> int:
    tell(f"error: {error}")
    if as_json:
        print_failure(error)
    return code


def _put(thread_id: str, found: Sequence[Assumed], as_json: bool) -> None:
    told = {"schema": SCHEMA, "thread_id": thread_id, "assumptions": [_members(assumed) for assumed in found]}
    text = "\n\n".join("\n".join(_lines(assumed)) for assumed in found) or "No assumption stands in its record."
    put(told, as_json, f"{text}\n")


def _members(assumed: Assumed) -> dict[str, Any]:
    return {
        "number": assumed.number,
        "what": assumed.assumption.what,
        "check": assumed.assumption.check,
        "for_a_machine": assumed.check is not None,
        "state": assumed.finding.state if assumed.finding else None,
        "why": assumed.finding.why if assumed.finding else None,
        "at": assumed.at,
    }


def _lines(assumed: Assumed) -> Iterator[str]:
    yield f"{assumed.number}  {' '.join(assumed.assumption.what.split())}"
    if assumed.check is None:
        yield f"   for a person: {' '.join((assumed.assumption.check or 'no check is given').split())}"
        return
    yield "   " + str(assumed.check).replace("\n", "\n     ")
    if assumed.finding is None:
        yield "   not checked yet: --check"
    else:
        when = f", {moment(assumed.at, local=False)} UTC" if assumed.at else ""
        yield f"   {assumed.finding.state.upper()}: {assumed.finding.why}{when}"
