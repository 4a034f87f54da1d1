"""What stands below a pull request: every word of the record, none of which does anything there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from action_steps import ROOT
from hypothesis import given
from markdown_it import MarkdownIt

from export.writings import HOSTILE, WRITTEN
from orchestrator.export.prose import quote

sys.path.insert(0, str(ROOT / "action"))
from page import fitting, harmless, page_of, unwrapped

EXAMPLE = ROOT / "docs" / "examples" / "everything" / "decision.md"
# A comment on GitHub: a line end is one to the reader.
COMMENT = MarkdownIt("commonmark", {"breaks": True}).enable("table")
# A document: its lines are only wrapped.
DOCUMENT = MarkdownIt("commonmark").enable("table")
DOCUMENT.add_render_rule("softbreak", lambda *_: " ")
RESULT: dict[str, Any] = {
    "thread_id": "2026-01-06-pr-12",
    "head": "sha256:00",
    "turns": [{}] * 3,
    "tokens": {"input": 30_000, "cached": 0, "output": 2_000},
    "cost_usd": "0.1234",
    "error": None,
}


def test_a_record_is_told_with_its_decision_in_sight_and_the_rest_folded() -> None:
    page = page_of(RESULT, EXAMPLE, "a1b2c3d4e5f6071829", ())
    assert page is not None
    top, _, folded = page.partition("<details>")
    assert top.startswith("# Billing stays in PostgreSQL; its events leave through an outbox\n\n**DEGRADED:** Wind")
    assert "> Billing is not moved. The ledger's own commit fills an outbox, a feed carries its events to" in top
    assert "## Decision Outcome" in folded.partition("</details>")[0]
    assert folded.partition("</details>\n\n")[2] == (
        "- [run-debate](https://pypi.org/project/run-debate/), commit a1b2c3d4e5f6: 3 turns, 32,000 tokens, $0.12. "
        "Models wrote this; people decide.\n"
        "- Ledger of `2026-01-06-pr-12`, head `sha256:00`: `debate-hall verify --file debate.json`.\n"
    )


def test_a_run_that_stopped_is_told_with_its_reason_as_it_stands() -> None:
    message = "openai/x answered HTTP 500: ```</details><img src=http://127.0.0.1/x> @mara"
    page = page_of({**RESULT, "turns": [{}], "error": {"message": message}}, Path("/nowhere"), "a1b2", ())
    assert page is not None
    assert f"````text\n{harmless(message)}\n````\n\n1 turn is in the artefact." in page


def test_nothing_is_told_of_a_run_that_never_began() -> None:
    assert page_of({**RESULT, "thread_id": None}, Path("/nowhere"), "a1b2", ()) is None


def test_what_was_not_debated_is_named() -> None:
    names = tuple(f"vendor/`{number}`.bin" for number in range(30))
    page = page_of(RESULT, EXAMPLE, "a1b2", names)
    assert page is not None
    assert "- Not debated, since GitHub shows no diff or the name is a secret's: `vendor/ˋ0ˋ.bin`, " in page
    assert page.endswith("`vendor/ˋ19ˋ.bin` and 10 more.\n")


@pytest.mark.parametrize(
    "words", ["@mara", "@acme/payments", "see #12", "acme/billing#7", "GH-12", "gh-12", "x@1a2b3c4"]
)
def test_words_call_nobody_and_link_to_nothing(words: str) -> None:
    assert harmless(words) != words
    assert harmless(words).replace("\u2060", "") == words
    assert re.search(r"@\w|#\d|GH-\d", harmless(words), re.IGNORECASE) is None


def test_words_without_such_a_sign_stay_as_they_are() -> None:
    assert harmless("a # b, C#, @ 5 %, #title, C-12") == "a # b, C#, @ 5 %, #title, C-12"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_paragraph_stands_on_one_line_and_says_the_same(text: str) -> None:
    assert_joined(quote(text))


@given(WRITTEN)
def test_whatever_was_written_says_the_same_on_one_line(text: str) -> None:
    assert_joined(quote(text))


def test_a_whole_record_says_the_same_on_one_line() -> None:
    assert_joined(EXAMPLE.read_text())


def assert_joined(document: str) -> None:
    told = unwrapped(document)
    assert DOCUMENT.render(told) == DOCUMENT.render(document)
    assert not any(child.type == "softbreak" for token in COMMENT.parse(told) for child in token.children or ())


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_open_nothing_in_a_comment(text: str, tmp_path: Path) -> None:
    decision = tmp_path / "decision.md"
    decision.write_text(f"---\nstatus: proposed\n---\n\n# Title\n\n{quote(text)}\n\n## Context\n\n{quote(text)}\n")
    page = page_of(RESULT, decision, "a1b2", ())
    assert page is not None
    shown = COMMENT.render(page)
    assert re.findall(r"<(?:a|img|script|h\d|details|summary|/details|/summary)\b[^>]*>", shown) == [
        "<h1>",
        "<details>",
        "<summary>",
        "</summary>",
        "<h2>",
        "</details>",
        '<a href="https://pypi.org/project/run-debate/">',
    ]


def test_a_page_that_is_too_long_is_cut_in_the_record_and_keeps_what_stands_below() -> None:
    page = page_of(RESULT, EXAMPLE, "a1b2", ())
    assert page is not None
    cut = fitting(page, 6_000)
    assert 5_000 < len(cut) <= 6_000
    assert "\n\n**Cut here: the whole record is in the artefact.**\n\n</details>\n\n- [run-debate]" in cut
    assert cut.endswith(page.rpartition("</details>")[2])
    assert page.startswith(cut.partition("\n\n**Cut here")[0])
    assert fitting(page, len(page)) == page
