"""What `debate-hall tombstone` does and says."""

from __future__ import annotations

from typing import Any

from orchestrator import report_copies
from orchestrator.cli.showing import hall
from orchestrator.hall import redaction
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Closed, Extended, ForceClosed, Note, Opened, Refined, Tombstoned, Turn, Vote
from orchestrator.inquiry import answers_to
from orchestrator.quotes import quotes_run

_WHAT = {
    Opened: "topic",
    Vote: "vote",
    Refined: "refined synthesis",
    Note: "note",
    Extended: "reason",
    Tombstoned: "reason",
    Closed: "synthesis",
    ForceClosed: "reason",
}


def redact(thread_id: str, turn_index: int | None, seq: int | None, reason: str) -> tuple[dict[str, Any], str]:
    """Redacts a turn, or the text of an entry.

    Returns:
        the hall's answer, with the entries in which a run of its words still stands, those of answers to questions
        about the debate too, and the command that redacts each; as a value and as text for people.

    Raises:
        HallError: nothing was written.
    """
    with hall() as opened:
        before = opened.debate(thread_id)
        target = _target(before, turn_index, seq)
        report_copies.forget(before.state.thread_id)
        result = opened.tombstone(thread_id, target.entry.seq, reason)
        after = opened.debate(thread_id)
        told = (after, *answers_to(opened, after))
        quoting = [line for debate in told for line in _quoting(debate, target.text or "")]
    commands = [
        {"thread_id": line.entry.thread_id, "seq": line.entry.seq, "command": _command(line)} for line in quoting
    ]
    return {**result, "still_quoted": commands}, _said(before, target, result, quoting)


def _target(debate: Debate, turn_index: int | None, seq: int | None) -> Line:
    if turn_index is not None:
        return redaction.turn_at(debate, turn_index)
    assert seq is not None, "the command asks for one of the two"
    return redaction.text_at(debate, seq)


def _quoting(debate: Debate, text: str) -> list[Line]:
    return [line for line in debate.lines if line.text is not None and quotes_run(line.text, [text])]


def _command(line: Line) -> str:
    return f'debate-hall tombstone {line.entry.thread_id} --seq {line.entry.seq} --reason "…"'


def _said(before: Debate, target: Line, result: Any, quoting: list[Line]) -> str:
    thread_id = before.state.thread_id
    said = [f"{_name(target)} of {thread_id} is redacted; the chain still verifies."]
    if result["also_redacted"]:
        again = ", ".join(_name(before.lines[seq]) for seq in result["also_redacted"])
        said.append(f"Redacted with it, because the same stands there: {again}.")
    if isinstance(target.entry.body, Opened):
        said.append(f"The thread id cannot be redacted, since every hash covers it: {thread_id}.")
    if quoting:
        said.append("Words of it still stand elsewhere; to redact those too:")
        said += [f"  {_name(line)}: {_command(line)}" for line in quoting]
    if result["erased"] == "pending":
        said.append("A reader keeps old pages alive: the last traces go when the hall is next opened without it.")
    said.append("Files exported before still hold the text: export them again, or delete them.")
    return "\n".join(said) + "\n"


def _name(line: Line) -> str:
    body = line.entry.body
    return f"T{body.turn_index + 1}" if isinstance(body, Turn) else f"Entry {line.entry.seq} ({_WHAT[type(body)]})"
