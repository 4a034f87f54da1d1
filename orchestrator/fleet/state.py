"""What a fleet is doing: its queue, its workers, the debates that are held, what today took."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from orchestrator.fleet import names
from orchestrator.fleet.permits import Permits, ServerAtWork, Spending
from orchestrator.fleet.queue import no_queue
from orchestrator.hall.address import Address


class Waiting(NamedTuple):
    """Jobs that wait with one priority; `later` are those of them that are not to be taken yet."""

    priority: int
    jobs: int
    later: int


class WorkerSeen(NamedTuple):
    """A worker, how many jobs it has, and how long ago it was heard of."""

    number: int
    jobs: int
    silent_s: float


class Held(NamedTuple):
    """A debate that a worker has taken; `place` is where it runs, None while nobody holds it yet."""

    thread_id: str
    since: datetime | None
    tries: int
    worker: int | None
    place: str | None


class FleetState(NamedTuple):
    waiting: Sequence[Waiting]
    oldest_s: float | None  # for how long the job that comes next has waited
    held: Sequence[Held]
    failed: Sequence[str]  # the debates that were given up
    workers: Sequence[WorkerSeen]
    today: Spending
    servers: Sequence[ServerAtWork]


_MOST_FAILED = 1000

_WAITING = """
SELECT priority, count(*), count(*) FILTER (WHERE scheduled_at > now())
FROM procrastinate_jobs WHERE status = 'todo' AND queue_name = %s GROUP BY priority ORDER BY priority DESC
"""
_OLDEST = """
SELECT extract(epoch FROM now() - min(at))::float FROM procrastinate_events WHERE type = 'deferred' AND job_id = (
  SELECT id FROM procrastinate_jobs
  WHERE status = 'todo' AND queue_name = %s AND (scheduled_at IS NULL OR scheduled_at <= now())
  ORDER BY priority DESC, id LIMIT 1)
"""
_HELD = """
SELECT j.args->>'thread_id', (SELECT max(at) FROM procrastinate_events WHERE job_id = j.id AND type = 'started'),
       j.attempts, j.worker_id, r.place
FROM procrastinate_jobs j
LEFT JOIN threads t ON lower(t.thread_id) = lower(j.args->>'thread_id')
LEFT JOIN LATERAL (SELECT * FROM runs WHERE runs.no = t.no ORDER BY epoch DESC LIMIT 1) r ON NOT r.released
WHERE j.status = 'doing' AND j.queue_name = %s ORDER BY j.id
"""
_FAILED = f"""  -- those that have ended since are given up no more; a state is canonical JSON
SELECT DISTINCT j.args->>'thread_id'
FROM procrastinate_jobs j LEFT JOIN threads t ON lower(t.thread_id) = lower(j.args->>'thread_id')
WHERE j.status = 'failed' AND j.queue_name = %s AND (t.state IS NULL OR t.state LIKE '%%"status":"active"%%')
ORDER BY 1 LIMIT {_MOST_FAILED}
"""
_WORKERS = """
SELECT w.id, count(j.id), extract(epoch FROM now() - w.last_heartbeat)::float
FROM procrastinate_workers w LEFT JOIN procrastinate_jobs j ON j.worker_id = w.id AND j.status = 'doing'
GROUP BY w.id ORDER BY w.id
"""


class Watched(Permits):
    """A fleet, to look at.

    Raises:
        StoreUnavailable: its server cannot be reached.
        UsageError: it has no queue.
    """

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        with self._connection() as db:
            if db.execute("SELECT to_regclass('procrastinate_jobs')").fetchone() == (None,):
                raise no_queue(address)

    def state(self) -> FleetState:
        """Returns what it is doing."""
        with self._snapshot() as db:
            waiting, oldest, held, failed = (
                db.execute(asked, (names.DEBATES,)) for asked in (_WAITING, _OLDEST, _HELD, _FAILED)
            )
            workers = db.execute(_WORKERS)
            ((oldest_s,),) = oldest.fetchall()
            found = (
                [Waiting(*row) for row in waiting.fetchall()],
                oldest_s,
                [Held(*row) for row in held.fetchall()],
                [thread_id for (thread_id,) in failed.fetchall()],
                [WorkerSeen(*row) for row in workers.fetchall()],
            )
        return FleetState(*found, self.today(), self.servers())
