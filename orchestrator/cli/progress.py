"""A run's events as plain lines for people, one for each draft and each commit."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

from orchestrator import events
from orchestrator.events import Told
from orchestrator.wording import counted


def progress_lines(write: Callable[[str], None]) -> Callable[[Told], None]:
    """Returns a reader of the event stream that writes what people want to see."""

    def read(told: Told) -> None:
        line = line_of(told.event)
        if line:
            write(line)

    return read


@singledispatch
def line_of(event: Any) -> str:
    """The line for an event; empty for those that people need not see."""
    return ""


@line_of.register
def _(event: events.RunStarted) -> str:
    return f"{event.recipe}: {counted(event.turns, 'turn')} in {counted(event.rounds, 'round')}"


@line_of.register
def _(event: events.RoundStarted) -> str:
    return f"round {event.round} of {event.rounds}"


@line_of.register
def _(event: events.Resumed) -> str:
    cost = "an unknown cost" if event.cost_usd is None else f"${event.cost_usd:.4f}"
    stood = f"resumed: {counted(event.turns, 'turn')} stood, {event.input + event.output:,} tokens and {cost} so far"
    return "\n".join([stood, *(f"  uncertain, made again if it is needed: {call}" for call in event.uncertain)])


@line_of.register
def _(event: events.SeatMissing) -> str:
    return f"  {_who(event)} is missing, the round goes on without it: {event.message}"


@line_of.register
def _(event: events.Summarised) -> str:
    return f"  {_who(event)} cannot read all turns; of T1 to T{event.turns} it reads a summary"


@line_of.register
def _(event: events.LimitReached) -> str:
    return f"  limit: {event.message}{' Door closes with what is there.' if event.closes else ''}"


@line_of.register
def _(event: events.DraftFinished) -> str:
    if event.known:
        return f"  {_who(event)} {_done(event.step)} before the run was resumed, {event.answered}"
    if event.reused and not event.input:
        return f"  {_who(event)} {_done(event.step)} in the debate that this one replays, {event.answered}"
    thinking = f" ({event.thinking:,} thinking)" if event.thinking else ""
    tokens = f"{event.input:,} tokens in ({event.cached:,} cached), {event.output:,} out{thinking}"
    return f"  {_who(event)} {_done(event.step)} in {event.seconds:.1f} s, {tokens}, {event.answered}"


@line_of.register
def _(event: events.LeftOut) -> str:
    return f"  {_who(event)} {event.model} does not take {', '.join(event.parameters)}; it is asked without"


@line_of.register
def _(event: events.DraftFailed) -> str:
    return f"  {_who(event)} failed after {event.seconds:.1f} s: {event.message}"


@line_of.register
def _(event: events.Retried) -> str:
    return f"  {_who(event)} attempt {event.attempt} failed, again in {event.wait_s:.1f} s: {event.message}"


@line_of.register
def _(event: events.FellBack) -> str:
    return f"  {_who(event)} {event.model} failed, now {event.to}: {event.message}"


@line_of.register
def _(event: events.SentBack) -> str:
    return f"  {_who(event)} sent back once: {event.reason}"


@line_of.register
def _(event: events.TurnCommitted) -> str:
    return f"  {_who(event)} committed as T{event.turn_index + 1}, {event.hash[:19]}…"


@line_of.register
def _(event: events.VoteCast) -> str:
    void = "" if event.counts else ", which does not count: it rests on nothing that exists"
    return f"  {_who(event)} votes: {event.choice}{void}"


@line_of.register
def _(event: events.BallotCounted) -> str:
    void = f", {event.void} {'does' if event.void == 1 else 'do'} not count" if event.void else ""
    return f"  ballot {event.ballot}: {event.approve} approve, {event.object} object{void}"


@line_of.register
def _(event: events.SynthesisRefined) -> str:
    answers = f", answers {', '.join(event.answers)}" if event.answers else ""
    return f"  {_who(event)} refined the synthesis{answers}"


@line_of.register
def _(event: events.PersonSpoke) -> str:
    what = f"spoke as {event.role}" if event.role else "left a note for Door"
    return f"  {event.by} {what}: {event.name}, which Door answers by this name"


@line_of.register
def _(event: events.RoundAskedFor) -> str:
    return f"  {event.by} asks for another round; there may be {event.rounds}"


@line_of.register
def _(event: events.EndAskedFor) -> str:
    return f"  {event.by} ends the debate; Door says its last word"


@line_of.register
def _(event: events.Settled) -> str:
    return f"  nothing is open any more; {counted(event.turns, 'planned turn')} not needed"


@line_of.register
def _(event: events.HeadMoved) -> str:
    spoken = f"with {counted(event.turns, 'turn')}" if event.turns else "without words"
    return f"  another writer moved the head {spoken}"


@line_of.register
def _(event: events.Closed) -> str:
    return f"closed: {event.status}, head {event.head}"


_DONE = {
    "checklist": "wrote its checklist",
    "vote": "voted",
    "refine": "refined the synthesis",
    "account": "accounted for the decision",
    "answer": "answered",
    "place": "said which decision its answer is",
}


_OfASeat = events.DraftEvent | events.SeatMissing | events.TurnCommitted | events.VoteCast | events.SynthesisRefined


def _who(event: _OfASeat) -> str:
    return f"{event.slot:<16} {event.agent:<22}"  # as wide as R12.Door.account


def _done(step: str) -> str:
    return _DONE.get(step, "drafted")
