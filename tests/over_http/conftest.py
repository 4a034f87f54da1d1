"""One litellm for all tests here, because it takes seconds to import, and halls that do not wait for the disk."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from building import hall_at
from orchestrator.hall.hall import Hall
from orchestrator.models.litellm import LiteLLM

if TYPE_CHECKING:
    from provider import Provider


@pytest.fixture(scope="session")
async def litellm() -> AsyncIterator[LiteLLM]:
    async with aclosing(LiteLLM()) as model:
        yield model


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


@pytest.fixture
def provider() -> Iterator[Provider]:
    from provider import Provider  # here, because aiohttp is slow to import and most tests do without

    with Provider() as server:
        yield server
