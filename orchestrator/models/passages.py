"""Passages to put a question beside, taken word for word from evidence and from turns.

Everything here returns single lines of printable text: what was said or written may hold headers, fences or
direction marks, and none of that may reach the structure of the text that quotes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from orchestrator.models.base import Said, Source

_MOST_PASSAGES = 2_000
_MOST_LINES = 12
_LONGEST_QUOTE = 300  # characters, for writing without spaces
_LEAST_WORDS_OF_EVIDENCE = 3
_LEAST_WORDS_OF_A_TURN = 6  # what a Wall must quote of Wind
_MARK = re.compile(r"\s*(?:[#>*+-]+\s+|\d+[.)]\s+|Option \d+:\s*)*")
_HEADING = re.compile(r"#{1,6}\s+(?=\S)")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^“”]*”")
_SENTENCE = re.compile(r"[^.!?。！？؟]+[.!?。！？؟]?")
_LETTER = re.compile(r"[^\W_]")
_WORD = re.compile(r"\w{4,}")
_EMPTY_WORDS = re.compile(
    "about|after|again|because|before|could|every|from|have|into|only|other|should|than|that|their|them|then|there|"
    "these|they|this|those|what|when|where|which|will|with|would|your"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """Some words and where they stand.

    Attributes:
        place: a citation (`[E1:12-18]`) below its heading, or a turn (`T3 (door-agent):`).
        quote: the words, exactly as they stand there; empty if nothing there can be quoted.
        stems: what it is about, for `nearest`.
    """

    place: str
    quote: str
    stems: frozenset[str]

    def __str__(self) -> str:
        return f'{self.place} "{self.quote}"' if self.quote else self.place


def from_evidence(sources: Iterable[Source]) -> tuple[Passage, ...]:
    """The paragraphs of the evidence, cited by lines that exist, each under the heading it stands below."""
    return tuple(islice((passage for source in sources for passage in _paragraphs(source)), _MOST_PASSAGES))


def from_turns(turns: Iterable[Said]) -> tuple[Passage, ...]:
    """What can be quoted of each turn, six words or more at a time where it has them, and line by line.

    Of a worksheet it is the questions rather than the frame around them.
    """
    return tuple(islice((passage for turn in turns for passage in _quotes(turn)), _MOST_PASSAGES))


def nearest(passages: Sequence[Passage], text: str, turning: int, count: int) -> list[Passage]:
    """The `count` passages that share most with `text`; among equals the one at `turning`, counted round, is first."""
    wanted = _stems(text)
    places = sorted(
        range(len(passages)), key=lambda n: (-len(passages[n].stems & wanted), (n - turning) % len(passages))
    )
    return [passages[n] for n in places[:count]]


def questions_in(text: str) -> list[str]:
    """The questions a text asks in its own words: sentences of three words or more, without quoted ones."""
    found = (one_line(sentence, 240) for line in _lines(text) for sentence in _SENTENCE.findall(_QUOTED.sub("", line)))
    return [s for s in found if s.endswith(("?", "？", "؟")) and (len(s.split()) >= 3 or not s.isascii())]


def label(turn: Said) -> str:
    """How a text refers to a turn."""
    return f"T{turn.number} ({one_line(turn.agent, 60)})"


def one_line(text: str, limit: int) -> str:
    """`text` as one line of printable characters, at most `limit` of them, cut between words where that is possible."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    space = cut.rfind(" ")
    return f"{cut[:space] if space > limit // 2 else cut}…"


def _lines(text: str) -> Iterator[str]:
    """The lines with something in them, without the marks of headings, lists and quotes before it."""
    return (_MARK.sub("", line, count=1) for line in text.split("\n") if line.strip())


def _paragraphs(source: Source) -> Iterator[Passage]:
    title, start = source.path, None
    for number, line in enumerate((*source.lines, ""), 1):
        heading = _HEADING.match(line)
        ends = heading or not line.strip()
        if start is not None and (ends or number - start == _MOST_LINES):
            yield _paragraph(source, title, start, number - 1)
            start = None
        if heading:
            title = line[heading.end() :]
        elif not ends and start is None:
            start = number


def _paragraph(source: Source, title: str, first: int, last: int) -> Passage:
    text = "\n".join(source.lines[first - 1 : last])
    quotes = (
        quote for least in (_LEAST_WORDS_OF_EVIDENCE, 1) for line in _lines(text) if (quote := _quote(line, least))
    )
    name = one_line(title.replace('"', ""), 60)
    lines = f"{first}" if first == last else f"{first}-{last}"
    return Passage(f"{name} [{source.id}:{lines}]", next(quotes, ""), _stems(f"{title} {text}"))


def _quotes(turn: Said) -> list[Passage]:
    lines = list(_lines(turn.text))
    asked = [line for line in lines if turn.text.startswith("REHEARSAL") and line.endswith("?")]
    for candidates, least in ((asked, _LEAST_WORDS_OF_A_TURN), (lines, _LEAST_WORDS_OF_A_TURN), (lines, 1)):
        if quotes := [quote for line in candidates if (quote := _quote(line, least))]:
            return [Passage(f"{label(turn)}:", quote, _stems(quote)) for quote in quotes]
    return []


def _quote(line: str, least: int) -> str:
    """Up to 24 words that stand in `line` unbroken, without quotation marks or unprintable characters; or nothing."""
    for piece in filter(str.strip, re.split(r'["“”]', line)):
        words = re.match(r"\s*((?:\S+ +){0,23}\S+)", piece)
        if words and words[1].isprintable() and sum(1 for word in words[1].split() if _LETTER.search(word)) >= least:
            return words[1][:_LONGEST_QUOTE].rstrip()
    return ""


def _stems(text: str) -> frozenset[str]:
    words = (word.lower() for word in _WORD.findall(text))
    return frozenset(word[:5] for word in words if not _EMPTY_WORDS.fullmatch(word))
