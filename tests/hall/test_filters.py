"""Which debates a list shows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from halls import HastyStore, database

from orchestrator.errors import InvalidInput, LedgerBroken
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall

MOVED = {
    "by-hand": datetime(2026, 1, 6, 12, tzinfo=UTC),
    "late": datetime(2026, 1, 6, 23, 30, tzinfo=UTC),
    "fortress": datetime(2026, 1, 8, 4, 30, tzinfo=UTC),
}


@pytest.fixture
def hall(folder: Path) -> Iterator[Hall]:
    """Three debates, one of them a run's; when each moved, MOVED says."""
    now = MOVED["by-hand"]
    with Hall(HastyStore(prepare(folder)), clock=lambda: now) as hall:
        hall.init_debate("by-hand", "Which queue?")
        now = MOVED["late"]
        hall.init_debate("late", "Which queue?")
        now = MOVED["fortress"]
        hall.open_run("fortress", "Which queue?", "a plan", "fixed", 3, 1, recipe="fortress")
        yield hall


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


def ids(hall: Hall, **filters: object) -> list[str]:
    return [listed["thread_id"] for listed in hall.list_debates(**filters)]  # type: ignore[arg-type]


def test_a_list_names_the_recipe_of_a_run_and_is_narrowed_to_it(hall: Hall) -> None:
    assert [listed["recipe"] for listed in hall.list_debates()] == ["fortress", None, None]
    assert ids(hall, recipe="FORTRESS") == ["fortress"]
    assert ids(hall, recipe="speed") == ids(hall, recipe="") == []


def test_the_recipe_is_a_plain_name_that_the_ledger_covers(hall: Hall, folder: Path) -> None:
    for name in ("\x1b[2J", "two\nlines", " ", "x" * 300):
        with pytest.raises(InvalidInput, match="cannot be a name"):
            hall.open_run("another", "Which?", "a plan", "fixed", 3, 1, recipe=name)
    assert hall.debate("fortress").opened.recipe == "fortress"
    with closing(database(folder)) as db:
        db.execute("""UPDATE entries SET stored = replace(stored, '"recipe":"fortress"', '"recipe":"speed"')""")
    assert ids(hall, recipe="speed") == ["fortress"]  # a list believes what stands there; verify does not
    with pytest.raises(LedgerBroken, match="its hash is not the hash of its bytes"):
        hall.verify_debate("fortress")


def test_days_are_those_of_this_machine_and_both_ends_count(hall: Hall, at: None) -> None:
    assert ids(hall, since="2026-01-06") == ["fortress", "late", "by-hand"]
    assert ids(hall, since="2026-01-07") == ["fortress"]
    assert ids(hall, until="2026-01-06") == ["late", "by-hand"]
    assert ids(hall, since="2026-01-07", until="2026-01-07") == ["fortress"]
    assert ids(hall, since="2026-01-08") == []
    assert ids(hall, since="0001-01-02", until="9999-12-30") == ["fortress", "late", "by-hand"]


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("day", ["yesterday", "2026-02-30", "", "6.1.2026", "2026-01-06T09:00", 20260106])
def test_what_is_no_day_is_refused_in_a_sentence(hall: Hall, name: str, day: object) -> None:
    with pytest.raises(InvalidInput, match=rf"^{name} is .*; it is a day, written as 2026-01-06\.$"):
        ids(hall, **{name: day})


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01"])
def test_the_ends_of_the_calendar_are_days_or_refused(hall: Hall, day: str) -> None:
    for name in ("since", "until"):
        try:
            ids(hall, **{name: day})
        except InvalidInput as error:
            assert f"{name} is '{day}'" in error.message  # noqa: PT017


def test_several_statuses_are_asked_for_at_once(hall: Hall) -> None:
    hall.force_close_debate("late", "The question went away.")
    assert ids(hall, status=["active", "FORCE_CLOSED"]) == ["late", "fortress", "by-hand"]
    assert ids(hall, status=["force_closed", "stalemate"]) == ["late"]
    assert ids(hall, status=[]) == ["late", "fortress", "by-hand"]
    with pytest.raises(InvalidInput, match="status is 'open'"):
        ids(hall, status=["active", "open"])


def test_only_so_many_are_listed(hall: Hall) -> None:
    assert ids(hall, limit=2) == ["fortress", "late"]
    assert ids(hall, limit=1, until="2026-01-07") == ["late"]
    for limit in (0, -1, True, "2", 10**9):
        with pytest.raises(InvalidInput, match="limit is"):
            ids(hall, limit=limit)


def test_a_debate_that_cannot_be_read_is_in_no_narrowed_list(hall: Hall, folder: Path) -> None:
    with closing(database(folder)) as db:
        db.execute("UPDATE threads SET state = 'no state' WHERE thread_id = 'late'")
        db.execute("UPDATE entries SET stored = 'no JSON' WHERE no = 3")
    assert set(ids(hall)) == set(MOVED)
    assert ids(hall, since="2026-01-01") == ["fortress", "by-hand"]
    assert ids(hall, recipe="fortress") == []
