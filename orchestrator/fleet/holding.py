"""A debate that a worker takes from the queue: held from where its ledger stands, and what comes after a stop."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import partial
from pathlib import Path

from orchestrator.background import hold, keep, write
from orchestrator.drafts import Paid
from orchestrator.errors import (
    DebateError,
    LeaseLost,
    ModelError,
    RunHeld,
    RunPaused,
    StopAsked,
    StoppedByLimit,
    StoreError,
)
from orchestrator.faults import fault_of
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Status
from orchestrator.lanes import Turns
from orchestrator.models.switchboard import load_for
from orchestrator.own_task import in_own_task
from orchestrator.resuming import resumable
from orchestrator.taking_up import TakeUp
from orchestrator.wanted import bring_keys
from orchestrator.worker import in_thread

HELD_S = 5.0  # after which a debate that another process holds is looked at again
AWAY_S = 10.0  # the same while the store cannot be used
FIRST_S, LONGEST_S = 30.0, 3600.0  # the wait after a provider's first failure doubles up to an hour
MOST_TRIES = 12  # of a debate whose provider fails; about six hours in all


class Later(Exception):
    """The debate is to be tried again after `seconds`.

    Args:
        counts: whether this was one of the tries of which there are only so many.
    """

    def __init__(self, why: str, seconds: float, *, counts: bool = False) -> None:
        super().__init__(why)
        self.seconds, self.counts = seconds, counts


class GivenUp(Exception):
    """The debate is not tried again until somebody asks for that."""


@dataclass(frozen=True, slots=True)
class Holding:
    """How a worker holds debates.

    Args:
        hall: where they are.
        turns: for a thread, what says when its calls may be made.
        out: the folder that holds a folder of files for each debate; None: nothing is written.
        now: says what time it is at the queue, in UTC: whoever takes jobs goes by that.
    """

    hall: Hall
    turns: Callable[[str], Turns]
    out: Path | None
    now: Callable[[], datetime]

    async def hold(self, thread_id: str, tries: int) -> str:
        """Holds a debate, and returns how it ended, in words.

        Args:
            tries: how often a provider failed before.

        Raises:
            Later: it stopped, and is to be tried again.
            GivenUp: it cannot be held, or stopped and needs somebody.
        """
        try:
            return await self._held(thread_id)
        except (StopAsked, LeaseLost) as error:
            return str(error)
        except DebateError as error:
            raise after(error, tries, self.now()) from error

    async def _held(self, thread_id: str) -> str:
        found = await in_thread(resumable, self.hall, thread_id)
        status, paid = found.debate.state.status, Paid()
        if status is not Status.ACTIVE:
            return f"{status} already"
        await in_thread(bring_keys, os.environ, found.plan.endpoints_in_use)
        await in_thread(load_for, found.plan.routes)
        folder = self.out / thread_id if self.out is not None else None
        how = TakeUp(folder=str(folder) if folder else None)
        holding = partial(hold, self.hall, found.plan, thread_id, paid, how=how, turns=self.turns(thread_id))
        try:
            ended = await in_own_task(holding)
        finally:
            if folder is not None and paid.unused:
                keep(folder, paid)
        if folder is not None:
            await in_thread(write, folder, found.plan, ended)
        return str(ended.debate.state.status)


def after(error: DebateError, tries: int, now: datetime) -> Later | GivenUp:
    """What becomes of a debate that could not be held to its end."""
    cause = error.__cause__
    match error:
        case RunHeld():
            return Later(str(error), HELD_S)
        case StoppedByLimit(limit="fleet_budget"):
            return Later(str(error), _until_tomorrow(now))
        case RunPaused() if isinstance(cause, StoreError):
            return Later(str(error), AWAY_S)
        case StoreError():
            return Later(str(error), AWAY_S)
        case RunPaused() if isinstance(cause, ModelError) and fault_of(cause).attempts > 1 and tries < MOST_TRIES:
            return Later(str(error), max(min(FIRST_S * 2**tries, LONGEST_S), cause.retry_after or 0), counts=True)
        case _:
            return GivenUp(str(error))


def _until_tomorrow(now: datetime) -> float:
    tomorrow = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)
    return (tomorrow - now).total_seconds()
