"""Headings of a document: each on one line that fits, without a full stop, and no two of them alike."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.export.lines import WIDTH, columns, heading
from orchestrator.export.words import ENDS, collapsed, plain


class Headings:
    """The headings of one document.

    Args:
        ours: those that it has anyway.
    """

    def __init__(self, ours: Iterable[str]) -> None:
        self._taken = {name.casefold() for name in ours}

    def of(self, level: int, words: str, before: str = "") -> str:
        """Returns words as a heading; what is too long for a line ends with `…`.

        Args:
            before: what stands before them, a number say.
        """
        shown, number = collapsed(words).rstrip(ENDS) or "Untitled", 1
        if len(shown) > WIDTH:
            shown = _shorter(shown[: WIDTH + 1])  # at once, for what follows goes word by word
        while columns(text := _text(level, before, shown, number)) > WIDTH or _key(text) in self._taken:
            if columns(text) > WIDTH:
                shown = _shorter(shown)
            else:
                number += 1
        self._taken.add(_key(text))
        return text


def _shorter(words: str) -> str:
    """Words without the last of them; a single one without its last sign."""
    whole = words.removesuffix("…")
    return f"{(whole.rpartition(' ')[0] or whole[:-1]).rstrip(ENDS)}…"


def _text(level: int, before: str, shown: str, number: int) -> str:
    return heading(level, f"{before}{plain(shown)}" if number == 1 else f"{before}{plain(shown)} ({number})")


def _key(text: str) -> str:
    return text.lstrip("#").strip().casefold()
