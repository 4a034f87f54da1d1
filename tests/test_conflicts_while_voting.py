"""Another writer while Door's word is voted on, refined and accounted for."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import count
from pathlib import Path

import pytest

from building import plan_of, priced
from orchestrator.decision.ballot import Case
from orchestrator.errors import Overloaded
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Refined, Vote
from orchestrator.hall.terms import Role, Status
from orchestrator.models.base import Request
from orchestrator.models.scripted import Line as Said
from table import (
    Act,
    Table,
    Writer,
    require_laws,
    signed,
    voted_on,
    written,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


SETTLING = [
    "asks R1 Wind vote",
    "asks R1 Wall vote",
    "committed V1.Wind.1",
    "committed V1.Wall.1",
    "asks R1 Door refine",
    "committed V1.Door.1",
    "committed V2.Wind.1",
    "committed V2.Wall.1",
    "asks R1 Door account",
]


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (Role.WIND, "WLD · wLD"),
        pytest.param(Role.WALL, "WLD · lWD", marks=pytest.mark.slow),
        (Role.DOOR, "WLDd"),
    ],
)
@pytest.mark.parametrize("moment", SETTLING)
async def test_a_turn_while_it_is_voted_leads_to_a_new_synthesis_that_is_voted_on_again(
    tmp_path: Path, moment: str, role: Role, expected: str
) -> None:
    """The first vote objects, so that there is a refinement too."""
    acts: dict[str, Act] = {moment: lambda writer: writer.say_beyond_the_plan(role)}
    table = Table(tmp_path / "state", voted_on(), acts, objections=1)
    run = await table.hold()
    debate = table.debate()
    assert (table.acts, signed(debate)) == ({}, expected)
    require_laws(table, run.unused)
    case = Case.of(debate, None)
    foreign = next(line.entry.seq for line in debate.turns if line.turn.seat is None)
    assert (case.on or 0) >= foreign
    assert [vote.role for vote in case.ballot] == [Role.WIND, Role.WALL]
    assert debate.state.status is Status.SYNTHESIS
    assert debate.synthesis is not None
    assert debate.synthesis.text == case.synthesis


@pytest.mark.parametrize("moment", SETTLING)
async def test_a_synthesis_of_somebody_else_is_voted_on_by_those_who_have_read_it(tmp_path: Path, moment: str) -> None:
    table = Table(tmp_path / "state", voted_on(), {moment: Writer.refine}, objections=1)
    run = await table.hold()
    require_laws(table, run.unused)
    debate = table.debate()
    assert (table.acts, signed(debate), debate.state.status) == ({}, "WLD", Status.SYNTHESIS)
    (words,) = table.writer.words
    later = [line for line in debate.of(Refined) if line.entry.seq > seq_of(debate, words)]
    assert debate.synthesis is not None
    assert debate.synthesis.text == (later[-1].text if later else words)


@pytest.mark.parametrize("act", [Writer.refine, lambda writer: writer.say_beyond_the_plan(Role.DOOR)])
@pytest.mark.parametrize("votes", [False, True])
async def test_an_account_of_an_older_synthesis_is_not_the_one_that_it_is_closed_with(
    tmp_path: Path, votes: bool, act: Act
) -> None:
    plan = voted_on() if votes else plan_of("speed", mode="mediated")
    table = Table(tmp_path / "state", plan, {"asks R1 Door account": act})
    run = await table.hold()
    require_laws(table, run.unused)
    debate = table.debate()
    assert debate.synthesis is not None
    assert debate.synthesis.text == table.writer.words[0]
    assert [draft.step for draft in run.unused] == ["account"]


def seq_of(debate: Debate, words: str) -> int:
    return next(line.entry.seq for line in debate.lines if line.text == words)


@pytest.mark.parametrize("moment", ["committed R1.Door.1", *SETTLING])
@pytest.mark.parametrize(
    "act",
    [
        Writer.vote,
        Writer.object,
        pytest.param(Writer.extend, marks=pytest.mark.slow),
        pytest.param(lambda writer: writer.pick(Role.WIND), id="pick", marks=pytest.mark.slow),
    ],
)
async def test_what_is_no_words_of_the_debate_takes_no_vote_back(tmp_path: Path, moment: str, act: Act) -> None:
    """A vote of somebody else counts beside the others, and Door writes nothing behind one that it has not heard."""
    table = Table(tmp_path / "state", voted_on(refinements=3), {moment: act}, objections=1)
    run = await table.hold()
    require_laws(table, run.unused)
    debate = table.debate()
    assert (table.acts, signed(debate), debate.state.status) == ({}, "WLD", Status.SYNTHESIS)
    counts = Counter(request.task.step for request in table.model.requests)
    ballots = 1 + debate.state.refinements
    assert counts["vote"] == 2 * ballots == len(debate.of(Vote)) - len(table.writer.words)
    assert {draft.step for draft in run.unused} <= {"refine", "account"}
    assert {answer for line in debate.of(Refined) for answer in answers_of(line)} == objections(debate)


async def test_a_draft_that_is_found_again_is_handed_back_once_and_has_cost_what_all_its_calls_took(
    tmp_path: Path,
) -> None:
    """Wall's vote takes two calls; somebody else votes before it is cast, and it is not asked for again."""
    table = Table(tmp_path / "state", voted_on(), {"committed V1.Wind.1": Writer.vote})
    busy = count()

    def line(request: Request) -> Said:
        is_walls = request.task.step == "vote" and request.task.role is Role.WALL
        return Overloaded("busy", model="x") if is_walls and next(busy) == 0 else priced(str(answer(request)))

    answer, table.model._line = table._answer, line
    run = await table.hold()
    seats = [seat for entry in written(run.debate) if (seat := getattr(entry.entry.body, "seat", None))]
    assert [seat.tried for seat in seats if seat.slot == "V1.Wall.1"] == [("test/wall: overloaded",)]
    assert run.unused == ()
    asked = Counter(request.task.step for request in table.model.requests)
    assert asked == {"turn": 2, "checklist": 1, "apply": 1, "vote": 3, "account": 1}
    assert sum(Decimal(seat.cost or 0) for seat in seats) == run.spent.cost_usd == Decimal("0.07")


def answers_of(line: Line) -> tuple[int, ...]:
    assert isinstance(line.entry.body, Refined)
    return line.entry.body.answers


def objections(debate: Debate) -> set[int]:
    votes = Case.of(debate, None).votes
    return {vote.seq for vote in votes if vote.name is not None}
