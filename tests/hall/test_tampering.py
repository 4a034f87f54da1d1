"""Tampering without a gap: whatever bit or row is changed, verify finds it, or readers are shown what they were shown.

Every bit of every stored text and number is flipped, every row dropped, swapped, copied and put in between, every byte
of the file and of an export changed. What a reader is shown is a function of what the store answers: where that is the
same, nothing else can be shown.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from itertools import combinations, permutations
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from halls import OTHER, SEAT, THREAD, HastyStore, database, dump, every_kind, hall_in

from orchestrator import signing
from orchestrator.cli import checking
from orchestrator.errors import DebateError
from orchestrator.hall import entries, ledger
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall

pytestmark = pytest.mark.slow

THREADS = (THREAD, OTHER)
KEYS = {"threads": "no", "texts": "id", "entries": "no seq", "plans": "no"}
TEXTS = [
    *(("threads", column) for column in ("thread_id", "head", "state")),
    *(("texts", column) for column in ("salt", "words")),
    *(("entries", column) for column in ("hash", "stored")),
    ("plans", "plan"),
]
NUMBERS = [
    ("threads", "no"),
    ("texts", "id"),
    *(("entries", column) for column in ("no", "seq", "turn_index", "text_id", "erased_by")),
    ("plans", "no"),
]


@pytest.fixture(autouse=True, scope="module")
def _equal_things_are_worked_out_once() -> Iterator[None]:
    """Most of a ledger is as it was, most of the time, and what follows from equal values is equal."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((entries, "parse"), (ledger, "read"), (ledger, "advance"), (checking, "rendered")):
            patch.setattr(module, name, lru_cache(maxsize=1024)(getattr(module, name)))
        yield


def whole(hall: Hall) -> list[Any]:
    """All that the store answers of whole threads, from which every run and export is made."""
    return [hall._store.thread(thread_id) for thread_id in THREADS]


def parts(hall: Hall) -> list[Any]:
    """All that the store answers to those who look in."""
    listed = [found[:5] for found in hall._store.listed()]  # without the run: it proves nothing
    return [listed, *(hall._store.window(thread_id, turns) for thread_id in THREADS for turns in (0, 1, 2, 100_000))]


def looked_at(hall: Hall) -> list[Any] | None:
    """What whoever looks in is shown; None where the hall refuses to show it."""
    try:
        return [hall.get_debate(thread_id, context_turns=turns) for thread_id in THREADS for turns in (1, 2, "all")]
    except DebateError:
        return None


def is_found(hall: Hall) -> bool:
    """Whether the first half of verify, which is what every run and export does before it reads, finds something."""
    try:
        for thread_id in THREADS:
            hall.debate(thread_id)
        for thread_id in {listed.thread_id for listed in hall._store.listed()} - set(THREADS):
            hall.debate(thread_id)
    except DebateError:
        return True
    return False


class Bench:
    """A hall with every kind of entry, whose tables can be tampered with and put back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hall = hall_in(folder)
        every_kind(self.hall)
        self.answers = whole(self.hall), parts(self.hall)
        self.rows = {table: [list(row) for row in rows] for table, rows in dump(folder).items()}
        self.rows["texts"] = [row for row in self.rows["texts"] if self.is_of_an_entry(row)]
        self.db = database(folder)
        self.db.execute("PRAGMA foreign_keys = OFF")
        self.columns = {table: [row[1] for row in self.db.execute(f"PRAGMA table_info({table})")] for table in KEYS}

    def close(self) -> None:
        self.db.close()
        self.hall.close()

    def is_of_an_entry(self, text: Sequence[Any]) -> bool:
        """Other texts are those of journals and reports, which stand beside the debates."""
        return any(text[0] == entry[5] for entry in self.rows["entries"])

    def key(self, table: str) -> list[int]:
        """The places of a table's key in its rows."""
        return [self.columns[table].index(name) for name in KEYS[table].split()]

    def write(self, table: str, rows: Sequence[Sequence[Any]]) -> bool:
        """Puts these rows in place of a table's. Where SQLite refuses them, as they cannot be, nothing changes."""
        marks = ", ".join("?" * len(self.columns[table]))
        self.db.execute("BEGIN")
        try:
            self.db.execute(f"DELETE FROM {table}")
            self.db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        except sqlite3.IntegrityError:
            self.db.execute("ROLLBACK")
            return False
        self.db.execute("COMMIT")
        return True

    def judge(self, what: object) -> bool:
        """Whether a change was found; where it was not, no reader sees it."""
        if is_found(self.hall):
            return True
        assert (whole(self.hall), parts(self.hall)) == self.answers, what
        return False


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    bench = Bench(tmp_path_factory.mktemp("bench") / "state")
    yield bench
    bench.close()


