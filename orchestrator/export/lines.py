"""Safe inline Markdown as lines that fit, whatever word a line happens to begin with.

Words are parted by spaces. `FIXED` stands for a space at which no line may end, `BREAK` for the end of a line that is
kept; neither can stand in words that `visible` has seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

WIDTH = 80  # columns, as markdownlint wants them
FIXED = "\0"
BREAK = "\n"

_OPENS_BLOCK = re.compile(r"[#>]|::|[-+=:]+$")  # a heading, a quote, a directive; a list, a rule, an underline, a table
_CLOSES_HEADING = re.compile(r"(?<!\\)#+$")
_SIGN = "\\#"
_OPENS_ORDERED = re.compile(r"^\d{1,9}(?=[.)]$)")


def columns(text: str) -> int:
    """How wide a text is for markdownlint, which counts as JavaScript does."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def fits(line: str, width: int) -> bool:
    """Whether a line ends in time, or its last word begins in time."""
    return columns(line) <= width or columns(line.rpartition(" ")[0]) < width - 1


def filled(text: str, width: int = WIDTH) -> list[str]:
    """Returns inline Markdown as lines, none wider than `width` unless it is a single word."""
    kept = [list(_lines(part, width)) for part in text.split(BREAK)]
    kept = [lines for lines in kept if lines]
    for lines in kept[:-1]:
        lines[-1] += "\\"
    return [line.replace(FIXED, " ") for lines in kept for line in lines]


def _lines(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and columns(f"{line} {word}\\") > width:  # the backslash: the line may have to keep its end
            yield line
            line = ""
        line = f"{line} {word}" if line else _at_start(word)
    if line:
        yield line


def _at_start(word: str) -> str:
    """A word as the first of a line, where it opens nothing."""
    if _OPENS_BLOCK.match(word):
        return f"\\{word}"
    return _OPENS_ORDERED.sub(r"\g<0>\\", word)


def hung(lines: Iterable[str], first: str, rest: str) -> list[str]:
    """Returns lines behind a marker, `first` before the first of them and `rest` before the others."""
    return [f"{rest if at else first}{line}".rstrip() for at, line in enumerate(lines)]


def heading(level: int, words: str) -> str:
    """Returns safe words as a heading; it stays on one line, whatever its width."""
    text = words.replace(FIXED, " ").rstrip()
    return f"{'#' * level} {_CLOSES_HEADING.sub(lambda signs: signs[0].replace('#', _SIGN), text)}"


def paragraph(text: str) -> str:
    """Returns safe inline Markdown as a paragraph."""
    return "\n".join(filled(text))


def listed(items: Iterable[str]) -> str:
    """Returns a list of safe inline Markdown."""
    rows = [line for item in items for line in hung(filled(item, WIDTH - 2), "- ", "  ")]
    return "\n".join(rows) or "- None stated."


def section(title: str, items: Iterable[str]) -> Iterator[str]:
    """A heading with a list under it, where there is something to list."""
    rows = list(items)
    if rows:
        yield title
        yield listed(rows)


def member(words: str) -> str:
    """Words that others follow behind a dash or in brackets."""
    return words.removesuffix(".")
