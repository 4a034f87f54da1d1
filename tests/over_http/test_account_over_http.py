"""Door's account of its decision through real HTTP: from models that take its schema, ones that only claim to, and ones
that wrap it, get it wrong or give none. A debate that has decided ends, whatever becomes of the account."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from provider import REHEARSES, Provider, Stage, bill, plan_at, question_of, reseated, speaks

from building import account_text, order
from endpoint import Answer, Call, content_policy, cut_off, empty, error, out_of_quota, overloaded, web_page, wrong_key
from golden.planting import CONSTRAINT, answered, stated
from orchestrator.cli.ending import Exit, ended_as, exit_code
from orchestrator.decision.account import Account
from orchestrator.decision.ballot import VoteAnswer
from orchestrator.decision.record import DecisionRecord, make_record
from orchestrator.errors import RunPaused
from orchestrator.events import FellBack, Retried, SentBack
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role, Status
from orchestrator.models.base import Endpoint
from orchestrator.models.litellm import LiteLLM
from orchestrator.plan import Plan, PlannedSeat
from orchestrator.structured import schema_of

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.xdist_group("litellm"),
]

HOLDS = account_text(title="One table", constraints=[answered("T2.C1", "met", REHEARSES)])
DROPS = account_text(title="A dropped constraint")
FIRST, SPARE = "openai/door-1", "openai/spare"
REFUSAL = error(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.")


def says(call: Call) -> str:
    """Wall states one constraint, and Door answers it."""
    question, said = question_of(call), speaks(call)
    match question.role, question.step:
        case Role.WALL, "apply":
            return f"{said}\n\n{stated('C1', CONSTRAINT)}".replace("APPROVED", "CONDITIONAL", 1)
        case Role.DOOR, "turn":
            return f"{said}\n\n- [T2.C1] MET: {REHEARSES}"
        case _:
            return said


@dataclass
class Desk:
    """A debate of one round, and what Door says when it is asked for its account."""

    provider: Provider
    litellm: LiteLLM
    hall: Hall
    stage: Stage = field(init=False)

    def __post_init__(self) -> None:
        self.plans()

    def plans(self, *routes: str, json_schema: bool | None = True) -> None:
        """Seats Door at these models."""
        plan = reseated(plan_at(self.provider, "speed"), is_door, routes=routes or (FIRST,))
        endpoint = replace(self.provider.endpoint(), json_schema=json_schema)
        plan = plan.model_copy(update={"endpoints": dict.fromkeys(plan.routes, endpoint)})
        self.stage = Stage(self.hall, plan, lambda route: self.litellm)

    def accounts(self, *said: str | Answer) -> None:
        """What comes to each request for the account, in order."""
        left: Iterator[str | Answer] = iter(said)
        self.provider.say = lambda call: next(left) if question_of(call).step == "account" else says(call)

    async def decides(self) -> DecisionRecord:
        """Holds the debate to its end, and sees to it that the decision stands and all is paid for once."""
        run = await self.stage.hold()
        assert ended_as(run.debate.state) is Exit.DECIDED
        record = make_record(run.debate, self.stage.plan)
        assert (record.status, order(run.debate)) == (Status.SYNTHESIS, "WLD")
        assert record.decision == self.provider.calls[3].answer
        assert run.spent == self.stage.journaled == bill(self.provider.calls)
        return record

    @property
    def asked(self) -> list[Call]:
        return [call for call in self.provider.calls if question_of(call).step == "account"]

    @property
    def held(self) -> list[bool]:
        """Of each request for the account, whether it was held to the schema."""
        assert all(call.schema in (None, schema_of(Account)) for call in self.asked)
        return [call.schema is not None for call in self.asked]


def is_door(seat: PlannedSeat) -> bool:
    return seat.role is Role.DOOR


@pytest.fixture
def desk(provider: Provider, litellm: LiteLLM, hall: Hall) -> Desk:
    return Desk(provider, litellm, hall)


def assert_holds(record: DecisionRecord) -> None:
    assert (record.title, record.incomplete) == ("One table", ())
    assert record.confidence is not None
    (constraint,) = record.constraints
    assert (constraint.id, constraint.outcome, constraint.sentence) == ("T2.C1", "met", REHEARSES)


def assert_without_account(record: DecisionRecord, *why: str) -> None:
    """Nothing stands of an account; the constraint has the outcome that Door's turn gave it."""
    assert record.incomplete == why
    assert (record.summary, record.confidence, record.options, record.actions) == (None, None, (), ())
    (constraint,) = record.constraints
    assert (constraint.id, constraint.outcome, constraint.sentence) == ("T2.C1", "met", REHEARSES)


