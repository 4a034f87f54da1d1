"""A debate held again with something changed: who is asked, who sits there, what lies on the table.

The replay is a debate of its own, linked to the one that it replays as that stood at one head. Its plan is that one's,
the fence too, so that whoever is asked the same as before has answered already. What is otherwise stands in the plan's
notices, so that every output tells it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from orchestrator.agent import Agent, load_agent
from orchestrator.budget import require_prices
from orchestrator.decision.people import words_of_people
from orchestrator.decision.record import record_of
from orchestrator.errors import UsageError
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Link
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Lease
from orchestrator.hall.terms import LinkKind, Role
from orchestrator.journal import Journal
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.models_file import route_names
from orchestrator.plan import OnFailure, Plan, PlannedRound, PlannedSeat, slot_name
from orchestrator.planning import of_one_mind, pinned, require_role
from orchestrator.recipe import NO_LIMITS, Limits, Recipe, Seat, Seats
from orchestrator.replayed import Replayed, replayed_with
from orchestrator.resuming import Resumable, changes_wanted, left_behind
from orchestrator.shelves import folders
from orchestrator.wanted import DEFAULT_MODELS, Wanted
from orchestrator.wording import listed

_LONGEST_ID = 128
_SEAT = re.compile(r"(?P<role>wind|wall|door)(?:\[(?P<number>[1-9]\d{0,3})\])?=(?P<named>\S.*)", re.IGNORECASE)

Place = tuple[Role, int]  # a seat of a recipe; its role's first is 0


@dataclass(frozen=True, slots=True)
class ReplayWanted:
    """What is to be otherwise.

    Args:
        swaps: `wall[1]=MODEL`: who is asked for Wall's first seat, `wall=MODEL` for all of them; again for a fallback.
        agents: `door=synthesizer`: who takes that seat.
        without: the evidence that is taken off the table, `E2`.
        models: the models file that knows the models named, by name or path.
        limits: those that are given take the place of the debate's; they count what the replay itself takes.
        assumed: what a model without a known price is taken to cost.
        on_failure: None leaves it to the debate's plan.
    """

    swaps: Sequence[str] = ()
    agents: Sequence[str] = ()
    without: Sequence[str] = ()
    models: str = DEFAULT_MODELS
    limits: Limits = NO_LIMITS
    assumed: str | None = None
    on_failure: OnFailure | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """A debate that can be held again.

    Args:
        debate: the one that it replays.
        plan: the replay's own.
        replayed: what it may take from that one.
    """

    debate: Debate
    plan: Plan
    replayed: Replayed

    @property
    def topic(self) -> str:
        return self.debate.opening.words

    @property
    def link(self) -> Link:
        return Link(LinkKind.REPLAYS, self.debate.state.thread_id, self.debate.head)

    def ids(self) -> Iterator[str]:
        """The ids for its thread, the one to try first first."""
        for number in count(1):
            ending = f"-replay-{number}"
            yield f"{self.debate.state.thread_id[: _LONGEST_ID - len(ending)]}{ending}"


def prepare_replay(hall: Hall, thread_id: str, wanted: ReplayWanted, environment: MutableMapping[str, str]) -> Replay:
    """Plans a replay; nothing is opened.

    Args:
        environment: where keys are looked for; those that stand elsewhere are put into it.

    Raises:
        UnknownThread, LedgerBroken
        UsageError: the debate cannot be replayed, or not so.
    """
    debate = hall.debate(thread_id)
    found = left_behind(hall, debate, _pinned_in(debate))
    nothing_asked = Journal(hall, Lease(debate.state.thread_id, 0))
    plan = _plan(replace(found, journal=nothing_asked), wanted, environment)
    return Replay(debate, plan, replayed_with(hall, debate.state.thread_id, plan))


def _pinned_in(debate: Debate) -> str:
    """The text of the plan of a debate that can be replayed.

    Raises:
        UsageError: it cannot.
    """
    name, record = debate.state.thread_id, record_of(debate)
    if record.answers is not None:
        about = record.answers.thread_id
        raise UsageError(f"{name} answers a question about {about}: there is nothing to replay.", f"Replay {about}.")
    if debate.plan is None:
        raise UsageError(f"{name} was held by hand: it has no plan to replay.", "Hold it anew: run-debate.")
    if record.rehearsal:
        raise UsageError(f"{name} is a rehearsal: no model was asked, so that nothing can be reused.", "Hold it anew.")
    if record.decision is None:
        raise UsageError(
            f"{name} has not ended with a decision that a replay could be held against.",
            f"Bring it to its end first: run-debate --resume {name}",
        )
    if debate.opening.text is None:
        raise UsageError(f"The topic of {name} was redacted: nobody can debate it again.")
    return debate.plan


# -------------------------------------------------------------------------------------------------------- what is asked


def _plan(found: Resumable, wanted: ReplayWanted, environment: MutableMapping[str, str]) -> Plan:
    routes = _named(found.plan.recipe, wanted.swaps, "--swap")
    agents = _named(found.plan.recipe, wanted.agents, "--agent")
    seated = {place: _agent(named, place) for place, named in agents.items()}
    plan = _reseated(found.plan, routes, seated)
    plan = _without(plan, wanted.without)
    told = [*_told(found.plan, plan), *(f"{name} is not on the table" for name in _ids(wanted.without))]
    if not told:
        cure = "Say what: --swap wall[1]=MODEL, --agent door=AGENT, --without E2."
        raise UsageError("Nothing would be otherwise.", cure)
    plan = _with_endpoints(found, plan, wanted, environment)
    name, head = found.debate.state.thread_id, found.debate.head
    earlier = [notice for notice in found.plan.notices if notice not in of_one_mind(found.plan.rounds)]
    notices = [f"It replays {name} as it stood at {head}, and this is otherwise: {'; '.join(told)}.", *earlier]
    if words_of_people(found.debate):
        notices.append(f"What people said in {name} is not said again; what was drafted after it is drafted anew.")
    return plan.model_copy(update={"notices": (*notices, *of_one_mind(plan.rounds)), "baseline": 0})


def _named(recipe: Recipe, texts: Sequence[str], option: str) -> dict[Place, tuple[str, ...]]:
    """What is named for each seat, in order."""
    found: dict[Place, tuple[str, ...]] = defaultdict(tuple)
    for text in texts:
        told = _SEAT.fullmatch(text.strip())
        if told is None:
            cure = "Write it so: wall[1]=NAME, or door=NAME for all seats of Door."
            raise UsageError(f"{option} {text!r:.80} names no seat.", cure)
        role, named = Role(told["role"].title()), told["named"].strip()
        seats = recipe.seats_of(role)
        number = int(told["number"]) if told["number"] else None
        if number is not None and number > len(seats):
            raise UsageError(
                f"{recipe.name} has no {role.lower()}[{number}].",
                f"Its seats of {role} are {listed([_seat_name((role, n), seat) for n, seat in enumerate(seats)])}.",
            )
        for place in range(len(seats)) if number is None else [number - 1]:
            found[role, place] += (named,)
    return dict(found)


def _agent(named: tuple[str, ...], place: Place) -> Agent:
    if len(named) > 1:
        raise UsageError(f"{_place_name(place)} is to be {listed(named)} at once.", "Name one agent for a seat.")
    return load_agent(named[0], folders("agents"))


def _reseated(plan: Plan, routes: Mapping[Place, tuple[str, ...]], seated: Mapping[Place, Agent]) -> Plan:
    """The plan with other models behind seats, and other agents on them.

    Raises:
        UsageError: two seats would say the same; an agent has another role.
    """
    for (role, _), agent in seated.items():
        require_role(plan.recipe, role, agent)
    places = _places(plan.recipe)

    def changed(seat: PlannedSeat) -> PlannedSeat:
        place, update = places[seat.slot], dict[str, object]()
        if place in routes:
            update["routes"] = routes[place]
        if place in seated:
            agent = seated[place]
            most = agent.max_output_tokens or seat.max_output_tokens
            update |= {"agent": agent.name, "temperature": agent.temperature, "max_output_tokens": most}
        return seat.model_copy(update=update)

    rounds = tuple(
        planned.model_copy(update={name: tuple(map(changed, getattr(planned, name))) for name in _OF_A_ROUND})
        for planned in plan.rounds
    )
    sitting = {seat.agent for planned in rounds for seat in planned.seats}
    agents = {**plan.agents, **{agent.name: pinned(agent) for agent in seated.values()}}
    update = {
        "rounds": rounds,
        "recipe": _with_agents(plan.recipe, seated),
        "agents": {name: agents[name] for name in sorted(sitting)},
    }
    return plan.model_copy(update=update)


_OF_A_ROUND = ("winds", "walls", "doors")


def _places(recipe: Recipe) -> dict[str, Place]:
    """Which seat of the recipe takes each slot."""
    places: dict[str, Place] = {}
    for number, slots in enumerate(recipe.slots, 1):
        taken = dict.fromkeys(Role, 0)
        for slot in slots:
            taken[slot.role] += 1
            places[slot_name(number, slot.role, taken[slot.role])] = (slot.role, slot.seat)
    return places


def _with_agents(recipe: Recipe, seated: Mapping[Place, Agent]) -> Recipe:
    if not seated:
        return recipe
    seats: dict[str, tuple[Seat, ...]] = {}
    for role in Role:
        of_role = enumerate(recipe.seats_of(role))
        sitting = [
            seat.model_copy(update={"agent": seated[role, place].name}) if (role, place) in seated else seat
            for place, seat in of_role
        ]
        twice = next((seat for seat in sitting if sitting.count(seat) > 1), None)
        if twice is not None:
            raise UsageError(f"{role} {twice.agent} would sit there twice, and say the same thing twice.")
        seats[role.lower()] = tuple(sitting)
    return recipe.model_copy(update={"tier": None, "seats": Seats(**seats)})


def _ids(without: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip().upper() for name in without))


def _without(plan: Plan, without: Sequence[str]) -> Plan:
    """The plan without some evidence; the rest keeps its names."""
    known = [piece.id for piece in plan.evidence]
    for name in _ids(without):
        if name not in known:
            raise UsageError(f"There is no {name} in its evidence.", f"It has {listed(known) or 'none'}.")
    return plan.model_copy(update={"evidence": tuple(each for each in plan.evidence if each.id not in _ids(without))})


def _with_endpoints(found: Resumable, plan: Plan, wanted: ReplayWanted, environment: MutableMapping[str, str]) -> Plan:
    """The plan with the addresses and prices of models that are new in it, within its limits.

    A model that the debate knew is asked as it was then: what it answered is taken for its answer.
    """
    new: dict[Role, tuple[str, ...]] = {}
    for seat in (seat for planned in plan.rounds for seat in planned.seats):
        named = (route for route in seat.routes if route not in found.plan.routes)
        new[seat.role] = tuple(dict.fromkeys((*new.get(seat.role, ()), *named)))
    for route in (route for routes in new.values() for route in routes):
        if route == REHEARSAL:
            raise UsageError("A rehearsal is no model: its worksheet would pass for a turn.", "Name a model.")
        if len(route_names(route)) != 1:
            raise UsageError(f"{route!r:.80} names several models.", "Give --swap again for a fallback.")
    asked = Wanted(
        models=wanted.models, voices=new, limits=wanted.limits, assumed=wanted.assumed, on_failure=wanted.on_failure
    )
    changes = changes_wanted(replace(found, plan=plan), asked, environment)
    plan = plan.with_changes(changes.model_copy(update={"routes": {}}))
    require_prices(plan.endpoints_in_use.items(), plan.limits)
    return plan


# -------------------------------------------------------------------------------------------------------- as it is told


def _told(before: Plan, after: Plan) -> Iterator[str]:
    """What is otherwise at the table, a clause for each seat."""
    sat, routes = before.recipe, dict[Place, tuple[PlannedSeat, PlannedSeat]]()
    places = _places(sat)
    for one, other in zip(_seats_in(before.rounds), _seats_in(after.rounds), strict=True):
        routes.setdefault(places[one.slot], (one, other))
    for place, (one, other) in routes.items():
        name = _seat_name(place, sat.seats_of(place[0])[place[1]])
        if one.agent != other.agent:
            yield f"on {name} sits {other.agent}"
        if one.routes != other.routes:
            yield f"{name} is asked through {', '.join(other.routes)} instead of {', '.join(one.routes)}"


def _seats_in(rounds: Sequence[PlannedRound]) -> Iterator[PlannedSeat]:
    return (seat for planned in rounds for seat in planned.seats)


def _place_name(place: Place) -> str:
    return f"{place[0].lower()}[{place[1] + 1}]"


def _seat_name(place: Place, seat: Seat) -> str:
    lens = f", {seat.lens}" if seat.lens else ""
    return f"{_place_name(place)} ({seat.agent}{lens})"
