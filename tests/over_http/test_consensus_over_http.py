"""Consensus through real HTTP: how a council ends, and what each voter and Door read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from council import (
    EVIDENCE,
    KINDS,
    ROUNDS,
    VOTERS,
    Council,
    answer,
    fenced,
    reason,
    settlement,
    synthesis_in,
)
from provider import Provider, Stage, plan_at, question_of

from orchestrator.cli.ending import Exit, ended_as
from orchestrator.decision.ballot import VoteAnswer
from orchestrator.events import SynthesisRefined, VoteCast
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Status
from orchestrator.models.litellm import LiteLLM
from orchestrator.structured import schema_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.xdist_group("litellm")]

# Their parts stand in the turns, which every prompt holds too.
CONSTRAINTS = """\
- T3.C1 (CONSTRAINT, validator): Nobody on call knows C1. | {answers}
- T4.C1 (OPPORTUNITY, critical-engineer): Nobody on call knows C1. | {answers}"""


@pytest.fixture
def council(provider: Provider, litellm: LiteLLM, hall: Hall) -> Council:
    return Council(provider, litellm, hall)


# ------------------------------------------------------------------------------------------------------- how it ends


class Ends(NamedTuple):
    """How a council ends.

    Args:
        closes_with: the number of a synthesis.
    """

    refinements: int
    objecting: Sequence[Sequence[str]]
    exit: Exit
    closes_with: int


BOTH, ONE, OTHER = ("ideator", "validator"), ("validator",), ("critical-engineer",)
ENDS = {
    "all agree": Ends(2, [], Exit.DECIDED, 1),
    "after one refinement": Ends(2, [ONE], Exit.DECIDED, 2),
    "after two refinements": Ends(2, [BOTH, ONE], Exit.DECIDED, 3),
    "after another objects to the first": Ends(2, [ONE, OTHER], Exit.DECIDED, 3),
    "stalemate, the first has the fewest": Ends(2, [ONE, BOTH, BOTH], Exit.NO_CONSENSUS, 1),
    "stalemate, the second has the fewest": Ends(2, [BOTH, OTHER, tuple(VOTERS)], Exit.NO_CONSENSUS, 2),
    "stalemate, the last has the fewest": Ends(2, [BOTH, BOTH, ONE], Exit.NO_CONSENSUS, 3),
    "stalemate, the newest of equal ones": Ends(2, [ONE, BOTH, OTHER], Exit.NO_CONSENSUS, 3),
    "one refinement is not enough": Ends(1, [BOTH, ONE], Exit.NO_CONSENSUS, 2),
    "no refinement, and all agree": Ends(0, [], Exit.DECIDED, 1),
    "no refinement, and one objects": Ends(0, [OTHER], Exit.NO_CONSENSUS, 1),
}


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
async def test_a_council_ends_as_its_votes_come_to(council: Council, ends: Ends) -> None:
    council.objecting = ends.objecting
    council.sits(ends.refinements)
    run = await council.stage.hold()
    agrees = ends.exit is Exit.DECIDED
    ballots = len(ends.objecting) + agrees
    assert council.steps == [*["vote"] * 4, *["refine", *["vote"] * 4] * (ballots - 1), "account"]
    assert ended_as(run.debate.state) is ends.exit
    record = council.record
    assert record.status is (Status.SYNTHESIS if agrees else Status.STALEMATE)
    assert (record.agreed, record.incomplete) == (agrees, ())
    (account,) = council.calls("account")
    assert synthesis_in(account) == ends.closes_with
    assert record.decision == council.syntheses[ends.closes_with - 1]
    assert [(vote.slot, vote.on, vote.choice) for vote in record.votes] == list(votes_in(ends, ballots))
    assert [(one.id, one.agent, one.objection, one.settled_by, one.settlement) for one in record.dissent] == [
        (name, agent, reason(agent, ballot, can=False), KINDS[agent], settlement(agent, ballot))
        for name, agent, ballot in objections_in(ends)
        if not any(agent not in later for later in (*ends.objecting, *[()] * agrees)[ballot:])
    ]
    assert [event.slot for event in council.stage.told(VoteCast)] == [vote.slot for vote in record.votes]
    assert [event.answers for event in council.stage.told(SynthesisRefined)] == [
        tuple(name for name, _, objected in objections_in(ends) if objected == ballot) for ballot in range(1, ballots)
    ]
    council.assert_bought_once()
    assert (record.tokens.input, record.tokens.output, record.cost_usd) == (
        run.spent.input,
        run.spent.output,
        run.spent.cost_usd,
    )


def votes_in(ends: Ends, ballots: int) -> list[tuple[str, str, str]]:
    """Each vote: its slot, what it is on, the choice."""
    objecting = [*ends.objecting, ()]
    return [
        (f"V{ballot + 1}.{place}", f"refinement {ballot}" if ballot else "T7", choice)
        for ballot in range(ballots)
        for agent, place in VOTERS.items()
        for choice in ["object" if agent in objecting[ballot] else "approve"]
    ]


def objections_in(ends: Ends) -> list[tuple[str, str, int]]:
    """Each objection: its name, who made it, on which ballot."""
    made = [(agent, ballot) for ballot, those in enumerate(ends.objecting, 1) for agent in VOTERS if agent in those]
    return [(f"O{number}", agent, ballot) for number, (agent, ballot) in enumerate(made, 1)]


@pytest.mark.parametrize("recipe", ["council", "fortress"])
async def test_every_voice_votes_once_however_many_rounds_it_spoke_in(
    provider: Provider, litellm: LiteLLM, hall: Hall, recipe: str
) -> None:
    plan = plan_at(provider, recipe, most=800, consensus={"required": True, "refinements": 2})
    stage = Stage(hall, plan, lambda route: litellm)
    run = await stage.hold()
    asked = [question for call in provider.calls if (question := question_of(call)).step == "vote"]
    voices = {(seat.role, seat.agent, seat.lens) for each in plan.rounds for seat in (*each.winds, *each.walls)}
    assert len(asked) == 4
    assert {(question.role, question.agent, question.lens) for question in asked} == voices
    assert ended_as(run.debate.state) is Exit.DECIDED
    assert len(provider.calls) == plan.calls


# -------------------------------------------------------------------------------------------------- what they are asked


@pytest.fixture
async def refined(council: Council) -> Council:
    """A council that agreed on its third synthesis. Nothing of a ballot was answered before all of it was asked."""
    council.objecting = [BOTH, ONE]
    council.provider.hold_until(*ROUNDS, 4, 1, 4, 1, 4, 1)
    run = await council.stage.hold()
    assert ended_as(run.debate.state) is Exit.DECIDED
    return council


async def test_all_voters_of_a_ballot_are_asked_before_the_first_has_answered(refined: Council) -> None:
    for ballot in (1, 2, 3):
        calls = refined.calls("vote", ballot)
        assert {question_of(call).agent for call in calls} == set(VOTERS)
        assert max(call.started for call in calls) < min(call.finished or 0 for call in calls)


async def test_every_voter_reads_the_newest_synthesis_word_for_word_and_no_older_one(refined: Council) -> None:
    for ballot in (1, 2, 3):
        for call in refined.calls("vote", ballot):
            assert fenced("the synthesis you vote on", synthesis_at(refined, ballot)) in call.task
            assert re.findall(r"# Synthesis (\d)", call.task) == [str(ballot)]
            assert re.findall(r"# Synthesis (\d)", call.prompt) == ["1", str(ballot)]  # the first is T7 too


async def test_every_voter_reads_the_whole_list_of_constraints_with_the_answers(refined: Council) -> None:
    where = ("T7", "refinement 1", "refinement 2")
    said = [f"{words} MET: {answer(number)}" for number, words in enumerate(where, 1)]
    for ballot in (1, 2, 3):
        told = CONSTRAINTS.format(answers=" | ".join(said[:ballot]))
        for call in [
            *refined.calls("vote", ballot),
            *refined.calls("refine", ballot),
            *refined.calls("account", ballot),
        ]:
            assert fenced("the constraints, with the answers to them", told) in call.task


async def test_no_voter_reads_a_vote_that_is_cast_beside_its_own_but_the_objections_that_stand(
    refined: Council,
) -> None:
    for ballot, before in ((1, []), (2, ["ideator", "validator"]), (3, ["validator"])):
        for call in refined.calls("vote", ballot):
            assert re.findall(r"([\w-]+) can carry synthesis \d", call.prompt) == []
            read = re.findall(r"([\w-]+) cannot carry synthesis (\d)", call.prompt)
            assert sorted({agent for agent, _ in read}) == before
            assert str(ballot) not in {number for _, number in read}


async def test_door_reads_each_objection_with_its_name_its_reason_and_what_would_end_it(refined: Council) -> None:
    first, second = refined.calls("refine")
    assert fenced("the synthesis that was voted on", synthesis_at(refined, 1)) in first.task
    told = (
        "O1, Wind ideator: ideator cannot carry synthesis 1. It rests on T7, T3.C1.\n"
        "What would end it, a fact: what ideator asks of synthesis 1\n\n"
        "O2, Wall validator: validator cannot carry synthesis 1. It rests on T7, T3.C1.\n"
        "What would end it, a change: what validator asks of synthesis 1"
    )
    assert fenced("the objections to it", told) in first.task
    assert "what you changed, or why not`: O1, O2." in first.task
    assert fenced("the synthesis that was voted on", synthesis_at(refined, 2)) in second.task
    told = (
        "O3, Wall validator: validator cannot carry synthesis 2. It rests on T7, T3.C1.\n"
        "What would end it, a change: what validator asks of synthesis 2"
    )
    assert fenced("the objections to it", told) in second.task
    assert re.search(r"# Synthesis 1|carry synthesis 1", second.task) is None


async def test_what_settles_a_synthesis_begins_byte_for_byte_as_the_last_turn_was_asked_for(refined: Council) -> None:
    *before, own = refined.provider.calls[sum(ROUNDS) - 1].messages
    assert "Yours is the last turn." in own[1]
    assert (len(before), EVIDENCE.text.splitlines()[0] in before[1][1]) == (8, True)  # protocol, topic, T1 to T6
    turn = ("user", fenced("T7: Door, synthesizer, round 1", synthesis_at(refined, 1)))
    for call in refined.settling:
        assert call.messages[:-1] == (*before, turn)
    for call in [*refined.calls("refine"), *refined.calls("account")]:
        assert call.cached >= refined.provider.count(before)
    for call in refined.calls("vote")[4:]:
        assert call.cached >= refined.provider.count((*before, turn))


async def test_every_vote_is_held_to_the_schema_where_its_model_takes_one(refined: Council) -> None:
    assert all(call.schema == schema_of(VoteAnswer) for call in refined.calls("vote"))
    assert all(call.schema is None for call in refined.calls("refine"))


def synthesis_at(council: Council, ballot: int) -> str:
    """The one that a ballot is on, as Door wrote it."""
    written = council.syntheses[ballot - 1]
    assert written is not None
    assert f"# Synthesis {ballot}\n" in written
    return written
