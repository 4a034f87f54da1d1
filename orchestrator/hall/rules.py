"""Every rule by which a debate moves, in one table.

`decide` turns a command into the body of the next entry or raises and changes nothing; `check` judges a body against
the state before it, and is what `verify` runs over a whole ledger again. `PERMITTED` says which entries a debate takes
in which status, `GUARDS` what must hold for each kind.

Not here: what the texts must show (cognition.py), who may write (the stores' compare-and-swap).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import (
    BarrierUp,
    CognitionMissing,
    FloorNotGiven,
    InvalidInput,
    LimitReached,
    NotActive,
    OutOfTurn,
    WrongMode,
)
from orchestrator.hall import canonical
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.cognition import findings
from orchestrator.hall.debate import State, Tally
from orchestrator.hall.entries import (
    BODIES,
    Body,
    Closed,
    Extended,
    FloorGiven,
    ForceClosed,
    Note,
    Opened,
    Refined,
    SeatRecord,
    Tombstoned,
    Turn,
    Vote,
    typed,
)
from orchestrator.hall.inputs import (
    MAX_COUNT,
    MAX_LIMIT,
    require_name,
    require_no_secret,
    require_thread_id,
    require_words,
)
from orchestrator.hall.terms import Cognition, Mode, Role, Status

# ---------------------------------------------------------------------------------------------------------- the table

PERMITTED: Mapping[Status | None, frozenset[type[Body]]] = {
    None: frozenset({Opened}),
    Status.ACTIVE: frozenset(
        {FloorGiven, Turn, Vote, Refined, Note, Extended, Tombstoned, Closed, ForceClosed},
    ),
    Status.SYNTHESIS: frozenset({Tombstoned}),
    Status.STALEMATE: frozenset({Tombstoned}),
    Status.FORCE_CLOSED: frozenset({Tombstoned}),
}


def check(state: State | None, body: Body) -> None:
    """Judges the next entry's body against the state before it.

    Raises:
        HallError: the entry is not permitted; its class says which rule.
    """
    status = state.status if state is not None else None
    if type(body) not in PERMITTED[status]:
        if state is None:
            raise NotActive("A ledger begins with its opening.", "Open the debate first (init_debate).")
        raise NotActive(
            f"{state.thread_id} is {state.status}: {_REFUSED.get(type(body), 'this')} is not possible.",
            "A closed debate accepts tombstones only; open a new one to go on."
            if state.status is not Status.ACTIVE
            else "",
        )
    for guard in GUARDS[type(body)]:
        guard(state, body)


_REFUSED: Mapping[type[Body], str] = {
    Opened: "opening it again",
    FloorGiven: "picking a speaker",
    Turn: "a turn",
    Vote: "a vote",
    Refined: "a refinement",
    Note: "a note",
    Extended: "raising its limits",
    Closed: "closing it",
    ForceClosed: "closing it",
}

# ---------------------------------------------------------------------------------------------------------- the guards


def _limits_in_range(state: State | None, body: Any) -> None:
    for name in ("max_turns", "max_rounds"):
        if not 1 <= getattr(body, name) <= MAX_LIMIT:
            raise InvalidInput(f"{name} is {getattr(body, name)}; it can be 1 to {MAX_LIMIT:,}.")


def _names_are_plain(state: State | None, body: Any) -> None:
    for name in _names(body):
        require_name(name)


def _names(body: Any) -> list[str]:
    seat: SeatRecord | None = getattr(body, "seat", None)
    names = [getattr(body, name) for name in _NAMED[type(body)]]
    names += [*getattr(body, "rests_on", ()), *getattr(body, "marks", ())]
    if seat is not None:
        names += [seat.slot, seat.agent, seat.lens, seat.asked, seat.answered, seat.route, *(seat.tried or ())]
    return [name for name in names if name is not None]


_NAMED: Mapping[type[Body], tuple[str, ...]] = {
    kind: tuple(name for name in ("agent_role", "model", "by", "about", "slot", "recipe") if hasattr(kind, name))
    for kind in BODIES.values()
}


def _marks_are_words(state: State | None, body: Opened) -> None:
    for mark in body.marks:
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", mark):
            raise InvalidInput(f"{mark!r} cannot mark a debate.", "A mark is one upper-case word: REHEARSAL.")


def _links_to_a_head(state: State | None, body: Opened) -> None:
    if body.link is None:
        return
    require_thread_id(body.link.thread_id)
    if not canonical.is_digest(body.link.head):
        raise InvalidInput(
            f"{body.link.head!r:.80} is no head of {body.link.thread_id}.", "A head is sha256: and 64 hex digits."
        )


def _is_mediated(state: State, body: FloorGiven) -> None:
    if state.mode is not Mode.MEDIATED:
        raise WrongMode(
            f"{state.thread_id} is in fixed mode: its order is Wind, Wall, Door.",
            "Add the next role's turn (see next_role in get_debate); picks are for mediated mode.",
        )


def _within_limits(state: State, body: FloorGiven | Turn) -> None:
    reason = _limit_met(state, body.role)
    if reason:
        raise LimitReached(f"{state.thread_id}: {reason}", "Close it with a synthesis (close_debate).")


def _limit_met(state: State, role: Role) -> str:
    if state.turn_count >= state.max_turns:
        return f"all {state.max_turns} turns are taken (max_turns)."
    if state.round_of(role) > state.max_rounds:
        return f"a turn of {role} would open round {state.round_of(role)} of {state.max_rounds} (max_rounds)."
    return ""


def _has_the_word(state: State, body: Turn) -> None:
    if state.mode is Mode.FIXED and body.role is not _next_in_order(state):
        raise OutOfTurn(
            f"{state.thread_id} expects {_next_in_order(state)}, not {body.role} (fixed mode: Wind, Wall, Door).",
            f"Add the turn of {_next_in_order(state)}.",
        )
    if state.mode is Mode.MEDIATED and body.role is not state.floor:
        has = f"{state.floor} has the floor" if state.floor else "nobody has the floor"
        raise FloorNotGiven(
            f"{state.thread_id} is in mediated mode and {has}: a turn of {body.role} needs a pick.",
            f'Call pick_next_speaker with role "{body.role}", then add the turn.',
        )


def _barrier_is_down(state: State, body: FloorGiven | Turn) -> None:
    if state.barrier and body.role is Role.DOOR:
        _require_both_sides(state.in_round, f"{state.thread_id}: Door cannot speak in round {max(state.round, 1)}")


def _both_sides_were_heard(state: State, body: Closed) -> None:
    """In the round that is still open; in a debate that has no turn left, anywhere in it."""
    if not state.barrier or (state.round and not state.round_is_open):
        return
    if legal_roles(state):
        _require_both_sides(state.in_round, f"{state.thread_id} cannot be closed in round {max(state.round, 1)}")
    else:
        _require_both_sides(
            state.spoken, f"{state.thread_id} has no turn left and cannot be closed", "Raise its limits"
        )


def _require_both_sides(heard: Tally, refused: str, first: str = "") -> None:
    absent = [role for role in (Role.WIND, Role.WALL) if not heard.of(role)]
    if absent:
        raise BarrierUp(
            f"{refused} before {' and '.join(absent)} {'has' if len(absent) == 1 else 'have'} spoken.",
            f"{first or f'Add a turn of {absent[0]} first'}; to end it as it is there is force_close_debate.",
        )


def _is_numbered_next(state: State, body: Turn) -> None:
    if body.turn_index != state.turn_count or body.round != state.round_of(body.role):
        raise InvalidInput(f"Turn {body.turn_index} of round {body.round} is not the next turn of {state.thread_id}.")


def _counts_are_counts(state: State, body: Any) -> None:
    seat = body.seat
    counts = [getattr(body, name, None) for name in ("token_input", "token_output", "token_total")]
    counts += [seat.input, seat.cached, seat.output, seat.summarised, seat.thinking, seat.reused] if seat else []
    for count in counts:
        if count is not None and not 0 <= count <= MAX_COUNT:
            raise InvalidInput(f"A number of tokens is 0 to {MAX_COUNT:,}.")
    if seat and seat.cost is not None and not re.fullmatch(r"[0-9]+(\.[0-9]+)?", seat.cost):
        raise InvalidInput(f"A cost is a decimal number of US dollars, not {seat.cost!r}.")


def _has_the_cognition(state: State, body: Turn) -> None:
    if state.strict_cognition and body.cognition is not body.role.cognition:
        raise CognitionMissing(
            f"{body.role} speaks as {body.role.cognition}, not as {body.cognition} (strict_cognition).",
            f'Send cognition "{body.role.cognition}", or leave it out.',
            (f"The cognition of {body.role} is {body.role.cognition}.",),
        )


def _has_a_synthesis(state: State, body: Vote | Refined) -> None:
    if state.synthesis_seq is None:
        raise BarrierUp(f"{state.thread_id} has no synthesis yet.", "Door speaks first.")


def _is_on_the_newest_synthesis(state: State, body: Vote) -> None:
    if body.on != state.synthesis_seq:
        raise InvalidInput(f"A vote goes to the newest synthesis, entry {state.synthesis_seq}, not entry {body.on}.")


def _is_the_next_refinement(state: State, body: Refined) -> None:
    if body.number != state.refinements + 1:
        raise InvalidInput(f"The next refinement is number {state.refinements + 1}, not {body.number}.")


def _answers_earlier_entries(state: State, body: Refined) -> None:
    for seq in body.answers:
        if not 0 <= seq <= state.seq:
            raise InvalidInput(f"{state.thread_id} has no entry {seq} to answer; its newest is {state.seq}.")


def _raises_limits(state: State, body: Extended) -> None:
    before, after = (state.max_turns, state.max_rounds), (body.max_turns, body.max_rounds)
    if after == before or after[0] < before[0] or after[1] < before[1]:
        raise InvalidInput(
            f"{state.thread_id} has {before[0]} turns and {before[1]} rounds; limits are only ever raised.",
        )


def _target_is_earlier(state: State, body: Tombstoned) -> None:
    if not 0 <= body.target <= state.seq:
        raise InvalidInput(f"{state.thread_id} has no entry {body.target}; its newest is {state.seq}.")


def _ends_a_debate(state: State, body: Closed) -> None:
    if body.status not in (Status.SYNTHESIS, Status.STALEMATE):
        raise InvalidInput(f"A debate closes as synthesis or stalemate, not as {body.status}.")


GUARDS: Mapping[type[Body], tuple[Callable[[Any, Any], None], ...]] = {
    Opened: (_limits_in_range, _names_are_plain, _marks_are_words, _links_to_a_head),
    FloorGiven: (_is_mediated, _within_limits, _barrier_is_down),
    Turn: (
        _within_limits,
        _has_the_word,
        _barrier_is_down,
        _is_numbered_next,
        _has_the_cognition,
        _names_are_plain,
        _counts_are_counts,
    ),
    Vote: (_has_a_synthesis, _is_on_the_newest_synthesis, _names_are_plain, _counts_are_counts),
    Refined: (
        _has_a_synthesis,
        _is_the_next_refinement,
        _answers_earlier_entries,
        _names_are_plain,
        _counts_are_counts,
    ),
    Note: (_names_are_plain, _counts_are_counts),
    Extended: (_limits_in_range, _raises_limits, _names_are_plain),
    Tombstoned: (_target_is_earlier,),
    Closed: (_ends_a_debate, _both_sides_were_heard),
    ForceClosed: (),
}

# -------------------------------------------------------------------------------------------------- whose turn it is


def legal_roles(state: State) -> tuple[Role, ...]:
    """The roles whose turn (or pick, in mediated mode) would be accepted now."""
    if state.status is not Status.ACTIVE:
        return ()
    candidates = (_next_in_order(state),) if state.mode is Mode.FIXED else _ORDER
    return tuple(role for role in candidates if not _limit_met(state, role) and not _barred(state, role))


def next_role(state: State) -> Role | None:
    """Fixed mode: the next role. Mediated: who has the floor. None when nobody, or no turn is left."""
    roles = legal_roles(state)
    if state.mode is Mode.MEDIATED:
        return state.floor if state.floor in roles else None
    return roles[0] if roles else None


def turns_before(state: State, role: Role) -> int | None:
    """How many turns of others stand at least before a role's next legal one: 0 when it is legal now.

    None when none is left within the debate's limits.
    """
    if state.status is not Status.ACTIVE:
        return None
    if state.mode is Mode.FIXED:
        ahead = (_ORDER.index(role) - state.turn_count) % len(_ORDER)
        round_ = (state.turn_count + ahead) // len(_ORDER) + 1
    else:
        ahead = sum(not state.in_round.of(side) for side in (Role.WIND, Role.WALL)) if _barred(state, role) else 0
        round_ = max(state.round, 1) if ahead else state.round_of(role)
    fits = state.turn_count + ahead < state.max_turns and round_ <= state.max_rounds
    return ahead if fits else None


_ORDER = tuple(Role)


def _next_in_order(state: State) -> Role:
    return _ORDER[state.turn_count % len(_ORDER)]


def _barred(state: State, role: Role) -> bool:
    return role is Role.DOOR and state.barrier and not (state.in_round.wind and state.in_round.wall)


# --------------------------------------------------------------------------------------- commands: text and values in


@dataclass(frozen=True, slots=True)
class Command:
    """What somebody asks for.

    Args:
        make: the body it would become, from the state before it and the digest of its text.
        words: its free text, where that kind has one.
        what: what that text is called: content, topic, synthesis, reason, …
    """

    make: Callable[[State | None, str], Body]
    words: SaltedText | None = None
    what: str = "text"


def decide(state: State | None, command: Command) -> Body:
    """Returns the body of the next entry.

    Raises:
        HallError: it is not permitted; nothing has changed.
    """
    words = command.words
    if words is not None:
        require_words(words.text, command.what)
    body = typed(command.make(state, words.digest if words else ""))
    check(state, body)
    # Not in `check`: a ledger verifies on every machine, and each has other keys.
    require_no_secret(" ".join(_names(body)), "name of an agent, model or author")
    if isinstance(body, Turn) and state is not None and state.strict_cognition and words is not None:
        _require_cognition(body.role, words.text)
    return body


def add_turn(role: Role, cognition: Cognition | None, words: SaltedText, audit: Mapping[str, Any]) -> Command:
    """The command for one turn; `audit` are the fields of `entries.Turn` that record who spoke and what it took."""

    def make(state: State | None, digest: str) -> Turn:
        index, number = (state.turn_count, state.round_of(role)) if state else (0, 1)
        spoken_as = cognition or role.cognition
        return Turn(digest=digest, turn_index=index, round=number, role=role, cognition=spoken_as, **audit)

    return Command(make, words, "content")


def _require_cognition(role: Role, text: str) -> None:
    missing = findings(role, text)
    if missing:
        raise CognitionMissing(
            f"This turn of {role} does not show {role.cognition} (strict_cognition): {' '.join(missing)}",
            "Write it again with what is missing, then add it.",
            missing,
        )
