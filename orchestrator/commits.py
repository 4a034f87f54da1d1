"""Drafts become turns: one by one, in seat order, each behind the head that the last commit returned.

Base is not expected head: the drafts of a batch rest on one snapshot, and compare-and-swap runs against the head the
previous commit returned. So a conflict means that another writer spoke.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from orchestrator.agenda import changes
from orchestrator.decision.people import words_of_people
from orchestrator.decision.seating import NO_ANSWER
from orchestrator.drafts import Draft, Emit, Failure, Paid
from orchestrator.errors import DebateError, InvalidInput, LimitMet, LimitReached, NotActive, RunPaused, StaleHead
from orchestrator.events import EndAskedFor, HeadMoved, PersonSpoke, RoundAskedFor, SeatMissing, TurnCommitted
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Extended, Note, SeatRecord
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import About, Mode, Role, Status
from orchestrator.plan import Plan, PlannedSeat
from orchestrator.usage import amount
from orchestrator.worker import in_thread

MOST_CONFLICTS = 20  # a round: who meets more is not debating but writing in a loop
AUTHOR = "run-debate"  # of what a run notes and extends

R = TypeVar("R")


@dataclass(slots=True)
class Commits:
    """What one run writes to its thread; `paid` forgets the drafts that become turns."""

    hall: Hall
    plan: Plan
    thread_id: str
    emit: Emit
    paid: Paid
    conflicts: int = 0
    heard: int | None = None  # the newest entry that was looked at for what people did
    known: Debate | None = None  # as the last look found it

    async def look(self) -> Debate:
        """Returns the debate as it stands.

        Raises:
            NotActive: somebody else closed it; nobody has to write any more.
        """
        self.known = debate = await in_thread(self.hall.debate, self.thread_id, self.known)
        if debate.state.status is not Status.ACTIVE:
            raise NotActive(f"{self.thread_id} is {debate.state.status}.")
        self._tell_people(debate)
        return debate

    def _tell_people(self, debate: Debate) -> None:
        """Tells what people said and asked for since the last look; what stood before the first one is no news."""
        before, self.heard = self.heard, debate.state.seq
        new = debate.lines[before + 1 :] if before is not None else ()
        done = [line for line in new if getattr(line.entry.body, "human", None)]
        if not done:  # the usual case, at each look: the whole debate is not read for it
            return
        for word in words_of_people(debate):
            if word.seq >= done[0].entry.seq:
                self.emit(PersonSpoke(name=word.name, role=word.role, by=word.by))
        for line in done:
            match line.entry.body:
                case Extended() as asked:
                    self.emit(RoundAskedFor(by=asked.by, rounds=asked.max_rounds))
                case Note(about=About.SETTLED) as ended:
                    self.emit(EndAskedFor(by=ended.by))

    async def all(self, base: Debate, drafts: Sequence[Draft | Failure]) -> None:
        """Commits in seat order. Stops when other words moved the head.

        Where Door closes at a limit, those that are drafted are committed before the limit is told: they are there.

        Raises:
            RunPaused, LimitMet: a seat failed, and the round cannot go on without it.
        """
        head, met, closes = base.head, None, self.plan.recipe.on_limit == "close"
        for place, draft in enumerate(drafts):
            done = sum(isinstance(earlier, Draft) for earlier in drafts[:place])
            if closes and isinstance(draft, Failure) and isinstance(draft.error, LimitMet):
                met = draft.error
                continue
            if isinstance(draft, Failure):
                moved = await self.go_on_without(draft, has_other_voice(draft, drafts, base), base, head, done)
            else:
                moved = await self._one(base, done, head, draft)
            if moved is None:
                return
            head = moved
        if met is not None:
            raise met

    async def go_on_without(
        self, failed: Failure, replaceable: bool, base: Debate, head: str, done: int = 0
    ) -> str | None:
        """Notes that a seat is missing, where the plan lets a round go on without it and its role has another voice.

        Args:
            replaceable: whether its role has another voice.
            done: how many turns of this batch stand on `base` already.

        Returns:
            The new head, or None when somebody else changed the words that the drafts rest on.

        Raises:
            RunPaused, LimitMet: the round cannot go on.
        """
        seat, error = failed.seat, failed.error
        if isinstance(error, LimitMet):
            raise error
        if self.plan.on_failure == "pause" or not replaceable:
            raise pause(seat, error)
        words = f"{seat.role} {seat.agent} ({seat.slot}) is missing: {error.message}"
        moved = await self.behind(
            base, done, head, lambda head: self.note(About.MISSING, words, seat.slot, head, failed)
        )
        if moved is not None:
            told = {"slot": seat.slot, "role": seat.role, "agent": seat.agent}
            self.emit(SeatMissing(**told, code=error.code, message=error.message))
        return moved

    async def refine(self, base: Debate, draft: Draft, answers: Sequence[int] = ()) -> str | None:
        """Commits a new synthesis; returns the new head, or None when somebody else changed what it rests on.

        Args:
            answers: the votes that it answers, by their entries.
        """

        async def commit(head: str) -> str:
            refined = await in_thread(
                self.hall.refine, self.thread_id, draft.text, answers, seat=seat_record(draft), expected_head=head
            )
            self.paid.committed(draft)
            return refined["head"]

        return await self.behind(base, 0, base.head, commit)

    async def note(
        self,
        about: About,
        words: str,
        slot: str | None = None,
        head: str | None = None,
        draft: Draft | Failure | None = None,
    ) -> str:
        """Notes what the run had to do, for the record; returns the new head.

        Args:
            draft: where the words are a seat's, or say why it has none.
        """
        seat = failure_record(draft) if isinstance(draft, Failure) else seat_record(draft) if draft else None
        noted = await in_thread(
            self.hall.note, self.thread_id, words, about.value, AUTHOR, slot=slot, expected_head=head, seat=seat
        )
        if isinstance(draft, Draft):
            self.paid.committed(draft)
        return noted["head"]

    async def _one(self, base: Debate, done: int, head: str, draft: Draft) -> str | None:
        """Returns the new head, or None when somebody else changed the words that the draft rests on."""

        async def commit(head: str) -> str:
            try:
                return await self._turn(head, draft)
            except LimitReached:
                return await self._turn(await self._extend(head, draft), draft)
            except InvalidInput as error:
                raise pause(draft.seat, error) from error

        return await self.behind(base, done, head, commit)

    async def behind(self, base: Debate, done: int, head: str, write: Callable[[str], Awaitable[str]]) -> str | None:
        """Writes behind a head that others may move: again behind the new one, as long as the words are the same."""
        while True:
            try:
                return await write(head)
            except StaleHead:
                debate = await self.look()
                self.emit(HeadMoved(head=debate.head, turns=len(debate.turns) - len(base.turns) - done))
                self.count_conflict()
                if changes(debate) != changes(base) + done:
                    return None
                head = debate.head  # a pick, an extension, a note: the draft rests on the same words

    def count_conflict(self) -> None:
        self.conflicts += 1
        if self.conflicts > MOST_CONFLICTS:
            raise RunPaused(
                f"Another writer moved the head of {self.thread_id} {self.conflicts} times and does not rest.",
                "See who writes there, then begin again.",
            )

    async def _extend(self, head: str, draft: Draft) -> str:
        """Makes room for one turn more, where somebody else's turns took the room that the plan needs."""
        state = (await self.look()).state
        rounds = max(state.max_rounds, state.round_of(draft.seat.role))
        reason = f"Turns of other writers took the room of {draft.seat.slot}."
        extended = await in_thread(
            self.hall.extend,
            self.thread_id,
            max(state.max_turns, state.turn_count + 1),
            rounds,
            AUTHOR,
            reason,
            head,
        )
        return extended["head"]

    async def _turn(self, head: str, draft: Draft) -> str:
        seat = draft.seat
        turn = await in_thread(
            self.hall.add_turn,
            self.thread_id,
            seat.role,
            draft.text,
            agent_role=seat.agent,
            model=draft.answered,
            token_input=draft.usage.input,
            token_output=draft.usage.output,
            token_total=draft.usage.input + draft.usage.output,
            expected_head=head,
            seat=seat_record(draft),
            takes_floor=self.plan.mode is Mode.MEDIATED,
        )
        self.paid.committed(draft)
        self.emit(
            TurnCommitted(
                slot=seat.slot,
                turn_index=turn["turn_index"],
                round=turn["round"],
                role=seat.role,
                agent=seat.agent,
                model=draft.answered,
                hash=turn["turn_hash"],
                text=draft.text,
            )
        )
        return turn["head"]


