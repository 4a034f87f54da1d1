"""A verified debate as text that stands alone: as JSON, and as OCTAVE that people and agents read.

Both hold the whole ledger, so that `exported` reads either back and verifies it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.errors import InvalidInput
from orchestrator.hall import octave, results
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Closed, FloorGiven, ForceClosed, Opened, SeatRecord, Turn, plain, text_of
from orchestrator.hall.octave import Value
from orchestrator.hall.terms import Role, Status

FORMATS = ("json", "octave")
SCHEMA = "debate-hall/debate/v1"
TRANSCRIPT = "DEBATE_TRANSCRIPT"

_VERSION = "1.0"
_REDACTED = "[redacted]"
_CLOSED = "closed"  # octave-mcp's word for the two endings below, which its schema does not know
_ENDINGS = (Status.STALEMATE, Status.FORCE_CLOSED)
_FIELDS = ("THREAD_ID", "TOPIC", "MODE", "STATUS", "PARTICIPANTS", "TURNS", "SYNTHESIS", "MAX_ROUNDS", "MAX_TURNS")
_ELSEWHERE = (Opened, Turn, Closed, ForceClosed, FloorGiven)  # their texts stand as TOPIC, TURNS, SYNTHESIS or REASON


def require_format(format: str) -> None:
    """Judges the name of a format that holds a debate whole.

    Raises:
        InvalidInput: there is none of that name.
    """
    if format not in FORMATS:
        raise InvalidInput(f"format is {format!r}; it is one of {', '.join(FORMATS)}.")


def debate_json(debate: Debate) -> dict[str, Any]:
    """Returns a debate with its whole ledger: each entry's stored bytes, hash, text and salt, and the pinned plan."""
    view = results.debate_result(debate, include_transcript=True, include_metadata=True)
    return {"schema": SCHEMA, **view, "plan": debate.plan, "ledger": [_ledger_line(line) for line in debate.lines]}


def export_json(debate: Debate) -> str:
    return json.dumps(debate_json(debate), ensure_ascii=False, indent=2) + "\n"


def _ledger_line(line: Line) -> dict[str, Any]:
    return {
        "entry": text_of(line.entry),
        "hash": line.hash,
        "text": line.text,
        "salt": line.salt,
        "erased_by": line.erased_by,
    }


def export_octave(
    debate: Debate,
    marks: Sequence[tuple[str, str]] = (),
    record: Mapping[str, Value] | None = None,
    *,
    whole: bool = True,
) -> str:
    """Returns a debate as OCTAVE.

    Args:
        marks: words that stand at the top with the sentences why; else what the ledger itself tells.
        record: what follows from the debate, which only who can read its plan can tell.
        whole: with the ledger and the plan, from which it can be read back; without them it is for reading alone.
    """
    told = marks or tuple(_own_marks(debate))
    members = {
        "META": {
            "TYPE": TRANSCRIPT,
            "VERSION": _VERSION,
            "HEAD": debate.head,
            "OPENED_AT": debate.state.opened_at,
            "UPDATED_AT": debate.state.updated_at,
            "MARKS": tuple(word for word, _ in told) or None,
            **{word: why or None for word, why in told},
        },
        **_outcome(debate),
        "RECORD": record,
        "PARTICIPANTS": tuple(map(str, Role)),
        "MAX_TURNS": debate.state.max_turns,
        "MAX_ROUNDS": debate.state.max_rounds,
        "TURNS": {f"T{line.turn.turn_index + 1}": _turn(line) for line in debate.turns} or (),
        "ENTRIES": {f"E{line.entry.seq}": _entry(line) for line in debate.lines if _stands_alone(line)} or None,
        **(_ledger(debate) if whole else {}),
    }
    return octave.emit(TRANSCRIPT, _present(members))


def key_of(name: str) -> str:
    """Returns the key of a value in a block.

    Wherever a field of octave-mcp's schema stands, it takes it for the document's; so in a block it has another name.
    """
    key = name.upper()
    return f"ITS_{key}" if key in _FIELDS else key


def _own_marks(debate: Debate) -> Iterator[tuple[str, str]]:
    for words in debate.first_words:
        mark, _, why = words.partition(": ")
        yield mark, why


def _outcome(debate: Debate) -> dict[str, Any]:
    state, closing = debate.state, debate.closing
    ending = state.status if state.status in _ENDINGS else None
    return {
        "THREAD_ID": state.thread_id,
        "TOPIC": debate.opening.words,
        "MODE": str(state.mode),
        "STATUS": _CLOSED if ending else str(state.status),
        "OUTCOME": str(ending) if ending else None,
        "REASON": closing.words if closing and not debate.synthesis else None,
        "SYNTHESIS": debate.synthesis.words if debate.synthesis else None,
    }


def _turn(line: Line) -> dict[str, Any]:
    body = line.turn
    return {
        "TURN_INDEX": body.turn_index,
        "ROUND": body.round,
        "ROLE": str(body.role),
        "COGNITION": str(body.cognition),
        "AGENT_ROLE": body.agent_role,
        "MODEL": body.model,
        "HUMAN": body.human,
        **_seat(body.seat),
        "TIMESTAMP": line.entry.at,
        "HASH": line.hash,
        **_words(line, "CONTENT"),
    }


def _entry(line: Line) -> dict[str, Any]:
    """An entry that is neither a turn nor an end: a vote, a refinement, a note, an extension, a tombstone."""
    body = line.entry.body
    told = {key_of(name): value for name, value in plain(body).items() if name not in ("digest", "seat", "original")}
    lists = {key: ", ".join(map(str, value)) or None for key, value in told.items() if isinstance(value, tuple)}
    seat = getattr(body, "seat", None)
    who = {"AGENT_ROLE": seat.agent, "MODEL": seat.answered} if seat else {}
    return {
        "KIND": body.kind,
        **told,
        **lists,
        **who,
        **_seat(seat),
        "TIMESTAMP": line.entry.at,
        "HASH": line.hash,
        **_words(line, "TEXT"),
    }


def _seat(seat: SeatRecord | None) -> dict[str, Any]:
    if seat is None:
        return {}
    return {
        "SLOT": seat.slot,
        "LENS": seat.lens,
        "MODEL_ASKED": seat.asked if seat.route else None,
        "TRIED": "; ".join(seat.tried) if seat.tried else None,
        "TOKENS_IN": seat.input,
        "TOKENS_CACHED": seat.cached,
        "TOKENS_OUT": seat.output,
        "TOKENS_THINKING": seat.thinking,
        "COST_USD": seat.cost,
    }


def _words(line: Line, key: str) -> dict[str, Any]:
    if line.text is not None:
        return {key: line.text}
    return {"REDACTED": line.erased_why or "redacted", key: _REDACTED}


def _stands_alone(line: Line) -> bool:
    return not isinstance(line.entry.body, _ELSEWHERE)


def _ledger(debate: Debate) -> dict[str, Any]:
    """Each entry's stored bytes and its text's salt; the texts stand above, once."""
    stored = {f"E{line.entry.seq}": {"ENTRY": text_of(line.entry), "SALT": line.salt} for line in debate.lines}
    return {"LEDGER": stored, "PLAN": debate.plan}


def _present(members: Mapping[str, Any]) -> dict[str, Value]:
    """What is absent has no line: OCTAVE's null would be one more text that could be meant."""
    return {
        key: _present(value) if isinstance(value, Mapping) else value
        for key, value in members.items()
        if value is not None
    }
