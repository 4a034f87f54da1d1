"""Tool calls as the skills write them, played through an in-memory MCP client."""

from __future__ import annotations

import ast
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from mcp import Client

from orchestrator.hall.hall import Hall
from orchestrator.mcp_server import build

DEADLINE_S = 20
_HEAD = "head"  # stands in an example for the head that the call before returned
_CONSTANTS = {"true": "True", "false": "False", "null": "None"}
_CALL = re.compile(r"[a-z_]+\(.*\)")


@dataclass(frozen=True, slots=True)
class Call:
    """`name(1, key=2)`; a value that is a name stands for what `play` is told it is."""

    tool: str
    values: tuple[Any, ...]
    named: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Name:
    name: str


def is_call(text: str) -> bool:
    return _CALL.fullmatch(text) is not None


def read_call(text: str) -> Call:
    """Reads one call; `key:"value"`, as the published skills write it, is `key="value"`."""
    node = ast.parse(re.sub(r'(\w+):(?=")', r"\1=", text), mode="eval").body
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    named = {keyword.arg: _value(keyword.value) for keyword in node.keywords if keyword.arg}
    return Call(node.func.id, tuple(map(_value, node.args)), named)


def _value(node: ast.expr) -> Any:
    if not isinstance(node, ast.Name):
        return ast.literal_eval(node)
    constant = _CONSTANTS.get(node.id)
    return ast.literal_eval(constant) if constant else Name(node.id)


class Door:
    """The tools of one client: an answer is a mapping, a refusal its text."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, _text(result)
        answer: dict[str, Any] = result.structured_content
        return answer

    async def refused(self, tool: str, **arguments: Any) -> str:
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.structured_content
        return _text(result)

    async def schemas(self) -> dict[str, dict[str, Any]]:
        """The input schema of every tool, by name."""
        return {tool.name: tool.input_schema for tool in (await self.client.list_tools()).tools}

    async def play(self, calls: Sequence[Call], **known: Any) -> list[dict[str, Any]]:
        """Makes the calls in order and returns the answers; `head` is what the call before returned."""
        schemas, answers = await self.schemas(), list[dict[str, Any]]()
        for call in calls:
            bound = {_HEAD: answers[-1]["head"], **known} if answers else known
            arguments = {**dict(zip(schemas[call.tool]["properties"], call.values, strict=False)), **call.named}
            answers.append(await self(call.tool, **_bound(arguments, bound)))
        return answers


def _bound(arguments: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    return {key: known[value.name] if isinstance(value, Name) else value for key, value in arguments.items()}


def _text(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


@asynccontextmanager
async def opened(hall: Hall) -> AsyncIterator[Door]:
    """A client of a server over `hall`, with a deadline for all that is done with it."""
    with anyio.fail_after(DEADLINE_S):
        async with Client(build(hall, roots=(), out=None)) as client:
            yield Door(client)
