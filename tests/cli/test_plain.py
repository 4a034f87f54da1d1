from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.plain import json_text, tell, visible


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


@given(st.text())
def test_json_is_as_harmless_and_says_the_same(text: str) -> None:
    written = json_text({"content": text})
    assert json.loads(written) == {"content": text}
    assert visible(written) == written
    assert written.endswith("}\n")


def test_what_people_are_told_holds_no_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHED_PASSWORD", "the heron walks")
    tell("note: by dusk the heron walks\n\x1b[2J")
    assert capsys.readouterr() == ("", "note: by dusk [secret removed]\n␛[2J\n")
