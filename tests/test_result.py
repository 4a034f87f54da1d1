"""The outcome of a run as one JSON object, with the same keys however it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import anyio
import pytest

from building import THREAD, hall_at, hold, plan_of, priced, resume, speech, voices
from orchestrator import result
from orchestrator.decision.record import make_record
from orchestrator.drafts import Paid
from orchestrator.errors import AuthenticationFailed, Overloaded, RunPaused, UsageError
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role
from orchestrator.models.base import Endpoint, Reply, Request, Usage
from orchestrator.models.scripted import Line, Scripted

pytestmark = pytest.mark.anyio

# DESIGN section 7, and `rehearsal`
KEYS = {
    *("schema", "thread_id", "status", "exit_code", "decision", "record", "head", "rounds", "turns", "tokens"),
    *("cost_usd", "rehearsal", "degraded", "substitutions", "uncertain", "warnings", "files", "error", "quote"),
    "replay",
}
TURN_KEYS = {
    *("turn_index", "round", "role", "cognition", "agent", "human", "lens", "model", "content", "usage", "cost_usd"),
}


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


async def test_a_run_that_decided_tells_everything(hall: Hall) -> None:
    plan = plan_of("fortress")
    model = Scripted(lambda request: priced(speech(request, len(model.requests)), "0.010"))
    with anyio.fail_after(20):
        run = await hold(hall, plan, model)
    record = make_record(run.debate, plan)
    outcome = result.decided(run.debate, record, run.spent, [Path("out/decision.md")], 0)
    assert json.loads(json.dumps(outcome)) == outcome
    assert set(outcome) == KEYS
    assert outcome["schema"] == "run-debate/result/v1"
    assert (outcome["thread_id"], outcome["status"], outcome["exit_code"]) == (THREAD, "synthesis", 0)
    assert outcome["decision"] == run.debate.turns[-1].text
    assert (outcome["head"], outcome["rounds"], outcome["error"]) == (run.debate.head, 2, None)
    assert outcome["tokens"] == {"input": 1500, "cached": 600, "output": 150}  # 15 calls, with checklists and account
    assert outcome["cost_usd"] == "0.150"
    assert outcome["warnings"] == list(record.warnings) != []
    assert outcome["files"] == ["out/decision.md"]
    assert [set(turn) for turn in outcome["turns"]] == [TURN_KEYS] * 9
    assert {key: value for key, value in outcome["turns"][1].items() if key != "content"} == {
        "turn_index": 1,
        "round": 1,
        "role": "Wall",
        "cognition": "ETHOS",
        "agent": "critical-engineer",
        "human": False,
        "lens": "attack surface and trust boundaries",
        "model": "test/answered",
        "usage": {"input": 200, "cached": 80, "output": 20},  # the checklist and the turn
        "cost_usd": "0.020",
    }


async def test_an_unknown_price_is_unknown_and_never_zero(hall: Hall) -> None:
    plan = plan_of()
    with anyio.fail_after(20):
        run = await hold(hall, plan, voices())
    outcome = result.decided(run.debate, make_record(run.debate, plan), run.spent, [], 0)
    assert outcome["cost_usd"] is None
    assert [turn["cost_usd"] for turn in outcome["turns"]] == [None] * 3


async def test_a_small_cost_is_written_out(hall: Hall) -> None:
    plan = plan_of()
    with anyio.fail_after(20):
        run = await hold(hall, plan, voices())
    spent = Usage(1, 0, 1, Decimal("1E-7"))
    outcome = result.decided(run.debate, make_record(run.debate, plan), spent, [], 0)
    assert outcome["cost_usd"] == "0.0000001"


async def test_a_run_that_paused_tells_the_turns_that_stand(hall: Hall) -> None:
    refused = AuthenticationFailed("test/door answered HTTP 401: wrong key", model="test/door", status=401)
    model = Scripted(lambda request: refused if request.task.role is Role.DOOR else priced(speech(request, 1), "0.010"))
    paid = Paid()
    with anyio.fail_after(20), pytest.raises(RunPaused) as paused:
        await hold(hall, plan_of(), model, paid=paid)
    debate = hall.debate(THREAD)
    outcome = result.failed(paused.value, 3, False, paid.spent, debate)
    assert set(outcome) == KEYS
    assert (outcome["thread_id"], outcome["status"], outcome["exit_code"]) == (THREAD, "active", 3)
    assert (outcome["decision"], outcome["record"]) == (None, None)
    assert outcome["tokens"] == {"input": 300, "cached": 120, "output": 30}  # Wind, the checklist and Wall
    assert outcome["cost_usd"] == "0.030"
    assert (outcome["head"], outcome["rounds"]) == (debate.head, 1)
    assert [turn["role"] for turn in outcome["turns"]] == ["Wind", "Wall"]
    assert outcome["error"]["code"] == "paused"
    assert "HTTP 401" in outcome["error"]["message"]


async def test_a_run_that_paused_after_a_call_without_a_price_cost_nobody_knows_what(hall: Hall) -> None:
    refused = AuthenticationFailed("wrong key", model="test/door", status=401)
    costs = {Role.WIND: "0.010", Role.WALL: None}
    model = Scripted(
        lambda request: (
            refused if request.task.role is Role.DOOR else priced(speech(request, 1), costs[request.task.role])
        )
    )
    paid = Paid()
    with anyio.fail_after(20), pytest.raises(RunPaused) as paused:
        await hold(hall, plan_of(), model, paid=paid)
    outcome = result.failed(paused.value, 3, False, paid.spent, hall.debate(THREAD))
    assert (outcome["cost_usd"], outcome["tokens"]["input"]) == (None, 300)
    assert [turn["cost_usd"] for turn in outcome["turns"]] == ["0.010", None]


async def test_calls_that_nobody_knows_the_outcome_of_are_told_with_the_most_they_can_have_taken(hall: Hall) -> None:
    plan = plan_of(endpoint=Endpoint(input_cost_per_token=Decimal("1E-6"), output_cost_per_token=Decimal("1E-6")))
    scope, paid = anyio.CancelScope(), Paid()

    class Hanging:
        async def complete(self, request: Request) -> Reply:
            scope.cancel()
            await anyio.sleep_forever()
            raise AssertionError("it sleeps for ever")

    with anyio.fail_after(20):
        with scope:
            await hold(hall, plan, Hanging(), paid=paid)
        outcome = result.failed(UsageError("Interrupted."), 130, False, paid.spent, hall.debate(THREAD), paid.uncertain)
        run = await resume(hall, voices())
    wind, wall = outcome["uncertain"]
    assert set(wind) == {"slot", "step", "attempt", "model", "at", "tokens", "cost_usd"}
    assert (wind["slot"], wind["step"], wind["attempt"], wind["model"]) == ("R1.Wind.1", "turn", 1, "test/wind")
    assert wind["cost_usd"] == format(Decimal(wind["tokens"]) / 10**6, "f")
    assert (wall["slot"], wall["step"]) == ("R1.Wall.1", "checklist")
    decided = result.decided(run.debate, make_record(run.debate, plan), run.spent, [], 0, run.uncertain)
    assert decided["uncertain"] == outcome["uncertain"]
    assert len(decided["record"]["uncertain"]) == 2


async def test_a_run_that_went_on_without_a_seat_says_so_whether_it_decided_or_paused(hall: Hall) -> None:
    plan = plan_of("fortress", on_failure="degrade")

    def line(request: Request) -> Line:
        task = request.task
        dead = task.role is Role.DOOR or (task.step == "apply" and task.lens == "cost, capacity and reversibility")
        return Overloaded("busy", model=request.model) if dead else priced(speech(request, 1))

    with anyio.fail_after(20), pytest.raises(RunPaused) as paused:
        await hold(hall, plan, Scripted(line))
    assert result.failed(paused.value, 3, debate=hall.debate(THREAD))["degraded"] is True
    with anyio.fail_after(20):
        run = await resume(hall, voices())
    outcome = result.decided(run.debate, make_record(run.debate, plan), run.spent, [], 6)
    assert (outcome["degraded"], outcome["exit_code"]) == (True, 6)
    assert outcome["record"]["degraded"] == ["Wall critical-engineer (R1.Wall.3) is missing: busy"]


def test_a_run_that_never_began_spent_nothing_and_says_why() -> None:
    outcome = result.failed(UsageError("No model can be used.", "Set one up."), 2, rehearsal=True)
    assert set(outcome) == KEYS
    assert (outcome["thread_id"], outcome["status"], outcome["head"], outcome["exit_code"]) == (None, None, None, 2)
    assert (outcome["cost_usd"], outcome["turns"], outcome["rehearsal"]) == ("0", [], True)
    assert outcome["tokens"] == {"input": 0, "cached": 0, "output": 0}
    assert outcome["error"] == {"code": "usage", "message": "No model can be used. Set one up."}
