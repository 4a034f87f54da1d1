"""A verified debate as text that stands alone: JSON that can be verified again, OCTAVE that people and agents read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from orchestrator.hall import octave, results
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import text_of
from orchestrator.hall.terms import About

SCHEMA = "debate-hall/debate/v1"


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


def export_octave(debate: Debate, broken: Iterable[octave.BrokenCitation] = ()) -> str:
    """Returns a debate as OCTAVE text, its marks at the top.

    Args:
        broken: the citations that do not hold, which only who has the evidence can tell.
    """
    state, synthesis, closing = debate.state, debate.synthesis, debate.closing
    return octave.emit(
        octave.Transcript(
            thread_id=state.thread_id,
            topic=debate.opening.words,
            mode=state.mode,
            status=state.status,
            head=debate.head,
            opened_at=state.opened_at,
            max_turns=state.max_turns,
            max_rounds=state.max_rounds,
            turns=tuple(_octave_turn(line) for line in debate.turns),
            synthesis=synthesis.words if synthesis else None,
            marks=state.marks,
            reason=closing.words if closing and not synthesis else None,
            degraded=_told(debate, About.MISSING),
            closed_early=_told(debate, About.CLOSED_EARLY),
            broken=tuple(broken),
        )
    )


def _told(debate: Debate, about: About) -> str | None:
    return "\n".join(line.words for line in debate.notes(about)) or None


def _octave_turn(line: Line) -> octave.TranscriptTurn:
    body, seat = line.turn, line.turn.seat
    return octave.TranscriptTurn(
        index=body.turn_index,
        round=body.round,
        role=body.role,
        cognition=body.cognition,
        agent_role=body.agent_role,
        model=body.model,
        at=line.entry.at,
        hash=line.hash,
        content=line.text,
        redacted_reason=(line.erased_why or "redacted") if line.text is None else None,
        asked=seat.asked if seat and seat.route else None,
        tried="; ".join(seat.tried) if seat and seat.tried else None,
    )
