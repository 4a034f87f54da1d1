"""A BLOCKED constraint, followed from Wall's turn through every later prompt into the record."""

from __future__ import annotations

from pathlib import Path

import pytest

from building import account_text, plan_of, vote_text
from golden.planting import (
    CONSTRAINT,
    OPPORTUNITY,
    Held,
    answered,
    constraints_said,
    door,
    held,
    objection,
    stated,
    statement,
    wall,
)
from orchestrator.decision.constraints import Outcome
from orchestrator.hall.cognition import Nature
from orchestrator.hall.debate import Said
from orchestrator.hall.terms import Role, Status
from orchestrator.plan import Plan

BOTH = [stated("C1", CONSTRAINT), stated("C2", OPPORTUNITY)]
REROUTE = (
    "- T2.C1, CONSTRAINT: reroute the path, `- [T2.C1] REROUTED: how`, or drop it, `- [T2.C1] DROPPED: what`{told}."
)
BUILD = (
    "- T2.C2, OPPORTUNITY: it becomes something to build, `- [T2.C2] BUILD: what, and how to tell it is done`{told}."
)
BLOCKS = "Wall blocks, and a block is lifted only by another course:"


def two_rounds() -> Plan:
    """Two rounds of Wind, Wall and Door, then votes, one refinement, and the account."""
    return plan_of("standard", turns=6, consensus={"required": True, "refinements": 1})


@pytest.mark.anyio
async def test_a_block_that_door_ignores_is_named_in_every_prompt_after_it_and_in_the_record(tmp_path: Path) -> None:
    parts = {
        "Wall 1": wall("BLOCKED", *BOTH),
        "vote of wall-agent": [objection("It is still blocked.", "T2.C1"), vote_text(rests_on=["T2"])],
        "account": account_text(constraints=[answered(name, "open", None) for name in ("T2.C1", "T2.C2")]),
    }
    run = await held(tmp_path, two_rounds(), parts)

    for told in (*run.told("Door 1"), *run.told("Door 2"), *run.told("refine")):
        assert f"{BLOCKS}\n{REROUTE.format(told='')}\n{BUILD.format(told='')}" in told
    for part in ("Door 1", "Door 2"):
        (told,) = run.told(part)
        assert "the blocks that are not lifted, in Wall's words" in told
        assert all(f"- T2.{name} ({nature}, BLOCKS, wall-agent): {statement(name)}" in told
                   for name, nature in (("C1", CONSTRAINT), ("C2", OPPORTUNITY)))  # fmt: skip
    (wind,) = run.told("Wind 2")
    assert "Wall blocks, and Door has not lifted it: T2.C1, T2.C2." in wind
    (checklist, turn) = (run.told("checklist")[-1], run.told("Wall 2")[0])
    assert "T2.C1" not in checklist  # it is drafted beside Wind, from nothing but what binds
    assert "whether it still stands: T2.C1, T2.C2." in turn

    assert len(run.told("vote")) == 4
    for vote in run.told("vote"):
        assert (
            "Wall blocks, and the synthesis does not lift it: T2.C1, T2.C2; say whether you can carry it all the same."
        ) in vote
    (account,) = run.told("account")
    assert (
        "Wall blocks, and the synthesis does not lift it: T2.C1, T2.C2; its outcome is open unless the synthesis "
        "reroutes, drops or builds."
    ) in account

    record = run.record
    assert record.incomplete == tuple(f"T2.{name} blocks, and Door does not answer it." for name in ("C1", "C2"))
    assert [(each.id, each.role, each.objection) for each in record.dissent] == [
        ("T2.C1", Role.WALL, statement("C1")),
        ("T2.C2", Role.WALL, statement("C2")),
    ]
    assert [(each.blocks, each.lifted, each.outcome) for each in record.constraints] == [
        (True, False, Outcome.OPEN)
    ] * 2
    assert (record.agreed, record.status) == (True, Status.SYNTHESIS)  # an open block stops no debate


SENTENCE = "An outbox carries what the broker would have carried."
LIFTING = {
    (CONSTRAINT, Role.DOOR, "REROUTED"),
    (CONSTRAINT, Role.DOOR, "DROPPED"),
    (OPPORTUNITY, Role.DOOR, "BUILD"),
    (CONSTRAINT, Role.WALL, "LIFTED"),
    (OPPORTUNITY, Role.WALL, "LIFTED"),
}
WORDS = ("MET", "TRADED OFF", "REFUTED", "OPEN", "REROUTED", "DROPPED", "BUILD", "STANDS", "LIFTED")


def answer(word: str) -> str:
    return f"- [T2.C1] {word}: {SENTENCE}"


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("nature", Nature)
def test_a_block_is_lifted_by_the_words_of_another_course_or_by_walls_and_by_no_other(
    nature: Nature, role: Role, word: str
) -> None:
    turns = [
        Said(2, 1, Role.WALL, "wall-agent", f"VERDICT: BLOCKED\n{stated('C1', nature)}"),
        Said(3, 1, role, "somebody", answer(word)),
    ]
    (found,) = constraints_said(*turns)
    assert found.is_open_block == ((nature, role, word) not in LIFTING)


