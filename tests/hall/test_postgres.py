"""What only the store on PostgreSQL has to show: its address and format, its locks, and what a redaction leaves."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from halls import THREAD, counting_salts, every_kind, every_record, salt_number, ticking_clock
from threads import HERE, OPENED, RECORDS, add, begin, hold, redact, sealed, speak, turn

from orchestrator.errors import LeaseLost, StoreTooNew, StoreUnavailable
from orchestrator.hall import ledger, postgres, postgres_schema
from orchestrator.hall.address import read as read_address
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.entries import Link, Note
from orchestrator.hall.hall import Hall
from orchestrator.hall.holder import Holder
from orchestrator.hall.journal import JournalLine
from orchestrator.hall.postgres import FORMATS, PostgresStore
from orchestrator.hall.postgres_formats import HOLD_WORDS
from orchestrator.hall.postgres_runs import locked_row
from orchestrator.hall.review_rows import CheckRow, ReviewNotes
from orchestrator.hall.runs import RunDesk
from orchestrator.hall.search import read
from orchestrator.hall.store import Report
from orchestrator.hall.store_place import format_at, migrate, open_store
from orchestrator.hall.terms import LinkKind
from postgres import DATABASE, address_of, empty, fresh_hall, fresh_schema, needs_postgres

pytestmark = needs_postgres


@pytest.fixture
def store(schema: str) -> Iterator[PostgresStore]:
    empty(schema)
    with closing(PostgresStore(address_of(schema))) as store:
        yield store


@pytest.fixture
def beside(schema: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection that knows nothing of the store's care."""
    with psycopg.connect(DATABASE, options=f"-csearch_path={schema}", autocommit=True) as db:
        yield db


# -------------------------------------------------------------------------------------------------------- the format


def test_a_database_without_a_hall_is_refused_until_one_is_made() -> None:
    with fresh_schema() as schema:
        with pytest.raises(StoreUnavailable, match=r"has no hall\. Make it: debate-hall store migrate"):
            open_store(address_of(schema))
        assert format_at(address_of(schema)) == (0, len(FORMATS))
        assert migrate(address_of(schema)) == (0, len(FORMATS))
        assert migrate(address_of(schema)) == format_at(address_of(schema)) == (len(FORMATS), len(FORMATS))
        open_store(address_of(schema)).close()


def test_a_user_who_may_make_no_schema_uses_the_one_that_is_there() -> None:
    with fresh_schema() as schema, psycopg.connect(DATABASE, autocommit=True) as db:
        db.execute(f"CREATE ROLE {schema} LOGIN PASSWORD 'x'")
        host = DATABASE.rpartition("@")[2]
        address = f"postgresql://{schema}:x@{host}?schema={schema}"
        try:
            with pytest.raises(StoreUnavailable, match=r"permission denied for database .*\. Grant this user"):
                migrate(address)
            db.execute(f"CREATE SCHEMA {schema} AUTHORIZATION {schema}")
            assert migrate(address) == (0, len(FORMATS))
            with Hall.open(address) as hall:
                every_kind(hall)
                hall.verify_debate(THREAD)
        finally:
            db.execute(f"DROP OWNED BY {schema}")
            db.execute(f"DROP ROLE {schema}")


def test_a_user_who_may_not_clear_tables_away_is_told_that_it_is_pending() -> None:
    with fresh_hall() as address, psycopg.connect(DATABASE, autocommit=True) as db:
        schema = read_address(address).schema
        db.execute(f"CREATE ROLE {schema} LOGIN PASSWORD 'x'")
        db.execute(f"GRANT USAGE ON SCHEMA {schema} TO {schema}")
        db.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {schema}")
        try:
            with Hall.open(f"postgresql://{schema}:x@{DATABASE.rpartition('@')[2]}?schema={schema}") as hall:
                hall.init_debate(THREAD, "Which?")
                hall.add_turn(THREAD, "Wind", "What Mrs Miller wants.")
                assert hall.tombstone_turn(THREAD, 0, "It named a person.")["erased"] == "pending"
                assert hall.verify_debate(THREAD)["verified"]
        finally:
            db.execute(f"DROP OWNED BY {schema}")
            db.execute(f"DROP ROLE {schema}")


