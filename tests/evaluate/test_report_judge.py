"""A judge that is named is asked once about each answer, within its limit, and sees what it needs and no more."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import anyio
import pytest
from planting import answer, planted, result, results

from building import NO_WAITS
from orchestrator.budget import Budget
from orchestrator.errors import LimitMet, Overloaded
from orchestrator.evaluate.asking_judge import Judge, judged, plan_for
from orchestrator.evaluate.brief import Brief
from orchestrator.evaluate.cassette import Cassette, Cell
from orchestrator.evaluate.judging import Judged, Opinion
from orchestrator.evaluate.recording import Live, Purse
from orchestrator.evaluate.results import Results
from orchestrator.models.base import Reply, Request, Usage
from orchestrator.models.scripted import Line, Scripted
from orchestrator.recipe import Limits

pytestmark = pytest.mark.anyio

ROUTE = "openai/gpt-4.1"
IDS = ("901-event-bus", "902-event-bus")
SAYS = json.dumps({"answered": ["C2"], "believed": []})


@pytest.fixture
def briefs(tmp_path: Path) -> Mapping[str, Brief]:
    return {id: planted(tmp_path / "briefs", id) for id in IDS}


def answers() -> Results:
    return results(result(answer("B", "Kept for seven days."), IDS[0]), result(answer("A"), IDS[1]),
                   result(None, IDS[1], "majority"))  # fmt: skip


def said(text: str, cost: str = "0.001") -> Reply:
    return Reply(text, ROUTE, Usage(100, 0, 10, Decimal(cost)))


async def ask(folder: Path, briefs: Mapping[str, Brief], model: Scripted, limit: str = "1") -> Judged:
    limit_usd = Decimal(limit)
    plan = plan_for(ROUTE, "models", limit_usd, None, {"OPENAI_API_KEY": "asked-of-nobody"}, Path())
    with Cassette.recording(folder) as cassette, anyio.fail_after(30):
        live = Live(lambda route: model, Purse(Budget(Limits(cost_usd=limit_usd), cassette.spent)))
        return await judged(answers(), briefs, Judge(ROUTE, plan, cassette, live, 2, NO_WAITS))


async def test_each_answer_is_judged_once_and_never_bought_again(tmp_path: Path, briefs: Mapping[str, Brief]) -> None:
    model = Scripted(lambda request: said(SAYS))
    first = await ask(tmp_path, briefs, model)
    again = await ask(tmp_path, briefs, Scripted([]))
    assert first == again
    assert first.opinions == {Cell(id, "single", 1): Opinion(answered=("C2",), believed=()) for id in IDS}
    assert (first.unheard, first.usage.cost_usd, len(model.requests)) == (0, Decimal("0.002"), 2)


async def test_it_sees_the_planted_facts_and_the_answer_and_not_whose_it_is(
    tmp_path: Path, briefs: Mapping[str, Brief]
) -> None:
    model = Scripted(lambda request: said(SAYS))
    await ask(tmp_path, briefs, model)
    told = "\n".join(message.text for message in next(r for r in model.requests if "Kept" in _text(r)).messages)
    for words in ("C1: Operations may not run", "F1: The vendor page says", "Kept for seven days."):
        assert words in told
    for words in ("single", "majority", "violates", "sound_with", "Kafka is fast", "The freeze bars a cluster"):
        assert words not in told
    assert {request.model for request in model.requests} == {ROUTE}


async def test_what_cannot_be_read_is_asked_for_once_more_and_then_left(
    tmp_path: Path, briefs: Mapping[str, Brief]
) -> None:
    def says(request: Request) -> Line:
        if "Kept for seven days." not in _text(request):
            return said("I would rather not say.")
        return said(SAYS if len(request.messages) > 2 else "It looks fine to me.")

    model = Scripted(says)
    found = await ask(tmp_path, briefs, model)
    assert list(found.opinions) == [Cell(IDS[0], "single", 1)]
    assert found.unheard == 1


async def test_a_judge_that_is_down_leaves_all_of_it_unheard(tmp_path: Path, briefs: Mapping[str, Brief]) -> None:
    found = await ask(tmp_path, briefs, Scripted(lambda request: Overloaded("busy", model=ROUTE)))
    assert (found.opinions, found.unheard) == ({}, 2)


async def test_its_limit_is_never_passed_and_what_was_judged_is_kept(
    tmp_path: Path, briefs: Mapping[str, Brief]
) -> None:
    # At most 8,000 tokens of $0.000008 are written, so one call fits, and what it leaves is too little for another.
    dear = Scripted(lambda request: said(SAYS, "0.03"))
    with pytest.raises(LimitMet):
        await ask(tmp_path, briefs, dear, limit="0.09")
    assert len(dear.requests) == 1
    found = await ask(tmp_path, briefs, Scripted([said(SAYS)]))
    assert len(found.opinions) == 2


def _text(request: Request) -> str:
    return "\n".join(message.text for message in request.messages)