async def answered_once(tmp_path: Path, nature: Nature, role: Role, word: str) -> Held:
    """A block of round 1 that one side answers in the next turn it has; Door's last word repeats the sentence."""
    parts = {
        "Wall 1": wall("BLOCKED", stated("C1", nature)),
        "Door 1": door(answer(word) if role is Role.DOOR else ""),
        "Wall 2": wall("APPROVED", answer(word) if role is Role.WALL else ""),
        "Door 2": door(SENTENCE),
        "account": account_text(constraints=[answered("T2.C1", "met", SENTENCE)]),
    }
    return await held(tmp_path, plan_of("standard", turns=6), parts)


@pytest.mark.anyio
@pytest.mark.parametrize(("nature", "role", "word"), sorted(LIFTING))
async def test_nobody_is_told_of_a_block_that_is_lifted_and_its_outcome_is_doors(
    tmp_path: Path, nature: Nature, role: Role, word: str
) -> None:
    run = await answered_once(tmp_path, nature, role, word)
    after = ["Door 2", "account"] if role is Role.WALL else ["Wind 2", "Door 2", "account"]
    assert not [told for part in after for told in run.told(part) if "Wall blocks" in told]
    (found,) = run.record.constraints
    assert (found.lifted, found.outcome, found.sentence) == (True, Outcome.MET, SENTENCE)
    assert (run.record.incomplete, run.record.dissent) == ((), ())


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("nature", "role", "word", "why"),
    [
        (CONSTRAINT, Role.DOOR, "MET", "T3 answers MET, which lifts no block"),
        (OPPORTUNITY, Role.DOOR, "REROUTED", "T3 answers REROUTED, which lifts no block"),
        (CONSTRAINT, Role.DOOR, "BUILD", "T3 answers BUILD, which lifts no block"),
        (CONSTRAINT, Role.WALL, "STANDS", "T5 answers STANDS, which lifts no block"),
        (CONSTRAINT, Role.DOOR, "LIFTED", "Door does not answer it"),  # it is not Door's word
    ],
)
async def test_a_block_that_is_answered_otherwise_is_open_whatever_door_claims(
    tmp_path: Path, nature: Nature, role: Role, word: str, why: str
) -> None:
    run = await answered_once(tmp_path, nature, role, word)
    (told,) = run.told("Door 2")
    assert BLOCKS in told
    (found,) = run.record.constraints
    assert (found.lifted, found.outcome, found.sentence) == (False, Outcome.OPEN, None)
    assert run.record.incomplete == (f"T2.C1 blocks, and {why}.",)
    assert [each.id for each in run.record.dissent] == ["T2.C1"]


@pytest.mark.anyio
async def test_a_block_that_door_calls_met_is_named_with_that_until_it_is_lifted(tmp_path: Path) -> None:
    parts = {
        "Wall 1": wall("BLOCKED", *BOTH),
        "Door 1": door("- [T2.C1, T2.C2] MET: It is all taken care of."),
        "Door 2": door("- [T2.C1] MET: By now it is.", "- [T2.C2] BUILD: A replay test, green for a week."),
        "account": account_text(
            constraints=[
                answered("T2.C1", "met", "By now it is."),
                answered("T2.C2", "met", "A replay test, green for a week."),
            ]
        ),
    }
    run = await held(tmp_path, two_rounds(), parts)
    told = "; MET (T3) does not lift it"
    assert f"{REROUTE.format(told=told)}\n{BUILD.format(told=told)}" in run.told("Door 2")[0]
    for vote in run.told("vote"):
        assert "Wall blocks, and the synthesis does not lift it: T2.C1; say" in vote
        assert f"BLOCKS, wall-agent): {statement('C1')}" in vote
        assert "| T3 MET: It is all taken care of. | T6 MET: By now it is." in vote
    why = "T2.C1 blocks, and T6 answers MET, which lifts no block."
    first, second = run.told("account")
    assert "does not lift it: T2.C1; its outcome is open" in first
    assert why in second
    assert run.record.incomplete == (why,)
    assert [(each.lifted, each.outcome) for each in run.record.constraints] == [
        (False, Outcome.OPEN),
        (True, Outcome.MET),
    ]
    assert [each.id for each in run.record.dissent] == ["T2.C1"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("role", "line"),
    [("Wall", "- [T2.C1] STANDS: The outbox needs the rota too."), ("Door", "- [T2.C1] OPEN: Not yet.")],
)
async def test_a_block_that_was_lifted_opens_again_when_one_says_so(tmp_path: Path, role: str, line: str) -> None:
    parts = {
        "Wall 1": wall("BLOCKED", stated("C1", CONSTRAINT)),
        "Door 1": door(f"- [T2.C1] REROUTED: {SENTENCE}"),
        "Wall 2": wall("APPROVED", line if role == "Wall" else ""),
        "Door 2": door(line if role == "Door" else "", SENTENCE),
        "account": account_text(constraints=[answered("T2.C1", "open", None)]),
    }
    run = await held(tmp_path, plan_of("standard", turns=6), parts)
    assert "Wall blocks" not in run.told("Wind 2")[0]
    assert (BLOCKS in run.told("Door 2")[0]) == (role == "Wall")
    said = "T5 answers STANDS" if role == "Wall" else "T6 answers OPEN"
    assert run.record.incomplete == (f"T2.C1 blocks, and {said}, which lifts no block.",)


