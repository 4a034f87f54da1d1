"""Planted votes and objections: who agrees, who dissents in which words, and what the outcome hangs on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from building import THREAD, account_text, hall_at, hold, plan_of, priced, voices, vote_text
from golden.planting import CONSTRAINT, Parts, answered, door, held, objection, stated, wall
from orchestrator.decision.decided import Dissent, LoadBearing
from orchestrator.decision.record import record_of
from orchestrator.export.marks import marks_of
from orchestrator.hall.terms import About, Role, SettledBy, Status
from orchestrator.plan import Plan

UNGROUNDED = (
    "rests_on: nothing of it exists in this debate; name a turn (T1), a constraint (T2.C1) or lines of the evidence "
    "(E1:12-18) that your reason rests on."
)
WALLS = wall("CONDITIONAL", stated("C1", CONSTRAINT))
CARRY = "Two people are trained by March."
CARRIED = [answered(name, "met", CARRY) for name in ("T3.C1", "T4.C1")]
TABLE: Parts = {"Wall 1": WALLS, "Door 1": door(CARRY), "account": account_text(constraints=CARRIED)}


def council(refinements: int = 0) -> Plan:
    """One round of ideator, edge-optimizer, validator, critical-engineer and three Doors, who are T1 to T7."""
    return plan_of("council", turns=7, consensus={"required": True, "refinements": refinements})


def refinement(*answers: str) -> str:
    return door(CARRY, "", "## OBJECTIONS", *answers)


@pytest.mark.anyio
async def test_planted_votes_stand_with_their_reasons_and_what_they_rest_on(tmp_path: Path) -> None:
    parts = {
        "vote of ideator": vote_text("approve", "It is small.", ["T1", "[T3.C1]", "T99"]),
        "vote of edge-optimizer": objection("The edge is\n\nforgotten.", "T2", kind="change", what="name the edge"),
        "vote of validator": vote_text("approve", "I like it.", ["T99", "my feeling"]),
        "vote of critical-engineer": objection(
            "The rota cannot carry it.", "T4.C1", kind="fact", what="who is on call"
        ),
    }
    run = await held(tmp_path, council(), TABLE | parts)
    assert [
        (vote.slot, vote.ballot, vote.on, vote.role, vote.agent, vote.choice, vote.name, vote.reason, vote.grounded)
        for vote in run.record.votes
    ] == [
        ("V1.Wind.1", 1, "T7", Role.WIND, "ideator", "approve", None, "It is small.", True),
        ("V1.Wind.2", 1, "T7", Role.WIND, "edge-optimizer", "object", "O1", "The edge is\n\nforgotten.", True),
        ("V1.Wall.1", 1, "T7", Role.WALL, "validator", "approve", None, "I like it.", False),
        ("V1.Wall.2", 1, "T7", Role.WALL, "critical-engineer", "object", "O2", "The rota cannot carry it.", True),
    ]
    assert [vote.rests_on for vote in run.record.votes] == [
        ("T1", "T3.C1", "T99"), ("T2",), ("T99", "my feeling"), ("T4.C1",)
    ]  # fmt: skip
    assert run.record.dissent == (
        Dissent(
            id="O1",
            role=Role.WIND,
            agent="edge-optimizer",
            lens=None,
            turn=None,
            objection="The edge is\n\nforgotten.",
            rests_on=("T2",),
            grounded=True,
            settled_by=SettledBy.CHANGE,
            settlement="name the edge",
        ),
        Dissent(
            id="O2",
            role=Role.WALL,
            agent="critical-engineer",
            lens=None,
            turn=None,
            objection="The rota cannot carry it.",
            rests_on=("T4.C1",),
            grounded=True,
            settled_by=SettledBy.FACT,
            settlement="who is on call",
        ),
    )
    assert (run.record.agreed, run.record.status, run.record.load_bearing) == (False, Status.STALEMATE, ())


@pytest.mark.anyio
async def test_a_vote_that_rests_on_nothing_is_asked_for_once_more_with_the_reason(tmp_path: Path) -> None:
    mends = [vote_text(rests_on=[]), vote_text(rests_on=["T7"])]
    stays = [vote_text(rests_on=["E1:1"]), vote_text(rests_on=["T8"])]
    parts = {"vote of ideator": mends, "vote of validator": stays, "vote of critical-engineer": stays}
    run = await held(tmp_path, council(), TABLE | parts)
    for voter in ("ideator", "validator", "critical-engineer"):
        first, second = run.told(f"vote of {voter}")
        assert UNGROUNDED not in first
        assert second == f"Your answer lacks something. {UNGROUNDED} Give the whole answer again."
    assert len(run.told("vote of edge-optimizer")) == 1
    assert [vote.grounded for vote in run.record.votes] == [True, True, False, False]
    assert run.record.agreed is False  # of Wall no approval counts
    assert (run.record.status, run.record.dissent) == (Status.STALEMATE, ())


@pytest.mark.anyio
async def test_an_objection_is_asked_once_more_what_would_end_it_and_counts_without(tmp_path: Path) -> None:
    told = "would_settle_it: an objection says what would end it."
    parts = {"vote of validator": [objection("No.", kind=None), objection("Still no.", kind=None)]}
    run = await held(tmp_path, council(), TABLE | parts)
    assert told in run.told("vote of validator")[1]
    (dissent,) = run.record.dissent
    assert (dissent.objection, dissent.settled_by, dissent.settlement) == ("Still no.", None, None)
    assert run.record.status is Status.STALEMATE


@pytest.mark.anyio
async def test_an_objection_that_is_answered_and_then_approved_is_no_dissent(tmp_path: Path) -> None:
    parts = {
        "vote of validator": [objection("The rota."), vote_text()],
        "refine": refinement("- [O1] Two people are trained first."),
    }
    run = await held(tmp_path, council(2), TABLE | parts)
    assert [vote.answered_in for vote in run.record.votes if vote.name == "O1"] == [("refinement 1",)]
    assert [(vote.ballot, vote.on) for vote in run.record.votes] == [(1, "T7")] * 4 + [(2, "refinement 1")] * 4
    assert (run.record.dissent, run.record.agreed, run.record.status) == ((), True, Status.SYNTHESIS)
    assert run.record.decision == parts["refine"]


@pytest.mark.anyio
async def test_an_objection_that_is_answered_and_not_approved_is_dissent(tmp_path: Path) -> None:
    parts = {
        "vote of ideator": [objection("It is dull."), vote_text()],
        "vote of validator": [objection("The rota."), objection("The rota, still.")],
        "refine": refinement("- [O1, O2] Two people are trained first."),
    }
    run = await held(tmp_path, council(1), TABLE | parts)
    assert [(each.id, each.objection) for each in run.record.dissent] == [
        ("O2", "The rota."), ("O3", "The rota, still."),
    ]  # fmt: skip
    answered_in = {vote.name: vote.answered_in for vote in run.record.votes if vote.name}
    assert answered_in == {"O1": ("refinement 1",), "O2": ("refinement 1",), "O3": ()}
    assert (run.record.agreed, run.record.status) == (False, Status.STALEMATE)


@pytest.mark.anyio
async def test_an_objection_stands_until_its_own_voter_approves_in_a_vote_that_counts(tmp_path: Path) -> None:
    parts = {
        "vote of validator": [objection("The rota."), *[vote_text("approve", "Fine.", ["T99"])] * 2],
        "refine": refinement("- [O1] Two people are trained first."),
    }
    run = await held(tmp_path, council(1), TABLE | parts)
    assert [(each.id, each.objection) for each in run.record.dissent] == [("O1", "The rota.")]
    assert (run.record.agreed, run.record.status) == (True, Status.SYNTHESIS)


@pytest.mark.anyio
async def test_a_refinement_that_passes_over_an_objection_is_sent_back_once_and_then_stands(tmp_path: Path) -> None:
    parts = {
        "vote of ideator": [objection("It is dull."), vote_text()],
        "vote of validator": [objection("The rota."), vote_text()],
        "refine": [refinement("- [O1] It is not."), refinement("- [O2] They are trained; O1 is answered too.")],
    }
    run = await held(tmp_path, council(1), TABLE | parts)
    assert "It does not answer O2 in a line of its own." in run.told("refine")[1]
    answered_in = {vote.name: vote.answered_in for vote in run.record.votes if vote.name}
    assert answered_in == {"O1": (), "O2": ("refinement 1",)}
    assert run.record.dissent == ()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("objecting", "best"),
    [((2, 1, 2), 1), ((1, 2, 2), 0), ((1, 1, 1), 2)],  # of equal ones the newest
)
async def test_a_stalemate_closes_with_the_synthesis_that_the_fewest_object_to(
    tmp_path: Path, objecting: Sequence[int], best: int
) -> None:
    numbers = [count(), count()]
    voters = ["wind-agent", "wall-agent"]

    def vote(place: int) -> Any:
        return lambda request: objection("No.") if place < objecting[next(numbers[place])] else vote_text()

    texts = [
        door("It is T3."),
        *(f"{refinement(*(f'- [O{name}] It is so.' for name in range(1, 5)))} {number}" for number in (1, 2)),
    ]
    parts = {f"vote of {voter}": vote(place) for place, voter in enumerate(voters)}
    plan = plan_of("speed", consensus={"required": True, "refinements": 2})
    run = await held(tmp_path, plan, parts | {"Door 1": texts[0], "refine": list(texts[1:])})
    assert (run.record.status, run.record.decision) == (Status.STALEMATE, texts[best])
    assert len(run.record.votes) == 6


@pytest.mark.anyio
async def test_one_objection_is_load_bearing_of_two_none_is(tmp_path: Path) -> None:
    one = await held(tmp_path / "one", council(), TABLE | {"vote of validator": objection("The rota.")})
    assert one.record.load_bearing == (LoadBearing(id="O1", kind="vote", without_it="Without it there is agreement."),)
    two = {"vote of validator": objection("The rota."), "vote of ideator": objection("It is dull.")}
    assert (await held(tmp_path / "two", council(), TABLE | two)).record.load_bearing == ()


@pytest.mark.anyio
async def test_a_constraint_is_load_bearing_where_an_option_or_the_agreement_hangs_on_it_alone(tmp_path: Path) -> None:
    def option(title: str, *because: str, taken: bool = False) -> dict[str, Any]:
        return {"title": title, "turns": [1], "taken": taken, "why": "So.", "because": list(because)}

    options = [option("An outbox", "T3.C1", taken=True), option("Kafka.", "T3.C1"), option("Nothing", "T3.C1", "T4.C1")]
    parts = {
        "vote of validator": objection("The rota.", "T4.C1"),
        "account": account_text(constraints=CARRIED, options=options),
    }
    run = await held(tmp_path, council(), TABLE | parts)
    assert run.record.load_bearing == (
        LoadBearing(id="O1", kind="vote", without_it="Without it there is agreement."),
        LoadBearing(id="T3.C1", kind="constraint", without_it="Without it nothing rules out: Kafka."),
        LoadBearing(id="T4.C1", kind="constraint", without_it="Without it there is agreement."),
    )


@pytest.mark.anyio
async def test_a_stalemate_says_whether_objections_or_votes_that_count_are_missing(tmp_path: Path) -> None:
    objected = await held(tmp_path / "objected", council(), TABLE | {"vote of validator": objection("The rota.")})
    empty = await held(tmp_path / "empty", council(), TABLE | {"vote": vote_text(rests_on=["T99"])})
    assert [list(map(str, marks_of(run.record, "the list"))) for run in (objected, empty)] == [
        ["STALEMATE: the objections below were not settled."],
        ["STALEMATE: votes that count from Wind and Wall are missing."],
    ]


@pytest.mark.anyio
async def test_a_redaction_takes_no_agreement_back(tmp_path: Path) -> None:
    """The votes rest on a constraint of a turn that is redacted later."""
    run = await held(tmp_path, council(), TABLE | {"vote": vote_text(rests_on=["T3.C1"])})
    assert run.record.agreed is True
    with hall_at(tmp_path) as hall:
        hall.tombstone_turn(THREAD, 2, "It named a customer.")
        after = record_of(hall.debate(THREAD))
    assert (after.agreed, after.status) == (True, Status.SYNTHESIS)


@pytest.mark.anyio
async def test_an_objection_that_a_refinement_passes_over_twice_is_named_until_its_voter_approves(
    tmp_path: Path,
) -> None:
    passes_over = {"vote of validator": [objection("The rota."), vote_text()], "refine": refinement()}
    for voter, named in (("validator", ()), ("critical-engineer", ("O2",))):
        against = {} if voter == "validator" else {"vote of critical-engineer": objection("The pager.")}
        run = await held(tmp_path / voter, council(1), TABLE | passes_over | against)
        assert "It does not answer O1 in a line of its own." in run.told("refine")[1]
        assert run.record.incomplete == tuple(
            f"{name} has no answer in a line of its own, though Door refined its synthesis after it." for name in named
        )


@pytest.mark.anyio
async def test_an_account_that_was_redacted_was_not_withheld(tmp_path: Path) -> None:
    with hall_at(tmp_path) as hall:
        await hold(hall, plan_of(), voices())
        (account,) = hall.debate(THREAD).notes(About.ACCOUNT)
        hall.tombstone(THREAD, account.entry.seq, "It names a customer.")
        record = record_of(hall.debate(THREAD))
    assert record.incomplete == ("Door's account of the decision was redacted: [REDACTED: It names a customer.]",)
    assert (record.options, record.confidence) == ((), None)


@pytest.mark.anyio
async def test_answers_that_brought_nothing_are_on_the_bill_of_their_seat(tmp_path: Path) -> None:
    """Of a voter who is never heard, and of Door whose account nobody can read."""
    plan = plan_of("council", turns=7, on_failure="degrade")
    garbage = priced("Nope.", "0.01")
    parts = {"vote of validator": [garbage, garbage], "account": [garbage, garbage]}
    run = await held(tmp_path, plan, TABLE | parts)
    seats = {(seat.role, seat.agent, seat.lens): seat for seat in run.record.seats}
    assert [attempts.slot for attempts in run.record.attempts] == ["V1.Wall.1", "R1.Door.account"]
    assert run.record.tokens.input == run.spent.input
    assert sum(seat.tokens.input for seat in seats.values()) == run.spent.input
    assert all("nobody" not in seat.answered for seat in seats.values())
