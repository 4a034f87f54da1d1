"""Tampering: whatever is changed in the database, verify names the first bad entry, or a reader is shown the same."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from halls import OTHER, PLAN, THREAD, database, dump, every_kind, hall_in
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.errors import DebateError, LedgerBroken
from orchestrator.hall import canonical, ledger
from orchestrator.hall.entries import parse
from orchestrator.hall.hall import Hall
from orchestrator.hall.sqlite import FILE

Rows = dict[str, list[tuple[Any, ...]]]
TABLES = {
    "threads": "no thread_id head state",
    "texts": "id salt words",
    "entries": "no seq turn_index hash stored text_id erased_by",
    "plans": "no plan",
    "pending_erasure": "no seq",
    "journal": "no number hash stored text_id",
    "checks": "no assumption checked result at text_id",
}
# What runs tell and are asked, and reviews, stand beside the debates: they prove nothing, and no reader of a debate is
# shown them.
BESIDE = {
    "runs": "no epoch place pid began_at beat_at released request_id",
    "reports": "no number told text_id",
    "reviews": "name number file due_at epoch place pid began_at beat_at released thread_id seen revision outcome"
    " text_id",
    "deliveries": "result target state attempts at",
}
TABLES |= BESIDE


class Bench:
    """A hall with every kind of entry, whose tables can be tampered with and put back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hall = hall_in(folder)
        every_kind(self.hall)
        self.pristine: Rows = dump(folder)
        self.shown = self.show()
        self.db = database(folder)
        self.db.execute("PRAGMA foreign_keys = OFF")

    def show(self) -> dict[str, Any]:
        """All that a reader can be shown of both threads."""
        return {thread_id: json.loads(self.hall.export_debate(thread_id)) for thread_id in (THREAD, OTHER)}

    def restore(self) -> None:
        with self.transaction():
            for table, rows in self.pristine.items():
                self.db.execute(f"DELETE FROM {table}")
                marks = ", ".join("?" * len(TABLES[table].split()))
                self.db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def transaction(self) -> sqlite3.Connection:
        self.db.execute("BEGIN")
        return self.db

    def tamper(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        """Executes all."""
        with self.transaction():
            for statement, values in statements:
                self.db.execute(statement, values)

    def is_tampered(self) -> bool:
        """Whether the tables are others than they were."""
        return dump(self.folder) != self.pristine

    def blamed(self, thread_id: str) -> int | None:
        with pytest.raises(LedgerBroken) as broken:
            self.hall.verify_debate(thread_id)
        return broken.value.seq

    def rows(self, table: str) -> list[dict[str, Any]]:
        return [dict(zip(TABLES[table].split(), row, strict=True)) for row in self.pristine[table]]

    def entries(self, thread_id: str) -> list[dict[str, Any]]:
        no = next(row["no"] for row in self.rows("threads") if row["thread_id"] == thread_id)
        return [row for row in self.rows("entries") if row["no"] == no]

    def journal(self, thread_id: str) -> list[dict[str, Any]]:
        (no,) = [row["no"] for row in self.rows("threads") if row["thread_id"] == thread_id]
        return [row for row in self.rows("journal") if row["no"] == no]

    def words(self) -> list[dict[str, Any]]:
        """The texts that stand beside entries."""
        beside = {row["text_id"] for row in self.rows("entries")}
        return [row for row in self.rows("texts") if row["id"] in beside]

    def is_readable(self, text_id: int | None) -> bool:
        """Whether there are words at this id that a reader could be shown."""
        return any(row["id"] == text_id and isinstance(row["words"], str) for row in self.rows("texts"))

    def owner(self, text_id: int) -> tuple[str, int]:
        """The thread and entry beside which a text stands."""
        return next(
            (thread_id, row["seq"])
            for thread_id in (THREAD, OTHER)
            for row in self.entries(thread_id)
            if row["text_id"] == text_id
        )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    bench = Bench(tmp_path_factory.mktemp("bench") / "state")
    yield bench
    bench.db.close()
    bench.hall.close()


@pytest.fixture
def bench(shared: Bench) -> Iterator[Bench]:
    yield shared
    shared.restore()
    assert shared.show() == shared.shown


def test_the_bench_holds_every_kind_of_entry_and_every_column(bench: Bench) -> None:
    kinds = {parse(row["stored"]).body.kind for row in bench.rows("entries")}
    assert kinds == {
        *("opened", "floor_given", "turn", "vote", "refined", "note", "extended", "tombstoned", "closed"),
        "force_closed",
    }
    for thread_id in (THREAD, OTHER):
        records = {json.loads(row["stored"])["kind"] for row in bench.journal(thread_id)}
        assert records == {"begun", "intent", "outcome", "reused"}
    for table, columns in TABLES.items():
        names = [row[1] for row in bench.db.execute(f"PRAGMA table_info({table})")]
        assert names == columns.split()
    assert set(bench.pristine) == set(TABLES)
    bench.hall.verify_debate(THREAD)
    bench.hall.verify_debate(OTHER)


def other_texts(text: str) -> list[Any]:
    flipped = text[:-1] + chr(ord(text[-1]) ^ 1)
    return [
        "",
        text + " ",
        text[1:],
        text.swapcase(),
        flipped,
        text.replace("e", "е"),
        "\ufffd",
        b"\xff",
        text.encode(),
    ]


def damaged_utf8(text: str) -> str:
    return f"CAST(x'{text.encode().hex()}ff' AS TEXT)"


@pytest.mark.parametrize("column", ["turn_index", "hash", "stored", "text_id", "erased_by"])
def test_a_changed_column_of_any_entry_is_blamed_on_that_entry(bench: Bench, column: str) -> None:
    for thread_id in (THREAD, OTHER):
        for row in bench.entries(thread_id):
            value = row[column]
            if column in ("hash", "stored"):
                others = [other for other in other_texts(value) if isinstance(other, str)]
            else:
                others = [None, 0, 1, 2, 999, -1]
            for other in (other for other in others if other != value):
                try:
                    bench.tamper(
                        (f"UPDATE entries SET {column} = ? WHERE no = ? AND seq = ?", (other, row["no"], row["seq"]))
                    )
                except sqlite3.IntegrityError:  # two entries of one turn index
                    assert column == "turn_index"
                    continue
                if column == "text_id" and not (bench.is_readable(value) or bench.is_readable(other)):
                    assert bench.show() == bench.shown  # there was nothing to be shown, and is nothing
                else:
                    assert bench.blamed(thread_id) == row["seq"], (column, row["seq"], other)
                bench.restore()


def test_bytes_that_are_no_utf8_are_blamed_on_their_entry_and_not_on_the_disk(bench: Bench) -> None:
    for thread_id in (THREAD, OTHER):
        for row in bench.entries(thread_id):
            key = (row["no"], row["seq"])
            bench.tamper((f"UPDATE entries SET stored = {damaged_utf8(row['stored'])} WHERE no = ? AND seq = ?", key))
            assert bench.blamed(thread_id) == row["seq"]
            bench.restore()
    for text in (text for text in bench.words() if isinstance(text["words"], str)):
        thread_id, seq = bench.owner(text["id"])
        bench.tamper((f"UPDATE texts SET words = {damaged_utf8(text['words'])} WHERE id = ?", (text["id"],)))
        assert bench.blamed(thread_id) == seq
        bench.restore()


@pytest.mark.parametrize("column", ["words", "salt"])
def test_a_changed_text_or_salt_is_blamed_on_the_entry_beside_it(bench: Bench, column: str) -> None:
    for text in bench.words():
        thread_id, seq = bench.owner(text["id"])
        redacted = isinstance(text["words"], bytes)
        others = ["What if billing were a log?", "0" * 64] if redacted else [*other_texts(text[column]), 7, 1.5]
        for other in (other for other in others if other != text[column]):
            bench.tamper((f"UPDATE texts SET {column} = ? WHERE id = ?", (other, text["id"])))
            assert bench.blamed(thread_id) == seq, (seq, other)
            bench.restore()


def test_lines_of_a_text_cannot_be_moved_into_its_salt(bench: Bench) -> None:
    thread_id = "2026-01-08-lines"
    bench.hall.init_debate(thread_id, "First line\nsecond line")
    (text_id, salt, words) = bench.db.execute("SELECT * FROM texts ORDER BY id DESC LIMIT 1").fetchone()
    assert words == "First line\nsecond line"
    moved = (f"{salt}\nFirst line", "second line", text_id)
    bench.tamper(("UPDATE texts SET salt = ?, words = ? WHERE id = ?", moved))
    assert bench.blamed(thread_id) == 0


def test_a_text_that_is_moved_dropped_or_added_is_blamed_on_its_entry(bench: Bench) -> None:
    for text in bench.words():
        thread_id, seq = bench.owner(text["id"])
        redacted = isinstance(text["words"], bytes)
        for statement in ("UPDATE texts SET id = id + 1000 WHERE id = ?", "DELETE FROM texts WHERE id = ?"):
            bench.tamper((statement, (text["id"],)))
            if redacted:  # the zeros of a redacted text say nothing, and nothing is shown of them
                assert bench.show() == bench.shown
            else:
                assert bench.blamed(thread_id) == seq
            bench.restore()


def test_a_redacted_text_written_again_is_found_even_with_its_true_words(bench: Bench, tmp_path: Path) -> None:
    with hall_in(tmp_path / "before") as hall:
        hall.open_run(THREAD, "Should we move billing to Kafka?", PLAN, "mediated", 6, 2)
        hall.pick_next_speaker(THREAD, "Wind")
        hall.add_turn(THREAD, "Wind", "What if billing were a log?")
    (row,) = [row for row in bench.entries(THREAD) if row["turn_index"] == 0]
    text_id, salt, words = dump(tmp_path / "before")["texts"][-1]
    assert text_id == row["text_id"]
    bench.tamper(("UPDATE texts SET salt = ?, words = ? WHERE id = ?", (salt, words, text_id)))
    assert bench.blamed(THREAD) == row["seq"]
    bench.restore()
    bench.tamper(
        ("UPDATE texts SET salt = ?, words = ? WHERE id = ?", (salt, words, text_id)),
        ("UPDATE entries SET erased_by = NULL WHERE no = ? AND seq = ?", (row["no"], row["seq"])),
    )
    assert bench.blamed(THREAD) == row["seq"]


@pytest.mark.parametrize("column", ["turn_index", "hash", "stored", "text_id", "erased_by", "all"])
def test_values_swapped_between_two_entries_are_blamed_on_the_first_of_them(bench: Bench, column: str) -> None:
    columns = ["turn_index", "hash", "stored", "text_id", "erased_by"] if column == "all" else [column]
    update = f"UPDATE entries SET {', '.join(f'{name} = ?' for name in columns)} WHERE no = ? AND seq = ?"
    rows = bench.entries(THREAD)
    for one in rows:
        for two in rows[one["seq"] + 1 :: 3]:
            ones, twos = ([row[name] for name in columns] for row in (one, two))
            if ones == twos:
                continue
            bench.tamper(
                ("UPDATE entries SET turn_index = turn_index + 100 WHERE no = ?", (one["no"],)),
                (update, (*twos, one["no"], one["seq"])),
                (update, (*ones, two["no"], two["seq"])),
                ("UPDATE entries SET turn_index = turn_index - 100 WHERE turn_index >= 100", ()),
            )
            if column == "text_id" and not any(bench.is_readable(value) for value in ones + twos):
                assert bench.show() == bench.shown
            else:
                assert bench.blamed(THREAD) == one["seq"], (one["seq"], two["seq"])
            bench.restore()


def test_a_dropped_repeated_or_moved_entry_is_named(bench: Bench) -> None:
    for thread_id in (THREAD, OTHER):
        rows = bench.entries(thread_id)
        no, last = rows[0]["no"], len(rows) - 1
        for row in rows:
            key = (no, row["seq"])
            bench.tamper(("DELETE FROM entries WHERE no = ? AND seq = ?", key))
            assert bench.blamed(thread_id) == row["seq"]
            bench.restore()
            bench.tamper(("UPDATE entries SET no = 999 WHERE no = ? AND seq = ?", key))
            assert bench.blamed(thread_id) == row["seq"]
            bench.restore()
            bench.tamper(("UPDATE entries SET seq = 999 WHERE no = ? AND seq = ?", key))
            assert bench.blamed(thread_id) == row["seq"]
            bench.restore()
            copy = "INSERT INTO entries SELECT no, ?, NULL, hash, stored, text_id, erased_by FROM entries"
            bench.tamper((f"{copy} WHERE no = ? AND seq = ?", (last + 1, *key)))
            assert bench.blamed(thread_id) == last + 1
            bench.restore()


def test_a_ledger_without_entries_is_blamed_on_its_opening(bench: Bench) -> None:
    bench.tamper(("DELETE FROM entries", ()))
    assert bench.blamed(THREAD) == 0
    with pytest.raises(LedgerBroken, match="opening is missing"):
        bench.hall.get_debate(THREAD)


def test_a_changed_head_is_blamed_on_the_entry_it_promises(bench: Bench) -> None:
    for thread_id in (THREAD, OTHER):
        rows = bench.entries(thread_id)
        for head in (*other_texts(rows[-1]["hash"])[:5], rows[-2]["hash"]):
            bench.tamper(("UPDATE threads SET head = ? WHERE thread_id = ?", (head, thread_id)))
            assert bench.blamed(thread_id) == len(rows)
            bench.restore()


def other_states(state: str) -> Iterator[str]:
    yield from ("", "{}", "null", "[]", "7", '"text"', "[" * 10_000, state + " ")
    members = json.loads(state)
    for name, value in members.items():
        for other in (None, "other", 7, -1, 1.5, True, False, [], [1, 2, 3], [1, 2, "x"], [1, 2, 3, 4], {}):
            if other != value:
                yield json.dumps(members | {name: other}, sort_keys=True, separators=(",", ":"))
        yield json.dumps({key: members[key] for key in members if key != name}, sort_keys=True, separators=(",", ":"))
    yield json.dumps(members | {"more": 1}, sort_keys=True, separators=(",", ":"))


@pytest.mark.slow
def test_a_changed_state_is_found_and_no_reader_falls_over_it(bench: Bench) -> None:
    for thread_id in (THREAD, OTHER):
        (row,) = [row for row in bench.rows("threads") if row["thread_id"] == thread_id]
        for state in other_states(row["state"]):
            bench.db.execute("UPDATE threads SET state = ? WHERE thread_id = ?", (state, thread_id))
            assert bench.blamed(thread_id) == len(bench.entries(thread_id)) - 1
            for read in (
                bench.hall.get_debate,
                lambda thread_id: bench.hall.list_debates(),
                lambda thread_id: bench.hall.add_turn(thread_id, "Wind", "words"),
            ):
                with suppress(DebateError):
                    read(thread_id)
            bench.restore()


def test_another_number_or_name_of_a_thread_is_found(bench: Bench) -> None:
    bench.tamper(("UPDATE threads SET no = 999 WHERE thread_id = ?", (THREAD,)))
    assert bench.blamed(THREAD) == 0
    bench.restore()
    for name in (THREAD.upper(), "2026-01-06-kafka", "a/b", ""):
        bench.tamper(("UPDATE threads SET thread_id = ? WHERE thread_id = ?", (name, THREAD)))
        assert bench.blamed(name) == 0
        bench.restore()


def test_a_changed_dropped_moved_or_added_plan_is_found(bench: Bench) -> None:
    no, other = (row["no"] for row in bench.rows("threads"))
    for plan in (PLAN + " ", "", PLAN.replace("ü", "u"), PLAN.replace("\r\n", "\n")):
        bench.tamper(("UPDATE plans SET plan = ? WHERE no = ?", (plan, no)))
        assert bench.blamed(THREAD) == 0
        bench.restore()
    bench.tamper((f"UPDATE plans SET plan = {damaged_utf8(PLAN)}", ()))
    assert bench.blamed(THREAD) == 0
    bench.restore()
    bench.tamper(("DELETE FROM plans", ()))
    assert bench.blamed(THREAD) == 0
    bench.restore()
    bench.tamper(("UPDATE plans SET no = ?", (other,)))
    assert (bench.blamed(THREAD), bench.blamed(OTHER)) == (0, 0)


def test_what_no_reader_is_shown_may_change(bench: Bench) -> None:
    """The zeros of redacted texts, texts that belong to no entry, the marks of what is still to be erased, and what
    runs tell and are asked beside the debates."""
    bench.tamper(
        ("UPDATE texts SET words = x'00', salt = x'01' WHERE typeof(words) = 'blob'", ()),
        ("INSERT INTO texts VALUES (999, 'salt', 'nobody says this')", ()),
        ("INSERT INTO pending_erasure VALUES (1, 1)", ()),
    )
    assert bench.is_tampered()
    assert bench.show() == bench.shown
    bench.restore()
    for table, columns in BESIDE.items():
        assert bench.rows(table)
        for column in columns.split()[1:]:
            is_text = any(isinstance(row[column], str) for row in bench.rows(table))
            change = "'another'" if is_text else f"coalesce({column}, 0) + 900"
            bench.tamper((f"UPDATE {table} SET {column} = {change}", ()))
            assert bench.is_tampered()
            assert bench.show() == bench.shown
            bench.restore()
        bench.tamper((f"DELETE FROM {table}", ()))
        assert bench.is_tampered()
        assert bench.show() == bench.shown
        bench.restore()


@pytest.mark.parametrize("column", ["number", "hash", "stored", "text_id"])
def test_a_changed_column_of_any_record_of_a_journal_is_found(bench: Bench, column: str) -> None:
    for row in bench.journal(OTHER):
        texts = [other for other in other_texts(str(row[column])) if isinstance(other, str)]
        others = {"number": [0, 1, 7, 900, -1], "text_id": [None, 1]}.get(column, texts)
        for other in (other for other in others if other != row[column]):
            key = (other, row["no"], row["number"])
            try:
                bench.tamper((f"UPDATE journal SET {column} = ? WHERE no = ? AND number = ?", key))
            except sqlite3.IntegrityError:  # two records of one number
                assert column == "number"
                continue
            assert bench.blamed(OTHER) is None, (row["number"], other)
            bench.restore()


@pytest.mark.parametrize("column", ["salt", "words"])
def test_a_changed_text_or_salt_of_a_journal_is_found(bench: Bench, column: str) -> None:
    beside = {row["text_id"] for row in bench.journal(OTHER)}
    for text in (row for row in bench.rows("texts") if row["id"] in beside):
        for other in (*other_texts(text[column]), 7, 1.5):
            bench.tamper((f"UPDATE texts SET {column} = ? WHERE id = ?", (other, text["id"])))
            assert bench.blamed(OTHER) is None
            bench.restore()
        bench.tamper(("DELETE FROM texts WHERE id = ?", (text["id"],)))
        assert bench.blamed(OTHER) is None
        bench.restore()


def test_a_dropped_or_moved_record_of_a_journal_is_found_where_others_come_behind_it(bench: Bench) -> None:
    rows = bench.journal(OTHER)
    for row in rows:
        key = (row["no"], row["number"])
        for statement in ("DELETE FROM journal", "UPDATE journal SET no = 900", "UPDATE journal SET number = 900"):
            bench.tamper((f"{statement} WHERE no = ? AND number = ?", key))
            if row is rows[-1] and statement != "UPDATE journal SET number = 900":
                assert bench.hall.verify_debate(OTHER)["verified"]
            else:
                assert bench.blamed(OTHER) is None
            bench.restore()
    bench.tamper(
        ("DELETE FROM journal WHERE no = ?", (rows[0]["no"],)),
        ("UPDATE journal SET no = ?", (rows[0]["no"],)),
    )
    assert bench.blamed(OTHER) is None  # the records of another thread


@pytest.mark.slow
@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_changed_bytes_of_any_stored_text_are_found_at_the_right_place(bench: Bench, data: st.DataObject) -> None:
    table, column = data.draw(st.sampled_from([("entries", "stored"), ("entries", "hash"), ("texts", "words")]))
    rows = bench.words() if table == "texts" else bench.rows(table)
    row = data.draw(st.sampled_from([row for row in rows if isinstance(row[column], str)]))
    value = row[column].encode()
    first = data.draw(st.integers(0, len(value)))
    end = data.draw(st.integers(first, min(first + 4, len(value))))
    other = value[:first] + data.draw(st.binary(max_size=4)) + value[end:]
    if other == value:
        return
    if table == "texts":
        (thread_id, seq), where, key = bench.owner(row["id"]), "id = ?", (row["id"],)
    else:
        thread_id = json.loads(row["stored"])["thread_id"]
        seq, where, key = row["seq"], "no = ? AND seq = ?", (row["no"], row["seq"])
    bench.tamper((f"UPDATE {table} SET {column} = CAST(x'{other.hex()}' AS TEXT) WHERE {where}", key))
    try:
        assert bench.blamed(thread_id) == seq
    finally:
        bench.restore()


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_changed_byte_of_the_file_is_found_or_shows_nothing_else(shared: Bench, data: st.DataObject) -> None:
    """The file itself: pages, indexes and headers included."""
    folder = shared.folder.parent / "flipped"
    if not folder.exists():
        folder.mkdir(mode=0o700)
        with closing(database(shared.folder)) as db:
            db.execute("VACUUM INTO ?", (str(folder / "pristine"),))
        (folder / FILE).write_bytes((folder / "pristine").read_bytes())
        with hall_in(folder):  # switches it to WAL
            pass
        (folder / "pristine").write_bytes((folder / FILE).read_bytes())
    content = bytearray((folder / "pristine").read_bytes())
    used = [place for place, byte in enumerate(content) if byte]
    for place in data.draw(st.lists(st.sampled_from(used), min_size=1, max_size=3)):
        content[place] ^= data.draw(st.integers(1, 255))
    for name in (f"{FILE}-wal", f"{FILE}-shm"):
        (folder / name).unlink(missing_ok=True)
    (folder / FILE).write_bytes(content)
    for thread_id in (THREAD, OTHER):
        try:
            with hall_in(folder) as hall:
                shown = json.loads(hall.export_debate(thread_id))
        except DebateError:
            continue
        assert shown == shared.shown[thread_id]


class Forger:
    """Somebody who owns the store and the rules of hashing: rewrites a ledger so that its chain holds."""

    def __init__(self, bench: Bench, thread_id: str) -> None:
        self.bench, self.thread_id = bench, thread_id
        self.rows = bench.entries(thread_id)

    def write(self, entries: list[dict[str, Any]]) -> None:
        """Seals changed entries again, each behind the one before, and sets head and rows to fit."""
        no, prev = self.rows[0]["no"], None
        statements: list[tuple[str, tuple[Any, ...]]] = [("DELETE FROM entries WHERE no = ?", (no,))]
        for seq, (row, members) in enumerate(zip(self.rows, entries, strict=False)):
            linked = members | {"seq": seq} | ({"prev": prev} if prev else {})
            stored = json.dumps(linked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            prev = ledger.hash_of(stored)
            turn_index = members["turn_index"] if members["kind"] == "turn" else None
            values = (no, seq, turn_index, prev, stored, row["text_id"], row["erased_by"])
            statements.append(("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", values))
        statements.append(("UPDATE threads SET head = ? WHERE no = ?", (prev, no)))
        self.bench.tamper(*statements)

    def members(self) -> list[dict[str, Any]]:
        return [json.loads(row["stored"]) for row in self.rows]


@pytest.mark.parametrize(
    ("seq", "changes", "blamed"),
    [
        (0, {"barrier": False}, 14),  # only the state beside the head can tell
        (0, {"max_turns": 2}, 6),
        (0, {"max_turns": 0}, 0),
        (0, {"max_turns": 100_001}, 0),
        (0, {"mode": "fixed"}, 1),
        (0, {"plan": "sha256:0"}, 0),
        (0, {"marks": []}, 14),
        (0, {"marks": ["REHEARSAL", "DRAFT"]}, 14),
        (0, {"marks": ["rehearsal"]}, 0),
        (0, {"marks": ["RE\nHEARSAL"]}, 0),
        (1, {"role": "Wall"}, 2),
        (1, {"role": "Door"}, 1),
        (2, {"turn_index": 7}, 2),
        (2, {"round": 2}, 2),
        (2, {"role": "Wall"}, 2),
        (2, {"agent_role": "two\nlines"}, 2),
        (2, {"token_input": -5}, 2),
        (2, {"digest": "sha256:0"}, 12),
        (5, {"digest": "sha256:0"}, 14),
        (5, {"seat": {"slot": "a", "agent": "b", "asked": "c", "answered": "d", "cost": "free"}}, 5),
        (7, {"digest": "sha256:0"}, 7),
        (8, {"on": 3}, 8),
        (8, {"rests_on": ["a\nb"]}, 8),
        (9, {"number": 2}, 9),
        (9, {"answers": [99]}, 9),
        (11, {"max_turns": 5}, 11),
        (12, {"target": 99}, 12),
        (12, {"target": 1}, 2),  # no tombstone speaks of entry 2 any more
        (12, {"target": 5}, 2),
        (12, {"turn_index": 1}, 12),
        (12, {"original": "sha256:0"}, 12),
        (13, {"status": "active"}, 13),
        (13, {"status": "force_closed"}, 13),
        (13, {"thread_id": OTHER}, 13),
        (13, {"v": 2}, 13),
        (14, {"kind": "force_closed"}, 14),
        (14, {"target": 2, "turn_index": 0}, 5),
    ],
)
def test_a_forged_chain_that_breaks_a_rule_is_blamed_on_the_entry_that_breaks_it(
    bench: Bench, seq: int, changes: dict[str, Any], blamed: int
) -> None:
    forger = Forger(bench, THREAD)
    members = forger.members()
    members[seq] |= changes
    forger.write(members)
    assert bench.blamed(THREAD) == blamed


def test_an_entry_that_is_changed_and_sealed_again_is_betrayed_by_the_next(bench: Bench) -> None:
    for row in bench.entries(THREAD):
        stored = row["stored"].replace("2026-01-06T09", "2026-01-06T08")
        sealed = (stored, ledger.hash_of(stored), row["no"], row["seq"])
        bench.tamper(("UPDATE entries SET stored = ?, hash = ? WHERE no = ? AND seq = ?", sealed))
        assert bench.blamed(THREAD) == row["seq"] + 1
        bench.restore()


def test_an_entry_that_names_another_before_it_is_blamed_though_its_hash_is_right(bench: Bench) -> None:
    rows = bench.entries(THREAD)
    for row in rows[1:]:
        for prev in (rows[0]["hash"] if row["seq"] > 1 else None, row["hash"], "sha256:0", None):
            members = {name: member for name, member in json.loads(row["stored"]).items() if name != "prev"}
            stored = canonical.encode(members | ({"prev": prev} if prev else {}))
            sealed = (stored, ledger.hash_of(stored), row["no"], row["seq"])
            bench.tamper(("UPDATE entries SET stored = ?, hash = ? WHERE no = ? AND seq = ?", sealed))
            assert bench.blamed(THREAD) == row["seq"]
            bench.restore()


def test_a_second_tombstone_for_one_text_is_blamed(bench: Bench) -> None:
    forger = Forger(bench, THREAD)
    members = forger.members()
    again = len(members)
    forger.rows.append(forger.rows[12])
    forger.write([*members, members[12] | {"at": members[-1]["at"]}])
    bench.tamper(("UPDATE threads SET state = replace(state, '\"seq\":14', '\"seq\":15')", ()))
    assert bench.blamed(THREAD) == again


def test_a_ledger_that_was_cut_off_shows_against_a_head_kept_elsewhere(bench: Bench) -> None:
    kept = bench.hall.verify_debate(OTHER)
    with hall_in(bench.folder.parent / "short") as short:
        short.init_debate(OTHER, "Which queue?")
        short.add_turn(OTHER, "Wind", "None at all.")
        assert short.verify_debate(OTHER)["verified"]
        with pytest.raises(LedgerBroken, match="rewritten or cut off") as broken:
            short.verify_debate(OTHER, kept["head"])
    assert broken.value.seq is None


def test_a_ledger_that_was_rewritten_whole_shows_against_a_head_kept_elsewhere(bench: Bench) -> None:
    kept = bench.hall.verify_debate(OTHER)["head"]
    forger = Forger(bench, OTHER)
    members = forger.members()
    members[1] |= {"at": "2020-01-01T00:00:00.000000Z"}
    forger.write(members)
    assert bench.hall.verify_debate(OTHER)["verified"]
    with pytest.raises(LedgerBroken, match="rewritten or cut off"):
        bench.hall.verify_debate(OTHER, kept)


def test_every_head_that_ever_was_stands_in_the_chain_with_the_number_of_newer_entries(bench: Bench) -> None:
    rows = bench.entries(THREAD)
    for newer, row in enumerate(reversed(rows)):
        assert bench.hall.verify_debate(THREAD, row["hash"]) == {
            "thread_id": THREAD,
            "verified": True,
            "entries": len(rows),
            "head": rows[-1]["hash"],
            "newer": newer,
        }
    assert bench.hall.verify_debate(THREAD)["newer"] is None


@pytest.mark.parametrize("head", ["", "sha256:", "no head"])
def test_a_head_that_is_none_never_passes(bench: Bench, head: str) -> None:
    with pytest.raises(LedgerBroken, match="does not stand in the chain"):
        bench.hall.verify_debate(THREAD, head)


def test_nothing_is_built_on_or_exported_from_a_ledger_that_does_not_verify(bench: Bench) -> None:
    bench.tamper(("UPDATE texts SET words = 'another topic' WHERE id = ?", (bench.entries(THREAD)[0]["text_id"],)))
    hall: Hall = bench.hall
    for operation in (
        lambda: hall.export_debate(THREAD),
        lambda: hall.export_debate(THREAD, "octave"),
        lambda: hall.debate(THREAD),
        lambda: hall.tombstone_turn(THREAD, 2, "reason"),
    ):
        with pytest.raises(LedgerBroken):
            operation()