@pytest.fixture
def bench(shared: Bench) -> Iterator[Bench]:
    yield shared
    for table in KEYS:
        assert shared.write(table, shared.rows[table])
    assert not shared.judge("restored")


def flips(content: bytes) -> Iterator[bytes]:
    """The content with each of its bits flipped in turn."""
    for place in range(len(content)):
        for bit in range(8):
            yield content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


def test_no_column_of_a_debate_is_left_out(bench: Bench) -> None:
    assert sorted(TEXTS + NUMBERS) == sorted((table, name) for table in KEYS for name in bench.columns[table])


@pytest.mark.parametrize(("table", "column"), TEXTS)
def test_every_flipped_bit_of_a_text_is_found_but_for_the_zeros_of_redacted_ones(
    bench: Bench, table: str, column: str
) -> None:
    place, where = bench.columns[table].index(column), " AND ".join(f"{name} = ?" for name in KEYS[table].split())
    for row in bench.rows[table]:
        key, value = [row[at] for at in bench.key(table)], row[place]
        mark = "?" if isinstance(value, bytes) else "CAST(? AS TEXT)"
        for other in flips(value if isinstance(value, bytes) else value.encode()):
            bench.db.execute(f"UPDATE {table} SET {column} = {mark} WHERE {where}", (other, *key))
            assert bench.judge((key, other)) != isinstance(value, bytes), (key, other)
        bench.db.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value, *key))


@pytest.mark.parametrize(("table", "column"), NUMBERS)
def test_every_flipped_bit_of_a_number_is_found_or_shows_nothing_else(bench: Bench, table: str, column: str) -> None:
    place, found = bench.columns[table].index(column), 0
    for at, row in enumerate(bench.rows[table]):
        others = [None, 0] if row[place] is None else [None, *(signed(row[place] ^ 1 << bit) for bit in range(64))]
        for other in others:
            changed = [*row[:place], other, *row[place + 1 :]]
            if bench.write(table, [*bench.rows[table][:at], changed, *bench.rows[table][at + 1 :]]):
                found += bench.judge((row, other))
    assert found > 60


def signed(number: int) -> int:
    """A number of 64 bits as SQLite reads it."""
    return (number & (1 << 64) - 1) - ((number & 1 << 63) << 1)


@pytest.mark.parametrize("table", KEYS)
def test_every_dropped_row_is_found_or_showed_nothing(bench: Bench, table: str) -> None:
    for at, row in enumerate(bench.rows[table]):
        assert bench.write(table, bench.rows[table][:at] + bench.rows[table][at + 1 :])
        assert bench.judge(row) != (table == "texts" and isinstance(row[1], bytes)), row


@pytest.mark.parametrize("table", ["threads", "texts", "entries"])
def test_every_two_rows_that_are_swapped_whole_or_in_one_column_are_found(bench: Bench, table: str) -> None:
    rest = [place for place in range(len(bench.columns[table])) if place not in bench.key(table)]
    for one, two in combinations(range(len(bench.rows[table])), 2):
        for places in ([place] for place in rest), [rest]:
            for swapped in places:
                rows = [list(row) for row in bench.rows[table]]
                for place in swapped:
                    rows[one][place], rows[two][place] = rows[two][place], rows[one][place]
                if rows != bench.rows[table] and bench.write(table, rows):
                    bench.judge((one, two, swapped))


@pytest.mark.parametrize("table", ["threads", "texts", "entries"])
def test_every_row_that_is_put_in_the_place_of_another_is_found(bench: Bench, table: str) -> None:
    for one, two in permutations(range(len(bench.rows[table])), 2):
        rows = [list(row) for row in bench.rows[table]]
        for place in range(len(bench.columns[table])):
            if place not in bench.key(table):
                rows[one][place] = rows[two][place]
        if rows != bench.rows[table] and bench.write(table, rows):
            bench.judge((one, two))


