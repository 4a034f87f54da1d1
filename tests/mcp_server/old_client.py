"""Plays the scenario with an mcp 1.x client, run by a Python whose environment holds one (`pip install 'mcp<2'`).

python old_client.py stdio COMMAND ARGUMENT… | python old_client.py http URL TOKEN
"""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl
from scenario import Refused, play

DEADLINE_S = 50


class OldDoor:
    def __init__(self, session: ClientSession) -> None:
        self._session = session

    async def tools(self) -> set[str]:
        return {tool.name for tool in (await self._session.list_tools()).tools}

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return answer_of(await self._session.call_tool(tool, arguments))

    async def progress(self, tool: str, **arguments: Any) -> list[float]:
        told: list[float] = []

        async def take(done: float, total: float | None, message: str | None) -> None:
            told.append(done)

        answer_of(await self._session.call_tool(tool, arguments, progress_callback=take))
        return told

    async def prompt(self, name: str, **arguments: str) -> str:
        try:
            (message,) = (await self._session.get_prompt(name, arguments)).messages
        except McpError as error:
            raise Refused(error.error.message) from error
        return message.content.text

    async def read(self, uri: str) -> str:
        try:
            (content,) = (await self._session.read_resource(AnyUrl(uri))).contents
        except McpError as error:
            raise Refused(error.error.message) from error
        return content.text


def answer_of(result: Any) -> dict[str, Any]:
    if result.isError:
        raise Refused(result.content[0].text)
    return result.structuredContent


@asynccontextmanager
async def connected(transport: str, *where: str) -> Any:
    if transport == "stdio":
        server = StdioServerParameters(command=where[0], args=list(where[1:]), env=dict(os.environ))
        async with stdio_client(server) as streams:
            yield streams
    else:
        url, token = where
        async with streamablehttp_client(url, headers={"Authorization": f"Bearer {token}"}) as (reads, writes, _):
            yield reads, writes


async def main() -> None:
    with anyio.fail_after(DEADLINE_S):
        async with connected(*sys.argv[1:]) as (reads, writes), ClientSession(reads, writes) as session:
            await session.initialize()
            await play(OldDoor(session))
    print("played to the end")


anyio.run(main)
