"""Votes as a law: what a ballot comes to, what it hangs on, and what no further vote can change."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from building import THREAD, TOPIC, hall_at
from golden.planting import CONSTRAINT, stated
from orchestrator.decision.ballot import CastVote, agree, best_voted_on
from orchestrator.decision.record import record_of
from orchestrator.hall.entries import SeatRecord
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Choice, Role, Status

Ballot = list[tuple[Role, Choice, list[str]]]


def voted_by_hand(hall: Hall, thread: str, ballot: Ballot) -> None:
    """A round in which Wall states two constraints, and votes on what Door said."""
    hall.init_debate(thread, TOPIC)
    hall.add_turn(thread, "Wind", "What if we did?")
    hall.add_turn(thread, "Wall", "\n".join(["VERDICT: APPROVED", *(stated(f"C{n}", CONSTRAINT) for n in (1, 2))]))
    hall.add_turn(thread, "Door", "Therefore we do.")
    for place, (role, choice, rests_on) in enumerate(ballot):
        seat = SeatRecord(slot=f"V1.{role}.{place}", agent="somebody", lens=None, asked="a", answered="a")
        hall.cast_vote(thread, role, choice, "So.", rests_on, seat)


GROUNDS = ["T1", "T2.C1", "T2.C2"]
BALLOT = st.lists(
    st.tuples(
        st.sampled_from([Role.WIND, Role.WALL]),
        st.sampled_from(Choice),
        st.lists(st.sampled_from([*GROUNDS, "T9", "nothing"]), max_size=2, unique=True),
    ),
    min_size=1,
    max_size=5,
)


def agreed(ballot: Ballot) -> bool:
    """Said again, and simply: of those that rest on something, some of each side approve and nobody objects."""
    counted = [(role, choice) for role, choice, rests_on in ballot if set(rests_on) & set(GROUNDS)]
    approve = {role for role, choice in counted if choice == "approve"}
    return approve == {Role.WIND, Role.WALL} and not any(choice == "object" for _, choice in counted)


def cast(ballot: Ballot, on: int = 3) -> tuple[CastVote, ...]:
    return tuple(
        CastVote(
            seq=on + number,
            slot=f"V{on}.{role}.{number}",
            on=on,
            role=role,
            agent="somebody",
            lens=None,
            choice=choice,
            name="O1" if choice is Choice.OBJECT else None,
            reason="So.",
            rests_on=tuple(rests_on),
            grounds=tuple(name for name in rests_on if name in GROUNDS),
            settled_by=None,
            settlement=None,
            answered=(),
        )
        for number, (role, choice, rests_on) in enumerate(ballot, start=1)
    )


@given(BALLOT, st.randoms())
def test_agreement_is_what_the_votes_that_count_come_to_in_any_order(ballot: Ballot, random: Any) -> None:
    shuffled = random.sample(ballot, len(ballot))
    assert agree(cast(ballot)) == agree(cast(shuffled)) == agreed(ballot)


@given(BALLOT, st.sampled_from([Role.WIND, Role.WALL]), st.sampled_from(GROUNDS))
def test_an_objection_that_counts_never_makes_an_agreement_and_an_approval_never_breaks_one(
    ballot: Ballot, role: Role, ground: str
) -> None:
    assert not agree(cast([*ballot, (role, Choice.OBJECT, [ground])]))
    assert agree(cast([*ballot, (role, Choice.APPROVE, [ground])])) >= agree(cast(ballot))


@given(BALLOT, st.sampled_from([Role.WIND, Role.WALL]), st.sampled_from(Choice), st.integers(0, 5))
def test_a_vote_that_rests_on_nothing_changes_no_outcome(ballot: Ballot, role: Role, choice: Choice, at: int) -> None:
    more = [*ballot[:at], (role, choice, ["T9"]), *ballot[at:]]
    assert agree(cast(more)) == agree(cast(ballot))
    assert best_voted_on([*cast(more), *cast(ballot, 9)]) == best_voted_on([*cast(ballot), *cast(ballot, 9)])


@given(st.lists(BALLOT, min_size=1, max_size=4))
def test_no_synthesis_that_was_voted_on_has_fewer_objections_than_the_best(ballots: list[Ballot]) -> None:
    against = [
        sum(choice == "object" and bool(set(rests_on) & set(GROUNDS)) for _, choice, rests_on in ballot)
        for ballot in ballots
    ]
    best = best_voted_on([vote for on, ballot in enumerate(ballots) for vote in cast(ballot, on)])
    assert against[best] == min(against)
    assert min(against) not in against[best + 1 :]


def by_brute_force(ballot: Ballot) -> Iterator[tuple[str, str]]:
    """Each vote and each constraint without which the outcome is another."""
    objections = count(1)
    for place, (role, choice, _) in enumerate(ballot):
        name = f"O{next(objections)}" if choice is Choice.OBJECT else f"V1.{role}.{place}"
        if agreed(ballot[:place] + ballot[place + 1 :]) != agreed(ballot):
            yield name, "vote"
    for constraint in ("T2.C1", "T2.C2"):
        without = [(role, choice, [name for name in names if name != constraint]) for role, choice, names in ballot]
        if agreed(without) != agreed(ballot):
            yield constraint, "constraint"


def test_what_the_record_calls_load_bearing_is_what_brute_force_finds() -> None:
    numbers = count(1)

    @given(BALLOT)
    def law(ballot: Ballot) -> None:
        thread = f"2026-01-06-{next(numbers)}"
        voted_by_hand(hall, thread, ballot)
        record = record_of(hall.debate(thread))
        assert record.agreed == agreed(ballot)
        assert [(each.id, each.kind) for each in record.load_bearing] == list(by_brute_force(ballot))
        sentence = "Without it there is no agreement." if agreed(ballot) else "Without it there is agreement."
        assert {each.without_it for each in record.load_bearing} <= {sentence}

    with TemporaryDirectory() as folder, hall_at(Path(folder) / "state") as hall:
        law()


@pytest.mark.parametrize("choice", Choice)
def test_who_closes_a_debate_by_hand_makes_no_agreement_of_its_votes(tmp_path: Path, choice: Choice) -> None:
    with hall_at(tmp_path) as hall:
        voted_by_hand(hall, THREAD, [(Role.WALL, choice, ["T1"])])
        hall.close_debate(THREAD, "Therefore we do.", status="synthesis")
        record = record_of(hall.debate(THREAD))
    assert (record.agreed, record.status) == (False, Status.SYNTHESIS)
    assert [each.objection for each in record.dissent if each.role is Role.WALL and each.turn is None] == (
        ["So."] if choice is Choice.OBJECT else []
    )
