"""What the hall's operations answer: plain mappings with the keys that clients of this protocol read.

Each is made from a `Debate` (or its state) by one function here, so that every face says the same. They are
typing_extensions' TypedDicts, since pydantic, which describes them to MCP clients, reads no others before Python 3.12.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from orchestrator.hall import rules
from orchestrator.hall.cognition import findings
from orchestrator.hall.debate import Debate, Line, State
from orchestrator.hall.entries import Turn, plain
from orchestrator.hall.inputs import thread_id_warnings
from orchestrator.hall.ledger import Standing
from orchestrator.hall.terms import Role


class Summary(TypedDict):
    """A debate in short.

    `marks` are words to show first, such as REHEARSAL; `balance` counts turns by role; `legal_roles` are those whose
    turn would be accepted now.
    """

    thread_id: str
    topic: str
    mode: str
    status: str
    turn_count: int
    max_turns: int
    max_rounds: int
    round: int
    next_role: str | None
    legal_roles: list[str]
    strict_cognition: bool
    barrier: bool
    marks: list[str]
    balance: dict[str, int]
    starved_roles: list[str]
    head: str
    opened_at: str
    updated_at: str
    warnings: list[str]


class Linked(TypedDict):
    """The thread that a debate is about, as it stood at one head; of kind `answers` it answers a question about it."""

    kind: str
    thread_id: str
    head: str


class TranscriptTurn(TypedDict):
    turn_index: int
    round: int
    role: str
    cognition: str
    content: str
    redacted: bool
    agent_role: str | None
    model: str | None
    timestamp: str
    turn_hash: str
    human: NotRequired[bool]  # there, and true, where a person spoke: `agent_role` is that person's name
    seq: NotRequired[int]
    token_input: NotRequired[int | None]
    token_output: NotRequired[int | None]
    token_total: NotRequired[int | None]
    seat: NotRequired[dict[str, Any] | None]
    cognition_warnings: NotRequired[list[str]]


class DebateResult(Summary):
    synthesis: str | None
    omitted_turns: int
    reason: NotRequired[str]  # why it was closed by force
    link: NotRequired[Linked]
    transcript: NotRequired[list[TranscriptTurn]]


class TurnResult(TypedDict):
    thread_id: str
    turn_index: int
    turn_count: int
    round: int
    role: str
    cognition: str
    status: str
    turn_hash: str
    head: str
    next_role: str | None
    legal_roles: list[str]
    cognition_warnings: list[str]


class PickResult(TypedDict):
    thread_id: str
    next_role: str
    mode: str
    round: int
    head: str


class CloseResult(TypedDict):
    thread_id: str
    status: str
    synthesis: str
    turn_count: int
    balance: dict[str, int]
    starved_roles: list[str]
    head: str
    transcript: NotRequired[list[TranscriptTurn]]
    octave: NotRequired[str]


class ForceCloseResult(TypedDict):
    thread_id: str
    status: str
    reason: str
    turn_count: int
    head: str


class TombstoneResult(TypedDict):
    """`seq` is the entry whose text went; `turn_index` is None where that is no turn. `also_redacted` are the entries
    that said it again (a synthesis, say). `erased` is pending while a reader of the store keeps old pages alive, or
    until a server clears them away."""

    thread_id: str
    seq: int
    turn_index: int | None
    reason: str
    original_content_hash: str
    also_redacted: list[int]
    erased: Literal["done", "pending"]
    head: str


class VerifyResult(TypedDict):
    """`newer` counts the entries after the head that was asked for; None when none was."""

    thread_id: str
    verified: Literal[True]
    entries: int
    head: str
    newer: int | None


class EntryResult(TypedDict):
    """For votes, refinements, notes and extensions."""

    thread_id: str
    seq: int
    head: str


class ImportResult(TypedDict):
    """`is_new` is false where the hall held the debate already, to the last entry."""

    thread_id: str
    entries: int
    head: str
    is_new: bool


def summary(standing: Standing, topic: str) -> Summary:
    state = standing.state
    return {
        "thread_id": state.thread_id,
        "topic": topic,
        "mode": state.mode,
        "status": state.status,
        "turn_count": state.turn_count,
        "max_turns": state.max_turns,
        "max_rounds": state.max_rounds,
        "round": state.round,
        "next_role": rules.next_role(state),
        "legal_roles": list(rules.legal_roles(state)),
        "strict_cognition": state.strict_cognition,
        "barrier": state.barrier,
        "marks": list(state.marks),
        "balance": balance(state),
        "starved_roles": list(state.starved_roles),
        "head": standing.head,
        "opened_at": state.opened_at,
        "updated_at": state.updated_at,
        "warnings": list(thread_id_warnings(state.thread_id)),
    }


def debate_result(debate: Debate, *, include_transcript: bool, include_metadata: bool) -> DebateResult:
    synthesis = debate.synthesis
    brief = summary(Standing(debate.head, debate.state), debate.opening.words)
    ending = {"synthesis": synthesis.words if synthesis else None, "omitted_turns": debate.omitted_turns}
    result = cast(DebateResult, {**brief, **ending})
    if debate.closing is not None and synthesis is None:
        result["reason"] = debate.closing.words
    if debate.opened.link is not None:
        result["link"] = cast(Linked, plain(debate.opened.link))
    if include_transcript:
        result["transcript"] = transcript(debate, include_metadata=include_metadata)
    return result


def transcript(debate: Debate, *, include_metadata: bool) -> list[TranscriptTurn]:
    return [_transcript_turn(line, include_metadata) for line in debate.turns]


def _transcript_turn(line: Line, include_metadata: bool) -> TranscriptTurn:
    body = line.turn
    turn: TranscriptTurn = {
        "turn_index": body.turn_index,
        "round": body.round,
        "role": body.role,
        "cognition": body.cognition,
        "content": line.words,
        "redacted": line.text is None,
        "agent_role": body.agent_role,
        "model": body.model,
        "timestamp": line.entry.at,
        "turn_hash": line.hash,
    }
    if body.human:
        turn["human"] = True
    if include_metadata:
        turn["seq"] = line.entry.seq
        turn["token_input"] = body.token_input
        turn["token_output"] = body.token_output
        turn["token_total"] = body.token_total
        turn["seat"] = plain(body.seat) if body.seat else None
        turn["cognition_warnings"] = list(cognition_warnings(body, line.text))
    return turn


def turn_result(turn: Turn, after: Standing, text: str) -> TurnResult:
    state = after.state
    return {
        "thread_id": state.thread_id,
        "turn_index": turn.turn_index,
        "turn_count": state.turn_count,
        "round": turn.round,
        "role": turn.role,
        "cognition": turn.cognition,
        "status": state.status,
        "turn_hash": after.head,
        "head": after.head,
        "next_role": rules.next_role(state),
        "legal_roles": list(rules.legal_roles(state)),
        "cognition_warnings": list(cognition_warnings(turn, text)),
    }


def cognition_warnings(turn: Turn, text: str | None) -> tuple[str, ...]:
    """What a strict debate would have refused about this turn."""
    other = turn.cognition is not turn.role.cognition
    mismatch = (f"{turn.role} spoke as {turn.cognition}, not as {turn.role.cognition}.",) if other else ()
    return mismatch + (findings(turn.role, text) if text is not None else ())


def balance(state: State) -> dict[str, int]:
    return {role.value: state.spoken.of(role) for role in Role}
