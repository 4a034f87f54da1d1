"""A run and another writer at the same table, through a second hall on the same file; and what holds of every such run.

An order is written as in DESIGN's table, in small letters where somebody else spoke: `WlLLD · WLLD`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread

from building import LETTERS, THREAD, hall_at, hold, plan_of, resume, speech, turns_of, vote_text
from hall.halls import HastyStore
from orchestrator import saying
from orchestrator.agenda import rounds_of
from orchestrator.decision.ballot import Case, agree, standing_objections
from orchestrator.decision.people import unanswered
from orchestrator.drafts import Draft, Paid
from orchestrator.events import Event, RoundStarted, SynthesisRefined, TurnCommitted, VoteCast
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Closed, Refined, Tombstoned, Turn, Vote
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.results import TurnResult
from orchestrator.hall.store import Lease, Store
from orchestrator.hall.terms import About, Mode, Role, Status
from orchestrator.models.base import Request
from orchestrator.models.scripted import Line as Said
from orchestrator.models.scripted import Scripted
from orchestrator.plan import Plan
from orchestrator.runner import Run

CLOSED_BY_HAND = "Somebody else's synthesis."


@dataclass
class Writer:
    """Somebody else who writes in the same thread."""

    hall: Hall
    mode: Mode
    words: list[str] = field(default_factory=list)  # what was taken, in order

    def say(self, role: Role) -> None:
        words = f"Foreign words, number {len(self.words)}, of somebody who speaks as {role} this time."
        if self.mode is Mode.MEDIATED:
            self.hall.pick_next_speaker(THREAD, role)
        self.hall.add_turn(THREAD, role, words)
        self.words.append(words)

    def say_as_a_person(self, role: Role) -> None:
        words = f"Words of a person, number {len(self.words)}, who speaks as {role} this time."
        self.hall.say(THREAD, role, words, "maria")
        self.words.append(words)

    def remark_as_a_person(self) -> None:
        words = f"A person's note, number {len(self.words)}."
        self.hall.remark(THREAD, words, "maria")
        self.words.append(words)

    def ask_for_round(self) -> None:
        saying.open_round(self.hall, THREAD, "maria")

    def end(self) -> None:
        saying.end(self.hall, THREAD, "maria")

    def say_beyond_the_plan(self, role: Role) -> None:
        self.extend()
        self.say(role)

    def pick(self, role: Role) -> None:
        state = self.hall.debate(THREAD).state
        if state.turn_count == state.max_turns:
            self.extend()
        self.hall.pick_next_speaker(THREAD, role)

    def note(self) -> None:
        words = f"Foreign note, number {len(self.words)}."
        self.hall.note(THREAD, words, "remark", "a person")
        self.words.append(words)

    def refine(self) -> None:
        words = f"Foreign synthesis, number {len(self.words)}."
        self.hall.refine(THREAD, words)
        self.words.append(words)

    def vote(self, choice: str = "approve") -> None:
        words = f"Foreign vote, number {len(self.words)}."
        self.hall.cast_vote(THREAD, Role.WALL, choice, words, ["T1"])
        self.words.append(words)

    def object(self) -> None:
        self.vote("object")

    def extend(self) -> None:
        state = self.hall.debate(THREAD).state
        self.hall.extend(THREAD, state.max_turns + 1, state.max_rounds + 1, "a person", "There is more to say.")

    def tombstone(self, turn_index: int = 0) -> None:
        self.hall.tombstone_turn(THREAD, turn_index, "It named a customer of ours in full.")

    def rest(self) -> None:
        pass

    def force_close(self) -> None:
        self.hall.force_close_debate(THREAD, "Enough.")

    def close(self) -> None:
        self.hall.close_debate(THREAD, CLOSED_BY_HAND)


Act = Callable[[Writer], None]


class Watched(Hall):
    """Tells when the runner has read the debate and when it is about to commit: others may write right then."""

    def __init__(self, store: Store, tell: Callable[[str], None], lease: Lease | None = None) -> None:
        super().__init__(store, lease=lease)
        self._tell = tell

    def under(self, lease: Lease) -> Watched:
        return Watched(self._store, self._tell, lease)

    def debate(self, thread_id: str, known: Debate | None = None) -> Debate:
        debate = super().debate(thread_id, known)
        self._tell("looked")
        return debate

    def add_turn(self, thread_id: str, role: str, *content: Any, **audit: Any) -> TurnResult:
        self._tell(f"commits {role}")
        return super().add_turn(thread_id, role, *content, **audit)


class Table:
    """A run and its other writer, who acts once at each moment that is named.

    Moments: `round 1`; `asks R1 Wall apply`, before the first such request is answered; `committed R1.Wind.1`, a turn,
    a vote or a refinement; `looked`, when the debate was read; `commits Wind`, before that turn. Each is also numbered
    from 0 (`#0`, `#1`, …) in the order in which they come.

    Args:
        objections: so many of the votes that are asked for object, the first ones.
        leaves_nothing_open: whether each turn of Door says so.
    """

    def __init__(
        self, folder: Path, plan: Plan, acts: Mapping[str, Act], objections: int = 0, leaves_nothing_open: bool = False
    ) -> None:
        self.plan, self.acts, self.folder = plan, dict(acts), folder
        self.model = Scripted(self._answer)
        self.objections, self.leaves_nothing_open = objections, leaves_nothing_open
        self.events: list[Event] = []
        self.paid = Paid()
        self.deaths = set[int]()  # the moments at which the process dies
        self._numbers = count()

    async def hold(self) -> Run:
        with Watched(HastyStore(prepare(self.folder)), self._at) as hall, hall_at(self.folder) as other:
            self.writer = Writer(other, self.plan.mode)
            with anyio.fail_after(20):
                return await hold(hall, self.plan, self.model, self._told, paid=self.paid)

    async def hold_until_it_dies(self) -> Run | None:
        self.scope = anyio.CancelScope()
        with self.scope:
            return await self.hold()
        return None

    async def go_on(self, between: Act) -> Run | None:
        """Goes on as a later process, when the other writer has acted once more."""
        self.scope = anyio.CancelScope()
        with Watched(HastyStore(prepare(self.folder)), self._at) as hall, hall_at(self.folder) as other:
            self.writer = Writer(other, self.plan.mode, self.writer.words)
            between(self.writer)
            with anyio.fail_after(20), self.scope:
                return await resume(hall, self.model, self._told)
        return None

    def debate(self) -> Debate:
        with hall_at(self.folder) as hall:
            return hall.debate(THREAD)

    def replies(self) -> dict[str, Request]:
        """Every text that was drafted, with the request that it answers."""
        return {f"draft {number} of": request for number, request in enumerate(self.model.requests, 1)}

    def _answer(self, request: Request) -> Said:
        number = len(self.model.requests)
        self._at(f"asks R{request.task.round} {request.task.role} {request.task.step}")
        if request.task.step != "vote":
            leaves = self.leaves_nothing_open and (request.task.role, request.task.step) == (Role.DOOR, "turn")
            return speech(request, number) + ("\n\n## OPEN\nNONE" if leaves else "")
        self.objections -= 1
        choice = "object" if self.objections >= 0 else "approve"
        return vote_text(choice, f"The draft {number} of {request.task.agent} says so.")

    def _told(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, RoundStarted):
            self._at(f"round {event.round}")
        if isinstance(event, TurnCommitted | VoteCast | SynthesisRefined):
            self._at(f"committed {event.slot}")

    def _at(self, moment: str) -> None:
        number = next(self._numbers)
        if number in self.deaths:
            self._die()
        for name in (moment, f"#{number}"):
            if act := self.acts.pop(name, None):
                act(self.writer)

    def _die(self) -> None:
        try:
            anyio.from_thread.run_sync(self.scope.cancel)
        except RuntimeError:  # it is the event loop's own thread
            self.scope.cancel()


def voted_on(refinements: int = 2) -> Plan:
    """One Wind and one Wall, who vote; anybody may speak at any time."""
    return plan_of("speed", mode="mediated", consensus={"required": True, "refinements": refinements})


def signed(debate: Debate) -> str:
    """The order of turns, small where the turn is nobody's of the runner's."""
    rounds: dict[int, str] = {}
    for turn in turns_of(debate):
        letter = LETTERS[turn.role]
        rounds[turn.round] = rounds.get(turn.round, "") + (letter if turn.seat else letter.lower())
    return " · ".join(rounds.values())


# ------------------------------------------------------------------------------------------------------------- the laws


def require_laws(table: Table, run_unused: tuple[Draft, ...]) -> None:
    """What holds of every run, whoever else wrote."""
    debate = table.debate()  # verified
    require_each_word_once(table, debate)
    require_barrier(debate)
    require_no_turn_on_old_words(table, debate)
    require_every_draft_is_kept(table, debate, run_unused)
    require_nobody_speaks_too_often(table.plan, debate)
    require_people_are_answered(debate)
    require_no_vote_on_another_synthesis(table, debate)
    require_the_ending_that_was_voted_for(table, debate)


def require_people_are_answered(debate: Debate) -> None:
    """When the run has closed a debate, its Door has answered every word of people, unless somebody else spoke as Door
    since and nobody after that."""
    if debate.synthesis is None or debate.synthesis.text == CLOSED_BY_HAND:
        return
    doors = [line for line in (*debate.turns, *debate.of(Refined)) if is_of_the_runs_door(line)]
    last = max((line.entry.seq for line in doors), default=-1)
    assert [word for word in unanswered(debate) if word.seq < last] == []


def is_of_the_runs_door(line: Line) -> bool:
    body = line.entry.body
    is_door = isinstance(body, Refined) or (isinstance(body, Turn) and body.role is Role.DOOR)
    return is_door and getattr(body, "seat", None) is not None


def require_each_word_once(table: Table, debate: Debate) -> None:
    lines = written(debate)
    texts = [line.text for line in (*lines, *debate.notes(About.REMARK)) if line.text is not None]
    assert len(texts) == len(set(texts))
    redacted = {line.entry.seq for line in debate.turns if line.text is None}
    assert len([words for words in table.writer.words if words not in texts]) <= len(redacted)
    slots = [body.seat.slot for line in lines if isinstance(body := line.entry.body, Turn | Vote) and body.seat]
    assert len(slots) == len(set(slots))


def written(debate: Debate) -> tuple[Line, ...]:
    """What can be a seat's: turns, votes, refinements, accounts."""
    return (*debate.of(Turn, Vote, Refined), *debate.notes(About.ACCOUNT))


