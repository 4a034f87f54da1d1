"""The route `client`: the calling client's own model speaks, where the client offers sampling."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp_types import CreateMessageRequestParams, CreateMessageResult, ErrorData, TextContent

from building import account_text, wordy

pytestmark = pytest.mark.anyio

ALL = {"wind": ["client"], "wall": ["client"], "door": ["client"]}
EARLIER = "legacy"  # the protocol versions in which a server may ask its client back


class Sampler:
    """A client's model: it keeps what it was asked and answers every role alike, but for those that it refuses, and
    accounts for the decision."""

    def __init__(self, refuses: str = "nobody") -> None:
        self.asked: list[CreateMessageRequestParams] = []
        self._refuses = refuses

    async def __call__(self, context: Any, params: CreateMessageRequestParams) -> CreateMessageResult | ErrorData:
        self.asked.append(params)
        task = str(params.messages[-1].content)
        if f"You are {self._refuses}" in task:
            return ErrorData(code=-1, message="its user said no")
        turn = wordy(f"VERDICT: APPROVED\nWhat if answer {len(self.asked)} moved one table at a time?")
        text = account_text() if "account for it." in task else turn
        return CreateMessageResult(role="assistant", model="its-own-model", content=TextContent(text=text))


async def test_the_clients_model_holds_a_debate_to_its_end(server: MCPServer) -> None:
    sampler = Sampler()
    with anyio.fail_after(20):
        async with Client(server, sampling_callback=sampler, mode=EARLIER) as client:
            arguments = {"topic": "Kafka?", "recipe": "speed", "wait": True, **ALL}
            run = (await client.call_tool("run_debate", arguments)).structured_content
            shown = (await client.call_tool("get_debate", {"thread_id": run["thread_id"]})).structured_content
    assert (run["status"], run["run"]["state"], run["turn_count"]) == ("synthesis", "done", 3)
    assert run["run"]["cost_usd"] is None  # a client does not say what its model took
    assert {turn["model"] for turn in shown["transcript"]} == {"its-own-model"}
    assert all(asked.system_prompt and "Wind (PATHOS" in asked.system_prompt for asked in sampler.asked)
    assert len(sampler.asked) == 5  # Wind beside the checklist, Wall, Door, Door's account


async def test_a_debate_that_its_client_paused_goes_on_with_its_client_and_not_without(server: MCPServer) -> None:
    refuses, sampler = Sampler("Door"), Sampler()
    resume: dict[str, Any] = {"thread_id": "2026-01-06-kafka", "wait": True}
    with anyio.fail_after(20):
        async with Client(server, sampling_callback=refuses, mode=EARLIER) as client:
            arguments = {"topic": "Kafka?", "recipe": "speed", **resume, **ALL}
            paused = (await client.call_tool("run_debate", arguments)).structured_content
        async with Client(server, mode=EARLIER) as other:
            refused = await other.call_tool("resume_debate", resume)
        async with Client(server, sampling_callback=sampler, mode=EARLIER) as client:
            at_once = await client.call_tool("resume_debate", {**resume, "wait": False})
            ended = (await client.call_tool("resume_debate", resume)).structured_content
    assert (paused["run"]["state"], paused["turn_count"], paused["next_role"]) == ("paused", 2, "Door")
    assert "its user said no" in paused["run"]["message"]
    assert refused.content[0].text.startswith("usage: The route `client` needs a client that offers sampling")
    assert at_once.content[0].text.startswith("usage: The route `client` asks your own model while you wait.")
    assert (ended["run"]["state"], ended["status"], ended["turn_count"]) == ("done", "synthesis", 3)
    assert len(sampler.asked) == 2  # Door alone: its turn and its account


@pytest.mark.parametrize(
    ("settings", "changes", "refusal"),
    [
        ({"mode": EARLIER}, {}, "needs a client that offers sampling"),
        ({"mode": EARLIER, "sampling_callback": Sampler()}, {"wait": False}, "Call again with wait=true"),
        ({"sampling_callback": Sampler()}, {}, "a server cannot ask its client for turns"),
    ],
    ids=["no sampling", "no wait", "no way back"],
)
async def test_a_client_that_cannot_be_asked_is_told_before_a_debate_is_opened(
    server: MCPServer, settings: dict[str, Any], changes: dict[str, Any], refusal: str
) -> None:
    with anyio.fail_after(20):
        async with Client(server, **settings) as client:
            answer = await client.call_tool("run_debate", {"topic": "Kafka?", "wait": True, **ALL, **changes})
            debates = (await client.call_tool("list_debates", {})).structured_content
    assert answer.is_error
    assert refusal in answer.content[0].text
    assert answer.content[0].text.startswith("usage: ")
    assert debates == {"debates": []}