# ------------------------------------------------------------------------------------------------- readable at once

WRAPPED = {
    "bare": HOLDS,
    "indented": json.dumps(json.loads(HOLDS), indent=2),
    "fenced": f"```json\n{HOLDS}\n```",
    "in prose": f"Here is what we decided.\n\n{HOLDS}\n\nI hope that this helps.",
    "after its own thoughts": f"<think>What was {{decided}}?</think>\n{HOLDS}",
    "twice": f"{HOLDS}\n\nOnce more:\n{HOLDS}",
}


@pytest.mark.parametrize("json_schema", [True, False, None])
@pytest.mark.parametrize("said", WRAPPED.values(), ids=WRAPPED)
async def test_an_account_that_can_be_read_is_taken_at_once_whatever_is_around_it(
    desk: Desk, said: str, json_schema: bool | None
) -> None:
    desk.plans(json_schema=json_schema)
    desk.accounts(said)
    assert_holds(await desk.decides())
    assert desk.held == [json_schema is True]


GPT, CLAUDE, GEMINI = "openai/gpt-6.1-sol", "anthropic/claude-opus-5-5", "gemini/gemini-4-argon"
TOOLED = "anthropic/of-next-year"  # litellm makes a tool of the schema for a Claude that it does not know


@pytest.mark.parametrize("door", [GPT, CLAUDE, GEMINI, TOOLED])
async def test_votes_and_the_account_are_held_to_their_schemas_in_each_provider_s_words(
    desk: Desk, provider: Provider, door: str
) -> None:
    desk.stage.plan = spoken_by(provider, {Role.WIND: CLAUDE, Role.WALL: GEMINI, Role.DOOR: door})
    desk.accounts(HOLDS)
    assert_holds(await desk.decides())
    assert desk.held == [True]
    votes = [call for call in provider.calls if question_of(call).step == "vote"]
    assert [call.schema for call in votes] == [schema_of(VoteAnswer)] * 2
    assert all(call.schema is None for call in provider.calls if call not in (*votes, *desk.asked))


def spoken_by(provider: Provider, routes: dict[Role, str]) -> Plan:
    plan = plan_at(provider, "speed", consensus={"required": True, "refinements": 0})
    for role, route in routes.items():
        plan = reseated(plan, lambda seat, role=role: seat.role is role, routes=(route,))
    return plan.model_copy(update={"endpoints": {route: at_home(provider, route) for route in plan.routes}})


def at_home(provider: Provider, route: str) -> Endpoint:
    """Where a route is served; the addresses of Claudes end before /v1."""
    base = provider.base_url.removesuffix("/v1" if route.startswith("anthropic/") else "")
    return replace(provider.endpoint(), api_base=base, json_schema=True)


# ------------------------------------------------------------------------------------ models that only claim to take it


async def test_one_that_refuses_the_schema_is_asked_once_more_without(desk: Desk) -> None:
    desk.accounts(REFUSAL, f"So:\n{HOLDS}")
    record = await desk.decides()
    assert_holds(record)
    assert desk.held == [True, False]
    first, second = desk.asked
    assert first.messages == second.messages
    assert [(event.slot, event.code) for event in desk.stage.told(Retried)] == [("R1.Door.account", "bad_request")]
    assert [(one.slot, one.failed) for one in record.attempts] == [("R1.Door.account", (f"{FIRST}: bad_request",))]


async def test_all_voters_may_refuse_the_schema_and_vote_in_words(desk: Desk, provider: Provider) -> None:
    desk.stage.plan = spoken_by(provider, {role: f"openai/{role.lower()}-1" for role in Role})
    desk.accounts(REFUSAL, HOLDS)
    in_words = provider.say
    provider.say = lambda call: REFUSAL if call.schema == schema_of(VoteAnswer) else in_words(call)
    provider.hold_until(2, 1, 1, 2, 2, 1, 1)  # from the fourth on: both votes, both again, the account, that again
    record = await desk.decides()
    assert [(vote.slot, vote.choice) for vote in record.votes] == [("V1.Wind.1", "approve"), ("V1.Wall.1", "approve")]
    assert_holds(record)


# --------------------------------------------------------------------------------------------------------- mended once

