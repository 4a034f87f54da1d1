"""Negated and hedged language: what a schema, a verdict line or an answer line states, no prose around it changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from building import account_text, plan_of, vote_text
from golden.planting import CONSTRAINT, Parts, answered, constraints_said, door, held, objection, stated, wall
from orchestrator.agenda import leaves_no_question
from orchestrator.decision.ballot import VoteAnswer
from orchestrator.decision.constraints import Outcome
from orchestrator.hall.cognition import read_wall
from orchestrator.hall.debate import Said
from orchestrator.hall.terms import Role, Status
from orchestrator.hall.verdict import Verdict
from orchestrator.structured import read

AGAINST = [
    "I cannot approve this.",
    "I object.",
    "Before I approve, fix X.",
    "Approved? Certainly not.",
    "This is BLOCKED, and nobody may approve it.",
    "My vote: object.",
    "APPROVED would be wrong.",
    "Not CONDITIONAL but BLOCKED.",
    '"choice": "object"',
    "T2.C1 is REFUTED.",
    "T2.C1 STANDS: nobody has answered it.",
    "Nothing about T2.C1 is MET.",
]
IN_FAVOUR = [
    "No objections.",
    "I approve this without reserve.",
    "not BLOCKED, but worth a look.",
    "Approved by everybody.",
    "There is nothing here that I could object to.",
    "My vote: approve.",
    "BLOCKED would be wrong.",
    "CONDITIONAL? No: APPROVED.",
    '"choice": "approve"',
    "T2.C1 is MET.",
    "T2.C1 LIFTED, if you ask me.",
    "It is not that nothing is open: NONE is.",
]
PHRASES = [*AGAINST, *IN_FAVOUR]
PROSE = st.lists(st.sampled_from(PHRASES), max_size=4)
CHOICES = st.sampled_from(["approve", "object"])


@given(CHOICES, st.sampled_from(PHRASES), PROSE, PROSE)
def test_a_vote_is_its_choice_whatever_its_reason_and_the_prose_around_it_say(
    choice: str, reason: str, before: list[str], after: list[str]
) -> None:
    text = "\n".join([*before, vote_text(choice, reason), *after])
    answer = read(text, VoteAnswer)
    assert (answer.choice, answer.reason) == (choice, reason)


@given(st.sampled_from(Verdict), PROSE, PROSE)
def test_a_verdict_is_its_line_whatever_is_said_after_it(verdict: Verdict, after: list[str], last: list[str]) -> None:
    text = "\n".join([f"VERDICT: {verdict}", *after, "", "## CONSTRAINTS", stated("C1", CONSTRAINT), "", *last])
    assert read_wall(text).verdict is verdict


@given(st.sampled_from(Verdict), st.sampled_from(PHRASES), st.booleans())
def test_a_verdict_that_prose_is_mixed_into_is_sent_back_and_never_read_as_another(
    verdict: Verdict, phrase: str, before: bool
) -> None:
    mixed = f"{phrase}\nVERDICT: {verdict}" if before else f"VERDICT: {verdict} {phrase}"
    reading = read_wall(mixed)
    assert reading.verdict in (verdict, None)
    assert reading.verdict is verdict or reading.missing


WORDS = {"MET": Outcome.MET, "TRADED OFF": Outcome.TRADED_OFF, "REFUTED": Outcome.REFUTED, "OPEN": Outcome.OPEN}


@given(st.sampled_from(list(WORDS)), st.sampled_from(PHRASES), PROSE, PROSE)
def test_a_constraint_is_answered_by_its_line_whatever_the_line_and_the_prose_around_it_say(
    word: str, sentence: str, before: list[str], after: list[str]
) -> None:
    spoken = [
        Said(1, 1, Role.WIND, "a", "\n".join(before)),
        Said(2, 1, Role.WALL, "b", f"VERDICT: CONDITIONAL\n{stated('C1', CONSTRAINT)}\n"),
        Said(3, 1, Role.DOOR, "c", "\n".join([*before, f"- [T2.C1] {word}: {sentence}", *after])),
    ]
    (found,) = constraints_said(*spoken)
    assert [(answer.where, answer.word, answer.sentence) for answer in found.answers] == [("T3", word, sentence)]
    assert found.outcome is WORDS[word]


@given(PROSE, st.sampled_from(Role))
def test_prose_answers_no_constraint_in_whosever_voice(prose: list[str], role: Role) -> None:
    assume(not any(phrase.startswith("T2.C1 STANDS:") for phrase in prose))  # that is a Wall's line of answer
    spoken = [
        Said(2, 1, Role.WALL, "b", f"VERDICT: BLOCKED\n{stated('C1', CONSTRAINT)}"),
        Said(3, 1, role, "c", "\n".join(prose)),
    ]
    (found,) = constraints_said(*spoken)
    assert (found.answers, found.outcome, found.is_open_block) == ((), Outcome.OPEN, True)


@given(PROSE, st.booleans())
def test_only_the_one_word_none_leaves_no_question(prose: list[str], none: bool) -> None:
    under = ["NONE"] if none else [f"- {phrase}" for phrase in prose]
    assert leaves_no_question("\n".join([*prose, "", "## OPEN", *under])) == none


# ------------------------------------------------------------------------------------------------------------ in a run


def consensus(refinements: int = 0) -> Any:
    return plan_of("speed", consensus={"required": True, "refinements": refinements})


@pytest.mark.anyio
async def test_votes_that_approve_in_words_of_refusal_agree(tmp_path: Path) -> None:
    words = " ".join(AGAINST)
    parts: Parts = {
        "vote of wind-agent": f"I cannot approve this:\n{vote_text('approve', words)}\nI object.",
        "vote of wall-agent": f"BLOCKED.\n```json\n{vote_text('approve', words)}\n```\n",
    }
    record = (await held(tmp_path, consensus(), parts)).record
    assert [(vote.choice, vote.reason) for vote in record.votes] == [("approve", words)] * 2
    assert (record.agreed, record.status, record.dissent) == (True, Status.SYNTHESIS, ())


@pytest.mark.anyio
async def test_votes_that_object_in_words_of_praise_do_not(tmp_path: Path) -> None:
    words = " ".join(IN_FAVOUR)
    record = (await held(tmp_path, consensus(), {"vote": f"No objections. {objection(words)} I approve."})).record
    assert [(vote.choice, vote.reason) for vote in record.votes] == [("object", words)] * 2
    assert (record.agreed, record.status) == (False, Status.STALEMATE)
    assert [each.objection for each in record.dissent] == [words] * 2


@pytest.mark.anyio
async def test_prose_around_a_schema_never_stands_for_it(tmp_path: Path) -> None:
    """Two answers that differ are read as none, and what is no answer is asked for again."""
    two = json.loads(vote_text("approve")), json.loads(objection("No."))
    parts: Parts = {
        "vote of wind-agent": ["I approve, no objections.", vote_text("approve")],
        "vote of wall-agent": [f"{json.dumps(two[0])}\nor rather\n{json.dumps(two[1])}", objection("No.")],
    }
    run = await held(tmp_path, consensus(), parts)
    assert [vote.choice for vote in run.record.votes] == ["approve", "object"]
    assert "There is no JSON object in the answer" in run.told("vote of wind-agent")[1]
    assert "There are two answers that differ" in run.told("vote of wall-agent")[1]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("verdict", "phrases"), [("BLOCKED", IN_FAVOUR), ("APPROVED", AGAINST), ("CONDITIONAL", PHRASES)]
)
async def test_walls_verdict_and_doors_answer_stand_among_words_that_say_otherwise(
    tmp_path: Path, verdict: str, phrases: list[str]
) -> None:
    prose = [phrase for phrase in phrases if not phrase.startswith("T2.C1 STANDS")]
    sentence = "It is not that nobody objects, but an outbox will do."
    parts: Parts = {
        "Wall 1": wall(verdict, *prose, "", stated("C1", CONSTRAINT)),
        "Door 1": door(*prose, f"- [T2.C1] REROUTED: {sentence}", *prose),
        "account": account_text(constraints=[answered("T2.C1", "met", sentence)]),
    }
    record = (await held(tmp_path, plan_of(), parts)).record
    assert [each.verdict for each in record.verdicts] == [verdict]
    (found,) = record.constraints
    assert (found.outcome, found.blocks, found.lifted) == (Outcome.MET, verdict == "BLOCKED", verdict == "BLOCKED")
    assert (record.incomplete, record.dissent, record.status) == ((), (), Status.SYNTHESIS)
