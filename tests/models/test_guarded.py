"""The seam: no secret goes to a model, none comes back, and what holds none passes untouched."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import pytest

from orchestrator.errors import CutOff, ModelError, RateLimited
from orchestrator.hall.terms import Role
from orchestrator.models.base import Endpoint, Message, Model, Reply, Request, Task, Usage
from orchestrator.models.guarded import Guarded, cleaned
from orchestrator.models.scripted import Line, Scripted
from orchestrator.secrets import REMOVED

pytestmark = pytest.mark.anyio

TASK = Task(step="turn", role=Role.WALL, agent="validator", lens=None, round=2, rounds=2, last=False, topic="Kafka?")
USAGE = Usage(input=9, cached=3, output=2, cost_usd=None)
TOKEN = "gh" + "p_" + "Zk3vQ9xT1mB7nR5wL2cY8dF4hJ6pS0gUaEiO"
PASSWORD = "the heron walks at dusk"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHED_PASSWORD", PASSWORD)


def asked(*texts: str, endpoint: Endpoint | None = None) -> Request:
    system, *others = texts or ("protocol", "Kafka?")
    messages = (Message("system", system), *(Message("user", text) for text in others))
    return Request("a", messages, TASK, max_output_tokens=100, timeout_s=1, endpoint=endpoint or Endpoint())


async def answered(line: Line, request: Request | None = None) -> Reply:
    model: Model = Guarded(Scripted([line]))
    return await model.complete(request or asked())


async def failed(error: ModelError) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await answered(error)
    return raised.value


async def test_what_holds_no_secret_passes_as_it_is() -> None:
    model, request, reply = Scripted(lambda request: reply), asked(), Reply("Yes, but.", "a-1", USAGE)
    assert await Guarded(model).complete(request) is reply
    assert model.requests[0] is request
    failure = CutOff("it stopped", "Raise it.", model="a", status=200, usage=USAGE, text="The first")
    raised = await failed(failure)
    assert raised is failure
    assert (str(raised), raised.text, raised.args) == ("it stopped Raise it.", "The first", ("it stopped",))


async def test_no_secret_is_sent_and_all_else_is() -> None:
    model, request = Scripted(["Yes."]), asked("protocol", f"It says {PASSWORD}.", "Kafka?", f"Use {TOKEN}, said Wind.")
    await Guarded(model).complete(request)
    (sent,) = model.requests
    assert [message.text for message in sent.messages] == [
        "protocol",
        f"It says {REMOVED}.",
        "Kafka?",
        f"Use {REMOVED}, said Wind.",
    ]
    assert replace(sent, messages=request.messages) == request
    assert [message.speaker for message in sent.messages] == [message.speaker for message in request.messages]
    assert sent.messages[2] is request.messages[2]


async def test_a_key_whose_variable_the_models_file_names_is_one_whatever_the_variable_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LOCAL_ACCESS", "over the wet grass")
    text = "It goes over the wet grass."
    assert cleaned(asked(text)).messages[0].text == text
    request = asked(text, endpoint=Endpoint(api_key_env="LOCAL_ACCESS"))
    assert cleaned(request).messages[0].text == f"It goes {REMOVED}."
    assert (await answered(text, request)).text == f"It goes {REMOVED}."


async def test_a_prompt_that_grows_keeps_its_beginning_byte_for_byte() -> None:
    texts = [f"T{number} says {PASSWORD} and {TOKEN}." for number in range(4)]
    before, after = cleaned(asked(*texts)), cleaned(asked(*texts, f"T4 says {TOKEN}."))
    assert after.messages[:4] == before.messages
    assert cleaned(before) is before


async def test_a_reply_keeps_its_words_and_its_usage_and_loses_its_secrets() -> None:
    reply = await answered(Reply(f"Set it to {TOKEN}\nor to {PASSWORD}.", f"a-1 {PASSWORD}", USAGE))
    assert reply == Reply(f"Set it to {REMOVED}\nor to {REMOVED}.", f"a-1 {REMOVED}", USAGE)


async def test_an_error_keeps_its_kind_and_loses_its_secrets() -> None:
    error = RateLimited(
        f"the key {TOKEN} is used too often",
        f"Wait, or use another than {PASSWORD}.",
        model="a",
        status=429,
        retry_after=2.0,
        usage=USAGE,
        text=f"{PASSWORD}, he said",
    )
    raised = await failed(error)
    assert type(raised) is RateLimited
    assert str(raised) == f"the key {REMOVED} is used too often Wait, or use another than {REMOVED}."
    assert (raised.text, raised.usage, raised.status, raised.retry_after) == (f"{REMOVED}, he said", USAGE, 429, 2.0)
    assert not any(secret in repr(raised) for secret in (TOKEN, PASSWORD))


async def test_a_text_is_searched_once_however_often_it_is_sent() -> None:
    began = perf_counter()
    cleaned(asked("protocol", "It goes over the wet grass. " * 40_000))
    first, began = perf_counter() - began, perf_counter()
    cleaned(asked("protocol", "It goes over the wet grass. " * 40_000))
    assert perf_counter() - began < first / 4


async def test_half_a_surrogate_pair_in_an_answer_or_a_failure_is_replaced() -> None:
    reply = await answered(Reply("an emoji cut in half \ud83d", "mod\udc00el", USAGE))
    assert (reply.text, reply.model) == ("an emoji cut in half \ufffd", "mod\ufffdel")
    with pytest.raises(CutOff) as failed:
        await answered(CutOff("stopped \ud83d", model="a", usage=USAGE, text="half \ud83d"))
    assert (failed.value.message, failed.value.text) == ("stopped \ufffd", "half \ufffd")
