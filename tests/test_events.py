"""The stream of a run: which events come, in which order, with what in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from pathlib import Path

import anyio
import pytest

from building import NO_WAITS, THREAD, TOPIC, hall_at, plan_of, priced, speech, turns_of
from orchestrator import events
from orchestrator.drafting import Drafting
from orchestrator.events import (
    KEPT_APART,
    BallotCounted,
    Closed,
    DraftDelta,
    DraftFailed,
    DraftFinished,
    DraftStarted,
    EndAskedFor,
    FellBack,
    HeadMoved,
    LeftOut,
    LimitReached,
    Paused,
    PersonSpoke,
    Resumed,
    Retried,
    RoundAskedFor,
    RoundStarted,
    RunStarted,
    SeatMissing,
    SentBack,
    Settled,
    Stream,
    Summarised,
    SynthesisRefined,
    Told,
    TurnCommitted,
    VoteCast,
)
from orchestrator.hall.debate import Line
from orchestrator.models.scripted import Scripted
from orchestrator.runner import run_debate


def ticking() -> Callable[[], datetime]:
    seconds = count()
    return lambda: datetime(2026, 1, 6, 9, tzinfo=UTC) + timedelta(seconds=next(seconds))


@pytest.mark.anyio
async def test_a_speed_run_tells_all_that_happens_in_the_order_in_which_it_happens(tmp_path: Path) -> None:
    plan, told, numbers = plan_of("speed"), list[Told](), count(1)
    model = Scripted(lambda request: priced(speech(request, next(numbers)), model=f"{request.model}-0102"))
    with hall_at(tmp_path / "state") as hall, anyio.fail_after(5):
        stream = Stream(THREAD, ticking(), told.append)
        await run_debate(hall, plan, THREAD, TOPIC, Drafting(lambda route: model, stream, NO_WAITS))
        debate = hall.debate(THREAD)
    assert [replace(one.event, seconds=0) if isinstance(one.event, DraftFinished) else one.event for one in told] == [
        RunStarted(recipe="speed", rounds=1, turns=3, plan_hash=plan.hash, rehearsal=False),
        RoundStarted(round=1, rounds=1),
        DraftStarted(**seat("Wind", "turn"), lens=None),
        DraftStarted(**seat("Wall", "checklist"), lens=None),
        DraftFinished(**seat("Wind", "turn"), **spent("test/wind-0102")),
        DraftFinished(**seat("Wall", "checklist"), **spent("test/wall-0102")),
        committed("Wind", debate.turns[0]),
        DraftStarted(**seat("Wall", "apply"), lens=None),
        DraftFinished(**seat("Wall", "apply"), **spent("test/wall-0102")),
        committed("Wall", debate.turns[1]),
        DraftStarted(**seat("Door", "turn"), lens=None),
        DraftFinished(**seat("Door", "turn"), **spent("test/door-0102")),
        committed("Door", debate.turns[2]),
        DraftStarted(**seat("Door", "account"), lens=None),
        DraftFinished(**seat("Door", "account"), **spent("test/door-0102")),
        Closed(status="synthesis", head=debate.head),
    ]
    assert [one.seq for one in told] == list(range(len(told)))
    assert {one.thread_id for one in told} == {THREAD}
    assert [one.at for one in told[:2]] == ["2026-01-06T09:00:00.000Z", "2026-01-06T09:00:01.000Z"]
    assert len(turns_of(debate)) == 3


def seat(role: str, step: str) -> dict[str, str]:
    agent, place = f"{role.lower()}-agent", "account" if step == "account" else "1"
    return {"slot": f"R1.{role}.{place}", "role": role, "agent": agent, "step": step, "model": f"test/{role.lower()}"}


COUNTED = {"input": 100, "cached": 40, "output": 10, "cost_usd": Decimal("0.01")}


def spent(answered: str) -> dict[str, object]:
    return {"answered": answered, "seconds": 0, **COUNTED}


def committed(role: str, line: Line) -> TurnCommitted:
    return TurnCommitted(
        slot=f"R1.{role}.1",
        turn_index=line.turn.turn_index,
        round=1,
        role=role,
        agent=f"{role.lower()}-agent",
        model=f"test/{role.lower()}-0102",
        hash=line.hash,
        text=line.words,
    )


DRAFT = seat("Wall", "apply")
ONE_OF_EACH = [
    RunStarted(recipe="speed", rounds=1, turns=3, plan_hash="sha256:p", rehearsal=True),
    RoundStarted(round=1, rounds=1),
    DraftStarted(**DRAFT, lens="cost"),
    DraftDelta(**DRAFT, text="Yes, but.\n"),
    LeftOut(**DRAFT, parameters=("effort high",)),
    DraftFinished(**DRAFT, **{**spent("wall-0102"), "cost_usd": Decimal("0.000001")}),
    DraftFailed(**DRAFT, seconds=1.5, code="timed_out", message="too late", **COUNTED),
    Retried(**DRAFT, attempt=1, wait_s=0.5, code="rate_limited", message="slow down"),
    FellBack(**DRAFT, to="test/other", code="authentication", message="no key"),
    SentBack(**DRAFT, reason="It quotes nothing."),
    Summarised(**DRAFT, turns=4),
    SeatMissing(slot="R1.Wall.1", role="Wall", agent="wall-agent", code="overloaded", message="busy"),
    Resumed(turns=2, seconds=12.5, uncertain=("R1.Wall.1 apply, attempt 1 through a at now",), **COUNTED),
    LimitReached(limit="cost_usd", message="The next call could take $1.", closes=True),
    TurnCommitted(
        slot="R1.Wall.1", turn_index=1, round=1, role="Wall", agent="a", model="m", hash="sha256:t", text="No."
    ),
    VoteCast(slot="V1.Wall.1", role="Wall", agent="wall-agent", choice="object", counts=True),
    BallotCounted(ballot=1, approve=2, object=1, void=1),
    SynthesisRefined(slot="V1.Door.1", agent="door-agent", answers=("O1", "O3")),
    PersonSpoke(name="T5", role="Wall", by="maria"),
    RoundAskedFor(by="maria", rounds=3),
    EndAskedFor(by="maria"),
    Settled(round=2, turns=6),
    HeadMoved(head="sha256:h", turns=1),
    Paused(code="paused", message="Wall could not be heard."),
    Closed(status="synthesis", head="sha256:h"),
]


def test_there_is_one_of_each_event_here() -> None:
    assert tuple(map(type, ONE_OF_EACH)) == events.Event.__args__


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda event: event.type)
def test_every_event_is_plain_json_with_its_place_and_its_type(event: events.Event) -> None:
    plain = Told(7, "2026-01-06T09:00:00.000Z", THREAD, event).as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == json.loads(json.dumps(plain))
    place = {"v": 1, "seq": 7, "at": "2026-01-06T09:00:00.000Z", "thread_id": THREAD, "type": event.type}
    assert plain.items() >= place.items()
    assert plain.keys() - place.keys() == {field.name for field in fields(event) if field.metadata != KEPT_APART}


def test_amounts_are_decimal_strings_and_an_unknown_one_is_null() -> None:
    def cost(amount: Decimal | None) -> object:
        event = DraftFinished(**DRAFT, **{**spent("m"), "cost_usd": amount})
        return Told(0, "", THREAD, event).as_dict()["cost_usd"]

    assert [cost(Decimal("0.0000001")), cost(Decimal("0.10")), cost(None)] == ["0.0000001", "0.10", None]


def test_types_are_distinct_and_spelled_as_in_the_design() -> None:
    types = [event.type for event in ONE_OF_EACH]
    assert len(set(types)) == len(types)
    assert {"run_started", "round_started", "draft_started", "draft_delta", "draft_finished"} < set(types)
    assert {"turn_committed", "retried"} < set(types)
    assert {"fell_back", "head_moved", "vote_cast", "limit_reached", "paused", "closed"} < set(types)


def test_every_reader_is_told_everything_in_order() -> None:
    first, second = list[Told](), list[Told]()
    stream = Stream(THREAD, ticking(), first.append, second.append)
    for event in ONE_OF_EACH:
        stream(event)
    assert first == second
    assert [told.event for told in first] == ONE_OF_EACH
