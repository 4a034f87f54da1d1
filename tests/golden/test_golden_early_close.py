"""An early close: the debate ends after a round that leaves nothing open, and after no other."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from building import account_text, hall_at, hold, order, plan_of, resume, wordy
from golden.planting import CONSTRAINT, OPPORTUNITY, Parts, answered, door, held, playing, stated, wall
from orchestrator.agenda import leaves_no_question
from orchestrator.decision.record import make_record
from orchestrator.errors import AuthenticationFailed, RunPaused
from orchestrator.events import Event, Settled
from orchestrator.hall.terms import About, Status
from orchestrator.plan import Plan

SENTENCE = "Two people are trained by March."
NONE = ("", "## OPEN", "NONE")
MET = f"- [T2.C1] MET: {SENTENCE}"
NOTHING_OPEN: Parts = {
    "Wall 1": wall("APPROVED", stated("C1", CONSTRAINT)),
    "Door 1": door(MET, *NONE),
    "account": account_text(constraints=[answered("T2.C1", "met", SENTENCE)]),
}
TOLD = "If nothing is open any more the debate ends with your turn."


@pytest.mark.parametrize("word", ["NONE", "None.", "**none**", "- NONE"])
def test_none_may_be_written_as_people_write_it(word: str) -> None:
    assert leaves_no_question(door("## OPEN", word))


@pytest.mark.parametrize(
    "rows",
    [
        ("## OPEN",),
        ("## OPEN", "NONE", "- Who is on call?"),
        ("## OPEN", "NONE of it is settled."),
        ("OPEN questions: there are NONE, or hardly any.",),
        ("```", "## OPEN", "NONE", "```"),
        ("> ## OPEN", "> NONE"),
        ("## CLOSED", "NONE"),
    ],
)
def test_whatever_else_stands_there_leaves_a_question(rows: tuple[str, ...]) -> None:
    assert not leaves_no_question(door(*rows))


def three_rounds(early_close: bool = True) -> Plan:
    return plan_of("standard", turns=9, early_close=early_close)


@pytest.mark.anyio
async def test_a_debate_ends_after_the_round_that_leaves_nothing_open(tmp_path: Path) -> None:
    run = await held(tmp_path, three_rounds(), NOTHING_OPEN)
    assert order(run.debate) == "WLD"
    assert (run.record.turns_not_needed, run.record.status) == (6, Status.SYNTHESIS)
    assert (run.record.closed_early, run.record.incomplete) == (None, ())
    assert run.record.decision == NOTHING_OPEN["Door 1"]
    (note,) = run.debate.notes(About.SETTLED)
    assert note.text == "Nothing is open after round 1: 6 planned turns are not needed."


@pytest.mark.anyio
async def test_door_is_told_in_every_round_but_the_last_that_its_turn_may_be_the_end(tmp_path: Path) -> None:
    run = await held(tmp_path, three_rounds(), {})
    assert order(run.debate) == "WLD · WLD · WLD"
    told = [run.told(f"Door {number}")[0] for number in (1, 2, 3)]
    assert [TOLD in one for one in told] == [True, True, False]
    how = "End with the heading `## OPEN` and under it the questions that are still open, one a line, or the one word"
    assert [how in one for one in told] == [True, True, False]


@pytest.mark.anyio
async def test_no_debate_ends_early_that_was_not_to(tmp_path: Path) -> None:
    run = await held(tmp_path, three_rounds(early_close=False), NOTHING_OPEN)
    assert order(run.debate) == "WLD · WLD · WLD"
    assert (run.record.turns_not_needed, run.debate.notes(About.SETTLED)) == (0, ())
    assert TOLD not in run.told("Door 1")[0]


@pytest.mark.anyio
async def test_after_the_last_round_there_is_nothing_to_leave_out(tmp_path: Path) -> None:
    run = await held(tmp_path, plan_of("speed", early_close=True), NOTHING_OPEN)
    assert (run.record.turns_not_needed, run.debate.notes(About.SETTLED)) == (0, ())


@pytest.mark.anyio
async def test_a_debate_with_several_seats_a_role_ends_when_all_of_them_leave_nothing_open(tmp_path: Path) -> None:
    parts: Parts = {"Wall 2": wall("APPROVED"), "Door 2": door(*NONE)}
    run = await held(tmp_path, plan_of("fortress", turns=15, early_close=True), parts)
    assert order(run.debate) == "WLLLD · WLLLD"
    assert run.record.turns_not_needed == 5


def ungrounded(request: object) -> str:
    """It names nothing, cites nothing and quotes nobody."""
    return f"VERDICT: APPROVED\n{wordy('All of it is fine with me', of='reason')}"


LEFT_OPEN: dict[str, Parts] = {
    "a question": {"Door 1": door(MET, "", "## OPEN", "- Who is on call?")},
    "no OPEN section": {"Door 1": door(MET)},
    "a constraint without an answer": {"Door 1": door(*NONE)},
    "a constraint that prose answers": {"Door 1": door("T2.C1 is MET.", *NONE)},
    "a constraint that is answered OPEN": {"Door 1": door("- [T2.C1] OPEN: Not yet.", *NONE)},
    "a Wall that approves on conditions": {"Wall 1": wall("CONDITIONAL", stated("C1", CONSTRAINT))},
    "a Wall that approves and rests on nothing": {"Wall 1": ungrounded, "Door 1": door(*NONE)},
}


@pytest.mark.anyio
@pytest.mark.parametrize("parts", LEFT_OPEN.values(), ids=LEFT_OPEN)
async def test_each_single_thing_that_is_left_open_keeps_a_debate_going(tmp_path: Path, parts: Parts) -> None:
    later: Parts = {"Wall 2": wall("APPROVED"), "Door 2": door(MET, *NONE)}
    run = await held(tmp_path, three_rounds(), NOTHING_OPEN | later | parts)
    assert order(run.debate) == "WLD · WLD"  # and once that is settled, it ends
    assert run.record.turns_not_needed == 3


BLOCKED: dict[str, tuple[str, str]] = {
    "a CONSTRAINT that is called met": (stated("C1", CONSTRAINT), "MET"),
    "a CONSTRAINT that is refuted": (stated("C1", CONSTRAINT), "REFUTED"),
    "an OPPORTUNITY that is rerouted": (stated("C1", OPPORTUNITY), "REROUTED"),
}


@pytest.mark.anyio
@pytest.mark.parametrize(("row", "word"), BLOCKED.values(), ids=BLOCKED)
async def test_an_open_block_keeps_a_debate_going_also_when_every_wall_approves(
    tmp_path: Path, row: str, word: str
) -> None:
    lifts = "REROUTED" if "CONSTRAINT" in row else "BUILD"
    parts: Parts = {
        "Wall 1": wall("BLOCKED", row),
        "Wall 2": wall("APPROVED"),
        "Wall 3": wall("APPROVED"),
        "Door 1": door(f"- [T2.C1] {word}: {SENTENCE}", *NONE),
        "Door 2": door(f"- [T2.C1] {word}: {SENTENCE}", *NONE),
        "Door 3": door(f"- [T2.C1] {lifts}: {SENTENCE}", *NONE),
    }
    run = await held(tmp_path, plan_of("standard", turns=12, early_close=True), NOTHING_OPEN | parts)
    assert order(run.debate) == "WLD · WLD · WLD"
    assert run.record.turns_not_needed == 3


@pytest.mark.anyio
async def test_what_an_earlier_round_left_open_keeps_a_debate_going(tmp_path: Path) -> None:
    parts: Parts = {"Door 1": door(*NONE), "Wall 2": wall("APPROVED"), "Door 2": door(*NONE)}
    run = await held(tmp_path, three_rounds(), NOTHING_OPEN | parts)
    assert order(run.debate) == "WLD · WLD · WLD"


@pytest.mark.anyio
async def test_wall_keeps_a_debate_going_by_saying_that_a_constraint_stands(tmp_path: Path) -> None:
    parts: Parts = {
        "Door 1": door(MET, "", "## OPEN", "- Who is on call?"),
        "Wall 2": wall("APPROVED", "- [T2.C1] STANDS: They left."),
        "Door 2": door(*NONE),
        "Wall 3": wall("APPROVED", "- [T2.C1] LIFTED: They are back."),
        "Door 3": door(SENTENCE, *NONE),
    }
    run = await held(tmp_path, plan_of("standard", turns=12, early_close=True), NOTHING_OPEN | parts)
    assert order(run.debate) == "WLD · WLD · WLD"
    assert (run.record.turns_not_needed, run.record.incomplete) == (3, ())


@pytest.mark.anyio
async def test_a_round_that_only_asks_ends_no_debate(tmp_path: Path) -> None:
    plan = plan_of("standard", turns=9, early_close=True, socratic=True)
    parts: Parts = {
        "Wall 1": wall("APPROVED"),
        "Door 1": door(*NONE),
        "Wall 2": wall("APPROVED"),
        "Door 2": door(*NONE),
    }
    run = await held(tmp_path, plan, parts)
    assert order(run.debate) == "WLD · WLD"
    assert run.record.turns_not_needed == 3


@pytest.mark.anyio
async def test_votes_are_cast_after_an_early_close_too(tmp_path: Path) -> None:
    plan = plan_of("standard", turns=9, early_close=True, consensus={"required": True, "refinements": 0})
    run = await held(tmp_path, plan, NOTHING_OPEN)
    assert (order(run.debate), run.record.agreed, run.record.turns_not_needed) == ("WLD", True, 6)


@pytest.mark.anyio
async def test_a_run_that_died_after_the_note_goes_straight_to_the_close(tmp_path: Path) -> None:
    events: list[Event] = []
    plan = three_rounds()
    no_key = AuthenticationFailed("no key", model="test/door")
    with hall_at(tmp_path / "state") as hall, anyio.fail_after(30):
        with pytest.raises(RunPaused):
            await hold(hall, plan, playing(NOTHING_OPEN | {"account": lambda request: no_key}), events.append)
        model = playing(NOTHING_OPEN)
        run = await resume(hall, model, events.append)
    assert [(event.round, event.turns) for event in events if isinstance(event, Settled)] == [(1, 6)]
    assert [request.task.step for request in model.requests] == ["account"]
    assert order(run.debate) == "WLD"
    record = make_record(run.debate, plan)
    assert (record.turns_not_needed, record.incomplete, record.resumed) == (6, (), 1)


@pytest.mark.anyio
async def test_a_run_that_died_before_the_note_judges_the_round_again(tmp_path: Path) -> None:
    """Door's turn is committed, and whoever was to note that nothing is open is gone."""
    plan = three_rounds()
    with hall_at(tmp_path / "state") as hall, anyio.fail_after(30):

        def stop(event: Event) -> None:
            if event.type == "turn_committed" and getattr(event, "slot", "").startswith("R1.Door"):
                raise RunPaused("The process died.", "Resume it.")

        with pytest.raises(RunPaused):
            await hold(hall, plan, playing(NOTHING_OPEN), stop)
        model = playing(NOTHING_OPEN)
        run = await resume(hall, model)
    assert [request.task.step for request in model.requests] == ["account"]
    assert (order(run.debate), make_record(run.debate, plan).turns_not_needed) == ("WLD", 6)
