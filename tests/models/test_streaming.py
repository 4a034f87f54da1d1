"""Streamed answers: the same as whole ones, piece by piece, in each provider's words; and what breaks them off."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from decimal import Decimal
from typing import Any

import anyio
import anyio.to_thread
import pytest

from endpoint import (
    Answer,
    ModelServer,
    broken_json,
    content_policy,
    context_too_long,
    cut_off,
    dropped,
    empty,
    error,
    no_such_model,
    overloaded,
    rate_limited,
    server_error,
    web_page,
    wrong_key,
)
from orchestrator.errors import (
    ConnectionFailed,
    ContentRefused,
    CutOff,
    EmptyReply,
    GarbledReply,
    ModelError,
    Overloaded,
    ServerFailed,
    TimedOut,
)
from orchestrator.hall.terms import Role
from orchestrator.models.base import Endpoint, Message, Request, Shape, Task, Usage
from orchestrator.models.litellm import LiteLLM

pytestmark = [
    pytest.mark.slow,
    pytest.mark.anyio,
]

CLAUDE, GPT, GEMINI = "anthropic/claude-opus-5-5", "openai/gpt-6.1-sol", "gemini/gemini-4-argon"
TOOLED = "anthropic/of-next-year"  # litellm makes a tool of the schema for a Claude that it does not know
EACH = pytest.mark.parametrize("name", [GPT, CLAUDE, GEMINI])
TEXT = "What if the log is the ledger?\n\nThen every reader is a fold: ü, 漢, \N{SNOWMAN}."
TASK = Task("turn", Role.WIND, "ideator", None, round=1, rounds=1, last=False, topic="Kafka or not?")
PRICES = {
    "input_cost_per_token": Decimal("0.01"),
    "cached_cost_per_token": Decimal("0.001"),
    "output_cost_per_token": Decimal("0.1"),
}
SCHEMA = {
    "type": "object",
    "properties": {"choice": {"type": "string", "enum": ["approve", "object"]}},
    "required": ["choice"],
    "additionalProperties": False,
}
VOTE = '{"choice": "approve"}'


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, "sk-ant-api03-Zq9vT2mXw8LkR4sYb7Nc1Hd6")


@pytest.fixture
async def model() -> AsyncIterator[LiteLLM]:
    async with aclosing(LiteLLM()) as model:
        yield model


def asked(server: ModelServer, name: str, *, stream: bool = True, **fields: Any) -> Request:
    """A call to that server, whose Anthropic addresses end before /v1."""
    base = server.base_url.removesuffix("/v1" if name.startswith("anthropic/") else "")
    endpoint = Endpoint(api_base=base, stream=stream, **fields.pop("endpoint", {}))
    messages = (Message("system", "Be brief."), Message("user", "Kafka or not?"))
    return Request(name, messages, TASK, 500, fields.pop("timeout_s", 20.0), endpoint=endpoint, **fields)


async def refused(model: LiteLLM, request: Request) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.complete(request)
    return caught.value


# ---------------------------------------------------------------- the same as whole


@EACH
@pytest.mark.parametrize("thinking", ["", "Let me think of a log.\n"])
async def test_a_streamed_answer_is_the_whole_one(
    model: LiteLLM, model_server: ModelServer, name: str, thinking: str
) -> None:
    model_server.reply = lambda call: Answer(TEXT, thinking=thinking)
    whole = await model.complete(asked(model_server, name, stream=False))
    model_server.calls.clear()  # nothing is cached
    heard: list[str] = []
    streamed = await model.complete(asked(model_server, name, hear=heard.append))
    assert streamed == whole
    assert streamed.text == TEXT
    assert (streamed.usage.input, streamed.usage.output) == (
        model_server.calls[0].charged[0],
        model_server.calls[0].charged[2],
    )
    assert bool(streamed.usage.thinking) == bool(thinking)
    assert "".join(heard) == TEXT
    assert len(heard) > 5


@EACH
async def test_what_the_cache_served_counts_as_in_a_whole_answer(
    model: LiteLLM, model_server: ModelServer, name: str
) -> None:
    for _ in range(2):
        last = await model.complete(asked(model_server, name, endpoint=PRICES))
    whole = await model.complete(asked(model_server, name, stream=False, endpoint=PRICES))
    assert last.usage.cached == last.usage.input > 0
    assert (last.usage.input, last.usage.cached) == (whole.usage.input, whole.usage.cached)
    assert last.usage.cost_usd == last.usage.cached * Decimal("0.001") + last.usage.output * Decimal("0.1")


@EACH
async def test_what_a_provider_did_not_count_nobody_estimates(
    model: LiteLLM, model_server: ModelServer, name: str
) -> None:
    model_server.inject(Answer(TEXT, counted=False))
    reply = await model.complete(asked(model_server, name, endpoint=PRICES))
    assert (reply.text, reply.usage) == (TEXT, Usage(0, 0, 0, None))


@pytest.mark.parametrize("name", [GPT, CLAUDE, GEMINI, TOOLED])
async def test_an_object_comes_in_pieces_too(model: LiteLLM, model_server: ModelServer, name: str) -> None:
    model_server.reply = lambda call: VOTE
    heard: list[str] = []
    shape = Shape("vote", SCHEMA)
    reply = await model.complete(
        asked(model_server, name, shape=shape, hear=heard.append, endpoint={"json_schema": True})
    )
    assert json.loads(reply.text) == json.loads("".join(heard)) == json.loads(VOTE)
    assert model_server.calls[0].schema == SCHEMA


# ---------------------------------------------------------------- what goes wrong


@EACH
@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (cut_off(TEXT), CutOff, TEXT),
        (empty(), EmptyReply, ""),
        (Answer(" \n"), EmptyReply, ""),
        (Answer("", thinking="I think, and that is all."), EmptyReply, ""),
        (Answer("", thinking="I think and th", finish_reason="length"), CutOff, ""),
        (Answer("<think>I think and never", finish_reason="length"), CutOff, ""),
        (Answer("<think>I think.</think>\n"), EmptyReply, ""),
        (Answer("I cannot", finish_reason="content_filter"), ContentRefused, "I cannot"),
    ],
    ids=["cut off", "empty", "blank", "thought", "cut in thought", "cut in tags", "thought in tags", "refused"],
)
async def test_an_answer_of_no_use_is_the_same_error_streamed_and_whole(
    model: LiteLLM, model_server: ModelServer, name: str, answer: Answer, kind: type[ModelError], text: str
) -> None:
    model_server.inject(answer)
    streamed = await refused(model, asked(model_server, name))
    assert (type(streamed), streamed.text) == (kind, text)
    assert streamed.usage is not None
    assert streamed.usage.output == model_server.calls[0].charged[2]
    whole = await refused(model, asked(model_server, name, stream=False))
    assert (type(whole), streamed.message) == (kind, whole.message)


@EACH
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(TEXT, torn=True), ConnectionFailed),
        (Answer(TEXT, breaks="end"), ConnectionFailed),
        (Answer(TEXT, breaks="garbage"), ConnectionFailed),
        (Answer(TEXT, breaks="stall"), TimedOut),
    ],
    ids=["torn", "ended early", "garbage", "stalled"],
)
async def test_a_stream_that_breaks_off_is_a_failed_attempt_that_keeps_what_was_heard(
    model_server: ModelServer, name: str, answer: Answer, kind: type[ModelError]
) -> None:
    model_server.inject(answer)
    heard: list[str] = []
    async with aclosing(LiteLLM(stall_s=0.2)) as model:
        failed = await refused(model, asked(model_server, name, hear=heard.append))
    assert type(failed) is kind
    assert failed.text == "".join(heard)
    assert 0 < len(failed.text) < len(TEXT)
    assert TEXT.startswith(failed.text)
    assert (failed.usage, failed.maybe_billed) == (None, True)
    assert "litellm" not in failed.message
    assert len(model_server.calls) == 1


@EACH
async def test_an_error_in_the_middle_of_a_stream_is_told_in_the_providers_words(
    model: LiteLLM, model_server: ModelServer, name: str
) -> None:
    model_server.inject(Answer(TEXT, breaks="error"))
    failed = await refused(model, asked(model_server, name))
    assert "verloaded" in failed.message
    assert type(failed) in (Overloaded, ServerFailed)
    assert 0 < len(failed.text) < len(TEXT)
    assert (failed.usage, failed.maybe_billed) == (None, True)


@EACH
async def test_silence_before_the_answer_is_no_stall(model_server: ModelServer, name: str) -> None:
    model_server.latency_s = 0.15
    async with aclosing(LiteLLM(stall_s=0.03)) as model:
        assert (await model.complete(asked(model_server, name))).text


@EACH
async def test_a_stream_that_takes_too_long_in_all_ends(model: LiteLLM, model_server: ModelServer, name: str) -> None:
    model_server.inject(Answer(TEXT, breaks="stall"))
    failed = await refused(model, asked(model_server, name, timeout_s=0.5))
    assert (type(failed), failed.message) == (TimedOut, f"{name}: no answer in time")
    assert TEXT.startswith(failed.text)


@EACH
@pytest.mark.parametrize(
    "answer",
    [
        wrong_key(),
        no_such_model("m"),
        context_too_long(),
        content_policy(),
        rate_limited(2),
        overloaded(503),
        overloaded(529),
        server_error(),
        error(504, "Gateway slow."),
        web_page(502),
        dropped(),
    ],
    ids=lambda answer: f"{answer.status} {(answer.body or 'dropped')[:40]}",
)
async def test_an_error_before_the_stream_is_the_same_error(
    model: LiteLLM, model_server: ModelServer, name: str, answer: Answer
) -> None:
    model_server.inject(answer)
    streamed = await refused(model, asked(model_server, name))
    whole = await refused(model, asked(model_server, name, stream=False))
    told = [(type(e), e.status, e.retry_after, e.maybe_billed, e.text, e.message) for e in (streamed, whole)]
    assert told[0] == told[1]


@EACH
@pytest.mark.parametrize("answer", [web_page(200), broken_json(), Answer(body="")], ids=["page", "JSON", "nothing"])
async def test_what_is_no_stream_at_all_is_garbled(
    model: LiteLLM, model_server: ModelServer, name: str, answer: Answer
) -> None:
    model_server.inject(answer)
    failed = await refused(model, asked(model_server, name))
    assert (type(failed), failed.text) == (GarbledReply, "")
    assert "api_base" in failed.cure


@EACH
async def test_cancelling_closes_the_connection(model: LiteLLM, model_server: ModelServer, name: str) -> None:
    model_server.inject(Answer(TEXT, breaks="stall"))
    first = anyio.Event()
    request = asked(model_server, name, hear=lambda piece: first.set())
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(model.complete, request)
            await first.wait()
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(model_server.left.acquire, True, 5)
    assert model_server.calls[0].gone
