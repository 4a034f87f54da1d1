"""What `debate-hall tombstone` does and says."""

from __future__ import annotations

from orchestrator.cli.showing import hall
from orchestrator.hall.debate import Line
from orchestrator.hall.entries import Closed, Extended, ForceClosed, Note, Opened, Refined, Tombstoned, Turn, Vote
from orchestrator.redacting import Redacted, Redaction, command, redact_entry, redact_turn

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


def redact(thread_id: str, turn_index: int | None, seq: int | None, reason: str) -> tuple[Redacted, str]:
    """Redacts a turn, or the text of an entry.

    Returns:
        the hall's answer, with the entries in which a run of its words still stands, those of answers to questions
        about the debate too, and the command that redacts each; as a value and as text for people.

    Raises:
        HallError: nothing was written.
    """
    with hall() as opened:
        if turn_index is not None:
            done = redact_turn(opened, thread_id, turn_index, reason)
        else:
            assert seq is not None, "the command asks for one of the two"
            done = redact_entry(opened, thread_id, seq, reason)
    return done.result, _said(done)


def _said(done: Redaction) -> str:
    thread_id, result = done.debate.state.thread_id, done.result
    said = [f"{_name(done.target)} of {thread_id} is redacted; the chain still verifies."]
    if result["also_redacted"]:
        again = ", ".join(_name(done.debate.lines[seq]) for seq in result["also_redacted"])
        said.append(f"Redacted with it, because the same stands there: {again}.")
    if isinstance(done.target.entry.body, Opened):
        said.append(f"The thread id cannot be redacted, since every hash covers it: {thread_id}.")
    if done.quoting:
        said.append("Words of it still stand elsewhere; to redact those too:")
        said += [f"  {_name(line)}: {command(line)}" for line in done.quoting]
    if result["erased"] == "pending":
        said.append(
            "A reader keeps old pages alive: the last traces go with the next opening or search without it, on"
            " PostgreSQL with the server's next VACUUM."
        )
    said.append("Files exported before still hold the text: export them again, or delete them.")
    return "\n".join(said) + "\n"


def _name(line: Line) -> str:
    body = line.entry.body
    return f"T{body.turn_index + 1}" if isinstance(body, Turn) else f"Entry {line.entry.seq} ({_WHAT[type(body)]})"