def test_a_hall_of_a_newer_version_is_refused_and_left_as_it_is() -> None:
    with fresh_hall() as address, psycopg.connect(DATABASE, autocommit=True) as db:
        db.execute(f"UPDATE {read_address(address).schema}.format SET version = 99")
        for use in (open_store, migrate, format_at):
            with pytest.raises(StoreTooNew, match=rf"by a newer version \(format 99; this one knows {len(FORMATS)}\)"):
                use(address)


def test_an_older_hall_is_refused_until_it_is_brought_up_whole_or_not_at_all() -> None:
    now, further = (
        len(FORMATS),
        (*FORMATS, "ALTER TABLE threads ADD COLUMN further text;\nCREATE TABLE further (no bigint);\n"),
    )
    with fresh_hall() as address:
        with Hall.open(address) as hall:
            every_kind(hall)
            exported = hall.export_debate(THREAD)
        read = read_address(address)
        with pytest.raises(
            StoreUnavailable, match=f"has format {now}, and this version of the program needs {now + 1}"
        ):
            postgres_schema.PostgresSchema(read, further)
        with pytest.raises(StoreUnavailable, match="cannot be used"):
            postgres_schema.migrate(read, (*further, "CREATE TABLE threads (no bigint);"))
        assert postgres_schema.format_at(read, further) == (now, now + 1)
        with Hall.open(address) as hall:
            assert hall.export_debate(THREAD) == exported
        assert postgres_schema.migrate(read, further) == (now, now + 1)
        with pytest.raises(StoreTooNew):
            open_store(address)


def test_of_many_that_make_a_hall_at_once_each_finds_it_made_once() -> None:
    together = threading.Barrier(4)

    def make(address: str) -> tuple[int, int]:
        together.wait()
        return migrate(address)

    with ThreadPoolExecutor(4) as pool, fresh_schema() as schema:
        made = list(pool.map(make, [address_of(schema)] * 4))
        newest = len(FORMATS)
        assert sorted(made) == [(0, newest), *[(newest, newest)] * 3]
        open_store(address_of(schema)).close()


