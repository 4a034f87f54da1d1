"""A debate as the fold of its ledger.

`State` is the small part that the rules need, of the same size however long a debate grows; stores keep it beside the
head so that a turn costs the same at any length, and verify computes it again. `Debate` is what a reader sees,
`Snapshot` what a seat may see.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from orchestrator.hall import canonical
from orchestrator.hall.entries import (
    Body,
    Closed,
    Entry,
    Extended,
    FloorGiven,
    ForceClosed,
    Link,
    Note,
    Opened,
    Refined,
    Turn,
    build,
    plain,
)
from orchestrator.hall.terms import About, LinkKind, Mode, Role, Status


class Tally(NamedTuple):
    """A count for each role."""

    wind: int = 0
    wall: int = 0
    door: int = 0

    def of(self, role: Role) -> int:
        return self[_PLACE[role]]

    def plus(self, role: Role) -> Tally:
        counts = list(self)
        counts[_PLACE[role]] += 1
        return Tally(*counts)


REHEARSAL = "REHEARSAL"  # a debate in which no model speaks
ANSWER = "ANSWER"  # an answer to a question about another debate, to which it is linked; it has one voice, Door's
DEGRADED = "DEGRADED"
CLOSED_EARLY = "CLOSED_EARLY"

_PLACE = {role: place for place, role in enumerate(Role)}
_MARKS = {About.MISSING: DEGRADED, About.CLOSED_EARLY: CLOSED_EARLY}
NOBODY = Tally()


class State(NamedTuple):
    """What the rules need to know of a debate.

    `marks` are words that every output shows first: those it was opened with, and DEGRADED or CLOSED_EARLY once a note
    says so. `round` counts from 1 (0: nobody has spoken); `in_round` are the turns of the newest round; `missed`
    counts, for each role, the finished rounds in which it did not speak. `synthesis_seq` is the entry of the newest
    synthesis: the last Door turn or refinement, at the end the closing.
    """

    thread_id: str
    mode: Mode
    strict_cognition: bool
    barrier: bool
    max_turns: int
    max_rounds: int
    opened_at: str
    updated_at: str
    marks: tuple[str, ...] = ()
    seq: int = 0
    status: Status = Status.ACTIVE
    round: int = 0
    spoken: Tally = NOBODY
    in_round: Tally = NOBODY
    missed: Tally = NOBODY
    floor: Role | None = None
    synthesis_seq: int | None = None
    refinements: int = 0
    closing_seq: int | None = None

    def encode(self) -> str:
        """Returns the state as canonical JSON, the form in which stores keep it."""
        return canonical.encode(plain(self))

    @classmethod
    def decode(cls, text: str) -> State:
        """Returns the state that `encode` wrote.

        Raises:
            InvalidInput, ValueError: it did not write that.
        """
        state: State = build(cls, json.loads(text))
        return state

    @property
    def turn_count(self) -> int:
        return sum(self.spoken)

    @property
    def round_is_open(self) -> bool:
        """Somebody has spoken in the newest round, and Door not yet."""
        return self.round > 0 and self.in_round.door == 0

    def opens_round(self, role: Role) -> bool:
        """Whether a turn of this role begins a new round: a Wind or Wall after a Door, or the first turn of all."""
        return self.round == 0 or (role is not Role.DOOR and self.in_round.door > 0)

    def round_of(self, role: Role) -> int:
        """The round that a turn of this role would belong to."""
        return self.round + 1 if self.opens_round(role) else self.round

    @property
    def starved_roles(self) -> tuple[Role, ...]:
        """Roles that a finished round did without. A closing synthesis is Door's word in the newest round.

        In an answer nobody else was to speak.
        """
        if ANSWER in self.marks:
            return ()
        match self.status:
            case Status.ACTIVE:
                last = self.in_round if self.in_round.door else Tally(1, 1, 1)
            case Status.FORCE_CLOSED:
                last = self.in_round
            case _:
                last = self.in_round.plus(Role.DOOR)
        return tuple(role for role in Role if self.missed.of(role) or not last.of(role))


def advance(state: State | None, entry: Entry) -> State:
    """Returns the state after `entry`. It does not judge: `rules.check` does, before."""
    if state is None:
        body = entry.body
        assert isinstance(body, Opened), "a ledger begins with its opening"
        return State(
            thread_id=entry.thread_id,
            mode=body.mode,
            strict_cognition=body.strict_cognition,
            barrier=body.barrier,
            max_turns=body.max_turns,
            max_rounds=body.max_rounds,
            opened_at=entry.at,
            updated_at=entry.at,
            marks=body.marks,
        )
    move = _MOVES.get(type(entry.body))
    moved = move(entry.body, state, entry.seq) if move is not None else {}
    return state._replace(seq=entry.seq, updated_at=entry.at, **moved)


def _give_floor(body: FloorGiven, state: State, seq: int) -> dict[str, Any]:
    return {"floor": body.role}


def _take_turn(body: Turn, state: State, seq: int) -> dict[str, Any]:
    opens = state.opens_round(body.role)
    missed = state.missed
    if opens and state.round:
        missed = Tally(*(count + (not spoken) for count, spoken in zip(missed, state.in_round, strict=True)))
    return {
        "round": state.round + opens,
        "spoken": state.spoken.plus(body.role),
        "in_round": (NOBODY if opens else state.in_round).plus(body.role),
        "missed": missed,
        "floor": None,
        "synthesis_seq": seq if body.role is Role.DOOR else state.synthesis_seq,
    }


def _mark(body: Note, state: State, seq: int) -> dict[str, Any]:
    mark = next((mark for about, mark in _MARKS.items() if about == body.about), None)
    return {} if mark is None or mark in state.marks else {"marks": (*state.marks, mark)}


def _refine(body: Refined, state: State, seq: int) -> dict[str, Any]:
    return {"synthesis_seq": seq, "refinements": body.number}


def _extend(body: Extended, state: State, seq: int) -> dict[str, Any]:
    return {"max_turns": body.max_turns, "max_rounds": body.max_rounds}


def _close(body: Closed, state: State, seq: int) -> dict[str, Any]:
    return {"status": body.status, "floor": None, "synthesis_seq": seq, "closing_seq": seq}


def _force_close(body: ForceClosed, state: State, seq: int) -> dict[str, Any]:
    return {"status": Status.FORCE_CLOSED, "floor": None, "closing_seq": seq}


# What an entry of each kind changes beside the sequence number and the time; the others change nothing.
_MOVES: Mapping[type[Body], Callable[[Any, State, int], dict[str, Any]]] = {
    FloorGiven: _give_floor,
    Turn: _take_turn,
    Note: _mark,
    Refined: _refine,
    Extended: _extend,
    Closed: _close,
    ForceClosed: _force_close,
}


class Line(NamedTuple):
    """An entry with its hash and what stands beside it: the text and its salt, or what became of them.

    `erased_by` is the sequence number of the tombstone that deleted them, `erased_why` that tombstone's reason (None if
    that was deleted too).
    """

    entry: Entry
    hash: str
    text: str | None = None
    salt: str | None = None
    erased_by: int | None = None
    erased_why: str | None = None

    @property
    def turn(self) -> Turn:
        """The body of a turn's line; only lines of turns have it."""
        assert isinstance(self.entry.body, Turn), "this line is no turn"
        return self.entry.body

    @property
    def note(self) -> Note:
        """The body of a note's line; only lines of notes have it."""
        assert isinstance(self.entry.body, Note), "this line is no note"
        return self.entry.body

    @property
    def words(self) -> str:
        """The text for a reader: itself, or a mark that it was redacted and why."""
        if self.text is not None:
            return self.text
        return f"[REDACTED: {self.erased_why}]" if self.erased_why else "[REDACTED]"


