"""Where a fleet's hall is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.errors import UsageError
from orchestrator.hall import folder
from orchestrator.hall.address import Address, read


def fleet_address() -> Address:
    """Returns the address of the hall that DEBATE_HALL_STORE names.

    Raises:
        UsageError: it is none on PostgreSQL.
        StoreUnavailable: the address cannot be one.
    """
    place = folder.located(os.environ)
    if isinstance(place, Path):
        raise UsageError(
            "A fleet needs a hall that many machines share, on PostgreSQL.",
            "Set DEBATE_HALL_STORE=postgresql://HOST/DATABASE; docs/fleet.md says more.",
        )
    return read(place)


@contextmanager
def libraries() -> Iterator[None]:
    """Those of a fleet, which not everybody has, and nobody else waits for.

    Raises:
        UsageError: they are not installed.
    """
    try:
        yield
    except ImportError as error:
        raise UsageError(f"What a fleet takes is not installed: {error}.", "pip install 'run-debate[fleet]'") from error
