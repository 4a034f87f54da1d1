"""Quotations in prose: where one opens and closes, and which one stands beside a citation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from orchestrator.evidence.scripts import is_spaced_word

_CLOSES = {
    '"': '"', "'": "'", "“": "”", "„": "“”", "”": "”", "«": "»", "»": "«", "‹": "›", "›": "‹", "‘": "’", "‚": "‘’",
    "「": "」", "『": "』",
}  # fmt: skip
_OPENS = {close: {mark for mark in _CLOSES if close in _CLOSES[mark]} for close in {*"".join(_CLOSES.values())}}
_DIRECTIONLESS = "\"'’”"  # only what stands beside it tells which end it is, or that it is an apostrophe
LONGEST = 2000  # characters; a mark that finds no partner until here has none

# What may stand between a citation and its quotation: blanks or a line end, marks of emphasis, one colon, dash or
# bracket. No comma, full stop or word: behind those the text goes on to something else.
_GAP_BEFORE = re.compile(r"[*_]*[ \t]*(?:[–—(-][ \t]*)?(?:\n[ \t]*)?[*_]*")
_GAP_AFTER = re.compile(r"[*_)]*[ \t]*(?:[:–—(-][ \t]*)?(?:\n[ \t]*)?[*_]*")
_TIGHT = re.compile(r"[ \t*_]*")


def end_of_quotation(text: str, at: int, limit: int) -> int | None:
    """Where the quotation ends that opens at a place, behind its closing mark; None where none opens or it stays open.

    Args:
        limit: it must end before this place.
    """
    mark = text[at : at + 1]
    if mark not in _CLOSES or not _can_open(text, at):
        return None
    depth = 1
    for place in _places({mark, *_CLOSES[mark]}, text, at + 1, min(limit, at + LONGEST)):
        if text[place] in _CLOSES[mark] and _can_close(text, place):
            depth -= 1
        elif text[place] == mark and _can_open(text, place):
            depth += 1
        if depth == 0:
            return place + 1 if _says_something(text[at + 1 : place]) else None
    return None


def start_of_quotation(text: str, end: int, limit: int) -> int | None:
    """Where the quotation opens whose closing mark is the last character before a place; None as above."""
    mark = text[end - 1 : end]
    if mark not in _OPENS or not _can_close(text, end - 1):
        return None
    depth = 1
    for place in reversed(_places({mark, *_OPENS[mark]}, text, max(limit, end - LONGEST), end - 1)):
        if text[place] in _OPENS[mark] and _can_open(text, place):
            depth -= 1
        elif text[place] == mark and _can_close(text, place):
            depth += 1
        if depth == 0:
            return place if _says_something(text[place + 1 : end - 1]) else None
    return None


def quotation_before(text: str, at: int, limit: int) -> tuple[int, int] | None:
    """The quotation that stands directly before a place, with its marks."""
    for gap in range(at, max(limit, at - 24), -1):
        if text[gap - 1] in _OPENS and _GAP_BEFORE.fullmatch(text, gap, at):
            start = start_of_quotation(text, gap, limit)
            return None if start is None else (start, gap)
    return None


def quotation_after(text: str, at: int, limit: int) -> tuple[int, int] | None:
    """The quotation that stands directly behind a place, with its marks."""
    gap = _GAP_AFTER.match(text, at, limit)
    start = gap.end() if gap else at
    end = end_of_quotation(text, start, limit)
    return None if end is None else (start, end)


def _places(marks: Set[str], text: str, start: int, end: int) -> list[int]:
    return sorted(place for mark in marks for place in _places_of(mark, text, start, end))


def _places_of(mark: str, text: str, start: int, end: int) -> Iterator[int]:
    place = text.find(mark, start, end)
    while place >= 0:
        yield place
        place = text.find(mark, place + 1, end)


def is_tight(text: str, start: int, end: int) -> bool:
    """Whether nothing but blanks and marks of emphasis stands between two places."""
    return _TIGHT.fullmatch(text, start, end) is not None


def _can_open(text: str, at: int) -> bool:
    if text[at] not in _DIRECTIONLESS:
        return True
    return not text[at + 1 : at + 2].isspace() and not is_spaced_word(text[at - 1 : at])


def _can_close(text: str, at: int) -> bool:
    if text[at] not in _DIRECTIONLESS:
        return True
    return not text[at - 1 : at].isspace() and not is_spaced_word(text[at + 1 : at + 2])


def _says_something(quoted: str) -> bool:
    return re.search(r"\w", quoted) is not None
