"""Eight real servers on one state folder: what was acknowledged is what stands there, in order."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from processes import SERVE, text_of

from orchestrator.hall.entries import FloorGiven, Turn
from orchestrator.hall.hall import Hall

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("fleet")]  # one fleet serves every test

SERVERS = 8
DEADLINE_S = 60
ROLES = ("Wind", "Wall", "Door")

Answer = dict[str, Any]
Work = Callable[[int, Client], Awaitable[None]]


@dataclass(frozen=True)
class Fleet:
    """Clients of eight server processes on one state folder."""

    folder: Path
    portal: BlockingPortal
    clients: list[Client]

    def race(self, work: Work) -> None:
        """Every server's client works at once."""

        async def run() -> None:
            with anyio.fail_after(DEADLINE_S):
                async with anyio.create_task_group() as group:
                    for number, client in enumerate(self.clients):
                        group.start_soon(work, number, client)

        self.portal.call(run)

    @contextmanager
    def hall(self) -> Iterator[Hall]:
        with Hall.open(self.folder) as hall:
            yield hall

    def opened(self, thread_id: str, **how: Any) -> str:
        with self.hall() as hall:
            return hall.init_debate(thread_id, "Kafka?", **how)["thread_id"]

    def stored(self, thread_id: str) -> list[Answer]:
        """The turns that stand in a thread, after it was verified."""
        with self.hall() as hall:
            hall.verify_debate(thread_id)
            return [dict(turn) for turn in hall.get_debate(thread_id)["transcript"]]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """They all start at the same moment, on a folder that is not there yet."""
    folder = tmp_path_factory.mktemp("fleet") / "state"
    environment = {**os.environ, "DEBATE_HALL_STATE_DIR": str(folder)}
    parameters = StdioServerParameters(command=SERVE[0], args=SERVE[1:], env=environment)
    with start_blocking_portal() as portal, ThreadPoolExecutor(SERVERS) as pool:
        doors = [portal.wrap_async_context_manager(Client(parameters)) for _ in range(SERVERS)]
        clients = list(pool.map(lambda door: door.__enter__(), doors))
        yield Fleet(folder, portal, clients)
        list(pool.map(lambda door: door.__exit__(None, None, None), doors))


async def ask(client: Client, tool: str, **arguments: Any) -> Answer | str:
    """The answer, or the code of the refusal."""
    result = await client.call_tool(tool, arguments)
    return text_of(result).split(":")[0] if result.is_error else result.structured_content or {}


def places(turns: list[Answer]) -> list[tuple[int, str, str]]:
    return sorted((turn["turn_index"], turn["role"], turn["turn_hash"]) for turn in turns)


def test_of_eight_servers_that_open_a_thread_one_does(fleet: Fleet) -> None:
    won: dict[int, list[bool]] = {}

    async def work(number: int, client: Client) -> None:
        answers = [await ask(client, "init_debate", thread_id=f"thread-{at}", topic=f"of {number}") for at in range(10)]
        assert {answer for answer in answers if isinstance(answer, str)} <= {"thread_exists"}
        won[number] = [not isinstance(answer, str) for answer in answers]

    fleet.race(work)
    assert [sum(won[number][at] for number in range(SERVERS)) for at in range(10)] == [1] * 10
    with fleet.hall() as hall:
        for at in range(10):
            (winner,) = [number for number in range(SERVERS) if won[number][at]]
            assert hall.get_debate(f"thread-{at}")["topic"] == f"of {winner}"


