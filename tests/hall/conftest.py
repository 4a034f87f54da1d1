from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from halls import hall_in

from orchestrator.hall.hall import Hall


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def hall(folder: Path) -> Iterator[Hall]:
    with hall_in(folder) as hall:
        yield hall
