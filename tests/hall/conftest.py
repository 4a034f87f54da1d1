from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from halls import hall_in
from threads import STORES

from octave_oracle import oracle
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Store

__all__ = ["oracle"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def hall(folder: Path) -> Iterator[Hall]:
    with hall_in(folder) as hall:
        yield hall


@pytest.fixture(params=STORES)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens store objects on one and the same place."""
    opened: list[Store] = []

    def open_another() -> Store:
        opened.append(STORES[request.param](tmp_path / "state"))
        return opened[-1]

    yield open_another
    for store in opened:
        store.close()


@pytest.fixture
def store(opener: Callable[[], Store]) -> Store:
    return opener()
