"""`debate-hall store`: how a store is, the newest format, copies; and what the commands do on PostgreSQL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result

from hall.halls import every_kind
from orchestrator.hall.address import read, shown
from orchestrator.hall.hall import Hall
from postgres import DATABASE, address_of, fresh_hall, fresh_schema, needs_postgres

Command = Callable[..., Result]
SECRET = "S3cret"


@pytest.fixture
def address() -> Iterator[str]:
    with fresh_hall() as address:
        yield address


def test_a_folder_says_its_format_and_is_made_only_when_it_is_to_be(hall: Command, tmp_path: Path) -> None:
    place = tmp_path / "another"
    assert hall("store", "status", str(place)).stdout == f"{place}/hall.sqlite3: nothing is kept there yet\n"
    assert not place.exists()
    assert hall("store", "migrate", str(place)).stdout == "made, with format 3\n"
    assert hall("store", "migrate", str(place)).stdout == "has format 3 already\n"
    assert hall("store", "status", str(place)).stdout == f"{place}/hall.sqlite3: SQLite, format 3\n"
    assert json.loads(hall("store", "status", str(place), "--json").stdout)["format"] == 3


def test_an_older_file_is_brought_up_and_a_newer_one_refused(hall: Command, tmp_path: Path) -> None:
    file = tmp_path / "state" / "hall.sqlite3"
    Hall.open().close()
    with closing(sqlite3.connect(file)) as db:
        db.executescript("DROP TABLE reviews; DROP TABLE deliveries; DROP TABLE checks; PRAGMA user_version = 2")
    assert hall("store", "status").stdout == f"{file}: SQLite, format 2, which this version brings to 3\n"
    assert json.loads(hall("store", "migrate", "--json").stdout) == {"before": 2, "now": 3}
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA user_version = 99")
    for command in ("status", "migrate"):
        refused = hall("store", command)
        assert refused.exit_code == 2
        assert "by a newer version (format 99; this one knows 3)" in refused.output


@needs_postgres
def test_on_postgresql_a_hall_is_made_when_it_is_asked_for(hall: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh_schema() as schema:
        monkeypatch.setenv("DEBATE_HALL_STORE", address_of(schema))
        refused = hall("list")
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "has no hall. Make it: debate-hall store migrate" in refused.stderr
        assert hall("store", "status").exit_code == 2
        assert hall("store", "migrate").stdout == "made, with format 2, and made the queue of the fleet\n"
        assert hall("store", "migrate").stdout == "has format 2 already\n"
        assert hall("store", "status").stdout == f"{shown(address_of(schema))}: PostgreSQL, format 2\n"
        assert hall("list").exit_code == 0


@needs_postgres
def test_debates_are_held_read_and_tended_on_postgresql(
    run: Command, hall: Command, address: str, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBATE_HALL_STORE", address)
    assert run("--rehearse", "--recipe", "speed", "--thread-id", "2026-01-06-queue", "Which queue?").exit_code == 0
    assert "2026-01-06-queue" in hall("list").stdout
    assert "verified" in hall("verify", "--all").stdout
    assert "2026-01-06-queue" in hall("search", "queue").stdout
    assert hall("tombstone", "2026-01-06-queue", "1", "--reason", "names a customer").exit_code == 0
    assert hall("verify", "2026-01-06-queue").exit_code == 0
    assert (work / "debates" / "2026-01-06-queue" / "decision.md").is_file()
    assert hall("config").stdout.splitlines()[0].endswith(f"{shown(address)}  (DEBATE_HALL_STORE)")
    assert f"Hall: {shown(address)}: PostgreSQL, format 2" in hall("doctor").stdout
    assert not (tmp_path / "state" / "hall.sqlite3").exists()


@needs_postgres
def test_reviews_are_held_and_remembered_on_postgresql(
    hall: Command, address: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBATE_HALL_STORE", address)
    told = ("name: weekly", "cron: '0 9 * * 1'", "recipe: speed", "topic: Right?", "models: rehearsal")
    (work / "reviews.yaml").write_text("reviews:\n  - " + "\n    ".join(told) + "\n")
    held = [json.loads(hall("review", "run", "weekly", "--json").stdout) for _ in range(2)]
    assert [(told["number"], told["outcome"]) for told in held] == [(1, "rehearsed"), (2, "rehearsed")]
    assert "rehearsed, " in hall("review", "list").stdout
    with Hall.open() as opened:
        assert [row.notes.thread_id for row in opened.reviews.rows("weekly")] == [
            told["result"]["thread_id"] for told in held
        ]


@needs_postgres
def test_a_password_is_never_told(run: Command, hall: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    host = DATABASE.partition("://")[2].rpartition("@")[2]
    for location in (f"postgresql://nobody:{SECRET}@{host}", f"postgresql://nobody:%{SECRET}@{host}"):
        monkeypatch.setenv("DEBATE_HALL_STORE", location)
        told = [run("--rehearse", "Kafka?"), hall("list"), hall("doctor"), hall("doctor", "--json"), hall("config")]
        told += [hall("store", command) for command in ("status", "migrate")]
        told += [hall("store", "copy", location, location), hall("store", "copy", location, "state", "--json")]
        assert SECRET not in "".join(result.output + result.stderr for result in told)
        assert [result.exit_code for result in told] == [2, 2, 2, 2, 0, 2, 2, 2, 2]


@needs_postgres
def test_a_store_is_copied_and_a_copy_made_again_adds_nothing(
    hall: Command, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hall.open() as here:
        every_kind(here)
    state = str(tmp_path / "state")
    for lease in ("2026-01-06-billing", "2026-01-07-other"):
        refused = hall("store", "copy", state, address)
        assert f"{lease}: not copied: " in refused.stdout
        assert refused.exit_code == 2
    with closing(sqlite3.connect(tmp_path / "state" / "hall.sqlite3")) as db:
        db.execute("UPDATE runs SET released = 1")
        db.execute("UPDATE reviews SET released = 1")
        db.commit()
    copied = hall("store", "copy", state, address)
    assert (copied.exit_code, copied.stderr) == (0, "")
    assert copied.stdout.splitlines()[-1] == "2 copied, 0 there already, 0 refused; 1 time of reviews"
    again = json.loads(hall("store", "copy", state, address, "--json").stdout)
    assert [thread["is_new"] for thread in again["threads"]] == [False, False]
    assert (again["reviews"], again["refused"]) == (1, [])
    exported = hall("export", "2026-01-06-billing").stdout
    monkeypatch.setenv("DEBATE_HALL_STORE", address)
    assert hall("export", "2026-01-06-billing").stdout == exported
    assert read(address).schema in hall("config").stdout


def test_what_is_no_store_is_not_copied_and_not_made(hall: Command, tmp_path: Path) -> None:
    refused = hall("store", "copy", str(tmp_path / "nowhere"), str(tmp_path / "target"))
    assert refused.exit_code == 2
    assert f"There is no store in {tmp_path}/nowhere. Name a folder with hall.sqlite3 in it" in refused.stderr
    assert list(tmp_path.glob("[nt]*where")) == list(tmp_path.glob("target")) == []
