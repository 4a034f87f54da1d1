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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import ParamSpec, TypeVar

import anyio.to_thread

from orchestrator.drafting import Assignment, Draft, Drafting, Failure, total
from orchestrator.errors import DebateError, InvalidInput, LimitReached, NotActive, RunPaused, StaleHead, StoreError
from orchestrator.events import Closed, HeadMoved, Paused, RoundStarted, RunStarted, TurnCommitted
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Note, SeatRecord, Tombstoned, Turn
from orchestrator.hall.hall import Hall
from orchestrator.hall.results import TurnResult
from orchestrator.hall.terms import Mode, Role, Status
from orchestrator.models.base import Request, Step, Usage
from orchestrator.plan import Plan, PlannedRound, PlannedSeat, slot_name
from orchestrator.prompt import QUOTED_WORDS, make_request
from orchestrator.quotes import quotes_run

MOST_CONFLICTS = 20  # a round: who meets more is not debating but writing in a loop
NO_CHECKLISTS: Mapping[str, Draft] = MappingProxyType({})

P = ParamSpec("P")
R = TypeVar("R")


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


async def run_debate(hall: Hall, plan: Plan, thread_id: str, topic: str, drafting: Drafting) -> Run:
    """Opens a debate, holds it as planned and closes it.

    Raises:
        InvalidInput, ThreadExists: nothing was opened.
        RunPaused: a seat failed for good, the store did, or another writer never rested; committed turns stand.
    """
    await _in_thread(
        hall.open_run, thread_id, topic, plan.encode(), plan.mode, max_turns=plan.turns, max_rounds=len(plan.rounds)
    )
    runner = _Runner(hall, plan, thread_id, drafting)
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
        return await runner.to_the_end()
    except (RunPaused, StoreError) as error:
        drafting.emit(Paused(code=error.code, message=error.message))
        raise RunPaused(error.message, error.cure, drafts=tuple(runner.unused)) from error


