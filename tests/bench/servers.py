"""Eight MCP servers, each a process, that take turns for one thread at once: ours against debate-hall-mcp's.

Each server has a client that speaks for one role: it sends a turn when its role is next, as far as any client was told,
and reads the debate again when that is refused. What was acknowledged is counted, and then what is there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from bench.rival_python import rival_python
from bench.row import Row
from bench.threads import CONTENT

SERVERS, TURNS, ROUNDS = 8, 300, 3
ROLES = ("Wind", "Wall", "Door")
OURS = (sys.executable, str(Path(sysconfig.get_path("scripts")) / "debate-hall"), "serve")
THREAD = "2026-01-06-thread"


class Server:
    """A server over stdio, and its one client."""

    def __init__(self, command: Sequence[str], state: str) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=state,
            env={**os.environ, "DEBATE_HALL_STATE_DIR": state},
        )
        self._id = 0

    def __enter__(self) -> Self:
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self._ask("initialize", about)
        self._send({"method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any] | None:
        """What a tool answers; None when it refuses."""
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        return None if answer.get("isError") else json.loads(answer["content"][0]["text"])

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        assert self._process.stdout is not None
        while True:
            message = json.loads(self._process.stdout.readline())
            if message.get("id") == self._id:
                result: dict[str, Any] = message["result"]
                return result

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


def measure() -> Iterator[Row]:
    rival = (str(Path(rival_python()).with_name("debate-hall-mcp")),)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(_acknowledged(OURS))
        theirs.append(_acknowledged(rival))
    best, other = sorted(ours)[ROUNDS // 2], sorted(theirs)[ROUNDS // 2]
    lost = max(lost for _, lost in ours)
    detail = f"{best[0]:.0f} and {other[0]:.0f} a second; lost: {lost:.0%} and {other[1]:.0%}, {ROUNDS} runs each"
    what = f"acknowledged turns a second, {SERVERS} MCP servers on one thread, over debate-hall-mcp's"
    yield Row(what, best[0] / other[0] if not lost else 0.0, 3, detail, at_least=True)


def _acknowledged(command: Sequence[str]) -> tuple[float, float]:
    """Turns a second, and the share that was acknowledged and is not there."""
    with tempfile.TemporaryDirectory() as state, ExitStack() as stack:
        servers = [stack.enter_context(Server(command, state)) for _ in range(SERVERS)]
        limits = {"max_turns": 100_000, "max_rounds": 100_000}
        servers[0].call("init_debate", thread_id=THREAD, topic="Who is next?", **limits)
        table = Table()
        clients = [threading.Thread(target=table.take_turns, args=(server, n % 3)) for n, server in enumerate(servers)]
        began = time.perf_counter()
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        took = time.perf_counter() - began
        there = servers[0].call("get_debate", thread_id=THREAD, include_transcript=False)
    assert there is not None
    return table.acknowledged / took, 1 - there["turn_count"] / table.acknowledged


class Table:
    """What the clients were told so far; they wait here for news, not at the servers."""

    def __init__(self) -> None:
        self.acknowledged = self.turns = 0  # the turns that are there, as the newest answer has it
        self._news = threading.Condition()

    def take_turns(self, server: Server, role: int) -> None:
        while self._is_next(role):
            told = server.call("add_turn", thread_id=THREAD, role=ROLES[role], content=CONTENT)
            there = told or server.call("get_debate", thread_id=THREAD, include_transcript=False)
            with self._news:
                self.acknowledged += told is not None
                self.turns = there["turn_count"] if there else self.turns
                self._news.notify_all()

    def _is_next(self, role: int) -> bool:
        """Waits for a role's turn; False when it is over."""
        with self._news:
            self._news.wait_for(lambda: self.turns % 3 == role or self.acknowledged >= TURNS, timeout=60)
            return self.acknowledged < TURNS
