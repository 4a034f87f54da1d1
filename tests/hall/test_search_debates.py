"""Searching a hall: what is told of a hit, in which debates it is looked for, and what a redaction leaves of it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from halls import OTHER, THREAD, database, every_kind, hall_in

from orchestrator.errors import InvalidInput
from orchestrator.hall import sqlite, sqlite_search
from orchestrator.hall.hall import Hall
from orchestrator.hall.ledger import StoredLine
from orchestrator.hall.search import read

SECRET = "qzmillerheron"  # an index keeps words in order and leaves out what they begin with in common


@pytest.fixture
def filled(hall: Hall) -> Hall:
    hall.open_run(THREAD, "Should we move billing to Kafka?", "a plan", "fixed", 3, 1, ["REHEARSAL"], recipe="fortress")
    hall.add_turn(THREAD, "Wind", "What if billing were a log?", agent_role="ideator", model="wind-1")
    hall.add_turn(THREAD, "Wall", f"Yes, but nobody on call knows Kafka, says {SECRET}.")
    hall.add_turn(THREAD, "Door", "# Synthesis\n\nTherefore an outbox table,\nand no broker.")
    hall.close_debate(THREAD, "Therefore an outbox table,\nand no broker.")
    hall.init_debate(OTHER, "Which outbox?")
    return hall


def places(hall: Hall, query: str, **filters: object) -> list[tuple[str, str]]:
    return [(hit["thread_id"], hit["where"]) for hit in hall.search_debates(query, **filters)["hits"]]  # type: ignore[arg-type]


def test_a_hit_says_where_it_stands_and_shows_the_words_around(filled: Hall) -> None:
    assert filled.search_debates("BILLING were") == {
        "hits": [
            {
                "thread_id": THREAD,
                "topic": "Should we move billing to Kafka?",
                "status": "synthesis",
                "marks": ["REHEARSAL"],
                "seq": 1,
                "where": "T1",
                "role": "Wind",
                "agent": "ideator",
                "at": filled.debate(THREAD).lines[1].entry.at,
                "snippet": "What if billing were a log?",
                "matches": [[8, 15], [16, 20]],
            }
        ],
        "more": False,
        "apart": False,
    }


def test_what_the_decision_says_is_not_told_again_from_the_turn_that_it_repeats(filled: Hall) -> None:
    assert places(filled, "outbox broker") == [(THREAD, "decision")]
    assert places(filled, "synthesis") == [(THREAD, "T3")]


def test_every_kind_of_text_has_a_name(hall: Hall) -> None:
    every_kind(hall)
    names = [("log", []), ("owner", [(THREAD, "vote")]), ("door open", [(THREAD, "vote")])]
    names += [('"by payments"', [(THREAD, "decision"), (THREAD, "refinement 1")]), ("which queue", [(OTHER, "topic")])]
    assert [(query, places(hall, query)) for query, _ in names] == names


def test_words_that_stand_in_no_one_text_are_found_apart_and_that_is_said(filled: Hall) -> None:
    result = filled.search_debates("log broker")
    assert result["apart"] is True
    assert [hit["thread_id"] for hit in result["hits"]] == [THREAD]
    nothing = {"hits": [], "more": False, "apart": False}
    assert filled.search_debates("log nowhere") == filled.search_debates("nowhere") == nothing


def test_a_search_is_narrowed_to_debates_and_to_a_number_of_hits(filled: Hall) -> None:
    assert set(places(filled, "outbox")) == {(THREAD, "decision"), (OTHER, "topic")}
    assert places(filled, "outbox", status="active") == [(OTHER, "topic")]
    assert places(filled, "outbox", recipe="Fortress") == [(THREAD, "decision")]
    assert places(filled, "outbox", since="2026-01-08") == places(filled, "outbox", until="2026-01-04") == []
    first = filled.search_debates("outbox", limit=1)
    assert (len(first["hits"]), first["more"]) == (1, True)
    assert filled.search_debates("outbox", limit=2)["more"] is False


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "3", 10**9, None])
def test_a_limit_is_a_number_of_hits(hall: Hall, limit: object) -> None:
    with pytest.raises(InvalidInput, match="limit is"):
        hall.search_debates("kafka", limit)  # type: ignore[arg-type]


def test_a_damaged_thread_hides_no_other_and_shows_no_words_that_were_never_written(filled: Hall, folder: Path) -> None:
    assert len(places(filled, "outbox")) == 2
    with closing(database(folder)) as db:
        db.execute("UPDATE texts SET words = 'Which outbox, they said, is forged?' WHERE words = 'Which outbox?'")
        db.execute("UPDATE entries SET stored = 'no JSON' WHERE no = 1 AND seq = 1")
        db.execute("UPDATE threads SET state = 'no state' WHERE no = 1")
    for folded in ("kept", "made again"):
        assert places(filled, "outbox") == [(THREAD, "decision")], folded
        assert places(filled, "forged") == places(filled, "log") == [], folded
        (hit,) = filled.search_debates("nobody")["hits"]
        assert hit["status"] == "unreadable"
        assert sqlite_search.empty(folder, 0)


def index_words(folder: Path) -> int:
    with closing(sqlite3.connect(folder / sqlite_search.FILE)) as db:
        count: int = db.execute("SELECT count(*) FROM said").fetchone()[0]
        return count


def test_an_index_that_is_damaged_too_new_or_of_another_hall_is_made_again(filled: Hall, folder: Path) -> None:
    path = folder / sqlite_search.FILE
    for spoil in (
        lambda: path.write_bytes(b"no database" * 1000),
        lambda: _execute(path, "PRAGMA user_version = 99"),
        lambda: _execute(path, "UPDATE threads SET seq = 1, head = 'another'"),
        lambda: _execute(path, "UPDATE threads SET thread_id = 'gone' WHERE no = 1"),
        lambda: _execute(path, "DELETE FROM words_data WHERE id > 10"),
        path.unlink,
    ):
        assert set(places(filled, "outbox")) == {(THREAD, "decision"), (OTHER, "topic")}
        assert path.stat().st_mode & 0o777 == 0o600
        for left in folder.glob(f"{sqlite_search.FILE}-*"):
            left.unlink()
        spoil()
    assert set(places(filled, "outbox")) == {(THREAD, "decision"), (OTHER, "topic")}


def _execute(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(sql)


def test_a_damaged_index_leaves_no_log_that_a_new_one_would_take_for_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir()
    paths = [folder / f"{sqlite_search.FILE}{ending}" for ending in ("", "-shm", "-wal")]
    for path in paths:
        path.write_bytes(b"no database" * 1000)
    gone: list[Path] = []
    monkeypatch.setattr(Path, "glob", lambda *arguments: iter(paths))  # a file system lists them in any order
    monkeypatch.setattr(Path, "unlink", lambda path: gone.append(path))
    assert sqlite_search.empty(folder, 0)
    assert gone.index(paths[2]) < gone.index(paths[0])  # a process may die between the two


def test_the_index_of_a_hall_that_was_restored_from_a_backup_is_made_again(folder: Path) -> None:
    for words in ("first", "second"):
        with hall_in(folder) as hall:
            hall.init_debate(THREAD, f"The {words} topic?")
            if words == "second":
                hall.add_turn(THREAD, "Wind", "More than was read before.")
            assert places(hall, words) == [(THREAD, "topic")]
        for path in folder.glob("hall.sqlite3*"):
            path.unlink()


def test_an_unchanged_hall_is_not_read_again(filled: Hall, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert places(filled, "log") == [(THREAD, "T1")]
    before = (folder / sqlite_search.FILE).read_bytes()
    monkeypatch.delattr(sqlite.SQLiteStore, "lines_from")
    assert places(filled, "log") == [(THREAD, "T1")]
    assert (folder / sqlite_search.FILE).read_bytes() == before


# ------------------------------------------------------------------------------------------------------------ redaction


def residue(folder: Path, word: str = SECRET) -> list[str]:
    """The files in which a word still stands, but for the letters with which it begins."""
    return sorted(path.name for path in folder.iterdir() if word[2:].encode() in path.read_bytes())


@pytest.fixture
def searched(filled: Hall, folder: Path) -> Hall:
    assert places(filled, SECRET) == [(THREAD, "T2")]
    assert any(name.startswith(sqlite_search.FILE) for name in residue(folder))  # the looking does find it
    return filled


def test_after_a_redaction_no_file_holds_the_words_and_the_rest_is_found(searched: Hall, folder: Path) -> None:
    assert searched.tombstone_turn(THREAD, 1, "It named a customer.")["erased"] == "done"
    assert residue(folder) == []
    assert places(searched, SECRET) == places(searched, "nobody") == []
    assert places(searched, "log") == [(THREAD, "T1")]
    assert residue(folder) == []


def test_an_index_that_another_hall_uses_is_emptied_too(searched: Hall, folder: Path) -> None:
    with hall_in(folder) as another:
        assert places(another, SECRET) == [(THREAD, "T2")]
        assert searched.tombstone_turn(THREAD, 1, "It named a customer.")["erased"] == "done"
        assert residue(folder) == []
        assert places(another, SECRET) == []


@pytest.fixture
def busy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Somebody who reads the index, and whom nobody waits for."""
    monkeypatch.setattr(sqlite, "CHECKPOINT_TIMEOUT_MS", 1)
    with closing(sqlite3.connect(folder / sqlite_search.FILE, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM said").fetchone()[0] > 0
        yield reader


def test_while_somebody_reads_the_index_the_erasure_is_pending_and_the_next_opening_finishes_it(
    searched: Hall, busy: sqlite3.Connection, folder: Path
) -> None:
    assert searched.tombstone_turn(THREAD, 1, "It named a customer.")["erased"] == "pending"
    assert residue(folder) != []
    assert places(searched, SECRET) == places(searched, "nobody") == []
    with hall_in(folder):
        assert residue(folder) != []
    busy.execute("ROLLBACK")
    with hall_in(folder):
        assert residue(folder) == []


@pytest.mark.parametrize("what", ["search", "redaction"])
def test_what_waits_to_be_erased_is_tried_again_by_searches_and_by_other_redactions(
    searched: Hall, busy: sqlite3.Connection, folder: Path, what: str
) -> None:
    assert searched.tombstone_turn(THREAD, 1, "It named a customer.")["erased"] == "pending"
    assert residue(folder) != []
    busy.execute("ROLLBACK")
    if what == "search":
        assert places(searched, "log") == [(THREAD, "T1")]
    else:
        assert searched.tombstone_turn(THREAD, 0, "It was rude.")["erased"] == "done"
    assert residue(folder) == []


def test_a_search_waits_for_nobody_to_try_an_erasure_again(
    searched: Hall, busy: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[int] = []
    empty = sqlite_search.empty

    def noting(folder: Path, patience_ms: int) -> bool:
        waited.append(patience_ms)
        return empty(folder, patience_ms)

    monkeypatch.setattr(sqlite_search, "empty", noting)
    assert searched.tombstone_turn(THREAD, 1, "It named a customer.")["erased"] == "pending"
    assert places(searched, "log") == [(THREAD, "T1")]
    assert waited == [sqlite.CHECKPOINT_TIMEOUT_MS, 0]


def test_what_an_index_still_holds_of_a_redacted_text_is_not_shown(
    searched: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_search, "empty", lambda *arguments: False)
    assert searched.tombstone_turn(THREAD, 1, "It named a customer.")["erased"] == "pending"
    assert searched._store.search(read(SECRET)) != []
    assert places(searched, SECRET) == []


def test_what_a_search_read_just_before_a_redaction_does_not_stay_in_the_index(
    filled: Hall, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_lines = sqlite.SQLiteStore.lines_from
    erased: list[str] = []

    def read_then_redact(self: sqlite.SQLiteStore, thread_id: str, seq: int) -> Sequence[StoredLine]:
        lines = read_lines(self, thread_id, seq)
        if thread_id == THREAD and not erased:
            with hall_in(folder) as another:
                erased.append(another.tombstone_turn(THREAD, 1, "It named a customer.")["erased"])
        return lines

    monkeypatch.setattr(sqlite, "CHECKPOINT_TIMEOUT_MS", 1)
    monkeypatch.setattr(sqlite.SQLiteStore, "lines_from", read_then_redact)
    assert places(filled, SECRET) == []
    assert erased == ["pending"]
    with hall_in(folder):
        assert residue(folder) == []


def test_a_hall_that_was_never_searched_has_no_index_after_a_redaction(filled: Hall, folder: Path) -> None:
    filled.tombstone_turn(THREAD, 1, "It named a customer.")
    assert not list(folder.glob(f"{sqlite_search.FILE}*"))


KILLED = """
import os, signal, sys
from orchestrator.hall import sqlite
from orchestrator.hall.hall import Hall
from orchestrator.hall.ledger import StoredLine
sqlite.SQLiteStore.erase_traces = lambda self: os.kill(os.getpid(), signal.SIGKILL)
with Hall.open(sys.argv[1]) as hall:
    assert hall.search_debates(sys.argv[3])["hits"]
    hall.tombstone_turn(sys.argv[2], 1, "It named a customer.")
"""


@pytest.mark.slow
def test_what_a_process_that_was_killed_left_in_the_index_is_gone_at_the_next_opening(
    filled: Hall, folder: Path
) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder), THREAD, SECRET], check=False, env=os.environ)
    assert killed.returncode == -signal.SIGKILL
    assert any(name.startswith(sqlite_search.FILE) for name in residue(folder))
    with hall_in(folder) as hall:
        assert residue(folder) == []
        assert places(hall, SECRET) == []
