"""Another writer at the same table, at every moment of a run, through a second hall on the same file.

An order is written as in DESIGN's table, in small letters where somebody else spoke: `WlLLD · WLLD`.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from building import LETTERS, THREAD, hall_at, hold, plan_of, priced, resume, speech, turns_of, voices, vote_text
from hall.halls import HastyStore
from orchestrator import commits
from orchestrator.ballot import Case, agree
from orchestrator.commits import MOST_CONFLICTS
from orchestrator.drafts import Draft, Paid
from orchestrator.errors import HallError, Overloaded, RunPaused
from orchestrator.events import Event, HeadMoved, Paused, RoundStarted, SynthesisRefined, TurnCommitted, VoteCast
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Closed, Extended, Refined, Tombstoned, Turn, Vote
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.results import PickResult
from orchestrator.hall.store import Lease, Store
from orchestrator.hall.terms import About, Mode, Role, Status
from orchestrator.models.base import Request
from orchestrator.models.scripted import Line as Said
from orchestrator.models.scripted import Scripted
from orchestrator.plan import Plan
from orchestrator.record import make_record
from orchestrator.runner import Run

pytestmark = pytest.mark.anyio


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

    def say_beyond_the_plan(self, role: Role) -> None:
        self.extend()
        self.say(role)

    def pick(self, role: Role) -> None:
        if self.hall.debate(THREAD).state.turn_count == self.hall.debate(THREAD).state.max_turns:
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
    """Tells when the runner has read the debate and when it has given the floor: others may write right then."""

    def __init__(self, store: Store, tell: Callable[[str], None], lease: Lease | None = None) -> None:
        super().__init__(store, lease=lease)
        self._tell = tell

    def under(self, lease: Lease) -> Watched:
        return Watched(self._store, self._tell, lease)

    def debate(self, thread_id: str) -> Debate:
        debate = super().debate(thread_id)
        self._tell("looked")
        return debate

    def pick_next_speaker(self, thread_id: str, role: str, expected_head: str | None = None) -> PickResult:
        picked = super().pick_next_speaker(thread_id, role, expected_head)
        self._tell(f"picked {role}")
        return picked


class Table:
    """A run and its other writer, who acts once at each moment that is named.

    Moments: `round 1`; `asks R1 Wall apply`, before the first such request is answered; `committed R1.Wind.1`, a turn,
    a vote or a refinement; `looked`, when the debate was read; `picked Wind`, before that turn. Each is also numbered
    from 0 (`#0`, `#1`, …) in the order in which they come.

    Args:
        objections: so many of the votes that are asked for object, the first ones.
    """

    def __init__(self, folder: Path, plan: Plan, acts: Mapping[str, Act], objections: int = 0) -> None:
        self.plan, self.acts, self.folder = plan, dict(acts), folder
        self.model = Scripted(self._answer)
        self.objections = objections
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
            return speech(request, number)
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
    require_no_vote_on_another_synthesis(table, debate)
    require_the_ending_that_was_voted_for(table, debate)


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
    case = Case.of(debate, table.plan.evidence)
    agreed = not table.plan.voters or agree(case.ballot)
    assert debate.state.status is (Status.SYNTHESIS if agreed else Status.STALEMATE)
    assert agreed or debate.state.refinements >= table.plan.recipe.consensus.refinements
    voted = {(vote.role, vote.agent, vote.lens) for vote in case.ballot}
    assert {(seat.role, seat.agent, seat.lens) for seat in table.plan.voters} <= voted
    account = debate.notes(About.ACCOUNT)[-1]
    assert isinstance(closing.entry.body, Closed)
    assert account.note.digest == closing.entry.body.record
    assert account.entry.seq > max([case.on or 0, *(vote.seq for vote in case.votes)])
    assert (closing.text or "") in drafted_by(table, account.text or "").messages[-1].text


def seated(debate: Debate) -> list[tuple[Line, Turn]]:
    """The runner's turns."""
    return [(line, turn) for line, turn in zip(debate.turns, turns_of(debate), strict=True) if turn.seat]


