"""What `debate-hall submit` does: debates are opened in the hall and put in the queue, for a fleet to hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from orchestrator.cli import recording, standard_input
from orchestrator.cli.plain import answer, json_text, tell
from orchestrator.earlier import earlier_decision
from orchestrator.errors import ConfigurationError, DebateError, ThreadExists
from orchestrator.fleet.batch import Entry, read_batch
from orchestrator.fleet.place import fleet_address
from orchestrator.fleet.queue import Queue
from orchestrator.fleet.submitting import Submission, open_and_put, planned, put_again
from orchestrator.hall.entries import Link
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import require_thread_id, require_words
from orchestrator.plan import Plan
from orchestrator.quote import Quote, quote_of
from orchestrator.thread_id import ids_for
from orchestrator.wording import counted, visible

_SHORTER = "Send the question alone; what it rests on is given with --context."


@dataclass(frozen=True, slots=True)
class Manner:
    """How it is submitted.

    Args:
        since: the thread whose decision it starts from.
        assume_keys: takes every key for granted.
        dry_run: submits nothing.
    """

    since: str | None
    assume_keys: bool
    dry_run: bool
    as_json: bool


def submit(asked: Submission, manner: Manner) -> None:
    """Submits one debate, and prints its id.

    Raises:
        DebateError: it cannot be submitted; nothing was.
    """
    given = asked.topic
    topic = standard_input.text("topic", "the topic", _SHORTER) if given == "-" else given
    require_words(topic, "topic")
    if asked.thread_id is not None:
        require_thread_id(asked.thread_id)
    _submit([Entry("", replace(asked, topic=topic), manner.since)], manner)


def submit_batch(file: Path, usual: Submission, manner: Manner) -> None:
    """Submits the debates of a file, and prints their ids: all of them, or none where one cannot be held.

    Raises:
        DebateError: says in which line what is wrong.
    """
    today = datetime.now().astimezone().date()
    _submit(read_batch(file, usual, manner.since, today), manner)


def _submit(entries: Sequence[Entry], manner: Manner) -> None:
    address = fleet_address()
    with Hall.open() as hall, closing(Queue(address)) as queue:
        plans = (_checked(hall, entry, manner) for entry in entries)
        if manner.dry_run:
            topics = [entry.submission.topic for entry in entries]
            _show(entries, [quote_of(plan, topic) for plan, topic in zip(plans, topics, strict=True)], manner)
            return
        deque(plans, maxlen=0)  # before the first is opened, all are known to be good; they are too large to keep
        done = []
        for entry in entries:
            done.append(_put(hall, queue, entry, manner))
            if not manner.as_json:
                answer(f"{done[-1]['thread_id']}\n")
    if manner.as_json:
        answer(json_text({"debates": done}))
    again = [each for each in done if each["was_there"]]
    there = f"; {len(again)} there already" if again else ""
    tell(f"submitted {counted(len(done) - len(again), 'debate')}{there}: debate-hall fleet")


def _prepared(hall: Hall, entry: Entry, manner: Manner) -> tuple[Plan, Link | None]:
    """
    Raises:
        DebateError: says where in a batch it stands.
    """
    try:
        earlier = earlier_decision(hall, entry.since) if entry.since is not None else None
        wanted = recording.with_records(replace(entry.submission.wanted, earlier=earlier))
        plan = planned(replace(entry.submission, wanted=wanted), Path.cwd(), manner.assume_keys)
    except DebateError as error:
        if not entry.where:
            raise
        raise ConfigurationError(error.message, error.cure, source=entry.where) from error
    return plan, earlier.link if earlier else None


def _checked(hall: Hall, entry: Entry, manner: Manner) -> Plan:
    """The plan of a debate that can be held; of one alone its notices are told."""
    plan, _ = _prepared(hall, entry, manner)
    if not entry.where:
        for notice in plan.notices:
            tell(f"note: {notice}")
    return plan


def _put(hall: Hall, queue: Queue, entry: Entry, manner: Manner) -> dict[str, Any]:
    """Submits one; of one that is there already, since it was submitted before, only what is missing is done."""
    submission = entry.submission
    plan, link = _prepared(hall, entry, manner)
    ids = ids_for(submission.topic, datetime.now().astimezone().date())
    try:
        return {"thread_id": open_and_put(hall, queue, submission, plan, ids, link), "was_there": False}
    except ThreadExists as taken:
        was_queued = put_again(hall, queue, submission, taken)
        return {"thread_id": submission.thread_id, "was_there": not was_queued}


def _show(entries: Sequence[Entry], quotes: Sequence[Quote | None], manner: Manner) -> None:
    if manner.as_json:
        quoted = [quote.described() if quote else None for quote in quotes]
        shown = [{**_described(entry), "quote": quote} for entry, quote in zip(entries, quoted, strict=True)]
        answer(json_text({"debates": shown}))
        return
    answer("".join(visible(line) for line in _lines(entries, quotes)))


def _described(entry: Entry) -> dict[str, Any]:
    asked = entry.submission
    return {"thread_id": asked.thread_id, "topic": asked.topic, "recipe": asked.wanted.recipe}


def _lines(entries: Sequence[Entry], quotes: Sequence[Quote | None]) -> Iterator[str]:
    for entry, quote in zip(entries, quotes, strict=True):
        asked = entry.submission
        named = asked.thread_id or next(ids_for(asked.topic, datetime.now().astimezone().date()))
        yield f"{named}  {asked.wanted.recipe.lower()}  {quote if quote and quote.asks_models else 'asks no model'}\n"
    costs = [quote.cost_usd for quote in quotes if quote is not None and quote.asks_models]
    known_costs, unknown = [cost.expected for cost in costs if cost is not None], costs.count(None)
    known = f", about ${sum(known_costs):.2f}" if known_costs else ""
    beside = f", {unknown} of unknown price" if unknown else ""
    yield f"{counted(len(entries), 'debate')}{known}{beside}\n"
