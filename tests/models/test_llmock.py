"""The wire formats of OpenAI, Anthropic and Gemini as llmock, which others wrote, speaks them and breaks them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from orchestrator.errors import (
    ConnectionFailed,
    ContextTooLong,
    ModelError,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
)
from orchestrator.hall.terms import Role
from orchestrator.models.base import Endpoint, Message, Request, Shape, Task
from orchestrator.models.litellm import LiteLLM

pytest.importorskip("llmock", reason="llmock is not installed")

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.xdist_group("litellm"),
]

MODELS = {"openai": "openai/gpt-4o", "anthropic": "anthropic/claude-opus-5-5", "gemini": "gemini/gemini-2.5-pro"}
EACH = pytest.mark.parametrize("provider", MODELS)
TEXT = "What if the log is the ledger? Then every reader is a fold of it, and no table is the truth.\nWho would notice?"
SCHEMA = {
    "type": "object",
    "properties": {"choice": {"type": "string", "enum": ["approve", "object"]}},
    "required": ["choice"],
    "additionalProperties": False,
}


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LiteLLM]:
    monkeypatch.setenv("MOCK_KEY", "a-key-of-no-worth")
    async with aclosing(LiteLLM(stall_s=0.3)) as model:
        yield model


def asked(llmock: Any, provider: str, *, stream: bool = True, **fields: Any) -> Request:
    address = llmock.base_url(provider) + ("/v1beta" if provider == "gemini" else "")
    where = Endpoint(api_base=address, api_key_env="MOCK_KEY", stream=stream, json_schema=True)
    task = Task("turn", Role.WIND, "ideator", None, round=1, rounds=1, last=False, topic="Kafka or not?")
    messages = (Message("system", "Be brief."), Message("user", "Kafka or not?"))
    return Request(MODELS[provider], messages, task, 500, fields.pop("timeout_s", 10.0), endpoint=where, **fields)


async def refused(model: LiteLLM, request: Request) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.complete(request)
    return caught.value


@EACH
async def test_streamed_and_whole_are_one_answer(model: LiteLLM, llmock: Any, provider: str) -> None:
    llmock.reply(TEXT, times=2)
    whole = await model.complete(asked(llmock, provider, stream=False))
    heard: list[str] = []
    streamed = await model.complete(asked(llmock, provider, hear=heard.append))
    assert (whole.text, streamed) == (TEXT, whole)
    assert "".join(heard) == TEXT
    assert whole.usage.input > 0 < whole.usage.output


@EACH
@pytest.mark.parametrize("stream", [True, False])
async def test_an_object_of_a_shape_is_an_object(model: LiteLLM, llmock: Any, provider: str, stream: bool) -> None:
    llmock.reply('{"choice": "object"}')
    reply = await model.complete(asked(llmock, provider, stream=stream, shape=Shape("vote", SCHEMA)))
    assert json.loads(reply.text) == {"choice": "object"}


@EACH
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("truncate", ConnectionFailed),
        ("disconnect", ConnectionFailed),
        ("corrupt", ConnectionFailed),
        ("stall", TimedOut),
    ],
)
async def test_a_stream_that_breaks_is_a_failed_attempt_and_the_next_one_is_whole(
    model: LiteLLM, llmock: Any, provider: str, fault: str, kind: type[ModelError]
) -> None:
    llmock.reply(TEXT, times=None)
    getattr(llmock, fault)(after_chunks=8)
    failed = await refused(model, asked(llmock, provider))
    assert (type(failed), failed.usage, failed.maybe_billed) == (kind, None, True)
    assert TEXT.startswith(failed.text)
    assert 0 < len(failed.text) < len(TEXT)
    assert (await model.complete(asked(llmock, provider))).text == TEXT


@EACH
async def test_a_slow_stream_is_heard_out(model: LiteLLM, llmock: Any, provider: str) -> None:
    llmock.reply(TEXT).slow_first_token(0.5).pace(10)
    assert (await model.complete(asked(llmock, provider))).text == TEXT


@EACH
@pytest.mark.parametrize("stream", [True, False])
async def test_errors_are_the_same_streamed_or_not(model: LiteLLM, llmock: Any, provider: str, stream: bool) -> None:
    request = asked(llmock, provider, stream=stream)
    llmock.rate_limit(retry_after=2.0)
    limited = await refused(model, request)
    assert (type(limited), limited.status, limited.retry_after) == (RateLimited, 429, 2.0)
    for status, kind in ((500, ServerFailed), (503, Overloaded)):
        llmock.fail(status)
        assert type(await refused(model, request)) is kind
    llmock.context_overflow()
    assert type(await refused(model, request)) is ContextTooLong
