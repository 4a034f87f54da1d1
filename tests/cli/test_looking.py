"""`debate-hall search` and what narrows `list`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from orchestrator.cli import searching
from orchestrator.hall.hall import Hall

Command = Callable[..., Result]

BILLING, QUEUE, HOSTILE = "2026-01-06-billing", "2026-01-07-queue", "2026-01-08-hostile"
STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d"


@pytest.fixture(autouse=True)
def debates_held(work: Path) -> None:
    with Hall.open() as hall:
        hall.open_run(
            BILLING, "Should we move billing to Kafka?", "a plan", "fixed", 3, 1, ["REHEARSAL"], recipe="speed"
        )
        hall.add_turn(BILLING, "Wind", "What if billing were an event log?", agent_role="ideator")
        hall.add_turn(BILLING, "Wall", "Yes, but nobody on call knows Kafka.")
        hall.add_turn(BILLING, "Door", "Therefore an outbox table.")
        hall.close_debate(BILLING, "Therefore an outbox table.")
        hall.init_debate(QUEUE, "Which queue?")
        hall.init_debate(HOSTILE, "\x1b[2J\x1b]0;heron\x07 \u202eonce\rtwice")


def told(result: Result, code: int = 0) -> str:
    assert result.exit_code == code, result.output
    return result.stdout


def test_a_hit_tells_where_it_is_what_about_what_it_says_and_how_to_read_on(hall: Command) -> None:
    assert re.fullmatch(
        f"{BILLING}  T1 Wind ideator  synthesis  {STAMP}\n"
        "  REHEARSAL: Should we move billing to Kafka\\?\n"
        "  What if billing were an «event log»\\?\n"
        f"  debate-hall show {BILLING} --turn T1\n",
        told(hall("search", '"event log"')),
    )


def test_the_command_of_a_hit_shows_it(hall: Command) -> None:
    for query in ("nobody", "outbox"):
        (command,) = re.findall("  debate-hall (show .*)\n", told(hall("search", query)))
        assert query in told(hall(*command.split()))


def test_what_is_said_in_several_texts_only_is_told_to_be(hall: Command) -> None:
    said = told(hall("search", "log", "outbox"))
    assert said.startswith(f"No text holds all of that; in each of these debates it stands in several.\n\n{BILLING}  ")


def test_what_is_found_nowhere_is_a_sentence_and_no_failure(hall: Command) -> None:
    assert told(hall("search", "nowhere")).startswith("Nothing like that was found.")
    assert json.loads(told(hall("search", "nowhere", "--json"))) == {"hits": [], "more": False, "apart": False}


def test_as_json_the_snippet_is_plain_and_the_matches_beside_it(hall: Command) -> None:
    (hit,) = json.loads(told(hall("search", "billing were", "--json")))["hits"]
    assert [hit["snippet"][start:end] for start, end in hit["matches"]] == ["billing", "were"]


def test_a_search_is_narrowed_and_says_that_more_was_found(hall: Command) -> None:
    assert told(hall("search", "kafka", "--limit", "1")).endswith("\nMore was found: --limit shows it.\n")
    for narrowed in (
        ("--status", "active"),
        ("--recipe", "deep"),
        ("--since", "2999-01-01"),
        ("--until", "2000-01-01"),
    ):
        assert told(hall("search", "kafka", *narrowed)).startswith("Nothing like that")
    for wide in (("--status", "active", "--status", "SYNTHESIS"), ("--recipe", "Speed"), ("--since", "2000-01-01")):
        assert BILLING in told(hall("search", "kafka", *wide))


@pytest.mark.parametrize(
    "words",
    ['"', "* AND", "NEAR(kafka", "folded:kafka", "kafka*", "'", "ka\0fka", "🚀", "(((", "-kafka", "^", "x" * 10_000],
)
def test_no_sign_of_a_query_is_ever_syntax(hall: Command, words: str) -> None:
    result = hall("search", "--", words)
    assert result.exit_code in (0, 2)
    assert "syntax" not in result.output
    assert "fts5" not in result.output
    if result.exit_code:
        assert result.stderr == (
            "error: There is no word in what is looked for. Send words; letters and digits make one.\n"
        )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("search", "kafka", "--limit", "0"), "error: limit is 0; it can be 1 to 100,000.\n"),
        (("list", "--limit", "-1"), "error: limit is -1; it can be 1 to 100,000.\n"),
        (("list", "--since", "monday"), "error: since is 'monday'; it is a day, written as 2026-01-06.\n"),
        (("search", "kafka", "--until", "2026-13-01"), "error: until is '2026-13-01'; it is a day"),
        (("search", "kafka", "--status", "done"), "error: status is 'done'; it is one of active, synthesis"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_in_a_sentence(
    hall: Command, arguments: tuple[str, ...], sentence: str
) -> None:
    result = hall(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(sentence)


def test_no_text_that_is_found_steers_the_terminal(hall: Command) -> None:
    for arguments in (("search", "heron"), ("search", "heron", "--json"), ("list", "--text", "heron")):
        said = told(hall(*arguments))
        assert HOSTILE in said
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", said)
    found: Any = {"more": False, "apart": False}
    with Hall.open() as opened:
        found["hits"] = opened.search_debates("heron")["hits"]
    drawn = searching.typeset(found, 80)
    assert "\x1b[2J" not in drawn
    assert "\x1b]0" not in drawn
    assert "\u202e" not in drawn


def test_a_list_is_narrowed_by_recipe_day_status_and_number(
    debates: Callable[[], list[dict[str, Any]]], hall: Command
) -> None:
    def ids(*arguments: str) -> list[str]:
        return [each["thread_id"] for each in json.loads(told(hall("list", "--json", *arguments)))]

    assert ids() == [each["thread_id"] for each in debates()] == [HOSTILE, QUEUE, BILLING]
    assert ids("--recipe", "SPEED") == [BILLING]
    assert ids("--status", "active", "--status", "synthesis", "--limit", "2") == [HOSTILE, QUEUE]
    assert ids("--since", "2000-01-01", "--until", "2999-12-31") == [HOSTILE, QUEUE, BILLING]
    assert ids("--until", "2000-01-01") == []
    assert told(hall("list", "--recipe", "deep")) == "No debate is like that.\n"
