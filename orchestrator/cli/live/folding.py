"""An event and a state become the next state; an event that changes nothing to be seen leaves it as it is."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

from orchestrator import events
from orchestrator.cli.live.state import Cell, View
from orchestrator.usage import Usage, total

_DRAFTED = {"checklist": "listed", "vote": "done", "refine": "drafted", "account": "done"}


@singledispatch
def fold(event: Any, view: View, now: float) -> View:
    """The view after an event, at a time of the display's clock."""
    return view


@fold.register
def _(event: events.RoundStarted, view: View, now: float) -> View:
    return replace(view.at(f"R{event.round}"), rounds=max(event.rounds, view.rounds))


@fold.register
def _(event: events.Resumed, view: View, now: float) -> View:
    spent = total([view.spent, _usage(event)])
    return replace(view, spent=spent, before_s=event.seconds, uncertain=len(event.uncertain))


@fold.register
def _(event: events.DraftStarted, view: View, now: float) -> View:
    changes = {"phase": "writes", "step": event.step, "model": event.model, "letters": 0, "lens": event.lens}
    return _seat(event, view, now, **changes)


@fold.register
def _(event: events.DraftDelta, view: View, now: float) -> View:
    cell = view.cell(event.slot)
    if cell is None or cell.phase not in ("writes", "asks again"):
        return view
    since = cell.since if cell.phase == "writes" else now
    return view.with_cell(replace(cell, phase="writes", since=since, letters=cell.letters + len(event.text)))


@fold.register
def _(event: events.DraftFinished, view: View, now: float) -> View:
    view = replace(view, spent=total([view.spent, _usage(event)]))
    return _seat(event, view, now, phase=_DRAFTED.get(event.step, "drafted"), model=event.answered)


@fold.register
def _(event: events.DraftFailed, view: View, now: float) -> View:
    view = replace(view, spent=total([view.spent, _usage(event)]))
    return _seat(event, view, now, phase="failed")


@fold.register
def _(event: events.Retried, view: View, now: float) -> View:
    return _seat(event, view, now, phase="asks again", until=now + event.wait_s, letters=0)


@fold.register
def _(event: events.SentBack, view: View, now: float) -> View:
    return _seat(event, view, now, phase="writes", letters=0)


@fold.register
def _(event: events.FellBack, view: View, now: float) -> View:
    return _seat(event, view, now, phase="writes", model=event.to, letters=0)


@fold.register
def _(event: events.SeatMissing, view: View, now: float) -> View:
    return _seat(event, view, now, phase="missing")


@fold.register
def _(event: events.TurnCommitted, view: View, now: float) -> View:
    number = event.turn_index + 1
    view = replace(view, spoken=max(view.spoken, number))
    return _seat(event, view, now, phase="spoke", turn=number, model=event.model)


@fold.register
def _(event: events.VoteCast, view: View, now: float) -> View:
    return _seat(event, view, now, phase="done", said=event.choice)


@fold.register
def _(event: events.SynthesisRefined, view: View, now: float) -> View:
    return _seat(event, view, now, phase="done")


@fold.register
def _(event: events.Closed, view: View, now: float) -> View:
    return replace(view, current=len(view.rows))


_OfASeat = events.DraftEvent | events.SeatMissing | events.TurnCommitted | events.VoteCast | events.SynthesisRefined


def _seat(event: _OfASeat, view: View, now: float, **changes: Any) -> View:
    """The view with the cell of an event's seat changed."""
    role = getattr(event, "role", "Door")  # only Door refines
    cell = view.cell(event.slot) or Cell(event.slot, role, event.agent)
    return view.with_cell(replace(cell, since=now, **changes))


def _usage(event: events.Resumed | events.DraftFinished | events.DraftFailed) -> Usage:
    return Usage(event.input, event.cached, event.output, event.cost_usd)
