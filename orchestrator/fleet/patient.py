"""The queue as a worker asks it: a server that is away is waited for, as the hall waits for it."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

import anyio
import procrastinate
import psycopg
from procrastinate.exceptions import ConnectorException
from psycopg_pool import PoolClosed

from orchestrator.hall.address import Address
from orchestrator.hall.postgres_schema import parameters_of

_AGAIN_S = 1.0
_CONNECTIONS = 3


class PatientConnector(procrastinate.PsycopgConnector):
    """Asks again for as long as the server cannot be reached.

    A statement that was under way when it went may have been done: a job that was taken and not heard of is put back
    by the worker's own sweep, and one that was ended already is found ended.

    Args:
        address: of the hall.
        tell: hears a line when the server is away, and when it is back.
    """

    def __init__(self, address: Address, tell: Callable[[str], None]) -> None:
        super().__init__(
            conninfo="",
            kwargs=parameters_of(address),
            min_size=1,
            max_size=_CONNECTIONS,
            timeout=_AGAIN_S,  # the pool alone would try less and less often
            reconnect_timeout=_AGAIN_S / 2,
        )
        self._shown, self._tell = address.shown, tell
        self._is_away, self._back_at = False, -math.inf

    async def there_for_s(self) -> float:
        """Waits until the server is there; returns for how many seconds it was, as far as was noticed."""
        await self.execute_query_async("SELECT")
        return monotonic() - self._back_at

    async def execute_query_async(self, query: Any, **arguments: Any) -> None:
        try:
            await self._patiently(super().execute_query_async, query, arguments)
        except ConnectorException as error:
            if not _is_over_already(error):
                raise

    async def execute_query_one_async(self, query: Any, **arguments: Any) -> dict[str, Any]:
        one: dict[str, Any] = await self._patiently(super().execute_query_one_async, query, arguments)
        return one

    async def execute_query_all_async(self, query: Any, **arguments: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = await self._patiently(super().execute_query_all_async, query, arguments)
        return rows

    async def _patiently(self, ask: Callable[..., Awaitable[Any]], query: Any, arguments: dict[str, Any]) -> Any:
        while True:
            try:
                answer = await ask(query, **arguments)
            except ConnectorException as error:
                if not _is_away(error):
                    raise
                self._note(True, f"{self._shown} cannot be reached; it is asked again")
                await anyio.sleep(_AGAIN_S)
            else:
                self._note(False, f"{self._shown} is there again")
                return answer

    def _note(self, is_away: bool, words: str) -> None:
        if is_away != self._is_away:
            self._is_away, self._back_at = is_away, monotonic()
            self._tell(words)


def _is_away(error: ConnectorException) -> bool:
    cause = error.__cause__
    return isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError) and not isinstance(cause, PoolClosed)


def was_taken_for_dead(error: ConnectorException) -> bool:
    """A worker that is known no more can take no job."""
    return isinstance(error.__cause__, psycopg.errors.ForeignKeyViolation)


def _is_over_already(error: ConnectorException) -> bool:
    """A job that is to be ended and is there no more: its worker slept, and others have put a new one in its place."""
    return isinstance(error.__cause__, psycopg.errors.RaiseException) and "was not found" in str(error.__cause__)
