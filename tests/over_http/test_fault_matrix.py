"""Every kind of fault, at every role, in the first, the middle and the last round, through real HTTP.

The ill model is served by a server of its own, so that it can refuse connections while the others go on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import pytest
from provider import Provider, Question, Stage, Trouble, bill, question_in, question_of, reseated, speaks

from building import THREAD, flowing, order, plan_of, turns_of
from endpoint import (
    Answer,
    Call,
    broken_json,
    content_policy,
    context_too_long,
    cut_off,
    empty,
    error,
    no_such_model,
    overloaded,
    rate_limited,
    server_error,
    stalled,
    web_page,
    wrong_key,
)
from orchestrator.cli.ending import Exit, ended_as, exit_code
from orchestrator.decision.record import Attempts, DecisionRecord, Substitution, make_record
from orchestrator.errors import RunPaused
from orchestrator.events import DraftStarted, Event, FellBack, Retried, SeatMissing, SentBack
from orchestrator.export.markdown import render_adr
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.hall.octave import parse
from orchestrator.hall.terms import Role
from orchestrator.models.base import Model, Reply, Request, Step, Usage
from orchestrator.models.litellm import LiteLLM
from orchestrator.plan import OnFailure, Plan, PlannedSeat

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.xdist_group("litellm")]

ILL, SPARE = "openai/ill", "openai/spare"
MOMENT_S = 0.2


class Kind(NamedTuple):
    """A kind of fault, and what `docs/faults.md` says of it.

    Args:
        code: how it is told.
        calls: how many calls a seat makes to one route that fails so.
        answer: what the model answers; None: its server takes no connection.
        stays: no later seat asks the route.
    """

    code: str
    calls: int
    answer: Callable[[Call], Answer] | None
    stays: bool = False

    @property
    def sent_back(self) -> bool:
        """Whether an answer comes that is sent back; else the same call is made again."""
        return self.code in ("content_refused", "cut_off", "empty", "degenerate") and self.calls > 1


KINDS = {
    "authentication": Kind("authentication", 1, lambda call: wrong_key(), stays=True),
    "no such model": Kind("no_such_model", 1, lambda call: no_such_model(call.model), stays=True),
    "retired model": Kind(
        "no_such_model", 1, lambda call: error(400, f"The model `{call.model}` has been decommissioned."), stays=True
    ),
    "bad request": Kind("bad_request", 1, lambda call: error(400, "Unsupported value: 'temperature'.")),
    "rate limit": Kind("rate_limited", 4, lambda call: error(429, "Rate limit reached for requests.")),
    "rate limit for a moment": Kind("rate_limited", 4, lambda call: rate_limited(0.005)),
    "rate limit for an hour": Kind("rate_limited", 1, lambda call: rate_limited(3600)),
    "overload": Kind("overloaded", 4, lambda call: overloaded()),
    "server error": Kind("server", 4, lambda call: server_error()),
    "timeout": Kind("timed_out", 2, lambda call: stalled()),
    "connection refused": Kind("connection", 4, None),
    "connection dropped": Kind("connection", 4, lambda call: Answer(speaks(call), torn=True)),
    "context too long": Kind("context_too_long", 1, lambda call: context_too_long()),
    "content refused": Kind("content_refused", 1, lambda call: content_policy()),
    "content filtered": Kind("content_refused", 2, lambda call: Answer("I can", finish_reason="content_filter")),
    "cut off": Kind("cut_off", 2, lambda call: cut_off()),
    "empty": Kind("empty", 2, lambda call: empty()),
    "web page": Kind("garbled", 1, lambda call: web_page()),
    "broken JSON": Kind("garbled", 1, lambda call: broken_json()),
    "refusal": Kind("degenerate", 2, lambda call: Answer("I'm sorry, but I can't help with that request.")),
    "too short": Kind("degenerate", 2, lambda call: Answer("One table at a time.")),
    "prompt echoed": Kind("degenerate", 2, lambda call: Answer(call.messages[0][1])),
}
STAYING = [name for name, kind in KINDS.items() if kind.stays]
PASSING = [name for name, kind in KINDS.items() if not kind.stays]


class Place(NamedTuple):
    """Where a model fails: at one step of a role's seat, from one round on."""

    round: int
    role: Role
    step: Step
    seat: int = 1  # among those of its role

    def __str__(self) -> str:
        return f"{self.role} {self.step} in round {self.round}"

    @property
    def slot(self) -> str:
        if self.step == "vote":
            return f"V1.{self.role}.{self.seat}"
        return f"R{self.round}.{self.role}.{'account' if self.step == 'account' else self.seat}"

    def is_asked(self, question: Question) -> bool:
        return (question.role, question.step) == (self.role, self.step) and question.round >= self.round