def require_nobody_speaks_too_often(plan: Plan, debate: Debate) -> None:
    """A turn of somebody else takes the place of at most one of the runner's, of its role and round."""
    foreign = Counter((turn.round, turn.role) for turn in turns_of(debate) if not turn.seat)
    own = Counter((turn.round, turn.role) for turn in turns_of(debate) if turn.seat)
    for planned in plan.rounds:
        door = (planned.number, Role.DOOR)
        came_to_its_doors = own[door] > 0 and not foreign[door]  # a foreign Door ends the round for Wind and Wall
        for role in Role:
            key, places = (planned.number, role), len(planned.of(role))
            assert own[key] <= places
            assert role is Role.DOOR or not came_to_its_doors or own[key] >= places - foreign[key]


# ------------------------------------------------------------------------------------------- one turn, at each moment

FIXED = {
    "speed": [
        ("round 1", Role.WIND, "wLD"),
        ("asks R1 Wind turn", Role.WIND, "wLD"),
        ("asks R1 Wall checklist", Role.WIND, "wLD"),
        ("committed R1.Wind.1", Role.WALL, "WlD"),
        ("asks R1 Wall apply", Role.WALL, "WlD"),
        ("committed R1.Wall.1", Role.DOOR, "WLd"),
        ("asks R1 Door turn", Role.DOOR, "WLd"),
    ],
    "standard": [
        ("committed R1.Door.1", Role.WIND, "WLD · wLD · WLD · WLD"),
        ("round 2", Role.WIND, "WLD · wLD · WLD · WLD"),
        ("asks R2 Wind turn", Role.WIND, "WLD · wLD · WLD · WLD"),
        ("asks R4 Door turn", Role.DOOR, "WLD · WLD · WLD · WLd"),
    ],
}
MEDIATED = {
    "fortress": [
        ("round 1", Role.WIND, "wLLLD · WLLD"),
        ("round 1", Role.WALL, "lWLLD · WLLD"),
        ("asks R1 Wind turn", Role.WIND, "wLLLD · WLLD"),
        ("asks R1 Wind turn", Role.WALL, "lWLLD · WLLD"),
        ("committed R1.Wind.1", Role.WIND, "WwLLLD · WLLD"),
        ("committed R1.Wind.1", Role.WALL, "WlLLD · WLLD"),
        ("asks R1 Wall apply", Role.WIND, "WwLLLD · WLLD"),
        ("asks R1 Wall apply", Role.WALL, "WlLLD · WLLD"),
        ("committed R1.Wall.1", Role.WIND, "WLwLLD · WLLD"),
        ("committed R1.Wall.1", Role.WALL, "WLlLD · WLLD"),
        ("committed R1.Wall.1", Role.DOOR, "WLd · WLLD"),
        ("asks R1 Door turn", Role.WIND, "WLLLwD · WLLD"),
        ("asks R1 Door turn", Role.WALL, "WLLLlD · WLLD"),
        ("asks R1 Door turn", Role.DOOR, "WLLLd · WLLD"),
        ("committed R1.Door.1", Role.WIND, "WLLLD · wLLD"),
        ("committed R1.Door.1", Role.WALL, "WLLLD · lWLD"),
        ("committed R1.Door.1", Role.DOOR, "WLLLDd · WLLD"),
        ("asks R2 Door turn", Role.DOOR, "WLLLD · WLLd"),
    ],
    "council": [
        ("asks R1 Wind turn", Role.WIND, "wWLLDDD · WWLDD"),
        ("committed R1.Wind.1", Role.WIND, "WwLLDDD · WWLDD"),
        ("committed R1.Wind.1", Role.WALL, "WlWLDDD · WWLDD"),
        ("committed R1.Wind.2", Role.WIND, "WWwLLDDD · WWLDD"),
        ("asks R1 Wall apply", Role.WALL, "WWlLDDD · WWLDD"),
        ("asks R1 Door turn", Role.WIND, "WWLLwDDD · WWLDD"),
        ("asks R1 Door turn", Role.DOOR, "WWLLdDD · WWLDD"),
        ("committed R1.Door.1", Role.DOOR, "WWLLDdD · WWLDD"),
        ("committed R1.Door.1", Role.WIND, "WWLLD · wWLDD"),
        ("asks R2 Door turn", Role.DOOR, "WWLLDDD · WWLdD"),
        ("committed R2.Door.1", Role.DOOR, "WWLLDDD · WWLDd"),
    ],
    "laboratory": [
        ("asks R1 Wind turn", Role.WIND, "wWWLD · WWLD"),
        ("committed R1.Wind.1", Role.WIND, "WwWLD · WWLD"),
        ("committed R1.Wind.2", Role.WIND, "WWwLD · WWLD"),
        ("committed R1.Wind.2", Role.WALL, "WWlWD · WWLD"),
    ],
}
TURNS_OF_ONE_ROUND = {"fortress": 5, "council": 7}


