"""Where the store is: it is opened there, brought to the newest format, and told how it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from orchestrator.errors import StoreError, StoreUnavailable
from orchestrator.hall import address, folder, sqlite
from orchestrator.hall.sqlite import SQLiteStore
from orchestrator.hall.store import Store


def open_store(location: str | Path | None = None) -> Store:
    """Opens the store at `location`: a folder, an address (`postgresql://…`), else what DEBATE_HALL_STORE names, else
    this machine's state folder.

    Raises:
        StoreError: it cannot be used; the error says why and what to do.
    """
    place = folder.located(os.environ, location)
    if isinstance(place, Path):
        return SQLiteStore(folder.prepare(place))
    with _libraries():
        from orchestrator.hall.postgres import PostgresStore
    return PostgresStore(place)


def migrate(location: str | Path | None = None) -> tuple[int, int]:
    """Brings the format of a store, found as `open_store` finds it, to the newest.

    Returns:
        the version before, 0 where there was no store, and now.

    Raises:
        StoreError: it cannot be used, or a newer version of this program wrote it.
    """
    place = folder.located(os.environ, location)
    if isinstance(place, Path):
        return sqlite.migrate(folder.prepare(place))
    with _libraries():
        from orchestrator.hall import postgres
    return postgres.migrate(place)


def format_at(location: str | Path | None = None) -> tuple[int, int]:
    """Returns the version of a store's format, 0 where there is none yet, and this program's newest; changes nothing.

    Raises:
        StoreError: it cannot be read, or a newer version of this program wrote it.
    """
    place = folder.located(os.environ, location)
    if isinstance(place, Path):
        return sqlite.format_at(place)
    with _libraries():
        from orchestrator.hall import postgres
    return postgres.format_at(place)


@contextmanager
def _libraries() -> Iterator[None]:
    """Those of PostgreSQL, which not everybody has, and nobody else waits for."""
    try:
        yield
    except ImportError as error:
        raise StoreUnavailable(
            f"What it takes to use PostgreSQL is not installed: {error}.", "pip install 'run-debate[postgres]'"
        ) from error


class StoreStatus(NamedTuple):
    """`format` is 0 where nothing is kept yet; `problem` says why the store cannot be used, and what to do."""

    place: str
    kind: str  # SQLite, PostgreSQL
    format: int | None = None
    newest: int | None = None
    problem: str | None = None


def status_of(location: str | Path | None = None) -> StoreStatus:
    """Returns how the store is that `open_store` would open."""
    place = folder.located(os.environ, location)
    is_folder = isinstance(place, Path)
    shown = str(place.expanduser() / folder.FILE) if isinstance(place, Path) else address.shown(place)
    found = StoreStatus(shown, "SQLite" if is_folder else "PostgreSQL")
    try:
        format, newest = format_at(place)
        found = found._replace(format=format, newest=newest)
        if format and isinstance(place, Path):
            folder.prepare(place)
        elif not is_folder:
            open_store(place).close()
    except StoreError as error:
        return found._replace(problem=str(error))
    return found
