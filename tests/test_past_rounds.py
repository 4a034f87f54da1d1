"""`context: synthesis`: a round that is over stands in prompts as Door's turns, and no name is lost for it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from building import FENCE, THREAD, TOPIC, account_text, evidence_of, hall_at, hold, plan_of, resume, vote_text, wordy
from orchestrator.decision.constraints import constraints_of
from orchestrator.errors import AuthenticationFailed, RunPaused
from orchestrator.hall.debate import Remark, Said, Snapshot
from orchestrator.hall.terms import Role
from orchestrator.instructions import winds_of
from orchestrator.models.base import Request
from orchestrator.models.failures import failure
from orchestrator.models.scripted import Line, Scripted
from orchestrator.past_rounds import brief_of
from orchestrator.plan import Plan
from orchestrator.prompt import make_request
from orchestrator.quote import quote_of

WIND = "### Option 1: a log\nIt keeps everything.\n\n### Option 2: a queue\nIt forgets.\n\nWho reads it?"
WALL = (
    "VERDICT: BLOCKED\nThe long reasons of Wall stand here, and nobody needs them later.\n\n## CONSTRAINTS\n"
    "- [C1] CONSTRAINT: No order may be lost. Reality: the ledger is the record. Instead: write both.\n"
    "- [C2] OPPORTUNITY: There is no way back. Build: a rehearsal.\n\n## EARLIER\n- [T2.C1] LIFTED: both are written.\n"
)


def said(role: Role, text: str, number: int = 5, round: int = 2, human: bool = False) -> Said:
    return Said(number, round, role, "somebody", text, human)


def speech(request: Request) -> str:
    """The same words whenever the same seat is asked the same."""
    task = request.task
    name = f"{task.agent} at {task.step} of round {task.round} after {len(task.said)} turns"
    if task.step == "account":
        return account_text(title=name)
    if task.step == "vote":
        return vote_text()
    if task.step == "checklist":
        return f"checklist, {name}"
    if task.role is Role.WIND:
        return wordy(f"### Option 1: {name}\nWhat if that moved one table at a time?")
    if task.role is Role.DOOR:
        return wordy(f"Therefore {name} decides.")
    stated = (
        f"- [C1] CONSTRAINT: {name} finds that no order may be lost. Reality: the ledger is the record. "
        "Violation: a step without a copy. Instead: write both. Remediation: name the day."
    )
    return wordy(f"VERDICT: CONDITIONAL\n{winds_of(task)[-1].text}\n\n## CONSTRAINTS\n{stated}\n\n")


async def held(folder: Path, plan: Plan) -> tuple[list[Request], tuple[str, ...]]:
    """Returns what a whole debate asks, and the names of its constraints."""
    model = Scripted(speech)
    with hall_at(folder) as hall, anyio.fail_after(20):
        await hold(hall, plan, model)
        return model.requests, tuple(each.id for each in constraints_of(hall.debate(THREAD)))


def test_of_a_wall_stay_its_verdict_its_constraints_and_what_it_said_to_earlier_ones() -> None:
    assert brief_of(said(Role.WALL, WALL)) == (
        "VERDICT: BLOCKED\n"
        "- [T5.C1] CONSTRAINT: No order may be lost. Reality: the ledger is the record. Instead: write both.\n"
        "- [T5.C2] OPPORTUNITY: There is no way back. Build: a rehearsal.\n"
        "- [T2.C1] LIFTED: both are written."
    )


def test_of_a_wind_stay_its_options_by_their_titles() -> None:
    assert brief_of(said(Role.WIND, WIND)) == "- Option 1: a log\n- Option 2: a queue"


@pytest.mark.parametrize("role", Role)
def test_what_a_person_said_stays_word_for_word(role: Role) -> None:
    assert brief_of(said(role, WALL, human=True)) is None


def test_door_stays_and_so_does_what_has_no_form_and_what_would_grow() -> None:
    assert brief_of(said(Role.DOOR, "## SYNTHESIS\nWe do it.")) is None
    assert brief_of(said(Role.WALL, "Which orders, and whose? Nobody has said so yet.")) is None
    assert brief_of(said(Role.WIND, "[REDACTED: It named a customer.]")) is None
    assert brief_of(said(Role.WALL, "VERDICT: APPROVED\n- [C1] CONSTRAINT: It holds.")) is None  # T5.C1 is longer


def test_only_rounds_that_are_over_are_short_and_people_and_notes_are_there_in_full() -> None:
    plan = plan_of("standard", context="synthesis")
    turns = (
        said(Role.WIND, WIND, 1, 1),
        said(Role.WIND, "A person's long words about the night of March 3.", 2, 1, human=True),
        said(Role.WALL, WALL, 3, 1),
        said(Role.DOOR, "Therefore.", 4, 1),
        said(Role.WIND, WIND, 5, 2),
    )
    snapshot = Snapshot("sha256:head", TOPIC, turns, (Remark(1, "maria", "Mind the audit.", human=True),))
    seat = plan.rounds[1].walls[0]
    *_, first, person, wall, door, second, own = make_request(
        plan, snapshot, plan.rounds[1], seat, "apply", route="x"
    ).messages
    assert first.text.startswith(
        f"<<< {FENCE} T1: Wind, somebody, round 1, in short, as Door has answered it\n- Option"
    )
    assert "A person's long words about the night of March 3." in person.text
    assert "[T3.C1]" in wall.text
    assert "long reasons" not in wall.text
    assert "Therefore." in door.text
    assert WIND in second.text
    assert "Mind the audit." in own.text
    whole = make_request(plan_of("standard"), snapshot, plan.rounds[1], seat, "apply", route="x")
    assert [message.text.count(WALL) for message in whole.messages].count(1) == 1


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("recipe", "changes"),
    [("standard", {}), pytest.param("council", {"doors": "independent"}, marks=pytest.mark.slow)],
    ids=str,
)
async def test_a_prompt_grows_at_its_end_only_but_for_the_round_that_is_over_which_is_shortened_once(
    tmp_path: Path, recipe: str, changes: dict[str, str]
) -> None:
    plan = plan_of(recipe, context="synthesis", evidence=[evidence_of()], **changes)
    requests, names = await held(tmp_path, plan)
    for earlier, later in pairwise(requests):
        same = earlier.shared
        if earlier.task.round != later.task.round:  # its turns are the ones that are shortened now
            same = 2 + sum(turn.round < earlier.task.round for turn in earlier.task.said)
        assert later.messages[:same] == earlier.messages[:same]
    last = requests[-1]
    assert last.task.step == "account"
    assert names
    assert all(f"[{name}]" in str(last.messages[:-1]) for name in names if not name.startswith(f"T{_wall_of(last)}."))
    over = [turn for turn in last.task.said if turn.round < len(plan.rounds) and turn.role is not Role.DOOR]
    assert sum("in short, as Door" in message.text for message in last.messages) == len(over)


def _wall_of(request: Request) -> int:
    """The newest Wall, whose turn stands as it was said."""
    return max(turn.number for turn in request.task.said if turn.role is Role.WALL)


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("stops_at", [3, 7, 10], ids=lambda number: f"call {number}")
async def test_a_run_that_is_resumed_asks_the_same(tmp_path: Path, stops_at: int) -> None:
    plan = plan_of("standard", context="synthesis", turns=9, ratio={"wind": 3, "wall": 3, "door": 3})
    whole, _ = await held(tmp_path / "whole", plan)

    def until(request: Request) -> Line:
        stopped = len(first.requests) >= stops_at
        return failure(AuthenticationFailed, "wrong key", model=request.model) if stopped else speech(request)

    first, second = Scripted(until), Scripted(speech)
    with hall_at(tmp_path / "halves") as hall, anyio.fail_after(20):
        with pytest.raises(RunPaused):
            await hold(hall, plan, first)
        await resume(hall, second)
    assert {each.messages for each in first.requests} <= {each.messages for each in whole}
    assert {each.messages for each in second.requests} <= {each.messages for each in whole}
    assert {each.messages for each in (*first.requests, *second.requests)} == {each.messages for each in whole}


@pytest.mark.slow
def test_a_quote_expects_less_and_still_promises_no_more_than_it_can() -> None:
    full, short = (quote_of(plan_of("deep", context=context), TOPIC) for context in ("full", "synthesis"))
    assert full is not None
    assert short is not None
    assert short.input.expected < 0.75 * full.input.expected
    assert short.input.high == full.input.high