@pytest.mark.parametrize("names_the_head", [True, False], ids=["with expected_head", "without expected_head"])
def test_in_one_fixed_thread_what_was_acknowledged_is_stored_in_order(fleet: Fleet, names_the_head: bool) -> None:
    """Without a head the same role's turn may be taken from two servers; only one gets the place."""
    thread = fleet.opened(f"fixed-{names_the_head}", max_turns=120, max_rounds=40)
    acknowledged: list[Answer] = []
    refusals: set[str] = set()

    async def work(number: int, client: Client) -> None:
        while True:
            shown = await ask(client, "get_debate", thread_id=thread, include_transcript=False)
            assert isinstance(shown, dict)
            if shown["next_role"] is None:
                return
            head = {"expected_head": shown["head"]} if names_the_head else {}
            content = f"server {number}, after {shown['head']}"
            turn = await ask(client, "add_turn", thread_id=thread, role=shown["next_role"], content=content, **head)
            if isinstance(turn, str):
                refusals.add(turn)
            else:
                acknowledged.append({**turn, "content": content})

    fleet.race(work)
    turns = fleet.stored(thread)
    assert len(turns) == 120
    assert places(acknowledged) == places(turns)
    assert [turn["role"] for turn in turns] == [*ROLES] * 40
    assert sorted(turn["content"] for turn in acknowledged) == sorted(turn["content"] for turn in turns)
    assert refusals <= ({"stale_head"} if names_the_head else {"out_of_turn", "limit_reached"})
    assert refusals, "nobody raced"
    if names_the_head:
        assert len({turn["content"].split("after ")[1] for turn in turns}) == 120, "no turn rests on another's head"


@pytest.mark.parametrize("names_the_head", [True, False], ids=["with expected_head", "without expected_head"])
def test_in_one_mediated_thread_no_pick_is_used_twice_and_no_limit_passed(fleet: Fleet, names_the_head: bool) -> None:
    thread = fleet.opened(f"mediated-{names_the_head}", mode="mediated", max_turns=48, max_rounds=48)
    acknowledged: list[Answer] = []
    picks = [0]

    async def work(number: int, client: Client) -> None:
        while True:
            shown = await ask(client, "get_debate", thread_id=thread, include_transcript=False)
            assert isinstance(shown, dict)
            if not shown["legal_roles"]:
                return
            role = shown["legal_roles"][(number + shown["turn_count"]) % len(shown["legal_roles"])]
            head = {"expected_head": shown["head"]} if names_the_head else {}
            picked = await ask(client, "pick_next_speaker", thread_id=thread, role=role, **head)
            if isinstance(picked, str):
                continue
            picks[0] += 1
            head = {"expected_head": picked["head"]} if names_the_head else {}
            turn = await ask(client, "add_turn", thread_id=thread, role=role, content=f"server {number}", **head)
            if isinstance(turn, dict):
                acknowledged.append(turn)

    fleet.race(work)
    turns = fleet.stored(thread)
    assert len(turns) == 48
    assert places(acknowledged) == places(turns)
    assert picks[0] >= 48
    if names_the_head:
        with fleet.hall() as hall:
            bodies = [line.entry.body for line in hall.debate(thread).lines]
        assert all(isinstance(before, FloorGiven) for before, body in pairwise(bodies) if isinstance(body, Turn))


def test_many_threads_at_once_are_each_whole_and_closed(fleet: Fleet) -> None:
    """Every server adds to every thread; then each closes its own."""
    threads = [f"one-of-many-{number}" for number in range(SERVERS)]
    acknowledged: dict[str, list[Answer]] = {thread: [] for thread in threads}

    async def add(client: Client, number: int, thread: str) -> None:
        while True:
            shown = await ask(client, "get_debate", thread_id=thread, include_transcript=False)
            if not isinstance(shown, dict) or shown["next_role"] is None:
                return
            role, head = shown["next_role"], shown["head"]
            content = f"server {number}"
            turn = await ask(client, "add_turn", thread_id=thread, role=role, content=content, expected_head=head)
            if isinstance(turn, dict):
                acknowledged[thread].append(turn)

    async def work(number: int, client: Client) -> None:
        mine = threads[number]
        await ask(client, "init_debate", thread_id=mine, topic="Kafka?", max_turns=24, max_rounds=8)
        async with anyio.create_task_group() as group:
            for thread in threads[number:]:
                group.start_soon(partial(add, client, number, thread))
        closed = await ask(client, "close_debate", thread_id=mine, synthesis=f"Server {number} closes.")
        assert isinstance(closed, dict), closed

    fleet.race(work)
    for thread in threads:
        turns = fleet.stored(thread)
        assert len(turns) == 24
        assert places(acknowledged[thread]) == places(turns)
    with fleet.hall() as hall:
        assert {hall.get_debate(thread)["status"] for thread in threads} == {"synthesis"}
