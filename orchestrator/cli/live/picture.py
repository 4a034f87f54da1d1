"""A state becomes lines: as much of it as a terminal of a width and a height holds.

A round at work has its seats one below the other in the lanes of their roles; one that is over, or to come, is a line.
A narrow terminal sees the round at work alone, a seat a line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.text import Text

from orchestrator.cli.live.state import SETTLED, Cell, Row, View
from orchestrator.hall.terms import Role
from orchestrator.secrets import scrub
from orchestrator.wording import counted, listed, visible

COLOURS = {Role.WIND: "cyan", Role.WALL: "yellow", Role.DOOR: "green"}
_LANES = 64  # columns that three lanes need
_GAP = 2
_LEAST_LANE = 12
_OF_A_STATE = 28  # columns that a state takes in a list, with its role
_DOING = {"checklist": "listing", "vote": "voting", "refine": "refining", "account": "accounting"}
_DONE = {"vote": "voted", "refine": "refined", "account": "accounted"}


def picture(view: View, now: float, width: int, height: int) -> list[Text]:
    """The lines of a view, at most one fewer than the terminal has, none wider than it is.

    Args:
        now: on the display's clock.
    """
    room = max(height - 1, 1)
    if width >= _LANES:
        for detail, folded in ((3, False), (2, False), (3, True), (2, True), (1, True)):
            lines = _in_lanes(view, now, width, detail, folded)
            if len(lines) <= room:
                return _cut(lines, width)
    return _cut(_in_a_list(view, now, width, room), width)


def plain(words: str, style: str = "") -> Text:
    """Words that came from anywhere, harmless and on one line."""
    return Text(visible(scrub(words)).replace("\n", " ").replace("\t", " "), style, no_wrap=True, end="")


def _cut(lines: Sequence[Text], width: int) -> list[Text]:
    for line in lines:
        line.rstrip()
        line.truncate(max(width, 1), overflow="ellipsis")
    return list(lines)


def _in_lanes(view: View, now: float, width: int, detail: int, folded: bool) -> list[Text]:
    label = max(len(row.label) for row in view.rows) + _GAP
    lane = max((width - label - 2 * _GAP) // 3, _LEAST_LANE)
    titles = [plain(role, f"bold {COLOURS[role]}") for role in Role]
    lines = [_head(view), _lanes(plain(""), titles, label, lane)]
    for row in _shown(view, folded):
        if isinstance(row, Text):
            lines.append(row)
        else:
            place = view.rows.index(row)
            seen = detail if place == view.current else 0
            lanes = [_lane(view, row, role, now, lane, seen) for role in Role]
            labels = [plain(row.label, "bold" if place == view.current else "dim")]
            lines += [
                _lanes(first or plain(""), [cell or plain("") for cell in cells], label, lane)
                for first, *cells in zip_longest(labels, *lanes)
            ]
    return [*lines, _foot(view, now)]


def _lanes(first: Text, cells: Sequence[Text], label: int, lane: int) -> Text:
    line = first.copy()
    line.truncate(label, overflow="ellipsis", pad=True)
    for cell in cells:
        cell.truncate(lane, overflow="ellipsis", pad=True)
        line.append_text(cell).append(" " * _GAP)
    return line


def _shown(view: View, folded: bool) -> Iterator[Row | Text]:
    """The rows; folded, those over and those to come are a line each."""
    if not folded:
        yield from view.rows
        return
    over, to_come = view.rows[: view.current], view.rows[view.current + 1 :]
    if over:
        yield plain(
            f"{over[0].label} to {over[-1].label}: T1 to T{view.spoken}" if len(over) > 1 else over[0].label, "dim"
        )
    yield from view.rows[view.current : view.current + 1]
    if to_come:
        yield plain(f"{counted(len(to_come), 'round')} to come", "dim")


def _lane(view: View, row: Row, role: Role, now: float, width: int, detail: int) -> list[Text]:
    """A role's part of a row, `detail` lines a seat; with no detail one line in all."""
    cells = row.of(role)
    if not detail:
        is_over = view.rows.index(row) < view.current
        told = (
            [state(row, cell, now) if cell.phase in SETTLED else "–" for cell in cells]
            if is_over
            else ["·"] * len(cells)
        )
        return [plain(" ".join(told), "dim")]
    return [line for cell in cells for line in _seat(row, cell, now, width, detail)]


