"""The litellm adapter: real HTTP replies of every kind, over litellm's httpx transport and over a real socket."""

from __future__ import annotations

import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from decimal import Decimal
from types import ModuleType
from typing import Any

import anyio
import httpx
import pytest
import respx

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
    out_of_quota,
    overloaded,
    rate_limited,
    server_error,
    web_page,
    wrong_key,
)
from orchestrator.errors import (
    AuthenticationFailed,
    BadRequest,
    ConnectionFailed,
    ContentRefused,
    ContextTooLong,
    CutOff,
    EmptyReply,
    GarbledReply,
    ModelError,
    NoSuchModel,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
)
from orchestrator.hall.terms import Role
from orchestrator.models import litellm as adapter
from orchestrator.models.base import Endpoint, Message, Reply, Request, Shape, Task, Usage
from orchestrator.models.failures import MAX_WORDS, kind_of, model_error
from orchestrator.models.litellm import LiteLLM

pytestmark = [
    pytest.mark.anyio,
]

CLAUDE, GPT, GEMINI = "anthropic/claude-opus-5-5", "openai/gpt-6.1-sol", "gemini/gemini-4-argon"
SECRET = "sk-ant-api03-Zq9vT2mXw8LkR4sYb7Nc1Hd6"
TASK = Task(
    step="turn", role=Role.WIND, agent="ideator", lens=None, round=1, rounds=1, last=False, topic="Kafka or not?"
)


def asked(model: str, **fields: Any) -> Request:
    messages = (Message("system", "Be brief."), Message("user", "Kafka or not?"))
    return Request(
        **{"messages": messages, "task": TASK, "max_output_tokens": 500, "timeout_s": 20.0} | fields, model=model
    )


def at(server: ModelServer, model: str, **fields: Any) -> Request:
    return asked(f"openai/{model}", endpoint=Endpoint(api_base=server.base_url), **fields)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, SECRET)


@pytest.fixture
async def model() -> AsyncIterator[LiteLLM]:
    async with aclosing(LiteLLM()) as model:
        yield model


@pytest.fixture
def providers() -> Iterator[respx.MockRouter]:
    """Every provider, answered by respx, which sees litellm's httpx transport only."""
    litellm = adapter.load()
    litellm.disable_aiohttp_transport = True
    litellm.in_memory_llm_clients_cache.flush_cache()
    with respx.mock(assert_all_called=False) as router:
        yield router
    litellm.disable_aiohttp_transport = False
    litellm.in_memory_llm_clients_cache.flush_cache()


async def refused(model: LiteLLM, request: Request) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.complete(request)
    assert caught.value.__cause__ is not None or isinstance(caught.value, (CutOff, EmptyReply, ContentRefused))
    return caught.value


# ---------------------------------------------------------------- what comes back


async def test_a_reply_carries_text_the_model_that_answered_and_what_it_cost(
    model: LiteLLM, model_server: ModelServer
) -> None:
    model_server.reply = lambda call: "What if the log is the ledger?"
    endpoint = Endpoint(
        api_base=model_server.base_url,
        input_cost_per_token=Decimal("0.01"),
        cached_cost_per_token=Decimal("0.001"),
        output_cost_per_token=Decimal("0.1"),
    )
    first = await model.complete(asked("openai/wind-1", endpoint=endpoint))
    again = await model.complete(asked("openai/wind-1", endpoint=endpoint))
    text = "What if the log is the ledger?"
    assert first == Reply(text, "wind-1", Usage(input=7, cached=0, output=8, cost_usd=Decimal("0.87")))
    assert again == Reply(text, "wind-1", Usage(input=7, cached=7, output=8, cost_usd=Decimal("0.807")))


async def test_messages_and_limits_reach_the_provider_as_they_are(model: LiteLLM, model_server: ModelServer) -> None:
    messages = (Message("system", "s"), Message("user", "u"), Message("assistant", "a"), Message("user", "ü\n```"))
    await model.complete(at(model_server, "wind-1", messages=messages, temperature=0.25))
    call = model_server.calls[0]
    assert call.messages == (("system", "s"), ("user", "u"), ("assistant", "a"), ("user", "ü\n```"))
    assert (call.body["max_tokens"], call.body["temperature"]) == (500, 0.25)


async def test_no_temperature_is_sent_unless_one_is_asked_for(model: LiteLLM, model_server: ModelServer) -> None:
    await model.complete(at(model_server, "wind-1"))
    assert "temperature" not in model_server.calls[0].body


