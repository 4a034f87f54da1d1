"""`run-debate`, or a command of `debate-hall`, in a process with a fate: it is killed, stopped or short of disk at a
place that is told beforehand.

    python doomed.py '{"at": 17, "by": "SIGKILL"}' --resume 2026-01-06-billing

Places are counted: before and after each transaction of the run, and before and after each call to a model. What
importing litellm would cost each process, seconds, is saved: a client of a few lines stands in for it, over real HTTP.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import resource
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from orchestrator.cli.debate_hall import debate_hall
from orchestrator.cli.run_debate import main
from orchestrator.drafts import Patience
from orchestrator.hall import runs
from orchestrator.hall.hall import Hall
from orchestrator.hall.sqlite import FILE, SQLiteStore

TRANSACTIONS = ("create", "begin_run", "append", "keep", "release_run")


class Fate:
    """What happens to the process, and where.

    Args:
        at: the number of the place, from 1; 0 is nowhere.
        by: what happens there: the name of a signal that it sends itself; FULL, from where on its disk has no room; or
            CLOSED, where its debate is closed by force.
        tally: the file to which the names of the places that were passed go at the end.
        silence_s: after how many seconds this process takes another for dead.
        patient: whether it waits before it asks again.
    """

    def __init__(
        self,
        at: int = 0,
        by: str = "SIGKILL",
        tally: str | None = None,
        silence_s: float | None = None,
        patient: bool = True,
    ) -> None:
        self._at, self._by = at, by
        self._passed: list[str] = []
        self._writing = threading.Lock()
        if tally is not None:
            atexit.register(lambda: Path(tally).write_text(json.dumps(self._passed)))
        if silence_s is not None:
            runs.SILENCE_S = silence_s
        if not patient:
            Patience.wait = lambda self, state: 0  # type: ignore[method-assign]

    def reach(self, place: str) -> None:
        self._passed.append(place)
        if len(self._passed) != self._at:
            return
        if self._by == "FULL":
            fill_disk()
        elif self._by == "CLOSED":
            pull_kill_switch()
        elif self._by == "SIGSTOP":
            with self._writing:  # the signal goes to this thread, which stops before it can let another one write
                signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        else:
            os.kill(os.getpid(), signal.Signals[self._by])

    def around(self, name: str, transaction: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(transaction)
        def passed(*args: Any, **kwargs: Any) -> Any:
            self.reach(f"before {name}")
            result = transaction(*args, **kwargs)
            self.reach(f"after {name}")
            return result

        return passed

    def alone(self, transaction: Callable[..., AbstractContextManager[Any]]) -> Callable[..., Any]:
        """No transaction is under way where the process stops: it would keep the file locked for all others."""

        @contextmanager
        def lent(*args: Any) -> Iterator[Any]:
            with self._writing, transaction(*args) as db:
                yield db

        return lent


def fill_disk() -> None:
    """No file may grow larger than the write-ahead log is now, so that the next transaction finds no room."""
    size = Path(os.environ["DEBATE_HALL_STATE_DIR"], f"{FILE}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def pull_kill_switch() -> None:
    """Another hall of the same store does it, as another process would."""
    with Hall.open() as hall:
        (listed,) = hall.list_debates()
        hall.force_close_debate(listed["thread_id"], "It costs too much.")


class HTTPStatusError(Exception):
    """An answer that is none; `failures` reads it as httpx's of the same name."""

    def __init__(self, status: int, headers: dict[str, str], body: str) -> None:
        super().__init__(f"HTTP {status}")
        self.response = SimpleNamespace(status_code=status, headers=headers, text=body)


class Client(ModuleType):
    """As much of litellm as one call needs."""

    def __init__(self, fate: Fate) -> None:
        super().__init__("litellm")
        self.__spec__ = ModuleSpec("litellm", None)  # `models.prices` looks there for a table of prices
        self.fate = fate
        self.model_cost: dict[str, Any] = {}  # of no model here it is known what it takes
        self.in_memory_llm_clients_cache = SimpleNamespace(flush_cache=lambda: None)

    async def acompletion(self, *, model: str, api_base: str, **arguments: Any) -> Any:
        body = json.dumps({"model": model.removeprefix("openai/"), **arguments})
        self.fate.reach("before call")
        told = await _post(f"{api_base}/chat/completions", body)
        self.fate.reach("after call")
        return json.loads(told, object_hook=lambda members: SimpleNamespace(**members))

    async def close_litellm_async_clients(self) -> None:
        """There are none: each call has a connection of its own."""


async def _post(url: str, body: str) -> str:
    address, content = urlsplit(url), body.encode()
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        head = f"POST {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode() + content)
        lines, _, told = (await reader.read()).decode().partition("\r\n\r\n")
    finally:
        writer.close()
    first, *others = lines.split("\r\n")
    status, headers = int(first.split()[1]), dict(line.lower().split(": ", 1) for line in others)
    if status != 200:
        raise HTTPStatusError(status, headers, told)
    return told


def _without_waiting(connect: Callable[..., sqlite3.Connection]) -> Callable[..., sqlite3.Connection]:
    """What a power cut would leave is not what these tests are about: a kill takes nothing from the system's cache."""

    def hasty(*args: Any) -> sqlite3.Connection:
        db = connect(*args)
        db.execute("PRAGMA synchronous = OFF")
        return db

    return hasty


def _store() -> type[Any]:
    """The class of the store that the process is about to open."""
    if "DEBATE_HALL_STORE" not in os.environ:
        return SQLiteStore
    from orchestrator.hall.postgres import PostgresStore  # here: to load it takes a while

    return PostgresStore


def install(fate: Fate) -> None:
    store = _store()
    for name in TRANSACTIONS:
        setattr(store, name, fate.around(name, getattr(store, name)))
    store._transaction = fate.alone(store._transaction)
    SQLiteStore._connect = _without_waiting(SQLiteStore._connect)  # type: ignore[method-assign]
    sys.modules["litellm"] = Client(fate)


if __name__ == "__main__":
    install(Fate(**json.loads(sys.argv.pop(1))))
    if sys.argv[1] in debate_hall.commands:
        debate_hall()
    main()
