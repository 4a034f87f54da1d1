"""A redaction with what goes with it, and what still quotes the words that went.

Copies of the debate's report are forgotten before, so that none is left where the process dies, and after, for one that
was opened meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import TypedDict

from orchestrator import report_copies
from orchestrator.hall import redaction
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.hall import Hall
from orchestrator.hall.results import TombstoneResult
from orchestrator.quotes import quotes_run


class StillQuoted(TypedDict):
    """An entry in which a run of the words still stands, of the debate, of an answer to a question about it, of a
    debate that starts from its decision or holds it again, and the command that redacts it too."""

    thread_id: str
    seq: int
    command: str


class Redacted(TombstoneResult):
    """What a redaction did, and what it left to do."""

    still_quoted: list[StillQuoted]


@dataclass(frozen=True, slots=True)
class Redaction:
    """A redaction that is done.

    Args:
        debate: as it stands now.
        target: the entry that was meant.
        quoting: the entries in which a run of its words still stands.
        result: the same for programs.
    """

    debate: Debate
    target: Line
    quoting: tuple[Line, ...]
    result: Redacted


def redact_turn(hall: Hall, thread_id: str, turn_index: int, reason: str) -> Redaction:
    """Redacts a turn; 0 is the first.

    Raises:
        InvalidInput, AlreadyRedacted, UnknownThread: nothing was written.
    """
    return _redact(hall, thread_id, lambda debate: redaction.turn_at(debate, turn_index), reason)


def redact_entry(hall: Hall, thread_id: str, seq: int, reason: str) -> Redaction:
    """Redacts the text of an entry of any kind; 0 is the opening, whose text is the topic.

    Raises:
        InvalidInput, AlreadyRedacted, UnknownThread: nothing was written.
    """
    return _redact(hall, thread_id, lambda debate: redaction.text_at(debate, seq), reason)


def command(line: Line) -> str:
    """The command that redacts an entry."""
    return f'debate-hall tombstone {line.entry.thread_id} --seq {line.entry.seq} --reason "…"'


def _redact(hall: Hall, thread_id: str, find: Callable[[Debate], Line], reason: str) -> Redaction:
    from orchestrator.inquiry import answers_to  # here: what asks models is slow to load

    target = find(hall.debate(thread_id))
    report_copies.forget(thread_id)
    result = hall.tombstone(thread_id, target.entry.seq, reason)
    report_copies.forget(thread_id)
    debate = hall.debate(thread_id)
    about = (*answers_to(hall, debate), *hall.reviews_of(thread_id), *hall.replays_of(thread_id))
    quoting = tuple(line for told in (debate, *about) for line in _quoting(told, target.text or ""))
    still = [StillQuoted(thread_id=line.entry.thread_id, seq=line.entry.seq, command=command(line)) for line in quoting]
    return Redaction(debate, target, quoting, {**result, "still_quoted": still})


def _quoting(debate: Debate, text: str) -> list[Line]:
    return [line for line in debate.lines if line.text is not None and quotes_run(line.text, [text])]
