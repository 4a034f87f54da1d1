"""A debate that was exported comes into another hall as it is, or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from halls import OTHER, THREAD, dump, every_kind, hall_in
from threads import begin

from orchestrator.errors import HoldsSecret, InvalidInput, StoreUnavailable, ThreadExists
from orchestrator.hall import exported, ledger
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Store


@pytest.fixture
def filled(hall: Hall) -> Hall:
    every_kind(hall)
    return hall


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Hall]:
    with hall_in(tmp_path / "elsewhere") as hall:
        yield hall


@pytest.mark.parametrize("format", ["json", "octave"])
@pytest.mark.parametrize("thread_id", [THREAD, OTHER])
def test_an_exported_debate_is_the_same_in_another_hall(
    filled: Hall, elsewhere: Hall, thread_id: str, format: str
) -> None:
    text = filled.export_debate(thread_id, format)
    taken_in = elsewhere.import_debate(exported.read(text.encode(), "an export").debate)
    assert taken_in["is_new"]
    assert (taken_in["thread_id"], taken_in["head"]) == (thread_id, filled.debate(thread_id).head)
    assert elsewhere.debate(thread_id) == filled.debate(thread_id)
    assert elsewhere.export_debate(thread_id, format) == text
    assert elsewhere.verify_debate(thread_id)["entries"] == taken_in["entries"]
    here, there = ({listed["thread_id"]: listed for listed in each.list_debates()} for each in (filled, elsewhere))
    assert there[thread_id] == here[thread_id] | {"run": "none" if thread_id == OTHER else there[thread_id]["run"]}


def test_every_store_takes_a_thread_as_it_is_and_its_id_once(elsewhere: Hall, store: Store) -> None:
    every_kind(elsewhere)
    debate = elsewhere.debate(THREAD)
    thread = ledger.stored(debate)
    store.adopt(thread)
    assert ledger.verify(store.thread(THREAD)) == debate
    with pytest.raises(ThreadExists):
        store.adopt(thread)
    with pytest.raises(ThreadExists):
        begin(store, THREAD.upper())
    assert ledger.verify(store.thread(THREAD)) == debate


def test_a_debate_whose_topic_was_redacted_stands_in_the_list(hall: Hall, elsewhere: Hall) -> None:
    hall.init_debate(OTHER, "What does Ms Example earn?")
    hall.tombstone(OTHER, 0, "It named a person.")
    elsewhere.import_debate(hall.debate(OTHER))
    assert [(listed["thread_id"], listed["topic"]) for listed in elsewhere.list_debates()] == [(OTHER, "[REDACTED]")]


def test_an_imported_debate_that_is_open_goes_on(hall: Hall, elsewhere: Hall) -> None:
    hall.init_debate(OTHER, "Which queue?")
    hall.add_turn(OTHER, "Wind", "None at all.")
    elsewhere.import_debate(hall.debate(OTHER))
    elsewhere.add_turn(OTHER, "Wall", "Yes, but who owns it?")
    elsewhere.tombstone_turn(OTHER, 0, "It was wrong.")
    assert elsewhere.verify_debate(OTHER, hall.debate(OTHER).head)["newer"] == 2


def test_what_is_here_already_stays_as_it_is(filled: Hall, folder: Path) -> None:
    before = dump(folder)
    assert not filled.import_debate(filled.debate(THREAD))["is_new"]
    assert dump(folder) == before


RELATIONS: dict[str, tuple[Callable[[Hall], object], Callable[[Hall], object], str]] = {
    "behind": (
        lambda mine: None,
        lambda theirs: theirs.add_turn(OTHER, "Wall", "No."),
        "its ledger has 2 of 3 entries",
    ),
    "ahead": (lambda mine: mine.add_turn(OTHER, "Wall", "No."), lambda theirs: None, "it has gone on since"),
    "another": (
        lambda mine: mine.add_turn(OTHER, "Wall", "No."),
        lambda theirs: theirs.add_turn(OTHER, "Wall", "Yes."),
        "its ledger is another",
    ),
}


@pytest.mark.parametrize("name", RELATIONS)
def test_another_ledger_under_the_same_id_is_refused_with_how_the_two_lie(
    hall: Hall, elsewhere: Hall, folder: Path, name: str
) -> None:
    mine, theirs, sentence = RELATIONS[name]
    hall.init_debate(OTHER, "Which queue?")
    hall.add_turn(OTHER, "Wind", "None at all.")
    elsewhere.import_debate(hall.debate(OTHER))
    mine(hall)
    theirs(elsewhere)
    before = dump(folder)
    with pytest.raises(ThreadExists, match=sentence) as refused:
        hall.import_debate(elsewhere.debate(OTHER))
    assert "DEBATE_HALL_STATE_DIR" in refused.value.cure
    assert dump(folder) == before


def test_a_run_that_has_not_ended_stays_where_its_journal_is(hall: Hall, elsewhere: Hall, tmp_path: Path) -> None:
    hall.open_run(THREAD, "Should we move billing to Kafka?", "a plan", "mediated", 6, 2)
    with pytest.raises(InvalidInput, match="has not ended; an export holds no journal"):
        elsewhere.import_debate(hall.debate(THREAD))
    assert elsewhere.list_debates() == []
    hall.force_close_debate(THREAD, "Enough.")
    assert elsewhere.import_debate(hall.debate(THREAD))["is_new"]


@pytest.mark.parametrize("where", ["text", "plan"])
def test_what_holds_a_secret_is_not_taken_in(
    hall: Hall, elsewhere: Hall, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {"text": "Why?", "plan": "a plan"} | {where: "The word is correct-horse-battery-staple."}
    hall.open_run(OTHER, words["text"], words["plan"], "fixed", 3, 1)
    hall.force_close_debate(OTHER, "Enough.")
    debate = hall.debate(OTHER)
    monkeypatch.setenv("BILLING_API_KEY", "correct-horse-battery-staple")
    with pytest.raises(HoldsSecret, match=where):
        elsewhere.import_debate(debate)
    assert elsewhere.list_debates() == []


def test_an_import_that_fails_at_its_last_entry_leaves_nothing(filled: Hall, elsewhere: Hall, tmp_path: Path) -> None:
    debate: Debate = filled.debate(THREAD)
    before = dump(tmp_path / "elsewhere")
    with sqlite3.connect(tmp_path / "elsewhere" / "hall.sqlite3") as db:
        db.execute(
            "CREATE TRIGGER full BEFORE INSERT ON entries WHEN NEW.seq = 14 BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    with pytest.raises(StoreUnavailable, match="disk full"):
        elsewhere.import_debate(debate)
    with sqlite3.connect(tmp_path / "elsewhere" / "hall.sqlite3") as db:
        db.execute("DROP TRIGGER full")
    assert dump(tmp_path / "elsewhere") == before
    assert elsewhere.import_debate(debate)["is_new"]
