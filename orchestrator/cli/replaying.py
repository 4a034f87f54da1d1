"""What `debate-hall replay` does: a debate held again with something changed, of which only that is paid for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

import anyio

from orchestrator import run_folder
from orchestrator.cli.ending import Exit
from orchestrator.cli.outcome import Call, Place, ending_well, finished, signing_key
from orchestrator.cli.plain import answer, json_text
from orchestrator.cli.running import held_anew
from orchestrator.cli.telling import telling
from orchestrator.foreseeing import Foreseen, foresee
from orchestrator.hall.entries import plain
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import require_thread_id
from orchestrator.models.switchboard import Switchboard
from orchestrator.recipe import NO_LIMITS
from orchestrator.replaying import Replay, ReplayWanted, prepare_replay
from orchestrator.wording import counted, visible


def replay(call: Call, thread_id: str, wanted: ReplayWanted) -> int:
    """Does it all and returns the exit code."""
    return ending_well(call, partial(_replay, call, thread_id, wanted))


def _replay(call: Call, thread_id: str, wanted: ReplayWanted, place: Place) -> int:
    if call.thread_id is not None:
        require_thread_id(call.thread_id)
    if call.out is not None and not call.dry_run:
        run_folder.require_unused(call.out)
    with Hall.open() as hall:
        again = prepare_replay(hall, thread_id, wanted, os.environ)
        plan = again.plan
        Switchboard().require(plan.routes)
        place.link, place.key = again.link, signing_key(call)
        foreseen = anyio.run(foresee, plan, again.topic, again.replayed, again.link)
        place.quote = foreseen.quote
        if call.dry_run:
            _show(call, again, foreseen, place)
            return Exit.DECIDED
        for notice in plan.notices:
            call.tell(f"note: {notice}")
        call.tell(_counts(foreseen))
        if foreseen.quote.asks_models:
            call.tell(f"quote: {foreseen.quote}")
        place.telling = telling(plan, quiet=call.quiet, colour=call.colour, events=call.events)
        ended = held_anew(call, again.topic, plan, hall, place, again.ids())
    return finished(call, plan, ended, place)


def _show(call: Call, again: Replay, foreseen: Foreseen, place: Place) -> None:
    """Prints which calls would be new, and what they would take."""
    if call.as_json:
        new = [each._asdict() for each in foreseen.new]
        told = {"replays": plain(again.link), "reused": foreseen.reused, "new_calls": new, "quote": place.quoted}
        answer(json_text({**run_folder.describe(again.plan), **told}))
    else:
        answer(visible("\n".join(_lines(again, foreseen)) + "\n"))


def _lines(again: Replay, foreseen: Foreseen) -> Iterator[str]:
    yield _counts(foreseen)
    slot, step, agent = (max((len(each[n]) for each in foreseen.new), default=0) for n in range(3))
    for each in foreseen.new:
        yield f"  {each.slot:<{slot}}  {each.step:<{step}}  {each.agent:<{agent}}  {each.route}"
    yield from foreseen.quote.lines()
    limits = again.plan.limits
    yield from [f"limits: {limits}; at a limit: {again.plan.recipe.on_limit}"] if limits != NO_LIMITS else []
    yield from (f"note: {notice}" for notice in again.plan.notices)


def _counts(foreseen: Foreseen) -> str:
    new, reused = len(foreseen.new), foreseen.reused
    asks = f"{counted(new, 'call is', 'calls are')} new"
    return f"{asks}, {counted(reused, 'reply is', 'replies are')} reused"
