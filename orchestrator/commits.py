"""Drafts become turns: one by one, in seat order, each behind the head that the last commit returned.

Base is not expected head: the drafts of a batch rest on one snapshot, and compare-and-swap runs against the head the
previous commit returned. So a conflict means that another writer spoke.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ParamSpec, TypeVar

import anyio.to_thread

from orchestrator.agenda import changes
from orchestrator.drafting import Draft, Emit, Failure, Paid
from orchestrator.errors import DebateError, InvalidInput, LimitReached, NotActive, RunPaused, StaleHead
from orchestrator.events import HeadMoved, TurnCommitted
from orchestrator.hall.cognition import read_wall
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import SeatRecord
from orchestrator.hall.hall import Hall
from orchestrator.hall.results import TurnResult
from orchestrator.hall.terms import Mode, Role, Status
from orchestrator.plan import Plan, PlannedSeat

MOST_CONFLICTS = 20  # a round: who meets more is not debating but writing in a loop

P = ParamSpec("P")
R = TypeVar("R")


async def in_thread(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Calls the hall in a worker thread, for it waits for the disk and for other writers."""
    return await anyio.to_thread.run_sync(partial(call, *args, **kwargs))


@dataclass(slots=True)
class Commits:
    """What one run writes to its thread.

    `paid` forgets the drafts that become turns; `warnings` is what a reader of the record should know of the turns.
    """

    hall: Hall
    plan: Plan
    thread_id: str
    emit: Emit
    paid: Paid
    warnings: list[str] = field(default_factory=list)
    conflicts: int = 0

    async def look(self) -> Debate:
        """Returns the debate as it stands.

        Raises:
            NotActive: somebody else closed it; nobody has to write any more.
        """
        debate = await in_thread(self.hall.debate, self.thread_id)
        if debate.state.status is not Status.ACTIVE:
            raise NotActive(f"{self.thread_id} is {debate.state.status}.")
        return debate

    async def all(self, base: Debate, drafts: Sequence[Draft | Failure]) -> None:
        """Commits in seat order. Stops at a failed seat (RunPaused), and when other words moved the head."""
        head = base.head
        for place, draft in enumerate(drafts):
            if isinstance(draft, Failure):
                raise pause(draft.seat, draft.error)
            moved = await self._one(base, place, head, draft)
            if moved is None:
                return
            head = moved

    async def _one(self, base: Debate, place: int, head: str, draft: Draft) -> str | None:
        """Returns the new head, or None when somebody else changed the words that the draft rests on.

        Args:
            place: how many turns of this batch stand on `base` already.
        """
        while True:
            try:
                try:
                    return await self._turn(head, draft)
                except LimitReached:
                    head = await self._extend(head, draft)
            except InvalidInput as error:
                raise pause(draft.seat, error) from error
            except StaleHead:
                debate = await self.look()
                self.emit(HeadMoved(head=debate.head, turns=len(debate.turns) - len(base.turns) - place))
                self.count_conflict()
                if changes(debate) != changes(base) + place:
                    return None
                head = debate.head  # a pick, an extension: the draft rests on the same words

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
            "run-debate",
            reason,
            head,
        )
        return extended["head"]

    async def _turn(self, head: str, draft: Draft) -> str:
        seat = draft.seat
        if self.plan.mode is Mode.MEDIATED:
            picked = await in_thread(self.hall.pick_next_speaker, self.thread_id, seat.role, head)
            head = picked["head"]
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
            seat=_seat_record(draft),
        )
        self.paid.committed(draft)
        self.warnings += self._warnings(draft, turn)
        self.emit(
            TurnCommitted(
                slot=seat.slot,
                turn_index=turn["turn_index"],
                round=turn["round"],
                role=seat.role,
                agent=seat.agent,
                model=draft.answered,
                hash=turn["turn_hash"],
            )
        )
        return turn["head"]

    def _warnings(self, draft: Draft, turn: TurnResult) -> list[str]:
        number = f"T{turn['turn_index'] + 1} ({draft.seat.role}, {draft.seat.agent})"
        takes_position = not self.plan.is_rehearsal and not self.plan.only_asks(turn["round"])
        findings = turn["cognition_warnings"] if takes_position else []
        contract = read_wall(draft.text).missing if takes_position and draft.seat.role is Role.WALL else ()
        unmended = [f"It was sent back once and not mended. {draft.lacks}"] if draft.lacks else []
        return [f"{number}: {warning}" for warning in dict.fromkeys((*findings, *contract, *unmended))]


def pause(seat: PlannedSeat, error: DebateError) -> RunPaused:
    return RunPaused(f"{seat.role} {seat.agent} ({seat.slot}) could not be heard: {error.message}", error.cure)


def _seat_record(draft: Draft) -> SeatRecord:
    seat, usage = draft.seat, draft.usage
    return SeatRecord(
        slot=seat.slot,
        agent=seat.agent,
        lens=seat.lens,
        asked=seat.routes[0],
        answered=draft.answered,
        route=draft.route if draft.route != seat.routes[0] else None,
        input=usage.input,
        cached=usage.cached,
        output=usage.output,
        cost=None if usage.cost_usd is None else format(usage.cost_usd, "f"),
    )