def one_round(recipe: str = "fortress") -> Plan:
    return plan_of(recipe, turns=TURNS_OF_ONE_ROUND[recipe])


def cases() -> Iterator[Any]:
    """FORTRESS in one round where that shows it; the same at every larger table is slow."""
    for recipe, known in (FIXED | MEDIATED).items():
        for moment, role, expected in known:
            short = recipe == "fortress" and "R2" not in moment and "R1.Door.1" not in moment
            name = f"{role} at {moment}"
            if short:
                yield pytest.param(one_round(), moment, role, expected.partition(" · ")[0], id=f"one round, {name}")
            marks = [] if recipe == "speed" or (recipe == "fortress" and not short) else [pytest.mark.slow]
            yield pytest.param(plan_of(recipe), moment, role, expected, id=f"{recipe}, {name}", marks=marks)


@pytest.mark.parametrize(("plan", "moment", "role", "expected"), list(cases()))
async def test_a_turn_of_somebody_else_takes_the_next_place_of_its_role_and_is_heard(
    tmp_path: Path, plan: Plan, moment: str, role: Role, expected: str
) -> None:
    table = Table(tmp_path / "state", plan, {moment: lambda writer: writer.say(role)})
    run = await table.hold()
    debate = table.debate()
    assert table.acts == {}
    assert signed(debate) == expected
    require_laws(table, run.unused)
    assert debate.state.status is Status.SYNTHESIS
    assert debate.synthesis is not None
    assert debate.synthesis.text == debate.turns[-1].text
    raised = max(0, len(debate.turns) - plan.turns)
    assert [type(line.entry.body) for line in debate.of(Extended)] == [Extended] * raised
    assert debate.state.max_turns == plan.turns + raised


async def test_drafts_that_rest_on_old_words_are_made_again_with_the_new_ones_and_handed_back(tmp_path: Path) -> None:
    table = Table(tmp_path / "state", plan_of("fortress"), {"asks R1 Wall apply": lambda writer: writer.say(Role.WIND)})
    run = await table.hold()
    applying = [request for request in table.model.requests if request.task.step == "apply" and request.task.round == 1]
    foreign = table.writer.words[0]
    heard = [any(foreign in message.text for message in request.messages) for request in applying]
    assert heard == [False] * 3 + [True] * 3
    assert [(draft.seat.slot, draft.step) for draft in run.unused] == [(f"R1.Wall.{n}", "apply") for n in (1, 2, 3)]
    moved = [event for event in table.events if isinstance(event, HeadMoved)]
    assert [event.turns for event in moved] == [1]


async def test_a_seat_whose_place_was_taken_hands_back_its_checklist(tmp_path: Path) -> None:
    table = Table(tmp_path / "state", plan_of("fortress"), {"asks R1 Wind turn": lambda writer: writer.say(Role.WALL)})
    run = await table.hold()
    kept = sorted((draft.seat.slot, draft.step) for draft in run.unused)
    assert kept == [("R1.Wall.1", "checklist"), ("R1.Wind.1", "turn")]
    assert run.spent.output > sum(turn.token_output or 0 for turn in turns_of(table.debate()))


# -------------------------------------------------------------------------------------------- after the last Door spoke


