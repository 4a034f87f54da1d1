"""A worker: takes debates from the queue and holds them, some at a time, and puts back what others have left behind.

Whoever is told to stop pauses what it holds and puts it back at once. Whoever dies is missed: its heart is heard no
more, and any other worker puts a new job in the place of each of its own. A job is never handed on: a worker that only
slept ends its jobs when it wakes up, and must not end one that is another's by then.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import anyio
import procrastinate
from procrastinate import worker as procrastinate_worker
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.middleware import AsyncCallNext
from procrastinate.retry import BaseRetryStrategy, RetryDecision

from orchestrator.fleet import names
from orchestrator.fleet.holding import GivenUp, Holding, Later
from orchestrator.fleet.patient import PatientConnector, was_taken_for_dead
from orchestrator.fleet.queue import no_queue
from orchestrator.hall.address import Address
from orchestrator.secrets import scrub

DEAD_AFTER_S = 30.0
_LOOK_S = 1.0  # how often an idle worker looks for a job
_AGAIN_S = 1.0
_PUT_BACK = """
WITH found AS (SELECT id FROM procrastinate_jobs WHERE status = 'doing' AND {} ORDER BY id FOR UPDATE),
     lost AS (DELETE FROM procrastinate_jobs WHERE id IN (SELECT id FROM found) RETURNING *)
INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, args)
SELECT queue_name, task_name, priority, lock, args FROM lost ORDER BY id RETURNING task_name, args
"""
_OF_THE_DEAD = """(worker_id IS NULL OR worker_id IN (
  SELECT id FROM procrastinate_workers WHERE last_heartbeat < now() - make_interval(secs => %(dead_after_s)s)
))"""
_UNCOUNT = "UPDATE procrastinate_jobs SET attempts = attempts - 1 WHERE id = %(id)s"
_UNHEARD = "id = ANY (%(unheard)s) AND worker_id = %(worker)s"


@dataclass(frozen=True, slots=True)
class _Again(BaseRetryStrategy):
    """A debate that is to be tried later, or that a worker had to put down since it was told to stop.

    Args:
        now: says what time it is for the queue: a worker's own clock may be wrong.
    """

    now: Callable[[], datetime]

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        match exception:
            case Later(seconds=seconds):
                return RetryDecision(retry_at=self.now() + timedelta(seconds=max(1, round(seconds))))
            case asyncio.CancelledError():
                return RetryDecision(retry_at=self.now())
            case _:
                return None


@dataclass(frozen=True, slots=True)
class Worker:
    """
    Args:
        address: of the hall.
        holding: holds the debates.
        concurrency: how many at once.
        tell: hears a line about what happens.
        dead_after_s: whoever is not heard of for so long is taken for dead.
        more: adds tasks of other queues to the app, and names those queues.
    """

    address: Address
    holding: Holding
    concurrency: int
    tell: Callable[[str], None]
    dead_after_s: float = DEAD_AFTER_S
    more: Callable[[procrastinate.App], Sequence[str]] = lambda app: ()
    running: set[int] = field(default_factory=set)

    async def serve(self) -> None:
        """Goes on until it is cancelled.

        Raises:
            UsageError: the hall has no queue.
        """
        connector = PatientConnector(self.address, self.tell)
        app = procrastinate.App(connector=connector)
        again = _Again(self.holding.now)
        app.task(name=names.DEBATE, queue=names.DEBATES, pass_context=True, retry=again)(self._debate)
        queues = [names.DEBATES, *self.more(app)]
        async with app.open_async():
            if not await app.check_connection_async():
                raise no_queue(self.address)
            while True:
                await self._serve(app, queues, connector)
                await anyio.sleep(_AGAIN_S)

    async def _serve(self, app: procrastinate.App, queues: Sequence[str], connector: PatientConnector) -> None:
        """Works until it is cancelled, or cannot go on."""
        worker = _Renamed(
            self.tell,
            app,
            queues,
            concurrency=self.concurrency,
            fetch_job_polling_interval=_LOOK_S,
            shutdown_graceful_timeout=0,  # debates that are put down are paused, and lose nothing
            listen_notify=False,
            delete_jobs="successful",
            install_signal_handlers=False,
            update_heartbeat_interval=self.dead_after_s / 4,
            stalled_worker_timeout=self.dead_after_s,
            worker_middleware=[self._known],
        )
        async with anyio.create_task_group() as group:
            group.start_soon(self._sweep, app, worker, connector)
            await _until_told(worker)
            self.tell("this worker could not go on; it begins again")
            group.cancel_scope.cancel()

    async def _known(
        self, run: AsyncCallNext, context: procrastinate.JobContext, worker: procrastinate_worker.Worker
    ) -> object:
        """Runs a job, of whichever queue, that this worker knows it was given."""
        assert context.job.id is not None
        self.running.add(context.job.id)
        try:
            return await run()
        finally:
            self.running.discard(context.job.id)

    async def _debate(self, context: procrastinate.JobContext, thread_id: str) -> None:
        self.tell(f"{thread_id}: taken")
        try:
            self.tell(f"{thread_id}: {await self.holding.hold(thread_id, context.job.attempts)}")
        except Later as later:
            if not later.counts:
                await _uncount(context)
            self.tell(f"{thread_id}: again in {later.seconds:.0f} s: {later}")
            raise
        except GivenUp as given_up:
            self.tell(f"{thread_id}: given up: {given_up} Try it again: debate-hall fleet retry {thread_id}")
            raise
        except asyncio.CancelledError:
            await _uncount(context)
            self.tell(f"{thread_id}: paused and put back")
            raise
        except Exception:
            self.tell(f"{thread_id}: internal error: {scrub(traceback.format_exc())}")
            raise

    async def _sweep(
        self, app: procrastinate.App, worker: procrastinate_worker.Worker, connector: PatientConnector
    ) -> None:
        """Puts back, again and again, the jobs of the dead, and those that this worker never heard it was given."""
        unheard: set[int] = set()
        while True:
            await anyio.sleep(self.dead_after_s / 3)
            if await connector.there_for_s() < self.dead_after_s:
                continue  # nobody was heard of while it was away
            for job in await _put_back(connector, _OF_THE_DEAD, dead_after_s=self.dead_after_s):
                self.tell(f"{job['args'].get('thread_id', job['task_name'])}: its worker is gone; put back")
            await app.job_manager.prune_stalled_workers(self.dead_after_s)
            if worker.worker_id is not None:
                mine = await app.job_manager.list_jobs_async(worker_id=worker.worker_id, status=Status.DOING.value)
                missing = {job.id for job in mine if job.id is not None} - self.running
                await _put_back(connector, _UNHEARD, unheard=list(unheard & missing), worker=worker.worker_id)
                unheard = missing - unheard


class _Renamed(procrastinate_worker.Worker):
    """One that others took for dead, so that the queue knows it no more, goes on under a new name.

    What it holds by then it goes on with, where the lease is still its own: the calls that are under way are paid for.
    """

    def __init__(self, tell: Callable[[str], None], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tell = tell

    async def _fetch_and_process_jobs(self) -> None:
        try:
            await super()._fetch_and_process_jobs()  # type: ignore[no-untyped-call]
        except ConnectorException as error:
            if not was_taken_for_dead(error):
                raise
            self._tell("others took this worker for dead; it goes on under a new name")
            self.worker_id = await self.app.job_manager.register_worker()


async def _until_told(worker: procrastinate_worker.Worker) -> None:
    """Lets a worker run; one that is cancelled puts down what it holds before it ends. Each await of a cancelled anyio
    task is cancelled anew, from which procrastinate does not keep that; so it has a task of asyncio's own."""
    running = asyncio.ensure_future(worker.run())  # type: ignore[no-untyped-call]
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        worker.stop()  # type: ignore[no-untyped-call]
        with anyio.CancelScope(shield=True):
            await running
        raise


async def _uncount(context: procrastinate.JobContext) -> None:
    """Takes back that a job was tried, which the queue counts whenever one is put back."""
    await context.app.job_manager.connector.execute_query_async(_UNCOUNT, id=context.job.id)


async def _put_back(connector: PatientConnector, which: str, **values: Any) -> list[dict[str, Any]]:
    """Puts a new job in the place of each, all of them or none; returns those that nobody else has put back."""
    return await connector.execute_query_all_async(_PUT_BACK.format(which), **values)
