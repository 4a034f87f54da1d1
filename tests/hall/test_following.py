"""A debate that was verified before is followed: what stands behind it is verified, and nothing else is believed.

The oracle is `ledger.verify` of the whole.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from halls import OTHER, THREAD, database, every_kind, hall_in, speak
from threads import begin, redact, turn
from threads import speak as write

from orchestrator.errors import LedgerBroken
from orchestrator.hall import ledger
from orchestrator.hall.debate import Debate, fold
from orchestrator.hall.hall import Hall
from orchestrator.hall.ledger import Standing
from orchestrator.hall.store import Store
from orchestrator.hall.terms import Role


@pytest.mark.parametrize("thread_id", [THREAD, OTHER])
def test_what_is_followed_from_any_moment_is_what_the_whole_ledger_tells(hall: Hall, thread_id: str) -> None:
    every_kind(hall)
    whole = hall.debate(thread_id)
    for seen in range(1, len(whole.lines) + 1):
        earlier = fold(whole.lines[:seen])
        known = Debate(earlier.state, earlier.head, earlier.lines, whole.plan)
        assert hall.debate(thread_id, known) == whole


def test_a_debate_that_has_not_moved_is_the_one_that_is_known(hall: Hall) -> None:
    every_kind(hall)
    known = hall.debate(THREAD)
    assert hall.debate(THREAD, known) is known


def test_a_redaction_takes_the_words_from_what_is_known_too(hall: Hall) -> None:
    hall.init_debate(THREAD, "Kafka?")
    speak(hall, THREAD, Role.WIND, Role.WALL)
    known = hall.debate(THREAD)
    hall.tombstone_turn(THREAD, 0, "a name")
    followed = hall.debate(THREAD, known)
    assert followed == hall.debate(THREAD)
    assert followed.turns[0].words == "[REDACTED: a name]"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE texts SET words = 'Yes, and.' WHERE words = 'What Wall says.'",
        "UPDATE entries SET stored = replace(stored, 'ETHOS', 'LOGOS') WHERE turn_index = 1",
        "UPDATE entries SET turn_index = 7 WHERE turn_index = 1",
        "UPDATE threads SET head = (SELECT hash FROM entries WHERE seq = 0)",
        "UPDATE threads SET state = replace(state, '\"round\":1', '\"round\":2')",
        "DELETE FROM entries WHERE turn_index = 1",
        "INSERT INTO entries (no, seq, hash, stored) SELECT no, 3, hash, '{}' FROM entries WHERE turn_index = 1",
    ],
)
def test_what_is_wrong_behind_the_known_head_is_told_as_by_the_whole(hall: Hall, folder: Path, damage: str) -> None:
    hall.init_debate(THREAD, "Kafka?")
    speak(hall, THREAD, Role.WIND)
    known = hall.debate(THREAD)
    speak(hall, THREAD, Role.WALL)
    with closing(database(folder)) as db:
        assert db.execute(damage).rowcount == 1
    with pytest.raises(LedgerBroken) as of_the_whole:
        hall.debate(THREAD)
    with pytest.raises(LedgerBroken) as followed:
        hall.debate(THREAD, known)
    assert str(followed.value) == str(of_the_whole.value)


def test_words_changed_before_the_known_head_are_never_heard_and_the_whole_finds_them(hall: Hall, folder: Path) -> None:
    hall.init_debate(THREAD, "Kafka?")
    speak(hall, THREAD, Role.WIND)
    known = hall.debate(THREAD)
    with closing(database(folder)) as db:
        db.execute("UPDATE texts SET words = 'Yes, and.' WHERE words = 'What Wind says.'")
    speak(hall, THREAD, Role.WALL)
    assert [line.text for line in hall.debate(THREAD, known).turns] == ["What Wind says.", "What Wall says."]
    with pytest.raises(LedgerBroken):
        hall.verify_debate(THREAD)


def test_another_ledger_under_the_same_name_is_not_followed(hall: Hall, tmp_path: Path) -> None:
    hall.init_debate(THREAD, "Kafka?")
    speak(hall, THREAD, Role.WIND)
    with hall_in(tmp_path / "other") as other:
        other.init_debate(THREAD, "An outbox table?")
        known = other.debate(THREAD)
    assert hall.debate(THREAD, known) == hall.debate(THREAD)


def test_lines_that_hold_together_are_nothing_where_the_thread_stands_elsewhere(store: Store) -> None:
    opened = begin(store, "thread")
    after = write(store, opened, "one")
    known = ledger.verify(store.thread("thread"))
    elsewhere = Standing(opened.head, after.state)
    assert ledger.follow(known, elsewhere, []) is None


def test_every_store_gives_the_entries_behind_one_with_where_the_thread_stands(store: Store) -> None:
    before = write(store, begin(store, "thread"), "one", "two")
    after = redact(store, before, 1, turn(begin(store, "twin"), "one").entry.body.digest)  # type: ignore[union-attr]
    assert [line.seq for line in store.newer("thread", 1).lines] == [2, 3]
    assert store.newer("THREAD", 3) == (after, [])
    assert list(store.newer("thread", -1).lines) == list(store.thread("thread").lines)
