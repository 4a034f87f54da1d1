"""How whole debates begin over MCP, and go on: planned and opened here, then held by a process of their own.

It is loaded with the first call that needs it: what holds debates is slow to load.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from orchestrator import background
from orchestrator.drafts import Paid
from orchestrator.errors import ConfigurationError, LimitReached, NotActive, RunPaused, UsageError
from orchestrator.files import prepare_folder
from orchestrator.fleet.place import fleet_address, libraries
from orchestrator.fleet.submitting import Submission, open_and_put
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import require_thread_id, require_words
from orchestrator.hall.store import Lease
from orchestrator.hall.terms import Status
from orchestrator.models.base import CLIENT, Model
from orchestrator.models_file import SUFFIXES, models_files
from orchestrator.opening import open_at_free_id
from orchestrator.plan import Changes, Plan
from orchestrator.resuming import Resumable, changes_wanted, resumable
from orchestrator.runner import Run
from orchestrator.shelves import folders, is_path
from orchestrator.taking_up import NO_CHANGES, TakeUp
from orchestrator.thread_id import ids_for
from orchestrator.wanted import Wanted, prepare

if TYPE_CHECKING:
    from orchestrator.fleet.queue import Queue

MOST_RUNS = 8  # at once, of one server


@dataclass(frozen=True, slots=True)
class Launch:
    """A run that this server has taken up and not handed over yet."""

    lease: Lease
    plan: Plan
    folder: Path
    changes: Changes = NO_CHANGES


@dataclass(frozen=True, slots=True)
class Launcher:
    """Begins runs over a hall.

    Args:
        roots: the folders that evidence may come from.
        out: the folder that holds each run's folder.
    """

    hall: Hall
    roots: Sequence[Path]
    out: Path
    children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    starting: Lock = field(default_factory=Lock)

    def plan(self, topic: str, wanted: Wanted) -> Plan:
        """Resolves and pins everything.

        Raises:
            InvalidInput, UsageError: it cannot be as it was asked for.
        """
        require_words(topic, "topic")
        _require_names(wanted)
        base = self.roots[0] if self.roots else Path.cwd()
        return prepare(wanted, os.environ, base, tuple(self.roots))

    def open(self, plan: Plan, topic: str, thread_id: str | None) -> Launch:
        """Opens the debate under the id that was asked for, else under the first free one, and takes its run up.

        Raises:
            InvalidInput, ThreadExists, UsageError: nothing was opened.
        """
        if thread_id is not None:
            require_thread_id(thread_id)
        prepare_folder(self.out)  # a debate whose files cannot be written is not begun
        opened = open_at_free_id(self.hall, plan, topic, thread_id, self._free_ids(topic))
        return Launch(self.hall.runs.begin(opened), plan, self.out / opened)

    def submit(self, plan: Plan, topic: str, thread_id: str | None) -> str:
        """Opens the debate, and puts it in the queue of the fleet; returns its id.

        Raises:
            InvalidInput, ThreadExists, UsageError: nothing was opened.
            StoreUnavailable
        """
        if thread_id is not None:
            require_thread_id(thread_id)
        if CLIENT in plan.routes:
            raise UsageError("The route `client` asks your own model, which no worker can.", "Name a model.")
        with self._queue() as queue:
            submission = Submission(topic, Wanted(), thread_id)
            ids = ids_for(topic, datetime.now().astimezone().date())
            return open_and_put(self.hall, queue, submission, plan, ids)

    def take_back(self, thread_id: str) -> bool:
        """Takes a debate that no worker has taken yet out of the queue; whether it was there.

        Raises:
            UnknownThread, StoreUnavailable
        """
        if self.hall.runs.row(thread_id) is not None:
            return False
        try:
            with self._queue() as queue:
                return bool(queue.cancel(thread_id))
        except UsageError:  # no fleet can have it
            return False

    @contextmanager
    def _queue(self) -> Iterator[Queue]:
        with libraries():
            from orchestrator.fleet.queue import Queue
        with closing(Queue(fleet_address())) as queue:
            yield queue

    def _free_ids(self, topic: str) -> Iterator[str]:
        """Ids under which no other hall's run has left its files."""
        ids = ids_for(topic, datetime.now().astimezone().date())
        return (candidate for candidate in ids if not os.path.lexists(self.out / candidate))

    def find(self, thread_id: str, wanted: Wanted) -> tuple[Resumable, Changes]:
        """Finds a run that stopped, and what is to be otherwise from here on.

        Raises:
            NotActive: its debate is closed.
            UsageError: no run opened it, or it cannot go on as it was asked for.
            UnknownThread, LedgerBroken
        """
        _require_names(wanted)
        found = resumable(self.hall, thread_id)
        state = found.debate.state
        if state.status is not Status.ACTIVE:
            raise NotActive(
                f"{state.thread_id} is {state.status}: there is nothing to go on with.", "Read it: get_debate."
            )
        return found, changes_wanted(found, wanted, os.environ)

    def take_up(self, found: Resumable, changes: Changes) -> Launch:
        """Takes a run up that stopped.

        Raises:
            RunHeld: it goes on in another process; says which.
        """
        thread_id = found.debate.state.thread_id
        lease = self.hall.runs.begin(thread_id)
        return Launch(lease, found.plan.with_changes(changes), found.folder_else(self.out / thread_id), changes)

    def hand_over(self, take_up: Callable[[], Launch]) -> Launch:
        """Takes a run up and hands it to a process of its own.

        Raises:
            LimitReached: so many go on already; nothing was taken up.
            DebateError: it cannot be taken up, or handed over.
        """
        with self.starting:  # calls at once must not find the same room
            self._require_room()
            launch = take_up()
            try:
                process = background.start(launch.lease, launch.folder, launch.changes)
            except BaseException:
                self.hall.runs.release(launch.lease)
                raise
            self.children[launch.lease.thread_id] = process
        return launch

    def _require_room(self) -> None:
        for thread_id, child in list(self.children.items()):
            if child.poll() is not None:
                del self.children[thread_id]
        if len(self.children) >= MOST_RUNS:
            raise LimitReached(f"{MOST_RUNS} runs of this server are going on.", "Wait for one, or cancel one.")

    async def hold_here(self, launch: Launch, client: Model) -> None:
        """Holds a debate for which the client's model speaks: only as long as the client waits can it be asked."""
        paid, how = Paid(), TakeUp(launch.lease, str(launch.folder), launch.changes)
        ended: Run | None = None
        try:
            with suppress(RunPaused):  # the reason is told to the store, and so to the answer
                thread_id = launch.lease.thread_id
                ended = await background.hold(self.hall, launch.plan, thread_id, paid, how=how, client=client)
        finally:
            with anyio.CancelScope(shield=True):  # a client that went away has paid all the same
                await anyio.to_thread.run_sync(background.keep, launch.folder, paid)
        if ended is not None:
            await anyio.to_thread.run_sync(background.write, launch.folder, launch.plan, ended)


def _require_names(wanted: Wanted) -> None:
    """Refuses paths: clients choose from what stands on the shelves."""
    if is_path(wanted.recipe, SUFFIXES):
        raise ConfigurationError(f"{wanted.recipe!r:.80} is a path.", "Give a name: list_recipes shows the recipes.")
    if is_path(wanted.models, SUFFIXES):
        files = ", ".join(models_files(folders("configs")))
        raise ConfigurationError(f"{wanted.models!r:.80} is a path.", f"Give a name: the models files are {files}.")
