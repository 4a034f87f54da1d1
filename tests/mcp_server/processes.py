"""What tests of whole debates need: the processes that were started, and servers elsewhere on the same hall."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from subprocess import Popen
from typing import Any

import anyio.to_thread
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp_types import CallToolResult

from orchestrator import background
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Lease
from orchestrator.hall.store_place import open_store
from orchestrator.mcp_server import build
from orchestrator.plan import Changes

SERVE = [sys.executable, str(Path(sysconfig.get_path("scripts")) / "debate-hall"), "serve"]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The folder that runs write theirs into; it is not there yet."""
    return tmp_path / "out"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder that evidence may come from; it is not the working folder."""
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def server(hall: Hall, root: Path, out: Path) -> MCPServer:
    return build(hall, roots=(root,), out=out)


@pytest.fixture(autouse=True)
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Popen[bytes]]]:
    """The processes that were started, the last one last; none outlives its test."""
    started: list[Popen[bytes]] = []
    start = background.start

    def kept(lease: Lease, folder: Path, changes: Changes) -> Popen[bytes]:
        started.append(start(lease, folder, changes))
        return started[-1]

    monkeypatch.setattr(background, "start", kept)
    yield started
    for process in started:
        process.kill()
        process.wait(20)


async def over(process: Popen[bytes]) -> int:
    """How a process ended."""
    return await anyio.to_thread.run_sync(partial(process.wait, 25))


@asynccontextmanager
async def elsewhere(later_s: float = 0) -> AsyncIterator[Client]:
    """A client of another server on the same state folder, whose clock may be ahead."""
    with Hall(open_store(), clock=lambda: datetime.now(UTC) + timedelta(seconds=later_s)) as hall:
        async with Client(build(hall, roots=(), out=None)) as client:
            yield client


async def status(client: Client, thread_id: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool("debate_status", {"thread_id": thread_id, **arguments})
    assert not result.is_error, text_of(result)
    told: dict[str, Any] = result.structured_content or {}
    return told


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert content.type == "text"
    return content.text


def names(folder: Path) -> list[str]:
    return sorted(place.name for place in folder.iterdir())
