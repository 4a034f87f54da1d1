"""A debate whose models stream: the turns, tokens and cost of whole answers; and streams that break, over real HTTP."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from provider import Provider, Question, Stage, Trouble, bill, plan_at, speaks

from building import hall_at, order, turns_of
from endpoint import Answer, Call, cut_off
from orchestrator.decision.record import make_record
from orchestrator.events import DraftDelta, DraftFinished, LeftOut, Retried, SentBack
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role
from orchestrator.models.litellm import LiteLLM
from orchestrator.models.streaming import STALL_S
from orchestrator.plan import Plan
from orchestrator.runner import Run

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.xdist_group("litellm")]

TAKES_BACK = ("draft_started", "retried", "sent_back", "fell_back", "draft_failed")


def thinks(call: Call) -> Answer:
    """The same whichever call it is, and thought before it was said."""
    return Answer(str(speaks(replace(call, number=1))), thinking="Let me think of it.")


def asked_so(plan: Plan, **changes: object) -> Plan:
    endpoints = {route: replace(endpoint, **changes) for route, endpoint in plan.endpoints.items()}  # type: ignore[arg-type]
    return plan.model_copy(update={"endpoints": endpoints})


def stage_of(hall: Hall, provider: Provider, litellm: LiteLLM, **changes: object) -> Stage:
    return Stage(hall, asked_so(plan_at(provider, "speed"), **changes), lambda route: litellm)


def held_of(stage: Stage) -> dict[tuple[str, str], str]:
    """What a reader holds in the end of each draft, who takes back what is to be taken back."""
    held: dict[tuple[str, str], str] = {}
    for event in stage.events:
        key = (getattr(event, "slot", ""), getattr(event, "step", ""))
        if isinstance(event, DraftDelta):
            held[key] = held.get(key, "") + event.text
        elif event.type in TAKES_BACK:
            held.pop(key, None)
    return held


def finished(stage: Stage) -> dict[tuple[str, str], DraftFinished]:
    return {(event.slot, event.step): replace(event, seconds=0) for event in stage.told(DraftFinished)}


def texts(run: Run) -> list[str]:
    return [said.text for said in run.debate.turns]


async def test_a_debate_that_streams_is_the_debate_that_does_not(
    hall: Hall, provider: Provider, litellm: LiteLLM, tmp_path: Path
) -> None:
    provider.say = thinks
    streamed = stage_of(hall, provider, litellm, stream=True)
    run = await streamed.hold()
    assert all(call.body["stream"] for call in provider.calls)
    assert replace(run.spent, thinking=0) == bill(provider.calls)
    provider.forget()
    with hall_at(tmp_path / "whole") as other:
        whole = stage_of(other, provider, litellm)
        plain = await whole.hold()
    assert not any("stream" in call.body for call in provider.calls)
    assert texts(run) == texts(plain)
    assert run.spent == plain.spent
    assert finished(streamed) == finished(whole)
    assert whole.told(DraftDelta) == []


async def test_what_was_thought_is_counted_and_stands_in_no_turn(
    hall: Hall, provider: Provider, litellm: LiteLLM
) -> None:
    provider.say = thinks
    stage = stage_of(hall, provider, litellm, stream=True)
    run = await stage.hold()
    assert "Let me think" not in "".join([*texts(run), *(event.text for event in stage.told(DraftDelta))])
    each = provider.count((("assistant", "Let me think of it."),))
    assert run.spent.thinking == stage.journaled.thinking == each * len(provider.calls)
    thought = [turn.seat.thinking for turn in turns_of(run.debate) if turn.seat]
    assert thought == [each, 2 * each, each]  # Wall's with its checklist
    assert make_record(run.debate, stage.plan).tokens.output <= run.spent.output


async def test_what_was_heard_of_a_turn_is_the_turn(hall: Hall, provider: Provider, litellm: LiteLLM) -> None:
    stage = stage_of(hall, provider, litellm, stream=True)
    run = await stage.hold()
    held = held_of(stage)
    for turn, text in zip(turns_of(run.debate), texts(run), strict=True):
        assert turn.seat is not None
        assert held[turn.seat.slot, "apply" if turn.role is Role.WALL else "turn"] == text


def is_wind(question: Question) -> bool:
    return question.role is Role.WIND


BREAKS: dict[str, tuple[Callable[[str], Answer], str]] = {
    "torn": (lambda text: Answer(text, torn=True), "connection"),
    "ended early": (lambda text: Answer(text, breaks="end"), "connection"),
    "garbage": (lambda text: Answer(text, breaks="garbage"), "connection"),
    "stalled": (lambda text: Answer(text, breaks="stall"), "timed_out"),
}


@pytest.mark.parametrize(("broken", "code"), BREAKS.values(), ids=BREAKS)
async def test_half_a_turn_is_taken_back_asked_for_again_and_charged_at_its_bound(
    hall: Hall, provider: Provider, warm: None, broken: Callable[[str], Answer], code: str
) -> None:
    half = "What if one\nline came\nand then no more of what was to be said about one table?\n"
    provider.troubles.append(Trouble("wind-1", is_wind, lambda call: broken(half), once=True))
    async with aclosing(LiteLLM(stall_s=0.2 if code == "timed_out" else STALL_S)) as model:
        stage = stage_of(hall, provider, model, stream=True)
        run = await stage.hold()
    assert order(run.debate) == "WLD"
    (again,) = stage.told(Retried)
    assert (again.slot, again.code) == ("R1.Wind.1", code)
    assert any(event.text == "What if one\n" for event in stage.told(DraftDelta))
    assert held_of(stage)["R1.Wind.1", "turn"] == texts(run)[0]
    assert "no more" not in texts(run)[0]
    (wind, *_) = turns_of(run.debate)
    assert wind.seat is not None
    assert wind.seat.tried == (f"openai/wind-1: {code}",)
    assert stage.journaled.output == bill(provider.calls).output


async def test_an_answer_that_reached_its_length_is_sent_back_and_taken_back(
    hall: Hall, provider: Provider, litellm: LiteLLM
) -> None:
    provider.troubles.append(Trouble("wind-1", is_wind, lambda call: cut_off("What if\nwe stopped here"), once=True))
    stage = stage_of(hall, provider, litellm, stream=True)
    run = await stage.hold()
    assert [event.slot for event in stage.told(SentBack)] == ["R1.Wind.1"]
    assert held_of(stage)["R1.Wind.1", "turn"] == texts(run)[0]
    assert run.spent == bill(provider.calls)


async def test_what_a_model_does_not_take_is_said_once_in_a_run(
    hall: Hall, provider: Provider, litellm: LiteLLM
) -> None:
    stage = stage_of(hall, provider, litellm, region="eu-central-1")
    await stage.hold()
    told = [(event.model, event.parameters) for event in stage.told(LeftOut)]
    assert sorted(told) == [(f"openai/{role}-1", ("region eu-central-1",)) for role in ("door", "wall", "wind")]
