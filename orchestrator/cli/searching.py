"""What `debate-hall search` tells: each hit with where it stands, what it is about, and how to read on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from orchestrator.cli.listing import marked, moment
from orchestrator.decision.record import title_of
from orchestrator.hall.listings import SearchHit, SearchResult
from orchestrator.wording import shortened, visible

if TYPE_CHECKING:
    from rich.text import Text

_LONGEST_TITLE = 96  # characters
_NOTHING = "Nothing like that was found. Fewer words find more; the last may be the beginning of one.\n"
_APART = "No text holds all of that; in each of these debates it stands in several.\n"
_MORE = "More was found: --limit shows it.\n"


def plain(found: SearchResult) -> str:
    """Returns what was found as text, with «these» around what was looked for."""
    if not found["hits"]:
        return _NOTHING
    told = (
        f"{_heading(hit, local=False)}\n  {_about(hit)}\n  {_quoted(hit)}\n  {_command(hit)}\n" for hit in found["hits"]
    )
    return "\n".join([*_first(found), *told, *_last(found)])


def typeset(found: SearchResult, columns: int) -> str:
    """Returns what was found for a terminal that wide, with what was looked for in bold."""
    from rich.padding import Padding
    from rich.text import Text

    from orchestrator.cli.typeset import console_for, written

    if not found["hits"]:
        return _NOTHING
    console = console_for(columns)
    for line in _first(found):
        console.print(Text(line))
    for hit in found["hits"]:
        console.print(Text(visible(_heading(hit, local=True)), "bold"))
        for below in (Text(visible(_about(hit)), "dim"), _bold(hit), Text(_command(hit), "cyan")):
            console.print(Padding(below, (0, 0, 0, 2)))
        console.print()
    for line in _last(found):
        console.print(Text(line))
    return written(console)


def _first(found: SearchResult) -> Iterator[str]:
    if found["apart"]:
        yield _APART


def _last(found: SearchResult) -> Iterator[str]:
    if found["more"]:
        yield _MORE


def _heading(hit: SearchHit, *, local: bool) -> str:
    where = " ".join(word for word in (hit["where"], hit["role"], hit["agent"]) if word)
    return f"{hit['thread_id']}  {where}  {hit['status']}  {moment(hit['at'], local=local)}"


def _about(hit: SearchHit) -> str:
    return shortened(f"{marked(hit['marks'])}{title_of(hit['topic'])}", _LONGEST_TITLE)


def _command(hit: SearchHit) -> str:
    turn = f" --turn {hit['where']}" if hit["where"].startswith("T") else ""
    return f"debate-hall show {hit['thread_id']}{turn}"


def _quoted(hit: SearchHit) -> str:
    line, at = "", 0
    for start, end in hit["matches"]:
        line += f"{hit['snippet'][at:start]}«{hit['snippet'][start:end]}»"
        at = end
    return line + hit["snippet"][at:]


def _bold(hit: SearchHit) -> Text:
    from rich.text import Text

    text = Text(visible(hit["snippet"]))
    for start, end in hit["matches"]:
        text.stylize("bold yellow", start, end)
    return text
