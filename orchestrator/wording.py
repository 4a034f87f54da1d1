"""How things are worded for people, wherever they stand."""

from __future__ import annotations

from collections.abc import Iterable

_C0 = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
STEERING = (*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))  # DEL, C1, what reorders a line
_VISIBLE = {**_C0, **dict.fromkeys(STEERING, 0xFFFD), 0x7F: 0x2421}


def counted(number: int, what: str, many: str | None = None) -> str:
    """A number with what it counts: `1 turn`, `2,000 turns`; `many` is a plural of its own."""
    return f"{number:,} {what if number == 1 else many or f'{what}s'}"


def listed(names: Iterable[str]) -> str:
    """Names as a sentence has them: `Wind, Wall and Door`."""
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def shortened(line: str, most: int) -> str:
    """A line of at most so many characters; that it was cut, its last one says."""
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The sentence that offers the known name nearest to `word`, or nothing when none is near."""
    from difflib import get_close_matches  # here: it is needed for errors only

    near = get_close_matches(word[:80].lower(), list(known), n=1)
    return f"Did you mean {near[0]}?" if near else ""


def visible(text: str) -> str:
    """Text in which whatever steers a terminal (escapes, carriage returns, reordering) is a visible sign."""
    return text.replace("\r\n", "\n").translate(_VISIBLE)
