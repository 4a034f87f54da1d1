"""The live view without a terminal: what a run's events come to, and what of it a screen of any size shows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from rich.cells import cell_len
from rich.console import Console

from building import NO_WAITS, RECIPES, THREAD, TOPIC, hall_at, plan_of, priced, speech
from orchestrator.cli.live.display import Display
from orchestrator.cli.live.folding import fold
from orchestrator.cli.live.picture import picture
from orchestrator.cli.live.state import View, begin
from orchestrator.cli.live.story import story_of
from orchestrator.drafting import Drafting
from orchestrator.events import (
    Closed,
    DraftDelta,
    DraftFailed,
    DraftFinished,
    DraftStarted,
    Event,
    FellBack,
    Resumed,
    Retried,
    RoundStarted,
    SeatMissing,
    SentBack,
    SynthesisRefined,
    Told,
    TurnCommitted,
    VoteCast,
)
from orchestrator.models.scripted import Scripted
from orchestrator.plan import Plan
from orchestrator.recipe import Limits
from orchestrator.runner import run_debate

WIND: dict[str, Any] = {"slot": "R1.Wind.1", "role": "Wind", "agent": "edge-optimizer", "model": "test/wind"}
WALLS: list[dict[str, Any]] = [
    {"slot": f"R1.Wall.{n}", "role": "Wall", "agent": "critical-engineer", "model": "test/wall"} for n in (1, 2, 3)
]
DOOR: dict[str, Any] = {"slot": "R1.Door.1", "role": "Door", "agent": "technical-architect", "model": "test/door"}
TOOK: dict[str, Any] = {"input": 1_000, "cached": 0, "output": 234, "cost_usd": Decimal("0.0123")}
OTHERS = [recipe for recipe in RECIPES if recipe != "speed"]
WHY: dict[str, Any] = {"code": "rate_limited", "message": "slow down"}


def after(*events: Event, plan: Plan | None = None, spoken: Mapping[str, int] | None = None) -> View:
    """A FORTRESS after some events, each a second later than the one before, the first at 0."""
    view = begin(plan or plan_of("fortress"), spoken or {}, 0.0)
    for second, event in enumerate(events):
        view = fold(event, view, float(second))
    return view


def seen(view: View, now: float = 60.0, width: int = 100, height: int = 40) -> list[str]:
    return [line.plain for line in picture(view, now, width, height)]


def lane(view: View, role: str, now: float = 60.0) -> list[str]:
    """The states of a role's seats in the row at work, at a narrow terminal."""
    lines = seen(view, now, width=60)[1:-1]
    return [line[28:].strip() for line in lines if line.startswith(role)]


def test_a_terminal_that_is_gone_keeps_nobody_from_what_is_done_there_without_the_view() -> None:
    person, terminal = os.openpty()
    display = Display(partial(begin, plan_of("fortress"), {}), terminal)
    try:
        display(Told(0, "2026-01-06T12:00:00Z", THREAD, RoundStarted(round=1, rounds=2)))
        os.close(person)
        with pytest.raises(OSError, match="Input/output"):
            os.write(terminal, b"?")
        with display.away():
            done = True
        assert done
    finally:
        display.close()
        os.close(terminal)


def test_who_waits_is_seen_with_whom_he_waits_for() -> None:
    view = after(RoundStarted(round=1, rounds=2), DraftStarted(**WIND, step="turn"))
    assert [lane(view, role) for role in ("Wind", "Wall", "Door")] == [
        ["drafting 59 s"],
        ["awaits Wind"] * 3,
        ["awaits Wind and Wall"],
    ]


def test_a_checklist_is_seen_while_it_is_written_and_then_waits_for_wind() -> None:
    first, second, _ = WALLS
    view = after(
        DraftStarted(**WIND, step="turn"),
        DraftStarted(**first, step="checklist"),
        DraftStarted(**second, step="checklist"),
        DraftFinished(**first, step="checklist", answered="wall-1-0102", seconds=1, **TOOK),
    )
    assert lane(view, "Wall", 3.0) == ["listed, awaits Wind", "listing 1 s", "awaits Wind"]
    assert "wall-1-0102" in "\n".join(seen(view))


def test_tokens_stream_in_and_begin_again_where_what_was_told_is_taken_back() -> None:
    started, piece = DraftStarted(**WIND, step="turn"), DraftDelta(**WIND, step="turn", text="x" * 400)
    assert lane(after(started, piece, piece), "Wind", 5.0) == ["drafting 5 s, ~200 tok"]
    for back in (
        Retried(**WIND, step="turn", attempt=1, wait_s=0.0, **WHY),
        SentBack(**WIND, step="turn", reason="It quotes nothing."),
        FellBack(**WIND, step="turn", to="test/other", **WHY),
        started,
    ):
        assert lane(after(started, piece, back, piece), "Wind", 5.0)[0].endswith(", ~100 tok"), back.type


