"""The records of a journal: they come back as they were, and whatever is changed about them is found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, count
from pathlib import Path
from typing import Any

import pytest
from halls import THREAD, HastyStore, database, every_record, hall_in, salt_number
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import LedgerBroken
from orchestrator.hall import canonical, journal
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Begun, Intent, JournalLine, Outcome, Reused, StoredRecord

LINES = every_record()
ROWS = [journal.seal(THREAD, line) for line in LINES]
FIELDS = ("hash", "stored", "text", "salt")


def read(rows: Sequence[StoredRecord], redacted: bool = False) -> tuple[JournalLine, ...]:
    return journal.read(THREAD, rows, redacted=redacted)


def is_found(rows: Sequence[StoredRecord], redacted: bool = False) -> bool:
    try:
        read(rows, redacted)
    except LedgerBroken as broken:
        return " of its journal " in broken.reason
    return False


@st.composite
def journals(draw: st.DrawFn) -> list[JournalLine]:
    lines = []
    for number in range(draw(st.integers(0, 6))):
        record = draw(st.one_of(st.builds(Begun), st.builds(Intent), st.builds(Outcome), st.builds(Reused)))
        text = None
        if isinstance(record, Intent) or (isinstance(record, Outcome) and record.digest is not None):
            text = SaltedText(draw(st.text()), salt_number(number))
            record = replace(record, **{"request" if isinstance(record, Intent) else "digest": text.digest})
        lines.append(JournalLine(number, record, text and text.text, text and text.salt))
    return lines


@given(journals())
def test_what_is_sealed_is_read_as_it_was(lines: list[JournalLine]) -> None:
    rows = [journal.seal(THREAD, line) for line in lines]
    assert list(read(rows)) == list(read(rows, redacted=True)) == lines


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    with hall_in(tmp_path_factory.mktemp("journals") / "state") as hall:
        yield hall


NAMES = count()


@given(lines=journals())
def test_what_a_run_keeps_comes_back_as_it_was(shared: Hall, lines: list[JournalLine]) -> None:
    name = f"Thread-{next(NAMES)}"
    shared.init_debate(name, "Which?")
    shared.runs.keep(shared.runs.begin(name.lower()), lines)
    assert list(shared.journal(name)) == lines
    assert shared.verify_debate(name)["verified"]


# ------------------------------------------------------------------------------------------------ what is changed


def flipped(row: StoredRecord, field: str, place: int, bit: int) -> StoredRecord:
    """A row one bit of which is another, as a store reads it."""
    content = getattr(row, field).encode()
    other = content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]
    return row._replace(**{field: other.decode(errors="replace")})


def every_flip() -> Iterator[tuple[int, StoredRecord]]:
    for at, row in enumerate(ROWS):
        for field in (field for field in FIELDS if getattr(row, field) is not None):
            for place in range(len(getattr(row, field).encode())):
                for bit in range(8):
                    yield at, flipped(row, field, place, bit)


@given(st.data())
def test_any_flipped_bit_is_found(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(ROWS) - 1))
    field = data.draw(st.sampled_from([field for field in FIELDS if getattr(ROWS[at], field) is not None]))
    place = data.draw(st.integers(0, len(getattr(ROWS[at], field).encode()) - 1))
    other = flipped(ROWS[at], field, place, data.draw(st.integers(0, 7)))
    for redacted in (False, True):  # a redaction takes texts; it changes none
        assert is_found([*ROWS[:at], other, *ROWS[at + 1 :]], redacted)


@pytest.mark.slow
def test_every_flipped_bit_is_found() -> None:
    for at, other in every_flip():
        assert is_found([*ROWS[:at], other], redacted=True), other


@given(st.data())
def test_any_other_value_of_any_field_is_found(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(ROWS) - 1))
    field = data.draw(st.sampled_from(FIELDS))
    other = data.draw(st.text() | st.sampled_from([getattr(row, field) for row in ROWS]))
    if other not in (getattr(ROWS[at], field), None):
        assert is_found([*ROWS[:at], ROWS[at]._replace(**{field: other}), *ROWS[at + 1 :]])


def renumbered(rows: Sequence[StoredRecord]) -> list[StoredRecord]:
    return [row._replace(number=number) for number, row in enumerate(rows)]


@pytest.mark.parametrize("number", [lambda rows: rows, renumbered], ids=["with its number", "numbered again"])
def test_every_swapped_dropped_or_added_record_is_found(number: Callable[[Any], Any]) -> None:
    for one, two in combinations(range(len(ROWS)), 2):
        rows = list(ROWS)
        rows[one], rows[two] = rows[two], rows[one]
        assert is_found(number(rows)), (one, two)
    for at in range(len(ROWS) - 1):
        assert is_found(number(ROWS[:at] + ROWS[at + 1 :])), at
    for at in range(len(ROWS) + 1):
        for row in ROWS:
            rows = number([*ROWS[:at], row, *ROWS[at:]])
            assert rows == [*ROWS, row] or is_found(rows), (at, row)


def test_that_the_last_records_are_missing_is_not_found() -> None:
    """A run that was killed leaves such a journal, too."""
    for length in range(len(ROWS)):
        assert list(read(ROWS[:length])) == LINES[:length]


def test_two_texts_that_are_swapped_are_found() -> None:
    beside = [at for at, row in enumerate(ROWS) if row.text is not None]
    for one, two in combinations(beside, 2):
        rows = list(ROWS)
        rows[one] = ROWS[one]._replace(text=ROWS[two].text, salt=ROWS[two].salt)
        rows[two] = ROWS[two]._replace(text=ROWS[one].text, salt=ROWS[one].salt)
        assert is_found(rows, redacted=True)


def test_a_text_beside_a_record_that_has_none_is_found() -> None:
    text = SaltedText("Nobody said this.", salt_number(0))
    for at in (at for at, row in enumerate(ROWS) if row.text is None):
        other = ROWS[at]._replace(text=text.text, salt=text.salt)
        assert is_found([*ROWS[:at], other, *ROWS[at + 1 :]], redacted=True)


def test_the_records_of_another_thread_are_found() -> None:
    assert is_found([journal.seal("2026-01-07-other", line) for line in LINES])


def test_the_lines_of_a_text_cannot_be_moved_into_its_salt() -> None:
    said = SaltedText("First line\nsecond line", salt_number(0))
    line = JournalLine(0, Outcome(at="09", intent=0, answered="wall-1", digest=said.digest), said.text, said.salt)
    row = journal.seal(THREAD, line)
    assert is_found([row._replace(text="second line", salt=f"{said.salt}\nFirst line")])


FIRST: dict[str, Any] = json.loads(ROWS[0].stored)


@pytest.mark.parametrize(
    "stored",
    [
        *(canonical.encode(FIRST | {name: other}) for name in FIRST for other in (7, "other", "", True, [], [1], {})),
        *(canonical.encode({key: FIRST[key] for key in FIRST if key != name}) for name in FIRST if name != "folder"),
        canonical.encode(FIRST | {"more": 1}),
        *("", "null", "7", "[]", '"text"', "{}", "[" * 100_000, ROWS[0].stored + " ", ROWS[1].stored),
    ],
)
def test_a_forged_record_whose_hash_is_right_is_read_as_it_stands_or_not_at_all(stored: str) -> None:
    row = ROWS[0]._replace(stored=stored, hash=canonical.digest(journal.DOMAIN, stored.encode()))
    try:
        (line,) = read([row])
    except LedgerBroken:
        return
    assert journal.seal(THREAD, line).stored == stored


# ------------------------------------------------------------------------------------------------ what is redacted


def without_texts(row: StoredRecord) -> StoredRecord:
    return row._replace(text=None, salt=None)


def test_texts_may_be_missing_after_a_redaction_and_only_then() -> None:
    assert [line.record for line in read(list(map(without_texts, ROWS)), redacted=True)] == [
        line.record for line in LINES
    ]
    for at in (at for at, row in enumerate(ROWS) if row.text is not None):
        for other in (without_texts(ROWS[at]), ROWS[at]._replace(text=None), ROWS[at]._replace(salt=None)):
            rows = [*ROWS[:at], other, *ROWS[at + 1 :]]
            assert is_found(rows)
            assert not is_found(rows, redacted=True)


@pytest.fixture
def debated(hall: Hall) -> Hall:
    hall.init_debate(THREAD, "Which?")
    hall.add_turn(THREAD, "Wind", "Mrs Miller knows.")
    hall.runs.keep(hall.runs.begin(THREAD), LINES)
    return hall


def test_verify_finds_what_is_wrong_with_a_journal_and_names_the_record(debated: Hall, folder: Path) -> None:
    assert debated.verify_debate(THREAD)["verified"]
    db = database(folder)
    db.execute("UPDATE texts SET words = 'Yes.' WHERE id = (SELECT text_id FROM journal WHERE number = 4)")
    db.close()
    for look in (debated.verify_debate, debated.journal):
        with pytest.raises(LedgerBroken, match="record 4 of its journal has another text than was written") as broken:
            look(THREAD)
        assert broken.value.seq is None
    assert debated.export_debate(THREAD)  # the debate itself is whole


def test_a_journal_without_its_texts_verifies_in_a_debate_with_a_tombstone_and_in_no_other(
    debated: Hall, folder: Path
) -> None:
    debated.tombstone_turn(THREAD, 0, "It named a customer.")
    assert debated.verify_debate(THREAD)["verified"]
    assert [(line.record, line.text) for line in debated.journal(THREAD)] == [(line.record, None) for line in LINES]
    other = "2026-01-07-other"
    debated.init_debate(other, "Which?")
    debated.runs.keep(debated.runs.begin(other), LINES)
    db = database(folder)
    db.execute("UPDATE texts SET words = x'00', salt = x'00' WHERE id IN (SELECT text_id FROM journal WHERE no = 2)")
    db.close()
    with pytest.raises(LedgerBroken, match="record 1 of its journal"):
        debated.verify_debate(other)


def test_a_redaction_while_somebody_verifies_breaks_no_journal(tmp_path: Path) -> None:
    """The journal and the debate are read one after the other, and the redaction comes between."""

    class Interrupted(HastyStore):
        def journal(self, thread_id: str) -> Sequence[StoredRecord]:
            rows = super().journal(thread_id)
            self.between()
            return rows

        def thread(self, thread_id: str) -> Any:
            thread = super().thread(thread_id)
            self.between()
            return thread

        def between(self) -> None:
            if redactions:
                redactions.pop()()

    redactions: list[Callable[[], object]] = []
    folder = prepare(tmp_path / "state")
    with Hall(Interrupted(folder)) as hall, hall_in(folder) as elsewhere:
        hall.init_debate(THREAD, "Which?")
        hall.add_turn(THREAD, "Wind", "Mrs Miller knows.")
        hall.runs.keep(hall.runs.begin(THREAD), LINES)
        redactions.append(lambda: elsewhere.tombstone_turn(THREAD, 0, "It named a customer."))
        assert hall.verify_debate(THREAD)["verified"]
        assert not redactions
        assert hall.verify_debate(THREAD)["entries"] == 3
