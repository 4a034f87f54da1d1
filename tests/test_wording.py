from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.wording import counted, shortened, visible


def test_what_steers_a_terminal_is_shown_not_obeyed() -> None:
    assert visible("\x1b[2J\x1b]0;title\x07 red\rgone\x08\x7f") == "␛[2J␛]0;title␇ red␍gone␈␡"
    assert visible("\x9b31m \u202eevil\u202c \u2066x\u2069") == "�31m �evil� �x�"


def test_ordinary_text_stays_as_it_is() -> None:
    text = "Überblick\tüber 计费 🙂 👩‍💻 שלום\u200f, مرحبا\n\n```\nx = 1\n```\n"
    assert visible(text) == text


def test_a_line_end_of_windows_is_a_line_end() -> None:
    assert visible("a\r\nb\r\n") == "a\nb\n"


@given(st.text())
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    shown = visible(text)
    assert all(c in "\n\t" or not (ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0) for c in shown)
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(shown)
    assert visible(shown) == shown


@pytest.mark.parametrize(("number", "told"), [(0, "0 turns"), (1, "1 turn"), (2, "2 turns"), (2000, "2,000 turns")])
def test_a_number_is_told_with_what_it_counts(number: int, told: str) -> None:
    assert counted(number, "turn") == told


def test_what_has_a_plural_of_its_own_is_counted_with_it() -> None:
    assert [counted(number, "entry", "entries") for number in (1, 2)] == ["1 entry", "2 entries"]


def test_what_is_cut_says_so_and_is_never_longer_than_it_may_be() -> None:
    assert shortened("as it is", 8) == "as it is"
    assert shortened("as it is.", 8) == "as it i…"
    assert shortened("as it   is", 8) == "as it…"
