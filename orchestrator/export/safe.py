"""Words of models as Markdown that cannot leave its place: no heading, list, fence, link or HTML of theirs counts.

Line ends of all kinds end a line; any other control character is shown as a sign, as it is on standard output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from orchestrator.wording import visible

_OPENS_HTML = re.compile(r"<(?=[A-Za-z/!?])")
_OPENS_CODE = re.compile(r"(`{3,}(?!.*`)|~{3,}).*")
_ENDS_CODE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")
_GLIMPSE = 160  # characters


def quote(text: str) -> str:
    """Returns text as a Markdown block quote, which nothing in it can leave."""
    return "\n".join(f"> {line}".rstrip() for line in _without_html(map(visible, text.splitlines())))


def _without_html(rows: Iterable[str]) -> Iterator[str]:
    """Code keeps its `<`, but only where it is certain to be code: behind a fence at a line's very start, and until one
    stands elsewhere (in a list, say), for then only a whole Markdown parser knows what is code."""
    fence, certain = "", True
    for row in rows:
        yield row if fence else _OPENS_HTML.sub("&lt;", row)
        if fence:
            ends = _ENDS_CODE.fullmatch(row)
            fence = "" if ends and ends[1].startswith(fence) else fence
        elif certain and (opens := _OPENS_CODE.fullmatch(row)):
            fence = opens[1]
        elif "```" in row or "~~~" in row:
            certain = False


def listed(items: Iterable[str]) -> str:
    """A list of lines that are safe already."""
    return "\n".join(f"- {item}" for item in items) or "- None stated."


def glimpse(text: str) -> str:
    """What a text begins with, on one line."""
    words = " ".join(text.split()).lstrip("#>*- ")
    return one_line(words if len(words) <= _GLIMPSE else f"{words[: _GLIMPSE - 3].rstrip()}…")


def one_line(text: str) -> str:
    """One line that opens no markup: line ends become spaces, and what could begin HTML or a link is shown as text."""
    words = visible(" ".join(text.split())).replace("\\", "\\\\").replace("`", "'").replace("[", "\\[")
    return _OPENS_HTML.sub("&lt;", words)


def code(text: str) -> str:
    words = visible(" ".join(text.split())).replace("`", "'")
    return f"`{words}`"


def cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")