async def test_a_parameter_the_model_does_not_take_is_left_out(model: LiteLLM, providers: respx.MockRouter) -> None:
    route = providers.post("https://api.openai.com/v1/chat/completions").respond(json=completion("ok"))
    await model.complete(asked(GPT, temperature=0.5))
    assert "temperature" not in json.loads(route.calls.last.request.content)


async def test_a_server_of_ones_own_is_never_sent_another_providers_key(
    model: LiteLLM, model_server: ModelServer
) -> None:
    await model.complete(at(model_server, "wind-1"))
    assert SECRET not in str(model_server.calls[0].headers)


async def test_the_named_variable_holds_the_key(
    model: LiteLLM, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_KEY", "open-sesame")
    endpoint = Endpoint(api_base=model_server.base_url, api_key_env="LOCAL_KEY")
    await model.complete(asked("openai/wind-1", endpoint=endpoint))
    assert model_server.calls[0].headers["Authorization"] == "Bearer open-sesame"


async def test_a_named_variable_that_is_not_set_is_told_before_any_call(
    model: LiteLLM, model_server: ModelServer
) -> None:
    endpoint = Endpoint(api_base=model_server.base_url, api_key_env="LOCAL_KEY")
    with pytest.raises(AuthenticationFailed, match="LOCAL_KEY is not set"):
        await model.complete(asked("openai/wind-1", endpoint=endpoint))
    assert model_server.calls == []


async def test_the_price_of_a_known_model_is_litellms_and_counts_cache_reads_and_writes(
    model: LiteLLM,
    providers: respx.MockRouter,
) -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 5,
    }
    providers.post("https://api.anthropic.com/v1/messages").respond(json=claude(usage=usage))
    reply = await model.complete(asked(CLAUDE))
    cost = 10 * Decimal("0.000004") + 100 * Decimal("2E-7") + 20 * Decimal("0.000005") + 5 * Decimal("0.00002")
    assert reply == Reply("hello", "claude-opus-5-5-answered", Usage(130, 100, 5, cost))


async def test_gemini_counts_thinking_as_output(model: LiteLLM, providers: respx.MockRouter) -> None:
    usage = {"promptTokenCount": 8, "candidatesTokenCount": 3, "thoughtsTokenCount": 40, "cachedContentTokenCount": 4}
    answer = {"candidates": [gemini_candidate("hi", "STOP")], "usageMetadata": usage | {"totalTokenCount": 51}}
    providers.route(host="generativelanguage.googleapis.com").respond(json=answer)
    reply = await model.complete(asked(GEMINI))
    assert (reply.usage.input, reply.usage.cached, reply.usage.output) == (8, 4, 43)


async def test_an_unknown_price_is_none(model: LiteLLM, model_server: ModelServer) -> None:
    named_like_a_known_one = await model.complete(at(model_server, "gpt-6.1-sol"))
    assert named_like_a_known_one.usage.cost_usd is None


async def test_an_answer_without_a_count_has_no_cost(model: LiteLLM, providers: respx.MockRouter) -> None:
    answer = completion("ok")
    del answer["usage"]
    providers.post("https://api.openai.com/v1/chat/completions").respond(json=answer)
    assert (await model.complete(asked(GPT))).usage.cost_usd is None


@pytest.mark.parametrize(
    "counts",
    [
        {"prompt_tokens": -500},
        {"completion_tokens": -1},
        {"prompt_tokens": 10**30},
        {"prompt_tokens_details": {"cached_tokens": -7}},
    ],
)
async def test_a_count_that_cannot_be_is_none(
    model: LiteLLM, model_server: ModelServer, counts: dict[str, Any]
) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120} | counts
    model_server.inject(Answer(body=json.dumps(completion("ok") | {"usage": usage})))
    reply = await model.complete(at(model_server, "wind-1"))
    assert reply.usage == Usage(input=0, cached=0, output=0, cost_usd=None)


# ---------------------------------------------------------------- what goes wrong, over a real socket


