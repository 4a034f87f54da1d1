"""A recipe, its agents, evidence and routes become a plan: who speaks in which slot, and through which models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from orchestrator.agent import Agent
from orchestrator.errors import ConfigurationError, InvalidInput, UsageError
from orchestrator.evidence import Evidence
from orchestrator.hall.inputs import require_name
from orchestrator.hall.terms import Role
from orchestrator.layout import Slot
from orchestrator.models.base import Endpoint
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.plan import OnFailure, PinnedAgent, Plan, PlannedRound, PlannedSeat, slot_name
from orchestrator.recipe import NO_LIMITS, Limits, Recipe
from orchestrator.routing import Routing
from orchestrator.wording import listed


def make_plan(
    recipe: Recipe,
    agents: Mapping[str, Agent],
    routing: Routing,
    evidence: Sequence[Evidence] = (),
    *,
    protocol: str,
    fence: str,
    limits: Limits = NO_LIMITS,
    on_failure: OnFailure = "pause",
) -> Plan:
    """Resolves a recipe.

    Args:
        agents: every agent the recipe seats, by name.
        routing: which models speak for whom.
        protocol: the words that begin every prompt.
        fence: a marker nobody can guess.
        limits: those that are given win over the recipe's.

    Raises:
        ConfigurationError: an agent has another role than its seat; a lens is no name that the hall takes.
        UsageError: a seat has no usable model.
    """
    for role in Role:
        for seat in recipe.seats_of(role):
            require_role(recipe, role, agents[seat.agent])
            _require_lens(recipe, role, seat.lens)
    rounds = tuple(_round(recipe, agents, routing, number, slots) for number, slots in enumerate(recipe.slots, 1))
    routes = [
        route
        for slot in chain.from_iterable(recipe.slots)
        for route in routing.of(slot.role, recipe.seats_of(slot.role)[slot.seat].agent, slot.seat)
        if route.endpoint != Endpoint()
    ]
    return Plan(
        recipe=Recipe.model_validate_json(recipe.model_dump_json()),  # what it says, not which file it came from
        protocol=protocol,
        fence=fence,
        agents={name: pinned(agent) for name, agent in sorted(agents.items())},
        evidence=tuple(evidence),
        endpoints={route.model: route.endpoint for route in routes},
        timeout_s=routing.timeout_s,
        rounds=rounds,
        notices=(*routing.notices, *of_one_mind(rounds)),
        limits=recipe.limits.model_copy(update=limits.model_dump(exclude_none=True)),
        on_failure=on_failure,
    )


def pinned(agent: Agent) -> PinnedAgent:
    """An agent as a plan keeps it."""
    return PinnedAgent(text=agent.text, section=agent.section, questions=agent.questions)


def require_role(recipe: Recipe, role: Role, agent: Agent) -> None:
    """Judges who is to take a seat of a role.

    Raises:
        ConfigurationError: the agent speaks as another.
    """
    if agent.role is not role:
        raise ConfigurationError(
            f"The agent {agent.name} speaks as {agent.role}, and the recipe {recipe.name} seats it as {role}.",
            f"Seat it under {agent.role.lower()}, or choose another agent (`debate-hall agents`).",
            source=recipe.source,
            key=f"seats.{role.lower()}",
        )


def _require_lens(recipe: Recipe, role: Role, lens: str | None) -> None:
    """The hall would refuse the first turn that carries such a lens, when its draft is already paid for."""
    try:
        if lens is not None:
            require_name(lens)
    except InvalidInput as error:
        raise ConfigurationError(
            f"The lens {error.message}",
            "Use plain spaces, and no invisible or joined characters.",
            source=recipe.source,
            key=f"seats.{role.lower()}",
        ) from error


def _round(
    recipe: Recipe, agents: Mapping[str, Agent], routing: Routing, number: int, slots: Sequence[Slot]
) -> PlannedRound:
    seated: dict[Role, list[PlannedSeat]] = {role: [] for role in Role}
    for slot in slots:
        seat = recipe.seats_of(slot.role)[slot.seat]
        agent, places = agents[seat.agent], seated[slot.role]
        places.append(
            PlannedSeat(
                slot=slot_name(number, slot.role, len(places) + 1),
                role=slot.role,
                agent=seat.agent,
                lens=seat.lens,
                routes=_routes(routing, slot, seat.agent),
                temperature=agent.temperature,
                max_output_tokens=agent.max_output_tokens or routing.max_output_tokens,
            )
        )
    winds, walls, doors = (tuple(seated[role]) for role in Role)
    return PlannedRound(number=number, winds=winds, walls=walls, doors=doors)


def _routes(routing: Routing, slot: Slot, agent: str) -> tuple[str, ...]:
    routes = tuple(route.model for route in routing.of(slot.role, agent, slot.seat))
    if REHEARSAL in routes[1:]:
        raise UsageError(
            f"{slot.role} {agent} would fall back to the rehearsal, which is no model: its worksheet would pass for a "
            "turn.",
            "Leave it out of the fallbacks, or name it first and alone.",
        )
    return routes


def of_one_mind(rounds: Sequence[PlannedRound]) -> Iterator[str]:
    """Says in one sentence which voices that should differ are one model."""
    seats = dict.fromkeys(
        (seat.role, seat.agent, seat.lens, seat.routes[0])
        for planned in rounds
        for seat in planned.seats
        if seat.routes[0] != REHEARSAL
    )
    roles: dict[str, dict[Role, None]] = {}
    equals: Counter[tuple[Role, str, str]] = Counter()
    for role, agent, _, route in seats:
        roles.setdefault(route, {})[role] = None
        equals[role, agent, route] += 1
    shared = {route: tuple(together) for route, together in roles.items() if len(together) > 1}
    crowded = {place: n for place, n in equals.items() if n > 1 and len(roles[place[2]]) < len(Role)}
    told = [f"{listed(together)} ask one model ({route})" for route, together in shared.items()]
    told += [f"{n} seats of {agent} ask one model ({route})" for (_, agent, route), n in crowded.items()]
    cures = [f"--{role.lower()} a,b spreads two over {role}'s seats" for role, _, _ in crowded]
    cures += [f"--{together[-1].lower()} names another" for together in shared.values()]
    if told:
        yield f"{'; '.join(told)}. Different models disagree better: {cures[0]}."
