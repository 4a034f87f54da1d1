"""What `debate-hall fleet` shows and changes: the queue, the workers, what may be spent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from typing import Any

from orchestrator.cli.showing import put
from orchestrator.errors import NotActive, UnknownThread
from orchestrator.fleet.permits import Permits
from orchestrator.fleet.place import fleet_address
from orchestrator.fleet.queue import Queue
from orchestrator.fleet.state import FleetState, Watched
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Status
from orchestrator.usage import amount
from orchestrator.wording import counted


def show(as_json: bool) -> None:
    """Shows what the fleet is doing.

    Raises:
        DebateError
    """
    with closing(Watched(fleet_address())) as fleet:
        found = fleet.state()
    put(_described(found), as_json, "".join(f"{line}\n" for line in _lines(found)))


def _described(found: FleetState) -> dict[str, Any]:
    today = found.today
    return {
        "waiting": [each._asdict() for each in found.waiting],
        "oldest_s": found.oldest_s,
        "held": [{**each._asdict(), "since": each.since.isoformat() if each.since else None} for each in found.held],
        "failed": list(found.failed),
        "workers": [each._asdict() for each in found.workers],
        "today": {
            "day": today.day.isoformat(),
            "cost_usd": amount(today.cost_usd),
            "unpriced": today.unpriced,
            "budget_usd": amount(today.budget_usd),
        },
        "servers": [each._asdict() for each in found.servers],
    }


def _lines(found: FleetState) -> Iterator[str]:
    yield f"waiting: {_waiting(found)}"
    workers = ", ".join(f"{each.number} ({each.jobs}, heard of {each.silent_s:.0f} s ago)" for each in found.workers)
    yield f"workers: {workers or 'none: debate-hall worker'}"
    today = found.today
    of = f" of ${today.budget_usd:.2f}" if today.budget_usd is not None else "; no budget"
    unpriced = f"; {counted(today.unpriced, 'call')} of unknown price" if today.unpriced else ""
    yield f"today (UTC): ${today.cost_usd:.4f}{of}{unpriced}"
    for server in found.servers:
        yield f"server {server.server}: {server.under_way} under way, {server.last_minute} in the last minute"
    for held in found.held:
        at = f" at {held.place}" if held.place else ""
        yield f"held: {held.thread_id}, worker {held.worker}{at}{f', try {held.tries + 1}' if held.tries else ''}"
    for thread_id in found.failed:
        yield f"given up: {thread_id}: debate-hall fleet retry {thread_id}"


def _waiting(found: FleetState) -> str:
    if not found.waiting:
        return "nothing"
    parts = [
        f"{each.jobs} of priority {each.priority}{f' ({each.later} of them later)' if each.later else ''}"
        for each in found.waiting
    ]
    oldest = f"; the next has waited {found.oldest_s:.0f} s" if found.oldest_s is not None else ""
    return ", ".join(parts) + oldest


def set_budget(cost_usd: Decimal | None, as_json: bool) -> None:
    """Sets what the fleet may spend in a day; None: as much as it takes.

    Raises:
        DebateError
    """
    with closing(Permits(fleet_address())) as permits:
        permits.set_budget(cost_usd)
    budget = amount(cost_usd)
    words = f"at most ${budget} a day (UTC), all workers together" if budget else "no budget"
    put({"budget_usd": budget}, as_json, f"{words}\n")


def cancel(thread_id: str, as_json: bool) -> None:
    """Takes a debate out of the queue, and stops it where a worker holds it. It stays open.

    Raises:
        DebateError: it is neither in the queue nor held.
    """
    with Hall.open() as hall, closing(Queue(fleet_address())) as queue:
        row = hall.runs.row(thread_id)
        waiting = queue.cancel(thread_id)
        is_held = row is not None and hall.runs.is_alive(row)
        if is_held:
            hall.runs.stop(thread_id, "It was cancelled.")
        elif not waiting:
            raise NotActive(f"{thread_id} is neither in the queue nor held by anybody.", "See: debate-hall fleet")
    words = "it is being stopped" if is_held else "taken out of the queue"
    put({"thread_id": thread_id, "was_held": is_held}, as_json, f"{thread_id}: {words}; it stays open\n")


def retry(thread_id: str, priority: int | None, as_json: bool) -> None:
    """Lets a debate be tried again, or held in the first place.

    Raises:
        DebateError: there is nothing to hold.
    """
    with Hall.open() as hall, closing(Queue(fleet_address())) as queue:
        debate = hall.debate(thread_id)
        name = debate.state.thread_id
        if debate.state.status is not Status.ACTIVE:
            raise NotActive(f"{name} is {debate.state.status}: there is nothing to go on with.")
        if debate.plan is None:
            raise UnknownThread(f"{name} is held by hand: no worker can hold it.")
        anew = queue.retry(name, priority)
    words = "waits for a worker" if anew else "waits for a worker already, or has one"
    put({"thread_id": name, "was_waiting": not anew}, as_json, f"{name} {words}\n")