def test_every_entry_that_is_put_in_between_or_behind_is_found(bench: Bench) -> None:
    no, seq, turn_index = (bench.columns["entries"].index(name) for name in ("no", "seq", "turn_index"))
    for row in bench.rows["entries"]:
        for thread in (1, 2):
            for at in range(sum(other[no] == thread for other in bench.rows["entries"]) + 1):
                rows = [list(other) for other in bench.rows["entries"]]
                for other in rows:
                    other[seq] += other[no] == thread and other[seq] >= at
                added = list(row)
                added[no], added[seq], added[turn_index] = thread, at, None
                assert bench.write("entries", [*rows, added])
                assert bench.judge((row, thread, at))


def test_rows_that_belong_to_no_debate_show_nothing(bench: Bench) -> None:
    for table, rows in bench.rows.items():
        if table in KEYS:
            for row in rows:
                added = list(row)
                added[0] += 900
                if bench.write(table, [*rows, added]):
                    assert not bench.judge(row)


# ---------------------------------------------------------------------------------------------------- the file's bytes


class Pages(HastyStore):
    """The store over pages of a file, in memory."""

    def __init__(self, folder: Path, pages: bytes) -> None:
        self.pages = pages
        super().__init__(folder)

    def _connect(self) -> sqlite3.Connection:
        db = super()._connect()
        db.deserialize(self.pages)
        return db


def pages_of(folder: Path, copy: Path) -> bytes:
    """A database with nothing in it but its debates, on pages so small that few bytes are unused."""
    with closing(database(folder)) as db:
        db.execute("PRAGMA page_size = 512")
        db.execute("VACUUM INTO ?", (str(copy),))
    with closing(sqlite3.connect(copy, isolation_level=None)) as db:
        for table in ("journal", "reports", "runs"):
            db.execute(f"DELETE FROM {table}")
        db.execute("DELETE FROM texts WHERE id NOT IN (SELECT text_id FROM entries WHERE text_id IS NOT NULL)")
        db.execute("VACUUM")
    return copy.read_bytes()


def test_every_flipped_byte_of_the_file_is_found_or_shows_nothing_else(bench: Bench, tmp_path: Path) -> None:
    pages = pages_of(bench.folder, tmp_path / "small")
    store = Pages(prepare(tmp_path / "state"), pages)
    hall, found = Hall(store), 0
    shown = looked_at(hall)
    for place in range(len(pages)):
        store.close()
        store.pages = pages[:place] + bytes([pages[place] ^ 1 << place % 8]) + pages[place + 1 :]
        with suppress(DebateError):
            if whole(hall) == bench.answers[0]:
                assert looked_at(hall) in (shown, None), place
                continue
        assert is_found(hall), place
        found += 1
    assert found > len(pages) // 3
    store.close()


# ---------------------------------------------------------------------------------------------------- an exported file


class InMemory:
    """A file whose bytes are changed faster than a disk takes them."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def read_bytes(self) -> bytes:
        return self.content

    def is_verified(self) -> bool:
        try:
            (check,) = checking.of_file(cast(Path, self), checking.Kept(), None)
        except DebateError:
            return False
        return bool(check["verified"])


@pytest.fixture
def exported(tmp_path: Path) -> bytes:
    """A small debate with its record and a signature, as `export --sign` writes it."""
    with hall_in(tmp_path / "state") as hall:
        hall.init_debate(OTHER, "Which queue — if any?", max_turns=3, max_rounds=1, barrier=False)
        hall.add_turn(OTHER, "Wind", "None at all.", agent_role="ideator")
        hall.add_turn(OTHER, "Wall", "VERDICT: CONDITIONAL\n- [C1] CONSTRAINT: one owner.", seat=SEAT)
        hall.tombstone_turn(OTHER, 0, "It named a customer.")
        hall.close_debate(OTHER, "An outbox.")
        text = checking.rendered(hall.debate(OTHER), "json")
    return signing.signed(text, Ed25519PrivateKey.from_private_bytes(bytes(32))).encode()


def test_every_flipped_bit_of_an_export_is_found_or_says_the_same_to_every_reader(exported: bytes) -> None:
    members, found = repr(json.loads(exported)), 0
    assert InMemory(exported).is_verified()
    for other in flips(exported):
        if InMemory(other).is_verified():
            assert repr(json.loads(other)) == members, other
        else:
            found += 1
    assert found > 7 * len(exported)
