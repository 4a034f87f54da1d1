"""What comes back from a client's own model that is no answer, over a real connection to a client in memory."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CreateMessageRequestParams, CreateMessageResult, TextContent

from orchestrator.errors import BadRequest, CutOff, EmptyReply, ModelError, TimedOut
from orchestrator.hall.terms import Role
from orchestrator.mcp_server.client_model import ClientModel
from orchestrator.models.base import Message, Request, Task
from orchestrator.usage import Usage

pytestmark = pytest.mark.anyio

UNCOUNTED = Usage(input=0, cached=0, output=0, cost_usd=None)
TASK = Task(
    step="turn", role=Role.WIND, agent="ideator", lens=None, round=1, rounds=1, last=False, topic="Kafka or not?"
)


class Sampler:
    """A client's model that answers so, or refuses so."""

    def __init__(self, text: str = "", stop_reason: str = "endTurn", refusal: MCPError | None = None) -> None:
        self._answer = CreateMessageResult(
            role="assistant", model="its-own", content=TextContent(text=text), stop_reason=stop_reason
        )
        self._refusal = refusal

    async def __call__(self, context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        if self._refusal is not None:
            raise self._refusal
        return self._answer


class Silent:
    async def __call__(self, context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        await anyio.sleep_forever()
        raise AssertionError("it sleeps for ever")


async def failed(sampler: Sampler | Silent, timeout_s: float = 20.0) -> ModelError:
    server, caught = MCPServer("test"), list[ModelError]()

    @server.tool()
    async def ask(ctx: Context) -> str:
        request = Request("client", (Message("user", "Kafka?"),), TASK, max_output_tokens=100, timeout_s=timeout_s)
        try:
            return (await ClientModel(ctx).complete(request)).text
        except ModelError as error:
            caught.append(error)
            return "it failed"

    with anyio.fail_after(30):
        async with Client(server, sampling_callback=sampler, mode="legacy") as client:
            await client.call_tool("ask", {})
    (error,) = caught
    return error


async def test_an_answer_that_stopped_at_its_limit_is_cut_off_and_kept() -> None:
    error = await failed(Sampler("What if the ledger", stop_reason="maxTokens"))
    assert (type(error), error.text, error.usage) == (CutOff, "What if the ledger", UNCOUNTED)


async def test_an_answer_without_text_is_empty_and_an_answer_all_the_same() -> None:
    error = await failed(Sampler(" \n"))
    assert (type(error), error.usage) == (EmptyReply, UNCOUNTED)


@pytest.mark.parametrize(("code", "maybe_billed"), [(-1, False), (INTERNAL_ERROR, True)])
async def test_only_a_users_no_is_certain_to_have_cost_nothing(code: int, maybe_billed: bool) -> None:
    error = await failed(Sampler(refusal=MCPError(code, "not this time")))
    assert (type(error), error.maybe_billed) == (BadRequest, maybe_billed)
    assert "not this time" in error.message


async def test_a_client_that_does_not_answer_in_time_may_have_been_charged() -> None:
    error = await failed(Silent(), timeout_s=0.05)
    assert (type(error), error.maybe_billed) == (TimedOut, True)
