"""What the debate that a thread replays has paid for already, and which of it the thread may take.

A reply is taken where the same seat asked the same: topic, evidence, turns before, agent, task. Of a seat that is asked
through other models now, only what one of those has said. A replay of a replay reads on in the debate behind that one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from orchestrator.errors import UnknownThread
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role
from orchestrator.journal import Ask, Journal, Past
from orchestrator.plan import Changes, Plan, PlannedSeat
from orchestrator.usage import NOTHING

Voice = tuple[Role, str, str | None]  # who speaks, in which slot it may be: role, agent, lens


@dataclass(frozen=True, slots=True)
class Replayed:
    """The replies of a debate, for one that replays it.

    Args:
        thread_id: the debate's.
        journal: where they stand; None: nowhere.
        elsewhere: the voices that are asked through other models in the replay.
        behind: those of the debate that this one replays itself.
    """

    thread_id: str = ""
    journal: Journal | None = None
    elsewhere: frozenset[Voice] = frozenset()
    behind: Replayed | None = None

    def __bool__(self) -> bool:
        return self.journal is not None

    def past(self, ask: Ask, seat: PlannedSeat) -> tuple[Past, ...]:
        """Returns what came when the same seat asked the same there. None of it costs anything any more."""
        if self.journal is None:
            return ()
        found = (*map(self._free, self.journal.past(ask)), *(self.behind.past(ask, seat) if self.behind else ()))
        if (seat.role, seat.agent, seat.lens) not in self.elsewhere:
            return found
        return tuple(past for past in found if past.route in seat.routes)

    def _free(self, past: Past) -> Past:
        reply = replace(past.reply, usage=NOTHING) if past.reply else None
        return past._replace(reply=reply, usage=None, thread=self.thread_id)


NOTHING_REPLAYED = Replayed()


def replayed_by(hall: Hall, thread_id: str) -> Replayed:
    """Reads what a thread may take from the debate that it replays.

    Raises:
        LedgerBroken, StoreError
        ConfigurationError: this version cannot read a plan.
    """
    debate = hall.debate(thread_id)
    return replayed_with(hall, debate.replays.thread_id, Plan.pinned_in(debate)) if debate.replays else NOTHING_REPLAYED


def replayed_with(hall: Hall, thread_id: str, plan: Plan | None) -> Replayed:
    """Reads what a replay with another plan may take from a debate; of one that is not here, nothing."""
    try:
        debate = hall.debate(thread_id)
    except UnknownThread:
        return NOTHING_REPLAYED
    pinned = Plan.pinned_in(debate)
    if plan is None or pinned is None:
        return NOTHING_REPLAYED
    journal = Journal.to_read(hall, thread_id)
    before = plan_in_force(pinned, journal)
    elsewhere = frozenset(_routes_of(plan).items() - _routes_of(before).items())
    behind = replayed_with(hall, debate.replays.thread_id, before) if debate.replays else None
    return Replayed(debate.state.thread_id, journal, frozenset(voice for voice, _ in elsewhere), behind)


def plan_in_force(pinned: Plan, journal: Journal) -> Plan:
    """The plan that is pinned in a debate, with what its later processes changed."""
    changes = [Changes.model_validate_json(record.changes) for record in journal.begun if record.changes]
    return reduce(Plan.with_changes, changes, pinned)


def _routes_of(plan: Plan) -> dict[Voice, frozenset[str]]:
    """Through which routes each voice is asked."""
    routes: dict[Voice, frozenset[str]] = {}
    for seat in (seat for planned in plan.rounds for seat in planned.seats):
        voice = (seat.role, seat.agent, seat.lens)
        routes[voice] = routes.get(voice, frozenset()) | set(seat.routes)
    return routes
