"""How a store is: where, of which kind and format, and whether it can be used. A folder that is not there stays so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from orchestrator.errors import StoreError
from orchestrator.hall import address, folder
from orchestrator.hall.store import format_at, open_store


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
