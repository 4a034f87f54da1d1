"""What is left to do and what may be built on, read off the ledger and never remembered.

Pure functions of a plan and a debate: so a run sees the turns of other writers, and one that starts again later sees
its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from orchestrator.decision.constraints import Outcome, constraints_of, open_blocks
from orchestrator.decision.grounds import Grounds, walls_of
from orchestrator.decision.people import unanswered
from orchestrator.decision.seating import missing
from orchestrator.errors import RunPaused
from orchestrator.hall import structure
from orchestrator.hall.debate import Debate, Line, fold
from orchestrator.hall.entries import Extended, Note, Refined, Tombstoned, Turn, Vote
from orchestrator.hall.terms import About, Role
from orchestrator.hall.verdict import Verdict
from orchestrator.plan import Plan, PlannedRound, PlannedSeat, slot_name

CLOSING = "close"  # the place of the seats with which Door closes before the plan's end
LAST_WORD = "last"  # the place of the seat with which it answers what people said since it spoke


def left_of(planned: PlannedRound, role: Role, debate: Debate) -> tuple[PlannedSeat, ...]:
    """The seats of a role that have still to speak in a round, as the ledger tells.

    A turn of somebody else takes the place of the next seat. Once a later round has begun nobody of this one speaks any
    more, and once Door has spoken no Wind and no Wall: their turn would open the next round.
    """
    spoken = [line.turn for line in debate.turns if line.turn.round == planned.number]
    over = debate.state.round > planned.number
    closing = role is not Role.DOOR and any(turn.role is Role.DOOR for turn in spoken)
    if over or closing:
        return ()
    turns = [turn for turn in spoken if turn.role is role]
    done = {turn.seat.slot for turn in turns if turn.seat} | missing(debate)
    foreign = sum(turn.seat is None for turn in turns)
    return tuple(seat for seat in planned.of(role) if seat.slot not in done)[foreign:]


class Rounds(NamedTuple):
    """The rounds to hold: the planned ones, as far as nobody found them needless, and those that people asked for."""

    planned: tuple[PlannedRound, ...]
    asked: tuple[PlannedRound, ...]

    @property
    def all(self) -> tuple[PlannedRound, ...]:
        return (*self.planned, *self.asked)


def rounds_of(plan: Plan, debate: Debate) -> Rounds:
    """The rounds to hold. One that was asked for has the seats of the last planned one.

    Where the run found that nothing is open, planned rounds go and those that people asked for come next; a person who
    ends the debate wants none of them.
    """
    rounds, spoken = Rounds(plan.rounds, ()), 0
    for line in debate.of(Turn, Note, Extended):
        body = line.entry.body
        if isinstance(body, Turn):
            spoken = body.round
        elif isinstance(body, Note) and body.about == About.SETTLED:
            begun = Rounds(*(tuple(one for one in some if one.number <= max(spoken, 1)) for some in rounds))
            more = 0 if body.human else len(rounds.asked) - len(begun.asked)
            rounds = _with_more(plan, begun, spoken, more)
        elif isinstance(body, Extended) and body.human:
            rounds = _with_more(plan, rounds, spoken, 1)
    return rounds


def _with_more(plan: Plan, rounds: Rounds, spoken: int, more: int) -> Rounds:
    last = max(spoken, rounds.all[-1].number)
    numbers = range(last + 1, last + 1 + more)
    return rounds._replace(asked=(*rounds.asked, *(_again(plan.rounds[-1], number) for number in numbers)))


def next_round(plan: Plan, debate: Debate) -> PlannedRound | None:
    """The round in which somebody has still to speak, one that others opened first; None when there is none."""
    numbers = [planned.number for planned in plan.rounds]
    if debate.state.round_is_open and debate.state.round not in numbers:
        return answering_round(plan, debate)
    return next((planned for planned in plan.rounds if any(left_of(planned, role, debate) for role in Role)), None)


def owes_last_word(debate: Debate) -> bool:
    """Whether Door has to speak once more before the close: people said something since its last word, or ended the
    debate before its plan did."""
    last = debate.state.synthesis_seq or 0
    ended = [line for line in debate.notes(About.SETTLED) if line.note.human and line.entry.seq > last]
    return bool(ended) or any(word.seq > last for word in unanswered(debate))


def last_word_round(plan: Plan, debate: Debate) -> PlannedRound:
    """Door alone, in the newest round."""
    door = _seated_in(debate.state.round, plan.rounds[-1].doors[-1], LAST_WORD)
    return PlannedRound(number=debate.state.round, winds=(), walls=(), doors=(door,), closes=True)


def _again(planned: PlannedRound, number: int) -> PlannedRound:
    def renamed(seats: Iterable[PlannedSeat]) -> tuple[PlannedSeat, ...]:
        return tuple(_seated_in(number, seat, place) for place, seat in enumerate(seats, 1))

    winds, walls, doors = map(renamed, (planned.winds, planned.walls, planned.doors))
    return PlannedRound(number=number, winds=winds, walls=walls, doors=doors)


def answering_round(plan: Plan, debate: Debate) -> PlannedRound:
    """One voice a role for a round that is not in the plan, from the seats of the last planned one."""
    last, number = plan.rounds[-1], debate.state.round
    wind, wall, door = (_seated_in(number, seat) for seat in (last.winds[0], last.walls[0], last.doors[-1]))
    return PlannedRound(number=number, winds=(wind,), walls=(wall,), doors=(door,))


def closing_round(plan: Plan, debate: Debate) -> PlannedRound | None:
    """The fewest seats with which Door can end the debate in its newest round; None before Wind has spoken in it."""
    spoken, number = debate.state.in_round, debate.state.round
    if not spoken.wind:
        return None
    last = plan.rounds[-1]
    left = [seat for planned in plan.rounds if planned.number == number for seat in left_of(planned, Role.WALL, debate)]
    wall = left[0] if left else _seated_in(number, last.walls[0], CLOSING)
    door = _seated_in(number, last.doors[-1], CLOSING)
    return PlannedRound(number=number, winds=(), walls=() if spoken.wall else (wall,), doors=(door,), closes=True)


def is_held(plan: Plan, debate: Debate) -> bool:
    """Whether the rounds are over: nobody of the plan has still to speak."""
    return not any(left_of(planned, role, debate) for planned in plan.rounds for role in Role)


def nothing_is_open(plan: Plan, debate: Debate, number: int) -> bool:
    """Whether a round has left nothing to debate.

    Door's last word in it says that no question is open; every Wall of it approves and rests on something that exists;
    every constraint so far has an answer that closes it, and no block stands.
    """
    turns = [line for line in debate.turns if line.turn.round == number]
    doors = [line.text or "" for line in turns if line.turn.role is Role.DOOR]
    if plan.only_asks(number) or not doors or not leaves_no_question(doors[-1]):
        return False
    constraints = constraints_of(debate, since=plan.first_position)
    if open_blocks(constraints) or any(each.outcome is Outcome.OPEN for each in constraints):
        return False
    walls = walls_of(debate, Grounds.of(debate, plan.evidence), number)
    return bool(walls) and all(wall.verdict is Verdict.APPROVED and wall.rests_on for wall in walls)


_OPEN = structure.section(r"open(?:\squestions?)?")


def leaves_no_question(text: str) -> bool:
    """Whether Door's turn says under OPEN that no question is open: the one word NONE."""
    under = [line.text.strip(" .*_`") for line in structure.under(structure.lines(text), _OPEN)]
    return [words.upper() for words in under if words] == ["NONE"]


