"""Servers and runs whose hall is on PostgreSQL: a debate runs in a process of its own, and any server sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import elsewhere, status
from processes import out as out
from processes import processes as processes
from processes import root as root
from processes import server as server

from orchestrator.hall.hall import Hall
from postgres import fresh_hall, needs_postgres

pytestmark = [pytest.mark.anyio, pytest.mark.slow, needs_postgres]
THREAD = "2026-01-06-kafka"

Call = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def hall(state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hall]:
    with fresh_hall() as address:
        monkeypatch.setenv("DEBATE_HALL_STORE", address)
        with Hall.open() as opened:
            yield opened


async def test_a_debate_runs_in_a_process_of_its_own_and_every_server_sees_it(
    hall: Hall, call: Call, state: Path
) -> None:
    topic = "Should we move billing to Kafka?"
    await call("run_debate", topic=topic, recipe="fortress", rehearse=True, thread_id=THREAD, wait=True)
    async with elsewhere() as other:
        seen = await status(other, THREAD)
        assert (seen["run"]["state"], seen["run"]["turns"]) == ("done", 9)
        said = await other.call_tool("add_turn", {"thread_id": THREAD, "role": "Wind", "content": "What else?"})
        assert said.is_error
    assert hall.verify_debate(THREAD)["verified"]
    assert not (state / "hall.sqlite3").exists()


async def test_people_take_turns_through_two_servers(hall: Hall, call: Call) -> None:
    await call("init_debate", thread_id=THREAD, topic="Which queue?")
    async with elsewhere() as other:
        for number, role in enumerate(("Wind", "Wall", "Door")):
            turn = {"thread_id": THREAD, "role": role, "content": f"What {role} says."}
            if number % 2:
                await other.call_tool("add_turn", turn)
            else:
                await call("add_turn", **turn)
        shown = await call("get_debate", thread_id=THREAD)
        assert [turn["role"] for turn in shown["transcript"]] == ["Wind", "Wall", "Door"]
        await call("force_close_debate", thread_id=THREAD, reason="It is over.")
        assert (await other.call_tool("add_turn", {**turn, "role": "Wind"})).is_error