ROUNDS = 3
STEPS: dict[Role, tuple[Step, ...]] = {Role.WIND: ("turn",), Role.WALL: ("checklist", "apply"), Role.DOOR: ("turn",)}
ORDER = " · ".join(["WLD"] * ROUNDS)
TURNS = [Place(number, role, step) for number in range(1, ROUNDS + 1) for role in Role for step in STEPS[role]]
ACCOUNT = Place(ROUNDS, Role.DOOR, "account")
EVERYWHERE = [*TURNS, ACCOUNT]
FIRST_ROUND = [place for place in EVERYWHERE if place.round == 1]
AT_FIRST = [*FIRST_ROUND, ACCOUNT]
NO_USE = [name for name, kind in KINDS.items() if kind.sent_back]  # answers come, and none can be read


def fails(name: str, step: Step) -> bool:
    """A checklist is no turn, so that it is never a degenerate one."""
    return not (KINDS[name].code == "degenerate" and step == "checklist")


def each(*cases: tuple[Iterable[str], Iterable[Place]]) -> pytest.MarkDecorator:
    """Every kind of a case at every one of its places."""
    pairs = [pair for kinds, places in cases for pair in product(kinds, places) if fails(pair[0], pair[1].step)]
    named = [pytest.param(*pair, id=", ".join(map(str, pair))) for pair in pairs]
    return pytest.mark.parametrize(("name", "place"), named)


# ------------------------------------------------------------------------------------------------------------ the stage


class Hasty:
    """Asks the ill model; for an answer that will not come it waits a moment only."""

    def __init__(self, model: Model, trouble: Trouble) -> None:
        self._model, self._trouble = model, trouble

    async def complete(self, request: Request) -> Reply:
        in_vain = self._trouble.strikes("ill", question_in(request))
        return await self._model.complete(replace(request, timeout_s=MOMENT_S) if in_vain else request)


@dataclass
class Ward:
    """Where the models are: the healthy ones behind one server, the ill one behind another."""

    healthy: Provider
    ill: Provider
    litellm: LiteLLM
    hall: Hall
    is_well: bool = False
    has_refused: bool = False

    def stage(self, plan: Plan, name: str, place: Place, *, once: bool = False) -> Stage:
        """A debate whose model `ill` fails from `place` on; or there, once in each round."""
        endpoints = dict.fromkeys(plan.routes, self.healthy.endpoint())
        endpoints |= {ILL: self.ill.endpoint(), SPARE: self.healthy.endpoint(context_tokens=400_000)}
        plan = plan.model_copy(update={"endpoints": endpoints})
        answer = KINDS[name].answer
        if answer is None:
            return Stage(self.hall, plan, lambda route: self.litellm, partial(self._locks, place, once))
        trouble = Trouble("ill", place.is_asked, answer, once)
        self.ill.troubles.append(trouble)
        hasty = Hasty(self.litellm, trouble) if name == "timeout" else self.litellm
        return Stage(self.hall, plan, lambda route: hasty if route == ILL else self.litellm)

    def heal(self) -> None:
        self.is_well = True
        self.ill.troubles.clear()
        self.ill.accept()

    @property
    def calls(self) -> list[Call]:
        return [*self.healthy.calls, *self.ill.calls]

    def _locks(self, place: Place, once: bool, event: Event) -> None:
        match event:
            case DraftStarted(model="openai/ill", step=place.step) if event.slot >= place.slot and not self.is_well:
                self.has_refused = True
                self.ill.refuse()
            case Retried() if once:
                self.ill.accept()


