"""The barrier protocol: a plan becomes a closed debate.

What holds at every moment:
- Wind and Wall of a round draft from one snapshot, in parallel; nothing is a turn until the hall has taken it.
- Turns are committed one by one in seat order, each behind the head that the last commit returned.
- A Wall's turn has tested what Wind said in its round; Door reads a snapshot that holds both.
- What is left to do is read off the ledger, never remembered: a turn of somebody else takes the place of the next one
  planned for its role in its round, or the debate is extended by one.
- When another writer moves the head with words, or takes words away, what rested on the old ones is drafted again.
- A seat that fails for good pauses the run; the turns before it stand.

The runner knows the hall by its public operations only, and calls them in worker threads: a commit that waits for
another process stops no other debate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import anyio

from orchestrator.agenda import answering_round, last_word, left_of, words_of_wind
from orchestrator.commits import Commits, in_thread, pause
from orchestrator.drafting import Assignment, Draft, Drafting, Failure
from orchestrator.errors import NotActive, RunPaused, StaleHead, StoreError
from orchestrator.events import Closed, Paused, RoundStarted, RunStarted
from orchestrator.hall.cognition import read_wall
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role, Status
from orchestrator.hall.verdict import Verdict
from orchestrator.models.base import Request, Step, Usage
from orchestrator.plan import Plan, PlannedRound, PlannedSeat
from orchestrator.prompt import QUOTED_WORDS, make_request
from orchestrator.quotes import quotes_run
from orchestrator.usage import total
from orchestrator.watch import Watch

NO_CHECKLISTS: Mapping[str, Draft] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Run:
    """How a run ended.

    `spent` is what all its calls took; `unused` are drafts that were paid for and became no turn, because somebody
    else's words came before them.
    """

    debate: Debate
    spent: Usage
    unused: tuple[Draft, ...]
    warnings: tuple[str, ...]


async def run_debate(
    hall: Hall, plan: Plan, thread_id: str, topic: str, drafting: Drafting, watch: Watch | None = None
) -> Run:
    """Opens a debate, holds it as planned and closes it.

    Args:
        watch: keeps what the run tells and hears what is asked of it; without one nobody can see or stop it.

    Raises:
        InvalidInput, ThreadExists: nothing was opened.
        RunPaused: a seat failed for good, the store did, another writer never rested, or somebody asked the run to
            stop; committed turns stand.
    """
    await in_thread(open_debate, hall, plan, thread_id, topic)
    return await hold_debate(hall, plan, thread_id, drafting, watch)


def open_debate(hall: Hall, plan: Plan, thread_id: str, topic: str) -> None:
    """Opens a debate with the plan's turns and rounds as its limits, and pins the plan.

    Raises:
        InvalidInput, ThreadExists: nothing was opened.
    """
    hall.open_run(thread_id, topic, plan.encode(), plan.mode, plan.turns, len(plan.rounds), plan.marks)


async def hold_debate(hall: Hall, plan: Plan, thread_id: str, drafting: Drafting, watch: Watch | None = None) -> Run:
    """Holds an open debate, from where its ledger stands, and closes it.

    Raises:
        RunPaused: as `run_debate` says.
    """
    runner = _Runner(hall, plan, thread_id, drafting, Commits(hall, plan, thread_id, drafting.emit, drafting.paid))
    drafting.emit(
        RunStarted(
            recipe=plan.recipe.name,
            rounds=len(plan.rounds),
            turns=plan.turns,
            plan_hash=plan.hash,
            rehearsal=plan.is_rehearsal,
        )
    )
    try:
        with suppress(NotActive):  # it is closed, by this run or by somebody else: that is how it ended
            await (watch.during(runner.to_the_end) if watch else runner.to_the_end())
        return await runner.ended()
    except (RunPaused, StoreError) as error:
        drafting.emit(Paused(code=error.code, message=error.message))
        raise RunPaused(error.message, error.cure) from error
    except anyio.get_cancelled_exc_class():
        drafting.emit(Paused(code="interrupted", message="Interrupted."))
        raise
    finally:
        if watch:
            await watch.finish()


@dataclass(slots=True)
class _Runner:
    hall: Hall
    plan: Plan
    thread_id: str
    drafting: Drafting
    commits: Commits

    async def to_the_end(self) -> None:
        """Every planned round, then those that somebody else opened, then the close.

        Raises:
            NotActive: somebody else closed it.
        """
        for planned in self.plan.rounds:
            self.commits.conflicts = 0
            await self._round(planned)
        await self._close()

    async def ended(self) -> Run:
        debate = await in_thread(self.hall.debate, self.thread_id)
        self.drafting.emit(Closed(status=debate.state.status, head=debate.head))
        return Run(debate, self.drafting.paid.spent, tuple(self.drafting.paid.unused), tuple(self.commits.warnings))

    async def _round(self, planned: PlannedRound) -> None:
        self.drafting.emit(RoundStarted(round=planned.number, rounds=max(planned.number, len(self.plan.rounds))))
        debate = await self.commits.look()
        winds, walls = (left_of(planned, role, debate) for role in (Role.WIND, Role.WALL))
        framework = self.plan.has_checklists(planned)
        steps: list[tuple[PlannedSeat, Step]] = [(seat, "turn") for seat in winds]
        steps += [(seat, "checklist") for seat in walls if framework]
        drafts = await self._draft(planned, debate, steps)
        await self.commits.all(debate, drafts[: len(winds)])
        await self._hear(planned, Role.WIND)
        await self._hear(planned, Role.WALL, _by_slot(drafts[len(winds) :]))
        await self._hear(planned, Role.DOOR)

    async def _hear(self, planned: PlannedRound, role: Role, checklists: Mapping[str, Draft] = NO_CHECKLISTS) -> None:
        """Drafts and commits until no seat of a role is left in this round."""
        while True:
            debate = await self.commits.look()
            seats = left_of(planned, role, debate)
            if not seats:
                return
            steps = [(seat, _step(seat, checklists)) for seat in self._batch(planned, seats)]
            await self.commits.all(debate, await self._draft(planned, debate, steps, checklists))

    def _batch(self, planned: PlannedRound, seats: Sequence[PlannedSeat]) -> Sequence[PlannedSeat]:
        """The seats that draft at once. Doors: one by one, or all but the debate's last, which sees them all."""
        if seats[0].role is not Role.DOOR:
            return seats
        if self.plan.recipe.doors == "sequential":
            return seats[:1]
        ends = planned.number >= len(self.plan.rounds)
        return seats[:-1] if ends and len(seats) > 1 else seats

    async def _draft(
        self,
        planned: PlannedRound,
        debate: Debate,
        steps: Iterable[tuple[PlannedSeat, Step]],
        checklists: Mapping[str, Draft] = NO_CHECKLISTS,
    ) -> tuple[Draft | Failure, ...]:
        drafts = await self.drafting.all(
            [self._assignment(planned, debate, seat, step, checklists.get(seat.slot)) for seat, step in steps]
        )
        return tuple(_with_checklist(draft, checklists) for draft in drafts)

    def _assignment(
        self, planned: PlannedRound, debate: Debate, seat: PlannedSeat, step: Step, checklist: Draft | None
    ) -> Assignment:
        snapshot, words = debate.snapshot(), checklist.text if checklist else None

        def ask(route: str) -> Request:
            return make_request(self.plan, snapshot, planned, seat, step, route=route, checklist=words)

        if seat.role is not Role.WALL or step == "checklist":
            return Assignment(seat, step, ask)
        reads_verdict = not self.plan.only_asks(planned.number) and not self.plan.is_rehearsal
        lacking = partial(_lacking, words_of_wind(debate, planned.number), reads_verdict)
        return Assignment(seat, step, ask, lacking)

    async def _close(self) -> None:
        """Closes with the last word of Door, after Wind and Wall were heard in a round that somebody else opened."""
        while True:
            debate = await self.commits.look()
            if debate.state.round_is_open:
                self.commits.count_conflict()
                await self._round(answering_round(self.plan, debate))
                continue
            synthesis = last_word(debate)
            try:
                await in_thread(
                    self.hall.close_debate,
                    self.thread_id,
                    synthesis,
                    status=Status.SYNTHESIS,
                    expected_head=debate.head,
                )
            except StaleHead:
                self.commits.count_conflict()
                continue
            return


