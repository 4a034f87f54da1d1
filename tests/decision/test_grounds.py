"""What words rest on: which names exist in a debate, and which Wall's turn rests on nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from building import THREAD, TOPIC, evidence_of, hall_at
from orchestrator.decision.grounds import Grounds, WallTurn, mentioned, plain_name, walls_of
from orchestrator.hall.hall import Hall
from orchestrator.hall.verdict import Verdict

EVIDENCE = (evidence_of("first line\nsecond line\n"), evidence_of("one\ntwo\nthree\n", "E2", "adr/0007.md"))
GROUNDS = Grounds(turns=12, constraints=frozenset({"T2.C1", "T2.C10", "T11.C2"}), evidence=EVIDENCE)
WIND = "What if we moved one table at a time, and kept the old one for a month?"
QUOTE = "“moved one table at a time”"


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, TOPIC, max_turns=12)
        yield hall


# --------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    "name", ["T1", "T12", "T2.C1", "T2.C10", "T11.C2", "E1:1", "E1:1-2", "E2:3", "notes.md:2", "adr/0007.md:1-3"]
)
def test_a_name_of_what_exists_holds(name: str) -> None:
    assert GROUNDS.hold(name)
    assert GROUNDS.existing([name]) == (name,)


@pytest.mark.parametrize(
    "name",
    [
        *("T0", "T13", "T1000000", "T", "t1", "T1.", "T 1", "T-1", "T1, T2", "T1x"),
        *("T2.C2", "T1.C1", "T2.C0", "T2.C1.C1", "C1", "T2.c1", "T2C1"),
        *("E3:1", "E1:3", "E1:2-3", "E1:0", "E1:2-1", "E1", "E1:", "E1:x", "other.md:1", "notes.md", "E1:1] [E1:2"),
        *("O1", "the rota", "none", "", " ", "[]"),
    ],
)
def test_a_name_of_what_does_not_exist_does_not(name: str) -> None:
    assert not GROUNDS.hold(name)
    assert GROUNDS.existing([name]) == (("T1",) if name == "T1." else ())  # a full stop belongs to the sentence


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("[T2.C1]", "T2.C1"),
        ("`T2.C1`", "T2.C1"),
        (" **T3** ", "T3"),
        ("'E1:1-2'", "E1:1-2"),
        ('"T3"', "T3"),
        ("T3.", "T3"),
        ("[E1:2].", "E1:2"),
        ("**[T2.C1]**.", "T2.C1"),
        ("[./notes.md:2]", "./notes.md:2"),
    ],
)
def test_a_name_is_written_without_what_stands_around_it(written: str, plain: str) -> None:
    assert plain_name(written) == plain


def test_of_names_those_that_exist_are_kept_once_and_in_their_order() -> None:
    names = ["[T11.C2]", "T99", "`T3`", "T3", "E1:9", "[E1:1-2]", "a hunch", "T11.C2"]
    assert GROUNDS.existing(names) == ("T11.C2", "T3", "E1:1-2")
    assert GROUNDS.existing([]) == ()


@given(turns=st.integers(0, 40), number=st.integers(0, 99))
def test_a_turn_exists_where_it_was_taken(turns: int, number: int) -> None:
    assert Grounds(turns, frozenset(), ()).hold(f"T{number}") == (1 <= number <= turns)


# ----------------------------------------------------------------------------------------------------------- in a text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("As T3 says of T2.C1, and T3 again.", ("T3", "T2.C1")),
        ("(T3) [T2.C1] **T4** T5: T6, T7; “T8”", ("T3", "T2.C1", "T4", "T5", "T6", "T7", "T8")),
        ("It ends in T3.", ("T3",)),
        ("It ends in T2.C1.", ("T2.C1",)),
        ("AT3, T3x, T34567890, x.T3, T, T3_a", ()),
        ("C1 and E1:3 and O1.", ()),
        ("", ()),
    ],
)
def test_the_turns_and_constraints_that_a_text_names_are_found_once_each(text: str, names: tuple[str, ...]) -> None:
    assert mentioned(text) == names


def test_of_the_names_in_a_text_those_that_do_not_exist_are_missing() -> None:
    text = "T1 and T13 and T2.C1 and T2.C7; E9:1 is no turn."
    assert list(GROUNDS.missing_in(text)) == ["T13", "T2.C7"]


# ------------------------------------------------------------------------------------------------------ over a debate


def say(hall: Hall, *texts: str) -> None:
    """Turns in the order of a fixed debate."""
    turns = len(hall.debate(THREAD).turns)
    for place, text in enumerate(texts, turns):
        role = ("Wind", "Wall", "Door")[place % 3]
        hall.add_turn(THREAD, role, text, agent_role=f"{role.lower()}-agent")


def test_what_exists_in_a_debate_is_its_turns_its_constraints_and_the_evidence(hall: Hall) -> None:
    say(hall, WIND, "VERDICT: CONDITIONAL\n- [C1] CONSTRAINT: No.\n- [C2] OPPORTUNITY: Yes.", "Therefore.")
    assert Grounds.of(hall.debate(THREAD), EVIDENCE) == Grounds(3, frozenset({"T2.C1", "T2.C2"}), EVIDENCE)
    hall.tombstone_turn(THREAD, 1, "It named a customer.")
    assert Grounds.of(hall.debate(THREAD), ()) == Grounds(3, frozenset(), ())


def rests_on(hall: Hall, wall: str) -> tuple[str, ...]:
    """What the Wall of a second round rests on."""
    first = "VERDICT: CONDITIONAL\n- [C1] CONSTRAINT: Nobody on call knows Kafka.\n"
    say(hall, WIND, first, "Therefore we take the outbox and train two people.", "What if billing were a log?", wall)
    debate = hall.debate(THREAD)
    (turn,) = walls_of(debate, Grounds.of(debate, EVIDENCE), 2)
    return turn.rests_on


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("Nothing against it.", ()),
        ("I have a bad feeling about all of this.", ()),
        ("T2.C1 stands, and T3 says nothing to it.", ("T2.C1", "T3")),
        ("T2.C9 stands, as T7 says.", ()),
        ("As I say in T5, and as T6 will say.", ()),
        ("T5.C1 is mine.", ()),
        ("See [E1:1-2].", ("E1:1-2",)),
        ("See [notes.md:2].", ("notes.md:2",)),
        ("See [E1:9] and [E7:1].", ()),
        ('See [E1:1] "first line".', ("E1:1",)),
        ('See [E1:1] "another line altogether".', ()),
        (f"Wind asks for {QUOTE}.", ("T1",)),
        ("Wind asks for “moved one table at a”.", ()),
        ("Door says “we take the outbox and train two people”.", ("T3",)),
        ("- [C1] OPPORTUNITY: There is no replay.", ("T5.C1",)),
        (
            f"T3, [E1:1], {QUOTE}.\n- [C1] CONSTRAINT: No.\n- [C2] CONSTRAINT: No.",
            ("T3", "T1", "E1:1", "T5.C1", "T5.C2"),
        ),
    ],
)
def test_a_wall_rests_on_what_it_names_quotes_cites_and_states_of_what_exists(
    hall: Hall, words: str, names: tuple[str, ...]
) -> None:
    assert rests_on(hall, f"VERDICT: APPROVED\n{words}") == names


def test_the_walls_of_a_round_or_of_all_stand_with_their_verdicts_and_redacted_ones_do_not(hall: Hall) -> None:
    say(hall, WIND, f"VERDICT: BLOCKED\n{QUOTE}", "Therefore.", "What if not?", "I cannot approve this.", "Therefore.")
    debate = hall.debate(THREAD)
    grounds = Grounds.of(debate, EVIDENCE)
    first = WallTurn(2, 1, "wall-agent", Verdict.BLOCKED, ("T1",))
    second = WallTurn(5, 2, "wall-agent", None, ())
    assert walls_of(debate, grounds) == (first, second)
    assert (walls_of(debate, grounds, 1), walls_of(debate, grounds, 2)) == ((first,), (second,))
    assert walls_of(debate, grounds, 3) == ()
    hall.tombstone_turn(THREAD, 1, f"VERDICT: BLOCKED {QUOTE}")
    assert walls_of(hall.debate(THREAD), grounds) == (second,)


def test_words_of_a_turn_that_was_redacted_can_no_longer_be_quoted(hall: Hall) -> None:
    say(hall, WIND, f"VERDICT: APPROVED\n{QUOTE}")
    hall.tombstone_turn(THREAD, 0, f"It said {QUOTE} and named a customer.")
    debate = hall.debate(THREAD)
    assert [wall.rests_on for wall in walls_of(debate, Grounds.of(debate, ()))] == [()]