def ailing(plan: Plan, place: Place, *spares: str, on_failure: OnFailure = "pause") -> Plan:
    """The plan with a model of its own for the seat at `place`, in every round."""

    def is_it(seat: PlannedSeat) -> bool:
        return (seat.role, seat.slot.rpartition(".")[2]) == (place.role, str(place.seat))

    return reseated(plan, is_it, routes=(ILL, *spares)).model_copy(update={"on_failure": on_failure})


def healthy_plan(recipe: str, **changes: Any) -> Plan:
    routes = {role: (f"openai/{role.lower()}",) for role in Role}
    if recipe != "standard":
        return plan_of(recipe, routes=routes, **changes)
    return plan_of(recipe, routes=routes, turns=3 * ROUNDS, ratio=dict.fromkeys(("wind", "wall", "door"), ROUNDS))


@pytest.fixture(scope="module")
def healthy() -> Iterator[Provider]:
    with Provider() as server:
        yield server


@pytest.fixture(scope="module")
def ill() -> Iterator[Provider]:
    with Provider() as server:
        yield server


@pytest.fixture
def ward(healthy: Provider, ill: Provider, litellm: LiteLLM, hall: Hall) -> Iterator[Ward]:
    ward = Ward(healthy, ill, litellm, hall)
    yield ward
    ward.heal()
    healthy.forget()
    ill.forget()


# ------------------------------------------------------------------------------------------------- what the table says


class Written(NamedTuple):
    """What a seat writes, and the number of the turn that it is, or that it follows."""

    turn: int
    slot: str


def written(place: Place) -> Written:
    return Written(turn_number(place), place.slot)


class Expected(NamedTuple):
    """What becomes of the questions that the ill seat is asked, in their order."""

    place: Place
    kind: Kind
    fails: list[int]  # for each question the calls in vain, those of a dead route too, which are not made

    @property
    def asked(self) -> list[Place]:
        return [place for place in EVERYWHERE if place.role is self.place.role]

    @property
    def failures(self) -> int:
        """How many questions the ill model does not answer in the end."""
        return sum(calls == self.kind.calls for calls in self.fails)

    @property
    def failed(self) -> int:
        """How many questions are not answered at once."""
        return sum(calls > 0 for calls in self.fails)

    @property
    def made(self) -> int:
        """How many calls are made to the ill model."""
        if self.kind.stays:
            return self.asked.index(self.place) + 1
        return sum(calls + (calls < self.kind.calls) for calls in self.fails)

    @property
    def tried(self) -> dict[Written, tuple[str, ...]]:
        """How the record tells the calls in vain, by what they were made for."""
        told: dict[Written, tuple[str, ...]] = {}
        for question, calls in zip(self.asked, self.fails, strict=True):
            dead = self.kind.stays and question != self.place
            failed = f"{ILL}: {self.kind.code}{', not asked again' if dead else ''}"
            told[written(question)] = (*told.get(written(question), ()), *[failed] * calls)
        return {what: failed for what, failed in told.items() if failed}

    @property
    def substituted(self) -> list[Written]:
        """What another model wrote."""
        return [
            written(question)
            for question, calls in zip(self.asked, self.fails, strict=True)
            if calls == self.kind.calls and question.step != "checklist"
        ]


def expected(name: str, place: Place, *, once: bool) -> Expected:
    kind = KINDS[name]
    asked = Expected(place, kind, []).asked
    begins = asked.index(place)

    def calls(number: int) -> int:
        if number < begins or not fails(name, asked[number].step):
            return 0
        if once:
            return int(asked[number].step == place.step)
        return kind.calls

    return Expected(place, kind, [calls(number) for number in range(len(asked))])


def turn_number(place: Place) -> int:
    """T1 is 1."""
    return 3 * (place.round - 1) + list(Role).index(place.role) + 1


def assert_told(stage: Stage, kind: Kind, *, again: int, fell_back: int) -> None:
    """Every call in vain is an event."""
    told = [(event.model, event.code) for event in stage.told(Retried)]
    assert told == [(ILL, kind.code)] * (0 if kind.sent_back else again)
    assert [event.model for event in stage.told(SentBack)] == [ILL] * (again if kind.sent_back else 0)
    told_back = [(event.model, event.to, event.code) for event in stage.told(FellBack)]
    assert told_back == [(ILL, SPARE, kind.code)] * fell_back


