"""Words of models, word for word, as Markdown that cannot leave its place: no heading, list or HTML of theirs counts.

For those who go on working with them, over MCP; a document for people has them in `prose`, in a form that fits.

Line ends of all kinds end a line; any other control character is shown as a sign, as it is on standard output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from orchestrator.wording import visible

_OPENS_HTML = re.compile(r"<(?=[A-Za-z/!?])")
_OPENS_CODE = re.compile(r"(`{3,}(?!.*`)|~{3,}).*")
_ENDS_CODE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")


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
    return "\n".join(f"- {item}" for item in items)


def one_line(text: str) -> str:
    """One line that opens no markup: line ends become spaces, and what could begin HTML or a link is shown as text."""
    words = visible(" ".join(text.split())).replace("\\", "\\\\").replace("`", "'").replace("[", "\\[")
    return _OPENS_HTML.sub("&lt;", words)