@pytest.mark.parametrize(
    ("recipe", "last", "role", "expected"),
    [
        pytest.param("speed", "R1.Door.1", Role.WIND, "WLD · wLD", id="speed, Wind"),
        pytest.param("fortress", "R2.Door.1", Role.WIND, "WLLLD · WLLD · wLD", id="fortress, Wind"),
        pytest.param("fortress", "R2.Door.1", Role.WALL, "WLLLD · WLLD · lWD", id="fortress, Wall"),
        pytest.param("fortress", "R2.Door.1", Role.DOOR, "WLLLD · WLLDd", id="fortress, Door"),
        pytest.param("council", "R2.Door.2", Role.WALL, "WWLLDDD · WWLDD · lWD", id="council, Wall"),
    ],
)
async def test_a_turn_after_the_last_door_is_answered_before_the_close(
    tmp_path: Path, recipe: str, last: str, role: Role, expected: str
) -> None:
    acts: dict[str, Act] = {f"committed {last}": lambda writer: writer.say_beyond_the_plan(role)}
    table = Table(tmp_path / "state", plan_of(recipe), acts)
    run = await table.hold()
    debate = table.debate()
    assert signed(debate) == expected
    require_laws(table, run.unused)
    assert debate.state.status is Status.SYNTHESIS
    assert debate.synthesis is not None
    assert debate.synthesis.text == debate.turns[-1].text


# ---------------------------------------------------------------------------------------- while Door's word is settled


def voted_on(refinements: int = 2) -> Plan:
    """One Wind and one Wall, who vote; anybody may speak at any time."""
    return plan_of("speed", mode="mediated", consensus={"required": True, "refinements": refinements})


SETTLING = [
    "asks R1 Wind vote",
    "asks R1 Wall vote",
    "committed V1.Wind.1",
    "committed V1.Wall.1",
    "asks R1 Door refine",
    "committed V1.Door.1",
    "committed V2.Wind.1",
    "committed V2.Wall.1",
    "asks R1 Door account",
]


@pytest.mark.parametrize(
    ("role", "expected"), [(Role.WIND, "WLD · wLD"), (Role.WALL, "WLD · lWD"), (Role.DOOR, "WLDd")]
)
@pytest.mark.parametrize("moment", SETTLING)
async def test_a_turn_while_it_is_voted_leads_to_a_new_synthesis_that_is_voted_on_again(
    tmp_path: Path, moment: str, role: Role, expected: str
) -> None:
    """The first vote objects, so that there is a refinement too."""
    acts: dict[str, Act] = {moment: lambda writer: writer.say_beyond_the_plan(role)}
    table = Table(tmp_path / "state", voted_on(), acts, objections=1)
    run = await table.hold()
    debate = table.debate()
    assert (table.acts, signed(debate)) == ({}, expected)
    require_laws(table, run.unused)
    case = Case.of(debate, ())
    foreign = next(line.entry.seq for line in debate.turns if line.turn.seat is None)
    assert (case.on or 0) >= foreign
    assert [vote.role for vote in case.ballot] == [Role.WIND, Role.WALL]
    assert debate.state.status is Status.SYNTHESIS
    assert debate.synthesis is not None
    assert debate.synthesis.text == case.synthesis


@pytest.mark.parametrize("moment", SETTLING)
async def test_a_synthesis_of_somebody_else_is_voted_on_by_those_who_have_read_it(tmp_path: Path, moment: str) -> None:
    table = Table(tmp_path / "state", voted_on(), {moment: Writer.refine}, objections=1)
    run = await table.hold()
    require_laws(table, run.unused)
    debate = table.debate()
    assert (table.acts, signed(debate), debate.state.status) == ({}, "WLD", Status.SYNTHESIS)
    (words,) = table.writer.words
    later = [line for line in debate.of(Refined) if line.entry.seq > seq_of(debate, words)]
    assert debate.synthesis is not None
    assert debate.synthesis.text == (later[-1].text if later else words)


