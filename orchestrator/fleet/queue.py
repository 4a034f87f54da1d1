"""The queue of debates that wait for a worker: procrastinate's tables, in the hall's schema.

A job names a debate, and nothing more: whatever is to be known about it stands in the hall. One that is there twice is
held once, so nothing forbids it (a lock on queueing would keep a job from being tried again while its twin waits).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import procrastinate
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status

from orchestrator.errors import UsageError
from orchestrator.fleet import names
from orchestrator.hall.address import Address
from orchestrator.hall.postgres_schema import explained, parameters_of

logging.getLogger("procrastinate").setLevel(logging.CRITICAL)  # what becomes of a job, whoever holds it says
_LATER = timedelta(days=1)


class Queue:
    """The queue beside the hall at `address`. Each method may raise StoreUnavailable.

    Raises:
        StoreUnavailable: the server cannot be reached.
        UsageError: the hall has no queue yet.
    """

    def __init__(self, address: Address) -> None:
        self._shown = address.shown
        with explained(self._shown):
            connector = procrastinate.SyncPsycopgConnector(
                conninfo="", kwargs=parameters_of(address), min_size=0, max_size=2, timeout=30
            )
            self._app = procrastinate.App(connector=connector)
            self._app.open()
        with self._asked():
            is_there = self._app.check_connection()
        if not is_there:
            self._app.close()
            raise no_queue(address)

    def close(self) -> None:
        self._app.close()

    def put(self, thread_id: str, priority: int = 0, after: datetime | None = None) -> None:
        """Puts a debate in the queue.

        Args:
            priority: higher ones are taken first, of equals the one that waits longest.
            after: the time, with a time zone, before which it is not taken.
        """
        with self._asked():
            job = self._app.configure_task(
                names.DEBATE, queue=names.DEBATES, lock=names.lock_of(thread_id), priority=priority, schedule_at=after
            )
            job.defer(thread_id=thread_id)

    def cancel(self, thread_id: str) -> int:
        """Takes the waiting jobs of a debate out of the queue; returns how many there were."""
        with self._asked():
            waiting = self._jobs(thread_id, Status.TODO)
            return sum(self._app.job_manager.cancel_job_by_id(_id(job), delete_job=True) for job in waiting)

    def retry(self, thread_id: str, priority: int | None = None) -> bool:
        """Lets a debate be tried again now: one that failed, that waits for its next try, or that has no job at all.

        Args:
            priority: None: the one that it had.

        Returns:
            False where a worker is at it, or is to take it next.
        """
        now = datetime.now(UTC)
        with self._asked():
            for job in self._jobs(thread_id, Status.FAILED):  # only what waits can be taken out
                self._app.job_manager.retry_job_by_id(_id(job), retry_at=now + _LATER)
            waiting = self._jobs(thread_id, Status.TODO)
            later = [job for job in waiting if job.scheduled_at is not None and job.scheduled_at > now]
            for job in later:  # a new one has all its tries before it
                self._app.job_manager.cancel_job_by_id(_id(job), delete_job=True)
            if len(later) < len(waiting) or self._jobs(thread_id, Status.DOING):
                return False
        self.put(thread_id, max((job.priority for job in later), default=0) if priority is None else priority)
        return True

    def has(self, thread_id: str) -> bool:
        """Whether a debate waits in the queue, or a worker has taken it from there."""
        with self._asked():
            return bool(self._jobs(thread_id, Status.TODO) or self._jobs(thread_id, Status.DOING))

    def _jobs(self, thread_id: str, status: Status) -> Sequence[Job]:
        return list(self._app.job_manager.list_jobs(lock=names.lock_of(thread_id), status=status.value))

    @contextmanager
    def _asked(self) -> Iterator[None]:
        with explained(self._shown):
            try:
                yield
            except ConnectorException as error:
                raise (error.__cause__ or error) from error


def _id(job: Job) -> int:
    assert job.id is not None, "it was read from the queue"
    return job.id


def no_queue(address: Address) -> UsageError:
    return UsageError(f"{address.shown} has no queue for a fleet.", "Make it: debate-hall store migrate")
