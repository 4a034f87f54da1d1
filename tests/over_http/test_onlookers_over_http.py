"""A run at which somebody looks on, over real HTTP: it costs, keeps and finds again what one does that nobody sees."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from provider import Provider, Stage, bill, plan_at, speaks

from building import NO_WAITS, THREAD, hall_at, order, turns_of
from endpoint import Answer, Call, error
from orchestrator.drafting import Drafting
from orchestrator.drafts import Paid
from orchestrator.events import DraftDelta, DraftFinished
from orchestrator.hall.hall import Hall
from orchestrator.models.litellm import LiteLLM
from orchestrator.onlookers import Onlookers
from orchestrator.plan import Changes
from orchestrator.runner import Run, hold_debate, run_debate
from orchestrator.taking_up import NO_CHANGES

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.xdist_group("litellm")]


@dataclass
class Watched(Stage):
    """A stage that somebody looks at."""

    onlookers: Onlookers = field(default_factory=lambda: Onlookers(True))

    async def hold(self, changes: Changes = NO_CHANGES) -> Run:
        self.paid = Paid()
        drafting = Drafting(self.model_of, self._hear, NO_WAITS, self.paid, onlookers=self.onlookers)
        with anyio.fail_after(60):
            if self.hall.list_debates():
                return await hold_debate(self.hall, self.plan, THREAD, drafting)
            return await run_debate(self.hall, self.plan, THREAD, self.topic, drafting)


async def test_it_takes_what_a_run_takes_that_nobody_sees(
    hall: Hall, provider: Provider, litellm: LiteLLM, tmp_path: Path
) -> None:
    plan = plan_at(provider, "speed")
    watched = Watched(hall, plan, lambda route: litellm)
    seen = await watched.hold()
    assert watched.told(DraftDelta)
    assert [call.body.get("stream") for call in provider.calls] == [True, True, True, True, None]
    assert seen.spent == bill(provider.calls)
    provider.forget()
    with hall_at(tmp_path / "unseen") as other:
        unseen = await Stage(other, plan, lambda route: litellm).hold()
    assert seen.spent == unseen.spent
    assert _texts(seen) == _texts(unseen)


def _texts(run: Run) -> list[str]:
    """The turns without the number of the call that brought each: of those made in parallel any comes first."""
    return [re.sub(r"\bcall \d+", "call", turn.text or "") for turn in run.debate.turns]


def will_not_stream(call: Call) -> str | Answer:
    if call.body.get("stream"):
        return error(400, "Unrecognized request argument supplied: stream_options", kind="invalid_request_error")
    return speaks(call)


async def test_a_server_that_refuses_to_stream_fails_no_run(hall: Hall, provider: Provider, litellm: LiteLLM) -> None:
    provider.say = will_not_stream
    run = await Watched(hall, plan_at(provider, "standard"), lambda route: litellm).hold()
    assert order(run.debate) == "WLD · WLD · WLD · WLD"
    assert sum(bool(call.body.get("stream")) for call in provider.calls) == 3  # each of the three models once
    assert run.spent == bill(provider.calls)
    (wind, *others) = turns_of(run.debate)
    assert wind.seat is not None
    assert wind.seat.tried == ("openai/wind-1: bad_request",)
    assert all(turn.seat is not None and turn.seat.tried is None for turn in others[3:])


async def test_what_was_streamed_to_somebody_is_not_bought_again_where_nobody_looks_on(
    hall: Hall, provider: Provider, litellm: LiteLLM
) -> None:
    plan = plan_at(provider, "speed")
    watched = Watched(hall, plan, lambda route: litellm)
    with anyio.CancelScope() as scope:
        watched.read = lambda event: (
            scope.cancel() if isinstance(event, DraftFinished) and event.role == "Wall" else None
        )
        await watched.hold()
    assert scope.cancelled_caught
    before = [call.messages for call in provider.calls if call.charged]
    unseen = Stage(hall, plan, lambda route: litellm)
    await unseen.hold()
    assert [event.slot for event in unseen.told(DraftFinished) if event.known]
    after = [call.messages for call in provider.calls[len(before) :]]
    assert not set(before) & set(after)
