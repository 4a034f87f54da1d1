"""What a provider is told for the sake of its prompt cache: marks where they are read, a key where it is asked for."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from building import account_text, hall_at, hold, plan_of, speech
from endpoint import ModelServer
from orchestrator.hall.terms import Role
from orchestrator.models.base import Endpoint, Message, Request, Task
from orchestrator.models.caching import cache_arguments, cache_of, is_lost_to_a_schema
from orchestrator.models.litellm import LiteLLM
from orchestrator.models.scripted import Scripted
from orchestrator.plan import Plan

TASK = Task("turn", Role.WIND, "ideator", None, 1, 1, False, "Kafka?")
MESSAGES = tuple(
    Message("user" if number else "system", text)
    for number, text in enumerate(["protocol", "topic", "T1", "T2", "T3", "yours"])
)
CLAUDES = ["anthropic/claude-opus-5-5", "claude-opus-5-5", "openrouter/anthropic/claude-opus-5.5"]
CLAUDES += ["bedrock/anthropic.claude-opus-5-5", "vertex_ai/claude-opus-4-5@20251101", "anthropic/claude-of-next-year"]


def asked(model: str, shared: int = 5, **endpoint: Any) -> Request:
    return Request(model, MESSAGES, TASK, 500, 20.0, endpoint=Endpoint(**endpoint), shared=shared)


def marked(request: Request) -> list[int]:
    """The messages that litellm is given with a mark at their end."""
    found = []
    for number, message in enumerate(cache_arguments(request)["messages"]):
        if not isinstance(message["content"], str):
            (part,) = message["content"]
            assert part == {"type": "text", "text": MESSAGES[number].text, "cache_control": {"type": "ephemeral"}}
            found.append(number)
    return found


@pytest.mark.parametrize("model", CLAUDES)
def test_a_claude_is_told_where_the_evidence_ends_and_where_the_transcript_does(model: str) -> None:
    assert marked(asked(model)) == [1, 4]
    assert cache_arguments(asked(model)).keys() == {"messages"}


def test_at_the_first_turn_both_are_one_place() -> None:
    request = replace(asked(CLAUDES[0], shared=2), messages=(*MESSAGES[:2], MESSAGES[-1]))
    assert marked(request) == [1]


@pytest.mark.parametrize(
    "model",
    [
        "gemini/gemini-4-argon", "vertex_ai/gemini-2.5-pro", "openrouter/google/gemini-4-argon", "openai/gpt-4o",
        "openai/claude-of-our-own", "databricks/databricks-claude-opus-4-5", "mistral/mistral-large-latest",
        "bedrock/anthropic.claude-3-sonnet-20240229-v1:0", "cli/claude",
    ],
)  # fmt: skip
def test_nobody_else_is_sent_a_mark(model: str) -> None:
    assert marked(asked(model)) == []
    assert "prompt_cache_options" not in cache_arguments(asked(model))


def test_a_gpt_that_finds_nothing_between_its_marks_has_one_at_every_shared_message_and_makes_none_of_its_own() -> None:
    arguments = cache_arguments(asked("openai/gpt-6.1-sol"))
    assert marked(asked("openai/gpt-6.1-sol")) == [1, 2, 3, 4]
    assert arguments["prompt_cache_options"] == {"mode": "explicit"}
    assert marked(asked("openai/gpt-6.1-sol", shared=0)) == []
    assert cache_arguments(asked("openai/gpt-6.1-sol", shared=0))["prompt_cache_options"] == {"mode": "explicit"}


@pytest.mark.parametrize("model", ["openai/gpt-6.1-sol", "openai/gpt-4o"])
def test_a_gpt_is_given_a_key_that_all_requests_of_a_debate_share_and_no_other_debate_has(model: str) -> None:
    request = asked(model)
    key = cache_arguments(request)["prompt_cache_key"]
    later = replace(request, messages=(*MESSAGES[:-1], Message("user", "T4"), MESSAGES[-1]))
    other = replace(request, messages=(Message("system", "protocol, another marker"), *MESSAGES[1:]))
    assert cache_arguments(later)["prompt_cache_key"] == key != cache_arguments(other)["prompt_cache_key"]
    assert len(key) <= 64  # OpenAI takes no longer one


@pytest.mark.parametrize("model", ["openai/gpt-6.1-sol", "openai/qwen3-32b"])
def test_a_server_of_the_users_own_is_told_nothing_that_it_may_not_know(model: str) -> None:
    request = asked(model, api_base="http://127.0.0.1:8080/v1")
    assert cache_arguments(request).keys() == {"messages"}
    assert marked(request) == []
    assert not is_lost_to_a_schema(request)


def test_what_nobody_would_read_is_not_marked() -> None:
    assert marked(asked(CLAUDES[0], shared=0)) == []
    assert not cache_of(asked(CLAUDES[0], shared=0)).serves


@pytest.mark.parametrize("model", ["anthropic/claude-opus-5-5", "openai/gpt-6.1-sol", "gemini/gemini-4-argon"])
def test_a_schema_costs_the_cache_unless_nothing_is_shared_or_the_models_file_wants_it(model: str) -> None:
    assert is_lost_to_a_schema(asked(model))
    assert not is_lost_to_a_schema(asked(model, shared=0))
    assert not is_lost_to_a_schema(asked(model, json_schema=True))


def of(plan: Plan, role: Role) -> bool:
    return plan.asks_again(plan.rounds[0].of(role)[0].routes[0])


def test_a_route_is_asked_again_where_it_has_another_call_to_answer() -> None:
    speed = plan_of("speed")
    assert [of(speed, role) for role in Role] == [False, True, True]  # Wall's checklist, Door's account
    assert [of(plan_of("speed", wall="reactive"), role) for role in Role] == [False, False, True]
    assert [of(plan_of("speed", consensus={"required": True}), role) for role in Role] == [True, True, True]
    assert [of(plan_of("standard"), role) for role in Role] == [True, True, True]
    assert speed.asks_again("test/fallback")


GPT = {role: ["openai/gpt-6.1-sol"] for role in Role}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("endpoint", "accounts", "held"),
    [
        pytest.param(None, [account_text()], [False], id="in words"),
        pytest.param(None, ["no JSON", account_text()], [False, True], id="then to a schema"),
        pytest.param(None, [account_text(options=[]), account_text()], [False, False], id="JSON that lacks something"),
        pytest.param(Endpoint(json_schema=True), [account_text()], [True], id="as the models file says"),
    ],
)
async def test_an_account_is_held_to_a_schema_only_where_words_did_not_bring_json(
    tmp_path: Path, endpoint: Endpoint | None, accounts: list[str], held: list[bool]
) -> None:
    told = iter(accounts)
    model = Scripted(lambda asked: next(told) if asked.task.step == "account" else speech(asked, len(model.requests)))
    with hall_at(tmp_path) as hall, anyio.fail_after(20):
        await hold(hall, plan_of("speed", routes=GPT, endpoint=endpoint), model)
    assert [request.shape is not None for request in model.requests if request.task.step == "account"] == held


@pytest.mark.slow
@pytest.mark.xdist_group("litellm")
@pytest.mark.anyio
async def test_marks_and_keys_arrive_in_each_providers_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """litellm puts them there; what it does not know for a provider it would leave in, or out."""
    for name in ("ANTHROPIC", "OPENAI", "GEMINI", "OPENROUTER"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-ant-api03-Zq9vT2mXw8LkR4sYb7Nc1Hd6")
    with ModelServer(lambda call: "Kafka.") as server, anyio.fail_after(60):
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        base = {"anthropic": server.base_url.removesuffix("/v1"), "openai": None}
        async with aclosing(LiteLLM()) as model:
            for name in (CLAUDES[0], "openai/gpt-6.1-sol", "gemini/gemini-4-argon", "openai/gpt-4o", CLAUDES[2]):
                await model.complete(asked(name, api_base=base.get(name.partition("/")[0], server.base_url)))
    claude, gpt, gemini, older, routed = (call.body for call in server.calls)
    parts = claude["messages"][0]["content"]
    assert [number for number, part in enumerate(parts, 1) if "cache_control" in part] == [1, 4]
    ends = [each["content"][0] for each in gpt["messages"] if isinstance(each["content"], list)]
    assert [part.get("prompt_cache_breakpoint") for part in ends] == [{"mode": "explicit"}] * 4
    assert (gpt["prompt_cache_options"], gpt["prompt_cache_key"]) == ({"mode": "explicit"}, older["prompt_cache_key"])
    assert not any(word in str(body) for body in (gemini, older) for word in ("cache_control", "breakpoint"))
    assert "cached" not in str(gemini).lower()
    assert [number for number, each in enumerate(routed["messages"]) if "cache_control" in str(each)] == [1, 4]