@pytest.mark.parametrize(
    ("answer", "kind", "status", "words"),
    [
        (wrong_key(), AuthenticationFailed, 401, "Incorrect API key provided"),
        (error(403, "Project has no access."), AuthenticationFailed, 403, "Project has no access."),
        (error(402, "Payment required."), AuthenticationFailed, 402, "Payment required."),
        (out_of_quota(), AuthenticationFailed, 429, "You exceeded your current quota."),
        (no_such_model("m"), NoSuchModel, 404, "The model `m` does not exist"),
        (Answer(status=404, body="404 page not found", content_type="text/plain"), NoSuchModel, 404, "page not found"),
        (error(400, "Unknown field.", kind="invalid_request_error"), BadRequest, 400, "Unknown field."),
        (error(422, "Bad field.", kind="invalid_request_error"), BadRequest, 422, "Bad field."),
        (rate_limited(2), RateLimited, 429, "Rate limit reached"),
        (overloaded(503), Overloaded, 503, "overloaded"),
        (overloaded(529), Overloaded, 529, "overloaded"),
        (error(408, "Slow."), TimedOut, 408, "Slow."),
        (error(504, "Gateway slow."), TimedOut, 504, "Gateway slow."),
        (server_error(), ServerFailed, 500, "The server had an error"),
        (web_page(502), ServerFailed, 502, "a web page instead of an answer (Welcome to nginx!)"),
        (web_page(503), Overloaded, 503, "a web page"),
        (web_page(429), RateLimited, 429, "a web page"),
        (web_page(403), AuthenticationFailed, 403, "a web page"),
        (context_too_long(), ContextTooLong, 400, "maximum context length is 8192 tokens"),
        (error(413, "Request too large."), ContextTooLong, 413, "Request too large."),
        (
            error(429, "Request too large for m on tokens per min (TPM)."),
            ContextTooLong,
            429,
            "Request too large for m",
        ),
        (content_policy(), ContentRefused, 400, "rejected as a result of our safety system"),
        (Answer(finish_reason="content_filter"), ContentRefused, None, "content filter"),
        (cut_off(), CutOff, None, "stopped at its limit, after 9 tokens"),
        (empty(), EmptyReply, None, "an empty answer"),
        (Answer(text=" \n\t"), EmptyReply, None, "an empty answer"),
        (Answer(body='{"id": "x", "object": "chat.completion", "choices": []}'), EmptyReply, None, "an empty answer"),
        (web_page(200), GarbledReply, None, "a web page instead of an answer (Welcome to nginx!)"),
        (web_page(404), GarbledReply, 404, "a web page instead of an answer (Welcome to nginx!)"),
        (broken_json(), GarbledReply, None, "Unterminated string"),
        (Answer(body="[]"), GarbledReply, None, "invalid response"),
        (Answer(body='{"choices": null}'), GarbledReply, None, "'choices'"),
        (Answer(body='{"usage": {}}'), GarbledReply, None, "'choices'"),
        (Answer(status=418, body="I am a teapot."), BadRequest, 418, "teapot"),
        (error(405, "Use POST."), BadRequest, 405, "Use POST."),
        (error(409, "Busy with another request."), ServerFailed, 409, "Busy"),
        (dropped(), ConnectionFailed, None, "disconnected"),
    ],
)
async def test_each_http_reply_becomes_its_error(
    model: LiteLLM, model_server: ModelServer, answer: Answer, kind: type[ModelError], status: int | None, words: str
) -> None:
    model_server.inject(answer)
    told = await refused(model, at(model_server, "wind-1"))
    assert (type(told), told.status, told.model) == (kind, status, "openai/wind-1")
    assert words in told.message
    assert "litellm" not in told.message
    assert "\n" not in told.message
    assert len(model_server.calls) == 1  # one call, one attempt


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (
            400,
            "The model `m` has been decommissioned and is no longer supported. Please refer to …",
            "model_decommissioned",
        ),
        (404, "The model `m` has been deprecated, learn more here: https://…", "model_not_found"),
        (410, "The model associated with the deployment is deprecated and no longer available.", "ModelDeprecated"),
        (500, "The model associated with the deployment is deprecated and no longer available for use.", None),
        (410, "The model 'a/m' has reached its end of life on 2026-08-07 and is no longer available.", None),
        (400, "This model version has reached the end of its life. Please refer to the documentation.", None),
        (400, "Access denied. This Model is marked by provider as Legacy. Please upgrade to an active model.", None),
        (404, "No endpoints found for a/m:free.", None),
        (400, "a/m:free is not a valid model ID", None),
        (400, "Unable to access non-serverless model a/m. Please visit …", "model_not_available"),
        (400, "The requested model 'm' does not exist.", None),
        (400, "Model Not Exist", "invalid_request_error"),
        (400, "Model not found: m", None),
        (400, "The provided model identifier is invalid.", None),
        (400, "The model m is no longer available", None),
        (400, "Invalid model: m", "invalid_model"),
        (400, "Unknown model: m", "unknown_model"),
        (410, "Gone.", None),
    ],
)
async def test_a_retired_model_is_no_such_model_however_it_is_said(
    model: LiteLLM, model_server: ModelServer, status: int, message: str, code: str | None
) -> None:
    model_server.inject(error(status, message, kind="invalid_request_error", code=code))
    told = await refused(model, at(model_server, "wind-1"))
    assert (type(told), told.status, told.maybe_billed) == (NoSuchModel, status, False)


