"""A process holds a thread: under a lease, with a journal, within limits, attending to what is asked of it.

What it does meanwhile is another's: a debate is `runner`'s, an answer `inquiry`'s. However that ends, what was paid for
is told, and the lease is given back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import anyio

from orchestrator.budget import Budget
from orchestrator.commits import Commits
from orchestrator.drafting import Drafting
from orchestrator.drafts import Draft
from orchestrator.errors import NotActive, RunPaused, StoreError
from orchestrator.events import Closed, Paused, RunStarted
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Lease
from orchestrator.journal import Journal, Uncertain
from orchestrator.models.base import Usage
from orchestrator.plan import Plan
from orchestrator.replayed import replayed_by
from orchestrator.taking_up import TakeUp, take_up, time_limit
from orchestrator.watch import Watch
from orchestrator.worker import in_thread


@dataclass(frozen=True, slots=True)
class Run:
    """How a run ended.

    `spent` is what all its calls took, those of earlier processes too, `uncertain` the calls whose outcome nobody
    knows; `unused` are drafts that were paid for and became no turn, because somebody else's words came before them.
    """

    debate: Debate
    spent: Usage
    unused: tuple[Draft, ...]
    uncertain: tuple[Uncertain, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """What whoever holds a thread works with: a hall that writes under its lease, drafting that keeps its limits."""

    hall: Hall
    thread_id: str
    drafting: Drafting
    commits: Commits


async def hold_thread(
    hall: Hall,
    plan: Plan,
    thread_id: str,
    drafting: Drafting,
    watch: Watch,
    how: TakeUp,
    work: Callable[[Held], Awaitable[None]],
) -> Run:
    """Holds an open thread while it is worked on, from where its journal stands.

    Args:
        plan: the pinned plan, with what was changed since.
        watch: attends to the store meanwhile.
        work: brings the thread to its close.

    Raises:
        RunHeld: another process runs it.
        RunPaused: the work was paused, the store failed, or somebody asked the run to stop; LeaseLost: another process
            has taken it over.
    """
    try:
        lease = await in_thread(hall.runs.begin, thread_id, how.succeeds)
        try:
            return await _hold(hall.under(lease), plan, lease, drafting, watch, how, work)
        finally:
            with anyio.CancelScope(shield=True), suppress(StoreError):
                await in_thread(hall.runs.release, lease)
    except StoreError as error:  # the debate stands, and can be gone on with
        raise RunPaused(error.message, error.cure) from error


async def _hold(
    hall: Hall,
    plan: Plan,
    lease: Lease,
    drafting: Drafting,
    watch: Watch,
    how: TakeUp,
    work: Callable[[Held], Awaitable[None]],
) -> Run:
    thread_id, paid = lease.thread_id, drafting.paid
    journal = await Journal.opened(hall, lease)
    paid.attempts.append(journal.spent)
    paid.uncertain = journal.uncertain
    drafting = replace(
        drafting,
        journal=journal,
        budget=Budget(plan.limits, journal.spent_at_most),
        time=await time_limit(hall, plan, thread_id),
        replayed=drafting.replayed or await in_thread(replayed_by, hall, thread_id),
    )
    held = Held(hall, thread_id, drafting, Commits(hall, plan, thread_id, drafting.emit, paid))
    drafting.emit(_started(plan))

    async def run() -> None:
        await take_up(held.commits, journal, how)
        await work(held)

    try:
        with suppress(NotActive):  # it is closed, by this run or by somebody else: that is how it ended
            await watch.during(lease, run)
        await in_thread(hall.runs.attend, lease)  # unless it was closed by a process that has taken it over
        debate = await in_thread(hall.debate, thread_id)
        drafting.emit(Closed(status=debate.state.status, head=debate.head))
        return Run(debate, paid.spent, tuple(paid.unused), journal.uncertain)
    except (RunPaused, StoreError) as error:
        drafting.emit(Paused(code=error.code, message=error.message))
        raise error if isinstance(error, RunPaused) else RunPaused(error.message, error.cure) from error
    except anyio.get_cancelled_exc_class():
        drafting.emit(Paused(code="interrupted", message="Interrupted."))
        raise
    finally:
        paid.uncertain = journal.uncertain
        await watch.finish()


def _started(plan: Plan) -> RunStarted:
    return RunStarted(
        recipe=plan.recipe.name,
        rounds=len(plan.rounds),
        turns=plan.turns,
        plan_hash=plan.hash,
        rehearsal=plan.is_rehearsal,
    )
