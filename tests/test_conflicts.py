"""Another writer at the same table, at every moment of a run, through a second hall on the same file; see `table`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from building import THREAD, plan_of, turns_of, voices
from orchestrator import commits
from orchestrator.commits import MOST_CONFLICTS
from orchestrator.decision.record import make_record
from orchestrator.errors import RunPaused
from orchestrator.events import Event, HeadMoved, Paused, TurnCommitted
from orchestrator.hall.entries import Extended
from orchestrator.hall.terms import About, Role, Status
from orchestrator.plan import Plan
from table import (
    Act,
    Table,
    Writer,
    require_laws,
    signed,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

# ------------------------------------------------------------------------------------------- one turn, at each moment

FIXED = {
    "speed": [
        ("round 1", Role.WIND, "wLD"),
        ("asks R1 Wind turn", Role.WIND, "wLD"),
        ("asks R1 Wall checklist", Role.WIND, "wLD"),
        ("committed R1.Wind.1", Role.WALL, "WlD"),
        ("asks R1 Wall apply", Role.WALL, "WlD"),
        ("committed R1.Wall.1", Role.DOOR, "WLd"),
        ("asks R1 Door turn", Role.DOOR, "WLd"),
    ],
    "standard": [
        ("committed R1.Door.1", Role.WIND, "WLD · wLD · WLD · WLD"),
        ("round 2", Role.WIND, "WLD · wLD · WLD · WLD"),
        ("asks R2 Wind turn", Role.WIND, "WLD · wLD · WLD · WLD"),
        ("asks R4 Door turn", Role.DOOR, "WLD · WLD · WLD · WLd"),
    ],
}
MEDIATED = {
    "fortress": [
        ("round 1", Role.WIND, "wLLLD · WLLD"),
        ("round 1", Role.WALL, "lWLLD · WLLD"),
        ("asks R1 Wind turn", Role.WIND, "wLLLD · WLLD"),
        ("asks R1 Wind turn", Role.WALL, "lWLLD · WLLD"),
        ("committed R1.Wind.1", Role.WIND, "WwLLLD · WLLD"),
        ("committed R1.Wind.1", Role.WALL, "WlLLD · WLLD"),
        ("asks R1 Wall apply", Role.WIND, "WwLLLD · WLLD"),
        ("asks R1 Wall apply", Role.WALL, "WlLLD · WLLD"),
        ("committed R1.Wall.1", Role.WIND, "WLwLLD · WLLD"),
        ("committed R1.Wall.1", Role.WALL, "WLlLD · WLLD"),
        ("committed R1.Wall.1", Role.DOOR, "WLd · WLLD"),
        ("asks R1 Door turn", Role.WIND, "WLLLwD · WLLD"),
        ("asks R1 Door turn", Role.WALL, "WLLLlD · WLLD"),
        ("asks R1 Door turn", Role.DOOR, "WLLLd · WLLD"),
        ("committed R1.Door.1", Role.WIND, "WLLLD · wLLD"),
        ("committed R1.Door.1", Role.WALL, "WLLLD · lWLD"),
        ("committed R1.Door.1", Role.DOOR, "WLLLDd · WLLD"),
        ("asks R2 Door turn", Role.DOOR, "WLLLD · WLLd"),
    ],
    "council": [
        ("asks R1 Wind turn", Role.WIND, "wWLLDDD · WWLDD"),
        ("committed R1.Wind.1", Role.WIND, "WwLLDDD · WWLDD"),
        ("committed R1.Wind.1", Role.WALL, "WlWLDDD · WWLDD"),
        ("committed R1.Wind.2", Role.WIND, "WWwLLDDD · WWLDD"),
        ("asks R1 Wall apply", Role.WALL, "WWlLDDD · WWLDD"),
        ("asks R1 Door turn", Role.WIND, "WWLLwDDD · WWLDD"),
        ("asks R1 Door turn", Role.DOOR, "WWLLdDD · WWLDD"),
        ("committed R1.Door.1", Role.DOOR, "WWLLDdD · WWLDD"),
        ("committed R1.Door.1", Role.WIND, "WWLLD · wWLDD"),
        ("asks R2 Door turn", Role.DOOR, "WWLLDDD · WWLdD"),
        ("committed R2.Door.1", Role.DOOR, "WWLLDDD · WWLDd"),
    ],
    "laboratory": [
        ("asks R1 Wind turn", Role.WIND, "wWWLD · WWLD"),
        ("committed R1.Wind.1", Role.WIND, "WwWLD · WWLD"),
        ("committed R1.Wind.2", Role.WIND, "WWwLD · WWLD"),
        ("committed R1.Wind.2", Role.WALL, "WWlWD · WWLD"),
    ],
}
TURNS_OF_ONE_ROUND = {"fortress": 5, "council": 7}


def one_round(recipe: str = "fortress") -> Plan:
    return plan_of(recipe, turns=TURNS_OF_ONE_ROUND[recipe])


def cases() -> Iterator[Any]:
    """FORTRESS in one round where that shows it; the same at every larger table is slow."""
    for recipe, known in (FIXED | MEDIATED).items():
        for moment, role, expected in known:
            short = recipe == "fortress" and "R2" not in moment and "R1.Door.1" not in moment
            name = f"{role} at {moment}"
            if short:
                yield pytest.param(one_round(), moment, role, expected.partition(" · ")[0], id=f"one round, {name}")
            marks = [] if recipe == "speed" or (recipe == "fortress" and not short) else [pytest.mark.slow]
            yield pytest.param(plan_of(recipe), moment, role, expected, id=f"{recipe}, {name}", marks=marks)


@pytest.mark.parametrize(("plan", "moment", "role", "expected"), list(cases()))
async def test_a_turn_of_somebody_else_takes_the_next_place_of_its_role_and_is_heard(
    tmp_path: Path, plan: Plan, moment: str, role: Role, expected: str
) -> None:
    table = Table(tmp_path / "state", plan, {moment: lambda writer: writer.say(role)})
    run = await table.hold()
    debate = table.debate()
    assert table.acts == {}
    assert signed(debate) == expected
    require_laws(table, run.unused)
    assert debate.state.status is Status.SYNTHESIS
    assert debate.synthesis is not None
    assert debate.synthesis.text == debate.turns[-1].text
    raised = max(0, len(debate.turns) - plan.turns)
    assert [type(line.entry.body) for line in debate.of(Extended)] == [Extended] * raised
    assert debate.state.max_turns == plan.turns + raised


async def test_drafts_that_rest_on_old_words_are_made_again_with_the_new_ones_and_handed_back(tmp_path: Path) -> None:
    table = Table(tmp_path / "state", plan_of("fortress"), {"asks R1 Wall apply": lambda writer: writer.say(Role.WIND)})
    run = await table.hold()
    applying = [request for request in table.model.requests if request.task.step == "apply" and request.task.round == 1]
    foreign = table.writer.words[0]
    heard = [any(foreign in message.text for message in request.messages) for request in applying]
    assert heard == [False] * 3 + [True] * 3
    assert [(draft.seat.slot, draft.step) for draft in run.unused] == [(f"R1.Wall.{n}", "apply") for n in (1, 2, 3)]
    moved = [event for event in table.events if isinstance(event, HeadMoved)]
    assert [event.turns for event in moved] == [1]


async def test_a_seat_whose_place_was_taken_hands_back_its_checklist(tmp_path: Path) -> None:
    table = Table(tmp_path / "state", plan_of("fortress"), {"asks R1 Wind turn": lambda writer: writer.say(Role.WALL)})
    run = await table.hold()
    kept = sorted((draft.seat.slot, draft.step) for draft in run.unused)
    assert kept == [("R1.Wall.1", "checklist"), ("R1.Wind.1", "turn")]
    assert run.spent.output > sum(turn.token_output or 0 for turn in turns_of(table.debate()))


# -------------------------------------------------------------------------------------------- after the last Door spoke


@pytest.mark.parametrize(
    ("recipe", "last", "role", "expected"),
    [
        pytest.param("speed", "R1.Door.1", Role.WIND, "WLD · wLD", id="speed, Wind"),
        pytest.param("fortress", "R2.Door.1", Role.WIND, "WLLLD · WLLD · wLD", id="fortress, Wind"),
        pytest.param("fortress", "R2.Door.1", Role.WALL, "WLLLD · WLLD · lWD", id="fortress, Wall"),
        pytest.param("fortress", "R2.Door.1", Role.DOOR, "WLLLD · WLLDd", id="fortress, Door"),
        pytest.param("council", "R2.Door.2", Role.WALL, "WWLLDDD · WWLDD · lWD", id="council, Wall"),
    ],
)
async def test_a_turn_after_the_last_door_is_answered_before_the_close(
    tmp_path: Path, recipe: str, last: str, role: Role, expected: str
) -> None:
    acts: dict[str, Act] = {f"committed {last}": lambda writer: writer.say_beyond_the_plan(role)}
    table = Table(tmp_path / "state", plan_of(recipe), acts)
    run = await table.hold()
    debate = table.debate()
    assert signed(debate) == expected
    require_laws(table, run.unused)
    assert debate.state.status is Status.SYNTHESIS
    assert debate.synthesis is not None
    assert debate.synthesis.text == debate.turns[-1].text


# ------------------------------------------------------------------------------------ between two steps of the runner


@pytest.mark.parametrize(
    ("moment", "act", "expected"),
    [
        pytest.param("commits Wind", lambda writer: writer.say(Role.WIND), "wLLLD · WLLD", id="Wind before it"),
        pytest.param("commits Wind", lambda writer: writer.say(Role.WALL), "lWLLD · WLLD", id="Wall before Wind"),
        pytest.param("commits Wind", lambda writer: writer.pick(Role.WALL), "WLLLD · WLLD", id="a pick"),
        pytest.param("commits Door", lambda writer: writer.say(Role.WIND), "WLLLwD · WLLD", id="Wind before Door"),
        pytest.param("commits Door", lambda writer: writer.say(Role.DOOR), "WLLLd · WLLD", id="Door before it"),
    ],
)
async def test_who_speaks_before_a_commit_is_heard(tmp_path: Path, moment: str, act: Act, expected: str) -> None:
    table = Table(tmp_path / "state", plan_of("fortress"), {moment: act})
    run = await table.hold()
    require_laws(table, run.unused)
    assert signed(table.debate()) == expected


async def test_a_turn_between_the_last_look_and_the_close_is_answered(tmp_path: Path) -> None:
    """The runner looks once more after it has heard Door's account, and closes behind the head that it saw."""
    table = Table(tmp_path / "state", plan_of("speed"), {})
    speak = partial(Writer.say_beyond_the_plan, role=Role.WIND)
    table.acts["asks R1 Door account"] = lambda writer: table.acts.update(looked=speak)
    run = await table.hold()
    require_laws(table, run.unused)
    debate = table.debate()
    assert signed(debate) == "WLD · wLD"
    accounts = [line.entry.seq for line in debate.notes(About.ACCOUNT)]
    first_foreign = next(line.entry.seq for line in debate.turns if line.turn.seat is None)
    assert [seq < first_foreign for seq in accounts] == [True, False]
    assert run.debate.state.status is Status.SYNTHESIS


