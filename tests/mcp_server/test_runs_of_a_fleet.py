"""run_debate with fleet=true: the debate waits in the queue until a worker holds it, and can be taken back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from mcp import Client

from orchestrator.fleet import queue_tables
from orchestrator.fleet.place import fleet_address
from orchestrator.fleet.queue import Queue
from orchestrator.hall.address import read
from orchestrator.hall.hall import Hall
from orchestrator.hall.store_place import migrate
from postgres import address_of, fresh_schema, needs_postgres

pytestmark = [pytest.mark.anyio, needs_postgres]
TOPIC, THREAD = "Should we move billing to Kafka?", "2026-01-06-kafka"
ASKED = {"topic": TOPIC, "recipe": "speed", "rehearse": True, "thread_id": THREAD, "fleet": True}

Call = Callable[..., Awaitable[dict[str, Any]]]
Refused = Callable[..., Awaitable[str]]


@pytest.fixture
def queue(state: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    with fresh_schema() as schema:
        address = address_of(schema)
        monkeypatch.setenv("DEBATE_HALL_STORE", address)
        migrate(address)
        queue_tables.make(read(address))
        with closing(Queue(fleet_address())) as queue:
            yield queue


@pytest.fixture
def hall(queue: Queue) -> Iterator[Hall]:
    with Hall.open() as opened:
        yield opened


async def test_a_debate_that_is_submitted_is_open_and_waits(call: Call, queue: Queue) -> None:
    told = await call("run_debate", **ASKED)
    assert (told["thread_id"], told["status"], told["run"]["state"]) == (THREAD, "active", "none")
    assert queue.has(THREAD)
    assert (await call("debate_status", thread_id=THREAD))["run"]["state"] == "none"


async def test_one_that_waits_is_taken_back_and_stays_open(call: Call, queue: Queue) -> None:
    await call("run_debate", **ASKED)
    told = await call("cancel_run", thread_id=THREAD, reason="Not now.")
    assert (told["status"], queue.has(THREAD)) == ("active", False)


async def test_what_is_in_no_queue_cannot_be_stopped(call: Call, refused: Refused) -> None:
    await call("init_debate", thread_id=THREAD, topic=TOPIC)
    assert "Nobody runs" in await refused("cancel_run", thread_id=THREAD, reason="Not now.")


async def test_no_worker_can_ask_the_client(client: Client, refused: Refused) -> None:
    asked = {**ASKED, "rehearse": False, "wind": ["client"], "wall": ["client"], "door": ["client"]}
    assert "no worker can" in await refused("run_debate", **asked)