def test_a_call_that_is_made_again_says_when_and_that_it_is() -> None:
    view = after(DraftStarted(**WIND, step="turn"), Retried(**WIND, step="turn", attempt=1, wait_s=4.2, **WHY))
    assert lane(view, "Wind", 2.0) == ["again in 4 s"]
    assert lane(view, "Wind", 7.5) == ["asked again 2 s"]


def test_the_model_that_is_asked_instead_is_the_one_that_is_seen() -> None:
    view = after(DraftStarted(**WIND, step="turn"), FellBack(**WIND, step="turn", to="openrouter/a/other", **WHY))
    assert any("other" in line and "a/other" not in line for line in seen(view))


def test_a_seat_that_could_not_be_heard_is_missing_and_nobody_waits_for_it() -> None:
    view = after(
        DraftStarted(**WIND, step="turn"),
        DraftFailed(**WIND, step="turn", seconds=1, **WHY, **TOOK),
        SeatMissing(slot="R1.Wind.1", role="Wind", agent="edge-optimizer", **WHY),
    )
    assert (lane(view, "Wind"), lane(view, "Door")) == (["missing"], ["awaits Wall"])
    assert seen(view)[-1].startswith("$0.0123 · 1,234 tokens · ")


def committed(slot: dict[str, Any], index: int, text: str = "") -> TurnCommitted:
    return TurnCommitted(**slot, turn_index=index, round=1, hash="sha256:t", text=text)


def test_a_round_that_is_over_is_a_line_with_its_turns_and_the_next_one_opens() -> None:
    turns = [committed(slot, n) for n, slot in enumerate([WIND, *WALLS, DOOR])]
    lines = seen(after(*turns, RoundStarted(round=2, rounds=2)))
    assert lines[0] == "fortress · round 2 of 2 · 5 of 9 turns"
    assert lines[2].split() == ["1", "T1", "T2", "T3", "T4", "T5"]
    assert lines[3].split() == ["2", "edge-optimizer", "critical-engineer", "technical-architect"]


def test_votes_their_refinement_and_the_account_have_rows_of_their_own() -> None:
    wall = {"slot": "V1.Wall.1", "role": "Wall", "agent": "critical-engineer"}
    wind = {"slot": "V1.Wind.1", "role": "Wind", "agent": "edge-optimizer"}
    door = {"slot": "V1.Door.1", "role": "Door", "agent": "technical-architect"}
    account = {**DOOR, "slot": "R2.Door.account"}
    begun = [DraftStarted(**{**one, "model": "m"}, step="vote") for one in (wall, wind)]
    view = after(
        *begun,
        VoteCast(**wall, choice="object", counts=True),
        DraftStarted(**{**door, "model": "m"}, step="refine"),
        SynthesisRefined(slot="V1.Door.1", agent="technical-architect", answers=("O1",)),
    )
    assert seen(view)[0] == "fortress · vote 1 · 0 of 9 turns"
    assert [lane(view, role) for role in ("Wind", "Wall", "Door")] == [
        ["voting 59 s"],
        ["object"],
        ["refined"],
    ]
    view = fold(DraftStarted(**account, step="account"), view, 5.0)
    assert seen(view)[0] == "fortress · account · 0 of 9 turns"
    assert lane(view, "Door") == ["accounting 55 s"]
    assert seen(fold(Closed(status="synthesis", head="sha256:h"), view, 6.0))[0].split(" · ")[1] == "closing"


def test_a_run_that_is_resumed_shows_what_stood_what_it_took_and_what_nobody_knows() -> None:
    view = after(Resumed(turns=2, seconds=65.0, uncertain=("a call",), **TOOK), spoken={"R1.Wind.1": 1, "R1.Wall.1": 2})
    assert seen(view, 10.0)[0].endswith("2 of 9 turns")
    assert lane(view, "Wind") == ["T1"]
    assert lane(view, "Wall") == ["T2", "waits", "waits"]
    assert seen(view, 10.0)[-1] == "$0.0123 · 1,234 tokens · 1:15 · 1 uncertain"


def test_what_is_taken_stands_beside_its_limit_and_an_unknown_cost_is_unknown() -> None:
    limits = Limits(cost_usd=Decimal("2.50"), tokens=200_000, seconds=3_700)
    done = DraftFinished(**WIND, step="turn", answered="m", seconds=1, **TOOK)
    limited = after(done, plan=plan_of("fortress").model_copy(update={"limits": limits}))
    assert seen(limited)[-1] == "$0.0123 of $2.50 · 1,234 of 200,000 tokens · 1:00 of 1:01:40"
    unknown = DraftFinished(**WIND, step="turn", answered="m", seconds=1, **{**TOOK, "cost_usd": None})
    assert seen(after(done, unknown))[-1].startswith("cost unknown · 2,468 tokens")