def assert_recorded(record: DecisionRecord, wanted: Expected) -> None:
    why, agent = wanted.tried, f"{wanted.place.role.lower()}-agent"
    assert record.attempts == tuple(Attempts(**what._asdict(), agent=agent, failed=why[what]) for what in why)
    assert record.substitutions == tuple(
        Substitution(**what._asdict(), agent=agent, asked=ILL, route=SPARE, answered="spare", why=why[what])
        for what in wanted.substituted
    )


def assert_paid(ward: Ward, stage: Stage) -> None:
    """Every call that was made stands in the journal, and what they took, there and in the run, is what was counted."""
    assert len(ward.calls) == len(stage.intents) or ward.has_refused
    assert stage.paid.spent == stage.journaled == bill(ward.calls)


def assert_every_answer_was_bought_once(ward: Ward, plan: Plan) -> None:
    bought = Counter(question_of(call) for call in ward.calls if call.charged and call.answer == speaks(call))
    assert set(bought.values()) == {1}
    assert len(bought) == plan.calls


def made(stage: Stage) -> tuple[int, int]:
    """The calls to the ill model and to its spare, as the journal has them."""
    routes = [intent.route for intent in stage.intents]
    return routes.count(ILL), routes.count(SPARE)


# ------------------------------------------------------------------------------------------------------------ the tests


@each((PASSING, AT_FIRST))
async def test_what_fails_once_in_each_round_is_asked_again_or_of_another_model(
    ward: Ward, name: str, place: Place
) -> None:
    stage = ward.stage(ailing(healthy_plan("standard"), place, SPARE), name, place, once=True)
    wanted = expected(name, place, once=True)
    run = await stage.hold()
    assert (order(run.debate), ended_as(run.debate.state)) == (ORDER, Exit.DECIDED)
    assert made(stage) == (wanted.made, wanted.failures)
    assert_told(stage, KINDS[name], again=wanted.failed - wanted.failures, fell_back=wanted.failures)
    record = make_record(run.debate, stage.plan)
    assert_recorded(record, wanted)
    assert_paid(ward, stage)
    in_record = (record.tokens.input, record.tokens.cached, record.tokens.output, record.cost_usd)
    assert Usage(*in_record) == run.spent


@each((PASSING, AT_FIRST), (STAYING, EVERYWHERE))
async def test_what_fails_for_good_is_asked_of_another_model_and_everybody_is_told_why(
    ward: Ward, name: str, place: Place
) -> None:
    stage = ward.stage(ailing(healthy_plan("standard"), place, SPARE), name, place)
    wanted = expected(name, place, once=False)
    run = await stage.hold()
    assert (order(run.debate), ended_as(run.debate.state)) == (ORDER, Exit.DECIDED)
    assert made(stage) == (wanted.made, wanted.failures)
    assert_told(stage, KINDS[name], again=wanted.failures * (KINDS[name].calls - 1), fell_back=wanted.failures)
    record = make_record(run.debate, stage.plan)
    assert_recorded(record, wanted)
    assert_transcribed(ward.hall, record, run.debate)
    assert_paid(ward, stage)


def assert_transcribed(hall: Hall, record: DecisionRecord, debate: Debate) -> None:
    decision, (_, transcript) = flowing(render_adr(record, debate)), parse(hall.export_debate(THREAD, "octave"))
    assert record.attempts
    for change in record.substitutions:
        name = change.slot if change.slot == ACCOUNT.slot else f"T{change.turn}"
        told = f"was asked through {ILL} and answered by {SPARE} ({'; '.join(change.why)})."
        assert re.search(rf"^- {name} \(\w+, {change.agent}\) {re.escape(told)}$", decision, re.MULTILINE)
        if change.slot != ACCOUNT.slot:
            turn = transcript["TURNS"][f"T{change.turn}"]
            assert (turn["MODEL_ASKED"], turn["MODEL"]) == (ILL, "spare")
    for attempts in record.attempts:
        failed = "; ".join(attempts.failed)
        assert f"{attempts.slot}: calls that brought nothing: {failed}" in decision
        if attempts.slot != ACCOUNT.slot:
            assert transcript["TURNS"][f"T{attempts.turn}"]["TRIED"] == failed


