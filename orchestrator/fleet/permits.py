"""What the workers of a fleet may have under way at a server, and spend in a day, all together.

Each call takes a permit before it is made and gives it back when it has ended. One that is never given back, since its
worker died, counts for as long as its call can be under way, and as the most that it can have cost. A call begins when
its server gets it, which is seconds later where a machine has much to do: it counts from when it is given back, or from
a few seconds after it was taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from orchestrator.hall.address import Address
from orchestrator.hall.postgres_formats import FORMATS
from orchestrator.hall.postgres_schema import PostgresSchema

_CONNECTIONS = 2


class Permit(NamedTuple):
    """The right to make a call; `number` names it."""

    number: int


class NotYet(NamedTuple):
    """The server takes no more calls now; after `wait_s` seconds it may, 0 where that is not known."""

    wait_s: float


class OverBudget(NamedTuple):
    """The call could cost more than is left of what the fleet may spend today."""

    budget_usd: Decimal
    left_usd: Decimal


@dataclass(frozen=True, slots=True)
class Wish:
    """A call that is to be made.

    Args:
        server: that it goes to.
        thread_id: the debate.
        most: how many calls the server takes at once, all of the fleet's together; None: as many as come.
        per_minute: how many may begin in a minute, likewise.
        seconds: for how long it can be under way.
        cost_usd: the most it can cost; None where no price is known.
    """

    server: str
    thread_id: str
    most: int | None
    per_minute: int | None
    seconds: float
    cost_usd: Decimal | None


class Spending(NamedTuple):
    """What a day took in US dollars, with what calls under way may take; `unpriced` are calls without a known price."""

    day: date
    cost_usd: Decimal
    unpriced: int
    budget_usd: Decimal | None


class ServerAtWork(NamedTuple):
    """A server with the calls that are under way there, and those that began in the last minute."""

    server: str
    under_way: int
    last_minute: int


class Permits(PostgresSchema):
    """The permits of the fleet at `address`; to be used from any thread.

    Raises:
        StoreUnavailable, StoreTooNew: as `PostgresSchema` says; each method too may raise StoreUnavailable.
    """

    def __init__(self, address: Address) -> None:
        super().__init__(address, FORMATS, _CONNECTIONS)

    def take(self, wish: Wish) -> Permit | NotYet | OverBudget:
        """Takes a permit, if the call may be made now."""
        asked = "SELECT permit, wait_s, budget_usd, left_usd FROM take_permit(%s, %s, %s, %s, %s, %s)"
        values = (wish.server, wish.thread_id, wish.most, wish.per_minute, wish.seconds, wish.cost_usd)
        with self._connection() as db:
            ((number, wait_s, budget, left),) = db.execute(asked, values).fetchall()
        if number is not None:
            return Permit(number)
        return NotYet(wait_s) if wait_s is not None else OverBudget(budget, left)

    def give_back(self, permit: Permit, took_usd: Decimal | None) -> None:
        """Gives a permit back; once more changes nothing.

        Args:
            took_usd: what the call took.
        """
        with self._connection() as db:
            db.execute("SELECT give_permit_back(%s, %s)", (permit.number, took_usd))

    def set_budget(self, cost_usd: Decimal | None) -> None:
        """Sets how much all workers together may spend in a day (of UTC); None: as much as it takes."""
        with self._connection() as db, db.transaction():
            db.execute("DELETE FROM budget")
            if cost_usd is not None:
                db.execute("INSERT INTO budget VALUES (%s)", (cost_usd,))

    def today(self) -> Spending:
        """Returns what was spent today, and may be."""
        asked = """
            SELECT today.day, coalesce(s.cost_usd, 0), coalesce(s.unpriced, 0), (SELECT cost_usd FROM budget)
            FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS day) today LEFT JOIN spending s USING (day)
        """
        with self._connection() as db:
            ((day, cost, unpriced, budget),) = db.execute(asked).fetchall()
        return Spending(day, cost, unpriced, budget)

    def servers(self) -> list[ServerAtWork]:
        """Returns the servers that were asked lately."""
        asked = """
            SELECT server, count(*) FILTER (WHERE NOT given_back AND over_at > clock_timestamp()),
                   count(*) FILTER (WHERE begun_at > clock_timestamp() - interval '1 minute')
            FROM permits GROUP BY server ORDER BY server
        """
        with self._connection() as db:
            return [ServerAtWork(*row) for row in db.execute(asked).fetchall()]