@pytest.mark.parametrize("act", [Writer.refine, lambda writer: writer.say_beyond_the_plan(Role.DOOR)])
@pytest.mark.parametrize("votes", [False, True])
async def test_an_account_of_an_older_synthesis_is_not_the_one_that_it_is_closed_with(
    tmp_path: Path, votes: bool, act: Act
) -> None:
    plan = voted_on() if votes else plan_of("speed", mode="mediated")
    table = Table(tmp_path / "state", plan, {"asks R1 Door account": act})
    run = await table.hold()
    require_laws(table, run.unused)
    debate = table.debate()
    assert debate.synthesis is not None
    assert debate.synthesis.text == table.writer.words[0]
    assert [draft.step for draft in run.unused] == ["account"]


def seq_of(debate: Debate, words: str) -> int:
    return next(line.entry.seq for line in debate.lines if line.text == words)


@pytest.mark.parametrize("moment", ["committed R1.Door.1", *SETTLING])
@pytest.mark.parametrize("act", [Writer.vote, Writer.object, Writer.extend, lambda writer: writer.pick(Role.WIND)])
async def test_what_is_no_words_of_the_debate_takes_no_vote_back(tmp_path: Path, moment: str, act: Act) -> None:
    """A vote of somebody else counts beside the others, and Door writes nothing behind one that it has not heard."""
    table = Table(tmp_path / "state", voted_on(refinements=3), {moment: act}, objections=1)
    run = await table.hold()
    require_laws(table, run.unused)
    debate = table.debate()
    assert (table.acts, signed(debate), debate.state.status) == ({}, "WLD", Status.SYNTHESIS)
    counts = Counter(request.task.step for request in table.model.requests)
    ballots = 1 + debate.state.refinements
    assert counts["vote"] == 2 * ballots == len(debate.of(Vote)) - len(table.writer.words)
    assert {draft.step for draft in run.unused} <= {"refine", "account"}
    assert {answer for line in debate.of(Refined) for answer in answers_of(line)} == objections(debate)


async def test_a_draft_that_is_found_again_is_handed_back_once_and_has_cost_what_all_its_calls_took(
    tmp_path: Path,
) -> None:
    """Wall's vote takes two calls; somebody else votes before it is cast, and it is not asked for again."""
    table = Table(tmp_path / "state", voted_on(), {"committed V1.Wind.1": Writer.vote})
    busy = count()

    def line(request: Request) -> Said:
        is_walls = request.task.step == "vote" and request.task.role is Role.WALL
        return Overloaded("busy", model="x") if is_walls and next(busy) == 0 else priced(str(answer(request)))

    answer, table.model._line = table._answer, line
    run = await table.hold()
    seats = [seat for entry in written(run.debate) if (seat := getattr(entry.entry.body, "seat", None))]
    assert [seat.tried for seat in seats if seat.slot == "V1.Wall.1"] == [("test/wall: overloaded",)]
    assert run.unused == ()
    asked = Counter(request.task.step for request in table.model.requests)
    assert asked == {"turn": 2, "checklist": 1, "apply": 1, "vote": 3, "account": 1}
    assert sum(Decimal(seat.cost or 0) for seat in seats) == run.spent.cost_usd == Decimal("0.07")


def answers_of(line: Line) -> tuple[int, ...]:
    assert isinstance(line.entry.body, Refined)
    return line.entry.body.answers


def objections(debate: Debate) -> set[int]:
    votes = Case.of(debate, ()).votes
    return {vote.seq for vote in votes if vote.name is not None}


# ------------------------------------------------------------------------------------ between two steps of the runner


@pytest.mark.parametrize(
    ("moment", "act", "expected"),
    [
        pytest.param("picked Wind", lambda writer: writer.say(Role.WIND), "wLLLD · WLLD", id="Wind after its pick"),
        pytest.param("picked Wind", lambda writer: writer.say(Role.WALL), "lWLLD · WLLD", id="Wall after Wind's pick"),
        pytest.param("picked Wind", lambda writer: writer.pick(Role.WALL), "WLLLD · WLLD", id="another pick"),
        pytest.param("picked Door", lambda writer: writer.say(Role.WIND), "WLLLwD · WLLD", id="Wind after Door's pick"),
        pytest.param("picked Door", lambda writer: writer.say(Role.DOOR), "WLLLd · WLLD", id="Door after its pick"),
    ],
)
async def test_a_floor_that_was_given_binds_nobody_else(tmp_path: Path, moment: str, act: Act, expected: str) -> None:
    table = Table(tmp_path / "state", plan_of("fortress"), {moment: act})
    run = await table.hold()
    require_laws(table, run.unused)
    assert signed(table.debate()) == expected


