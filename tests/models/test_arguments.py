"""What a models file says of a route reaches its provider in its words; what a model does not take is left out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from endpoint import ModelServer
from orchestrator.errors import AuthenticationFailed
from orchestrator.hall.terms import Role
from orchestrator.models import arguments
from orchestrator.models import litellm as adapter
from orchestrator.models.base import Endpoint, Message, Reply, Request, Task
from orchestrator.models.litellm import LiteLLM

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.xdist_group("litellm"),
]

CLAUDE, GPT, GEMINI = "anthropic/claude-opus-5-5", "openai/gpt-6.1-sol", "gemini/gemini-4-argon"
BUDGETED = "anthropic/claude-3-7-sonnet-20250219"  # it is told how many tokens to think
THOUGHTLESS, OWN = "openai/gpt-4o", "openai/our-model"
TASK = Task("turn", Role.WIND, "ideator", None, round=1, rounds=1, last=False, topic="Kafka or not?")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, "sk-ant-api03-Zq9vT2mXw8LkR4sYb7Nc1Hd6")


@pytest.fixture
async def model() -> AsyncIterator[LiteLLM]:
    async with aclosing(LiteLLM()) as model:
        yield model


def asked(name: str, *, most: int = 8000, temperature: float | None = None, **endpoint: Any) -> Request:
    where = Endpoint(**endpoint)
    return Request(name, (Message("user", "Kafka?"),), TASK, most, 20.0, temperature=temperature, endpoint=where)


async def sent(model: LiteLLM, server: ModelServer, name: str, **fields: Any) -> tuple[dict[str, Any], Reply]:
    """What reached the server, and the reply."""
    base = server.base_url
    base = base.removesuffix("/v1") if name.startswith(("anthropic/", "azure/")) else base
    reply = await model.complete(asked(name, api_base=base, **fields))
    call = server.calls[-1]
    return {**call.body, "headers": {name.lower(): value for name, value in call.headers.items()}}, reply


def tuned(name: str, **fields: Any) -> arguments.Tuned:
    return arguments.tuned(asked(name, **fields), adapter.load())


# ---------------------------------------------------------------- effort and temperature


async def test_effort_reaches_each_provider_in_its_words(model: LiteLLM, model_server: ModelServer) -> None:
    gpt, _ = await sent(model, model_server, GPT, effort="high")
    claude, _ = await sent(model, model_server, CLAUDE, effort="high")
    gemini, _ = await sent(model, model_server, GEMINI, effort="high")
    budgeted, _ = await sent(model, model_server, BUDGETED, effort="high")
    assert gpt["reasoning_effort"] == "high"
    assert claude["output_config"] == {"effort": "high"}
    assert gemini["generationConfig"]["thinkingConfig"]["thinkingLevel"] == "high"
    assert budgeted["thinking"] == {"type": "enabled", "budget_tokens": 4096}


@pytest.mark.parametrize(
    ("name", "fields", "left_out"),
    [
        (THOUGHTLESS, {"effort": "high"}, ("effort high",)),
        ("anthropic/claude-3-5-haiku-20241022", {"effort": "low"}, ("effort low",)),
        ("gemini/gemini-2.0-flash", {"effort": "medium"}, ("effort medium",)),
        (GPT, {"effort": "minimal"}, ("effort minimal",)),
        (GPT, {"effort": "none"}, ("effort none",)),  # it thinks all the same
        (GPT, {"temperature": 0.5}, ("temperature 0.5",)),
        (CLAUDE, {"temperature": 0.5}, ("temperature 0.5",)),
        (GPT, {"temperature": 0.5, "effort": "high"}, ("temperature 0.5",)),
        (BUDGETED, {"effort": "high", "most": 4000}, ("effort high",)),  # all it may write would go into thinking
        (BUDGETED, {"effort": "high", "temperature": 0.5}, ("temperature 0.5",)),  # one that thinks takes none
        (
            OWN,
            {"api_version": "2025-01-01", "region": "eu-central-1"},
            ("api_version 2025-01-01", "region eu-central-1"),
        ),
        (CLAUDE, {"project": "our-project"}, ("project our-project",)),
    ],
)
async def test_what_a_model_does_not_take_is_left_out_and_said(
    model: LiteLLM, model_server: ModelServer, name: str, fields: dict[str, Any], left_out: tuple[str, ...]
) -> None:
    body, reply = await sent(model, model_server, name, **fields)
    assert reply.left_out == left_out
    known = {"effort": ("reasoning_effort", "thinking", "output_config"), "temperature": ("temperature",)}
    for word in (phrase.split()[0] for phrase in left_out):
        assert not body.keys() & set(known.get(word, (word,)))
    assert "thinkingConfig" not in body.get("generationConfig", {})


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        (GPT, {"effort": "low"}),
        (BUDGETED, {"effort": "none"}),  # it thinks only where it is told to
        (BUDGETED, {"temperature": 0.5}),
        (THOUGHTLESS, {"effort": "none", "temperature": 0.5}),
        (OWN, {"effort": "high", "temperature": 0.5}),  # of which nobody knows
        (GEMINI, {"effort": "none", "temperature": 0.5}),
        (CLAUDE, {}),
    ],
)
async def test_what_a_model_takes_is_said_and_nothing_is_noted(
    model: LiteLLM, model_server: ModelServer, name: str, fields: dict[str, Any]
) -> None:
    _, reply = await sent(model, model_server, name, **fields)
    assert reply.left_out == ()


# ---------------------------------------------------------------- headers


@pytest.mark.slow
@pytest.mark.parametrize("name", [GPT, CLAUDE, GEMINI])
async def test_headers_go_with_every_call_and_those_of_variables_with_their_values(
    model: LiteLLM, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("GATE_PASS", "over the wet grass")
    fields = {"headers": (("X-Team", "billing"),), "header_env": (("X-Gate", "GATE_PASS"),)}
    for stream in (None, True):
        body, _ = await sent(model, model_server, name, stream=stream, **fields)
        assert (body["headers"]["x-team"], body["headers"]["x-gate"]) == ("billing", "over the wet grass")


@pytest.mark.parametrize("value", [None, "", "  "])
async def test_a_header_whose_variable_is_not_set_is_told_before_any_call(
    model: LiteLLM, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("GATE_PASS", raising=False)
    if value is not None:
        monkeypatch.setenv("GATE_PASS", value)
    with pytest.raises(AuthenticationFailed, match="GATE_PASS is not set"):
        await sent(model, model_server, GPT, header_env=(("X-Gate", "GATE_PASS"),))
    assert model_server.calls == []


# ---------------------------------------------------------------- places


async def test_azure_is_asked_for_the_version_of_its_api(
    model: LiteLLM, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_KEY", "azure-key-of-ours")
    where = {"api_version": "2025-04-01-preview", "api_key_env": "AZURE_KEY", "headers": (("X-Team", "billing"),)}
    body, reply = await sent(model, model_server, "azure/our-deployment", **where)
    assert (body["headers"]["api-key"], body["headers"]["x-team"]) == ("azure-key-of-ours", "billing")
    assert model_server.calls[0].query == {"api-version": "2025-04-01-preview"}
    assert reply.left_out == ()


def test_bedrock_and_vertex_are_asked_where_they_are() -> None:
    bedrock = tuned("bedrock/anthropic.claude-3-7-sonnet-20250219-v1:0", region="eu-central-1")
    assert (bedrock.arguments, bedrock.left_out) == ({"aws_region_name": "eu-central-1"}, ())
    vertex = tuned("vertex_ai/gemini-2.5-pro", region="europe-west4", project="our-project")
    assert vertex.arguments == {"vertex_location": "europe-west4", "vertex_project": "our-project"}
    assert vertex.left_out == ()


def test_a_provider_that_litellm_does_not_know_is_told_of_at_the_call() -> None:
    told = tuned("no-such-provider/model", effort="low", temperature=0.5)
    assert (told.arguments, told.left_out) == ({"reasoning_effort": "low", "temperature": 0.5}, ())
