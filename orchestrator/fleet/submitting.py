"""A debate is submitted: planned and opened in the hall, and put in the queue, for a worker that needs nothing else.

Whatever it is to work with, recipe, agents, models and evidence, is pinned in the thread, so that a worker on another
machine reads it there. Only keys are not: the workers have them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import ThreadExists
from orchestrator.hall.entries import Link
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Status
from orchestrator.models.key_names import KEYS
from orchestrator.models.switchboard import Switchboard
from orchestrator.models_file import load_models_file
from orchestrator.opening import open_at_free_id
from orchestrator.plan import Plan
from orchestrator.shelves import folders
from orchestrator.wanted import Wanted, prepare, variables_of

if TYPE_CHECKING:
    from orchestrator.fleet.queue import Queue

_HELD_BY_WORKERS = "held by the workers"  # stands for a key, and is sent nowhere


@dataclass(frozen=True, slots=True)
class Submission:
    """What is to be debated.

    Args:
        thread_id: the one that was asked for; None leaves it to the topic and the date.
        priority: higher ones are held first.
        after: not before then.
    """

    topic: str
    wanted: Wanted
    thread_id: str | None = None
    priority: int = 0
    after: datetime | None = None


def planned(submission: Submission, base: Path, assume_keys: bool) -> Plan:
    """Resolves and pins everything.

    Args:
        base: the folder that context paths start from.
        assume_keys: takes every key for granted.

    Raises:
        UsageError: it cannot be as it was asked for.
    """
    environment = _with_keys(submission.wanted) if assume_keys else os.environ
    plan = prepare(submission.wanted, environment, base)
    Switchboard().require(plan.routes)
    return plan


def _with_keys(wanted: Wanted) -> MutableMapping[str, str]:
    """The environment, with a key for each provider, and for what else the models file names."""
    file = load_models_file(wanted.models, folders("configs"))
    needed = (name for names in (*KEYS.values(), *variables_of(file)) for name in names)
    given = {name: value for name, value in os.environ.items() if value.strip()}
    return dict.fromkeys(needed, _HELD_BY_WORKERS) | given


def open_and_put(
    hall: Hall, queue: Queue, submission: Submission, plan: Plan, ids: Iterable[str], link: Link | None = None
) -> str:
    """Opens a debate and puts it in the queue; returns its id.

    A stop in between leaves it open and in no queue: `put_again` puts it there.

    Args:
        ids: those to try where none was asked for.
        link: the thread whose decision it starts from.

    Raises:
        InvalidInput, ThreadExists: nothing was opened.
    """
    opened = open_at_free_id(hall, plan, submission.topic, submission.thread_id, ids, link)
    queue.put(opened, submission.priority, submission.after)
    return opened


def put_again(hall: Hall, queue: Queue, submission: Submission, taken: ThreadExists) -> bool:
    """Sees to it that a debate that is there already, since it was submitted before, is held.

    Args:
        taken: why it could not be opened; raised where what is there is another debate.

    Returns:
        whether it had to be put in the queue once more.

    Raises:
        ThreadExists
    """
    assert submission.thread_id is not None, "it was found by its id"
    debate = hall.debate(submission.thread_id)
    if debate.opening.text != submission.topic:
        raise taken
    if debate.state.status is not Status.ACTIVE or queue.has(submission.thread_id):
        return False
    queue.put(submission.thread_id, submission.priority, submission.after)
    return True