async def test_a_turn_between_the_last_look_and_the_close_is_answered(tmp_path: Path) -> None:
    """The runner looks once more after it has heard Door's account, and closes behind the head that it saw."""
    table = Table(tmp_path / "state", plan_of("speed"), {})
    speak = partial(Writer.say_beyond_the_plan, role=Role.WIND)
    table.acts["asks R1 Door account"] = lambda writer: table.acts.update(looked=speak)
    run = await table.hold()
    require_laws(table, run.unused)
    debate = table.debate()
    assert signed(debate) == "WLD · wLD"
    accounts = [line.entry.seq for line in debate.notes(About.ACCOUNT)]
    first_foreign = next(line.entry.seq for line in debate.turns if line.turn.seat is None)
    assert [seq < first_foreign for seq in accounts] == [True, False]
    assert run.debate.state.status is Status.SYNTHESIS


# ------------------------------------------------------------------------------------------------ what is no new turn

MOMENTS = ["round 1", "asks R1 Wind turn", "committed R1.Wind.1", "asks R1 Wall apply", "asks R1 Door turn"]


@pytest.mark.parametrize("moment", [*MOMENTS, "committed R1.Door.1"])
async def test_an_extension_makes_nobody_write_again(tmp_path: Path, moment: str) -> None:
    table = Table(tmp_path / "state", one_round(), {moment: lambda writer: writer.extend()})
    run = await table.hold()
    require_laws(table, run.unused)
    assert (len(table.model.requests), run.unused) == (table.plan.calls, ())
    assert signed(table.debate()) == "WLLLD"


@pytest.mark.parametrize("recipe", ["fortress", pytest.param("council", marks=pytest.mark.slow)])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("role", [Role.WIND, Role.WALL])
async def test_a_mere_pick_makes_nobody_write_again(tmp_path: Path, recipe: str, moment: str, role: Role) -> None:
    table = Table(tmp_path / "state", one_round(recipe), {moment: lambda writer: writer.pick(role)})
    run = await table.hold()
    require_laws(table, run.unused)
    assert (len(table.model.requests), run.unused) == (table.plan.calls, ())
    assert [event.turns for event in table.events if isinstance(event, HeadMoved)] in ([], [0])


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_note_is_read_by_all_who_speak_after_it_and_is_no_turn(tmp_path: Path, moment: str) -> None:
    table = Table(tmp_path / "state", one_round(), {moment: Writer.note})
    run = await table.hold()
    require_laws(table, run.unused)
    assert signed(table.debate()) == "WLLLD"
    assert [event.turns for event in table.events if isinstance(event, HeadMoved)] in ([], [0])


@pytest.mark.parametrize("moment", ["asks R1 Wall apply", "committed R1.Wall.1", "asks R1 Door turn", "round 2"])
async def test_what_rests_on_words_that_were_redacted_is_written_again_without_them(
    tmp_path: Path, moment: str
) -> None:
    table = Table(tmp_path / "state", plan_of("fortress"), {moment: Writer.tombstone})
    run = await table.hold()
    debate = table.debate()
    require_laws(table, run.unused)
    assert debate.turns[0].text is None
    assert debate.turns[0].words == "[REDACTED: It named a customer of ours in full.]"
    assert signed(debate) == "WLLLD · WLLD"
    assert not [lack for lack in make_record(debate, table.plan).incomplete if "quotes no run" in lack]


async def test_a_last_word_that_was_redacted_is_not_closed_with(tmp_path: Path) -> None:
    acts: dict[str, Act] = {"committed R1.Door.1": lambda writer: writer.tombstone(2)}
    table = Table(tmp_path / "state", plan_of("speed"), acts)
    with pytest.raises(RunPaused, match="redacted"):
        await table.hold()
    assert table.debate().state.status is Status.ACTIVE


