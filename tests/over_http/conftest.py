"""One litellm for all tests here, because it takes seconds to import; a provider and a hall for each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from building import hall_at, plan_of
from orchestrator.hall.hall import Hall
from orchestrator.models.base import Message, Request, Task
from orchestrator.models.litellm import LiteLLM

if TYPE_CHECKING:
    from provider import Provider


@pytest.fixture(scope="session")
def warm() -> None:
    """It has been asked once, so that all it imports for a call is there.

    No coroutine fixture: one of this scope keeps anyio's event loop for the tests of every other file.
    """
    anyio.run(_ask_once)


async def _ask_once() -> None:
    from provider import Provider  # here, because aiohttp is slow to import and most tests do without

    with Provider() as server:
        async with aclosing(LiteLLM()) as model:
            (seat,) = plan_of().rounds[0].winds
            task = Task("turn", seat.role, seat.agent, None, round=1, rounds=1, last=False, topic="")
            messages = (Message("user", "Are you there?"),)
            await model.complete(Request("openai/wind-1", messages, task, 10, 60, endpoint=server.endpoint()))


@pytest.fixture
async def litellm(warm: None) -> AsyncIterator[LiteLLM]:
    async with aclosing(LiteLLM()) as model:
        yield model


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


@pytest.fixture
def provider() -> Iterator[Provider]:
    from provider import Provider

    with Provider() as server:
        yield server
