"""A turn's text as prose: its blocks and sentences, without the code that stands in fences."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

_FENCE = re.compile(r" {0,3}(`{3,}+(?!.*`)|~{3,}+)(.*)")  # CommonMark 0.31, section 4.5
_BULLET = r"(?:[-*+]|[0-9]{1,9}[.)])[ \t]"
_BEGINS_BLOCK = re.compile(rf"(?m)^[ \t>]*(?:$|{_BULLET}|\#{{1,6}}[ \t]|\|)")
_IS_BLOCK = re.compile(r"(?m)^[ \t>]*(?:#{1,6}[ \t]|\|).*$")  # a heading, a row of a table
_ENDS_SENTENCE = re.compile(r"(?:(?<!\.)\.(?!\.)|(?<![!?])[!?]+)[\"'”’»)\]*_]*\s+|(?<![。！？])[。！？]+[」』”’)）]*")
_FARTHEST = 1000  # characters before and behind a passage in which its sentence begins and ends
_OPENS_LINE = re.compile(rf"[\s>|#]*(?:{_BULLET})?\s*")


class Prose:
    """A text whose fenced code is blanked out, character for character: what is found in it stands there in the text.

    A block is a paragraph, an item of a list, a heading or a row of a table.
    """

    def __init__(self, text: str) -> None:
        self.text = "\n".join(_without_code(text))
        begin = {match.start() for match in _BEGINS_BLOCK.finditer(self.text)}
        end = {match.end() for match in _IS_BLOCK.finditer(self.text)}
        self._bounds = sorted({0, len(self.text)} | begin | end)
        self._sentence_ends = [match.end() for match in _ENDS_SENTENCE.finditer(self.text)]

    def block(self, at: int) -> tuple[int, int]:
        """Where the block begins that stands at a place, and where it ends."""
        after = min(bisect_right(self._bounds, at), len(self._bounds) - 1)
        return self._bounds[after - 1], self._bounds[after]

    def sentence(self, at: int, end: int, longest: int) -> str:
        """The sentence around a passage, on one line, cut around the passage where it is longer.

        A passage that stands alone behind a sentence belongs to it: `It is slow. [E1:3]`.
        """
        start, stop = self.block(at)
        start, stop = max(start, at - _FARTHEST), max(min(stop, end + _FARTHEST), end)
        start = _OPENS_LINE.match(self.text, start, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        since, last = max(start, self._last_end(at)), min(stop, self._next_end(end))
        if not re.search(r"\w", self.text[since:at] + self.text[end:last]):
            since = max(start, self._last_end(since - 1))
        before, passage, after = (_one_line(self.text[slice(*ends)]) for ends in ((since, at), (at, end), (end, last)))
        return _cut(before.lstrip(), passage, after.rstrip(" |"), longest)

    def sentences(self) -> Iterator[tuple[str, ...]]:
        """The sentences of each block, on one line each, without what opens the block: `- `, `## `, `| `."""
        for start, stop in pairwise(self._bounds):
            start = _OPENS_LINE.match(self.text, start, stop).end()  # type: ignore[union-attr]
            first, last = bisect_right(self._sentence_ends, start), bisect_left(self._sentence_ends, stop)
            ends = [start, *self._sentence_ends[first:last], stop]
            lines = (_one_line(self.text[since:end]).strip(" |") for since, end in pairwise(ends))
            yield tuple(filter(None, lines))

    def _last_end(self, at: int) -> int:
        """Where the last sentence ends that ends at a place or before it."""
        ended = bisect_right(self._sentence_ends, at)
        return self._sentence_ends[ended - 1] if ended else 0

    def _next_end(self, at: int) -> int:
        following = bisect_left(self._sentence_ends, at)
        return self._sentence_ends[following] if following < len(self._sentence_ends) else len(self.text)


@lru_cache(maxsize=64)  # a turn is read again for its citations, its grounds, and what was said of it
def prose_of(text: str) -> Prose:
    """A text as prose, which is read once."""
    return Prose(text)


def _cut(before: str, passage: str, after: str, longest: int) -> str:
    room = max(longest - len(passage), 0)
    tail = after if len(after) <= room // 2 else after[: max(room // 2, room - len(before))]
    head = before if len(before) <= room - len(tail) else before[len(before) - (room - len(tail)) :]
    kept = passage if len(passage) <= longest else passage[:longest]
    cut_behind = len(tail) < len(after) or len(kept) < len(passage)
    return f"{'…' if len(head) < len(before) else ''}{head}{kept}{tail}{'…' if cut_behind else ''}".strip()


def _one_line(text: str) -> str:
    """The part of a line, its blanks at both ends kept as one."""
    return re.sub(r"\s+(?:>\s*)*", " ", text)


def _without_code(text: str) -> Iterator[str]:
    """The lines; those of fenced code are blank. A block that nothing closes goes on to the end."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.fullmatch(line)
        yield " " * len(line) if fence or mark else line
        if not fence and mark:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
