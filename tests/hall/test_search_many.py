"""Search over a thousand debates, through the command: ranked, with snippets, whatever the query is written with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from click.testing import CliRunner
from many import fill

from orchestrator.cli.debate_hall import debate_hall
from orchestrator.hall import sqlite
from orchestrator.hall.hall import Hall
from postgres import fresh_hall, needs_postgres

pytestmark = pytest.mark.slow
COUNT = 1_000
SAID = "請求をカフカに移すべきか。Straße, naïve café, 🚀 “quoted words”, 'AND' OR *"

Search = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def thousand(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a hall of a thousand debates is."""
    with ExitStack() as stack:
        on_postgres = request.param == "postgres"
        place = stack.enter_context(fresh_hall()) if on_postgres else str(tmp_path_factory.mktemp("thousand") / "state")
        with Hall.open(place) as hall:
            fill(hall._store, COUNT, words=60)
            hall.init_debate("2027-01-01-kafka", "Kafka?")
            hall.add_turn("2027-01-01-kafka", "Wind", SAID)
        yield place


@pytest.fixture
def search(thousand: str, monkeypatch: pytest.MonkeyPatch) -> Search:
    monkeypatch.setenv("DEBATE_HALL_STORE", thousand)

    def found(*arguments: str) -> dict[str, Any]:
        result = CliRunner().invoke(debate_hall, ["search", "--json", *arguments])
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        answer: dict[str, Any] = json.loads(result.stdout)
        return answer

    return found


def marked(hit: dict[str, Any]) -> list[str]:
    return [hit["snippet"][start:end] for start, end in hit["matches"]]


def test_what_was_asked_and_decided_comes_before_what_was_said_on_the_way(search: Search) -> None:
    found = search("kafka", "billing", "--limit", "100")
    where = [hit["where"] for hit in found["hits"]]
    assert {"topic", "decision", "T1"} == set(where)
    assert where.index("T1") == len(where) - where.count("T1")
    assert all({word.lower() for word in marked(hit)} == {"kafka", "billing"} for hit in found["hits"])
    assert search("kafka")["hits"][0]["thread_id"] == "2027-01-01-kafka"  # which is about nothing else


def test_of_equals_the_newest_come_first_and_that_there_are_more_is_said(search: Search) -> None:
    found = search("should move logins cron", "--limit", "5")
    assert (len(found["hits"]), found["more"]) == (5, True)
    moments = [hit["at"] for hit in found["hits"]]
    assert moments == sorted(moments, reverse=True)


def test_one_word_among_a_thousand_debates_is_found_in_its_own(search: Search) -> None:
    for number in (0, 7, 500, COUNT - 1):
        (hit,) = search(f"UNIQUE{number}word")["hits"]
        assert hit["thread_id"].endswith(f"-debate-{number}")
        assert (hit["where"], marked(hit)) == ("T2", [f"Unique{number}word"])


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("カフカ", ["カフカ"]),
        ("請求 カフカ", ["請求", "カフカ"]),
        ("STRASSE Cafe", ["Straße", "café"]),
        ("🚀", ["🚀"]),
        ('"quoted words"', ["quoted words"]),
        ("“quoted words” naive", ["naïve", "quoted words"]),
        ('"quoted', ["quoted"]),
        ("quoted 'AND' OR *", ["quoted", "AND", "OR"]),
        ("(quoted) : words^ -naive", ["naïve", "quoted", "words"]),
    ],
)
def test_no_writing_and_no_sign_is_in_the_way(search: Search, query: str, found: list[str]) -> None:
    (hit,) = search("--", query)["hits"]
    assert (hit["thread_id"], marked(hit)) == ("2027-01-01-kafka", found)


def test_a_thousand_debates_that_did_not_change_are_not_read_again(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    search("kafka")
    monkeypatch.delattr(sqlite.SQLiteStore, "lines_from")
    assert len(search("kafka")["hits"]) == 20
    assert search("nowhere")["hits"] == []


def test_a_new_turn_is_found_and_a_redacted_one_is_not(search: Search, thousand: str) -> None:
    with Hall.open(thousand) as hall:
        hall.init_debate("2027-02-01-new", "Which?")
        hall.add_turn("2027-02-01-new", "Wind", "A heronry of words.")
        (hit,) = search("heronry")["hits"]
        assert hit["where"] == "T1"
        hall.tombstone_turn("2027-02-01-new", 0, "It goes.")
    assert search("heronry")["hits"] == []
    assert len(search("kafka")["hits"]) == 20