@each((KINDS, TURNS), ([name for name in KINDS if name not in NO_USE], [ACCOUNT]))
async def test_what_fails_for_good_without_another_model_pauses_and_buys_nothing_twice(
    ward: Ward, name: str, place: Place
) -> None:
    stage = ward.stage(ailing(healthy_plan("standard"), place), name, place)
    with pytest.raises(RunPaused, match=place.slot) as paused:
        await stage.hold()
    assert exit_code(paused.value) is Exit.PAUSED
    assert len(ward.hall.debate(THREAD).turns) == turn_number(place) - (place.step != "account")
    before = expected(name, place, once=False).asked.index(place)
    assert made(stage) == (before + calls_in_vain(name, place), 0)
    assert len(ward.healthy.calls) == answers_before(place) - before
    assert_paid(ward, stage)
    ward.heal()
    run = await stage.hold()
    assert (order(run.debate), ended_as(run.debate.state)) == (ORDER, Exit.DECIDED)
    assert make_record(run.debate, stage.plan).resumed == 1
    assert_every_answer_was_bought_once(ward, stage.plan)
    assert_paid(ward, stage)


def calls_in_vain(name: str, place: Place) -> int:
    """Where there are turns to be summarised, a model that says it can read no more is asked for a summary too."""
    has_turns = turn_number(place) > 1 and not (place.round == 1 and place.step == "checklist")
    return KINDS[name].calls + (name == "context too long" and has_turns)


def answers_before(place: Place) -> int:
    """How many questions are answered when the one at `place` and those that are asked beside it have been asked."""
    beside = {"turn": 1 if place.role is Role.WIND else 3, "checklist": 1, "apply": 2, "account": 4}
    return 4 * (place.round - 1) + beside[place.step]


@each((NO_USE, [ACCOUNT]))
async def test_a_decision_stands_without_an_account_that_could_not_be_read_and_the_record_says_so(
    ward: Ward, name: str, place: Place
) -> None:
    stage = ward.stage(ailing(healthy_plan("standard"), place), name, place)
    run = await stage.hold()
    assert (order(run.debate), ended_as(run.debate.state)) == (ORDER, Exit.DECIDED)
    record = make_record(run.debate, stage.plan)
    assert record.decision == run.debate.turns[-1].text
    assert (record.summary, record.options) == (None, ())
    (lacking,) = record.incomplete
    assert lacking.startswith("No account could be read: ")
    assert made(stage) == (ROUNDS + KINDS[name].calls, 0)
    assert_paid(ward, stage)


@each((["authentication", "server error", "too short"], FIRST_ROUND))
async def test_a_round_never_goes_on_without_the_only_voice_of_a_role(ward: Ward, name: str, place: Place) -> None:
    stage = ward.stage(ailing(healthy_plan("standard"), place, on_failure="degrade"), name, place)
    with pytest.raises(RunPaused, match=place.slot):
        await stage.hold()
    assert len(ward.hall.debate(THREAD).turns) == turn_number(place) - 1
    assert stage.told(SeatMissing) == []


@each((["authentication", "server error", "too short"], [Place(1, Role.DOOR, "turn", seat=2)]))
async def test_a_round_never_goes_on_without_one_of_several_doors(ward: Ward, name: str, place: Place) -> None:
    stage = ward.stage(ailing(healthy_plan("council"), place, on_failure="degrade"), name, place)
    with pytest.raises(RunPaused, match=place.slot):
        await stage.hold()
    assert order(ward.hall.debate(THREAD)) == "WWLLD"


@each((KINDS, [Place(1, Role.WALL, step, seat=2) for step in STEPS[Role.WALL]]))
async def test_a_round_goes_on_without_one_of_several_walls(ward: Ward, name: str, place: Place) -> None:
    await assert_goes_on_without(ward, "fortress", name, place)


