"""A debate as OCTAVE text, and back.

`emit` writes a DEBATE_TRANSCRIPT document as octave-mcp's schema of that name wants it and as its emitter would write
it itself. `parse` reads what `emit` writes and nothing else; `parse(emit(transcript)) == transcript` for every text.

Text comes back byte for byte because it is never altered. One plain line stands in quotes; anything else (line ends,
control and bidirectional characters, text that is not in Unicode's composed form) stands in a literal zone, a fence
longer than any run of backticks inside it, of which OCTAVE readers touch nothing. So there is no escape that could
come back wrong, and no text that could end the zone. A file must be written and read without translating line ends.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from orchestrator.errors import InvalidInput
from orchestrator.hall.terms import Cognition, Mode, Role, Status

VERSION = "1.0"

_REDACTED = "[redacted]"
_CLOSED = "closed"  # the schema's word for the two endings below, which it does not know
_ENDINGS = (Status.STALEMATE, Status.FORCE_CLOSED)

_MARK = re.compile(r"[A-Z][A-Z0-9_]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*(?<!-)")
# Words that OCTAVE reads as something else when bare, and shapes that octave-mcp writes bare though they are no names.
_LITERAL = re.compile(r"(?:true|false|null|vs)(?:[.-].*)?|True|TRUE|False|FALSE|Null|NULL")
_EXPRESSION = re.compile(r"\$\S*|[A-Za-z_][A-Za-z0-9_.-]*[<@⊕⧺⇌∧∨→]\S*")
_ESCAPE = re.compile(r'\\(["\\])')

_Term = TypeVar("_Term", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """One turn. A redacted turn has a reason instead of content; exactly one of the two is None."""

    index: int  # 0-based; the document calls turn 0 T1
    round: int
    role: Role
    cognition: Cognition
    agent_role: str | None
    model: str | None
    at: str  # ISO 8601
    hash: str  # of the turn's ledger entry
    content: str | None
    redacted_reason: str | None = None
    asked: str | None = None  # the model asked first, where another one answered
    tried: str | None = None  # the calls that brought no turn, and why

    def __post_init__(self) -> None:
        if (self.content is None) == (self.redacted_reason is None):
            raise InvalidInput(
                f"Turn T{self.index + 1} must have either content or the reason of its redaction.", "Pass one of them."
            )


@dataclass(frozen=True, slots=True)
class BrokenCitation:
    """A citation that does not hold, the sentence that rests on it, and why."""

    index: int  # of its turn, 0-based
    citation: str
    claim: str
    problem: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """A whole debate as values.

    `marks` are words every output must carry, such as REHEARSAL; `degraded` and `closed_early` say why they are there.
    The turns stand as they were said, so what is `broken` in them stands in a list of its own.
    """

    thread_id: str
    topic: str
    mode: Mode
    status: Status
    head: str  # the hash of the newest ledger entry
    opened_at: str  # ISO 8601
    max_turns: int
    max_rounds: int
    turns: tuple[TranscriptTurn, ...] = ()
    synthesis: str | None = None
    marks: tuple[str, ...] = ()
    reason: str | None = None  # of a forced close
    degraded: str | None = None
    closed_early: str | None = None
    broken: tuple[BrokenCitation, ...] = ()


def emit(transcript: Transcript) -> str:
    """Returns the debate as OCTAVE.

    Raises:
        InvalidInput: a mark is not one upper-case word.
    """
    ending = transcript.status if transcript.status in _ENDINGS else None
    lines = [
        "===DEBATE_TRANSCRIPT===",
        "META:",
        "  TYPE::DEBATE_TRANSCRIPT",
        f'  VERSION::"{VERSION}"',
        *_text("HEAD", transcript.head, "  "),
        *_text("OPENED_AT", transcript.opened_at, "  "),
        *_marks(transcript.marks),
        *_text("DEGRADED", transcript.degraded, "  "),
        *_text("CLOSED_EARLY", transcript.closed_early, "  "),
        *_text("THREAD_ID", transcript.thread_id),
        *_text("TOPIC", transcript.topic),
        f"MODE::{transcript.mode}",
        f"STATUS::{_CLOSED if ending else transcript.status}",
        *_text("OUTCOME", ending),
        *_text("REASON", transcript.reason),
        *_list("PARTICIPANTS", tuple(Role)),
        f"MAX_TURNS::{transcript.max_turns}",
        f"MAX_ROUNDS::{transcript.max_rounds}",
        "TURNS:" if transcript.turns else "TURNS::[]",
        *(line for turn in transcript.turns for line in _turn(turn)),
        *_text("SYNTHESIS", transcript.synthesis),
        *(["CITATIONS_BROKEN:"] if transcript.broken else []),
        *(line for number, found in enumerate(transcript.broken, 1) for line in _broken(number, found)),
        "===END===",
    ]
    return "\n".join(lines) + "\n"


def parse(text: str) -> Transcript:
    """Returns the debate that `emit` wrote as `text`.

    Raises:
        InvalidInput: `emit` does not write such a text; the message names the line where they part.
    """
    transcript = _read(_Lines(text.split("\n")))
    written = emit(transcript)
    if written != text:
        pairs = zip(text.split("\n"), written.split("\n"), strict=False)
        row = next((row for row, (found, wanted) in enumerate(pairs, 1) if found != wanted), None)
        raise _refusal(row or written.count("\n") + 1, "this is not how a transcript of this version is written")
    return transcript


def _turn(turn: TranscriptTurn) -> list[str]:
    pad = "    "
    return [
        f"  T{turn.index + 1}:",
        f"{pad}TURN_INDEX::{turn.index}",
        f"{pad}ROUND::{turn.round}",
        f"{pad}ROLE::{turn.role}",
        f"{pad}COGNITION::{turn.cognition}",
        *_text("AGENT_ROLE", turn.agent_role, pad),
        *_text("MODEL", turn.model, pad),
        *_text("MODEL_ASKED", turn.asked, pad),
        *_text("TRIED", turn.tried, pad),
        *_text("TIMESTAMP", turn.at, pad),
        *_text("HASH", turn.hash, pad),
        *_text("REDACTED", turn.redacted_reason, pad),
        *_text("CONTENT", _REDACTED if turn.content is None else turn.content, pad),
    ]


def _broken(number: int, found: BrokenCitation) -> list[str]:
    pad = "    "
    return [
        f"  B{number}:",
        f"{pad}TURN_INDEX::{found.index}",
        *_text("CITATION", found.citation, pad),
        *_text("CLAIM", found.claim, pad),
        *_text("PROBLEM", found.problem, pad),
    ]


def _marks(marks: tuple[str, ...]) -> list[str]:
    for mark in marks:
        if not _MARK.fullmatch(mark):
            raise InvalidInput(f"{mark!r} cannot mark a transcript.", "A mark is one upper-case word: REHEARSAL.")
    return _list("MARKS", marks, "  ") if marks else []


def _list(key: str, words: tuple[str, ...], pad: str = "") -> list[str]:
    """Octave-mcp sets lists of up to two words on one line, longer ones on a line for each word."""
    if len(words) < 3:
        return [f"{pad}{key}::[{','.join(words)}]"]
    return [f"{pad}{key}::[", *(f"{pad}  {word}," for word in words[:-1]), f"{pad}  {words[-1]}", f"{pad}]"]


def _text(key: str, value: str | None, pad: str = "") -> list[str]:
    """An absent value has no line: OCTAVE's null would be one more text that could be meant."""
    if value is None:
        return []
    if _LITERAL.fullmatch(value) or _EXPRESSION.fullmatch(value) or not _is_plain_line(value):
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", value)), default=0))
        return [f"{pad}{key}::", f"{pad}{fence}", value, f"{pad}{fence}"]
    if _NAME.fullmatch(value):
        return [f"{pad}{key}::{value}"]
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return [f'{pad}{key}::"{quoted}"']