@pytest.mark.parametrize(
    "message",
    [
        "`temperature` is deprecated for this model.",
        "This model does not support parameters: ['functions'], which were deprecated.",
        "Model output was not accepted as a prefix.",
    ],
)
async def test_a_parameter_that_is_deprecated_is_no_retired_model(
    model: LiteLLM, model_server: ModelServer, message: str
) -> None:
    model_server.inject(error(400, message, kind="invalid_request_error"))
    assert type(await refused(model, at(model_server, "wind-1"))) is BadRequest


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2.5", 2.5),
        ("0", 0),
        ("-3", 0),
        ("Thu, 01 Jan 2026 00:00:00 GMT", 0),
        ("Thu, 01 Jan 2026 00:00:00", 0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
    ],
)
async def test_the_seconds_to_wait_come_from_the_header(
    model: LiteLLM, model_server: ModelServer, header: str, seconds: float | None
) -> None:
    model_server.inject(error(429, "Slow down.", retry_after=header, x_ratelimit_reset="99"))
    assert (await refused(model, at(model_server, "wind-1"))).retry_after == seconds


async def test_a_date_to_come_back_at_is_counted_from_now(model_server: ModelServer) -> None:
    model_server.inject(error(503, "Maintenance.", retry_after="Thu, 01 Jan 2026 00:01:30 GMT"))
    async with aclosing(LiteLLM(clock=lambda: 1767225600.0)) as model:
        assert (await refused(model, at(model_server, "wind-1"))).retry_after == 90


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "maybe_billed"),
    [
        (wrong_key(), False),
        (no_such_model("m"), False),
        (error(400, "Unknown field.", kind="invalid_request_error"), False),
        (context_too_long(), False),
        (content_policy(), False),
        (rate_limited(2), False),
        (error(408, "Slow."), False),
        (server_error(), False),
        (overloaded(503), False),
        (overloaded(529), False),
        (web_page(404), False),
        (web_page(502), True),
        (error(504, "Gateway slow."), True),
        (error(524, "A timeout occurred"), True),
        (web_page(200), True),
        (broken_json(), True),
        (dropped(), True),
        (cut_off(), True),
        (empty(), True),
    ],
)
async def test_a_call_that_may_have_been_charged_for_says_so(
    model: LiteLLM, model_server: ModelServer, answer: Answer, maybe_billed: bool
) -> None:
    model_server.inject(answer)
    assert (await refused(model, at(model_server, "wind-1"))).maybe_billed is maybe_billed


async def test_a_refused_connection_names_the_place(model: LiteLLM, model_server: ModelServer) -> None:
    endpoint = Endpoint(api_base="http://127.0.0.1:1/v1")
    told = await refused(model, asked("openai/wind-1", endpoint=endpoint))
    assert isinstance(told, ConnectionFailed)
    assert "127.0.0.1" in told.message
    assert "api_base" in told.cure
    assert not told.maybe_billed


