"""What a redaction takes: the entry that is meant, and every other that says its text again.

Only what says it word for word goes. A text that quotes a part stays: whether that part may stand is for people to say.
"""

from __future__ import annotations

from orchestrator.errors import AlreadyRedacted, InvalidInput
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Closed, FloorGiven, Refined, Turn

_REPEAT_LENGTH = 40  # characters from which a text inside another is no coincidence


def turn_at(debate: Debate, turn_index: int) -> Line:
    """Returns the turn that can be redacted.

    Args:
        turn_index: 0 is the first turn.

    Raises:
        InvalidInput: there is no such turn.
        AlreadyRedacted
    """
    thread_id = debate.state.thread_id
    if type(turn_index) is not int or not 0 <= turn_index < len(debate.turns):
        last = len(debate.turns) - 1
        raise InvalidInput(
            f"{thread_id} has no turn {turn_index!r}.",
            f"turn_index counts from 0; its last turn is {last}." if last >= 0 else "It has no turns yet.",
        )
    return _still_there(debate.turns[turn_index], f"Turn {turn_index} of {thread_id}")


def text_at(debate: Debate, seq: int) -> Line:
    """Returns the entry, of whatever kind, whose text can be redacted.

    Args:
        seq: 0 is the opening, whose text is the topic.

    Raises:
        InvalidInput: there is no such entry, or it has no text.
        AlreadyRedacted
    """
    thread_id = debate.state.thread_id
    if type(seq) is not int or not 0 <= seq < len(debate.lines):
        raise InvalidInput(
            f"{thread_id} has no entry {seq!r}.",
            f"seq counts from 0, the opening; its newest entry is {len(debate.lines) - 1}.",
        )
    line = debate.lines[seq]
    if isinstance(line.entry.body, FloorGiven):
        raise InvalidInput(
            f"Entry {seq} of {thread_id} gives the floor to {line.entry.body.role}; it has no text to redact.",
            "`debate-hall show THREAD --entries` lists what each entry says.",
        )
    return _still_there(line, f"Entry {seq} of {thread_id}")


def _still_there(line: Line, name: str) -> Line:
    if line.text is None:
        raise AlreadyRedacted(f"{name} is redacted already: {line.words}")
    return line


def require_other_words(reason: str, target: Line) -> None:
    """Judges the reason, which stays on the ledger.

    Raises:
        InvalidInput: it says the text again that is to go.
    """
    if _holds(reason, target.text):
        raise InvalidInput("The reason says the text again that is to be redacted.", "Say why without quoting it.")


def repeats(debate: Debate, target: Line) -> tuple[Line, ...]:
    """Returns the other entries that hold the target's text, and the later syntheses that were taken from it."""
    return tuple(
        line
        for line in debate.lines
        if line is not target and (_holds(line.text, target.text) or _was_taken_from(target, line))
    )


def _was_taken_from(source: Line, line: Line) -> bool:
    """Whether this is a synthesis that is a part of an earlier turn, or of an earlier synthesis."""
    return (
        isinstance(line.entry.body, Refined | Closed)
        and isinstance(source.entry.body, Turn | Refined)
        and source.entry.seq < line.entry.seq
        and _holds(source.text, line.text)
    )


def _holds(text: str | None, other: str | None) -> bool:
    """Whether a text is the other, or holds it whole and not by coincidence."""
    if text is None or other is None:
        return False
    words = other.strip()
    return text.strip() == words or (len(words) >= _REPEAT_LENGTH and words in text)