def answer_to(link: Link) -> str:
    """What every output says of an answer."""
    return f"to a question about {link}; it decides nothing."


@dataclass(frozen=True, slots=True)
class Said:
    """A committed turn as a seat sees it; T1 has number 1. A person's `agent` is that person's name."""

    number: int
    round: int
    role: Role
    agent: str
    text: str
    human: bool = False


@dataclass(frozen=True, slots=True)
class Remark:
    """Words to the table that are no turn, as a seat sees them; N1 has number 1."""

    number: int
    by: str
    text: str
    human: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A frozen view of a debate at one head: all that a seat may see.

    `refined` is the synthesis as Door refined it after objections; None where its last turn stands as it is.
    """

    head: str
    topic: str
    turns: tuple[Said, ...]
    notes: tuple[Remark, ...]
    refined: str | None = None


@dataclass(frozen=True, slots=True)
class Debate:
    """A thread at one head: its state and its lines, all of them or a window (see `omitted_turns`).

    `plan` is the text that was pinned when a runner opened it.
    """

    state: State
    head: str
    lines: tuple[Line, ...]
    plan: str | None = None
    turns: tuple[Line, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "turns", tuple(line for line in self.lines if isinstance(line.entry.body, Turn)))

    @property
    def opening(self) -> Line:
        return self.lines[0]

    @property
    def opened(self) -> Opened:
        """The body of the opening entry."""
        body = self.opening.entry.body
        assert isinstance(body, Opened), "a ledger begins with its opening"
        return body

    @property
    def answers(self) -> Link | None:
        """Of an answer: the debate that it answers a question about."""
        link = self.opened.link
        return link if link is not None and link.kind is LinkKind.ANSWERS else None

    @property
    def reviews(self) -> Link | None:
        """Of a review: the debate whose decision it starts from."""
        link = self.opened.link
        return link if link is not None and link.kind is LinkKind.REVIEWS else None

    @property
    def replays(self) -> Link | None:
        """Of a replay: the debate that it holds again with something changed."""
        link = self.opened.link
        return link if link is not None and link.kind is LinkKind.REPLAYS else None

    @property
    def closing(self) -> Line | None:
        return self.at(self.state.closing_seq)

    @property
    def synthesis(self) -> Line | None:
        """The closing synthesis; None while the debate is open, and when it was closed by force."""
        line = self.closing
        return line if line is not None and isinstance(line.entry.body, Closed) else None

    @property
    def omitted_turns(self) -> int:
        return self.state.turn_count - len(self.turns)

    def at(self, seq: int | None) -> Line | None:
        return next((line for line in self.lines if line.entry.seq == seq), None)

    def of(self, *kinds: type[Body]) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if isinstance(line.entry.body, kinds))

    def notes(self, *about: About) -> tuple[Line, ...]:
        return tuple(line for line in self.of(Note) if line.note.about in about)

    @property
    def first_words(self) -> tuple[str, ...]:
        """What every output shows first: the marks, each with what is behind it (who is missing and why)."""
        told = {mark: " ".join(line.words for line in self.notes(about)) for about, mark in _MARKS.items()}
        if self.answers is not None:
            told[ANSWER] = answer_to(self.answers)
        return tuple(f"{mark}: {told[mark]}" if told.get(mark) else mark for mark in self.state.marks)

    @property
    def remarks(self) -> tuple[Remark, ...]:
        noted = enumerate(self.notes(About.REMARK), 1)
        return tuple(Remark(number, line.note.by, line.words, bool(line.note.human)) for number, line in noted)

    def snapshot(self) -> Snapshot:
        newest = self.at(self.state.synthesis_seq)
        return Snapshot(
            head=self.head,
            topic=self.opening.words,
            turns=tuple(_said(line) for line in self.turns),
            notes=self.remarks,
            refined=newest.words if newest is not None and isinstance(newest.entry.body, Refined) else None,
        )


def _said(line: Line) -> Said:
    body = line.turn
    speaker = body.agent_role or body.model or "unnamed"
    return Said(body.turn_index + 1, body.round, body.role, speaker, line.words, bool(body.human))


def fold(lines: Iterable[Line]) -> Debate:
    """Returns the debate that a whole ledger tells. The lines begin with the opening, in order."""
    lines = tuple(lines)
    state: State | None = None
    for line in lines:
        state = advance(state, line.entry)
    assert state is not None, "a ledger has an opening"
    return Debate(state, lines[-1].hash, lines)
