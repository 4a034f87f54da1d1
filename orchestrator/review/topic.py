"""The topic of a review: a template in which the date, the git range and the last decision have their places."""

from __future__ import annotations

import re
from collections.abc import Mapping

PLACES = ("date", "range", "decision")

_PLACE = re.compile(r"\{([^{}]*)\}")


def fault_in(template: str) -> str | None:
    """The sentence about a brace that is no place; None where there is none."""
    for name in _PLACE.findall(template):
        if name not in PLACES:
            return f"has no place {{{name}}}."
    left = _PLACE.sub("", template)
    return "has a brace that is no place." if "{" in left or "}" in left else None


def filled(template: str, words: Mapping[str, str]) -> str:
    """A template without faults with its places filled; braces in the words stay as they are."""
    return _PLACE.sub(lambda place: words[place[1]], template)
