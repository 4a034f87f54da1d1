from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from halls import HastyStore, hall_in

from octave_oracle import oracle
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Store, migrate, open_store
from postgres import address_of, empty, fresh_schema, needs_postgres

__all__ = ["oracle"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def hall(folder: Path) -> Iterator[Hall]:
    with hall_in(folder) as hall:
        yield hall


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
