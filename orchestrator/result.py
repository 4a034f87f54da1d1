"""A run's outcome as one JSON object: the same whether it decided, paused or never began."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from orchestrator.decision.record import DecisionRecord
from orchestrator.errors import DebateError
from orchestrator.hall.debate import DEGRADED, Debate, Line
from orchestrator.hall.terms import Status
from orchestrator.journal import Uncertain
from orchestrator.question import Named
from orchestrator.secrets import scrub
from orchestrator.usage import NOTHING, Usage, amount

SCHEMA = "run-debate/result/v1"

_NOTHING: dict[str, Any] = {
    "schema": SCHEMA,
    "thread_id": None,
    "status": None,
    "exit_code": 0,
    "decision": None,
    "record": None,
    "head": None,
    "rounds": 0,
    "turns": [],
    "tokens": {"input": 0, "cached": 0, "output": 0},
    "cost_usd": "0",
    "quote": None,
    "replay": None,
    "rehearsal": False,
    "degraded": False,
    "substitutions": [],
    "uncertain": [],
    "warnings": [],
    "files": [],
    "error": None,
}


def decided(
    debate: Debate,
    record: DecisionRecord,
    spent: Usage,
    files: Sequence[Path],
    exit_code: int,
    uncertain: Sequence[Uncertain] = (),
    quote: dict[str, Any] | None = None,
    replay: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The outcome of a run that came to its end; tokens and cost are those of all its calls, of every process.

    Args:
        quote: what it was to take, as `Quote.described` tells it.
        replay: of a replay, how it differs from the debate that it replays.
    """
    plain = record.model_dump(mode="json", by_alias=True)
    return {
        **_NOTHING,
        "thread_id": record.thread_id,
        "status": record.status,
        "exit_code": exit_code,
        "decision": record.decision,
        "record": plain,
        "head": record.head,
        "rounds": debate.state.round,
        "turns": [_turn(line) for line in debate.turns],
        **_taken(spent),
        "quote": quote,
        "replay": replay,
        "rehearsal": record.rehearsal,
        "degraded": bool(record.degraded),
        "uncertain": [_call(call) for call in uncertain],
        "substitutions": plain["substitutions"],
        "warnings": plain["warnings"],
        "files": [str(file) for file in files],
        "error": _why_it_was_stopped(debate),
    }


def _why_it_was_stopped(debate: Debate) -> dict[str, str] | None:
    status = debate.state.status
    if status is not Status.FORCE_CLOSED or debate.closing is None:
        return None
    message = f"{debate.state.thread_id} was closed by force: {debate.closing.words}"
    return {"code": status.value, "message": message}


def failed(
    error: DebateError,
    exit_code: int,
    rehearsal: bool = False,
    spent: Usage = NOTHING,
    debate: Debate | None = None,
    uncertain: Sequence[Uncertain] = (),
    quote: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The outcome of a run that did not come to its end: what happened, what it took, and the turns that stand."""
    outcome = {
        **_NOTHING,
        "rehearsal": rehearsal,
        "exit_code": exit_code,
        "error": told(error),
        "uncertain": [_call(call) for call in uncertain],
        **_taken(spent),
        "quote": quote,
    }
    if debate is None:
        return outcome
    return {
        **outcome,
        "thread_id": debate.state.thread_id,
        "status": debate.state.status,
        "degraded": DEGRADED in debate.state.marks,
        "head": debate.head,
        "rounds": debate.state.round,
        "turns": [_turn(line) for line in debate.turns],
    }


def _taken(spent: Usage) -> dict[str, Any]:
    return {
        "tokens": {"input": spent.input, "cached": spent.cached, "output": spent.output},
        "cost_usd": amount(spent.cost_usd),
    }


def _call(call: Uncertain) -> dict[str, Any]:
    """A call whose outcome nobody knows; tokens and cost are the most it can have taken."""
    return {
        "slot": call.slot,
        "step": call.step,
        "attempt": call.attempt,
        "model": call.route,
        "at": call.at,
        "tokens": call.bound.tokens,
        "cost_usd": amount(call.bound.cost_usd),
    }


_NO_ANSWER: dict[str, Any] = {
    "schema": "run-debate/answer/v1",
    "thread_id": None,
    "about": None,
    "status": None,
    "exit_code": 0,
    "question": None,
    "answer": None,
    "names": [],
    "incomplete": [],
    "agent": None,
    "model": None,
    "head": None,
    **_taken(NOTHING),
    "quote": None,
    "uncertain": [],
    "warnings": [],
    "error": None,
}


def answered(
    debate: Debate,
    record: DecisionRecord,
    named: Iterable[Named],
    spent: Usage,
    uncertain: Sequence[Uncertain],
    exit_code: int,
) -> dict[str, Any]:
    """The outcome of a question about a debate, with every turn, constraint and citation that the answer names.

    Who asked adds the question, and the debate that it is about.
    """
    body = debate.turns[-1].turn if debate.turns else None
    return {
        **_NO_ANSWER,
        "thread_id": record.thread_id,
        "status": record.status,
        "exit_code": exit_code,
        "answer": debate.synthesis.words if debate.synthesis else None,
        "names": [{"name": each.name, "exists": each.problem is None, "problem": each.problem} for each in named],
        "incomplete": list(record.incomplete),
        "agent": body.agent_role if body else None,
        "model": body.model if body else None,
        "head": record.head,
        **_taken(spent),
        "uncertain": [_call(call) for call in uncertain],
        "warnings": list(record.warnings),
        "error": _why_it_was_stopped(debate),
    }


def not_answered(error: DebateError, exit_code: int, spent: Usage, uncertain: Sequence[Uncertain]) -> dict[str, Any]:
    """The outcome of a question that was not answered: what happened, and what it took."""
    calls = [_call(call) for call in uncertain]
    return {**_NO_ANSWER, "exit_code": exit_code, **_taken(spent), "uncertain": calls, "error": told(error)}


def told(error: DebateError) -> dict[str, str]:
    """An error as the result holds it."""
    return {"code": error.code, "message": scrub(str(error))}


def _turn(line: Line) -> dict[str, Any]:
    body = line.turn
    seat = body.seat
    return {
        "turn_index": body.turn_index,
        "round": body.round,
        "role": body.role,
        "cognition": body.cognition,
        "agent": body.agent_role,
        "human": bool(body.human),
        "lens": seat.lens if seat else None,
        "model": body.model,
        "content": line.words,
        "usage": {"input": seat.input, "cached": seat.cached, "output": seat.output} if seat else None,
        "cost_usd": seat.cost if seat else None,
    }
