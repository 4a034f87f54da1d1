"""The barrier protocol: a plan becomes a closed debate.

What holds at every moment:
- Wind and Wall of a round draft from one snapshot, in parallel; nothing is a turn until the hall has taken it.
- Turns are committed one by one in seat order, each behind the head that the last commit returned.
- A Wall's turn has tested what Wind said in its round; Door reads a snapshot that holds both.
- What is left to do is read off the ledger, never remembered: a turn of somebody else takes the place of the next one
  planned for its role in its round, or the debate is extended by one.
- When another writer moves the head with words, or takes words away, what rested on the old ones is drafted again.
- A seat that fails for good pauses the run, or its round goes on without it where the plan says so and its role has
  another voice; Door is never missing.
- Every call stands in the journal before it is made, and every commit and every word of the journal is written under
  the run's lease: what another process has taken over, this one writes no more to.
- When the next calls do not fit a limit, Door closes with what is there, or the run stops; no limit is passed.

The runner knows the hall by its public operations only, and calls them in worker threads: a commit that waits for
another process stops no other debate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from orchestrator import refusal
from orchestrator.agenda import (
    answering_round,
    closing_round,
    closing_word_is_said,
    is_held,
    last_word_round,
    left_of,
    next_round,
    nothing_is_open,
    owes_last_word,
    rounds_of,
)
from orchestrator.answering_alone import AnsweringAlone
from orchestrator.asking import Asking
from orchestrator.assigning import Assigning
from orchestrator.attendance import NOBODY, People
from orchestrator.commits import Commits, has_other_voice
from orchestrator.decision.people import answers_in, unanswered
from orchestrator.drafting import Drafting
from orchestrator.drafts import Draft, Failure
from orchestrator.errors import LimitMet, StaleHead, StoppedByLimit
from orchestrator.events import LimitReached, RoundStarted, Settled, SynthesisRefined
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Link
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import About, Role
from orchestrator.holding import Held, hold_thread
from orchestrator.holding import Run as Run
from orchestrator.models.base import Step
from orchestrator.plan import Plan, PlannedRound, PlannedSeat
from orchestrator.settling import Settling
from orchestrator.taking_up import FIRST, TakeUp
from orchestrator.usage import total
from orchestrator.watch import Watch
from orchestrator.worker import in_thread

NO_CHECKLISTS: Mapping[str, Draft] = MappingProxyType({})


async def run_debate(
    hall: Hall, plan: Plan, thread_id: str, topic: str, drafting: Drafting, watch: Watch | None = None
) -> Run:
    """Opens a debate, holds it as planned and closes it.

    Args:
        watch: keeps what the run tells, where it reads its events; what is asked of the run it hears in any case.

    Raises:
        InvalidInput, ThreadExists: nothing was opened.
        RunPaused: a seat failed for good, the store did, another writer never rested, or somebody asked the run to
            stop; committed turns stand.
    """
    await in_thread(open_debate, hall, plan, thread_id, topic)
    return await hold_debate(hall, plan, thread_id, drafting, watch)


def open_debate(hall: Hall, plan: Plan, thread_id: str, topic: str, link: Link | None = None) -> None:
    """Opens a debate with the plan's turns and rounds as its limits, and pins the plan.

    Args:
        link: the thread whose decision it starts from.

    Raises:
        InvalidInput, ThreadExists: nothing was opened.
    """
    pinned, recipe, rounds = plan.encode(), plan.recipe.name, len(plan.rounds)
    hall.open_run(thread_id, topic, pinned, plan.mode, plan.turns, rounds, plan.marks, link=link, recipe=recipe)


async def hold_debate(
    hall: Hall,
    plan: Plan,
    thread_id: str,
    drafting: Drafting,
    watch: Watch | None = None,
    how: TakeUp = FIRST,
    people: People = NOBODY,
) -> Run:
    """Holds an open debate, from where its ledger and its journal stand, and closes it.

    Args:
        plan: the pinned plan, with what was changed since.
        people: who may speak at the seams of the run.

    Raises:
        RunHeld: another process runs it.
        RunPaused: as `run_debate` says; StoppedByLimit: what comes next does not fit a limit; LeaseLost: another
            process has taken it over.
    """

    async def work(held: Held) -> None:
        await in_thread(refusal.patterns)
        assigning = Assigning(plan, held.drafting.budget)
        settling = Settling(plan, held.drafting, held.commits, Asking(plan))
        alone = AnsweringAlone(plan, held.drafting, held.commits)
        runner = _Runner(
            held.hall, plan, plan, thread_id, held.drafting, held.commits, assigning, settling, people, alone
        )
        await alone.beside(runner.to_the_end)

    return await hold_thread(hall, plan, thread_id, drafting, watch or Watch(hall), how, work)


@dataclass(slots=True)
class _Runner:
    """One run at work: `pinned` is its plan, `plan` the same with the rounds that it goes by now."""

    hall: Hall
    pinned: Plan
    plan: Plan
    thread_id: str
    drafting: Drafting
    commits: Commits
    assigning: Assigning
    settling: Settling
    people: People
    alone: AnsweringAlone

    async def to_the_end(self) -> None:
        """Every round, then the close.

        Raises:
            NotActive: somebody else closed it.
        """
        try:
            debate = await self.commits.look()
            closed_early = debate.notes(About.CLOSED_EARLY)
            if closing_word_is_said(debate) and not closed_early:
                await self._note_early_close("An earlier process met it.")
            elif not closed_early:
                await self._rounds()
            await self._close()
        except LimitMet as met:
            await self._at_limit(met)

    async def _rounds(self) -> None:
        """Every round that is left: the planned ones, those that others opened, those that people asked for."""
        debate = await self.commits.look()
        while planned := self._next_round(debate):
            if await self._found_needless(planned, debate):
                debate = await self.commits.look()
                continue
            debate = await self._hold(planned, debate)

    async def _hold(self, planned: PlannedRound, debate: Debate) -> Debate:
        """Holds what is left of a round, and hears what the people at the table say to it; as `_round`."""
        if planned in self.plan.rounds:
            self.commits.conflicts = 0
        else:
            self.commits.count_conflict()  # somebody else opened it
        debate = await self._round(planned, debate)
        return await self.commits.look() if await self.people.after_round(planned.number) else debate

    def _next_round(self, debate: Debate) -> PlannedRound | None:
        self._follow(rounds_of(self.pinned, debate).all)
        return next_round(self.plan, debate)

    def _follow(self, rounds: tuple[PlannedRound, ...]) -> None:
        """Goes by these rounds from now on."""
        if rounds != self.plan.rounds:
            self.plan = self.pinned.model_copy(update={"rounds": rounds})
            self.assigning = replace(self.assigning, plan=self.plan)
            self.settling = replace(self.settling, plan=self.plan, asking=Asking(self.plan))
            self.commits.plan = self.plan

    async def _found_needless(self, planned: PlannedRound, debate: Debate) -> bool:
        """Notes that nothing is open before a planned round, where the recipe lets that end the debate."""
        number = debate.state.round
        to_come = [later for later in rounds_of(self.pinned, debate).planned if later.number > number]
        if not (self.plan.recipe.early_close and number and planned in to_come):
            return False
        if not nothing_is_open(self.plan, debate, number):
            return False
        unneeded = sum(len(later.seats) for later in to_come)
        words = f"Nothing is open after round {number}: {unneeded} planned turns are not needed."
        await self.commits.note(About.SETTLED, words)
        self.drafting.emit(Settled(round=number, turns=unneeded))
        return True

    async def _at_limit(self, met: LimitMet) -> None:
        """Lets Door close with what is there, where the recipe says so and it can be afforded.

        Raises:
            StoppedByLimit
        """
        debate = await self.commits.look()
        self._follow(rounds_of(self.pinned, debate).all)
        planned = closing_round(self.plan, debate)
        closes = self.plan.recipe.on_limit == "close" and planned is not None and not met.passes
        self.drafting.emit(LimitReached(limit=met.limit, message=met.message, closes=closes))
        try:
            if not closes or planned is None:
                raise met
            if not is_held(self.plan, debate):
                await self._hear_last(planned, debate)
            await self._note_early_close(met.message)
            await self._close()
        except LimitMet as still:
            if still is not met:
                self.drafting.emit(LimitReached(limit=still.limit, message=still.message, closes=False))
            raise StoppedByLimit(still) from still

    async def _hear_last(self, planned: PlannedRound, debate: Debate) -> None:
        """The fewest seats with which Door can end the debate."""
        debate = await self._hear(planned, Role.WALL, debate)
        if debate.state.round_is_open:
            await self._hear(planned, Role.DOOR, debate)
        else:
            await self._refine(planned)

    async def _note_early_close(self, why: str) -> None:
        await self.commits.note(About.CLOSED_EARLY, f"Door closed before the plan's end, at a limit. {why}")

    async def _round(self, planned: PlannedRound, debate: Debate) -> Debate:
        """Holds what is left of a round.

        Args:
            debate: as it was last seen.

        Returns:
            the debate as it is seen then.
        """
        self.drafting.emit(RoundStarted(round=planned.number, rounds=max(planned.number, len(self.plan.rounds))))
        winds, walls = (left_of(planned, role, debate) for role in (Role.WIND, Role.WALL))
        framework = self.plan.has_checklists(planned)
        steps: list[tuple[PlannedSeat, Step]] = [(seat, "turn") for seat in winds]
        steps += [(seat, "checklist") for seat in walls if framework]
        drafts = await self._draft(planned, debate, steps)
        await self.commits.all(debate, drafts[: len(winds)])
        checklists = await self._checklists(drafts[len(winds) :])
        debate = await self._hear(planned, Role.WIND, await self.commits.look())
        debate = await self._hear(planned, Role.WALL, debate, checklists)
        return await self._hear(planned, Role.DOOR, debate)

    async def _checklists(self, drafts: Sequence[Draft | Failure]) -> dict[str, Draft]:
        """The checklists by slot; a Wall that has none will not be heard in this round."""
        for failed in drafts:
            moved = None
            while isinstance(failed, Failure) and moved is None:  # it rests on nothing that others could change
                debate = await self.commits.look()
                spoken = has_other_voice(failed, drafts, debate)
                moved = await self.commits.go_on_without(failed, spoken, debate, debate.head)
        return {draft.seat.slot: draft for draft in drafts if isinstance(draft, Draft)}

    async def _hear(
        self, planned: PlannedRound, role: Role, debate: Debate, checklists: Mapping[str, Draft] = NO_CHECKLISTS
    ) -> Debate:
        """Drafts and commits until no seat of a role is left in this round; `debate` is as in `_round`."""
        while True:
            if await self.people.before(role):
                debate = await self.commits.look()
            seats = left_of(planned, role, debate)
            if not seats:
                return debate
            steps = [(seat, _step(seat, checklists)) for seat in self._batch(planned, seats)]
            await self.commits.all(debate, await self._draft(planned, debate, steps, checklists))
            debate = await self.commits.look()

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
        steps = list(steps)
        drafts = await self.drafting.all(
            [self.assigning.assignment(planned, debate, seat, step, checklists.get(seat.slot)) for seat, step in steps],
            self.assigning.kept(planned, debate, steps),
        )
        return tuple(_with_checklist(draft, checklists) for draft in drafts)

    async def _refine(self, planned: PlannedRound) -> None:
        """Door, who has spoken in this round, says its last word again, now as the debate's decision."""
        while True:
            debate = await self.commits.look()
            (draft,) = await self._draft(planned, debate, [(planned.doors[0], "turn")])
            if isinstance(draft, Failure):
                await self.commits.go_on_without(draft, False, debate, debate.head)
            elif await self.commits.refine(debate, draft) is not None:
                answers = tuple(word.name for word in unanswered(debate) if word.name in answers_in(draft.text))
                told = {"slot": draft.seat.slot, "agent": draft.seat.agent}
                self.drafting.emit(SynthesisRefined(**told, answers=answers))
                return

    async def _close(self) -> None:
        """Settles the synthesis and closes, when nobody has anything left to say."""
        while True:
            debate = await self.commits.look()
            if await self._has_more_to_hear(debate):
                continue
            ending = await self.settling.ending(debate)
            if ending is None or await self.alone.place(debate, ending.synthesis):
                continue
            try:
                await in_thread(
                    self.hall.close_run,
                    self.thread_id,
                    ending.synthesis,
                    ending.status,
                    expected_head=debate.head,
                    record=ending.record,
                )
            except StaleHead:
                self.commits.count_conflict()
                continue
            return

    async def _has_more_to_hear(self, debate: Debate) -> bool:
        """Hears what others brought since the rounds were over; False when that is nothing.

        After a close at a limit only a round that somebody opened is answered: nothing is left to pay more with.
        """
        if debate.notes(About.CLOSED_EARLY):
            planned = answering_round(self.plan, debate) if debate.state.round_is_open else None
        else:
            planned = self._next_round(debate)
        if planned is not None:
            await self._hold(planned, debate)
        elif owes_last_word(debate) and not debate.notes(About.CLOSED_EARLY):
            self.commits.conflicts = 0  # people who have something to say write in no loop
            await self._refine(last_word_round(self.plan, debate))
        else:
            return False
        return True


def _with_checklist(draft: Draft | Failure, checklists: Mapping[str, Draft]) -> Draft | Failure:
    """A Wall's turn took its checklist too."""
    checklist = checklists.get(draft.seat.slot)
    if isinstance(draft, Failure) or checklist is None:
        return draft
    return replace(
        draft,
        usage=total((checklist.usage, draft.usage)),
        tried=(*checklist.tried, *draft.tried),
        summarised=draft.summarised or checklist.summarised,
        reused=draft.reused + checklist.reused,
    )


def _step(seat: PlannedSeat, checklists: Mapping[str, Draft]) -> Step:
    return "apply" if seat.slot in checklists else "turn"