def closing_word_is_said(debate: Debate) -> bool:
    """Whether Door's newest word is the one with which it closes before the plan's end."""
    line = debate.at(debate.state.synthesis_seq)
    seat = line.entry.body.seat if line and isinstance(line.entry.body, Turn | Refined) else None
    return seat is not None and seat.slot.endswith(f".{CLOSING}")


def _seated_in(number: int, seat: PlannedSeat, place: int | str = 1) -> PlannedSeat:
    return seat.model_copy(update={"slot": slot_name(number, seat.role, place)})


def changes(debate: Debate) -> int:
    """How often what may be built on has changed: turns, votes, refinements and remarks that came, words that went."""
    return sum(map(_changes, debate.lines))


def _changes(line: Line) -> bool:
    body = line.entry.body
    return isinstance(body, Turn | Vote | Refined | Tombstoned) or (
        isinstance(body, Note) and body.about == About.REMARK
    )


def before_round(debate: Debate, number: int) -> Debate:
    """The debate as it stood before a round's first turn."""
    first = next((line.entry.seq for line in debate.turns if line.turn.round == number), None)
    return fold(debate.lines[:first])


def before_siblings(debate: Debate, role: Role, number: int) -> Debate:
    """The debate as it stood before the newest turns, as far as they are the run's own of one role in one round.

    They were drafted beside those that are still to come: a process that died between their commits, and one that goes
    on for it, ask the same.
    """
    end = len(debate.lines)
    for line in filter(_changes, reversed(debate.lines)):
        body = line.entry.body
        if not isinstance(body, Turn) or body.seat is None or (body.role, body.round) != (role, number):
            break
        end = line.entry.seq
    return fold(debate.lines[:end])


def last_word(debate: Debate) -> str:
    """Door's newest word, a turn or a refinement, with which a debate closes.

    Raises:
        RunPaused: it was redacted.
    """
    line = debate.at(debate.state.synthesis_seq)
    assert line is not None, "Door has spoken"
    if line.text is None:
        raise RunPaused(
            f"Door's last word in {debate.state.thread_id} was redacted, so there is no synthesis to close with.",
            "Close it with a synthesis of your own (close_debate).",
        )
    return line.text
