"""A hall behind the in-memory client: everything but a transport is real. Every coroutine test has a deadline."""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp_types import CallToolResult

from orchestrator.hall.hall import Hall
from orchestrator.mcp_server import build

DEADLINE_S = 60

Call = Callable[..., Awaitable[dict[str, Any]]]
Refused = Callable[..., Awaitable[str]]


def pytest_itemcollected(item: pytest.Item) -> None:
    test = getattr(item, "obj", None)
    if inspect.iscoroutinefunction(test):

        @wraps(test)
        async def in_time(*args: Any, **kwargs: Any) -> None:
            with anyio.fail_after(DEADLINE_S):
                await test(*args, **kwargs)

        item.obj = in_time  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder; the working folder is empty, no key and no setting stands in the environment."""
    for name in os.environ:
        if name.startswith("DEBATE_HALL_") or name.endswith(("_API_KEY", "_TOKEN")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "state"


@pytest.fixture
def hall(state: Path) -> Iterator[Hall]:
    with Hall.open() as opened:
        yield opened


@pytest.fixture
def server(hall: Hall) -> MCPServer:
    return build(hall, roots=(), out=None)


@pytest.fixture
async def client(server: MCPServer) -> AsyncIterator[Client]:
    async with Client(server) as connected:
        yield connected


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert content.type == "text"
    return content.text


@pytest.fixture
def call(client: Client) -> Call:
    """Calls a tool that answers; returns its structured result."""

    async def answered(tool: str, /, **arguments: Any) -> dict[str, Any]:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, text_of(result)
        structured: dict[str, Any] = result.structured_content or {}
        return structured

    return answered


@pytest.fixture
def refused(client: Client) -> Refused:
    """Calls a tool that refuses; returns the refusal."""

    async def told(tool: str, /, **arguments: Any) -> str:
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        return text_of(result)

    return told