@pytest.mark.slow
def test_a_database_that_cannot_say_every_text_is_refused() -> None:
    with psycopg.connect(DATABASE, autocommit=True) as db:
        db.execute("CREATE DATABASE test_latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
        try:
            with pytest.raises(StoreUnavailable, match="keeps text as LATIN1, which cannot say all of it"):
                open_store(f"{DATABASE.rpartition('/')[0]}/test_latin")
        finally:
            db.execute("DROP DATABASE test_latin")


def test_tables_are_those_that_a_redaction_and_a_test_know(schema: str, beside: psycopg.Connection[Any]) -> None:
    tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"
    named = {name for (name,) in beside.execute(tables, (schema,))}
    holding = "SELECT table_name FROM information_schema.columns WHERE table_schema = %s AND column_name = ANY (%s)"
    words = {name for (name,) in beside.execute(holding, (schema, ["words", "request", "folded"]))}
    assert words == set(HOLD_WORDS)
    assert named - words == {"threads", "deliveries", "format", "servers", "permits", "spending", "budget"}


# ------------------------------------------------------------------------------------------------------ where it stands


@pytest.mark.parametrize(
    ("location", "sentence"),
    [
        ("postgresql://me:S3cret@127.0.0.1:1/hall", "port 1 failed: Connection refused. See that the server runs"),
        ("postgresql://me:S3%cret@127.0.0.1/hall", "The address postgresql://127.0.0.1/hall cannot be read. Write"),
        ("postgresql://127.0.0.1/hall?pasword=S3cret", "The address postgresql://127.0.0.1/hall cannot be read. Write"),
        ("postgresql://me:S3cret@/hall?host=/nowhere", "failed: No such file or directory. See that the server runs"),
    ],
)
def test_what_is_wrong_with_an_address_is_said_without_its_password(location: str, sentence: str) -> None:
    for use in (open_store, migrate, format_at):
        with pytest.raises(StoreUnavailable) as refusal:
            use(location)
        assert sentence in str(refusal.value)
        assert "cret" not in str(refusal.value)


def test_a_database_that_is_not_there_is_said_with_the_cure() -> None:
    with pytest.raises(StoreUnavailable, match=r'database "nowhere" does not exist\. See that .* createdb NAME'):
        open_store(f"{DATABASE.rpartition('/')[0]}/nowhere")


def test_what_reads_and_writes_needs_no_library_of_postgresql_until_a_store_is_opened() -> None:
    script = (
        "import sys\n"
        "from orchestrator.hall.hall import Hall\nimport orchestrator.cli.debate_hall\n"
        "assert 'psycopg' not in sys.modules\n"
        "sys.modules['psycopg'] = None\n"
        "from orchestrator.errors import StoreUnavailable\n"
        "try:\n    Hall.open('postgresql://127.0.0.1/hall')\n"
        "except StoreUnavailable as error:\n    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.startswith("What it takes to use PostgreSQL is not installed")
    assert said.endswith("pip install 'run-debate[postgres]'\n")


# ------------------------------------------------------------------------------------------------------------- locks


def test_who_waits_for_a_head_sees_what_was_committed_meanwhile(
    store: PostgresStore, beside: psycopg.Connection[Any]
) -> None:
    opening = begin(store, "thread")
    lease = hold(store)
    said = turn(opening)
    with ThreadPoolExecutor(1) as pool:
        with beside.transaction():  # another process takes the run over, and commits once a writer waits for it
            beside.execute("SELECT FROM threads FOR NO KEY UPDATE")
            writing = pool.submit(store.append, opening.head, [said], ledger.standing(said, opening), (), lease)
            _await_waiting(beside)
            beside.execute(
                "INSERT INTO runs (no, epoch, place, pid, began_at, beat_at) SELECT no, 2, 'there', 8, '', ''"
                " FROM threads"
            )
        with pytest.raises(LeaseLost, match="process 8 on there has taken it over"):
            writing.result(10)
    assert len(store.thread("thread").lines) == 1


def test_a_process_that_stops_in_the_middle_of_a_commit_keeps_its_thread_no_longer_than_others_wait(
    schema: str, store: PostgresStore
) -> None:
    opening = begin(store, "thread")
    impatient = address_of(schema, "%20-cidle_in_transaction_session_timeout%3D100ms")
    with closing(PostgresStore(impatient)) as frozen:

        def freeze() -> None:
            with frozen._transaction() as db:
                locked_row(db, "thread")
                speak(store, opening, "the others go on")
                db.execute("SELECT 1").fetchall()

        with pytest.raises(StoreUnavailable):
            freeze()
        assert frozen.standing("thread").state.turn_count == 1


def test_a_lock_that_is_kept_for_too_long_is_said(schema: str, beside: psycopg.Connection[Any]) -> None:
    empty(schema)
    with closing(PostgresStore(address_of(schema, "%20-clock_timeout%3D50ms"))) as store:
        opening = begin(store, "thread")
        with beside.transaction():
            beside.execute("SELECT FROM threads FOR NO KEY UPDATE")
            with pytest.raises(StoreUnavailable, match=r"lock timeout\. Another process kept it locked for 30 s"):
                speak(store, opening, "too long")
        speak(store, opening, "now")


def test_connections_that_were_ended_are_replaced_unseen(schema: str, beside: psycopg.Connection[Any]) -> None:
    name = f"ended_{schema}"[:60]
    with closing(PostgresStore(address_of(schema, f"&application_name={name}"))) as store:
        empty(schema)
        standing = begin(store, "thread")
        for text in ("once", "twice"):
            ended = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s"
            assert {*beside.execute(ended, (name,))} == {(True,)}
            standing = speak(store, standing, text)
        assert store.standing("thread") == standing


def test_a_store_that_was_closed_says_so(schema: str) -> None:
    store = PostgresStore(address_of(schema))
    store.close()
    with pytest.raises(StoreUnavailable, match="was closed"):
        store.listed()


def test_all_go_by_the_clock_of_the_server_whatever_their_own_says(
    schema: str, beside: psycopg.Connection[Any]
) -> None:
    """In a process of its own, whose clock is an hour late."""
    script = (
        "import sys, datetime as module\n"
        "class Late(module.datetime):\n"
        "    @classmethod\n"
        "    def now(cls, tz=None): return super().now(tz) - module.timedelta(hours=1)\n"
        "module.datetime = Late\n"
        "from orchestrator.hall.hall import Hall\n"
        "with Hall.open(sys.argv[1]) as hall:\n"
        "    hall.init_debate('2026-01-06-late', 'Which?')\n"
        "    hall.runs.begin('2026-01-06-late')\n"
        "    print(Late.now(module.UTC).isoformat())\n"
    )
    empty(schema)
    command = [sys.executable, "-c", script, address_of(schema)]
    late = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    with Hall.open(address_of(schema)) as hall:
        row = hall.runs.row("2026-01-06-late")
        (at,) = beside.execute("SELECT clock_timestamp()").fetchone() or ()
        assert row is not None
        assert at - datetime.fromisoformat(late) > timedelta(minutes=59), "its clock was late indeed"
        assert timedelta(0) < at - datetime.fromisoformat(row.beat_at) < timedelta(minutes=1)
        elsewhere = RunDesk(hall._store, hall._clock, Holder("another host", 8))
        assert elsewhere.is_alive(row)


def _await_waiting(db: psycopg.Connection[Any]) -> None:
    """Waits until somebody waits for a lock that this connection holds."""
    asked = "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"
    deadline = threading.Event()
    for _ in range(1000):
        if (db.execute(asked).fetchone() or (0,))[0]:
            return
        deadline.wait(0.005)
    raise AssertionError("nobody waits")


# --------------------------------------------------------------------------------------------------------- redaction


def test_a_redaction_waits_for_what_a_linked_run_is_keeping_and_takes_it(
    store: PostgresStore, beside: psycopg.Connection[Any]
) -> None:
    opening = begin(store, "thread")
    said = turn(opening)
    after = add(store, opening, said)
    first = sealed("linked", None, replace(OPENED, link=Link(LinkKind.ANSWERS, "thread", after.head)), "About it.")
    store.create(first, ledger.standing(first, None), None)
    lease = hold(store, "linked")
    store.keep(lease, RECORDS[:2])
    with ThreadPoolExecutor(1) as pool:
        with beside.transaction():
            beside.execute("SELECT FROM threads WHERE thread_id = 'linked' FOR NO KEY UPDATE")
            redacting = pool.submit(redact, store, after, 1, said.entry.body.digest)
            _await_waiting(beside)
            beside.execute(
                "INSERT INTO journal (no, number, hash, stored, words, salt)"
                " SELECT no, 2, '', '', 'kept meanwhile', 'salt' FROM threads WHERE thread_id = 'linked'"
            )
        redacting.result(10)
    assert [(record.text, record.salt) for record in store.journal("linked")] == [(None, None)] * 3


def test_after_a_redaction_no_row_of_any_table_holds_the_words(
    schema: str, store: PostgresStore, beside: psycopg.Connection[Any]
) -> None:
    secret = "Mrs Miller of Billing"
    hall = Hall(store, clock=ticking_clock(), salt=counting_salts())
    hall.init_debate(THREAD, "Should we move billing to Kafka?")
    hall.add_turn(THREAD, "Wind", f"What if {secret} decided?")
    lease = hall.runs.begin(THREAD)
    asked = SaltedText(f"{secret} asks", salt_number(7))
    intent = replace(every_record()[1].record, request=asked.digest)  # type: ignore[type-var]
    hall.runs.keep(lease, [JournalLine(0, intent, asked.text, asked.salt)])
    store.report(lease, [Report("{}", f"{secret} was told")])
    store.request_stop(THREAD, f"{secret} says so")
    store.keep_checks(THREAD, store.standing(THREAD).head, [CheckRow(0, "held", f"{secret} was asked", "09")])
    claim = store.claim_review("weekly", "/reviews.yaml", "09", HERE, "09", 0)
    assert claim is not None
    store.note_review(claim, ReviewNotes(THREAD, why=f"{secret} wanted it"), "09")
    assert {table for table in HOLD_WORDS if "miller" in _rows(beside, table)} == set(HOLD_WORDS)
    assert hall.tombstone_turn(THREAD, 0, "It named a person.")["erased"] == "done"
    assert [table for table in HOLD_WORDS if "miller" in _rows(beside, table)] == []
    assert store.search(read("miller")) == []
    hall.verify_debate(THREAD)


def test_what_cannot_be_cleared_away_at_once_is_pending(
    schema: str, beside: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_VACUUM_PATIENCE", "50ms")
    with closing(PostgresStore(address_of(schema))) as store, beside.transaction():
        assert store.erase_traces() is True
        beside.execute("LOCK TABLE entries IN SHARE UPDATE EXCLUSIVE MODE")
        assert store.erase_traces() is False
        assert store.erase_traces() is False, "the lock's patience is the connection's own again"


def _rows(db: psycopg.Connection[Any], table: str) -> str:
    """All that a table holds, bytes as the text that they are."""
    rows = db.execute(f"SELECT * FROM {table}").fetchall()
    return " ".join(str(value if type(value) is not bytes else value.decode()) for row in rows for value in row).lower()


# ------------------------------------------------------------------------------------------------------------ search


def test_a_phrase_is_found_however_often_its_words_stand_before_it_and_however_late(store: PostgresStore) -> None:
    often = "the queue " * 300 + "x " * 20_000 + "the heron"
    add(store, opening := begin(store, "thread"), note(opening, often))
    assert len(store.search(read('"the heron"'))) == 1
    assert store.search(read('"heron the"')) == store.search(read('"heron x"')) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x" * 250_000 + " heron", id="one word"),
        pytest.param(" ".join(f"\ufdfa{number}" for number in range(20_000)) + " heron", id="words that fold long"),
        pytest.param(" ".join(map(chr, range(0x4E00, 0x9F00))) + " heron", id="every character"),
        pytest.param("' \\' \\\\ :* & | ! <-> heron", id="signs"),
    ],
)
def test_no_text_is_too_much_for_the_index(store: PostgresStore, text: str) -> None:
    opening = begin(store, "thread")
    add(store, opening, note(opening, text))
    assert store.thread("thread").lines[1].text == text
    assert "heron" not in text[:600] or store.search(read("heron"))


def test_what_is_rare_counts_for_more_than_what_is_common(store: PostgresStore) -> None:
    for number in range(20):
        begin(store, f"common-{number}", "queue queue queue of things", at="10")
    speak(store, begin(store, "rare", "none", at="09"), "a queue", "a heron and a queue")
    speak(store, begin(store, "other", "none", at="09"), "a heron", "the queue queue queue queue")
    found = [place.thread_id for place in store.search(read("heron queue"), apart=True)]
    assert set(found) == {"rare", "other"}
    best = [place for place in store.search(read("heron queue"), apart=True) if place.thread_id == "other"]
    assert [place.seq for place in best] == [1], "the entry with the rare word, not that with the common one thrice"


def note(before: ledger.Standing, text: str) -> ledger.Sealed:
    return sealed(before.state.thread_id, before, Note(digest="", about="remark", by="x"), text)
