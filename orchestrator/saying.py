"""What a person says in a debate, at the next moment at which the hall takes it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from orchestrator.agenda import left_of, rounds_of
from orchestrator.errors import BarrierUp, FloorNotGiven, LimitReached, NotActive, OutOfTurn
from orchestrator.hall.debate import State
from orchestrator.hall.hall import Hall
from orchestrator.hall.rules import next_role, turns_before
from orchestrator.hall.terms import About, Mode, Role, Status
from orchestrator.plan import Plan

LOOK_S = 0.02  # between two looks whether it is the words' turn
ROUND_TURNS = 3  # of a round that is asked for in a debate without a plan


class Words(NamedTuple):
    """What a person has to say: as a role, or as a note to Door (None); `by` is the person's name."""

    text: str
    by: str
    role: Role | None


class Spoken(NamedTuple):
    """Words that are on the ledger: T5 or N1, and the head that they made."""

    name: str
    head: str


def say_now(hall: Hall, thread_id: str, words: Words) -> Spoken | None:
    """Says words if it is their moment; None when others have to speak before them.

    Raises:
        LimitReached: no turn of that role is left; NotActive: the debate is closed.
        HallError: the hall does not take them. Nothing was written.
    """
    if words.role is None:
        noted = hall.remark(thread_id, words.text, words.by)
        return Spoken(f"N{_number_of(hall, thread_id, noted['seq'])}", noted["head"])
    if not is_their_moment(hall, thread_id, words):
        return None
    try:
        turn = hall.say(thread_id, words.role, words.text, words.by)
    except (OutOfTurn, FloorNotGiven, BarrierUp):  # somebody was faster
        return None
    return Spoken(f"T{turn['turn_index'] + 1}", turn["head"])


def is_their_moment(hall: Hall, thread_id: str, words: Words) -> bool:
    """Whether words can be said now, without cutting others short.

    Raises:
        LimitReached: no turn of that role is left; NotActive: the debate is closed.
    """
    role = words.role
    return role is None or not (_turns_ahead(hall.state(thread_id), role) or _cuts_short(hall, thread_id, role))


def say(hall: Hall, thread_id: str, words: Words, waiting: Callable[[str], None], *, patient: bool = False) -> Spoken:
    """Says words at the next moment at which the hall takes them.

    Args:
        waiting: told once, in a sentence, what the words wait for.
        patient: wait for it also where no run goes on, and other people or agents have to speak first.

    Raises:
        OutOfTurn: others have to speak first, and nobody runs the debate.
        HallError: as `say_now` says. Nothing was written.
    """
    told = False
    while True:
        before = _standing(hall, thread_id)
        spoken = say_now(hall, thread_id, words)
        if spoken is not None:
            return spoken
        why = _what_it_waits_for(hall.state(thread_id), words.role)
        if not patient:
            _require_a_run(hall, thread_id, why)
        if not told:
            waiting(why)
            told = True
        while _standing(hall, thread_id) == before:  # to see more would be to read the whole debate each time
            time.sleep(LOOK_S)


def stands(hall: Hall, thread_id: str, words: Words, since: int) -> bool:
    """Whether words were said, after an entry: who interrupted them cannot know."""
    said = (line for line in hall.debate(thread_id).lines if line.entry.seq > since and line.text == words.text)
    return any(getattr(line.entry.body, "human", None) for line in said)


def open_round(hall: Hall, thread_id: str, by: str) -> None:
    """Asks for another round, as large as the plan's last one.

    Raises:
        NotActive: the debate is closed.
    """
    plan = Plan.pinned_in(hall.debate(thread_id))
    turns = len(plan.rounds[-1].seats) if plan else ROUND_TURNS
    hall.ask_for_round(thread_id, turns, by, f"{by} asks for another round.")


def end(hall: Hall, thread_id: str, by: str) -> None:
    """Ends a debate after the round that is over: Door says its last word, and no further round is held.

    Raises:
        NotActive: the debate is closed.
    """
    number = hall.state(thread_id).round
    words = f"{by} ended the debate {f'after round {number}' if number else 'before its first round was over'}."
    hall.note(thread_id, words, About.SETTLED.value, by, human=True)


def has_room(hall: Hall, thread_id: str, role: Role) -> bool:
    """Whether a turn of a role is left within the debate's limits."""
    return turns_before(hall.state(thread_id), role) is not None


def _turns_ahead(state: State, role: Role) -> int:
    if state.status is not Status.ACTIVE:
        raise NotActive(f"{state.thread_id} is closed ({state.status}): nothing was said.", "Open a new one to go on.")
    ahead = turns_before(state, role)
    if ahead is None:
        raise LimitReached(
            f"{state.thread_id} has no turn of {role} left ({state.turn_count} of {state.max_turns} turns, round "
            f"{state.round} of {state.max_rounds}): nothing was said.",
            "Say it in another round (--another-round), or without --role as a note that Door answers.",
        )
    return ahead


def _cuts_short(hall: Hall, thread_id: str, role: Role) -> bool:
    """Whether a turn would end a round in which a run has still somebody to hear: Door's for Winds and Walls, that of
    a Wind or Wall which opens the next round for Doors."""
    state = hall.state(thread_id)
    ends_for = (Role.WIND, Role.WALL) if role is Role.DOOR else (Role.DOOR,) if state.opens_round(role) else ()
    if not ends_for or not state.round or not _is_run(hall, thread_id):
        return False
    debate = hall.debate(thread_id)
    plan = Plan.pinned_in(debate)
    rounds = rounds_of(plan, debate).all if plan else ()
    here = [planned for planned in rounds if planned.number == debate.state.round]
    return any(left_of(planned, side, debate) for planned in here for side in ends_for)


def _what_it_waits_for(state: State, role: Role | None) -> str:
    if state.mode is Mode.FIXED:
        return f"{state.thread_id} waits for {next_role(state)} (fixed mode: Wind, Wall, Door), not yet for {role}."
    return f"{state.thread_id} takes a turn of {role} once those who come before it in this round have spoken."


def _require_a_run(hall: Hall, thread_id: str, why: str) -> None:
    if not _is_run(hall, thread_id):
        raise OutOfTurn(
            f"{why} Nobody runs it now, so nothing was said.", "Say it when it is its turn, or wait for it with --wait."
        )


def _standing(hall: Hall, thread_id: str) -> tuple[int, bool]:
    """What a moment to speak can come from: a new entry, or a run that goes on no more."""
    return hall.state(thread_id).seq, _is_run(hall, thread_id)


def _is_run(hall: Hall, thread_id: str) -> bool:
    row = hall.runs.row(thread_id)
    return row is not None and hall.runs.is_alive(row)


def _number_of(hall: Hall, thread_id: str, seq: int) -> int:
    """The number of a note to the table, by its entry."""
    debate = hall.debate(thread_id)
    return next(number for number, line in enumerate(debate.notes(About.REMARK), 1) if line.entry.seq == seq)