@each((KINDS, [Place(1, Role.WIND, "turn", seat=2)]))
async def test_a_round_goes_on_without_one_of_several_winds(ward: Ward, name: str, place: Place) -> None:
    await assert_goes_on_without(ward, "laboratory", name, place)


async def assert_goes_on_without(ward: Ward, recipe: str, name: str, place: Place) -> None:
    stage = ward.stage(ailing(healthy_plan(recipe), place, on_failure="degrade"), name, place)
    run = await stage.hold()
    missing = [seat.slot for seat in seats_at(stage.plan, place) if seat.slot >= place.slot]
    spoken = [turn.seat.slot for turn in turns_of(run.debate) if turn.seat]
    assert spoken == [seat.slot for planned in stage.plan.rounds for seat in planned.seats if seat.slot not in missing]
    assert [(event.slot, event.code) for event in stage.told(SeatMissing)] == [(s, KINDS[name].code) for s in missing]
    assert ended_as(run.debate.state) is Exit.DEGRADED
    record = make_record(run.debate, stage.plan)
    assert [told.split(" is missing: ")[0].split()[-1] for told in record.degraded] == [f"({slot})" for slot in missing]
    assert render_adr(record, run.debate).split("\n\n")[2].startswith("**DEGRADED:** ")
    assert_paid(ward, stage)


def seats_at(plan: Plan, place: Place) -> list[PlannedSeat]:
    return [seat for planned in plan.rounds for seat in planned.seats if seat.routes == (ILL,)]


# --------------------------------------------------------------------------------------------------------------- voters

VOTES = [Place(2, Role.WALL, "vote", seat=2)]  # COUNCIL has two Walls, and both vote
SOME = ["authentication", "server error", "timeout", "cut off", "empty", "broken JSON", "too short"]


@each((SOME, VOTES))
async def test_a_vote_that_cannot_be_had_pauses_the_run_and_is_the_only_one_asked_for_again(
    ward: Ward, name: str, place: Place
) -> None:
    stage = ward.stage(ailing(healthy_plan("council"), place), name, place)
    with pytest.raises(RunPaused, match=place.slot):
        await stage.hold()
    assert made(stage) == (2 + KINDS[name].calls, 0)  # its checklist, its turn, and its vote in vain
    ward.heal()
    run = await stage.hold()
    record = make_record(run.debate, stage.plan)
    assert (ended_as(run.debate.state), record.agreed, len(record.votes)) == (Exit.DECIDED, True, 4)
    assert_every_answer_was_bought_once(ward, stage.plan)
    assert_paid(ward, stage)


@each((SOME, VOTES))
async def test_the_others_of_a_side_agree_without_a_voter_that_may_be_missing(
    ward: Ward, name: str, place: Place
) -> None:
    stage = ward.stage(ailing(healthy_plan("council"), place, on_failure="degrade"), name, place)
    run = await stage.hold()
    record = make_record(run.debate, stage.plan)
    assert (ended_as(run.debate.state), record.agreed) == (Exit.DEGRADED, True)
    assert [vote.slot for vote in record.votes] == ["V1.Wind.1", "V1.Wind.2", "V1.Wall.1"]
    (missing,) = record.degraded
    assert missing.startswith(f"Wall critical-engineer ({place.slot}) is missing: ")
    assert [(event.slot, event.code) for event in stage.told(SeatMissing)] == [(place.slot, KINDS[name].code)]
    assert_paid(ward, stage)


@each((["authentication", "server error", "too short"], [Place(1, Role.WALL, "vote"), Place(1, Role.WIND, "vote")]))
async def test_nothing_is_agreed_without_the_only_voter_of_a_side(ward: Ward, name: str, place: Place) -> None:
    plan = healthy_plan("speed", consensus={"required": True, "refinements": 2})
    stage = ward.stage(ailing(plan, place, on_failure="degrade"), name, place)
    with pytest.raises(RunPaused, match=place.slot):
        await stage.hold()
    assert stage.told(SeatMissing) == []
    ward.heal()
    run = await stage.hold()
    assert (ended_as(run.debate.state), make_record(run.debate, stage.plan).agreed) == (Exit.DECIDED, True)
    assert_paid(ward, stage)
