"""Whether quoted words stand in the lines of a piece of evidence.

White space may differ, and Markdown's marks may be left out or put in: those of emphasis and code where they enclose
words on both sides, that of a block quote at the beginning of a line. An ellipsis joins parts that stand there in this
order. Nothing else is forgiven: no other word, number, case or punctuation, and no quotation that ends in the middle
of a word or a number.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate

from orchestrator.evidence.pieces import Evidence
from orchestrator.evidence.scripts import is_mark, is_spaced_word, with_plain_blanks

_ELLIPSIS = re.compile(r"\s*[\[(]?(?:…|\.{3,})[\])]?\s*")
_ENCLOSING = (
    re.compile(r"(?<![\w*])(\*{1,3})(?![\s*])([^*]{1,300})(?<!\s)\1(?![\w*])"),
    re.compile(r"(?<![\w`])(`+)(?!`)([^`]{1,300})\1(?![\w`])"),
)
_QUOTE_MARKS = re.compile(r"(?m)^[ \t]*(?:>[ \t]*)+")
_NOT_COUNTED = " *`>"  # what one form of a text may have and another not


def misquoted(quote: str, first: int, last: int, piece: Evidence) -> str | None:
    """Why a quotation of these lines, which the piece has, is none; None when its words stand there."""
    if _found(quote, "\n".join(piece.lines[first - 1 : last])):
        return None
    span = _found(quote, piece.text)
    if span is None:
        return f"the quoted words stand nowhere in {piece.path}"
    there, cited = _told(*_lines_of(span, piece)), _told(first, last)
    return f"the quoted words stand in {'lines' if '-' in there else 'line'} {there}, not in {cited}"


def _told(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _found(quote: str, text: str) -> tuple[int, int] | None:
    """How many counted characters of the text stand before the words, and before their end; None where they are not."""
    parted = [part for part in _ELLIPSIS.split(quote) if part]
    readings = [[quote]] if parted == [quote] else [[quote], parted]
    for form in (with_plain_blanks, _unmarked):
        shown = _cached(form, text)
        for parts in readings:
            span = _in_order([form(part) for part in parts], shown)
            if span is not None:
                return _counted(shown[: span[0]]), _counted(shown[: span[1]])
    return None


@lru_cache(maxsize=8)  # a piece is searched whole for each of its wrong quotations
def _cached(form: Callable[[str], str], text: str) -> str:
    return form(text)


def _unmarked(text: str) -> str:
    shown = with_plain_blanks(_QUOTE_MARKS.sub("", text))
    for pattern in _ENCLOSING * 2:  # emphasis within emphasis, code within it
        shown = pattern.sub(r"\2", shown)
    return shown


def _in_order(parts: Sequence[str], text: str) -> tuple[int, int] | None:
    start, end = -1, 0
    for part in parts:
        at = _find(part, text, end)
        if at < 0:
            return None
        start = at if start < 0 else start
        end = at + len(part)
    return (start, end) if start >= 0 else None


def _find(part: str, text: str, since: int) -> int:
    at = text.find(part, since)
    while at >= 0 and (_parts_word(text, at) or _parts_word(text, at + len(part))):
        at = text.find(part, at + 1)
    return at


def _parts_word(text: str, at: int) -> bool:
    """Whether a cut at this place goes through a word, a character with its marks, or a number such as 1.5."""
    before, after = text[max(at - 1, 0) : at], text[at : at + 1]
    if is_mark(after) or (is_spaced_word(before) and is_spaced_word(after)):
        return True
    digits = text[max(at - 2, 0) : at - 1].isdigit() if before in (".", ",") else before.isdigit()
    follows = after if before in (".", ",") else text[at + 1 : at + 2] if after in (".", ",") else ""
    return digits and follows.isdigit()


def _counted(text: str) -> int:
    """How many characters, of a text with plain blanks, every form of it has."""
    return len(text) - sum(map(text.count, _NOT_COUNTED))


def _lines_of(span: tuple[int, int], piece: Evidence) -> tuple[int, int]:
    ends = _ends(piece)
    start, end = span
    return bisect_left(ends, start + 1) + 1, bisect_left(ends, end) + 1


@lru_cache(maxsize=8)
def _ends(piece: Evidence) -> Sequence[int]:
    """How many counted characters stand before each line's end."""
    return tuple(accumulate(_counted(with_plain_blanks(line)) for line in piece.lines))
