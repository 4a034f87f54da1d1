"""A worker that takes jobs of another queue, too: one of theirs that goes on for long is no job that was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import anyio
import procrastinate
import psycopg
import pytest

from orchestrator.fleet.holding import Holding
from orchestrator.fleet.worker import Worker
from orchestrator.hall.address import Address
from orchestrator.hall.hall import Hall
from orchestrator.lanes import Lanes
from orchestrator.own_task import in_own_task
from postgres import needs_postgres

pytestmark = [pytest.mark.anyio, needs_postgres]
DEADLINE_S = 30
PUT = """
INSERT INTO procrastinate_jobs (queue_name, task_name, args)
VALUES ('others', 'other', jsonb_build_object('name', %s::text))
"""
GIVE = """
UPDATE procrastinate_jobs SET status = 'doing', worker_id = w.id FROM procrastinate_workers w
WHERE args->>'name' = 'lost'
"""


class Others:
    """A task of another queue; `long` goes on until it is let, and all that began are counted."""

    def __init__(self) -> None:
        self.begun = Counter[str]()
        self.let = anyio.Event()
        self.news = anyio.Event()

    def add_to(self, app: procrastinate.App) -> Sequence[str]:
        @app.task(name="other", queue="others")
        async def other(name: str) -> None:
            self.begun[name] += 1
            self.news.set()
            if name == "long":
                await self.let.wait()

        return ["others"]

    async def wait_for(self, name: str) -> None:
        while not self.begun[name]:
            self.news = anyio.Event()
            await self.news.wait()


async def test_a_job_that_goes_on_for_long_is_not_put_back(
    address: Address, hall: Hall, beside: psycopg.Connection[Any]
) -> None:
    others = Others()
    holding = Holding(hall, lambda thread_id: Lanes(), None, lambda: datetime.now(UTC))
    worker = Worker(address, holding, 4, lambda line: None, dead_after_s=0.6, more=others.add_to)
    beside.execute(PUT, ("long",))
    with anyio.fail_after(DEADLINE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(in_own_task, worker.serve)
            await others.wait_for("long")
            with beside.transaction():
                beside.execute(PUT, ("lost",))
                beside.execute(GIVE)
            await others.wait_for("lost")  # so the worker has looked twice what it never heard it was given
            assert others.begun == {"long": 1, "lost": 1}
            others.let.set()
            group.cancel_scope.cancel()