FAULTY: dict[str, tuple[str | Answer, str]] = {
    "no object": ("We decided to move one table.", "There is no JSON object"),
    "cut off in silence": (f"Here: {HOLDS[:-4]}", "The JSON ends in the middle"),
    "cut off": (cut_off(HOLDS[:-4]), "reached its permitted length"),
    "empty": (empty(), "Your answer was empty"),
    "filtered": (Answer("I can", finish_reason="content_filter"), "filter withheld your answer"),
    "a key twice": (f'{{"title": "Two", {HOLDS[1:]}', "title: this key comes twice"),
    "a wrong type": (HOLDS.replace('"turns": [1]', '"turns": ["T1"]'), "options.0.turns.0: Input should be"),
    "a key is missing": (HOLDS.replace('"risks": [], ', ""), "risks: this key is missing"),
    "a list": (f"[{HOLDS}]", "The answer is a list"),
    "two that differ": (f"{HOLDS}\n{DROPS}", "two answers that differ"),
    "no day": (HOLDS.replace('"review_by": null', '"review_by": "in March"'), "review_by: "),
    "a NUL": (HOLDS.replace("One table", "One\\u0000table"), "A text holds \\u0000"),
}
each_faulty = pytest.mark.parametrize(("said", "complaint"), FAULTY.values(), ids=FAULTY)


@each_faulty
async def test_an_account_that_cannot_be_read_is_sent_back_once_with_what_is_wrong(
    desk: Desk, said: str | Answer, complaint: str
) -> None:
    desk.accounts(said, f"```\n{HOLDS}\n```")
    assert_holds(await desk.decides())
    assert [event.slot for event in desk.stage.told(SentBack)] == ["R1.Door.account"]
    first, second = desk.asked
    assert second.messages[: len(first.messages)] == first.messages
    assert complaint in second.task
    assert desk.held == [True, True]


@each_faulty
async def test_a_debate_ends_decided_though_no_account_can_be_read(
    desk: Desk, said: str | Answer, complaint: str
) -> None:
    desk.accounts(said, said)
    record = await desk.decides()
    (why,) = record.incomplete
    assert why.startswith("No account could be read: ")
    assert_without_account(record, why)
    assert desk.held == [True, True]


async def test_what_one_model_does_not_give_readably_another_gives(desk: Desk) -> None:
    desk.plans(FIRST, SPARE)
    desk.accounts("No.", "Still no.", HOLDS)
    record = await desk.decides()
    assert_holds(record)
    assert [(event.slot, event.to) for event in desk.stage.told(FellBack)] == [("R1.Door.account", SPARE)]
    (change,) = record.substitutions
    assert (change.slot, change.route, change.why) == ("R1.Door.account", SPARE, (f"{FIRST}: degenerate",) * 2)


# ----------------------------------------------------------------------------------------------- what does not hold

PASSED_OVER = "T2.C1 has no outcome."


async def test_an_account_that_does_not_hold_is_sent_back_once_with_what_does_not(desk: Desk) -> None:
    desk.accounts(DROPS, HOLDS)
    assert_holds(await desk.decides())
    assert PASSED_OVER in desk.asked[1].task


@pytest.mark.parametrize(
    "second",
    [DROPS, "No.", cut_off(HOLDS[:-4]), empty(), web_page(), wrong_key(), error(400, "No.")],
    ids=["the same", "unreadable", "cut off", "empty", "web page", "wrong key", "bad request"],
)
async def test_one_that_stays_so_stands_with_what_does_not_hold_in_plain_sight(
    desk: Desk, second: str | Answer
) -> None:
    desk.accounts(DROPS, second)
    record = await desk.decides()
    assert (record.title, record.incomplete) == ("A dropped constraint", (PASSED_OVER,))
    assert [(constraint.id, constraint.outcome) for constraint in record.constraints] == [("T2.C1", "open")]


# ----------------------------------------------------------------------------------------------- a provider that fails


async def test_a_busy_provider_is_asked_again(desk: Desk) -> None:
    desk.accounts(error(429, "Rate limit reached for requests."), overloaded(), HOLDS)
    assert_holds(await desk.decides())
    assert [event.code for event in desk.stage.told(Retried)] == ["rate_limited", "overloaded"]


@pytest.mark.parametrize(
    ("fault", "calls"),
    [(wrong_key(), 1), (out_of_quota(), 1), (overloaded(), 4), (web_page(), 1), (content_policy(), 1)],
    ids=["wrong key", "out of quota", "overloaded", "web page", "content policy"],
)
async def test_a_provider_that_fails_pauses_the_run_and_only_the_account_is_bought_when_it_goes_on(
    desk: Desk, fault: Answer, calls: int
) -> None:
    desk.accounts(*[fault] * calls, HOLDS)
    with pytest.raises(RunPaused, match=r"R1\.Door\.account") as paused:
        await desk.stage.hold()
    assert exit_code(paused.value) is Exit.PAUSED
    asked = len(desk.provider.calls)
    assert asked == 4 + calls
    assert_holds(await desk.decides())
    assert [question_of(call).step for call in desk.provider.calls[asked:]] == ["account"]
