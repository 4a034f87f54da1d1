"""Two records side by side: what is matched with what, what differs, and the laws that hold for any two."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.shelf import ALL
from orchestrator.decision.account import Assumption, Option
from orchestrator.decision.constraints import Outcome
from orchestrator.decision.decided import ConstraintAnswered
from orchestrator.decision.difference import ALIKE, Changed, Compared, Difference, difference, likeness
from orchestrator.decision.record import DecisionRecord
from orchestrator.hall.terms import Status

ONE_THING = [  # said twice, by two debates
    ("An invoice is in the ledger before anybody hears of it.", "An invoice must be in the ledger before it leaves."),
    ("No new cluster runs before 1 March 2026.", "Operations may run no new cluster before March."),
    ("Nobody has shown that a replay bills no one twice.", "There is no proof that a replay does not bill twice."),
    ("The outbox has no owner.", "Nobody owns the outbox."),
    ("Publish to Kafka first and let the ledger catch up", "Kafka first, the ledger reads from the topic"),
    ("Change data capture from the write-ahead log", "Debezium: change data capture off the WAL"),
    ("A replica for each team that polls", "One read replica per team"),
    ("3月1日より前に新しいクラスターは動かせない", "新しいクラスターは3月まで動かせない"),
]
ITEMS = ("options", "constraints", "dissent", "assumptions")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DecisionRecord]:
    """The record of every example debate."""
    return {name: make(tmp_path_factory.mktemp(name)).record for name, make in ALL.items()}


@pytest.fixture(scope="module")
def whole(records: dict[str, DecisionRecord]) -> DecisionRecord:
    return records["everything"]


def stated(name: str, statement: str, outcome: Outcome = Outcome.MET, **changes: Any) -> ConstraintAnswered:
    members = {"id": name, "turn": 3, "agent": "validator", "statement": statement, "nature": "CONSTRAINT"}
    rest = {"blocks": False, "lifted": False, "outcome": outcome, "sentence": "It is in one commit.", "answers": ()}
    return ConstraintAnswered(**members | rest | changes)


def option(title: str, taken: bool = True, why: str = "It works.") -> Option:
    return Option(title=title, turns=(1,), taken=taken, why=why, because=("T1",))


def compared(whole: DecisionRecord, kind: str, a: Any, b: Any) -> Any:
    """The items of one kind, of two records that are otherwise the same."""
    found = difference(*(whole.model_copy(update={kind: tuple(items)}) for items in (a, b)))
    assert all(not getattr(found, other).differs for other in ITEMS if other != kind)
    return getattr(found, kind)


# ------------------------------------------------------------------------------------------------------------ likeness


@pytest.mark.parametrize(("one", "other"), ONE_THING)
def test_one_thing_said_twice_is_alike(one: str, other: str) -> None:
    assert ALIKE <= likeness(one, other) < 1


def test_two_things_are_not_alike() -> None:
    for first, second in combinations(ONE_THING, 2):
        for one, other in product(first, second):
            assert likeness(one, other) < ALIKE, (one, other)


@given(st.text(), st.text())
def test_likeness_is_a_share_and_the_same_from_both_sides(one: str, other: str) -> None:
    assert 0 <= likeness(one, other) == likeness(other, one) <= 1
    assert likeness(one, one) == 1


# ------------------------------------------------------------------------------------------------------- what is told


def test_what_both_state_and_settle_alike_is_counted_and_no_more(whole: DecisionRecord) -> None:
    a = [stated("T3.C1", "An invoice is in the ledger first."), stated("T3.C2", "Two people carry the on-call.")]
    b = [stated("T2.C1", "Two people carry the on-call."), stated("T2.C2", "An invoice is in the ledger first.")]
    assert compared(whole, "constraints", a, b) == Compared[ConstraintAnswered](same=2, alike=(), only_a=(), only_b=())


def test_a_constraint_of_another_outcome_stands_beside_its_like(whole: DecisionRecord) -> None:
    one = stated("T3.C1", "No new cluster runs before 1 March 2026.")
    other = stated("T5.C1", "Operations may run no new cluster before March.", Outcome.OPEN, sentence=None)
    found = compared(whole, "constraints", [one], [other])
    ((pair,), same) = (found.alike, found.same)
    assert (pair.a, pair.b, pair.differs, same) == (one, other, ("statement", "outcome", "sentence"), 0)
    assert pair.likeness == likeness(one.statement, other.statement) == pytest.approx(0.6)


def test_each_is_matched_once_and_the_likest_first(whole: DecisionRecord) -> None:
    a = [option("A managed broker for one consumer"), option("A managed broker for every consumer")]
    b = [option("A managed broker for every consumer in April"), option("One database more")]
    found = compared(whole, "options", a, b)
    assert [(pair.a, pair.b) for pair in found.alike] == [(a[1], b[0])]
    assert (found.only_a, found.only_b) == ((a[0],), (b[1],))


def test_of_what_is_said_twice_in_the_same_words_those_are_matched_that_differ_in_nothing(
    whole: DecisionRecord,
) -> None:
    met, unmet = (stated("T3.C1", "Two people carry the on-call.", outcome) for outcome in (Outcome.MET, Outcome.OPEN))
    assert compared(whole, "constraints", [met, unmet], [unmet, met]).same == 2


def test_what_differs_only_in_its_reason_or_check_is_told(whole: DecisionRecord) -> None:
    (pair,) = compared(whole, "options", [option("An outbox")], [option("An outbox", why="It is cheap.")]).alike
    assert (pair.likeness, pair.differs) == (1, ("why",))
    one = Assumption(what="A commit takes 5 ms more.", check=None)
    (pair,) = compared(whole, "assumptions", [one], [one.model_copy(update={"check": "pgbench"})]).alike
    assert pair.differs == ("check",)


def test_what_was_decided_how_and_at_what_cost(records: dict[str, DecisionRecord]) -> None:
    whole, stalemate = records["everything"], records["stalemate"]
    found = difference(whole, stalemate)
    assert found.question is None
    assert found.decision == (
        Changed(what="title", a=whole.title, b=stalemate.title),
        Changed(what="decision", a=whole.summary, b=stalemate.summary),
    )
    assert found.outcome == (
        Changed(what="status", a=Status.SYNTHESIS, b=Status.STALEMATE),
        Changed(what="agreed", a="yes", b="no"),
        Changed(what="verdicts", a="1 BLOCKED, 2 CONDITIONAL", b="1 CONDITIONAL"),
        Changed(what="review by", a="2026-04-17", b=None),
    )
    costs = {fact.what: (fact.a, fact.b) for fact in found.cost}
    assert costs["US dollars"] == (whole.cost_usd, None)
    assert costs["turns"] == (11, 3)


def test_a_question_that_differs_is_said_and_the_rest_compared(whole: DecisionRecord) -> None:
    other = whole.model_copy(update={"question": "Should we move invoicing to Kafka?"})
    found = difference(whole, other)
    assert found.question == Changed(what="question", a=whole.question, b=other.question)
    assert found == difference(whole, whole).model_copy(update={"question": found.question})


def test_a_price_written_with_more_zeros_is_the_same(whole: DecisionRecord) -> None:
    a, b = (whole.model_copy(update={"cost_usd": Decimal(cost)}) for cost in ("0.10", "0.1000"))
    assert difference(a, b).is_empty


# ---------------------------------------------------------------------------------------------------------------- laws

WORDS = st.lists(st.sampled_from(["ledger", "outbox", "broker", "March", "a", "42"]), max_size=4).map(" ".join)
CONSTRAINTS = st.lists(
    st.builds(stated, st.just("T1.C1"), WORDS, st.sampled_from([Outcome.MET, Outcome.OPEN])), max_size=5
)
OPTIONS = st.lists(st.builds(option, WORDS.filter(bool), st.booleans()), max_size=5)


def mirrored(found: Difference) -> dict[str, Any]:
    """A difference seen from the other side; the order of its pairs says nothing."""
    return seen({name: turned(getattr(found, name)) for name in Difference.model_fields})


def turned(part: Any) -> Any:
    match part:
        case Changed():
            return part.model_copy(update={"a": part.b, "b": part.a})
        case Compared():
            pairs = tuple(pair.model_copy(update={"a": pair.b, "b": pair.a}) for pair in part.alike)
            return part.model_copy(update={"alike": pairs, "only_a": part.only_b, "only_b": part.only_a})
        case tuple():
            return tuple(map(turned, part))
        case _:
            return part


def seen(parts: dict[str, Any]) -> dict[str, Any]:
    def in_any_order(part: Any) -> Any:
        return part.model_copy(update={"alike": sorted(part.alike, key=repr)}) if isinstance(part, Compared) else part

    return {name: in_any_order(part) for name, part in parts.items()}


def as_seen(found: Difference) -> dict[str, Any]:
    return seen({name: getattr(found, name) for name in Difference.model_fields})


@pytest.mark.parametrize("name", ALL)
def test_no_record_differs_from_itself(name: str, records: dict[str, DecisionRecord]) -> None:
    assert difference(records[name], records[name]).is_empty


def test_the_other_way_round_only_the_sides_change(records: dict[str, DecisionRecord]) -> None:
    for a, b in combinations(records.values(), 2):
        assert as_seen(difference(a, b)) == mirrored(difference(b, a))


@given(CONSTRAINTS, CONSTRAINTS, OPTIONS, OPTIONS)
def test_the_laws_hold_for_any_items(
    whole: DecisionRecord,
    constraints: list[ConstraintAnswered],
    others: list[ConstraintAnswered],
    options: list[Option],
    other_options: list[Option],
) -> None:
    a = whole.model_copy(update={"constraints": tuple(constraints), "options": tuple(options)})
    b = whole.model_copy(update={"constraints": tuple(others), "options": tuple(other_options)})
    found = difference(a, b)
    assert difference(a, a).is_empty
    assert as_seen(found) == mirrored(difference(b, a))
    for kind in ("constraints", "options"):
        part, matched = getattr(found, kind), getattr(found, kind).same + len(getattr(found, kind).alike)
        assert matched + len(part.only_a) == len(getattr(a, kind))
        assert matched + len(part.only_b) == len(getattr(b, kind))
        assert all(pair.likeness >= ALIKE and pair.differs for pair in part.alike)