def _is_plain_line(value: str) -> bool:
    return value.isprintable() and unicodedata.is_normalized("NFC", value)


class _Lines:
    """A cursor over a document's lines."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def refuse(self, why: str) -> InvalidInput:
        return _refusal(self._at + 1, why)

    def starts(self, prefix: str) -> bool:
        return self._at < len(self._lines) and self._lines[self._at].startswith(prefix)

    def next(self) -> str:
        if self._at == len(self._lines):
            raise self.refuse("the text ends before its transcript does")
        self._at += 1
        return self._lines[self._at - 1]

    def expect(self, *lines: str) -> None:
        for line in lines:
            if self._lines[self._at : self._at + 1] != [line]:
                raise self.refuse(f"expected {line!r}")
            self._at += 1

    def text(self, key: str, pad: str = "") -> str | None:
        """Takes `key` and its value, if it stands here."""
        start = f"{pad}{key}::"
        if not self.starts(start):
            return None
        value = self.next().removeprefix(start)
        if value == "":
            return self._zone()
        return _ESCAPE.sub(r"\1", value[1:-1]) if value.startswith('"') else value

    def _zone(self) -> str:
        fence = self.next()
        start = self._at
        while self.next() != fence:
            pass
        return "\n".join(self._lines[start : self._at - 1])

    def required(self, key: str, pad: str = "") -> str:
        text = self.text(key, pad)
        if text is None:
            raise self.refuse(f"expected {key}")
        return text

    def number(self, key: str, pad: str = "") -> int:
        digits = self.required(key, pad)
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):
            raise self.refuse(f"{key} must be a whole number")
        return int(digits)

    def term(self, key: str, terms: type[_Term], pad: str = "") -> _Term:
        word = self.required(key, pad)
        try:
            return terms(word)
        except ValueError as error:
            raise self.refuse(f"{key} cannot be {word!r}") from error

    def words(self, key: str, pad: str = "") -> tuple[str, ...]:
        value = self.text(key, pad)
        if value is None:
            return ()
        if value != "[":
            return tuple(value.strip("[]").split(","))
        words = []
        while (line := self.next()) != f"{pad}]":
            words.append(line.strip(" ,"))
        return tuple(words)


def _read(lines: _Lines) -> Transcript:
    """Reads in the order `emit` writes; what is wrong but readable is left to `parse`, which writes it again."""
    lines.expect("===DEBATE_TRANSCRIPT===", "META:", "  TYPE::DEBATE_TRANSCRIPT", f'  VERSION::"{VERSION}"')
    head, opened_at = lines.required("HEAD", "  "), lines.required("OPENED_AT", "  ")
    marks = lines.words("MARKS", "  ")
    degraded, closed_early = lines.text("DEGRADED", "  "), lines.text("CLOSED_EARLY", "  ")
    thread_id, topic = lines.required("THREAD_ID"), lines.required("TOPIC")
    mode = lines.term("MODE", Mode)
    closed = lines.starts(f"STATUS::{_CLOSED}")
    if closed:
        lines.next()
    status = lines.term("OUTCOME" if closed else "STATUS", Status)
    reason = lines.text("REASON")
    lines.words("PARTICIPANTS")
    max_turns, max_rounds = lines.number("MAX_TURNS"), lines.number("MAX_ROUNDS")
    turns = _read_turns(lines)
    synthesis = lines.text("SYNTHESIS")
    broken = _read_broken(lines)
    lines.expect("===END===")
    return Transcript(
        thread_id=thread_id,
        topic=topic,
        mode=mode,
        status=status,
        head=head,
        opened_at=opened_at,
        max_turns=max_turns,
        max_rounds=max_rounds,
        turns=turns,
        synthesis=synthesis,
        marks=marks,
        reason=reason,
        degraded=degraded,
        closed_early=closed_early,
        broken=broken,
    )


def _read_broken(lines: _Lines) -> tuple[BrokenCitation, ...]:
    pad, found = "    ", []
    if lines.starts("CITATIONS_BROKEN:"):
        lines.next()
    while lines.starts("  B"):
        lines.next()
        index = lines.number("TURN_INDEX", pad)
        found.append(BrokenCitation(index, *(lines.required(key, pad) for key in ("CITATION", "CLAIM", "PROBLEM"))))
    return tuple(found)


def _read_turns(lines: _Lines) -> tuple[TranscriptTurn, ...]:
    if lines.text("TURNS") == "[]":
        return ()
    lines.expect("TURNS:")
    turns = []
    while lines.starts("  T"):
        lines.next()
        turns.append(_read_turn(lines, "    "))
    return tuple(turns)


def _read_turn(lines: _Lines, pad: str) -> TranscriptTurn:
    index, round_ = lines.number("TURN_INDEX", pad), lines.number("ROUND", pad)
    role, cognition = lines.term("ROLE", Role, pad), lines.term("COGNITION", Cognition, pad)
    agent_role, model = lines.text("AGENT_ROLE", pad), lines.text("MODEL", pad)
    asked, tried = lines.text("MODEL_ASKED", pad), lines.text("TRIED", pad)
    at, hash_ = lines.required("TIMESTAMP", pad), lines.required("HASH", pad)
    redacted_reason = lines.text("REDACTED", pad)
    content = lines.required("CONTENT", pad)
    return TranscriptTurn(
        index=index,
        round=round_,
        role=role,
        cognition=cognition,
        agent_role=agent_role,
        model=model,
        at=at,
        hash=hash_,
        content=content if redacted_reason is None else None,
        redacted_reason=redacted_reason,
        asked=asked,
        tried=tried,
    )


def _refusal(row: int, why: str) -> InvalidInput:
    return InvalidInput(f"Line {row} of the OCTAVE transcript: {why}.", "Import a transcript as it was exported.")