def require_barrier(debate: Debate) -> None:
    heard: dict[int, set[Role]] = {}
    for turn in turns_of(debate):
        before = heard.setdefault(turn.round, set())
        assert turn.role is not Role.DOOR or {Role.WIND, Role.WALL} <= before
        before.add(turn.role)


def require_no_turn_on_old_words(table: Table, debate: Debate) -> None:
    """A turn of the runner was drafted from all that stood before it, but for its siblings of the same batch."""
    turns = turns_of(debate)
    notes = [(line.entry.seq, line.words) for line in debate.notes(About.REMARK)]
    redacted = [(line.entry.seq, line.entry.body) for line in debate.of(Tombstoned)]
    for line, turn in seated(debate):
        if line.text is None:
            continue
        request = drafted_by(table, line.text)
        seen = len(request.task.said)
        for unseen in turns[seen : turn.turn_index]:
            assert unseen.seat is not None
            assert (unseen.role, unseen.round) == (turn.role, turn.round)
        assert all(words in request.messages[-1].text for seq, words in notes if seq < line.entry.seq)
        for seq, body in redacted:
            if seq < line.entry.seq and isinstance(body, Tombstoned) and body.turn_index is not None:
                assert request.task.said[body.turn_index].text.startswith("[REDACTED") or body.turn_index >= seen


