"""Structured answers through real HTTP: from models that take a JSON schema, ones that only claim to, and ones that
wrap their JSON, cut it off or get it wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import anyio
import pytest
from provider import Provider, bill

from building import NO_WAITS, THREAD, TOPIC, plan_of
from endpoint import Answer, cut_off, empty, error
from orchestrator.drafting import Drafting
from orchestrator.drafts import Assignment, Draft, Failure, Paid
from orchestrator.events import DraftFinished, DraftStarted, Event, FellBack, Retried, SentBack
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Intent, Outcome
from orchestrator.hall.store import Lease
from orchestrator.journal import Journal
from orchestrator.models.base import Message, Request, Shape, Task
from orchestrator.models.litellm import LiteLLM
from orchestrator.models_file import parse_models
from orchestrator.prompt import Summary
from orchestrator.structured import Answer as Structured
from orchestrator.structured import Unreadable, asking_for, read, schema_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.xdist_group("litellm")]


class Vote(Structured):
    choice: Literal["approve", "object"]
    objections: tuple[str, ...]


FIRST, SECOND = "openai/first", "openai/second"
VOTE = Vote(choice="object", objections=("No way back.",))
BARE = '{"choice": "object", "objections": ["No way back."]}'
SHAPE = Shape("vote", schema_of(Vote))
REFUSAL = error(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.")


def unreadable(text: str) -> str | None:
    try:
        read(text, Vote)
    except Unreadable as problem:
        return str(problem)
    return None


@dataclass
class Table:
    """One seat that is asked for its vote."""

    provider: Provider
    litellm: LiteLLM
    hall: Hall
    lease: Lease
    events: list[Event] = field(default_factory=list)
    paid: Paid = field(default_factory=Paid)

    async def votes(self, *routes: str, json_schema: bool | None = True) -> Draft | Failure:
        """Asks as a process does that takes the run up with what stands in the journal."""
        self.events, self.paid = [], Paid()
        (seat,) = plan_of().rounds[0].winds
        seat = seat.model_copy(update={"routes": routes or (FIRST,)})
        endpoint = replace(self.provider.endpoint(), json_schema=json_schema)

        def ask(route: str, summary: Summary | None) -> Request:
            task = Task("turn", seat.role, seat.agent, None, round=1, rounds=1, last=False, topic=TOPIC)
            messages = (Message("system", "You vote."), Message("user", asking_for(Vote)))
            return Request(route, messages, task, 200, 20, endpoint=endpoint, shape=SHAPE)

        journal = await Journal.opened(self.hall, self.lease)
        drafting = Drafting(lambda route: self.litellm, self.events.append, NO_WAITS, self.paid, journal)
        with anyio.fail_after(30):
            (draft,) = await drafting.all([Assignment(seat, "turn", ask, useless=unreadable)])
        return draft

    def answers(self, *said: str | Answer) -> None:
        """What comes to each call, in order."""
        self.provider.say = lambda call: said[call.number - 1]

    @property
    def held(self) -> list[bool]:
        """Of each call, whether it was held to the schema."""
        assert all(call.schema in (None, SHAPE.schema) for call in self.provider.calls)
        return [call.schema is not None for call in self.provider.calls]

    @property
    def records(self) -> list[Any]:
        return [line.record for line in self.hall.journal(THREAD)]

    @property
    def failures(self) -> list[str | None]:
        """How each call ended, by the journal; there is one intent for each."""
        outcomes = [record for record in self.records if isinstance(record, Outcome)]
        assert sum(isinstance(record, Intent) for record in self.records) == len(outcomes) == len(self.provider.calls)
        return [outcome.failed for outcome in outcomes]

    async def is_known_after(self, draft: Draft, *routes: str, json_schema: bool | None = True) -> None:
        """A later process finds the same answer and makes no call."""
        calls = len(self.provider.calls)
        again = await self.votes(*routes, json_schema=json_schema)
        assert isinstance(again, Draft)
        assert (again.text, again.route, again.usage, again.known) == (draft.text, draft.route, draft.usage, True)
        assert sorted(again.tried) == sorted(draft.tried)
        assert len(self.provider.calls) == calls
        assert self.paid.attempts == []


@pytest.fixture
def table(provider: Provider, litellm: LiteLLM, hall: Hall) -> Table:
    hall.init_debate(THREAD, TOPIC)
    return Table(provider, litellm, hall, hall.runs.begin(THREAD))


def told(events: Sequence[Event]) -> list[type[Event]]:
    return [type(event) for event in events]


# ------------------------------------------------------------------------------------------------- readable at once

WRAPPED = {
    "bare": BARE,
    "indented": json.dumps(json.loads(BARE), indent=2),
    "fenced": f"```json\n{BARE}\n```",
    "in prose": f"I cannot approve this, so here is my vote.\n\n{BARE}\n\nI hope that this helps.",
    "in prose that says otherwise": f"Approved! No objections.\n~~~\n{BARE}\n~~~",
    "after a byte order mark": f"\ufeff{BARE}",
    "after an example": f'Not {{"choice": "abstain"}}, nor {{"choice": "approve" | "object"}}, but {BARE}',
    "twice": f"{BARE}\n\nOnce more:\n{BARE}",
}


@pytest.mark.parametrize("said", WRAPPED.values(), ids=WRAPPED)
@pytest.mark.parametrize("json_schema", [True, False, None])
async def test_what_can_be_read_is_taken_at_once_whatever_is_around_it(
    table: Table, said: str, json_schema: bool | None
) -> None:
    table.answers(said)
    draft = await table.votes(json_schema=json_schema)
    assert isinstance(draft, Draft)
    assert (read(draft.text, Vote), draft.tried) == (VOTE, ())
    assert table.held == [json_schema is True]
    assert told(table.events) == [DraftStarted, DraftFinished]
    await table.is_known_after(draft, json_schema=json_schema)


# --------------------------------------------------------------------------------------------------------- mended once

TWICE = '{"choice": "object", "choice": "approve", "objections": []}'
FAULTY = {
    "no object": ("I object, since there is no way back.", "degenerate", "There is no JSON object"),
    "cut off in silence": (f"Here: {BARE[:-4]}", "degenerate", "The JSON ends in the middle"),
    "cut off": (cut_off(BARE[:-4]), "cut_off", "reached its permitted length"),
    "empty": (empty(), "empty", "Your answer was empty"),
    "a key twice": (TWICE, "degenerate", "choice: this key comes twice"),
    "wrong types": (
        '{"choice": true, "objections": "none"}',
        "degenerate",
        "objections: Input should be",
    ),
    "no such choice": ('{"choice": "abstain", "objections": []}', "degenerate", "should be 'approve' or 'object'"),
    "a key is missing": ('{"choice": "approve"}', "degenerate", "objections: this key is missing"),
    "a list": (f"[{BARE}]", "degenerate", "The answer is a list"),
    "two answers": (f"{BARE} or {BARE.replace('object', 'approve', 1)}", "degenerate", "two answers that differ"),
    "no number": ('{"choice": "approve", "objections": [NaN]}', "degenerate", "NaN is no number"),
}


@pytest.mark.parametrize(("said", "code", "complaint"), FAULTY.values(), ids=FAULTY)
async def test_what_cannot_be_read_is_sent_back_once_with_what_is_wrong(
    table: Table, said: str | Answer, code: str, complaint: str
) -> None:
    table.answers(said, f"```\n{BARE}\n```")
    draft = await table.votes(FIRST, SECOND)
    assert isinstance(draft, Draft)
    assert (read(draft.text, Vote), draft.route, draft.tried) == (VOTE, FIRST, (f"{FIRST}: {code}",))
    assert told(table.events) == [DraftStarted, SentBack, DraftFinished]
    assert table.held == [True, True]
    first, second = table.provider.calls
    assert second.messages[: len(first.messages)] == first.messages
    assert complaint in second.task
    assert draft.usage == table.paid.spent == bill(table.provider.calls)
    await table.is_known_after(draft, FIRST, SECOND)


@pytest.mark.parametrize(("said", "code", "complaint"), FAULTY.values(), ids=FAULTY)
async def test_what_cannot_be_read_twice_goes_to_the_next_route(
    table: Table, said: str | Answer, code: str, complaint: str
) -> None:
    table.answers(said, said, BARE)
    draft = await table.votes(FIRST, SECOND)
    assert isinstance(draft, Draft)
    assert (read(draft.text, Vote), draft.route, draft.tried) == (VOTE, SECOND, (f"{FIRST}: {code}",) * 2)
    assert told(table.events) == [DraftStarted, SentBack, FellBack, DraftStarted, DraftFinished]
    assert [call.model for call in table.provider.calls] == ["first", "first", "second"]
    assert draft.usage == table.paid.spent == bill(table.provider.calls)
    await table.is_known_after(draft, FIRST, SECOND)


async def test_what_no_route_says_readably_fails_with_the_last_reason(table: Table) -> None:
    table.answers(*["I object."] * 4)
    failure = await table.votes(FIRST, SECOND)
    assert isinstance(failure, Failure)
    assert failure.error.code == "degenerate"
    assert "There is no JSON object" in failure.error.message
    assert len(table.provider.calls) == 4


# ------------------------------------------------------------------------------------ models that only claim to take it

REFUSED = {
    "OpenAI": REFUSAL,
    "DeepSeek": error(400, "This response_format type is unavailable now", kind="invalid_request_error"),
    "Groq": error(400, "This model does not support response format `json_schema`."),
    "Gemini": error(400, "The specified schema produces a constraint that has too many states for serving."),
    "Anthropic": error(400, "output_format: Extra inputs are not permitted"),
    "vLLM": error(400, "The provided guided grammar could not be compiled."),
    "strict": error(422, "strict: extra fields not permitted"),
}


@pytest.mark.parametrize("refusal", REFUSED.values(), ids=REFUSED)
async def test_a_provider_that_refuses_the_schema_is_asked_once_more_without(table: Table, refusal: Answer) -> None:
    table.answers(refusal, f"I vote: {BARE}")
    draft = await table.votes(FIRST, SECOND)
    assert isinstance(draft, Draft)
    assert (read(draft.text, Vote), draft.route, draft.tried) == (VOTE, FIRST, (f"{FIRST}: bad_request",))
    assert table.held == [True, False]
    first, second = table.provider.calls
    assert first.messages == second.messages
    assert told(table.events) == [DraftStarted, Retried, DraftFinished]
    (again,) = [event for event in table.events if isinstance(event, Retried)]
    assert (again.model, again.attempt, again.wait_s, again.code) == (FIRST, 1, 0, "bad_request")
    assert table.failures == ["bad_request", None]
    assert draft.usage == table.paid.spent == bill(table.provider.calls)
    await table.is_known_after(draft, FIRST, SECOND)


async def test_one_that_refuses_it_without_the_schema_too_falls_to_the_next_route(table: Table) -> None:
    table.answers(REFUSAL, REFUSAL, BARE)
    draft = await table.votes(FIRST, SECOND)
    assert isinstance(draft, Draft)
    assert (draft.route, draft.tried) == (SECOND, (f"{FIRST}: bad_request",) * 2)
    assert table.held == [True, False, True]
    assert table.failures == ["bad_request", "bad_request", None]
    await table.is_known_after(draft, FIRST, SECOND)


async def test_another_bad_request_falls_to_the_next_route_at_once(table: Table) -> None:
    table.answers(error(400, "Unsupported value: 'temperature'."), BARE)
    draft = await table.votes(FIRST, SECOND)
    assert isinstance(draft, Draft)
    assert (draft.route, table.held) == (SECOND, [True, True])


async def test_one_that_is_sent_its_answer_back_may_refuse_the_schema_again(table: Table) -> None:
    said = iter(["I object.", BARE])
    table.provider.say = lambda call: REFUSAL if call.schema is not None else next(said)
    draft = await table.votes(FIRST, SECOND)
    assert isinstance(draft, Draft)
    assert (read(draft.text, Vote), draft.route) == (VOTE, FIRST)
    assert table.held == [True, False, True, False]
    assert table.failures == ["bad_request", None, "bad_request", None]
    assert draft.tried == (f"{FIRST}: bad_request", f"{FIRST}: degenerate", f"{FIRST}: bad_request")
    await table.is_known_after(draft, FIRST, SECOND)


async def test_a_busy_provider_that_then_refuses_the_schema_is_told_as_it_was(table: Table) -> None:
    table.answers(error(503, "Overloaded"), REFUSAL, error(503, "Overloaded"), BARE)
    draft = await table.votes()
    assert isinstance(draft, Draft)
    assert table.held == [True, True, False, False]
    retried = [(event.attempt, event.code) for event in table.events if isinstance(event, Retried)]
    assert retried == [(1, "overloaded"), (2, "bad_request"), (1, "overloaded")]
    await table.is_known_after(draft)


# ----------------------------------------------------------------------------------------------------- the models file


@pytest.mark.parametrize("said", [True, False])
async def test_the_models_file_says_whether_a_model_takes_it(table: Table, said: bool) -> None:
    file = table.provider.models_file(ethos="first", pathos="first", logos="first")
    endpoint = parse_models(f"{file}    json_schema: {json.dumps(said)}\n", "models.yaml").endpoint(FIRST)
    table.answers(BARE)
    await table.votes(json_schema=endpoint.json_schema)
    assert (endpoint.json_schema, table.held) == (said, [said])
