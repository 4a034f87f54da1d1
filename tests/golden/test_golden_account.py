"""A Door whose account is not what is so: it is told once what is wrong, then the record says it in plain sight."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from building import account_text, evidence_of, plan_of
from golden.planting import CONSTRAINT, OPPORTUNITY, answered, constraints_said, door, held, stated, wall
from orchestrator.decision.account import Account, Ledger, answered_in, problems_of
from orchestrator.decision.constraints import Outcome
from orchestrator.decision.grounds import Grounds
from orchestrator.evidence import Evidence
from orchestrator.hall.debate import Said
from orchestrator.hall.terms import Role, Status

EVIDENCE = (
    evidence_of(),
    Evidence("E2", "adr/0007.md", "sha256:0456", "# Broker\n\nWe use the broker of 2019.\n", kind="adr"),
)
MET = "Two people are trained by March."
CARRIED = "A day without a replay is carried until June."
OURS = "The outbox takes the place of the broker."
SYNTHESIS = door(f"- [T2.C1] MET: {MET}", f"- [T2.C2] TRADED OFF: {CARRIED}", "", OURS)
WALL = wall("CONDITIONAL", stated("C1", CONSTRAINT), stated("C2", OPPORTUNITY))

FIRST, SECOND = answered("T2.C1", "met", MET), answered("T2.C2", "traded_off", CARRIED)
SUPERSEDED = {"id": "E2", "relation": "supersedes", "theirs": "We use the broker of 2019.", "ours": OURS}
HOLDS: dict[str, Any] = {"constraints": [FIRST, SECOND], "earlier_decisions": [SUPERSEDED]}


def first(**changes: str | None) -> dict[str, Any]:
    return {"constraints": [FIRST | changes, SECOND]}


def option(**changes: Any) -> dict[str, Any]:
    whole = {"title": "Step by step", "turns": [1], "taken": True, "why": "It works.", "because": ["T2.C1"]}
    return {"options": [whole | changes]}


def earlier(**changes: str) -> dict[str, Any]:
    return {"earlier_decisions": [SUPERSEDED | changes]}


def saying(words: str) -> dict[str, Any]:
    return {"risks": [{"what": words, "mitigation": "None."}]}


WRONG_CONSTRAINTS: dict[str, tuple[dict[str, Any], str]] = {
    "it drops the constraint": ({"constraints": [SECOND]}, "T2.C1 has no outcome."),
    "its sentence is not in the synthesis": (
        first(sentence="Ten people are trained by March."),
        "T2.C1 is met by a sentence that is not in the synthesis: “Ten people are trained by March.”",
    ),
    "its sentence answers another constraint": (
        first(sentence=CARRIED),
        f"T2.C1 is answered in the synthesis by another sentence: “{MET}”",
    ),
    "it gives it twice": ({"constraints": [FIRST, SECOND, FIRST]}, "T2.C1 has 2 outcomes."),
    "it gives no sentence": (first(sentence=None), "T2.C1 is met by no sentence of the synthesis."),
    "it gives an empty one": (first(sentence=""), "T2.C1 is met by no sentence of the synthesis."),
    "it is refuted here and met there": (first(outcome="refuted"), "T2.C1 is refuted here and MET in the synthesis."),
}  # fmt: skip

INVENTED: dict[str, tuple[dict[str, Any], str]] = {
    "a constraint": ({"constraints": [FIRST, SECOND, answered("T2.C3", "met", MET)]}, "There is no constraint T2.C3."),
    "a turn": (saying("As T7 says, it is slow."), "There is no T7: “As T7 says, it is slow.”"),
    "a constraint in prose": (saying("T2.C9 is met."), "There is no T2.C9: “T2.C9 is met.”"),
    "a citation": (saying("See [E1:9]."), "[E1:9] does not hold (notes.md has 2 lines): “See [E1:9].”"),
    "a citation by path": (
        saying("See [notes.md:9]."),
        "[notes.md:9] does not hold (notes.md has 2 lines): “See [notes.md:9].”",
    ),
    "a piece of evidence": (
        saying("See [E4:1]."),
        "[E4:1] does not hold (there is no E4; the evidence is E1, E2): “See [E4:1].”",
    ),
    "a quotation": (
        saying('See [E1:1: "third line"].'),
        "[E1:1] does not hold (the quoted words stand nowhere in notes.md): “See [E1:1: \"third line\"].”",
    ),
    "an option of no turn": (option(turns=[]), "The option “Step by step” comes from no turn."),
    "an option of a turn that never was": (
        option(turns=[1, 4]),
        "The option “Step by step” comes from turn 4, which there is not.",
    ),
    "an option of the turn before the first": (
        option(turns=[0]),
        "The option “Step by step” comes from turn 0, which there is not.",
    ),
    "what an option rests on": (
        option(because=["T2.C8"]),
        "The option “Step by step” rests on T2.C8, which there is not.",
    ),
    "that nothing is decided": (option(taken=False), "No option is taken."),
    "an earlier decision's words": (
        earlier(theirs="We use no broker."),
        "E2 (adr/0007.md) does not say: “We use no broker.”",
    ),
    "its own words to an earlier decision": (
        earlier(ours="The broker goes."),
        "The synthesis does not say to E2: “The broker goes.”",
    ),
    "that notes are an earlier decision": (earlier(id="E1"), "E1 is no earlier decision in the evidence."),
    "an earlier decision": (earlier(id="E5"), "E5 is no earlier decision in the evidence."),
}  # fmt: skip
WRONG = WRONG_CONSTRAINTS | INVENTED
OFTEN = ["a constraint", "a turn", "a citation", "an option of no turn", "an earlier decision's words"]


def faults(fast: Collection[str]) -> list[Any]:
    """Every fault; those that are not named are among the slow tests."""
    return [
        pytest.param(*fault, id=name, marks=() if name in fast else pytest.mark.slow) for name, fault in WRONG.items()
    ]


MENDED, STAYS = faults(WRONG_CONSTRAINTS), faults([*WRONG_CONSTRAINTS, *OFTEN])


def accounts(*texts: str) -> dict[str, Any]:
    return {"Wall 1": WALL, "Door 1": SYNTHESIS, "account": list(texts)}


def outcomes(record: Any) -> list[tuple[str, Outcome, str | None]]:
    return [(each.id, each.outcome, each.sentence) for each in record.constraints]


WHOLE = [("T2.C1", Outcome.MET, MET), ("T2.C2", Outcome.TRADED_OFF, CARRIED)]


@pytest.mark.anyio
async def test_an_account_that_holds_is_asked_for_once_and_nothing_is_incomplete(tmp_path: Path) -> None:
    run = await held(tmp_path, plan_of(evidence=EVIDENCE), accounts(account_text(**HOLDS)))
    assert (len(run.requests("account")), run.record.incomplete, outcomes(run.record)) == (1, (), WHOLE)
    (decision,) = run.record.earlier_decisions
    assert decision.model_dump() == SUPERSEDED | {"path": "adr/0007.md"}


@pytest.mark.anyio
@pytest.mark.parametrize(("changes", "problem"), MENDED)
async def test_a_door_that_is_caught_is_told_and_what_it_mends_holds(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    wrong = account_text(**HOLDS | changes)
    run = await held(tmp_path, plan_of(evidence=EVIDENCE), accounts(wrong, account_text(**HOLDS)))
    first_ask, second_ask = run.requests("account")
    before, told = second_ask.messages[-2:]
    assert second_ask.messages[:-2] == first_ask.messages
    assert (before.speaker, before.text) == ("assistant", wrong)
    assert told.text == f"Your answer lacks something. {problem} Give the whole answer again."
    assert (run.record.incomplete, outcomes(run.record)) == ((), WHOLE)
    assert run.record.status is Status.SYNTHESIS


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize(("changes", "problem"), STAYS)
async def test_what_a_door_does_not_mend_stands_under_incomplete_and_the_debate_closes(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    wrong = account_text(**HOLDS | changes)
    run = await held(tmp_path, plan_of(evidence=EVIDENCE), accounts(wrong, wrong))
    assert run.record.incomplete == (problem,)
    assert (run.record.status, run.record.decision) == (Status.SYNTHESIS, SYNTHESIS)
    fails = problem in [sentence for _, sentence in WRONG_CONSTRAINTS.values()]
    assert outcomes(run.record) == ([("T2.C1", Outcome.OPEN, None), WHOLE[1]] if fails else WHOLE)
    assert [each.id for each in run.record.dissent] == (["T2.C1"] if fails else [])
    assert len(run.record.earlier_decisions) == ("earlier_decisions" not in changes)


@pytest.mark.anyio
async def test_every_fault_of_an_account_is_told_at_once(tmp_path: Path) -> None:
    planted = {"constraints": [SECOND]}, option(turns=[5]), earlier(theirs="No."), saying("See T9.")
    wrong = account_text(**HOLDS | {key: member for one in planted for key, member in one.items()})
    run = await held(tmp_path, plan_of(evidence=EVIDENCE), accounts(wrong, wrong))
    assert run.record.incomplete == (
        "T2.C1 has no outcome.",
        "The option “Step by step” comes from turn 5, which there is not.",
        "E2 (adr/0007.md) does not say: “No.”",
        "There is no T9: “See T9.”",
    )
    assert all(problem in run.told("account")[-1] for problem in run.record.incomplete)


@pytest.mark.anyio
async def test_an_account_that_cannot_be_read_is_none_and_the_debate_closes(tmp_path: Path) -> None:
    run = await held(tmp_path, plan_of(evidence=EVIDENCE), accounts("It was all agreed.", "T2.C1 is met."))
    assert (run.record.status, run.record.summary, run.record.options) == (Status.SYNTHESIS, None, ())
    (told,) = run.record.incomplete
    assert told.startswith("No account could be read: ")
    assert told.endswith("There is no JSON object in the answer; write one JSON object and nothing else.")
    assert outcomes(run.record) == WHOLE  # those that stand in Door's own lines


def turn(number: int, role: Role, text: str) -> Said:
    return Said(number, 1, role, "somebody", text)


NAMES = [f"T1.C{number}" for number in range(1, 5)]
STATED = constraints_said(
    turn(1, Role.WALL, "\n".join(["VERDICT: CONDITIONAL", *(stated(name[3:], CONSTRAINT) for name in NAMES)]))
)
GIVEN = st.lists(
    st.builds(
        answered,
        st.sampled_from([*NAMES, "T1.C9", "T2.C1"]),
        st.sampled_from(["met", "traded_off", "refuted", "open"]),
        st.sampled_from([None, "", MET, CARRIED, "by March.", "Nobody is trained."]),
    ),
    max_size=6,
)


@given(GIVEN)
def test_whatever_an_account_gives_no_constraint_is_dropped_in_silence(given: list[dict[str, str | None]]) -> None:
    ledger = Ledger(f"{MET} {CARRIED}", STATED, Grounds(1, frozenset(NAMES), ()))
    account = Account.model_validate_json(account_text(constraints=given), strict=True)
    problems = problems_of(account, ledger)
    for constraint in STATED:
        told = [one for one in given if one["id"] == constraint.id]
        holds = len(told) == 1 and (
            told[0]["sentence"] in (MET, CARRIED)
            or told[0] == answered(constraint.id, "open", None)
            or told[0] == answered(constraint.id, "open", "")
        )
        assert (answered_in(account, constraint, ledger) is not None) == holds
        assert holds != any(problem.startswith(constraint.id) for problem in problems)
    assert {one["id"] for one in given} - set(NAMES) == {
        problem.removeprefix("There is no constraint ").removesuffix(".")
        for problem in problems
        if problem.startswith("There is no constraint ")
    }
