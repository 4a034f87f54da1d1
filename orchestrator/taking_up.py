"""How a process takes a run up: the first one, and every later one after a pause or a death.

A run that is resumed goes on with its pinned plan. What was changed since, and which calls nobody knows the outcome of,
is noted in the ledger, so that the record tells it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from orchestrator.calls import NO_TIME_LIMIT, TimeLimit
from orchestrator.commits import Commits
from orchestrator.events import Resumed
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Lease
from orchestrator.hall.terms import About
from orchestrator.journal import Journal, Uncertain
from orchestrator.plan import Changes, Plan
from orchestrator.worker import in_thread

NO_CHANGES = Changes()


@dataclass(frozen=True, slots=True)
class TakeUp:
    """How a process takes a run up.

    Args:
        succeeds: the lease of whoever hands the run over to this process.
        folder: where the run's files go, for those that take it up later.
        changes: what is to be otherwise than before; the plan holds them already.
        adr: the folder of records that the decision goes into, for those that take the run up later.
    """

    succeeds: Lease | None = None
    folder: str | None = None
    changes: Changes = NO_CHANGES
    adr: str | None = None


FIRST = TakeUp()


async def take_up(commits: Commits, journal: Journal, how: TakeUp) -> None:
    """Notes that this process runs the debate: in the journal, and of a run that is resumed also in the ledger."""
    if journal.begun:
        uncertain = journal.newly_uncertain
        await _tell_resumed(commits, journal, uncertain)
        await commits.note(About.RESUMED, "The run was resumed with the plan that was pinned at its start.")
        for call in uncertain:
            words = f"Nobody knows what became of this call; where its answer is needed it is made again: {call}."
            await commits.note(About.UNCERTAIN, words, call.slot)
        if how.changes:
            await commits.note(About.CHANGED, f"From here on {how.changes}.")
    await journal.begin(how.folder, how.changes.model_dump_json() if how.changes else None, how.adr)


async def _tell_resumed(commits: Commits, journal: Journal, uncertain: Sequence[Uncertain]) -> None:
    debate, spent = await commits.look(), journal.spent
    commits.emit(
        Resumed(
            turns=debate.state.turn_count,
            input=spent.input,
            cached=spent.cached,
            output=spent.output,
            cost_usd=spent.cost_usd,
            seconds=round(await in_thread(commits.hall.runs.seconds, commits.thread_id), 1),
            uncertain=tuple(map(str, uncertain)),
        )
    )


async def time_limit(hall: Hall, plan: Plan, thread_id: str) -> TimeLimit:
    """When the run must have ended, what earlier processes took of its time counted in."""
    seconds = plan.limits.seconds
    if seconds is None:
        return NO_TIME_LIMIT
    before = await in_thread(hall.runs.seconds, thread_id)
    return TimeLimit(anyio.current_time() + seconds - before, seconds)