def drafted_by(table: Table, text: str) -> Request:
    (request,) = (request for mark, request in table.replies().items() if mark in text.partition(" tests this")[0])
    return request


def require_every_draft_is_kept(table: Table, debate: Debate, unused: tuple[Draft, ...]) -> None:
    """Each draft became a turn or is handed back; a checklist goes with its seat's turn."""
    committed = [line.text or "" for line in written(debate)]
    if debate.of(Tombstoned):
        return  # which drafts became the redacted turns cannot be told by their text
    kept = [draft.text for draft in unused if draft.step != "checklist"]
    for mark, request in table.replies().items():
        if request.task.step != "checklist":
            places = [text for text in (*committed, *kept) if mark in text.partition(" tests this")[0]]
            assert len(places) == 1, mark
    spoke = {turn.seat.slot: drafted_by(table, line.text or "").task.step for line, turn in seated(debate)}
    idle = [draft.seat.slot for draft in unused if draft.step == "checklist"]
    assert not set(spoke) & set(idle)
    asked = Counter(request.task.step for request in table.model.requests)
    assert asked["checklist"] == len(idle) + list(spoke.values()).count("apply")


def require_no_vote_on_another_synthesis(table: Table, debate: Debate) -> None:
    """Whoever votes has read the very words that he votes on, and every turn before his vote."""
    for line in debate.of(Vote):
        body = line.entry.body
        assert isinstance(body, Vote)
        if body.seat:
            request, voted_on = drafted_by(table, line.text or ""), debate.at(body.on)
            assert voted_on is not None
            assert (voted_on.text or "") in request.messages[-1].text
            assert len(request.task.said) == sum(turn.entry.seq < line.entry.seq for turn in debate.turns)


