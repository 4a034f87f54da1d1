"""Which model serves a route."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.errors import UsageError
from orchestrator.models.base import CLIENT, Model
from orchestrator.models.cli_agent import CliAgent
from orchestrator.models.cli_known import is_cli
from orchestrator.models.litellm import LiteLLM, load
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.models.rehearsal import Rehearsal


class Switchboard:
    """The rehearsal and the client's model under their own names, agent CLIs, litellm for every other route.

    Close it before the event loop ends.

    Args:
        client: the model of the client that asks, where there is one.
    """

    def __init__(self, client: Model | None = None) -> None:
        self._named: dict[str, Model] = {REHEARSAL: Rehearsal()} | ({CLIENT: client} if client else {})
        self._litellm, self._clis = LiteLLM(), CliAgent()

    def require(self, routes: Iterable[str]) -> None:
        """Judges routes before anything is begun.

        Raises:
            UsageError: a route leads to the client's model, and there is no client.
        """
        if CLIENT in set(routes) - self._named.keys():
            raise UsageError(
                "The route `client` is the model of an MCP client that asks for the debate; here nobody does.",
                "Name another model, or call run_debate from a client that offers sampling.",
            )

    def of(self, route: str) -> Model:
        return self._named.get(route, self._clis if is_cli(route) else self._litellm)

    async def aclose(self) -> None:
        await self._litellm.aclose()


def load_for(routes: Iterable[str]) -> None:
    """Loads what calls to routes take, which is seconds of work that none of them is to wait for in its turn."""
    if any(route not in (REHEARSAL, CLIENT) and not is_cli(route) for route in routes):
        load()