async def test_a_name_that_is_not_found_is_never_charged_for(model: LiteLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_found(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", not_found)
    told = await refused(model, asked("openai/wind-1", endpoint=Endpoint(api_base="http://no-such-place.test/v1")))
    assert (type(told), told.maybe_billed) == (ConnectionFailed, False)


async def test_a_call_that_takes_too_long_ends(model: LiteLLM, model_server: ModelServer) -> None:
    model_server.hold_until(2)
    told = await refused(model, at(model_server, "wind-1", timeout_s=0.2))
    assert isinstance(told, TimedOut)
    assert told.message == "openai/wind-1: no answer in time"
    assert told.maybe_billed


async def test_calls_of_one_task_group_are_in_flight_together(model: LiteLLM, model_server: ModelServer) -> None:
    model_server.hold_until(4)
    async with anyio.create_task_group() as group:
        for name in ("wind-1", "wall-1", "wall-2", "wall-3"):
            group.start_soon(model.complete, at(model_server, name))
    assert [what for what, _ in model_server.order()] == ["started"] * 4 + ["finished"] * 4


async def test_cancellation_passes_through_untouched(model: LiteLLM, model_server: ModelServer) -> None:
    outcome: list[str] = []

    async def call() -> None:
        try:
            await model.complete(at(model_server, "wind-1"))
        except anyio.get_cancelled_exc_class():
            outcome.append("cancelled")
            raise

    model_server.hold_until(2)
    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await anyio.to_thread.run_sync(model_server.arrived.wait)
        group.cancel_scope.cancel()
    assert outcome == ["cancelled"]


# ---------------------------------------------------------------- an answer of a given shape

TOOLED = "anthropic/of-next-year"  # litellm makes a tool of the schema for a Claude that it does not know
OWN = "openai/our-model"
SCHEMA = {
    "type": "object",
    "properties": {
        "choice": {"type": "string", "enum": ["approve", "object"], "description": "Your vote."},
        "why": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["choice", "why"],
    "additionalProperties": False,
}
VOTE = '{"choice": "approve", "why": null}'


def shaped(server: ModelServer, name: str, json_schema: bool | None) -> Request:
    return asked(name, shape=Shape("vote", SCHEMA), endpoint=here(server, name, json_schema))


def here(server: ModelServer, name: str, json_schema: bool | None) -> Endpoint:
    claude = name.startswith("anthropic/")  # whose addresses end before /v1
    return Endpoint(api_base=server.base_url.removesuffix("/v1" if claude else ""), json_schema=json_schema)


TAKES = pytest.mark.parametrize(
    ("name", "json_schema"), [(GPT, None), (CLAUDE, None), (GEMINI, None), (TOOLED, True), (OWN, True)]
)


@TAKES
async def test_a_model_that_takes_a_json_schema_is_held_to_it_and_its_text_is_the_object(
    model: LiteLLM, model_server: ModelServer, name: str, json_schema: bool | None
) -> None:
    model_server.reply = lambda call: VOTE
    reply = await model.complete(shaped(model_server, name, json_schema))
    assert json.loads(reply.text) == json.loads(VOTE)
    (call,) = model_server.calls
    assert call.schema == SCHEMA
    assert call.messages == (("system", "Be brief."), ("user", "Kafka or not?"))
    assert reply.usage.output == call.charged[2]


async def test_every_provider_is_told_of_the_schema_in_its_own_words(model: LiteLLM, model_server: ModelServer) -> None:
    model_server.reply = lambda call: VOTE
    for name in (GPT, CLAUDE, TOOLED, GEMINI):
        await model.complete(shaped(model_server, name, True))
    gpt, claude, tooled, gemini = (call.body for call in model_server.calls)
    strict = {"name": "vote", "strict": True, "schema": SCHEMA}
    assert gpt["response_format"] == {"type": "json_schema", "json_schema": strict}
    assert claude["output_format"] == {"type": "json_schema", "schema": SCHEMA}
    assert tooled["tool_choice"] == {"type": "tool", "name": tooled["tools"][0]["name"]}
    assert gemini["generationConfig"]["response_mime_type"] == "application/json"


@pytest.mark.parametrize(
    ("name", "json_schema"),
    [(GPT, False), (CLAUDE, False), (GEMINI, False), (TOOLED, None), (OWN, None), (OWN, False)],
)
async def test_a_model_that_takes_none_or_of_which_nobody_knows_is_only_asked(
    model: LiteLLM, model_server: ModelServer, name: str, json_schema: bool | None
) -> None:
    model_server.reply = lambda call: f"I approve: {VOTE}"
    assert (await model.complete(shaped(model_server, name, json_schema))).text == f"I approve: {VOTE}"
    (call,) = model_server.calls
    assert call.schema is None
    assert not {"response_format", "output_format", "tools", "tool_choice"} & call.body.keys()
    assert "response_mime_type" not in call.body.get("generationConfig", {})


@pytest.mark.parametrize("name", [GPT, CLAUDE, TOOLED, GEMINI])
async def test_without_a_shape_nothing_is_said_of_one(model: LiteLLM, model_server: ModelServer, name: str) -> None:
    await model.complete(asked(name, endpoint=here(model_server, name, json_schema=True)))
    assert model_server.calls[0].schema is None


@TAKES
async def test_an_object_that_is_cut_off_is_a_cut(
    model: LiteLLM, model_server: ModelServer, name: str, json_schema: bool | None
) -> None:
    model_server.inject(cut_off('{"choice": "app'))
    told = await refused(model, shaped(model_server, name, json_schema))
    assert (type(told), told.text) == (CutOff, '{"choice": "app')


@TAKES
async def test_a_provider_that_refuses_the_schema_is_told_so_in_its_words(
    model: LiteLLM, model_server: ModelServer, name: str, json_schema: bool | None
) -> None:
    model_server.inject(error(400, "This response_format type is unavailable now.", kind="invalid_request_error"))
    told = await refused(model, shaped(model_server, name, json_schema))
    assert (type(told), told.status, told.maybe_billed) == (BadRequest, 400, False)
    assert "response_format" in told.message


# ---------------------------------------------------------------- what goes wrong, as other providers say it


def claude_error(status: int, kind: str, message: str, **headers: str) -> httpx.Response:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return httpx.Response(status, json=body, headers={k.replace("_", "-"): v for k, v in headers.items()})


def gemini_error(status: int, name: str, message: str, **details: Any) -> httpx.Response:
    return httpx.Response(status, json={"error": {"code": status, "message": message, "status": name} | details})


def claude(text: str = "hello", stop: str = "end_turn", usage: Mapping[str, int] | None = None) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5-answered",
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": stop,
        "usage": usage or {"input_tokens": 10, "output_tokens": 5},
    }


def completion(text: str | None, **message: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "gpt-6.1-sol",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text} | message}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    }


