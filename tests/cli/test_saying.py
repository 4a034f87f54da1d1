"""`debate-hall say`: what is taken from whom, in a debate that people hold among themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from orchestrator import saying
from orchestrator.cli import standard_input
from orchestrator.errors import UsageError
from orchestrator.hall.hall import Hall

THREAD = "2026-01-06-billing"

Command = Callable[..., Result]


@pytest.fixture
def say(hall: Command) -> Command:
    """`debate-hall say`, as maria, in a debate by hand."""
    with Hall.open() as opened:
        opened.init_debate(THREAD, "Should we move billing to Kafka?")
    return lambda *arguments, **kwargs: hall("say", THREAD, "--as", "maria", *arguments, **kwargs)


def remarks() -> list[str | None]:
    with Hall.open() as opened:
        return [remark.text for remark in opened.debate(THREAD).remarks]


def test_a_statement_comes_from_standard_input_as_utf_8(say: Command) -> None:
    result = say("-", input="\ufeffWho is on call — 中?\r\nAnd on Sundays?\n".encode())
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("N1: your note to Door stands on the ledger as maria's, head sha256:")
    assert remarks() == ["Who is on call — 中?\r\nAnd on Sundays?"]


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        (b" \n", "The statement is blank. Send a statement with words in it."),
        ("Überblick".encode("latin-1"), "The statement on standard input is not UTF-8. Send it as UTF-8 text."),
        (b"x" * 262_145, "The statement has 262,145 bytes; at most 262,144 fit. Shorten it."),
        (b"x" * (1024 * 1024 + 1), "The statement on standard input is larger than 1,048,576 bytes. Say it shorter."),
    ],
    ids=["blank", "not UTF-8", "long", "too much"],
)
def test_what_is_no_statement_is_refused(sent: bytes, sentence: str, say: Command) -> None:
    result = say("-", input=sent)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {sentence}\n")
    assert remarks() == []


def test_a_closed_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.cli.standard_input.sys.stdin", None)
    with pytest.raises(UsageError, match=r"^Standard input is closed, so that it holds nothing"):
        standard_input.text("statement", "it", "Say it shorter.")


@pytest.mark.parametrize(
    ("is_said", "told"),
    [(False, "Taken back: nothing was said."), (True, f"They were said already: debate-hall show {THREAD}")],
)
def test_an_interruption_tells_whether_the_words_stand(
    is_said: bool, told: str, say: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    speak = saying.say

    def interrupted(*arguments: Any, **options: Any) -> None:
        if is_said:
            speak(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(saying, "say", interrupted)
    result = say("-", input=b"Who is on call?")
    assert (result.exit_code, result.stderr) == (130, f"Your words:\nWho is on call?\n{told}\n")
    assert remarks() == (["Who is on call?"] if is_said else [])


def test_an_interruption_tells_that_another_round_was_asked_for(say: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(saying, "say", interrupted)
    result = say("--another-round", "Once more.")
    assert result.stderr == "Taken back: nothing was said. Another round was asked for already, and will be held.\n"
