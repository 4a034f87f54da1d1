"""What a debate would find here: every route with what it needs, local servers, agent CLIs; and whether they answer.

Nothing is spent unless trial calls are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import anyio

from orchestrator.discovery import Server, agent_clis, is_open, local_servers, server_at
from orchestrator.hall.terms import Role
from orchestrator.models.base import Endpoint
from orchestrator.models.cli_agent import CliAgent, Probe
from orchestrator.models.cli_known import cli_of
from orchestrator.models.prices import Price, context_of, price_of
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.route import Route, doubts, missing
from orchestrator.routing import Routing
from orchestrator.trial_call import Trial, trials
from orchestrator.wanted import Speakers, routes_in, speakers


@dataclass(frozen=True, slots=True)
class Examined:
    """One route. `lacking` is half a sentence, empty where it can be asked; `doubts` are sentences."""

    route: Route
    has: tuple[str, ...]  # what it needs and has, each with where it was found
    lacking: str
    price: Price | None
    context_tokens: int | None
    doubts: tuple[str, ...]
    trial: Trial | None = None

    @property
    def answers(self) -> bool:
        """Whether it can be asked, and answered where that was tried."""
        return not self.lacking and not (self.trial and self.trial.problem)


@dataclass(frozen=True, slots=True)
class Examination:
    """All that was found. `asked` are the routes of each role in their order, the first of them speaks."""

    routes: Mapping[str, Examined]
    asked: Mapping[Role, tuple[str, ...]]
    declared: Mapping[Role, tuple[str, ...]]  # by the models file
    servers: tuple[Server, ...]
    clis: tuple[tuple[str, Probe], ...]  # by command
    notices: tuple[str, ...]
    hint: str

    def is_well(self, role: Role) -> bool:
        """Whether a role has a route that answers."""
        return any(self.routes[name].answers for name in self.asked[role])

    def problems(self) -> Iterator[str]:
        """Who has no voice, and what is missing for one."""
        silent: dict[frozenset[str], list[Role]] = {}
        for role in (role for role in Role if not self.is_well(role)):
            silent.setdefault(frozenset(self.asked[role] or self.declared[role]), []).append(role)
        for roles in silent.values():
            role = roles[0]
            tried = any(not self.routes[name].lacking for name in self.asked[role])
            needs = (self.routes[name].lacking for name in (*self.asked[role], *self.declared[role]))
            why = "answers" if tried else f"can be asked ({'; '.join(filter(None, dict.fromkeys(needs)))})"
            yield f"{', '.join(roles)}: no model {why}."


def examine(models: str, environment: MutableMapping[str, str], today: date, *, deep: bool = False) -> Examination:
    """Finds out what a debate would find.

    Args:
        models: a models file, by name or path.
        environment: where keys are looked for; those that stand elsewhere are put into it.
        deep: also makes a tiny real call to every route that can be asked.

    Raises:
        UsageError: the models file, or a `.env`, says something wrong.
    """
    found = speakers(models, environment, {})
    known = {route.model: route for route in _known(found)}
    probes = anyio.run(_probes, environment, [route for route in known.values() if route.command])
    examined = {name: _examined(route, found, environment, probes, today) for name, route in known.items()}
    asked = {role: tuple(route.model for route in _asked(found.routing, role)) for role in Role}
    if deep:
        usable = [each.route for each in examined.values() if not each.lacking and each.route.model != REHEARSAL]
        tried = anyio.run(trials, usable, asked[Role.DOOR])
        examined = {name: replace(each, trial=tried.get(name)) for name, each in examined.items()}
    return Examination(
        routes=examined,
        asked=asked,
        declared={role: tuple(getattr(found.models.routes, role.cognition)) for role in Role},
        servers=local_servers(environment),
        clis=tuple(probes.items()),
        notices=found.routing.notices,
        hint=found.routing.hint,
    )


def _known(found: Speakers) -> Iterator[Route]:
    """Every route of the models file, and whoever stands in."""
    for name in routes_in(found.models, {}):
        yield Route(name, found.models.endpoint(name))
    for routes in found.routing.cognitions.values():
        yield from routes


def _asked(routing: Routing, role: Role) -> Sequence[Route]:
    return routing.roles.get(role) or routing.cognitions[role.cognition]


def _examined(
    route: Route, found: Speakers, environment: Mapping[str, str], probes: Mapping[str, Probe], today: date
) -> Examined:
    keys = (name for group in route.needed_variables for name in group if name in found.keys.sources)
    lacking = route.lacking(environment)
    return Examined(
        route=route,
        has=tuple(f"{name} ({found.keys.sources[name]})" for name in keys),
        lacking=missing(lacking) if lacking else _silent(route, probes),
        price=price_of(route.model, route.endpoint),
        context_tokens=context_of(route.model, route.endpoint),
        doubts=(*doubts(route, today), *_unlisted(route)),
    )


def _silent(route: Route, probes: Mapping[str, Probe]) -> str:
    """Why something that is there would not answer, as far as that shows without asking it."""
    cli, address = cli_of(route.model, route.endpoint), route.endpoint.api_base
    if cli and cli.command in probes and probes[cli.command].signed_in is False:
        return f"nobody is signed in ({cli.login})"
    return f"nothing answers at {address}" if address and not is_open(address) else ""


def _unlisted(route: Route) -> Iterator[str]:
    """Says so when a local server lists its models and this one is not among them."""
    address, name = route.endpoint.api_base, route.model.partition("/")[2]
    server = server_at(address) if address else None
    listed = [model.id for model in server.models] if server else []
    if listed and name not in listed:
        yield f"The server at {address} does not list {name}; it has {', '.join(listed)}."


async def _probes(environment: Mapping[str, str], routes: Sequence[Route]) -> dict[str, Probe]:
    """What the agent CLIs say of themselves, by their command: those on the PATH, and those that the routes name."""
    agent, found = CliAgent(environment), dict[str, Probe]()
    for route in (*(Route(name, Endpoint()) for name in agent_clis(environment)), *routes):
        cli = cli_of(route.model, route.endpoint)
        if cli and cli.command not in found:
            found[cli.command] = await agent.probe(cli)
    return found