# ------------------------------------------------------------------------------------------------ what is no new turn

MOMENTS = ["round 1", "asks R1 Wind turn", "committed R1.Wind.1", "asks R1 Wall apply", "asks R1 Door turn"]


@pytest.mark.parametrize("moment", [*MOMENTS, "committed R1.Door.1"])
async def test_an_extension_makes_nobody_write_again(tmp_path: Path, moment: str) -> None:
    table = Table(tmp_path / "state", one_round(), {moment: lambda writer: writer.extend()})
    run = await table.hold()
    require_laws(table, run.unused)
    assert (len(table.model.requests), run.unused) == (table.plan.calls, ())
    assert signed(table.debate()) == "WLLLD"


@pytest.mark.parametrize("recipe", ["fortress", pytest.param("council", marks=pytest.mark.slow)])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("role", [Role.WIND, Role.WALL])
async def test_a_mere_pick_makes_nobody_write_again(tmp_path: Path, recipe: str, moment: str, role: Role) -> None:
    table = Table(tmp_path / "state", one_round(recipe), {moment: lambda writer: writer.pick(role)})
    run = await table.hold()
    require_laws(table, run.unused)
    assert (len(table.model.requests), run.unused) == (table.plan.calls, ())
    assert [event.turns for event in table.events if isinstance(event, HeadMoved)] in ([], [0])


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_note_is_read_by_all_who_speak_after_it_and_is_no_turn(tmp_path: Path, moment: str) -> None:
    table = Table(tmp_path / "state", one_round(), {moment: Writer.note})
    run = await table.hold()
    require_laws(table, run.unused)
    assert signed(table.debate()) == "WLLLD"
    assert [event.turns for event in table.events if isinstance(event, HeadMoved)] in ([], [0])


