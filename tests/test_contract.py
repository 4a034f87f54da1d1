"""What a Wall's turn must show: words of Wind, and grounds for a block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from building import THREAD, TOPIC, hall_at
from orchestrator.contract import QUOTED_WORDS, complaint, lacks, words_of_wind
from orchestrator.hall.hall import Hall

WIND = "What if we moved one table at a time, and kept the old one for a month?"
QUOTE = "“moved one table at a time”"
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
    assert lacks([], True, "Nothing to quote.") == ()


@pytest.mark.parametrize("text", [f"It says {QUOTE}.", "MOVED ONE, TABLE — at A time", WIND])
def test_six_words_of_wind_are_a_quotation_however_they_are_set(text: str) -> None:
    assert lacks([WIND], True, text) == ()


@pytest.mark.parametrize("text", ["It says “moved one table at a”.", "one table moved at a time", ""])
def test_fewer_words_or_others_are_none(text: str) -> None:
    (lacking,) = lacks([WIND], True, text)
    assert lacking.startswith(QUOTES_NOTHING)


def test_any_wind_of_the_round_can_be_quoted_and_a_short_one_is_quoted_whole() -> None:
    assert lacks(["Something else that was said at length, by another.", WIND], True, QUOTE) == ()
    assert lacks(["Two tables?"], True, "It asks: two tables?") == ()
    assert lacks(["Two tables?"], True, "It asks: three tables?") != ()
    assert lacks(["?!"], True, "There is no word in that.") == ()


@pytest.mark.parametrize(
    ("constraint", "lacking"),
    [
        pytest.param(f"- [C1] CONSTRAINT: Nobody is on call. {GROUNDS}", [], id="grounds"),
        pytest.param("- [C1] Nobody is on call. Remediation: train two.", ["nature"], id="no nature"),
        pytest.param("- [C1] CONSTRAINT: Nobody is on call.", ["remediation"], id="no remediation"),
        pytest.param("Too risky.", ["BLOCKED without a constraint"], id="no constraint at all"),
    ],
)
def test_a_block_says_what_it_rests_on(constraint: str, lacking: list[str]) -> None:
    found = lacks([WIND], True, f"VERDICT: BLOCKED\n{QUOTE}\n\n{constraint}\n")
    if not lacking:
        assert found == ()
    if "nature" in lacking:
        assert any("does not say what it is" in one for one in found)
    if "remediation" in lacking:
        assert any("asks for no remediation" in one for one in found)
    if lacking and lacking[0].startswith("BLOCKED"):
        assert any(lacking[0] in one for one in found)


@pytest.mark.parametrize("verdict", ["APPROVED", "CONDITIONAL", ""])
def test_what_is_no_block_needs_no_grounds(verdict: str) -> None:
    assert lacks([WIND], True, f"VERDICT: {verdict}\n{QUOTE}\n- [C1] Nobody is on call.\n") == ()


def test_where_nobody_takes_a_position_a_block_is_not_read() -> None:
    assert lacks([WIND], False, f"VERDICT: BLOCKED\n{QUOTE}\nToo risky.") == ()
    assert lacks([WIND], True, f"VERDICT: BLOCKED\n{QUOTE}\nToo risky.") != ()


def test_what_a_turn_lacks_is_told_to_its_seat_in_one_go() -> None:
    text = "VERDICT: BLOCKED\nToo risky."
    told = complaint([WIND], True, text)
    assert told == f"Your turn lacks something. {' '.join(lacks([WIND], True, text))} Give the whole turn again."
    assert complaint([WIND], True, QUOTE) is None