@pytest.mark.anyio
@pytest.mark.parametrize("recipe", ["speed", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
async def test_every_moment_of_every_recipe_fits_every_terminal(recipe: str, tmp_path: Path) -> None:
    plan = plan_of(recipe, consensus={"required": recipe in ("speed", "council"), "refinements": 2})
    views = [begin(plan, {}, 0.0)]
    model = Scripted(lambda request: priced(speech(request, len(views)), model=request.model))
    with hall_at(tmp_path) as hall, anyio.fail_after(20):
        drafting = Drafting(lambda route: model, lambda event: views.append(fold(event, views[-1], 0.0)), NO_WAITS)
        run = await run_debate(hall, plan, THREAD, TOPIC, drafting)
    last = views[-1]
    assert (last.spoken, last.spent) == (plan.turns, run.spent)
    assert {cell.phase for row in last.rows for cell in row.cells} <= {"spoke", "done"}
    for width, height in ((80, 24), (200, 50), (40, 10), (64, 12), (10, 3), (1, 1), (0, 0)):
        for view in views[:: max(len(views) // 20, 1)]:
            lines = seen(view, 1.0, width, height)
            assert 1 <= len(lines) <= max(height - 1, 1)
            assert max(map(cell_len, lines)) <= max(width, 1)


def test_a_lens_stands_where_it_has_room_and_a_seat_without_one_shows_none() -> None:
    for agent, lens, shown in (
        ("a" * 40, None, ["a" * 30 + "…", "wind"]),
        ("planner", "壁" * 8, ["planner: " + "壁" * 8, "wind"]),
        ("planner", "壁" * 14, ["planner", "wind · " + "壁" * 11 + " …"]),
    ):
        view = after()
        cell = replace(view.rows[0].cells[0], agent=agent, lens=lens, model="test/wind")
        view = replace(view, rows=(replace(view.rows[0], cells=(cell,)), *view.rows[1:]))
        assert [line[3:].strip() for line in seen(view)[2:4]] == shown


@pytest.mark.parametrize("recipe", RECIPES)
def test_at_80_by_24_every_recipe_has_its_three_lanes_and_in_them_agents_models_and_states(recipe: str) -> None:
    plan = plan_of(recipe)
    lines = seen(after(plan=plan), width=80, height=24)
    assert lines[1].split() == ["Wind", "Wall", "Door"]
    seats = plan.rounds[0].seats
    shown = "\n".join(lines)
    assert all(seat.agent in shown and seat.routes[0].removeprefix("test/") in shown for seat in seats)
    assert "awaits Wind and Wall" in shown
    assert sum(line.lstrip().startswith(str(number)) for number in range(1, 13) for line in lines[2:-1]) >= len(
        plan.rounds
    )


def told(event: Event, width: int = 60) -> list[str]:
    return [line.plain for line in story_of(event, Console(width=width))]


def test_of_a_committed_turn_its_first_lines_stay_and_say_that_there_are_more() -> None:
    text = "## OPTIONS\n\nWhat if one thing moved?\n\n" + "And then one more of them. " * 9
    assert told(committed(WIND, 0, text), 40) == [
        "T1 Wind edge-optimizer · test/wind",
        "  What if one thing moved?",
        "  And then one more of them. And then",
        "  one more of them. And then one more …",
    ]
    assert told(committed(WIND, 0, "Short."))[1:] == ["  Short."]


def test_trouble_is_told_as_in_plain_lines_and_what_a_cell_shows_is_not() -> None:
    assert told(Retried(**WIND, step="turn", attempt=1, wait_s=2.0, **WHY)) == [
        "R1.Wind.1 edge-optimizer attempt 1 failed, again in 2.0 s:",
        "slow down",
    ]
    assert told(DraftFinished(**WIND, step="turn", answered="m", seconds=1, **TOOK)) == []
    assert told(DraftDelta(**WIND, step="turn", text="What if")) == []


@pytest.mark.parametrize("hostile", ["\x1b[2J", "\r\x07", "\u202e", "\x9b31m", "a\tb\nc"], ids=ascii)
def test_what_steers_a_terminal_is_a_visible_sign_wherever_it_comes_from(hostile: str) -> None:
    slot = {**WIND, "agent": hostile, "model": hostile}
    view = after(DraftStarted(**{**slot, "slot": "R1.Wind.2"}, step="turn", lens=hostile))
    lines = seen(view) + told(committed(slot, 0, f"{hostile}\n{hostile}"))
    assert not any(ord(sign) < 0x20 or 0x7F <= ord(sign) < 0xA0 or sign == "\u202e" for sign in "".join(lines))
