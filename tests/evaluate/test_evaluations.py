"""Evaluations: within the limit whatever is said, gone on with wherever they died, replayed to the same bytes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from answering import Voices, answer, held, prepared, reached, replayed

from orchestrator.budget import Budget
from orchestrator.errors import AuthenticationFailed, CutOff, LimitMet, RateLimited
from orchestrator.evaluate import recording
from orchestrator.evaluate.cassette import FILE, Cassette
from orchestrator.evaluate.evaluation import evaluate
from orchestrator.evaluate.preparing import Evaluation
from orchestrator.evaluate.recording import Live, Purse
from orchestrator.evaluate.results import Results
from orchestrator.hall.terms import Role
from orchestrator.models.base import Message, Request, Task
from orchestrator.recipe import Limits
from orchestrator.usage import Usage

pytestmark = pytest.mark.anyio

TASK = Task("answer", Role.DOOR, "alone", None, 1, 1, False, "What now?")
REQUEST = Request("openai/gpt-4.1", (Message("user", "What now?"),), TASK, 400, 30.0)
ARMS = ("single", "refine", "majority", "recipe:speed")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any], int]:
    """The folder of an evaluation that nothing interrupted, what it reached, and how many calls it took."""
    folder, voices = tmp_path_factory.mktemp("whole"), Voices()
    evaluated = anyio.run(held, prepared(arms=ARMS), folder, voices)
    return folder, reached(evaluated), len(voices.requests)


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]


# ------------------------------------------------------------------------------------------------------------ replaying


async def test_a_replay_asks_nothing_and_gives_the_same_bytes(tmp_path: Path) -> None:
    evaluation = prepared("001", "002", arms=ARMS, repeats=2)
    first = await held(evaluation, tmp_path, Voices())
    before = (tmp_path / FILE).read_bytes()
    second = await replayed(evaluation, tmp_path)
    assert second.results.text == first.results.text
    assert (second.changed, second.unrecorded, second.results.missing) == ((), (), 0)
    assert (tmp_path / FILE).read_bytes() == before
    assert Results.model_validate_json(first.results.text) == first.results


async def test_held_again_it_asks_nothing_either(tmp_path: Path) -> None:
    evaluation, voices = prepared(arms=ARMS), Voices()
    first = await held(evaluation, tmp_path, voices)
    asked = len(voices.requests)
    assert (await held(evaluation, tmp_path, voices)).results.text == first.results.text
    assert len(voices.requests) == asked


async def test_repetitions_are_asked_anew(tmp_path: Path) -> None:
    voices = Voices()
    evaluated = await held(prepared(arms=("single",), repeats=3), tmp_path, voices)
    assert len(voices.requests) == 3
    assert [result.repeat for result in evaluated.results.results] == [1, 2, 3]


async def test_failures_and_what_was_sent_back_are_replayed_too(tmp_path: Path) -> None:
    def stumbles(request: Request) -> None:
        if request.task.step == "checklist" and len(request.messages) == 3:
            raise CutOff("It stopped.", model=request.model, usage=Usage(50, 0, 50, Decimal("0.001")), text="I beg")
        if request.task.round == 2:
            raise AuthenticationFailed("No such key.", model=request.model)

    evaluation = prepared(arms=("recipe:speed", "majority:door"))
    first = await held(evaluation, tmp_path, Voices(before=stumbles))
    assert [result.outcome for result in first.results.results] == ["answered", "answered"]
    assert (await replayed(evaluation, tmp_path)).results.text == first.results.text


async def test_what_failed_for_nothing_is_asked_again_and_what_was_paid_for_is_not(tmp_path: Path) -> None:
    evaluation = prepared(arms=("single", "single:wall"))

    def refuses(request: Request) -> None:
        if request.task.role == "Door":
            raise AuthenticationFailed("No such key.", model=request.model)

    first = await held(evaluation, tmp_path, Voices(before=refuses))
    assert [result.outcome for result in first.results.results] == ["failed", "answered"]
    assert (await replayed(evaluation, tmp_path)).results.text == first.results.text
    voices = Voices()
    second = await held(evaluation, tmp_path, voices)
    assert [result.outcome for result in second.results.results] == ["answered", "answered"]
    assert [request.task.role for request in voices.requests] == ["Door"]


# -------------------------------------------------------------------------------------------------- what changed


def with_protocol(evaluation: Evaluation, protocol: str) -> Evaluation:
    plans = {name: plan.model_copy(update={"protocol": protocol}) for name, plan in evaluation.plans.items()}
    return replace(evaluation, plans=plans)


async def test_a_changed_prompt_shows_which_calls_differ(tmp_path: Path) -> None:
    evaluation = prepared(arms=("single", "recipe:speed"))
    first = await held(evaluation, tmp_path, Voices())
    changed = with_protocol(evaluation, "Debate.")
    again = await replayed(changed, tmp_path)
    assert [str(place) for place in again.changed] == [
        "001-parcel-scan-events recipe:speed 1: round 1 Wall wall-agent: checklist",
        "001-parcel-scan-events recipe:speed 1: round 1 Wind wind-agent: turn",
    ]
    assert again.unrecorded[0].endswith("another request was recorded there.")
    assert (again.results.missing, again.results.results) == (1, first.results.of("single"))
    voices = Voices()
    asked = await held(changed, tmp_path, voices)
    assert len(voices.requests) == 6
    assert {place.step for place in asked.changed} == {
        f"round 1 {who}"
        for who in (
            "Wind wind-agent: turn",
            "Wall wall-agent: checklist",
            "Wall wall-agent: apply",
            "Door door-agent: turn",
            "Door door-agent: account",
            "Door alone: answer",
        )
    }
    assert asked.results.of("single") == first.results.of("single")


async def test_arms_that_equal_a_recipe_wait_until_it_is_known_what_it_takes(tmp_path: Path) -> None:
    evaluation = prepared(arms=("recipe:speed", "majority"))
    first = await held(evaluation, tmp_path, Voices())
    again = await replayed(with_protocol(evaluation, "Debate."), tmp_path)
    assert (again.results.missing, again.results.results) == (2, ())
    assert (first.results.missing, len(first.results.results)) == (0, 2)


async def test_what_was_never_recorded_is_told_as_that(tmp_path: Path) -> None:
    await held(prepared(arms=("single",)), tmp_path, Voices())
    again = await replayed(prepared("001", "002", arms=("single",)), tmp_path)
    assert again.unrecorded == (
        "002-settlement-feed single 1: round 1 Door alone: answer: nothing was recorded there.",
    )
    assert (again.changed, again.results.missing) == ((), 1)


# ------------------------------------------------------------------------------------------------------ going on


async def test_wherever_it_died_it_goes_on_and_buys_nothing_twice(
    whole: tuple[Path, list[Any], int], tmp_path: Path
) -> None:
    folder, results, _ = whole
    lines = (folder / FILE).read_bytes().splitlines(keepends=True)
    for kept in range(0, len(lines), 11):
        place = tmp_path / str(kept)
        place.mkdir()
        (place / FILE).write_bytes(b"".join(lines[:kept]) + lines[kept][:40])  # the last was being written
        heard = sum(json.loads(line)["kind"] == "replied" for line in lines[:kept])
        voices = Voices()
        evaluated = await held(prepared(arms=ARMS), place, voices)
        assert reached(evaluated) == results
        assert len(voices.requests) == len(lines) // 2 - heard
        shutil.rmtree(place)


async def test_who_is_cancelled_in_the_middle_has_lost_no_reply(
    whole: tuple[Path, list[Any], int], tmp_path: Path
) -> None:
    _, results, calls = whole
    scope = anyio.CancelScope()

    def interrupts(request: Request) -> None:
        if len(voices.requests) == 7:
            scope.cancel()

    voices = Voices(before=interrupts)
    with scope:
        await held(prepared(arms=ARMS), tmp_path, voices)
    assert scope.cancelled_caught
    heard = sum(line["kind"] == "replied" for line in lines_of(tmp_path))
    assert heard >= 7
    later = Voices()
    assert reached(await held(prepared(arms=ARMS), tmp_path, later)) == results
    assert len(later.requests) == calls - heard


# ----------------------------------------------------------------------------------------------------- the limit


def spent_in(folder: Path) -> Decimal:
    return sum(
        (Decimal(line["usage"]["cost_usd"]) for line in lines_of(folder) if line["kind"] == "replied"), Decimal(0)
    )


@pytest.mark.parametrize("limit", ["0.001", "0.02", "0.05", "0.08"])
async def test_the_limit_is_never_passed_and_a_higher_one_goes_on_to_the_same_end(
    limit: str, whole: tuple[Path, list[Any], int], tmp_path: Path
) -> None:
    _, results, calls = whole
    voices = Voices()
    evaluated = await held(prepared(arms=ARMS, limit_usd=Decimal(limit)), tmp_path, voices, parallel=8)
    assert spent_in(tmp_path) <= Decimal(limit)
    assert evaluated.met is not None
    assert "Raise --limit-usd" in str(evaluated.met)
    assert evaluated.results.missing > 0
    assert [result for result in reached(evaluated) if result not in results] == []  # none was cut short by it
    later = Voices()
    assert reached(await held(prepared(arms=ARMS), tmp_path, later)) == results
    assert len(voices.requests) + len(later.requests) == calls


async def test_a_debate_that_would_close_early_at_the_limit_counts_as_none(tmp_path: Path) -> None:
    evaluation = prepared(arms=("recipe:standard",), limit_usd=Decimal("0.12"))
    plan = evaluation.plans["standard"]
    closing = plan.model_copy(update={"recipe": plan.recipe.model_copy(update={"on_limit": "close"})})
    evaluated = await held(replace(evaluation, plans={"standard": closing}), tmp_path, Voices())
    assert evaluated.met is not None
    assert evaluated.results.results == ()


async def test_calls_of_unknown_outcome_count_at_their_bound(
    whole: tuple[Path, list[Any], int], tmp_path: Path
) -> None:
    folder, _, _ = whole
    first = (folder / FILE).read_bytes().splitlines(keepends=True)[0]
    (tmp_path / FILE).write_bytes(first)
    bound = Decimal(json.loads(first)["cost_usd"])
    evaluated = await held(prepared(arms=("single",), limit_usd=bound), tmp_path, voices := Voices())
    assert (evaluated.met is not None, voices.requests) == (True, [])


async def test_what_does_not_fit_beside_calls_under_way_waits_for_them() -> None:
    request = REQUEST
    bound = Budget().bound_of(request).cost_usd
    assert bound is not None
    purse = Purse(Budget(Limits(cost_usd=bound * 2)))
    taken = [await purse.reserve(request), await purse.reserve(request)]
    order: list[str] = []

    async def third() -> None:
        await purse.reserve(request)
        order.append("reserved")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(third)
            await anyio.wait_all_tasks_blocked()
            order.append("settled")
            purse.settle(request, taken[0], None, charged=False)
    assert order == ["settled", "reserved"]


async def test_what_fits_nowhere_is_refused_at_once() -> None:
    with anyio.fail_after(5), pytest.raises(LimitMet):
        await Purse(Budget(Limits(cost_usd=Decimal("0.000001")))).reserve(REQUEST)


# --------------------------------------------------------------------------------------------------------- side by side


@pytest.mark.parametrize("parallel", [1, 3])
async def test_as_many_arms_are_at_work_as_may_be(parallel: int, tmp_path: Path) -> None:
    """The calls of so many arms meet before any is answered; one more would never come."""
    under_way: list[Request] = []
    most = 0
    met = anyio.Event()

    class Meeting(Voices):
        async def complete(self, request: Request) -> Any:
            nonlocal most
            under_way.append(request)
            most = max(most, len(under_way))
            if len(under_way) == parallel:
                met.set()
            await met.wait()
            reply = await super().complete(request)
            under_way.remove(request)
            return reply

    ids = ("001", "002", "003", "004")
    await held(prepared(*ids, arms=("single",)), tmp_path, Meeting(), parallel)
    assert most == parallel


async def test_a_rate_limit_is_waited_out_and_the_seconds_of_waiting_are_not_counted(tmp_path: Path) -> None:
    def busy(request: Request) -> None:
        if len(voices.requests) == 1:
            raise RateLimited("Later.", model=request.model, retry_after=0.2)

    voices = Voices(lambda request: answer("B"), busy)
    (result,) = (await held(prepared(arms=("single",)), tmp_path, voices)).results.results
    assert (result.outcome, result.spent.calls) == ("answered", 2)
    assert result.spent.seconds < 0.2


async def test_what_has_to_be_loaded_first_is_no_time_of_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, loaded = [1000.0], list[str]()

    def load(routes: Sequence[str]) -> None:
        now[0] += 60
        loaded.extend(routes)

    monkeypatch.setattr(recording.time, "time", lambda: now[0])
    evaluation = prepared(arms=("single",))
    with Cassette.recording(tmp_path) as cassette:
        live = Live(Voices().of, Purse(Budget(evaluation.limits, cassette.spent)), load)
        (result,) = (await evaluate(evaluation, cassette, live, 1)).results.results
    assert (loaded, result.spent.seconds) == (["openai/gpt-4.1"], 0.0)


async def test_seconds_are_those_in_which_a_call_was_under_way(tmp_path: Path) -> None:
    evaluation = prepared(arms=("majority:door",), equal_to="speed")
    await held(evaluation, tmp_path, Voices())
    spans = {1: (0.0, 2.0), 2: (1.0, 3.0), 3: (10.0, 1.0)}  # two that overlap, then those within the third
    lines = lines_of(tmp_path)
    assert len(lines) >= 8
    for line in lines:
        began, seconds = spans.get(line["number"], (10.25, 0.5))
        line.update({"began": began} if line["kind"] == "asked" else {"seconds": seconds})
    (tmp_path / FILE).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (result,) = (await replayed(evaluation, tmp_path)).results.results
    assert result.spent.seconds == 4.0 + 1.0
