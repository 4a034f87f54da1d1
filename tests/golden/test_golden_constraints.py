"""Planted constraints: what became of each stands in the record as it was planted, and nothing else does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from building import RECIPES, account_text, plan_of
from golden.planting import CONSTRAINT, OPPORTUNITY, answered, door, held, settlement, stated, statement, wall
from orchestrator.decision.constraints import Outcome
from orchestrator.decision.decided import AnswerGiven
from orchestrator.hall.terms import Role, SettledBy, Status

pytestmark = pytest.mark.anyio

FATES = [Outcome.MET, Outcome.TRADED_OFF, Outcome.REFUTED, None]  # None: Door ignores it
PLANTED = [(f"C{number}", nature, fate) for number, (nature, fate) in enumerate(
    [(nature, fate) for nature in (CONSTRAINT, OPPORTUNITY) for fate in FATES], start=1
)]  # fmt: skip
IGNORED = [name for name, _, fate in PLANTED if fate is None]
WORD = {Outcome.MET: "MET", Outcome.TRADED_OFF: "TRADED OFF", Outcome.REFUTED: "REFUTED"}


def sentence(name: str) -> str:
    return f"For {name} the outbox is the way."


ROWS = [stated(name, nature) for name, nature, _ in PLANTED]
SYNTHESIS = door(*(f"- [T2.{name}] {WORD[fate]}: {sentence(name)}" for name, _, fate in PLANTED if fate))
ACCOUNT = account_text(
    constraints=[answered(f"T2.{name}", fate or "open", sentence(name) if fate else None) for name, _, fate in PLANTED]
)


@pytest.mark.parametrize("verdict", ["APPROVED", "CONDITIONAL"])
async def test_met_traded_off_refuted_and_ignored_constraints_are_what_was_planted(
    tmp_path: Path, verdict: str
) -> None:
    run = await held(
        tmp_path, plan_of("speed"), {"Wall 1": wall(verdict, *ROWS), "Door 1": SYNTHESIS, "account": ACCOUNT}
    )
    found = run.record.constraints
    assert [(each.id, each.statement, each.nature, each.turn) for each in found] == [
        (f"T2.{name}", statement(name), nature, 2) for name, nature, _ in PLANTED
    ]
    assert [(each.outcome, each.sentence) for each in found] == [
        (fate or Outcome.OPEN, sentence(name) if fate else None) for name, _, fate in PLANTED
    ]
    assert [each.answers for each in found] == [
        (AnswerGiven(where="T3", role=Role.DOOR, word=WORD[fate], sentence=sentence(name)),) if fate else ()
        for name, _, fate in PLANTED
    ]
    assert Counter(each.outcome for each in found) == dict.fromkeys(Outcome, 2)
    assert [(each.turn, each.verdict, each.grounded) for each in run.record.verdicts] == [(2, verdict, True)]
    assert not any(each.blocks or each.lifted for each in found)
    assert (run.record.incomplete, run.record.status) == ((), Status.SYNTHESIS)


async def test_an_ignored_constraint_is_dissent_in_walls_words_with_what_would_end_it(tmp_path: Path) -> None:
    run = await held(
        tmp_path, plan_of("speed"), {"Wall 1": wall("CONDITIONAL", *ROWS), "Door 1": SYNTHESIS, "account": ACCOUNT}
    )
    told = [(each.id, each.role, each.turn, each.objection, each.settled_by) for each in run.record.dissent]
    assert told == [(f"T2.{name}", Role.WALL, 2, statement(name), SettledBy.CHANGE) for name in IGNORED]
    assert [each.settlement for each in run.record.dissent] == [settlement(name) for name in IGNORED]


@pytest.mark.parametrize("honest", [True, False])
async def test_no_judgement_of_door_lifts_what_wall_blocks(tmp_path: Path, honest: bool) -> None:
    """An account that leaves open what is open is taken at once; one that claims more is told, and claims in vain."""
    open_all = account_text(constraints=[answered(f"T2.{name}", "open", None) for name, *_ in PLANTED])
    told = [open_all] if honest else [ACCOUNT, ACCOUNT]
    run = await held(
        tmp_path, plan_of("speed"), {"Wall 1": wall("BLOCKED", *ROWS), "Door 1": SYNTHESIS, "account": told}
    )
    found = run.record.constraints
    assert [each.id for each in found] == [f"T2.{name}" for name, *_ in PLANTED]
    assert {(each.blocks, each.lifted, each.outcome, each.sentence) for each in found} == {
        (True, False, Outcome.OPEN, None)
    }
    said = [
        f"T3 answers {WORD[fate]}, which lifts no block" if fate else "Door does not answer it" for *_, fate in PLANTED
    ]
    whys = [f"T2.{name} blocks, and {what}." for (name, *_), what in zip(PLANTED, said, strict=True)]
    assert run.record.incomplete == tuple(whys)
    assert [each.id for each in run.record.dissent] == [f"T2.{name}" for name, *_ in PLANTED]
    claimed = [why for why, (*_, fate) in zip(whys, PLANTED, strict=True) if fate]
    assert all(why in run.told("account")[-1] for why in claimed) != honest


async def test_what_only_an_earlier_turn_answers_is_no_sentence_of_the_synthesis(tmp_path: Path) -> None:
    run = await held(
        tmp_path,
        plan_of("standard", turns=6),
        {
            "Wall 1": wall("CONDITIONAL", stated("C1", CONSTRAINT)),
            "Door 1": door(f"- [T2.C1] MET: {sentence('C1')}", "## OPEN", "- When?"),
            "account": account_text(constraints=[answered("T2.C1", "met", sentence("C1"))]),
        },
    )
    (found,) = run.record.constraints
    assert (found.outcome, found.sentence, [each.where for each in found.answers]) == (Outcome.OPEN, None, ["T3"])
    assert run.record.incomplete == (f"T2.C1 is met by a sentence that is not in the synthesis: “{sentence('C1')}”",)


async def test_a_constraint_that_prose_answers_has_the_outcome_that_door_accounts_for(tmp_path: Path) -> None:
    run = await held(
        tmp_path,
        plan_of("speed"),
        {
            "Wall 1": wall("CONDITIONAL", stated("C1", CONSTRAINT)),
            "Door 1": door("Two people are", "  trained by March."),
            "account": account_text(constraints=[answered("T2.C1", "met", "Two people are trained by March.")]),
        },
    )
    (found,) = run.record.constraints
    assert (found.outcome, found.sentence, found.answers) == (Outcome.MET, "Two people are trained by March.", ())
    assert (run.record.incomplete, run.record.dissent) == ((), ())


async def test_the_walls_of_every_round_state_constraints_and_each_is_counted(tmp_path: Path) -> None:
    names = ["T2.C1", "T3.C1", "T4.C1", "T7.C1", "T8.C1"]
    run = await held(
        tmp_path,
        plan_of("fortress"),
        {
            "Wall 1": wall("CONDITIONAL", stated("C1", CONSTRAINT)),
            "Wall 2": wall("APPROVED", stated("C1", OPPORTUNITY)),
            "Door 2": door(*(f"- [{name}] MET: {sentence(name)}" for name in names)),
            "account": account_text(constraints=[answered(name, "met", sentence(name)) for name in names]),
        },
    )
    assert [(each.id, each.outcome, each.sentence) for each in run.record.constraints] == [
        (name, Outcome.MET, sentence(name)) for name in names
    ]
    assert (run.record.incomplete, run.record.dissent) == ((), ())


FRAGMENTS = ["train two people before March.", "We will not train", "e will not train two people before March."]


@pytest.mark.parametrize("fragment", FRAGMENTS)
async def test_a_part_of_a_sentence_which_may_say_the_opposite_is_no_answer(tmp_path: Path, fragment: str) -> None:
    run = await held(
        tmp_path,
        plan_of("speed"),
        {
            "Wall 1": wall("CONDITIONAL", stated("C1", CONSTRAINT)),
            "Door 1": door("We will not train two people before March."),
            "account": account_text(constraints=[answered("T2.C1", "met", fragment)]),
        },
    )
    assert run.record.incomplete == (f"T2.C1 is met by a sentence that is not in the synthesis: “{fragment}”",)
    assert run.record.constraints[0].outcome is Outcome.OPEN


async def test_two_constraints_under_one_id_are_both_in_the_record(tmp_path: Path) -> None:
    again = stated("C1", CONSTRAINT).replace(statement("C1"), "Nobody is on call at night.")
    run = await held(tmp_path, plan_of("speed"), {"Wall 1": wall("CONDITIONAL", stated("C1", CONSTRAINT), again)})
    told = "C1 is stated 2 times: give each constraint an id of its own."
    assert told in run.told("Wall 1")[1]  # it was told, and did not mend it
    assert run.record.incomplete == (f"T2 (Wall, wall-agent): {told}", "T2.C1 has no outcome.")
    assert [(each.id, each.statement, each.nature) for each in run.record.constraints] == [
        ("T2.C1", "Nobody on call knows C1. And: Nobody is on call at night.", CONSTRAINT)
    ]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "recipe", [pytest.param(name, marks=[pytest.mark.slow] if name == "deep" else []) for name in RECIPES]
)
async def test_in_every_recipe_a_wall_without_a_verdict_is_sent_back_once_then_recorded(
    tmp_path: Path, recipe: str
) -> None:
    plan = plan_of(recipe)
    parts = {f"Wall {planned.number}": wall("MAYBE") for planned in plan.rounds}
    run = await held(tmp_path, plan, parts)
    walls = sum(len(planned.walls) for planned in plan.rounds)
    told = [words for part in parts for words in run.told(part)]
    assert len(told) == 2 * walls
    assert sum(words.startswith("Your turn lacks something. The verdict is not one") for words in told) == walls
    assert len([lacking for lacking in run.record.incomplete if "The verdict is not one" in lacking]) == walls
