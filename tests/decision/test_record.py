"""The decision record: what is read off the ledger, and what is never made up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

from building import THREAD, TOPIC, account_text, evidence_of, hall_at, hold, plan_of, priced, speech, voices
from orchestrator.decision.constraints import Outcome
from orchestrator.decision.decided import AnswerGiven, ConstraintAnswered
from orchestrator.decision.evidence_used import Citation
from orchestrator.decision.record import DecisionRecord, Verdict, make_record, title_of
from orchestrator.decision.seating import SeatCost, Substitution, Tokens
from orchestrator.errors import AuthenticationFailed
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role, Status
from orchestrator.models.base import Request
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.models.rehearsal import Rehearsal
from orchestrator.models.scripted import Line, Scripted
from orchestrator.plan import Plan

pytestmark = pytest.mark.anyio

WALL = """\
VERDICT: CONDITIONAL
It asks: what if draft 1 of wind-agent in round 1 moved slowly? See [E1:1-2] and [E1:9], not [E7:1].

- [C1] CONSTRAINT: Nobody on call knows Kafka. Reality: the rota. Violation: a page at night. Instead: an outbox.
  Remediation: train two people.
- [C2] OPPORTUNITY: There is no replay. Build: an outbox. Done when: a day can be replayed. Remediation: plan it.
- [C3] Something is odd about the invoices.
"""
ANSWER = "The outbox is built before March."


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


async def held(hall: Hall, plan: Plan, model: Any) -> DecisionRecord:
    with anyio.fail_after(10):
        run = await hold(hall, plan, model)
    return make_record(run.debate, plan)


def with_wall(text: str, cost: str | None = "0.01") -> Scripted:
    """A table whose Walls say this, and whose Door answers every constraint in its turns and in its account."""
    numbers = count(1)

    def line(request: Request) -> Line:
        task, words = request.task, speech(request, next(numbers))
        if task.step == "apply":
            words = text
        elif task.step == "account":
            answers = [{"id": name, "outcome": "met", "sentence": ANSWER} for name in constraints_asked(request)]
            words = account_text(title="An outbox", constraints=answers)
        elif task.role is Role.DOOR:
            words += "".join(f"\n- [{name}] MET: {ANSWER}" for name in constraints_asked(request))
        return priced(words, cost, model=f"{request.model}-0102")

    return Scripted(line)


def constraints_asked(request: Request) -> list[str]:
    walls = [said for said in request.task.said if said.role is Role.WALL]
    return [f"T{said.number}.{name}" for said in walls for name in re.findall(r"^- \[(C\d)\]", said.text, re.MULTILINE)]


async def test_the_record_of_a_speed_debate_says_who_decided_what_on_what_and_at_what_cost(hall: Hall) -> None:
    plan = plan_of("speed", evidence=[evidence_of()])
    record = await held(hall, plan, with_wall(WALL))
    debate = hall.debate(THREAD)
    assert (record.title, record.question, record.thread_id) == ("An outbox", TOPIC, THREAD)
    assert (record.status, record.rehearsal) == (Status.SYNTHESIS, False)
    assert (record.decision, record.summary) == (debate.turns[-1].text, "It is done step by step.")
    assert (record.head, record.plan_hash) == (debate.head, plan.hash)
    assert debate.closing is not None
    assert record.decided_at == debate.closing.entry.at
    assert record.balance == {"Wind": 1, "Wall": 1, "Door": 1}
    assert record.starved_roles == ()
    assert [(piece.id, piece.path, piece.sha256) for piece in record.evidence] == [("E1", "notes.md", "sha256:0123")]
    assert record.seats[1] == SeatCost(
        role=Role.WALL,
        agent="wall-agent",
        lens=None,
        asked="test/wall",
        answered=("test/wall-0102",),
        turns=1,
        tokens=Tokens(input=300, cached=120, output=30),  # the checklist, the turn, and once more what it lacked
        cost_usd=Decimal("0.03"),
    )
    assert (record.seats[2].turns, record.seats[2].cost_usd) == (1, Decimal("0.02"))  # Door's turn and its account
    assert (record.tokens, record.cost_usd) == (Tokens(input=600, cached=240, output=60), Decimal("0.06"))
    assert (record.substitutions, record.votes, record.agreed, record.dissent) == ((), (), None, ())
    assert record.incomplete == (
        "T2 (Wall, wall-agent): C3 does not say what it is: write `- [C3] CONSTRAINT: …` or `- [C3] OPPORTUNITY: …`.",
        "T2 (Wall, wall-agent): C3 asks for no remediation: add `Remediation: …` to it.",
    )


async def test_constraints_are_named_by_turn_and_id_and_stand_with_their_nature_and_their_answer(hall: Hall) -> None:
    record = await held(hall, plan_of(evidence=[evidence_of()]), with_wall(WALL))
    assert record.verdicts == (Verdict(turn=2, agent="wall-agent", verdict="CONDITIONAL", grounded=True),)
    assert [(found.id, found.turn, found.nature) for found in record.constraints] == [
        ("T2.C1", 2, "CONSTRAINT"),
        ("T2.C2", 2, "OPPORTUNITY"),
        ("T2.C3", 2, None),
    ]
    assert record.constraints[0] == ConstraintAnswered(
        id="T2.C1",
        turn=2,
        agent="wall-agent",
        statement="Nobody on call knows Kafka.",
        nature="CONSTRAINT",
        blocks=False,
        lifted=False,
        outcome=Outcome.MET,
        sentence=ANSWER,
        answers=(AnswerGiven(where="T3", role=Role.DOOR, word="MET", sentence=ANSWER),),
    )


async def test_constraint_ids_of_later_rounds_carry_the_later_turn(hall: Hall) -> None:
    record = await held(hall, plan_of("standard", turns=6, evidence=[evidence_of()]), with_wall(WALL))
    assert [found.id for found in record.constraints] == ["T2.C1", "T2.C2", "T2.C3", "T5.C1", "T5.C2", "T5.C3"]


async def test_citations_are_checked_against_the_pinned_evidence(hall: Hall) -> None:
    record = await held(hall, plan_of(evidence=[evidence_of()]), with_wall(WALL))
    claim = "See [E1:1-2] and [E1:9], not [E7:1]."
    found = {"[E1:1-2]": None, "[E1:9]": "notes.md has 2 lines", "[E7:1]": "there is no E7; the evidence is E1"}
    assert record.citations == tuple(
        Citation(where="T2", turn=2, citation=citation, quote=None, claim=claim, problem=problem)
        for citation, problem in found.items()
    )
    assert record.citations_broken == 2
    assert "T2 cites [E1:9]: notes.md has 2 lines" in record.warnings
    assert not [warning for warning in record.warnings if "[E1:1-2]" in warning]


def test_what_only_the_synthesis_cites_is_checked_too_and_what_it_repeats_once(tmp_path: Path) -> None:
    with hall_at(tmp_path / "state") as hall:
        by_hand(hall)
        hall.close_debate(THREAD, "Therefore an outbox. See [E2:4].")
        record = make_record(hall.debate(THREAD), None)
        assert [(found.turn, found.citation) for found in record.citations] == [(2, "[E1:1]"), (3, "[E2:4]")]
    assert record.citations_broken == 2


async def test_a_cost_that_is_not_known_is_none_and_never_zero(hall: Hall) -> None:
    record = await held(hall, plan_of(), with_wall(WALL, cost=None))
    assert record.cost_usd is None
    assert {seat.cost_usd for seat in record.seats} == {None}
    assert record.tokens.input == 600


async def test_a_seat_whose_calls_were_free_costs_zero(hall: Hall) -> None:
    record = await held(hall, plan_of(), with_wall(WALL, cost="0"))
    assert record.cost_usd == 0
    assert {seat.cost_usd for seat in record.seats} == {Decimal(0)}


async def test_seats_of_one_agent_are_told_apart_by_their_lenses(hall: Hall) -> None:
    record = await held(hall, plan_of("fortress"), voices())
    walls = [(seat.lens, seat.turns) for seat in record.seats if seat.role is Role.WALL]
    assert walls == [
        ("attack surface and trust boundaries", 2),
        ("failure, recovery and on-call load", 2),
        ("cost, capacity and reversibility", 1),
    ]


async def test_a_substitution_names_the_turn_the_seat_and_both_routes(hall: Hall) -> None:
    numbers = count(1)

    def line(request: Request) -> Line:
        if request.model == "test/first":
            return AuthenticationFailed("no key", model="test/first")
        return priced(speech(request, next(numbers)), model="second-0102")

    record = await held(hall, plan_of(routes={Role.DOOR: ("test/first", "test/second")}), Scripted(line))
    assert record.substitutions == tuple(
        Substitution(
            turn=3,
            slot=slot,
            agent="door-agent",
            asked="test/first",
            route="test/second",
            answered="second-0102",
            why=why,
        )
        for slot, why in [
            ("R1.Door.1", ("test/first: authentication",)),
            ("R1.Door.account", ("test/first: authentication, not asked again",)),
        ]
    )
    told = "was asked through test/first and answered by test/second (test/first: authentication"
    assert f"T3 (Door, door-agent) {told})." in record.warnings
    assert f"R1.Door.account (Door, door-agent) {told}, not asked again)." in record.warnings
    assert record.seats[2].asked == "test/first"
    assert record.seats[2].answered == ("second-0102",)


async def test_a_rehearsal_claims_no_decision_no_verdict_and_no_constraint(hall: Hall) -> None:
    plan = plan_of(routes={role: (REHEARSAL,) for role in Role}, evidence=[evidence_of()])
    record = await held(hall, plan, Rehearsal())
    assert record.rehearsal
    assert (record.decision, record.verdicts, record.constraints, record.incomplete) == (None, (), (), ())
    assert (record.title, record.summary, record.options, record.votes, record.dissent) == (TOPIC, None, (), (), ())
    assert record.cost_usd == 0
    assert not [warning for warning in record.warnings if "verdict" in warning]


async def test_the_notices_of_the_plan_and_the_warnings_of_the_run_stand_in_the_record(hall: Hall) -> None:
    record = await held(hall, plan_of("council"), voices())
    assert record.warnings[0].startswith("3 seats of synthesizer ask one model (test/door).")
    assert any(warning.startswith("T1 (Wind, ideator): ") for warning in record.warnings)


def alike(record: DecisionRecord) -> list[str]:
    return [warning for warning in record.warnings if "barely differ" in warning]


async def test_seats_of_one_role_that_wrote_the_same_are_one_warning(hall: Hall) -> None:
    record = await held(hall, plan_of("fortress", evidence=[evidence_of()]), with_wall(f"{WALL}\nNobody owns it."))
    (told,) = alike(record)
    assert told == "T2, T3, T4, T7 and T8 (Wall, critical-engineer) barely differ (100 % of their words run alike)."


def test_turns_that_hang_together_by_others_are_told_together_and_no_others(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(200)]
    winds = [(0, 60), (15, 75), (100, 160), (30, 90), (100, 160), (160, 200)]  # the first is like the second only
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, TOPIC, max_turns=18, max_rounds=6)
        for number, (first, last) in enumerate(winds):
            hall.add_turn(THREAD, "Wind", " ".join(words[first:last]), agent_role=f"agent-{number}")
            hall.add_turn(THREAD, "Wall", f"{number} no.")
            hall.add_turn(THREAD, "Door", f"{number} yes.")
        record = make_record(hall.debate(THREAD), None)
    assert alike(record) == [
        "T1, T4 and T10 (Wind, agent-0, agent-1 and agent-3) barely differ (75 % of their words run alike).",
        "T7 and T13 (Wind, agent-2 and agent-4) barely differ (100 % of their words run alike).",
    ]


async def test_one_seat_is_not_held_against_what_it_said_itself(hall: Hall) -> None:
    record = await held(hall, plan_of("standard", turns=6, ratio={"wind": 2, "wall": 2, "door": 2}), with_wall(WALL))
    assert alike(record) == []


async def test_what_seats_quote_of_the_topic_the_evidence_and_the_turns_before_them_is_no_likeness(hall: Hall) -> None:
    numbers = count(1)
    evidence = evidence_of(text=WALL.replace("E1", "E2"))

    def line(request: Request) -> Line:
        number = next(numbers)
        quoted = f"{evidence.text}\n{TOPIC}\n{' '.join(said.text for said in request.task.said if said.round == 1)}"
        own = " ".join(f"seat{number} says{number * word}" for word in range(40))
        return priced(f"{quoted}\n{own}" if request.task.role is not Role.WIND else own)

    assert alike(await held(hall, plan_of("fortress", turns=5, evidence=[evidence]), Scripted(line))) == []


async def test_a_rehearsals_voices_ask_alike_and_that_is_no_warning(hall: Hall) -> None:
    record = await held(hall, plan_of("fortress", routes={role: (REHEARSAL,) for role in Role}), Rehearsal())
    assert alike(record) == []


def test_a_role_that_a_round_went_without_is_a_warning(tmp_path: Path) -> None:
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, TOPIC, mode="mediated", barrier=False)
        for role in ("Wind", "Door", "Wind", "Wall", "Door"):
            hall.pick_next_speaker(THREAD, role)
            hall.add_turn(THREAD, role, f"{role} speaks.")
        hall.close_debate(THREAD, "An outbox.")
        record = make_record(hall.debate(THREAD), None)
    assert record.warnings == ("Wall was starved: a round went by without it.",)


async def test_the_date_of_the_decision_stays_when_a_turn_is_redacted_later(hall: Hall) -> None:
    with anyio.fail_after(5):
        run = await hold(hall, plan_of(), voices())
    hall.tombstone_turn(THREAD, 0, "It named a customer.")
    debate = hall.debate(THREAD)
    assert debate.state.updated_at > run.debate.state.updated_at
    assert make_record(debate, plan_of()).decided_at == run.debate.state.updated_at


async def test_a_redacted_wall_states_nothing(hall: Hall) -> None:
    await held(hall, plan_of(evidence=[evidence_of()]), with_wall(WALL))
    hall.tombstone_turn(THREAD, 1, "It named a customer.")
    record = make_record(hall.debate(THREAD), plan_of())
    assert (record.verdicts, record.constraints, record.citations) == ((), (), ())
    assert "There is no constraint T2.C1." in record.incomplete  # which Door's account still names
    assert len(record.seats) == 3


# ------------------------------------------------------------------------------------------------------ without a plan


def by_hand(hall: Hall) -> None:
    hall.init_debate(THREAD, TOPIC)
    hall.add_turn(THREAD, "Wind", "What if billing were a log?", agent_role="ideator", model="wind-1", token_input=5)
    hall.add_turn(THREAD, "Wall", "VERDICT: BLOCKED\n- [C1] CONSTRAINT: No. See [E1:1].", token_output=7)
    hall.add_turn(THREAD, "Door", "Therefore an outbox.")


def test_a_debate_that_was_held_by_hand_has_a_record_too(tmp_path: Path) -> None:
    with hall_at(tmp_path / "state") as hall:
        by_hand(hall)
        hall.close_debate(THREAD, "An outbox table, by March.")
        record = make_record(hall.debate(THREAD), None)
    assert (record.decision, record.plan_hash, record.evidence) == ("An outbox table, by March.", None, ())
    assert [(seat.agent, seat.asked, seat.answered, seat.cost_usd) for seat in record.seats] == [
        ("ideator", "", ("wind-1",), None),
        ("unnamed", "", ("unnamed",), None),
        ("unnamed", "", ("unnamed",), None),
    ]
    assert record.tokens == Tokens(input=5, cached=0, output=7)
    assert record.cost_usd is None
    assert [found.id for found in record.constraints] == ["T2.C1"]
    assert record.citations[0].problem == "there is no E1; no evidence was given"
    assert record.incomplete == ("T2.C1 blocks, and Door does not answer it.",)
    assert [(each.id, each.agent, each.objection) for each in record.dissent] == [
        ("T2.C1", "unnamed", "No. See [E1:1].")
    ]


async def test_one_turn_that_a_person_took_makes_the_cost_of_the_debate_unknown(hall: Hall) -> None:
    numbers = count(1)

    def line(request: Request) -> Line:
        if (request.task.role, request.task.step) == (Role.DOOR, "turn"):
            hall.add_turn(THREAD, "Door", "Therefore we wait.", agent_role="door-agent")
        return priced(speech(request, next(numbers)))

    record = await held(hall, plan_of(), Scripted(line))
    assert record.decision == "Therefore we wait."
    assert [(seat.agent, seat.cost_usd) for seat in record.seats] == [
        ("wind-agent", Decimal("0.01")),
        ("wall-agent", Decimal("0.02")),
        ("door-agent", None),
    ]
    assert record.cost_usd is None


def test_a_debate_that_was_closed_by_force_decided_nothing(tmp_path: Path) -> None:
    with hall_at(tmp_path / "state") as hall:
        by_hand(hall)
        hall.force_close_debate(THREAD, "Enough.")
        record = make_record(hall.debate(THREAD), None)
    assert (record.decision, record.status) == (None, Status.FORCE_CLOSED)


def test_an_open_debate_has_decided_nothing_yet(tmp_path: Path) -> None:
    with hall_at(tmp_path / "state") as hall:
        by_hand(hall)
        record = make_record(hall.debate(THREAD), None)
    assert (record.decision, record.status) == (None, Status.ACTIVE)


async def test_a_record_says_its_schema_and_comes_back_from_its_json(hall: Hall) -> None:
    record = await held(hall, plan_of(evidence=[evidence_of()]), with_wall(WALL))
    text = record.model_dump_json(by_alias=True)
    assert '"schema":"run-debate/record/v1"' in text
    assert DecisionRecord.model_validate_json(text) == record
    assert datetime.fromisoformat(record.decided_at).tzinfo == UTC


@pytest.mark.parametrize(
    ("topic", "title"),
    [
        ("\n\n  ## Kafka?  \nwith details", "Kafka?"),
        ("#", "Untitled"),
        ("x" * 101, "x" * 97 + "…"),
        ("x" * 100, "x" * 100),
        ("Kafka?\u2028## Decision", "Kafka?"),
    ],
)
def test_the_title_is_the_first_line_of_the_topic(topic: str, title: str) -> None:
    assert title_of(topic) == title
