from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stage import Stage

from endpoint import ModelServer


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A debate's place, with a provider of its own."""
    with ModelServer(deadline_s=60) as server:
        stage = Stage(tmp_path, server)
        yield stage
        stage.clear()