@pytest.mark.parametrize("moment", ["asks R1 Wall apply", "committed R1.Wall.1", "asks R1 Door turn", "round 2"])
async def test_what_rests_on_words_that_were_redacted_is_written_again_without_them(
    tmp_path: Path, moment: str
) -> None:
    table = Table(tmp_path / "state", plan_of("fortress"), {moment: Writer.tombstone})
    run = await table.hold()
    debate = table.debate()
    require_laws(table, run.unused)
    assert debate.turns[0].text is None
    assert debate.turns[0].words == "[REDACTED: It named a customer of ours in full.]"
    assert signed(debate) == "WLLLD · WLLD"
    assert not [lack for lack in make_record(debate, table.plan).incomplete if "quotes no run" in lack]


async def test_a_last_word_that_was_redacted_is_not_closed_with(tmp_path: Path) -> None:
    acts: dict[str, Act] = {"committed R1.Door.1": lambda writer: writer.tombstone(2)}
    table = Table(tmp_path / "state", plan_of("speed"), acts)
    with pytest.raises(RunPaused, match="redacted"):
        await table.hold()
    assert table.debate().state.status is Status.ACTIVE


@pytest.mark.parametrize("act", [Writer.force_close, Writer.close])
@pytest.mark.parametrize("moment", ["round 2", "committed R1.Door.1", "asks R2 Wind turn"])
async def test_a_debate_that_somebody_else_closed_has_ended_and_nobody_is_asked_any_more(
    tmp_path: Path, moment: str, act: Act
) -> None:
    table = Table(tmp_path / "state", plan_of("fortress"), {moment: act})
    run = await table.hold()
    require_laws(table, run.unused)
    ended = Status.FORCE_CLOSED if act is Writer.force_close else Status.SYNTHESIS
    assert (run.debate.state.status, signed(run.debate)) == (ended, "WLLLD")
    assert table.debate() == run.debate
    in_flight = 3 if moment == "asks R2 Wind turn" else 0  # Wind and two checklists, which were asked together
    assert len(table.model.requests) == 8 + in_flight
    assert len(run.unused) == in_flight


