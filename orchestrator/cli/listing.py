"""What `debate-hall list` tells: a line for each debate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from orchestrator.decision.record import title_of
from orchestrator.hall.listings import Listing
from orchestrator.hall.terms import Status
from orchestrator.wording import visible

_NARROWEST = 24  # columns of a title, below which it has a line of its own
_NO_DEBATES = 'No debates yet. Begin one: run-debate --rehearse "Your question?"\n'


def lines(debates: Sequence[Listing], asked: Mapping[str, Any], columns: int | None) -> str:
    """Returns the debates as text.

    Args:
        asked: the filters that were given; what is None or empty was not.
        columns: of the terminal, to which lines are fitted, with the time of this machine; None for a line that is the
            same wherever it is read.
    """
    if not debates:
        return "No debate is like that.\n" if any(asked.values()) else _NO_DEBATES
    told = _whole(debates) if columns is None else _fitted(debates, columns)
    return "".join(f"{line}\n" for line in told)


def _whole(debates: Sequence[Listing]) -> Iterator[str]:
    width = max(len(debate["thread_id"]) for debate in debates)
    for debate in debates:
        yield (
            f"{debate['thread_id']:<{width}}  {standing(debate):<19}  {debate['turn_count']:>3} of "
            f"{debate['max_turns']} turns  {moment(debate['updated_at'], local=False)}  {_title(debate)}"
        )


def _fitted(debates: Sequence[Listing], columns: int) -> Iterator[str]:
    rows = [_cells(debate) for debate in debates]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for debate, row in zip(debates, rows, strict=True):
        before = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True) if width)
        title, room = visible(_title(debate)), columns - len(before) - 2
        if room >= _NARROWEST:
            yield f"{before}  {_cut(title, room)}"
            continue
        name, *rest = filter(None, row)
        yield from [before.rstrip()] if len(before) <= columns else [name, f"  {'  '.join(rest)}"]
        yield f"  {_cut(title, columns - 2)}"


def _cells(debate: Listing) -> tuple[str, ...]:
    """What stands before its title. A thread id is ASCII, a recipe's name need not be."""
    turns = f"{debate['turn_count']} of {debate['max_turns']}"
    moved = moment(debate["updated_at"], local=True)
    return debate["thread_id"], standing(debate), visible(debate["recipe"] or ""), turns, moved


def _title(debate: Listing) -> str:
    later = f"reviewed by {debate['reviewed_by'][-1]}: " if debate["reviewed_by"] else ""
    return f"{marked(debate['marks'])}{later}{title_of(debate['topic'])}"


def _cut(title: str, columns: int) -> str:
    from rich.cells import cell_len, set_cell_size  # here: only a terminal needs it

    return title if cell_len(title) <= columns else f"{set_cell_size(title, columns - 1).rstrip()}…"


def standing(debate: Listing) -> str:
    """Its status, and of a debate that a run holds, or held until it stopped, what the run does."""
    open_run = debate["status"] == Status.ACTIVE and debate["run"] != "none"
    return f"{debate['status']}, {debate['run']}" if open_run else debate["status"]


def marked(marks: Sequence[str]) -> str:
    return "".join(f"{mark}: " for mark in marks)


def moment(at: str, *, local: bool) -> str:
    """A moment as people read it, to the minute: on this machine's clock, or in UTC as it was written down."""
    if local:
        try:
            return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M}"
        except (ValueError, OverflowError):  # a damaged thread hides no other
            pass
    return at[:16].replace("T", " ")