@pytest.mark.parametrize("act", [Writer.force_close, Writer.close])
@pytest.mark.parametrize("moment", ["round 2", "committed R1.Door.1", "asks R2 Wind turn"])
async def test_a_debate_that_somebody_else_closed_has_ended_and_nobody_is_asked_any_more(
    tmp_path: Path, moment: str, act: Act
) -> None:
    table = Table(tmp_path / "state", plan_of("fortress"), {moment: act})
    run = await table.hold()
    require_laws(table, run.unused)
    ended = Status.FORCE_CLOSED if act is Writer.force_close else Status.SYNTHESIS
    assert (run.debate.state.status, signed(run.debate)) == (ended, "WLLLD")
    assert table.debate() == run.debate
    in_flight = 3 if moment == "asks R2 Wind turn" else 0  # Wind and two checklists, which were asked together
    assert len(table.model.requests) == 8 + in_flight
    assert len(run.unused) == in_flight


async def test_a_turn_and_then_the_kill_switch_leave_nothing_to_write_again(tmp_path: Path) -> None:
    def speak_and_close(writer: Writer) -> None:
        writer.say(Role.WIND)
        writer.force_close()

    table = Table(tmp_path / "state", plan_of("fortress"), {"asks R1 Wall apply": speak_and_close})
    run = await table.hold()
    assert (run.debate.state.status, signed(run.debate)) == (Status.FORCE_CLOSED, "Ww")
    assert len(table.model.requests) == 7
    assert len(run.unused) == 6


# ---------------------------------------------------------------------------------------------------- who never rests


async def test_a_writer_who_never_rests_pauses_the_run(tmp_path: Path) -> None:
    table = Table(tmp_path / "state", plan_of("speed"), {})
    table.model = voices(lambda request: table.writer.note())
    with pytest.raises(RunPaused, match=f"moved the head of {THREAD} {MOST_CONFLICTS + 1} times"):
        await table.hold()
    assert isinstance(table.events[-1], Paused)
    _before, *attempts = table.paid.attempts
    assert len(table.paid.unused) == len(table.model.requests) == len(attempts)


async def test_a_writer_who_opens_a_round_after_every_door_pauses_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "MOST_CONFLICTS", 3)
    table = Table(tmp_path / "state", plan_of("fortress"), {})
    tell = table._told

    def tell_and_speak(event: Event) -> None:
        tell(event)
        if isinstance(event, TurnCommitted) and event.role == Role.DOOR and event.round >= 2:
            table.writer.say_beyond_the_plan(Role.WIND)

    table._told = tell_and_speak  # type: ignore[method-assign]
    with pytest.raises(RunPaused, match="4 times and does not rest"):
        await table.hold()
    assert signed(table.debate()) == "WLLLD · WLLD · wLD · wLD · wLD · w"


# ------------------------------------------------------------------------------------------------------ at random


@contextmanager
def a_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "state"


def tried(act: Act) -> Act:
    """The act, where the rules permit it at that moment."""

    def act_if_permitted(writer: Writer) -> None:
        with suppress(HallError):
            act(writer)

    return act_if_permitted


def say(role: Role) -> Act:
    return lambda writer: writer.say(role)


def pick(role: Role) -> Act:
    return lambda writer: writer.pick(role)


def two(first: Act, second: Act) -> Act:
    def both(writer: Writer) -> None:
        first(writer)
        second(writer)

    return both


TURNS = [say(role) for role in Role]
SETTLED = [Writer.refine, Writer.vote, Writer.object]
SINGLE = [*TURNS, *map(pick, Role), Writer.note, Writer.extend, Writer.tombstone, *SETTLED]
ACTS = st.sampled_from([*SINGLE, *TURNS]) | st.builds(
    two, st.sampled_from(SINGLE).map(tried), st.sampled_from(SINGLE).map(tried)
)
PLANS = st.sampled_from(
    [
        partial(plan_of, "speed"),
        voted_on,
        partial(plan_of, "fortress"),
        partial(plan_of, "fortress", wall="reactive"),
        partial(plan_of, "laboratory", socratic=True),
        partial(plan_of, "council"),
        partial(plan_of, "council", doors="independent"),
        partial(plan_of, "standard", turns=6),
    ]
)


