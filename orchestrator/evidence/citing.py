"""Citations of the evidence in a turn's text: found, and checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.evidence.pieces import Evidence


@dataclass(frozen=True, slots=True)
class Citation:
    """`[E1:12-18]`, or `[E1:12]` where first and last are one line."""

    id: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"[{self.id}:{self.first}]" if self.first == self.last else f"[{self.id}:{self.first}-{self.last}]"


_CITATION = re.compile(r"\[(E[1-9][0-9]{0,8}):([0-9]{1,9})(?:[-–]([0-9]{1,9}))?\]")
_FENCE = re.compile(r" {0,3}(`{3,}+(?!.*`)|~{3,}+)(.*)")  # CommonMark 0.31, section 4.5


def citations(text: str) -> tuple[Citation, ...]:
    """The citations of a turn, each once, in order of appearance; those in fenced code are somebody else's text."""
    found = (match for line in _unfenced(text) for match in _CITATION.finditer(line))
    return tuple(
        dict.fromkeys(Citation(id, int(first), int(last or first)) for id, first, last in (m.groups() for m in found))
    )


def check(citation: Citation, evidence: Sequence[Evidence]) -> str | None:
    """Why a citation does not hold, or None when its file and lines exist."""
    source = next((piece for piece in evidence if piece.id == citation.id), None)
    if source is None:
        known = f"the evidence is {', '.join(piece.id for piece in evidence)}" if evidence else "no evidence was given"
        return f"there is no {citation.id}; {known}"
    if citation.first < 1:
        return "lines are counted from 1"
    if citation.last < citation.first:
        return f"line {citation.last} stands before line {citation.first}"
    if citation.last > len(source.lines):
        return f"{source.path} has {len(source.lines)} lines"
    return None


def _unfenced(text: str) -> Iterator[str]:
    """The lines outside fenced code blocks; a block that nothing closes goes on to the end."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.fullmatch(line)
        if not fence and mark:
            fence = mark[1]
        elif not fence:
            yield line
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
