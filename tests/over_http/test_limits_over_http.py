"""No limit is passed, whatever the provider does: what it could put on its bill is counted here, not what it says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import accumulate, count
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

import anyio
import pytest
from provider import Provider, Question, Stage, Trouble, bill, plan_at, question_of, reseated, speaks

from building import RECIPES, account_text, hall_at, order
from endpoint import (
    Answer,
    Call,
    broken_json,
    content_policy,
    context_too_long,
    cut_off,
    empty,
    rate_limited,
    server_error,
    web_page,
    wrong_key,
)
from orchestrator.budget import NO_BOUND, Bound, Budget, total_bound
from orchestrator.cli.ending import Exit, ended_as, exit_code
from orchestrator.decision.record import make_record
from orchestrator.errors import RunPaused, StoppedByLimit, UsageError
from orchestrator.events import LimitReached, RoundStarted
from orchestrator.export.markdown import render_adr
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import About, Role
from orchestrator.models.litellm import LiteLLM
from orchestrator.plan import Changes, Plan
from orchestrator.recipe import Limits
from orchestrator.runner import Run
from orchestrator.wanted import Wanted, prepare

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.xdist_group("litellm")]

Name = Literal["tokens", "cost_usd"]
BOTH: tuple[Name, ...] = ("tokens", "cost_usd")
SMALLEST = {"tokens": Decimal(1), "cost_usd": Decimal("0.000001")}
PLENTY = {"tokens": Decimal(10**9), "cost_usd": Decimal(10**6)}


def limited(name: Name, limit: Decimal) -> Limits:
    return Limits(tokens=int(limit)) if name == "tokens" else Limits(cost_usd=limit)


def assert_within(provider: Provider, name: Name, limit: Decimal) -> None:
    most = provider.at_most
    assert most.cost_usd is not None
    assert (most.input + most.output if name == "tokens" else most.cost_usd) <= limit


# ----------------------------------------------------------------------------------------------- stopped, and raised


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("recipe", RECIPES)
async def test_a_run_stops_wherever_the_next_calls_do_not_fit_and_goes_on_once_they_do(
    provider: Provider, litellm: LiteLLM, hall: Hall, recipe: str, name: Name
) -> None:
    """The limit is raised each time to what the next calls are said to need; all of a batch is asked, or none."""
    limit, stops = SMALLEST[name], 0
    stage = Stage(hall, plan_at(provider, recipe), lambda route: litellm)
    whole_batches = {0, *accumulate(batches(stage.plan))}
    while isinstance(ended := await stage.ends(Changes(limits=limited(name, limit))), StoppedByLimit):
        assert (exit_code(ended), ended.limit) == (Exit.LIMIT, name)
        assert len(provider.calls) in whole_batches
        assert_within(provider, name, limit)
        stops, limit = stops + 1, needed(ended, limit)
        assert stops < 2 * len(whole_batches), "what is said to be needed does not suffice"
    assert_within(provider, name, limit)
    assert stops > 0
    assert_decided(ended)
    assert_nothing_was_bought_twice(provider, stage.plan)
    assert stage.paid.spent == stage.journaled == bill(provider.calls)


def assert_decided(ended: Run | RunPaused) -> None:
    assert isinstance(ended, Run), ended
    assert ended_as(ended.debate.state) is Exit.DECIDED


def batches(plan: Plan) -> Iterator[int]:
    """How many calls are made at once: Winds with the checklists, Walls, then Door by Door; the votes, the account."""
    for planned in plan.rounds:
        yield len(planned.winds) + len(planned.walls)
        yield len(planned.walls)
        yield from [1] * len(planned.doors)
    yield from [len(plan.voters)] * bool(plan.voters)
    yield 1


def needed(stopped: StoppedByLimit, limit: Decimal) -> Decimal:
    """The limit with which the next calls fit, as whoever reads the message would reckon it."""
    told = re.search(r"could take \$?([\d.,]+) .*and \$?([\d.,]+) of", stopped.message.replace(", and", " and"))
    assert told is not None, stopped.message
    could, left = (Decimal(amount.replace(",", "")) for amount in told.groups())
    return limit - left + could


def assert_nothing_was_bought_twice(provider: Provider, plan: Plan) -> None:
    assert set(Counter(question_of(call) for call in provider.calls).values()) == {1}
    assert len(provider.calls) == plan.calls


# -------------------------------------------------------------------------------------------------- ended in each round


class Needs(NamedTuple):
    """What must have been allowed for a batch of calls, in a round."""

    round: int
    most: Bound

    def of(self, name: Name) -> Decimal:
        assert self.most.cost_usd is not None
        return Decimal(self.most.tokens) if name == "tokens" else self.most.cost_usd


async def needs_of(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> list[Needs]:
    """What each batch of a run needs, learned from a run that is allowed everything."""
    needs: list[Needs] = []
    reserve = Budget.reserve

    def noted(self: Budget, bounds: list[Bound], keep: Bound = NO_BOUND) -> None:
        needs.append(Needs(stage.told(RoundStarted)[-1].round, total_bound((self._gone(keep), *bounds))))
        reserve(self, bounds, keep)

    with monkeypatch.context() as patch:
        patch.setattr(Budget, "reserve", noted)
        await stage.hold()
    return needs


def limit_for(number: int, name: Name, needs: list[Needs]) -> Decimal:
    """A limit that ends the run in this round, whatever order the calls of a batch are answered in."""
    before = max((need.of(name) for need in needs if need.round < number), default=SMALLEST[name])
    within = max(need.of(name) for need in needs if need.round == number)
    assert within > before, f"no limit ends the run in round {number}"
    return (before + within) / 2


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("recipe", RECIPES)
async def test_a_limit_ends_a_run_in_any_of_its_rounds(
    provider: Provider,
    litellm: LiteLLM,
    hall: Hall,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    recipe: str,
    name: Name,
) -> None:
    plan = plan_at(provider, recipe, limits=limited(name, PLENTY[name]))
    needs = await needs_of(Stage(hall, plan, lambda route: litellm), monkeypatch)
    for planned in plan.rounds:
        provider.forget()
        limit = limit_for(planned.number, name, needs)
        with hall_at(tmp_path / str(planned.number)) as hall:
            limits = limited(name, limit)
            stage = Stage(hall, plan.model_copy(update={"limits": limits}), lambda route: litellm)
            with pytest.raises(StoppedByLimit) as stopped:
                await stage.hold()
            assert exit_code(stopped.value) is Exit.LIMIT
            assert stage.told(RoundStarted)[-1].round == planned.number
            assert_within(provider, name, limit)
            assert stage.paid.spent == stage.journaled == bill(provider.calls)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("recipe", RECIPES)
async def test_door_closes_in_any_round_with_what_is_there(
    provider: Provider,
    litellm: LiteLLM,
    hall: Hall,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    recipe: str,
    name: Name,
) -> None:
    plan = plan_at(provider, recipe, limits=limited(name, PLENTY[name]), on_limit="close")
    needs = await needs_of(Stage(hall, plan, lambda route: litellm), monkeypatch)
    for planned in plan.rounds:
        provider.forget()
        limit = limit_for(planned.number, name, needs)
        with hall_at(tmp_path / str(planned.number)) as hall:
            limits = limited(name, limit)
            stage = Stage(hall, plan.model_copy(update={"limits": limits}), lambda route: litellm)
            if planned.number == 1:
                with pytest.raises(StoppedByLimit):
                    await stage.hold()
                assert provider.calls == []
                continue
            run = await stage.hold()
            assert ended_as(run.debate.state) is Exit.DEGRADED
            assert stage.told(RoundStarted)[-1].round == planned.number
            assert [event.closes for event in stage.told(LimitReached)] == [True]
            record = make_record(run.debate, stage.plan)
            assert record.closed_early == run.debate.notes(About.CLOSED_EARLY)[0].words
            assert render_adr(record, run.debate).split("\n\n")[2].startswith("**CLOSED EARLY:** ")
            assert_within(provider, name, limit)
            assert stage.paid.spent == stage.journaled == bill(provider.calls)


@pytest.mark.parametrize("limit", range(36_000, 50_000, 2_000))
async def test_door_closes_with_the_walls_that_are_there_when_the_second_try_of_one_does_not_fit(
    provider: Provider, litellm: LiteLLM, hall: Hall, limit: int
) -> None:
    def is_first_wall(question: Question) -> bool:
        return question.step == "apply" and question.lens == "attack surface and trust boundaries"

    provider.count = by_bytes
    provider.troubles.append(Trouble("wall-1", is_first_wall, lambda call: cut_off(), once=True))
    plan = plan_at(provider, "fortress", limits=Limits(tokens=limit), on_limit="close")
    run = await Stage(hall, plan, lambda route: litellm).hold()
    assert ended_as(run.debate.state) is Exit.DEGRADED
    assert order(run.debate) in ("WLD", "WLLD", "WLLLD")
    assert_within(provider, "tokens", Decimal(limit))


# --------------------------------------------------------------------------------------------------- scripts and counts

CHINESE = "我们每次只迁移一个表，并且先演练回退的步骤，再决定下一个。"
EMOJI = "🚀🧭🗺️👩‍👩‍👧‍👦🏴󠁧󠁢󠁳󠁣󠁴󠁿 "


def by_bytes(messages: Sequence[tuple[str, str]]) -> int:
    """The dearest tokenizer there can be: a token a byte, and the marks around each message."""
    return sum(8 + len(text.encode()) for _, text in messages)


def in_chinese(call: Call) -> str:
    question = question_of(call)
    told = f"第{call.number}次发言。" + CHINESE * 8
    if question.step == "account":
        return account_text(decision=told)
    return f"VERDICT: APPROVED\n{told}" if question.role is Role.WALL and question.step == "apply" else told


def with_emoji(call: Call) -> str:
    return f"{speaks(call)}\n{EMOJI * 6}"


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(("topic", "say"), [(CHINESE, in_chinese), (EMOJI * 20, with_emoji)], ids=["Chinese", "emoji"])
async def test_scripts_whose_letters_are_many_tokens_do_not_pass_a_limit(
    provider: Provider, litellm: LiteLLM, hall: Hall, topic: str, say: Callable[[Call], str], name: Name
) -> None:
    provider.say, provider.count = say, by_bytes
    stage = Stage(hall, plan_at(provider, "speed", most=2000), lambda route: litellm, topic=topic)
    limit, stops = SMALLEST[name], 0
    while isinstance(ended := await stage.ends(Changes(limits=limited(name, limit))), StoppedByLimit):
        assert_within(provider, name, limit)
        stops, limit = stops + 1, needed(ended, limit)
    assert_within(provider, name, limit)
    assert stops > 1
    assert_decided(ended)
    assert_nothing_was_bought_twice(provider, stage.plan)


async def test_calls_of_a_provider_that_does_not_count_are_taken_at_their_most(
    provider: Provider, litellm: LiteLLM, hall: Hall
) -> None:
    provider.say = lambda call: Answer(speaks(call), counted=False)
    stage = Stage(hall, plan_at(provider, "standard", limits=Limits(tokens=30_000)), lambda route: litellm)
    with pytest.raises(StoppedByLimit):
        await stage.hold()
    assert provider.calls
    assert_within(provider, "tokens", Decimal(30_000))
    assert stage.paid.spent.cost_usd is None
    run = await stage.hold(Changes(limits=Limits(tokens=10**6, cost_usd=Decimal(10))))
    assert ended_as(run.debate.state) is Exit.DECIDED
    assert run.spent.cost_usd is None
    assert make_record(run.debate, stage.plan).cost_usd is None


def test_a_model_without_a_price_is_refused_before_anything_is_asked(provider: Provider, folder: Path) -> None:
    (folder / "here.yaml").write_text(without_prices(provider))
    wanted = Wanted("speed", models="./here.yaml", limits=Limits(cost_usd=Decimal(1)))
    unknown = "no price is known for openai/door-1, openai/wall-1, openai/wind-1"
    with pytest.raises(UsageError, match=unknown) as refused:
        prepare(wanted, {}, folder)
    assert "--assume-price" in refused.value.cure
    assert provider.calls == []
    assert prepare(replace(wanted, limits=Limits(tokens=10**6)), {}, folder).limits.tokens == 10**6


async def test_a_price_that_is_assumed_keeps_the_limit(
    provider: Provider, litellm: LiteLLM, hall: Hall, folder: Path
) -> None:
    (folder / "here.yaml").write_text(without_prices(provider))
    limit = Decimal("0.02")
    wanted = Wanted("standard", models="./here.yaml", limits=Limits(cost_usd=limit), assumed="1/3")
    plan = reseated(prepare(wanted, {}, folder), max_output_tokens=400)
    stage = Stage(hall, plan, lambda route: litellm)
    assert isinstance(await stage.ends(), StoppedByLimit)
    assert provider.calls
    assert_within(provider, "cost_usd", limit)
    assert_decided(await stage.ends(Changes(limits=Limits(cost_usd=Decimal(10)))))


def without_prices(provider: Provider) -> str:
    return re.sub(r"    \w+_cost_per_token: .*\n", "", provider.models_file())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ------------------------------------------------------------------------------------- faults, fallbacks, interruptions

FAULTS: tuple[Callable[[Call], Answer], ...] = (
    lambda call: rate_limited(0),
    lambda call: server_error(),
    lambda call: wrong_key(),
    lambda call: content_policy(),
    lambda call: context_too_long(),
    lambda call: cut_off(),
    lambda call: empty(),
    lambda call: web_page(),
    lambda call: broken_json(),
    lambda call: Answer("One table at a time."),
    lambda call: Answer("I can", finish_reason="content_filter"),
    lambda call: Answer(speaks(call), torn=True),
    lambda call: Answer(speaks(call), drop=True),
    lambda call: Answer(speaks(call), counted=False),
)
DEAR = {f"{role.lower()}-2": 10 for role in Role}


@pytest.mark.parametrize("seed", range(30))
async def test_no_fault_fallback_or_interruption_takes_a_run_past_its_limit(
    litellm: LiteLLM, hall: Hall, seed: int
) -> None:
    """Whatever comes of a call, and whenever its process is interrupted; each role falls back to a dear model.

    A token a byte and answers about as long as they may be leave the reckoning no slack.
    """
    random = Random(seed)
    name, recipe = random.choice(BOTH), random.choice(RECIPES[:2] + RECIPES[3:])
    faulty = random.uniform(0.05, 0.4)

    def say(call: Call) -> str | Answer:
        return random.choice(FAULTS)(call) if random.random() < faulty else speaks(call)

    with Provider(say, DEAR) as provider:
        provider.count = by_bytes
        plan = plan_at(provider, recipe, most=700, on_limit=random.choice(("stop", "close")))
        plan = with_spares(plan, provider)
        stage = Stage(hall, plan, lambda route: litellm)
        limit = Decimal(random.uniform(0.1, 1)) * plan.calls * (10_000 if name == "tokens" else Decimal("0.015"))
        for attempt in count(1):
            faulty = faulty if attempt < 8 else 0
            ended = await interrupted(stage, Changes(limits=limited(name, limit)), random.choice((5, 20, 10**6)))
            assert_within(provider, name, limit)
            if isinstance(ended, Run):
                break
            limit *= 2 if isinstance(ended, StoppedByLimit) else 1
    assert ended_as(ended.debate.state) in (Exit.DECIDED, Exit.DEGRADED)


def with_spares(plan: Plan, provider: Provider) -> Plan:
    for role in Role:
        routes = (f"openai/{role.lower()}-1", f"openai/{role.lower()}-2")
        plan = reseated(plan, lambda seat, role=role: seat.role is role, routes=routes)
    endpoints = {route: provider.endpoint(route.removeprefix("openai/")) for route in plan.routes}
    return plan.model_copy(update={"endpoints": endpoints})


async def interrupted(stage: Stage, changes: Changes, after: int) -> Run | RunPaused | None:
    """Holds the debate, and cancels it after so many events; None when that came first."""
    told = count(1)
    with anyio.CancelScope() as scope:
        stage.read = lambda event: scope.cancel() if next(told) == after else None
        return await stage.ends(changes)
    return None
