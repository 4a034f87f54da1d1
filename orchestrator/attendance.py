"""Who sits at the table in a run's own process, and may speak at its seams.

People who speak from elsewhere (`debate-hall say`, MCP) need none of this: they write to the hall, and the run notices.
"""

from __future__ import annotations

from typing import Protocol

from orchestrator.hall.terms import Role


class People(Protocol):
    """What a run asks of the people at its table; they write to the hall like everybody."""

    async def before(self, role: Role) -> bool:
        """The seats of a role are about to draft: who has something to say in that role can say it now.

        Returns:
            whether anybody was heard, so that the debate may be another one.
        """

    async def after_round(self, number: int) -> bool:
        """A round is over: who has something to say, wants another round or wants to end the debate, does it now.

        Returns:
            as `before`.
        """


class Nobody:
    """Nobody sits at the table."""

    async def before(self, role: Role) -> bool:
        return False

    async def after_round(self, number: int) -> bool:
        return False


NOBODY = Nobody()
