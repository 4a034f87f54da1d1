"""One scenario, in memory, over real stdio and over real HTTP with a token, with today's client and with an old one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult
from processes import SERVE, text_of
from processes import processes as processes
from scenario import Refused, play

OLD = os.environ.get("MCP1_PYTHON")  # a Python in whose environment mcp 1.x is installed
TOKEN = "a-token-of-good-length-1234"

with_an_old_client = pytest.mark.skipif(OLD is None, reason="MCP1_PYTHON names no Python with an mcp 1.x client")


class NewDoor:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def tools(self) -> set[str]:
        return {tool.name for tool in (await self._client.list_tools()).tools}

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return answer_of(await self._client.call_tool(tool, arguments))

    async def progress(self, tool: str, **arguments: Any) -> list[float]:
        told: list[float] = []

        async def take(done: float, total: float | None, message: str | None) -> None:
            told.append(done)

        answer_of(await self._client.call_tool(tool, arguments, progress_callback=take))
        return told

    async def prompt(self, name: str, **arguments: str) -> str:
        try:
            (message,) = (await self._client.get_prompt(name, arguments)).messages
        except MCPError as error:
            raise Refused(str(error)) from error
        assert message.content.type == "text"
        return message.content.text

    async def read(self, uri: str) -> str:
        try:
            (content,) = (await self._client.read_resource(uri)).contents
        except MCPError as error:
            raise Refused(str(error)) from error
        return str(content.text)  # type: ignore[union-attr]


def answer_of(result: CallToolResult) -> dict[str, Any]:
    if result.is_error:
        raise Refused(text_of(result))
    answer: dict[str, Any] = result.structured_content or {}
    return answer


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of a server process that asks for the token."""
    file = tmp_path / "token"
    file.touch(mode=0o600)
    file.write_text(TOKEN)
    command = [*SERVE, "--port", "0", "--token-file", str(file)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            yield process.stderr.readline().split()[-1]
        finally:
            process.kill()


@asynccontextmanager
async def over_http(url: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_scenario_in_memory(server: MCPServer) -> None:
    async with Client(server) as client:
        await play(NewDoor(client))


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_scenario_over_stdio() -> None:
    async with Client(StdioServerParameters(command=SERVE[0], args=SERVE[1:], env=dict(os.environ))) as client:
        await play(NewDoor(client))


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_scenario_over_http_with_a_token(url: str) -> None:
    async with over_http(url) as client:
        await play(NewDoor(client))


def play_old(*arguments: str) -> None:
    """Plays the scenario with the old client in a process of its own."""
    script = str(Path(__file__).with_name("old_client.py"))
    ended = subprocess.run([str(OLD), script, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (0, "played to the end\n"), ended.stderr


@pytest.mark.slow
@with_an_old_client
def test_an_old_client_plays_the_scenario_over_stdio() -> None:
    play_old("stdio", *SERVE)


@pytest.mark.slow
@with_an_old_client
def test_an_old_client_plays_the_scenario_over_http_with_a_token(url: str) -> None:
    play_old("http", url, TOKEN)