def gemini_candidate(text: str, finish: str) -> dict[str, Any]:
    return {"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": finish, "index": 0}


COUNTED = {"usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 1, "totalTokenCount": 9}}
BLOCKED = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **COUNTED}
RETRY_INFO = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reply", "kind", "status", "words"),
    [
        (
            CLAUDE,
            claude_error(401, "authentication_error", "invalid x-api-key"),
            AuthenticationFailed,
            401,
            "invalid x",
        ),
        (CLAUDE, claude_error(403, "permission_error", "no access"), AuthenticationFailed, 403, "no access"),
        (
            CLAUDE,
            claude_error(400, "invalid_request_error", "Your credit balance is too low."),
            AuthenticationFailed,
            400,
            "Your credit balance is too low.",
        ),
        (CLAUDE, claude_error(404, "not_found_error", "model: claude-x"), NoSuchModel, 404, "model: claude-x"),
        (CLAUDE, claude_error(400, "invalid_request_error", "messages: bad"), BadRequest, 400, "messages: bad"),
        (
            CLAUDE,
            claude_error(400, "invalid_request_error", "prompt is too long: 1001 > 1000 maximum"),
            ContextTooLong,
            400,
            "prompt is too long",
        ),
        (CLAUDE, claude_error(413, "request_too_large", "too many bytes"), ContextTooLong, 413, "too many bytes"),
        (CLAUDE, claude_error(429, "rate_limit_error", "slow down", retry_after="7"), RateLimited, 429, "slow down"),
        (CLAUDE, claude_error(500, "api_error", "Internal server error"), ServerFailed, 500, "Internal server error"),
        (CLAUDE, claude_error(529, "overloaded_error", "Overloaded"), Overloaded, 529, "Overloaded"),
        (
            CLAUDE,
            claude_error(400, "invalid_request_error", "Output blocked by content filtering policy"),
            ContentRefused,
            400,
            "Output blocked",
        ),
        (CLAUDE, httpx.Response(200, json=claude("", "refusal")), ContentRefused, None, "content filter"),
        (CLAUDE, httpx.Response(200, json=claude("hel", "max_tokens")), CutOff, None, "after 5 tokens"),
        (CLAUDE, httpx.Response(200, json=claude("")), EmptyReply, None, "an empty answer"),
        (CLAUDE, httpx.Response(200, html="<html><p>hi</p></html>"), GarbledReply, None, "a web page, no answer"),
        (CLAUDE, httpx.Response(502, html="<html><p>hi</p></html>"), ServerFailed, 502, "a web page, no answer"),
        (CLAUDE, httpx.ConnectError("name or service not known"), ConnectionFailed, None, "name or service not known"),
        (CLAUDE, httpx.ReadTimeout("slow"), TimedOut, None, "no answer in time"),
        (CLAUDE, httpx.RemoteProtocolError("peer closed connection"), ConnectionFailed, None, "peer closed"),
        (
            GEMINI,
            gemini_error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
            AuthenticationFailed,
            400,
            "API key not valid.",
        ),
        (GEMINI, gemini_error(403, "PERMISSION_DENIED", "no"), AuthenticationFailed, 403, "no"),
        (GEMINI, gemini_error(404, "NOT_FOUND", "models/x is not found"), NoSuchModel, 404, "models/x is not found"),
        (GEMINI, gemini_error(400, "INVALID_ARGUMENT", "bad"), BadRequest, 400, "bad"),
        (
            GEMINI,
            gemini_error(
                400,
                "INVALID_ARGUMENT",
                "The input token count (12) exceeds the maximum number of tokens allowed (10).",
            ),
            ContextTooLong,
            400,
            "The input token count (12)",
        ),
        (
            GEMINI,
            gemini_error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", details=RETRY_INFO),
            RateLimited,
            429,
            "You exceeded your current quota.",
        ),
        (GEMINI, gemini_error(500, "INTERNAL", "An internal error."), ServerFailed, 500, "An internal error."),
        (GEMINI, gemini_error(503, "UNAVAILABLE", "The model is overloaded."), Overloaded, 503, "is overloaded"),
        (GEMINI, gemini_error(504, "DEADLINE_EXCEEDED", "Deadline."), TimedOut, 504, "Deadline."),
        (GEMINI, httpx.Response(200, json=BLOCKED), ContentRefused, None, "content filter"),
        (
            GEMINI,
            httpx.Response(200, json={"candidates": [gemini_candidate("h", "MAX_TOKENS")], **COUNTED}),
            CutOff,
            None,
            "limit",
        ),
        (GEMINI, httpx.Response(200, html="<html></html>"), GarbledReply, None, "Expecting value"),
        (GEMINI, httpx.ConnectError("no route to host"), ConnectionFailed, None, "no route to host"),
        (GPT, httpx.Response(200, json=completion(None, refusal="I cannot.")), ContentRefused, None, "content filter"),
        (
            "openrouter/x/y",
            httpx.Response(403, json={"error": {"code": 403, "message": "Your input was flagged"}}),
            ContentRefused,
            403,
            "Your input was flagged",
        ),
        (
            "openrouter/x/y",
            httpx.Response(402, json={"error": {"code": 402, "message": "Insufficient credits"}}),
            AuthenticationFailed,
            402,
            "Insufficient credits",
        ),
    ],
)
async def test_each_providers_own_words_become_the_same_errors(
    providers: respx.MockRouter,
    model: LiteLLM,
    name: str,
    reply: httpx.Response | Exception,
    kind: type[ModelError],
    status: int | None,
    words: str,
) -> None:
    providers.route().mock(**({"side_effect": reply} if isinstance(reply, Exception) else {"return_value": reply}))
    told = await refused(model, asked(name))
    assert (type(told), told.status) == (kind, status)
    assert words in told.message
    assert "{" not in told.message
    assert "<" not in told.message