@pytest.mark.anyio
async def test_what_is_lifted_stays_so_when_door_says_that_it_is_met(tmp_path: Path) -> None:
    parts = {
        "Wall 1": wall("BLOCKED", stated("C1", CONSTRAINT)),
        "Door 1": door(f"- [T2.C1] REROUTED: {SENTENCE}"),
        "Door 2": door(f"- [T2.C1] MET: {SENTENCE}"),
        "account": account_text(constraints=[answered("T2.C1", "met", SENTENCE)]),
    }
    record = (await held(tmp_path, plan_of("standard", turns=6), parts)).record
    assert [(each.lifted, each.outcome) for each in record.constraints] == [(True, Outcome.MET)]
    assert record.incomplete == ()


@pytest.mark.anyio
async def test_a_block_that_only_a_lost_refinement_lifted_stands(tmp_path: Path) -> None:
    """The debate closes with the synthesis before it, and that one lifts nothing."""
    parts = {
        "Wall 1": wall("BLOCKED", stated("C1", CONSTRAINT)),
        "vote of wind-agent": [vote_text(), objection("That is no outbox.")],
        "vote of wall-agent": [objection("It is blocked."), objection("The outbox is not manned.")],
        "refine": door(f"- [T2.C1] REROUTED: {SENTENCE}", "", "## OBJECTIONS", "- [O1] It is rerouted."),
        "account": account_text(constraints=[answered("T2.C1", "open", None)]),
    }
    plan = plan_of("speed", consensus={"required": True, "refinements": 1})
    run = await held(tmp_path, plan, parts)
    assert run.record.decision == run.debate.turns[-1].text
    (found,) = run.record.constraints
    assert (found.lifted, found.outcome, found.answers) == (False, Outcome.OPEN, ())
    assert run.record.incomplete == ("T2.C1 blocks, and Door does not answer it.",)


@pytest.mark.anyio
async def test_a_wall_that_says_it_stands_is_not_overruled_by_a_claim(tmp_path: Path) -> None:
    parts = {
        "Wall 1": wall("CONDITIONAL", stated("C1", CONSTRAINT)),
        "Door 1": door(f"- [T2.C1] MET: {SENTENCE}"),
        "Wall 2": wall("APPROVED", "- [T2.C1] STANDS: The outbox needs the rota too."),
        "Door 2": door(SENTENCE),
        "account": account_text(constraints=[answered("T2.C1", "met", SENTENCE)]),
    }
    run = await held(tmp_path, plan_of("standard", turns=6), parts)
    why = "T2.C1 stands, as T5 says, and nobody answers that."
    assert why in run.told("account")[1]
    assert run.record.incomplete == (why,)
    assert [(each.outcome, each.sentence) for each in run.record.constraints] == [(Outcome.OPEN, None)]
    assert [each.id for each in run.record.dissent] == ["T2.C1"]


@pytest.mark.anyio
async def test_a_blocked_turn_that_states_no_constraint_blocks_all_the_same(tmp_path: Path) -> None:
    parts = {"Wall 1": wall("BLOCKED"), "account": account_text(constraints=[answered("T2.C0", "open", None)])}
    run = await held(tmp_path, two_rounds(), parts)
    missing = "BLOCKED without a constraint: state at least one as a line `- [C1] CONSTRAINT: …`."
    assert missing in run.told("Wall 1")[1]
    (door_told,) = run.told("Door 2")
    assert "- T2.C0, whose nature is not stated: reroute the path, `- [T2.C0] REROUTED: how`" in door_told
    assert all("the synthesis does not lift it: T2.C0; say" in vote for vote in run.told("vote"))
    assert run.record.incomplete == (
        f"T2 (Wall, wall-agent): {missing}",
        "T2.C0 blocks, and Door does not answer it.",
    )
    assert [each.id for each in run.record.dissent] == ["T2.C0"]


@pytest.mark.anyio
@pytest.mark.parametrize("bare", ["REROUTED", "REROUTED: .", "DROPPED: n/a"])
async def test_a_block_is_not_lifted_by_a_word_that_does_not_say_how(tmp_path: Path, bare: str) -> None:
    parts = {
        "Wall 1": wall("BLOCKED", stated("C1", CONSTRAINT)),
        "Door 1": door(f"- [T2.C1] {bare}", "", SENTENCE),
        "account": account_text(constraints=[answered("T2.C1", "met", SENTENCE)]),
    }
    run = await held(tmp_path, plan_of("speed"), parts)
    assert run.record.incomplete == ("T2.C1 blocks, and Door does not answer it.",)
    assert [(each.lifted, each.answers) for each in run.record.constraints] == [(False, ())]