async def _in_thread(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return await anyio.to_thread.run_sync(partial(call, *args, **kwargs))


@dataclass(slots=True)
class _Runner:
    hall: Hall
    plan: Plan
    thread_id: str
    drafting: Drafting
    spent: list[Usage] = field(default_factory=list)
    unused: list[Draft] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    conflicts: int = 0

    async def to_the_end(self) -> Run:
        """Every planned round, then those that somebody else opened, then the close."""
        try:
            for planned in self.plan.rounds:
                self.conflicts = 0
                await self._round(planned)
            await self._close()
        except NotActive:
            pass  # somebody else closed it: that is how it ended
        debate = await _in_thread(self.hall.debate, self.thread_id)
        self.drafting.emit(Closed(status=debate.state.status, head=debate.head))
        return Run(debate, total(self.spent), tuple(self.unused), tuple(self.warnings))

    async def _round(self, planned: PlannedRound) -> None:
        self.drafting.emit(RoundStarted(round=planned.number, rounds=max(planned.number, len(self.plan.rounds))))
        debate = await self._look()
        winds, walls = (left_of(planned, role, debate) for role in (Role.WIND, Role.WALL))
        framework = self.plan.has_checklists(planned)
        steps: list[tuple[PlannedSeat, Step]] = [(seat, "turn") for seat in winds]
        steps += [(seat, "checklist") for seat in walls if framework]
        drafts = await self._draft(planned, debate, steps)
        await self._speak(planned, Role.WIND, debate, drafts[: len(winds)])
        await self._speak(planned, Role.WALL, checklists=_by_slot(drafts[len(winds) :]))
        await self._speak(planned, Role.DOOR)

    async def _speak(
        self,
        planned: PlannedRound,
        role: Role,
        debate: Debate | None = None,
        drafts: Sequence[Draft | Failure] = (),
        checklists: Mapping[str, Draft] = NO_CHECKLISTS,
    ) -> None:
        """Brings every seat of a role that is left in this round onto the ledger; `drafts` rest on `debate`."""
        while True:
            debate = debate or await self._look()
            seats = left_of(planned, role, debate)
            if not seats:
                return
            if not drafts:
                steps = [(seat, _step(seat, checklists)) for seat in self._batch(planned, seats)]
                drafts = await self._draft(planned, debate, steps, checklists)
            await self._commit(debate, drafts)
            debate, drafts = None, ()

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
        written = [draft for draft in drafts if isinstance(draft, Draft)]
        self.spent += [draft.usage for draft in written]
        self.unused += written
        return tuple(_with_checklist(draft, checklists) for draft in drafts)

    def _assignment(
        self, planned: PlannedRound, debate: Debate, seat: PlannedSeat, step: Step, checklist: Draft | None
    ) -> Assignment:
        snapshot, words = debate.snapshot(), checklist.text if checklist else None

        def ask(route: str) -> Request:
            return make_request(self.plan, snapshot, planned, seat, step, route=route, checklist=words)

        if seat.role is not Role.WALL or step == "checklist":
            return Assignment(seat, step, ask)
        return Assignment(seat, step, ask, partial(_lacks_quote, _words_of_wind(debate, planned.number)))

    async def _commit(self, base: Debate, drafts: Sequence[Draft | Failure]) -> None:
        """Commits in seat order. Stops at a failed seat (RunPaused), and when other words moved the head."""
        head = base.head
        for place, draft in enumerate(drafts):
            if isinstance(draft, Failure):
                raise _pause(draft.seat, draft.error)
            moved = await self._commit_one(base, place, head, draft)
            if moved is None:
                return
            head = moved

    async def _commit_one(self, base: Debate, place: int, head: str, draft: Draft) -> str | None:
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
                raise _pause(draft.seat, error) from error
            except StaleHead:
                debate = await self._look()
                self.drafting.emit(HeadMoved(head=debate.head, turns=len(debate.turns) - len(base.turns) - place))
                self._count_conflict()
                if _changes(debate) != _changes(base) + place:
                    return None
                head = debate.head  # a pick, an extension: the draft rests on the same words

    def _count_conflict(self) -> None:
        self.conflicts += 1
        if self.conflicts > MOST_CONFLICTS:
            raise RunPaused(
                f"Another writer moved the head of {self.thread_id} {self.conflicts} times and does not rest.",
                "See who writes there, then begin again.",
            )

    async def _extend(self, head: str, draft: Draft) -> str:
        """Makes room for one turn more, where somebody else's turns took the room that the plan needs."""
        state = (await self._look()).state
        rounds = max(state.max_rounds, state.round_of(draft.seat.role))
        reason = f"Turns of other writers took the room of {draft.seat.slot}."
        extended = await _in_thread(
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
            picked = await _in_thread(self.hall.pick_next_speaker, self.thread_id, seat.role, head)
            head = picked["head"]
        turn = await _in_thread(
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
        self.unused = [other for other in self.unused if not _stands_in(other, draft)]
        self.warnings += self._warnings(draft, turn)
        self.drafting.emit(
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
        takes_no_position = self.plan.is_rehearsal or self.plan.only_asks(turn["round"])
        findings = [] if takes_no_position else turn["cognition_warnings"]
        unquoted = ["It quotes no turn of Wind, though it was asked twice."] if draft.lacks else []
        return [f"{number}: {warning}" for warning in findings + unquoted]

    async def _close(self) -> None:
        """Closes with the last word of Door, after Wind and Wall were heard in a round that somebody else opened."""
        while True:
            debate = await self._look()
            if debate.state.round_is_open:
                self._count_conflict()
                await self._round(self._answering_round(debate))
                continue
            synthesis = _last_word(debate)
            try:
                await _in_thread(
                    self.hall.close_debate,
                    self.thread_id,
                    synthesis,
                    status=Status.SYNTHESIS,
                    expected_head=debate.head,
                )
            except StaleHead:
                self._count_conflict()
                continue
            return

    def _answering_round(self, debate: Debate) -> PlannedRound:
        """One voice a role for a round that is not in the plan, from the seats of the last planned one."""
        last, number = self.plan.rounds[-1], debate.state.round
        wind, wall, door = (_seated_in(number, seat) for seat in (last.winds[0], last.walls[0], last.doors[-1]))
        return PlannedRound(number=number, winds=(wind,), walls=(wall,), doors=(door,))

    async def _look(self) -> Debate:
        """Returns the debate as it stands.

        Raises:
            NotActive: somebody else closed it; nobody has to write any more.
        """
        debate = await _in_thread(self.hall.debate, self.thread_id)
        if debate.state.status is not Status.ACTIVE:
            raise NotActive(f"{self.thread_id} is {debate.state.status}.")
        return debate


def left_of(planned: PlannedRound, role: Role, debate: Debate) -> tuple[PlannedSeat, ...]:
    """The seats of a role that have still to speak in a round, as the ledger tells.

    A turn of somebody else takes the place of the next seat. Once a later round has begun nobody of this one speaks any
    more, and once Door has spoken no Wind and no Wall: their turn would open the next round.
    """
    spoken = [_turn_of(line) for line in debate.turns if _turn_of(line).round == planned.number]
    over = debate.state.round > planned.number
    closing = role is not Role.DOOR and any(turn.role is Role.DOOR for turn in spoken)
    if over or closing:
        return ()
    turns = [turn for turn in spoken if turn.role is role]
    done = {turn.seat.slot for turn in turns if turn.seat}
    foreign = sum(turn.seat is None for turn in turns)
    return tuple(seat for seat in planned.of(role) if seat.slot not in done)[foreign:]


def _seated_in(number: int, seat: PlannedSeat) -> PlannedSeat:
    return seat.model_copy(update={"slot": slot_name(number, seat.role, 1)})


def _turn_of(line: Line) -> Turn:
    assert isinstance(line.entry.body, Turn)
    return line.entry.body


def _changes(debate: Debate) -> int:
    """How often what a seat may see has changed: turns and notes that came, words that went."""
    return len(debate.of(Turn, Note, Tombstoned))


def _words_of_wind(debate: Debate, number: int) -> list[str]:
    """What Wind said in a round and a Wall can quote: a redacted turn has no words."""
    turns = ((_turn_of(line), line.text) for line in debate.turns)
    return [text for turn, text in turns if turn.role is Role.WIND and turn.round == number and text is not None]


def _last_word(debate: Debate) -> str:
    """The newest turn of Door, with which a debate closes.

    Raises:
        RunPaused: it was redacted.
    """
    line = next(line for line in reversed(debate.turns) if _turn_of(line).role is Role.DOOR)
    if line.text is None:
        raise RunPaused(
            f"Door's last turn in {debate.state.thread_id} was redacted, so there is no synthesis to close with.",
            "Close it with a synthesis of your own (close_debate).",
        )
    return line.text


def _lacks_quote(winds: Sequence[str], text: str) -> str | None:
    there_is_something_to_quote = any(quotes_run(wind, [wind], 1) for wind in winds)
    if not there_is_something_to_quote or quotes_run(text, winds, QUOTED_WORDS):
        return None
    return (
        f"Your turn quotes no run of {QUOTED_WORDS} words from a turn of Wind in this round, so nobody can see what "
        "you tested. Give the whole turn again, with such a quotation, word for word, where you test it."
    )


def _pause(seat: PlannedSeat, error: DebateError) -> RunPaused:
    return RunPaused(f"{seat.role} {seat.agent} ({seat.slot}) could not be heard: {error.message}", error.cure)


def _by_slot(checklists: Sequence[Draft | Failure]) -> dict[str, Draft]:
    for checklist in checklists:
        if isinstance(checklist, Failure):
            raise _pause(checklist.seat, checklist.error)
    return {checklist.seat.slot: checklist for checklist in checklists if isinstance(checklist, Draft)}


def _stands_in(other: Draft, committed: Draft) -> bool:
    """Whether a draft became the turn that was committed, as its text or as the checklist behind it."""
    same_seat = other.seat.slot == committed.seat.slot
    return same_seat and (other.step == "checklist" or other.text == committed.text)


def _with_checklist(draft: Draft | Failure, checklists: Mapping[str, Draft]) -> Draft | Failure:
    """A Wall's turn took its checklist too."""
    checklist = checklists.get(draft.seat.slot)
    if isinstance(draft, Failure) or checklist is None:
        return draft
    return replace(draft, usage=total((checklist.usage, draft.usage)))


def _step(seat: PlannedSeat, checklists: Mapping[str, Draft]) -> Step:
    return "apply" if seat.slot in checklists else "turn"


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