@pytest.mark.parametrize(
    ("lost", "maybe_billed"),
    [
        (httpx.ConnectError("no route to host"), False),
        (httpx.ConnectTimeout("slow"), False),
        (httpx.PoolTimeout("no connection was free"), False),
        (httpx.ReadTimeout("slow"), True),
        (httpx.WriteError("broken pipe"), True),
        (httpx.RemoteProtocolError("peer closed connection"), True),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_request_that_never_left_is_not_charged_for(
    model: LiteLLM, providers: respx.MockRouter, lost: Exception, maybe_billed: bool
) -> None:
    providers.route().mock(side_effect=lost)
    for name in (CLAUDE, GPT, GEMINI):
        assert (await refused(model, asked(name))).maybe_billed is maybe_billed, name


async def test_the_seconds_to_wait_come_from_googles_details_too(model: LiteLLM, providers: respx.MockRouter) -> None:
    providers.route().mock(return_value=gemini_error(429, "RESOURCE_EXHAUSTED", "slow down", details=RETRY_INFO))
    assert (await refused(model, asked(GEMINI))).retry_after == 34


async def test_a_missing_key_is_no_server_error(
    model: LiteLLM, monkeypatch: pytest.MonkeyPatch, providers: respx.MockRouter
) -> None:
    for name, variable in ((CLAUDE, "ANTHROPIC_API_KEY"), (GPT, "OPENAI_API_KEY"), (GEMINI, "GEMINI_API_KEY")):
        monkeypatch.delenv(variable)
        told = await refused(model, asked(name))
        assert (type(told), told.maybe_billed) == (AuthenticationFailed, False), name
        assert "Traceback" not in told.message


async def test_a_provider_that_does_not_exist_is_no_such_model(model: LiteLLM, providers: respx.MockRouter) -> None:
    told = await refused(model, asked("no-such-provider/model"))
    assert (type(told), told.maybe_billed) == (NoSuchModel, False)
    assert told.message == ("no-such-provider/model: its provider is not known; a model is named provider/model")


async def test_the_key_in_use_never_stands_in_a_message(model: LiteLLM, providers: respx.MockRouter) -> None:
    providers.route().mock(return_value=claude_error(401, "authentication_error", f"bad key {SECRET}, rotate it"))
    told = await refused(model, asked(CLAUDE))
    assert SECRET not in str(told)
    assert "rotate it" in told.message


async def test_a_long_message_is_cut(model: LiteLLM, providers: respx.MockRouter) -> None:
    providers.route().mock(return_value=claude_error(400, "invalid_request_error", "long " * 1000))
    assert len((await refused(model, asked(CLAUDE))).message) < MAX_WORDS + 60


# ---------------------------------------------------------------- the table itself


def test_every_exception_class_of_litellm_is_mapped() -> None:
    module = adapter.load().exceptions
    classes = [c for _, c in inspect.getmembers(module, inspect.isclass) if issubclass(c, Exception)]
    assert len(classes) > 25
    assert [c.__name__ for c in classes if c.__module__ == module.__name__ and kind_of(c) is None] == []


def meant(error: Exception) -> ModelError:
    return model_error(error, model="m", clock=lambda: 0.0)


def test_what_broke_a_stream_is_what_counts_and_else_the_connection_did() -> None:
    exceptions = adapter.load().exceptions
    broken = exceptions.MidStreamFallbackError("lost", model="m", llm_provider="openai")
    assert type(meant(broken)) is ConnectionFailed
    busy = exceptions.RateLimitError("slow down", model="m", llm_provider="openai")
    broken = exceptions.MidStreamFallbackError("lost", model="m", llm_provider="openai", original_exception=busy)
    assert (type(meant(broken)), meant(broken).message) == (RateLimited, "m: slow down")


def test_an_answer_that_litellm_cannot_take_apart_is_garbled_whatever_words_stand_in_it() -> None:
    words = "Invalid response object Traceback (most recent call last): ...\n\nreceived_args={'our usage policy'}"
    told = meant(adapter.load().exceptions.APIConnectionError(words, llm_provider="openai", model="m"))
    assert (type(told), told.message) == (GarbledReply, "m: Invalid response object")


def test_an_earlier_attempts_failure_is_no_evidence_about_this_one() -> None:
    try:
        try:
            raise httpx.ConnectError("down")
        except httpx.ConnectError as cause:
            raise meant(cause) from cause
    except ModelError:
        try:
            raise KeyError("surprise")
        except KeyError as surprise:
            told = meant(surprise)
    assert type(told) is ServerFailed


def test_an_exception_nobody_has_heard_of_is_a_server_failure() -> None:
    told = meant(KeyError("surprise"))
    assert (type(told), told.maybe_billed) == (ServerFailed, True)


def test_importing_the_adapter_does_not_import_litellm() -> None:
    code = "import sys, orchestrator.models.litellm; sys.exit('litellm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_the_user_set_for_litellm_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOG", "DEBUG")
    adapter.load()
    assert os.environ["LITELLM_LOG"] == "DEBUG"


async def test_who_ends_first_leaves_the_connections_to_those_whose_calls_are_under_way(
    model: LiteLLM, model_server: ModelServer
) -> None:
    model_server.hold_until(2)  # the first is answered with the second
    replies: list[str] = []

    async def ask(who: LiteLLM, name: str) -> None:
        replies.append((await who.complete(at(model_server, name))).model)

    with anyio.fail_after(20):
        async with aclosing(LiteLLM()) as other, anyio.create_task_group() as group:
            group.start_soon(ask, model, "wind-1")
            await anyio.to_thread.run_sync(model_server.arrived.wait)
            await other.aclose()
            group.start_soon(ask, other, "wall-1")
    assert sorted(replies) == ["wall-1", "wind-1"]
    assert [call.nth for call in model_server.calls] == [1, 1]


async def test_who_begins_while_the_last_one_closes_the_connections_gets_new_ones(
    model: LiteLLM, model_server: ModelServer
) -> None:
    closing, may_close = anyio.Event(), anyio.Event()

    class Slow:
        async def aclose(self) -> None:
            closing.set()
            await may_close.wait()

    with anyio.fail_after(20):
        async with aclosing(LiteLLM()) as first:
            await first.complete(at(model_server, "wall-1"))
            adapter.load().in_memory_llm_clients_cache.set_cache("slow", Slow())
            async with anyio.create_task_group() as group:
                group.start_soon(first.aclose)
                await closing.wait()
                group.start_soon(model.complete, at(model_server, "wind-1"))
                await anyio.wait_all_tasks_blocked()
                may_close.set()
    assert [call.model for call in model_server.calls] == ["wall-1", "wind-1"]


@pytest.mark.anyio
async def test_whoever_closes_while_another_thread_imports_litellm_touches_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adapter, "_loaded", threading.Event())
    monkeypatch.setitem(sys.modules, "litellm", ModuleType("litellm"))  # as far as it has come
    await LiteLLM().aclose()
