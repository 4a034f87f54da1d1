from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from halls import HastyStore, counting_salts, hall_in, ticking_clock

from octave_oracle import oracle
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Store
from orchestrator.hall.store_place import migrate, open_store
from postgres import address_of, empty, fresh_schema, needs_postgres

__all__ = ["oracle"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def hall(request: pytest.FixtureRequest) -> Iterator[Hall]:
    if getattr(request, "param", "sqlite") == "postgres":
        schema = request.getfixturevalue("schema")
        empty(schema)
        opened = Hall(open_store(address_of(schema)), clock=ticking_clock(), salt=counting_salts())
    else:
        opened = hall_in(request.getfixturevalue("folder"))
    with opened:
        yield opened


# What these show of a hall, and ask for none of its files, is shown on PostgreSQL too.
ON_POSTGRES = {"test_following", "test_hall", "test_journal_erasure", "test_redaction", "test_search_debates"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    defined = metafunc.definition._fixtureinfo.name2fixturedefs.get("hall")
    ours = defined is not None and defined[-1].func.__module__ == __name__
    if ours and metafunc.module.__name__ in ON_POSTGRES and not {"folder", "tmp_path"} & set(metafunc.fixturenames):
        on_postgres = pytest.param("postgres", marks=[pytest.mark.slow, needs_postgres])
        metafunc.parametrize("hall", ["sqlite", on_postgres], indirect=True)


@pytest.fixture(scope="session")
def schema() -> Iterator[str]:
    """The schema of a hall on PostgreSQL that tests of this process use one after the other."""
    with fresh_schema() as schema:
        migrate(address_of(schema))
        yield schema


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens store objects on one and the same place."""
    opened: list[Store] = []
    if request.param == "postgres":
        schema = request.getfixturevalue("schema")
        empty(schema)

    def open_another() -> Store:
        on_postgres = request.param == "postgres"
        store = open_store(address_of(schema)) if on_postgres else HastyStore(prepare(tmp_path / "state"))
        opened.append(store)
        return store

    yield open_another
    for store in opened:
        store.close()


@pytest.fixture
def store(opener: Callable[[], Store]) -> Store:
    return opener()
