"""Voters who fail and ballots that do not fit a limit, through real HTTP: what is bought, what counts, what is told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from council import ROUNDS, VOTERS, Council, at, ballot_of, healthy, reason, synthesis
from provider import Provider, bill, question_of

from building import evidence_of, hall_at, vote_text
from endpoint import Answer, Call, cut_off, error, server_error, wrong_key
from orchestrator.cli.ending import Exit, ended_as, exit_code
from orchestrator.errors import RunPaused, StoppedByLimit
from orchestrator.events import DraftFailed, FellBack, LimitReached, Retried, SeatMissing, SentBack
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role, Status
from orchestrator.models.base import Step
from orchestrator.models.litellm import LiteLLM
from orchestrator.plan import Changes
from orchestrator.recipe import Limits
from orchestrator.runner import Run

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.xdist_group("litellm")]


@pytest.fixture
def council(provider: Provider, litellm: LiteLLM, hall: Hall) -> Council:
    return Council(provider, litellm, hall)


# ---------------------------------------------------------------------------------------------------- a voter who fails


class Fault(NamedTuple):
    """What a model answers, how often it is asked before it is given up, and how that is told."""

    answer: Answer
    calls: int
    code: str


FAULTS = {
    "wrong key": Fault(wrong_key(), 1, "authentication"),
    "server error": Fault(server_error(), 4, "server"),
    "connection torn": Fault(Answer(vote_text(), torn=True), 4, "connection"),
    "unreadable": Fault(Answer("I object, since there is no way back."), 2, "degenerate"),
    "cut off in silence": Fault(Answer(vote_text()[:-3]), 2, "degenerate"),
    "cut off": Fault(cut_off(vote_text()[:-3]), 2, "cut_off"),
    "a key twice": Fault(Answer(f'{{"choice": "object", {vote_text()[1:]}'), 2, "degenerate"),
}
each_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)


def each_voter(*faults: str) -> pytest.MarkDecorator:
    """Every fault of one voter, and some of all voters."""
    cases = dict.fromkeys([*(("validator", name) for name in FAULTS), *product(VOTERS, faults)])
    named = [pytest.param(agent, FAULTS[name], id=f"{agent}, {name}") for agent, name in cases]
    return pytest.mark.parametrize(("agent", "fault"), named)


@each_voter("wrong key", "unreadable")
async def test_a_voter_who_fails_pauses_the_run_and_only_its_vote_is_bought_when_it_goes_on(
    council: Council, agent: str, fault: Fault
) -> None:
    council.trouble = at(fault.answer, "vote", agent)
    slot = f"V1.{VOTERS[agent]}"
    council.is_asked([agent], "openai/ill")
    with pytest.raises(RunPaused, match=re.escape(slot)) as paused:
        await council.stage.hold()
    assert exit_code(paused.value) is Exit.PAUSED
    assert [event.code for event in council.stage.told(DraftFailed)] == [fault.code]
    assert council.steps == ["vote"] * (3 + fault.calls)
    assert council.cast == ballot_of(1)[: list(VOTERS).index(agent)]
    first = next(call for call in council.calls("vote") if call.model == "ill")
    council.trouble = healthy
    asked = len(council.provider.calls)
    run = await council.stage.hold()
    assert ended_as(run.debate.state) is Exit.DECIDED
    assert council.cast == ballot_of(1)
    vote, account = council.provider.calls[asked:]
    assert (vote.messages, question_of(account).step) == (first.messages, "account")
    assert council.record.resumed == 1
    assert council.stage.journaled == bill(council.provider.calls)


@each_voter("wrong key", "unreadable")
async def test_a_ballot_counts_without_a_voter_whose_role_has_another(
    council: Council, agent: str, fault: Fault
) -> None:
    other = next(voter for voter in VOTERS if voter != agent)
    council.objecting, council.trouble = [(other,)], at(fault.answer, "vote", agent)
    council.sits(on_failure="degrade")
    council.is_asked([agent], "openai/ill")
    run = await council.stage.hold()
    assert ended_as(run.debate.state) is Exit.DEGRADED
    place = VOTERS[agent]
    missing = [f"V1.{place}", f"V2.{place}"]
    assert council.cast == [slot for slot in (*ballot_of(1), *ballot_of(2)) if slot not in missing]
    assert [(event.slot, event.code) for event in council.stage.told(SeatMissing)] == [
        (slot, fault.code) for slot in missing
    ]
    record = council.record
    assert (record.status, record.agreed, record.incomplete) == (Status.SYNTHESIS, True, ())
    told = [f"{place[:4]} {agent} ({slot}) is missing: " for slot in missing]
    assert len(record.degraded) == 2
    assert all(words.startswith(start) for words, start in zip(record.degraded, told, strict=True))
    assert council.stage.journaled == bill(council.provider.calls)


@pytest.mark.parametrize("role", [Role.WIND, Role.WALL])
async def test_no_ballot_counts_without_any_voter_of_a_role(council: Council, role: Role) -> None:
    agents = [agent for agent, place in VOTERS.items() if place.startswith(role)]
    council.sits(on_failure="degrade")
    council.trouble = at(wrong_key(), "vote", *agents)
    with pytest.raises(RunPaused, match=rf"V1\.{role}\.1"):
        await council.stage.hold()
    assert council.stage.told(SeatMissing) == []
    assert council.cast == ([] if role is Role.WIND else ballot_of(1)[:2])
    council.trouble = healthy
    asked = len(council.provider.calls)
    run = await council.stage.hold()
    assert ended_as(run.debate.state) is Exit.DECIDED
    resumed = [question_of(call) for call in council.provider.calls[asked:]]
    assert sorted(question.agent for question in resumed if question.step == "vote") == sorted(agents)
    assert council.cast == ballot_of(1)
    council.assert_bought_once()


async def test_a_paused_ballot_goes_on_without_its_voter_once_it_may(council: Council) -> None:
    council.trouble = at(wrong_key(), "vote", "ideator")
    council.is_asked(["ideator"], "openai/ill")
    with pytest.raises(RunPaused):
        await council.stage.hold()
    asked = len(council.provider.calls)
    run = await council.stage.hold(Changes(on_failure="degrade"))
    assert ended_as(run.debate.state) is Exit.DEGRADED
    assert council.cast == ballot_of(1)[1:]
    assert [question_of(call).step for call in council.provider.calls[asked:]] == ["vote", "account"]
    council.assert_bought_once()


@each_fault
async def test_a_vote_that_one_model_does_not_give_is_given_by_the_next(council: Council, fault: Fault) -> None:
    council.objecting, council.trouble = [["validator"]], at(fault.answer, "vote", ballot=1, model="ill")
    council.is_asked(["validator"], "openai/ill", "openai/spare")
    run = await council.stage.hold()
    assert ended_as(run.debate.state) is Exit.DECIDED
    assert council.cast == [*ballot_of(1), *ballot_of(2)]
    told = [(event.slot, event.model, event.to, event.code) for event in council.stage.told(FellBack)]
    slots = ["V1.Wall.1", *(["V2.Wall.1"] if fault.code == "authentication" else [])]  # it is not asked again
    assert told == [(slot, "openai/ill", "openai/spare", fault.code) for slot in slots]
    assert len(council.stage.told(SentBack)) == (fault.code in ("degenerate", "cut_off"))
    vote = next(vote for vote in council.record.votes if vote.slot == "V1.Wall.1")
    assert (vote.choice, vote.reason) == ("object", reason("validator", 1, can=False))
    change = next(change for change in council.record.substitutions if change.slot == "V1.Wall.1")
    assert (change.asked, change.route, change.why) == (
        "openai/ill",
        "openai/spare",
        (f"openai/ill: {fault.code}",) * fault.calls,
    )
    assert council.stage.journaled == bill(council.provider.calls)


async def test_busy_models_are_asked_again_within_the_ballot(council: Council) -> None:
    """All four are refused together, and asked again together: no wait of one holds up another."""

    def trouble(call: Call) -> Answer | None:
        votes = council.calls("vote")
        return error(429, "Rate limit reached for requests.") if call in votes[:4] else None

    council.trouble = trouble
    council.provider.hold_until(*ROUNDS, 4, 4, 1)
    run = await council.stage.hold()
    assert ended_as(run.debate.state) is Exit.DECIDED
    assert council.steps == [*["vote"] * 8, "account"]
    assert sorted(event.slot for event in council.stage.told(Retried)) == sorted(ballot_of(1))
    assert {event.code for event in council.stage.told(Retried)} == {"rate_limited"}
    assert council.cast == ballot_of(1)
    assert sorted(one.slot or "" for one in council.record.attempts) == sorted(ballot_of(1))
    council.assert_bought_once()


@each_fault
async def test_a_door_that_cannot_refine_pauses_the_run_and_no_vote_is_bought_again(
    council: Council, fault: Fault
) -> None:
    council.objecting, council.trouble = [["validator"]], at(fault.answer, "refine")
    council.sits(on_failure="degrade")
    with pytest.raises(RunPaused, match=r"V1\.Door\.1"):
        await council.stage.hold()
    assert council.cast == ballot_of(1)
    assert [event.code for event in council.stage.told(DraftFailed)] == [fault.code]
    council.trouble = healthy
    asked = len(council.provider.calls)
    run = await council.stage.hold()
    assert ended_as(run.debate.state) is Exit.DECIDED
    assert [question_of(call).step for call in council.provider.calls[asked:]] == ["refine", *["vote"] * 4, "account"]


# --------------------------------------------------------------------------------------------------------------- limits


def needed(stopped: StoppedByLimit, limit: int) -> int:
    """The limit with which the next calls fit."""
    told = re.search(r"could take ([\d,]+) tokens, and ([\d,]+) of", stopped.message)
    assert told is not None, stopped.message
    could, left = (int(amount.replace(",", "")) for amount in told.groups())
    return limit - left + could


async def limit_of_the_ballot(council: Council) -> int:
    """The smallest limit at which the first ballot fits a run that has just heard the rounds; it is stopped there."""
    limit = 1
    while len(council.provider.calls) < sum(ROUNDS):
        stopped = await council.stage.ends(Changes(limits=Limits(tokens=limit)))
        assert isinstance(stopped, StoppedByLimit)
        limit = needed(stopped, limit)
    assert stopped.message.startswith("The next 4 calls could take ")
    return limit


async def test_a_ballot_that_does_not_fit_is_not_begun_and_goes_on_with_a_higher_limit(council: Council) -> None:
    """A later process has not heard how the provider counts, so the same calls may need somewhat more."""
    limit, stops = await limit_of_the_ballot(council) - 1, 0
    assert (council.steps, council.cast) == ([], [])
    while isinstance(ended := await council.stage.ends(Changes(limits=Limits(tokens=limit))), StoppedByLimit):
        assert (exit_code(ended), ended.limit) == (Exit.LIMIT, "tokens")
        assert (council.steps, council.cast) in (([], []), (["vote"] * 4, ballot_of(1)))
        assert total_at_most(council.provider) <= limit
        limit, stops = needed(ended, limit), stops + 1
    assert 1 <= stops <= 3
    assert isinstance(ended, Run)
    assert ended_as(ended.debate.state) is Exit.DECIDED
    assert council.steps == [*["vote"] * 4, "account"]
    council.assert_bought_once()


def total_at_most(provider: Provider) -> int:
    return provider.at_most.input + provider.at_most.output


NOBODY_VOTED = "Wind and Wall did not vote on the synthesis."
NO_ACCOUNT = "Door gave no account of the decision."


async def test_a_ballot_that_does_not_fit_is_left_out_where_door_closes_at_a_limit(
    council: Council, tmp_path: Path
) -> None:
    enough = await limit_of_the_ballot(council)  # within some tokens: of parallel calls the last one heard counts
    council.provider.forget()
    council.hall = hall_at(tmp_path / "again")
    with council.hall:
        council.sits(on_limit="close")
        run = await council.stage.hold(Changes(limits=Limits(tokens=enough - 1_000)))
        assert ended_as(run.debate.state) is Exit.DEGRADED
        assert (council.steps, council.cast) == ([], [])
        assert [(event.limit, event.closes) for event in council.stage.told(LimitReached)] == [("tokens", True)]
        record = council.record
        assert record.closed_early is not None
        assert record.closed_early.startswith("Door closed before the plan's end, at a limit. The next 4 calls could")
        assert (record.decision, record.agreed, record.votes) == (synthesis(1), False, ())
        assert set(record.incomplete) == {NOBODY_VOTED, NO_ACCOUNT}
        assert total_at_most(council.provider) < enough


class At(NamedTuple):
    """Where the money ends.

    Args:
        after: what was asked before it.
        closes_with: the synthesis with which Door closes then.
    """

    step: Step
    ballot: int
    after: Sequence[Step]
    closes_with: int
    incomplete: Sequence[str]
    dissent: Sequence[str]


VOTED: Sequence[Step] = ["vote"] * 4
ENDS_AT = {
    "the ballot": At("vote", 1, [], 1, [NOBODY_VOTED], []),
    "the refinement": At("refine", 1, VOTED, 1, [], ["O1", "O2"]),
    "the second ballot": At("vote", 2, [*VOTED, "refine"], 2, [NOBODY_VOTED], ["O1", "O2"]),
    "the account": At("account", 2, [*VOTED, "refine", *VOTED], 2, [], []),
}


@pytest.mark.parametrize("on_limit", ["stop", "close"])
@pytest.mark.parametrize("where", ENDS_AT.values(), ids=ENDS_AT)
async def test_a_limit_ends_a_council_wherever_the_next_calls_do_not_fit(
    council: Council, where: At, on_limit: str
) -> None:
    council.objecting = [["ideator", "validator"]]
    council.sits(on_limit=on_limit)
    council.trouble = at(wrong_key(), where.step, ballot=where.ballot)
    with pytest.raises(RunPaused):
        await council.stage.hold()
    council.trouble = healthy
    asked = len(council.provider.calls)
    ended = await council.stage.ends(Changes(limits=Limits(tokens=council.stage.journaled.input + 1)))
    assert len(council.provider.calls) == asked
    if on_limit == "stop":
        assert isinstance(ended, StoppedByLimit)
        ended = await council.stage.ends(Changes(limits=Limits(tokens=10**7)))
        assert isinstance(ended, Run)
        assert ended_as(ended.debate.state) is Exit.DECIDED
        council.assert_bought_once()
        return
    assert isinstance(ended, Run)
    objected = where.step == "refine"  # on the newest synthesis, and Door cannot answer any more
    assert ended_as(ended.debate.state) is (Exit.NO_CONSENSUS if objected else Exit.DEGRADED)
    record = council.record
    assert [question_of(call).step for call in council.settling if call.charged] == where.after
    assert record.decision == synthesis(where.closes_with, ["O1", "O2"] if where.closes_with == 2 else [])
    assert record.closed_early is not None
    assert set(record.incomplete) == {*where.incomplete, NO_ACCOUNT}
    assert [each.id for each in record.dissent] == where.dissent


@pytest.mark.parametrize("agent", VOTERS)
async def test_the_votes_that_were_given_count_where_the_second_try_of_one_does_not_fit(
    council: Council, agent: str
) -> None:
    council.provider.count = by_bytes
    council.sits(on_limit="close", evidence=[evidence_of("The ledger is the record.\n" * 2_000)])
    council.trouble = at(wrong_key(), "vote")
    with pytest.raises(RunPaused):
        await council.stage.hold()
    council.trouble = at(Answer("I object."), "vote", agent)
    one = by_bytes(council.settling[0].messages) + 5_000
    limit = council.stage.journaled.input + council.stage.journaled.output + 4 * one
    run = await council.stage.hold(Changes(limits=Limits(tokens=limit)))
    assert ended_as(run.debate.state) is Exit.DEGRADED
    assert council.steps == ["vote"] * 8
    slot = f"V1.{VOTERS[agent]}"
    assert council.cast == [other for other in ballot_of(1) if other != slot]
    assert council.record.closed_early is not None
    assert f"{slot[3:7]} {agent} ({slot}) did not vote on the synthesis." in council.record.incomplete


def by_bytes(messages: Sequence[tuple[str, str]]) -> int:
    """A provider that counts as many tokens as may be set aside, so that a ballot leaves nothing over."""
    return sum(8 + len(text.encode()) for _, text in messages)
