"""Whatever ends a run early ends its calls too: the provider sees each caller go, and nothing is written after."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from provider import Provider, Question, Stage, Trouble, answered, bill, plan_at, speaks

from building import THREAD, hall_at, order
from endpoint import Answer, Call, rate_limited, stalled
from orchestrator.cli.ending import Exit, ended_as, exit_code
from orchestrator.errors import RunPaused, StoppedByLimit
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Outcome
from orchestrator.hall.terms import Role
from orchestrator.models.litellm import LiteLLM
from orchestrator.plan import Changes
from orchestrator.recipe import Limits
from orchestrator.runner import Run
from orchestrator.taking_up import NO_CHANGES

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.xdist_group("litellm")]

AT_ONCE = 4  # FORTRESS begins with a Wind and three checklists
SLACK_S = 2.0  # for a busy machine


class Silence:
    """Models that are asked and never answer.

    Args:
        after: how many calls are answered before.
    """

    def __init__(self, after: int = 0) -> None:
        self._after = after
        self._asked = threading.Semaphore(0)

    def __call__(self, call: Call) -> str | Answer:
        if call.number <= self._after:
            return speaks(call)
        self._asked.release()
        return stalled()

    async def until_asked(self, calls: int) -> None:
        await happens(self._asked, calls)


async def happens(what: threading.Semaphore, times: int) -> None:
    """Waits until something has happened so often."""
    for _ in range(times):
        assert await anyio.to_thread.run_sync(what.acquire, True, 10)


@pytest.fixture
def stage(provider: Provider, litellm: LiteLLM, hall: Hall) -> Stage:
    return Stage(hall, plan_at(provider, "fortress"), lambda route: litellm)


def outcomes(hall: Hall) -> int:
    return sum(isinstance(line.record, Outcome) for line in hall.journal(THREAD))


async def assert_ended_with_its_calls(provider: Provider, hall: Hall, calls: int, answered: int = 0) -> None:
    """The provider sees every caller go away; what was not answered has no outcome."""
    with anyio.fail_after(10):
        await happens(provider.left, calls)
    assert [call.gone for call in provider.calls] == [False] * answered + [True] * calls
    assert outcomes(hall) == answered


async def assert_goes_on(provider: Provider, stage: Stage, changes: Changes = NO_CHANGES) -> None:
    """Only what was under way is asked again; it is told, and counted as nobody knows it."""
    under_way = [call.messages for call in provider.calls if call.gone]
    provider.say = speaks
    run = await stage.hold(changes)
    assert ended_as(run.debate.state) is Exit.DECIDED
    assert len(run.uncertain) == len(under_way)
    assert len(provider.calls) == stage.plan.calls + len(under_way)
    assert len({call.messages for call in provider.calls if not call.gone}) == stage.plan.calls
    assert run.spent == stage.journaled == bill(provider.calls)


@pytest.mark.parametrize("before", [0, AT_ONCE, 2 * AT_ONCE - 1])
async def test_ctrl_c_ends_the_calls(provider: Provider, stage: Stage, before: int) -> None:
    at_once = {0: AT_ONCE, AT_ONCE: 3, 2 * AT_ONCE - 1: 1}[before]
    await interrupt(provider, stage, at_once, before)
    await assert_ended_with_its_calls(provider, stage.hall, at_once, before)
    await assert_goes_on(provider, stage)


async def interrupt(
    provider: Provider, stage: Stage, at_once: int, before: int = 0, changes: Changes = NO_CHANGES
) -> None:
    """Cancels the run when so many calls are under way."""
    provider.say = silence = Silence(before)
    async with anyio.create_task_group() as group:
        group.start_soon(stage.ends, changes)
        await silence.until_asked(at_once)
        group.cancel_scope.cancel()


async def test_calls_that_were_under_way_count_at_their_most_when_the_run_goes_on(
    provider: Provider, stage: Stage
) -> None:
    await interrupt(provider, stage, AT_ONCE)
    at_most = sum(intent.tokens for intent in stage.intents)
    limit = Changes(limits=Limits(tokens=at_most * 5 // 2))
    await interrupt(provider, stage, AT_ONCE, changes=limit)
    assert isinstance(await stage.ends(limit), StoppedByLimit)
    assert len(provider.calls) == 2 * AT_ONCE
    await assert_goes_on(provider, stage, Changes(limits=Limits(tokens=10**6)))


async def test_force_close_from_elsewhere_ends_the_calls_and_nothing_is_written_after(
    provider: Provider, stage: Stage, tmp_path: Path
) -> None:
    provider.say = silence = Silence(AT_ONCE)
    with hall_at(tmp_path / "state") as elsewhere:
        ended = await ends_when(stage, silence, lambda: elsewhere.force_close_debate(THREAD, "Enough."))
        assert isinstance(ended, Run)
        assert ended_as(ended.debate.state) is Exit.NO_CONSENSUS
        assert ended.debate.closing is not None
        assert ended.debate.closing.words == "Enough."
        assert ended.debate.lines[-1] == ended.debate.closing == elsewhere.debate(THREAD).lines[-1]
        await assert_ended_with_its_calls(provider, elsewhere, 3, AT_ONCE)


async def test_a_request_to_stop_ends_the_calls_and_the_run_can_go_on(
    provider: Provider, stage: Stage, tmp_path: Path
) -> None:
    provider.say = silence = Silence(AT_ONCE)
    with hall_at(tmp_path / "state") as elsewhere:
        ended = await ends_when(stage, silence, lambda: elsewhere.runs.stop(THREAD, "Lunch."))
    assert isinstance(ended, RunPaused)
    assert exit_code(ended) is Exit.PAUSED
    assert "Lunch." in ended.message
    await assert_ended_with_its_calls(provider, stage.hall, 3, AT_ONCE)
    await assert_goes_on(provider, stage)


async def ends_when(stage: Stage, silence: Silence, ask: Callable[[], object]) -> Run | RunPaused:
    """Holds the debate, asks something of it while the three Walls speak, and returns how it ended."""
    ended: list[Run | RunPaused] = []

    async def hold() -> None:
        ended.append(await stage.ends())

    async with anyio.create_task_group() as group:
        group.start_soon(hold)
        await silence.until_asked(3)
        await anyio.to_thread.run_sync(ask)
    return ended[0]


async def test_a_call_that_takes_too_long_is_ended(provider: Provider, stage: Stage) -> None:
    provider.say = Silence(AT_ONCE)
    stage.plan = stage.plan.model_copy(update={"timeout_s": 0.3})
    ended = await stage.ends()
    assert isinstance(ended, RunPaused)
    assert "no answer in time" in ended.message
    with anyio.fail_after(10):
        await happens(provider.left, 3 * 2)  # each is asked twice


# ------------------------------------------------------------------------------------------------------ the time limit


@pytest.mark.parametrize("before", [0, AT_ONCE, 2 * AT_ONCE - 1])
async def test_the_time_limit_ends_the_calls(provider: Provider, stage: Stage, before: int) -> None:
    provider.say = Silence(before)
    ended = await in_time(stage, 1.2)
    assert isinstance(ended, StoppedByLimit)
    assert (exit_code(ended), ended.limit) == (Exit.LIMIT, "seconds")
    await assert_ended_with_its_calls(provider, stage.hall, len(provider.calls) - before, before)
    again = await stage.ends()
    assert isinstance(again, StoppedByLimit), "the time of all processes counts"
    await assert_goes_on(provider, stage, Changes(limits=Limits(seconds=300)))


async def in_time(stage: Stage, seconds: float) -> Run | RunPaused:
    began = anyio.current_time()
    ended = await stage.ends(Changes(limits=Limits(seconds=seconds)))
    assert anyio.current_time() - began < seconds + SLACK_S
    return ended


@pytest.mark.parametrize("seconds", [0.5, 1.0, 1.5])
async def test_a_slow_provider_does_not_keep_a_run_past_its_time(
    provider: Provider, stage: Stage, seconds: float
) -> None:
    """FORTRESS has six batches, one after the other, so that it takes 1.8 seconds at least."""
    provider.latency_s = 0.3
    assert isinstance(await in_time(stage, seconds), StoppedByLimit)
    provider.latency_s = 0
    run = await stage.hold(Changes(limits=Limits(seconds=300)))
    assert ended_as(run.debate.state) is Exit.DECIDED
    bought_twice = len(answered(provider.calls)) - stage.plan.calls
    assert 0 <= bought_twice <= len(run.uncertain)  # answered at the very moment in which they were cut off


@pytest.mark.parametrize(
    ("number", "role", "step", "spoken"),
    [
        (1, Role.WALL, "checklist", "WLD"),
        (1, Role.WALL, "apply", "WLD"),
        (1, Role.DOOR, "turn", "WLD"),
        (2, Role.WIND, "turn", "WLD"),
        (2, Role.WALL, "apply", "WLD · WLD"),
        (4, Role.WALL, "checklist", "WLD · WLD · WLD · WLD"),
    ],
)
async def test_door_closes_in_the_time_that_is_kept_for_it(
    provider: Provider, litellm: LiteLLM, hall: Hall, number: int, role: Role, step: str, spoken: str
) -> None:
    """A call that never ends is cut off while there is time for a Wall and a Door, whichever call it is."""

    def is_it(question: Question) -> bool:
        return (question.round, question.role, question.step) == (number, role, step)

    provider.troubles.append(Trouble(f"{role.lower()}-1", is_it, lambda call: stalled(), once=True))
    stage = Stage(hall, plan_at(provider, "standard", on_limit="close"), lambda route: litellm)
    ended = await in_time(stage, 2.4)
    assert isinstance(ended, Run), ended
    assert (order(ended.debate), ended_as(ended.debate.state)) == (spoken, Exit.DEGRADED)
    await happens(provider.left, 1)


async def test_a_wait_that_is_longer_than_the_time_left_is_not_begun(provider: Provider, stage: Stage) -> None:
    provider.say = lambda call: rate_limited(60)
    ended = await in_time(stage, 10)
    assert isinstance(ended, StoppedByLimit)
    assert len(provider.calls) == AT_ONCE
