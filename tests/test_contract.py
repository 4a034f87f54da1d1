"""What a Wall's turn must show: words of Wind, a verdict, and the grounds of its constraints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from building import THREAD, TOPIC, hall_at
from orchestrator.contract import QUOTED_WORDS, complaint, lacks, words_of_wind
from orchestrator.hall.hall import Hall

WIND = "What if we moved one table at a time, and kept the old one for a month?"
QUOTE = "“moved one table at a time”"
APPROVES = "VERDICT: APPROVED\n"
QUOTES_NOTHING = f"It quotes no run of {QUOTED_WORDS} words from a turn of Wind in this round"
GROUNDS = "Reality: the rota. Violation: a page at night. Instead: an outbox. Remediation: train two people."


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, TOPIC, max_turns=12)
        yield hall


def test_what_wall_can_quote_is_what_wind_said_in_its_round(hall: Hall) -> None:
    for role in ("Wind", "Wall", "Door") * 2:
        hall.add_turn(THREAD, role, f"What {role} says.", agent_role=f"{role}-agent")
    debate = hall.debate(THREAD)
    assert words_of_wind(debate, 1) == words_of_wind(debate, 2) == ["What Wind says."]
    assert words_of_wind(debate, 3) == []


def test_a_redacted_wind_has_no_words_to_quote(hall: Hall) -> None:
    hall.add_turn(THREAD, "Wind", WIND)
    hall.tombstone_turn(THREAD, 0, "It named a customer of ours in full, and at length.")
    assert words_of_wind(hall.debate(THREAD), 1) == []
    assert lacks([], True, f"{APPROVES}Nothing to quote.") == ()


@pytest.mark.parametrize("text", [f"It says {QUOTE}.", "MOVED ONE, TABLE — at A time", WIND])
def test_six_words_of_wind_are_a_quotation_however_they_are_set(text: str) -> None:
    assert lacks([WIND], True, f"{APPROVES}{text}") == ()
    assert lacks([WIND], False, text) == ()


@pytest.mark.parametrize("text", ["It says “moved one table at a”.", "one table moved at a time", ""])
def test_fewer_words_or_others_are_none(text: str) -> None:
    (lacking,) = lacks([WIND], True, f"{APPROVES}{text}")
    assert lacking.startswith(QUOTES_NOTHING)
    assert lacks([WIND], False, text) == (lacking,)


def test_any_wind_of_the_round_can_be_quoted_and_a_short_one_is_quoted_whole() -> None:
    assert lacks(["Something else that was said at length, by another.", WIND], False, QUOTE) == ()
    assert lacks(["Two tables?"], False, "It asks: two tables?") == ()
    assert lacks(["Two tables?"], False, "It asks: three tables?") != ()
    assert lacks(["?!"], False, "There is no word in that.") == ()


OPENING = "write `VERDICT: APPROVED`, `VERDICT: CONDITIONAL` or `VERDICT: BLOCKED` as the first line"
NATURE = "C1 does not say what it is: write `- [C1] CONSTRAINT: …` or `- [C1] OPPORTUNITY: …`."
REALITY = "C1 does not say what reality makes it immutable: add `Reality: …` to it."
VIOLATION = "C1 does not say what violates it: add `Violation: …` to it."
INSTEAD = "C1 does not say where to go instead: add `Instead: …` to it."
BUILD = "C1 does not say what to build: add `Build: …` to it."
DONE_WHEN = "C1 does not say how to tell that it is done: add `Done when: …` to it."
REMEDIATION = "C1 asks for no remediation: add `Remediation: …` to it."
NO_CONSTRAINT = " without a constraint: state at least one as a line `- [C1] CONSTRAINT: …`."


@pytest.mark.parametrize("verdict", ["BLOCKED", "CONDITIONAL", "APPROVED"])
@pytest.mark.parametrize(
    ("constraint", "lacking"),
    [
        pytest.param(f"CONSTRAINT: Nobody is on call. {GROUNDS}", [], id="a constraint with its grounds"),
        pytest.param(
            "OPPORTUNITY: No rota. Build: one. Done when: it pages. Remediation: Door.", [], id="a gap with its"
        ),
        pytest.param("Nobody is on call. Remediation: train two.", [NATURE], id="no nature"),
        pytest.param("CONSTRAINT: Nobody is on call.", [REALITY, VIOLATION, INSTEAD, REMEDIATION], id="no grounds"),
        pytest.param("OPPORTUNITY: No rota.", [BUILD, DONE_WHEN, REMEDIATION], id="nothing to build"),
    ],
)
def test_a_constraint_says_what_it_rests_on_whatever_the_verdict(
    verdict: str, constraint: str, lacking: list[str]
) -> None:
    expected = [one for one in lacking if one != REMEDIATION or verdict != "APPROVED"]
    assert list(lacks([WIND], True, f"VERDICT: {verdict}\n{QUOTE}\n\n- [C1] {constraint}\n")) == expected


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("VERDICT: BLOCKED\nToo risky.", ("BLOCKED" + NO_CONSTRAINT,)),
        ("VERDICT: CONDITIONAL\nToo risky.", ("CONDITIONAL" + NO_CONSTRAINT,)),
        ("VERDICT: APPROVED\nNothing against it.", ()),
        (
            "VERDICT: not BLOCKED, but it is close.",
            (f"The verdict is not one of the three words: {OPENING}, reasons after it.",),
        ),
        ("I cannot approve this.", (f"The verdict does not stand first: {OPENING}.",)),
        ("No objections.", (f"The verdict does not stand first: {OPENING}.",)),
        ("", (f"The verdict does not stand first: {OPENING}.",)),
    ],
)
def test_a_verdict_stands_first_and_one_that_is_no_approval_states_a_constraint(
    text: str, lacking: tuple[str, ...]
) -> None:
    assert lacks([WIND], True, f"{text}\n{QUOTE}") == lacking


def test_where_nobody_takes_a_position_no_verdict_is_read() -> None:
    assert lacks([WIND], False, f"VERDICT: BLOCKED\n{QUOTE}\nToo risky.") == ()
    assert lacks([WIND], False, f"What is “on call” here? {QUOTE}") == ()
    assert lacks([WIND], True, f"VERDICT: BLOCKED\n{QUOTE}\nToo risky.") != ()


def test_what_a_turn_lacks_is_told_to_its_seat_in_one_go() -> None:
    text = "VERDICT: BLOCKED\nToo risky."
    quotation, constraint = lacks([WIND], True, text)
    told = complaint([WIND], True, text)
    assert told == f"Your turn lacks something. {quotation} {constraint} Give the whole turn again."
    assert complaint([WIND], True, f"{APPROVES}{QUOTE}") is None
