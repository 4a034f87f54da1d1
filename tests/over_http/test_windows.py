"""A provider that can read so much and no more, by its own count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from provider import Provider, Stage, bill, plan_at, question_of, reseated, speaks

from building import THREAD, evidence_of, hall_at, turns_of
from endpoint import Answer, Call, context_too_long, tokens
from orchestrator.cli.ending import Exit, ended_as
from orchestrator.decision.record import make_record
from orchestrator.errors import RunPaused
from orchestrator.events import FellBack, Summarised
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import About, Role
from orchestrator.models.litellm import LiteLLM
from orchestrator.plan import Plan
from orchestrator.runner import Run

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.xdist_group("litellm")]

MODELS = {role: f"{role.lower()}-1" for role in Role}


def same_words(call: Call) -> str:
    """What is said does not depend on how many calls were made before."""
    question = question_of(call)
    return speaks(call).replace(f"call {call.number}", f"call {question.round}")


def reads(
    window: int, model: str, say: Callable[[Call], str] = same_words, *, account: int = 10**6
) -> Callable[[Call], str | Answer]:
    """One of the models reads no more than so many tokens, when it accounts for the decision no more than `account`: it
    is asked with a schema that is longer than these debates."""

    def answer(call: Call) -> str | Answer:
        most = account if question_of(call).step == "account" else window
        return context_too_long() if call.model == model and tokens(call.messages) > most else say(call)

    return answer


def asked(provider: Provider, model: str) -> list[Call]:
    return [call for call in provider.calls if call.model == model]


def turns_asked(provider: Provider, model: str) -> int:
    return sum(question_of(call).step == "turn" for call in asked(provider, model))


@contextmanager
def staged(provider: Provider, litellm: LiteLLM, folder: Path, plan: Plan) -> Iterator[Stage]:
    provider.forget()
    with hall_at(folder) as hall:
        yield Stage(hall, plan, lambda route: litellm)


# ------------------------------------------------------------------------------------------------------------ summaries


@pytest.mark.parametrize(
    ("role", "window", "summarised"),
    [
        (Role.WIND, 1500, {"R3.Wind.1": 3, "R4.Wind.1": 5}),
        (Role.WALL, 1650, {"R3.Wall.1": 4, "R4.Wall.1": 5}),
        (Role.DOOR, 1700, {"R3.Door.1": 4, "R4.Door.1": 6}),
    ],
)
async def test_the_oldest_turns_are_summarised_for_the_seat_that_cannot_read_them_and_for_nobody_else(
    provider: Provider, litellm: LiteLLM, tmp_path: Path, role: Role, window: int, summarised: dict[str, int]
) -> None:
    plan, model = plan_at(provider, "standard"), MODELS[role]
    provider.say = same_words
    with staged(provider, litellm, tmp_path / "wide", plan) as stage:
        await stage.hold()
        others = {name: prompts(provider, name) for name in MODELS.values() if name != model}
    provider.say = reads(window, model)
    with staged(provider, litellm, tmp_path / "narrow", plan) as stage:
        run = await stage.hold()
        assert {name: prompts(provider, name) for name in others} == others
        seats = [turn.seat for turn in turns_of(run.debate) if turn.seat]
        assert {seat.slot: seat.summarised for seat in seats if seat.summarised} == summarised
        assert {(event.slot, event.model) for event in stage.told(Summarised)} == {
            (slot, f"openai/{model}") for slot in summarised
        }
        assert_told_in_the_record(run, stage.plan, summarised)
        assert_summaries_are_on_the_bill(provider, stage)


def prompts(provider: Provider, model: str) -> list[tuple[tuple[str, str], ...]]:
    return [call.messages for call in asked(provider, model)]


def assert_told_in_the_record(run: Run, plan: Plan, summarised: dict[str, int]) -> None:
    assert ended_as(run.debate.state) is Exit.DECIDED
    record = make_record(run.debate, plan)
    told = [warning for warning in record.warnings if "read a summary" in warning]
    assert [warning.rpartition(": ")[2] for warning in told] == [
        f"its model could not read all turns; of T1 to T{turns} it read a summary." for turns in summarised.values()
    ]
    assert all("context_too_long" in failed for attempts in record.attempts for failed in attempts.failed)
    assert len(record.attempts) == len(summarised)


def assert_summaries_are_on_the_bill(provider: Provider, stage: Stage) -> None:
    """Each is bought once, also where a checklist and the turn after it are written from the same one."""
    bought = [intent.slot for intent in stage.intents if intent.step == "summary"]
    assert sorted(bought) == sorted(slot for slot, _ in {(event.slot, event.turns) for event in stage.told(Summarised)})
    assert stage.paid.spent == stage.journaled == bill(provider.calls)


async def test_where_the_oldest_half_is_not_enough_all_turns_but_the_newest_are_summarised(
    provider: Provider, litellm: LiteLLM, tmp_path: Path
) -> None:
    def say(call: Call) -> str:
        question = question_of(call)
        long = "\nOne table moves at a time, and the next one waits." * 40
        return same_words(call) + (long if (question.round, question.role) == (2, Role.WIND) else "")

    plan = plan_at(provider, "standard", most=2000, turns=6, ratio={"wind": 2, "wall": 2, "door": 2})
    provider.say = reads(1600, "door-1", say)
    with staged(provider, litellm, tmp_path, plan) as stage:
        run = await stage.hold()
        assert [(event.slot, event.turns) for event in stage.told(Summarised)] == [("R2.Door.1", 3), ("R2.Door.1", 4)]
        assert_told_in_the_record(run, stage.plan, {"R2.Door.1": 4})
        assert_summaries_are_on_the_bill(provider, stage)


async def test_the_oldest_turns_are_summarised_for_the_account_too(
    provider: Provider, litellm: LiteLLM, hall: Hall
) -> None:
    provider.say = reads(3000, "door-1", account=3200)
    stage = Stage(hall, plan_at(provider, "standard"), lambda route: litellm)
    run = await stage.hold()
    assert [(event.slot, event.turns) for event in stage.told(Summarised)] == [("R4.Door.account", 6)]
    assert [(question_of(call).step) for call in asked(provider, "door-1")[4:]] == ["account", "summary", "account"]
    assert ended_as(run.debate.state) is Exit.DECIDED
    (note,) = run.debate.notes(About.ACCOUNT)
    assert note.note.seat is not None
    assert note.note.seat.summarised == 6
    record = make_record(run.debate, stage.plan)
    assert (record.summary, record.incomplete) == ("It is done step by step.", ())
    assert [(attempts.slot, attempts.failed) for attempts in record.attempts] == [
        ("R4.Door.account", ("openai/door-1: context_too_long",))
    ]
    assert_summaries_are_on_the_bill(provider, stage)


async def test_evidence_that_no_model_of_a_seat_can_read_pauses_the_run_with_the_cure(
    provider: Provider, litellm: LiteLLM, hall: Hall
) -> None:
    plan = plan_at(provider, "speed", evidence=[evidence_of("One table moves at a time.\n" * 500)])
    provider.say = reads(2000, "door-1")
    stage = Stage(hall, plan, lambda route: litellm)
    with pytest.raises(RunPaused, match=r"R1\.Door\.1") as paused:
        await stage.hold()
    assert paused.value.cure.startswith("Attach less context")
    assert len(hall.debate(THREAD).turns) == 2
    assert [question_of(call).step for call in asked(provider, "door-1")] == ["turn", "summary", "turn"]
    provider.say = same_words
    assert ended_as((await stage.hold()).debate.state) is Exit.DECIDED
    assert stage.paid.spent == stage.journaled == bill(provider.calls)


# ---------------------------------------------------------------------------------------------- a model that reads more


async def test_of_the_further_models_only_one_that_reads_more_is_asked(
    provider: Provider, litellm: LiteLLM, hall: Hall
) -> None:
    windows = {"door-1": 1600, "small": 1000, "as-small": 1600, "large": 9000}
    plan = reseated(
        plan_at(provider, "standard"),
        lambda seat: seat.role is Role.DOOR,
        routes=tuple(f"openai/{model}" for model in windows),
    )
    endpoints = {f"openai/{model}": provider.endpoint(context_tokens=window) for model, window in windows.items()}
    provider.say = reads(windows["door-1"], "door-1")
    stage = Stage(hall, plan.model_copy(update={"endpoints": {**plan.endpoints, **endpoints}}), lambda route: litellm)
    run = await stage.hold()
    assert [turns_asked(provider, model) for model in windows] == [4, 0, 0, 2]
    assert stage.told(Summarised) == []
    record = make_record(run.debate, stage.plan)
    assert [(change.turn, change.answered) for change in record.substitutions] == [(9, "large"), (12, "large")]
    assert {change.why for change in record.substitutions} == {("openai/door-1: context_too_long",)}
    assert stage.paid.spent == stage.journaled == bill(provider.calls)


async def test_a_model_whose_window_nobody_knows_is_asked_too(provider: Provider, litellm: LiteLLM, hall: Hall) -> None:
    plan = reseated(
        plan_at(provider, "speed"), lambda seat: seat.role is Role.DOOR, routes=("openai/door-1", "openai/unknown")
    )
    endpoints = {**plan.endpoints, "openai/unknown": provider.endpoint(context_tokens=None)}
    provider.say = reads(1000, "door-1")
    stage = Stage(hall, plan.model_copy(update={"endpoints": endpoints}), lambda route: litellm)
    await stage.hold()
    assert [(event.to, event.step) for event in stage.told(FellBack)] == [("openai/unknown", "turn")]
    assert turns_asked(provider, "unknown") == 1