async def test_a_turn_and_then_the_kill_switch_leave_nothing_to_write_again(tmp_path: Path) -> None:
    def speak_and_close(writer: Writer) -> None:
        writer.say(Role.WIND)
        writer.force_close()

    table = Table(tmp_path / "state", plan_of("fortress"), {"asks R1 Wall apply": speak_and_close})
    run = await table.hold()
    assert (run.debate.state.status, signed(run.debate)) == (Status.FORCE_CLOSED, "Ww")
    assert len(table.model.requests) == 7
    assert len(run.unused) == 6


# ---------------------------------------------------------------------------------------------------- who never rests


async def test_a_writer_who_never_rests_pauses_the_run(tmp_path: Path) -> None:
    table = Table(tmp_path / "state", plan_of("speed"), {})
    table.model = voices(lambda request: table.writer.note())
    with pytest.raises(RunPaused, match=f"moved the head of {THREAD} {MOST_CONFLICTS + 1} times"):
        await table.hold()
    assert isinstance(table.events[-1], Paused)
    _before, *attempts = table.paid.attempts
    assert len(table.paid.unused) == len(table.model.requests) == len(attempts)


async def test_a_writer_who_opens_a_round_after_every_door_pauses_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "MOST_CONFLICTS", 3)
    table = Table(tmp_path / "state", plan_of("fortress"), {})
    tell = table._told

    def tell_and_speak(event: Event) -> None:
        tell(event)
        if isinstance(event, TurnCommitted) and event.role == Role.DOOR and event.round >= 2:
            table.writer.say_beyond_the_plan(Role.WIND)

    table._told = tell_and_speak  # type: ignore[method-assign]
    with pytest.raises(RunPaused, match="4 times and does not rest"):
        await table.hold()
    assert signed(table.debate()) == "WLLLD · WLLD · wLD · wLD · wLD · w"