def pause(seat: PlannedSeat, error: DebateError) -> RunPaused:
    """The end of a run in which a seat could not be heard; its cause is why."""
    paused = RunPaused(f"{seat.role} {seat.agent} ({seat.slot}) could not be heard: {error.message}", error.cure)
    paused.__cause__ = error
    return paused


def has_other_voice(failed: Failure, drafts: Sequence[Draft | Failure], base: Debate) -> bool:
    """Whether its role is heard in this round without it; for Door nobody speaks."""
    if failed.seat.role is Role.DOOR:
        return False
    role, slot = failed.seat.role, failed.seat.slot
    drafted = any(isinstance(draft, Draft) and draft.seat.role is role for draft in drafts)
    round_name = slot.partition(".")[0]
    spoken = (line.turn for line in base.turns)
    return drafted or any(turn.role is role and f"R{turn.round}" == round_name for turn in spoken)


def seat_record(draft: Draft) -> SeatRecord:
    """What the ledger keeps of how a draft was made."""
    seat = draft.seat
    return SeatRecord(
        **_took(seat, draft),
        answered=draft.answered,
        route=draft.route if draft.route != seat.routes[0] else None,
        summarised=draft.summarised,
        reused=draft.reused or None,
    )


def failure_record(failed: Failure) -> SeatRecord:
    """What the ledger keeps of calls that were paid for and brought nothing; no model is to be named for them."""
    return SeatRecord(**_took(failed.seat, failed), answered=NO_ANSWER)


def _took(seat: PlannedSeat, made: Draft | Failure) -> dict[str, Any]:
    return {
        "slot": seat.slot,
        "agent": seat.agent,
        "lens": seat.lens,
        "asked": seat.routes[0],
        "input": made.usage.input,
        "cached": made.usage.cached,
        "output": made.usage.output,
        "thinking": made.usage.thinking or None,
        "cost": amount(made.usage.cost_usd),
        "tried": made.tried or None,
    }