WRITERS = {
    "make": PLANS,
    "acts": st.dictionaries(st.integers(0, 80).map("#{}".format), ACTS.map(tried), max_size=5),
    "objections": st.integers(0, 2),
}
KILLS = {"make": PLANS, "at": st.integers(0, 80), "turn": st.sampled_from(TURNS)}
SMALL = settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])
LARGE = settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])


def require_the_laws(make: Callable[[], Plan], acts: dict[str, Act], objections: int) -> None:
    with a_folder() as folder:
        table, paused = Table(folder, make(), acts, objections), False
        try:
            unused: tuple[Any, ...] = anyio.run(table.hold).unused
        except RunPaused:
            paused, unused = True, tuple(table.paid.unused)
        debate = table.debate()
        assert debate.state.status in ([Status.ACTIVE] if paused else [Status.SYNTHESIS, Status.STALEMATE])
        assert not paused or debate.turns[-1].text is None  # the one reason: Door's last word was redacted
        require_laws(table, unused)


@given(**WRITERS)
@SMALL
def test_the_laws_hold_whenever_somebody_else_writes(**case: Any) -> None:
    require_the_laws(**case)


@pytest.mark.slow
@given(**WRITERS)
@LARGE
def test_the_laws_hold_however_often_it_is_tried(**case: Any) -> None:
    require_the_laws(**case)


def require_that_it_ends(make: Callable[[], Plan], at: int, turn: Act) -> None:
    killed_after: list[int] = []

    def kill(writer: Writer) -> None:
        writer.force_close()
        killed_after.append(len(table.model.requests))

    with a_folder() as folder:
        table = Table(folder, make(), {f"#{at}": two(tried(turn), tried(kill))})
        run = anyio.run(table.hold)
        assert run.debate.state.status is (Status.FORCE_CLOSED if killed_after else Status.SYNTHESIS)
        require_laws(table, run.unused)
        in_flight = len(table.model.requests) - killed_after[0] if killed_after else 0
        assert in_flight <= max(len(planned.seats) for planned in table.plan.rounds)


@given(**KILLS)
@SMALL
def test_the_kill_switch_ends_a_run_at_any_moment(make: Callable[[], Plan], at: int, turn: Act) -> None:
    require_that_it_ends(make, at, turn)


@pytest.mark.slow
@given(**KILLS)
@LARGE
def test_the_kill_switch_ends_a_run_however_often_it_is_tried(make: Callable[[], Plan], at: int, turn: Act) -> None:
    require_that_it_ends(make, at, turn)


def require_the_laws_over_processes(
    make: Callable[[], Plan], acts: dict[str, Act], objections: int, deaths: set[int], between: list[Act]
) -> None:
    with a_folder() as folder:
        table = Table(folder, make(), acts, objections)
        table.deaths = deaths
        try:
            run = anyio.run(table.hold_until_it_dies)
            while run is None:
                run = anyio.run(table.go_on, between.pop() if between else Writer.rest)
        except RunPaused:
            assert table.debate().turns[-1].text is None  # the one reason: Door's last word was redacted
        debate = table.debate()
        require_each_word_once(table, debate)
        require_barrier(debate)
        require_no_turn_on_old_words(table, debate)
        require_nobody_speaks_too_often(table.plan, debate)
        require_no_vote_on_another_synthesis(table, debate)
        require_the_ending_that_was_voted_for(table, debate)
        asked = [(replace(request.task, said=()), request.messages) for request in table.model.requests]
        assert len(asked) == len(set(asked)) or debate.of(Tombstoned)  # a redaction takes what was heard before it


OVER_PROCESSES = {
    **WRITERS,
    "deaths": st.sets(st.integers(0, 110), min_size=1, max_size=4),
    "between": st.lists(ACTS.map(tried), max_size=2),
}


@pytest.mark.slow
@given(**OVER_PROCESSES)
@LARGE
def test_the_laws_hold_though_processes_die_in_between_and_nobody_is_asked_the_same_twice(**case: Any) -> None:
    require_the_laws_over_processes(**case)