def _seat(row: Row, cell: Cell, now: float, width: int, detail: int) -> Iterator[Text]:
    """A seat in so many lines; its lens stands behind its agent's name where there is room, else behind the model's."""
    told, style, model = state(row, cell, now), _style(cell), _short(cell.model)
    if detail == 1:
        yield plain(f"{told} {cell.agent}", style)
        return
    lens = f": {cell.lens}" if cell.lens else ""
    fits = not lens or cell_len(cell.agent + lens) <= width
    yield plain(cell.agent + (lens if fits else ""), COLOURS[Role(cell.role)])
    if detail == 2:
        yield plain(f"{told} · {model}", style)
    else:
        yield plain(model if fits else f"{model} · {cell.lens}", "dim")
        yield plain(told, style)


def _in_a_list(view: View, now: float, width: int, room: int) -> list[Text]:
    place = min(view.current, len(view.rows) - 1)
    row = view.rows[place]
    named = min(max(width - _OF_A_STATE, 3), 22)
    seats = []
    for cell in row.cells:
        line, name = plain(f"{cell.role:<5}", COLOURS[Role(cell.role)]), plain(cell.agent)
        name.truncate(named, overflow="ellipsis", pad=True)
        seats.append(line.append_text(name).append(" ").append_text(plain(state(row, cell, now), _style(cell))))
    head, foot = _head(view), _foot(view, now)
    free = room - 2
    if free < 1:
        return [head, foot][:room]
    if len(seats) > free:
        hidden = len(seats) - free + 1
        seats = [*seats[: free - 1], plain(f"… {hidden} more", "dim")]
    return [head, *seats, foot]


def _head(view: View) -> Text:
    row = view.rows[min(view.current, len(view.rows) - 1)]
    at = f"round {row.label} of {view.rounds}" if row.name.startswith("R") else row.label
    at = "closing" if view.current >= len(view.rows) else at
    return plain(view.recipe, "bold").append_text(plain(f" · {at} · {view.spoken} of {counted(view.turns, 'turn')}"))


def _foot(view: View, now: float) -> Text:
    """What was taken, each beside its limit."""
    spent, limits = view.spent, view.limits
    cost = "cost unknown" if spent.cost_usd is None else f"${spent.cost_usd:.4f}"
    cost += "" if limits.cost_usd is None else f" of ${limits.cost_usd:f}"
    tokens = f"{spent.input + spent.output:,}" + ("" if limits.tokens is None else f" of {limits.tokens:,}")
    seconds = _clock(now - view.began + view.before_s)
    seconds += "" if limits.seconds is None else f" of {_clock(limits.seconds)}"
    told = [seconds, "no model asked"] if view.rehearsal else [cost, f"{tokens} tokens", seconds]
    told += [f"{view.uncertain} uncertain"] if view.uncertain else []
    return plain(" · ".join(told))


def state(row: Row, cell: Cell, now: float) -> str:
    """What a seat does, or waits for."""
    awaited = row.awaited(cell)
    waits = f"awaits {listed(awaited)}" if awaited else ""
    match cell.phase:
        case "waits":
            return waits or "waits"
        case "listed":
            return f"listed, {waits}" if waits else "listed"
        case "writes":
            return _writing(cell, now)
        case "asks again":
            left = math.ceil(cell.until - now)
            return f"again in {left} s" if left > 0 else f"asked again {int(now - cell.until)} s"
        case "spoke":
            return f"T{cell.turn}"
        case "done":
            return cell.said or _DONE.get(cell.step, "done")
        case other:
            return other


def _writing(cell: Cell, now: float) -> str:
    came = f", ~{cell.tokens:,} tok" if cell.letters else ""
    return f"{_DOING.get(cell.step, 'drafting')} {max(int(now - cell.since), 0)} s{came}"


def _style(cell: Cell) -> str:
    return {"waits": "dim", "writes": "bold", "asks again": "red", "failed": "red", "missing": "red"}.get(
        cell.phase, ""
    )


def _short(model: str) -> str:
    """A model's name without the way to it."""
    return model.rpartition("/")[2] or model


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
