"""Which model serves a route."""

from __future__ import annotations

from orchestrator.models.base import Model
from orchestrator.models.litellm import LiteLLM
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.models.rehearsal import Rehearsal


class Switchboard:
    """The rehearsal under its own name, litellm for every other route. Close it before the event loop ends."""

    def __init__(self) -> None:
        self._rehearsal, self._litellm = Rehearsal(), LiteLLM()

    def of(self, route: str) -> Model:
        return self._rehearsal if route == REHEARSAL else self._litellm

    async def aclose(self) -> None:
        await self._litellm.aclose()