def require_the_ending_that_was_voted_for(table: Table, debate: Debate) -> None:
    """Of a debate that its run has closed: the votes agree, or nothing was left to refine; Door accounts for it."""
    closing = debate.synthesis
    if closing is None or closing.text == CLOSED_BY_HAND:
        return
    case = Case.of(debate, table.plan)
    agreed = not table.plan.voters or agree(case.ballot)
    assert debate.state.status is (Status.SYNTHESIS if agreed else Status.STALEMATE)
    assert agreed or debate.state.refinements >= table.plan.recipe.consensus.refinements
    voted = {(vote.role, vote.agent, vote.lens) for vote in case.ballot}
    assert {(seat.role, seat.agent, seat.lens) for seat in table.plan.voters} <= voted
    account = debate.notes(About.ACCOUNT)[-1]
    assert isinstance(closing.entry.body, Closed)
    assert account.note.digest == closing.entry.body.record
    assert account.entry.seq > max([case.on or 0, *(vote.seq for vote in standing_objections(case.votes))])
    assert (closing.text or "") in drafted_by(table, account.text or "").messages[-1].text


def seated(debate: Debate) -> list[tuple[Line, Turn]]:
    """The runner's turns."""
    return [(line, turn) for line, turn in zip(debate.turns, turns_of(debate), strict=True) if turn.seat]


def require_nobody_speaks_too_often(plan: Plan, debate: Debate) -> None:
    """A turn of somebody else takes the place of at most one of the runner's, of its role and round."""
    foreign = Counter((turn.round, turn.role) for turn in turns_of(debate) if not turn.seat)
    own = Counter((turn.round, turn.role) for turn in turns_of(debate) if turn.seat)
    for planned in rounds_of(plan, debate).all:
        door = (planned.number, Role.DOOR)
        came_to_its_doors = own[door] > 0 and not foreign[door]  # a foreign Door ends the round for Wind and Wall
        for role in Role:
            key, places = (planned.number, role), len(planned.of(role))
            assert own[key] <= places
            assert role is Role.DOOR or not came_to_its_doors or own[key] >= places - foreign[key]
