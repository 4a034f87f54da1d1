"""The scripted model: what it says, what it keeps, and that it never makes anything up."""

from __future__ import annotations

from decimal import Decimal

import pytest

from orchestrator.errors import RateLimited, ScriptExhausted
from orchestrator.hall.terms import Role
from orchestrator.models.base import Message, Model, Reply, Request, Task, Usage
from orchestrator.models.scripted import Scripted

pytestmark = pytest.mark.anyio

TASK = Task(step="turn", role=Role.WALL, agent="validator", lens=None, round=2, rounds=2, last=False, topic="Kafka?")


def asked(model: str, *texts: str) -> Request:
    messages = tuple(Message("user", text) for text in texts or ("Kafka?",))
    return Request(model=model, messages=messages, task=TASK, max_output_tokens=100, timeout_s=1)


async def test_lines_for_all_models_are_said_in_order() -> None:
    model: Model = Scripted(["first", "second"])
    assert [(await model.complete(asked(name))).text for name in ("a", "b")] == ["first", "second"]


async def test_each_model_has_its_own_lines() -> None:
    model = Scripted({"a": ["a1", "a2"], "b": ["b1"]})
    assert [(await model.complete(asked(name))).text for name in ("a", "b", "a")] == ["a1", "b1", "a2"]


async def test_a_function_is_asked_with_the_request() -> None:
    model = Scripted(lambda request: f"{request.model} on {request.task.topic}")
    assert (await model.complete(asked("a"))).text == "a on Kafka?"


async def test_a_text_is_counted_in_words_and_has_no_price() -> None:
    reply = await Scripted(["one two three"]).complete(asked("a", "four words are here", "two more"))
    assert reply == Reply("one two three", "a", Usage(input=6, cached=0, output=3, cost_usd=None))


async def test_a_whole_reply_is_given_as_it_is() -> None:
    whole = Reply("text", "another-model", Usage(input=1, cached=1, output=1, cost_usd=Decimal("0.5")))
    assert await Scripted([whole]).complete(asked("a")) == whole


async def test_an_error_in_the_script_is_raised_and_the_script_goes_on() -> None:
    model = Scripted([RateLimited("slow down", model="a", retry_after=3), "better"])
    with pytest.raises(RateLimited, match="slow down"):
        await model.complete(asked("a"))
    assert (await model.complete(asked("a"))).text == "better"


async def test_every_request_is_kept_in_order() -> None:
    model = Scripted(["x", "y"])
    requests = [asked("a"), asked("b")]
    for request in requests:
        await model.complete(request)
    assert model.requests == requests


@pytest.mark.parametrize("script", [[], {"a": []}, {"b": ["only for b"]}])
async def test_a_script_that_runs_dry_says_who_asked_for_what(script: dict[str, list[str]] | list[str]) -> None:
    with pytest.raises(ScriptExhausted, match=r"no line left for a \(turn of round 2\)"):
        await Scripted(script).complete(asked("a"))