def _lacking(winds: Sequence[str], reads_verdict: bool, text: str) -> str | None:
    """What a Wall's turn lacks, in words to its seat; None when it lacks nothing that is asked for again."""
    lacks = [*_lacking_quote(winds, text), *(_lacking_grounds(text) if reads_verdict else ())]
    return f"Your turn lacks something. {' '.join(lacks)} Give the whole turn again." if lacks else None


def _lacking_quote(winds: Sequence[str], text: str) -> Iterator[str]:
    quotes = quotes_run(text, winds, QUOTED_WORDS)
    if not quotes and any(quotes_run(wind, [wind], 1) for wind in winds):  # else there is nothing to quote
        yield (
            f"It quotes no run of {QUOTED_WORDS} words from a turn of Wind in this round, so nobody can see what was "
            "tested: put such a quotation, word for word, where you test it."
        )


def _lacking_grounds(text: str) -> Iterator[str]:
    """A block must say what it rests on and what would lift it (docs/wall-content-contract.oct.md)."""
    reading = read_wall(text)
    if reading.verdict is Verdict.BLOCKED:
        yield from reading.missing


def _by_slot(checklists: Sequence[Draft | Failure]) -> dict[str, Draft]:
    for checklist in checklists:
        if isinstance(checklist, Failure):
            raise pause(checklist.seat, checklist.error)
    return {checklist.seat.slot: checklist for checklist in checklists if isinstance(checklist, Draft)}


def _with_checklist(draft: Draft | Failure, checklists: Mapping[str, Draft]) -> Draft | Failure:
    """A Wall's turn took its checklist too."""
    checklist = checklists.get(draft.seat.slot)
    if isinstance(draft, Failure) or checklist is None:
        return draft
    return replace(draft, usage=total((checklist.usage, draft.usage)))


def _step(seat: PlannedSeat, checklists: Mapping[str, Draft]) -> Step:
    return "apply" if seat.slot in checklists else "turn"
