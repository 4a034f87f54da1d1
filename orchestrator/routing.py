"""Routes: which models answer for which seats, from the models file, the flags and the keys in the environment.

For each seat the flags of its role win over its agent's routes, those over the routes that are spread over its role's
seats, and those over its cognition's; of these the first usable one answers and the rest are its fallbacks. A route is
usable when the key it needs is set, or its command is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from pydantic_core import PydanticCustomError

from orchestrator.errors import ConfigurationError, UsageError
from orchestrator.hall.terms import Cognition, Role
from orchestrator.layout import spread
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.models_file import ModelsFile, load_models_file, route_name, route_names
from orchestrator.route import Route, doubts, missing

__all__ = ["REHEARSAL", "SETUP", "ModelsFile", "Route", "Routing", "StandIns", "load_models_file", "resolve"]

SETUP = """\
Set up one of these:

  a key, in the shell that runs the debate (one is enough; three let the roles differ)
      export ANTHROPIC_API_KEY=...     https://platform.claude.com
      export OPENAI_API_KEY=...        https://platform.openai.com
      export GEMINI_API_KEY=...        https://aistudio.google.com

  a local server (Ollama, LM Studio, llama.cpp, vLLM), which is found while it runs
      ollama pull gpt-oss:20b; run-debate --models local ...

  an agent CLI that is signed in (claude, codex, gemini), which is found on the PATH

  no model at all: a worksheet to hold the debate by hand
      run-debate --rehearse ...

debate-hall doctor shows what is found here, debate-hall init writes it into a models file."""


@dataclass(frozen=True, slots=True)
class Routing:
    """The usable routes, in order: the first answers, the rest are its fallbacks.

    `missing` is what is not there and would make more of a cognition's routes usable, a variable or a command;
    `notices` are sentences a user should read before the debate begins; `hint` is one for whoever has no usable route.
    """

    flags: Mapping[Role, tuple[tuple[Route, ...], ...]]  # each flag a list, which is spread over the role's seats
    agents: Mapping[str, tuple[Route, ...]]
    roles: Mapping[Role, tuple[Route, ...]]  # these are spread too
    cognitions: Mapping[Cognition, tuple[Route, ...]]
    missing: Mapping[Cognition, tuple[str, ...]]
    max_output_tokens: int
    timeout_s: float
    notices: tuple[str, ...]
    hint: str = ""

    def of(self, role: Role, agent: str, seat: int = 0) -> tuple[Route, ...]:
        """The routes of one seat.

        Args:
            seat: its place among the recipe's seats of the role, from 0.

        Raises:
            UsageError: there is none; it shows how to set one up.
        """
        named, spread_out = self.flags.get(role), self.roles.get(role)
        if named:
            return spread(named, seat)
        routes = self.agents.get(agent) or (spread([spread_out], seat) if spread_out else self._of_cognition(role))
        if not routes:
            lacking = missing(self.missing[role.cognition])
            told = f"No model can be used for {role} ({role.cognition}): {lacking}. {self.hint}"
            raise UsageError(told.rstrip(), SETUP)
        return routes

    def _of_cognition(self, role: Role) -> tuple[Route, ...]:
        return self.cognitions.get(role.cognition, ())

    def first_of(self, role: Role) -> Route | None:
        """The route that a role's first seat asks, where its agent has none of its own."""
        named = self.flags.get(role)
        routes = named[0] if named else self.roles.get(role) or self._of_cognition(role)
        return routes[0] if routes else None


@dataclass(frozen=True, slots=True)
class StandIns:
    """Who speaks for a cognition of which no route can be used, and the sentence that says why."""

    routes: Mapping[Cognition, tuple[Route, ...]]
    why: str


def resolve(
    models: ModelsFile,
    environment: Mapping[str, str],
    flags: Mapping[Role, Sequence[str]] | None = None,
    find_stand_ins: Callable[[], StandIns | None] | None = None,
    today: date | None = None,
) -> Routing:
    """Decides what is usable.

    Args:
        models: the models file.
        environment: where keys are looked for; their values are only tested for being there.
        flags: what was asked for by name (`--wind`, `--wall`, `--door`), in order; `a,b` are spread over the seats.
        find_stand_ins: looks for others who could speak; called where no cognition has a usable route. None takes the
            file at its word: a cognition without a usable route has none.
        today: by which it is judged whether a model is retired; None leaves that open.

    Raises:
        UsageError: a flag's model cannot be used.
    """
    flagged = {
        role: tuple(tuple(_flagged(role, name, models, environment) for name in route_names(text)) for text in texts)
        for role, texts in (flags or {}).items()
        if texts
    }
    by_role = {role: _usable(_routes(models, names), environment) for role, names in models.by_role.items()}
    declared = {cognition: tuple(_routes(models, getattr(models.routes, cognition))) for cognition in Cognition}
    usable = {cognition: _usable(routes, environment) for cognition, routes in declared.items()}
    needed = [role.cognition for role in Role if role not in flagged and not by_role.get(role)]
    lent = _lent(usable, find_stand_ins) if find_stand_ins and not all(usable[each] for each in needed) else None
    routing = Routing(
        flags=flagged,
        agents={agent: _usable(_routes(models, names), environment) for agent, names in models.by_agent.items()},
        roles=by_role,
        cognitions={each: routes or (lent.routes[each] if lent else ()) for each, routes in usable.items()},
        missing={cognition: _missing(routes, environment) for cognition, routes in declared.items()},
        max_output_tokens=models.defaults.max_output_tokens,
        timeout_s=models.defaults.timeout_s,
        notices=(),
    )
    why = [lent.why] if lent and lent.why else list(_why_not_the_first(routing, declared, environment))
    return replace(routing, notices=(*why, *_notices(routing, today)))


def _lent(
    usable: Mapping[Cognition, tuple[Route, ...]], find_stand_ins: Callable[[], StandIns | None]
) -> StandIns | None:
    """Who speaks where a cognition has nobody: those of the others, who need no finding; else whoever is found."""
    known = tuple(dict.fromkeys(route for routes in usable.values() for route in routes))
    return StandIns(dict.fromkeys(Cognition, known), "") if known else find_stand_ins()


def _why_not_the_first(
    routing: Routing, declared: Mapping[Cognition, tuple[Route, ...]], environment: Mapping[str, str]
) -> Iterator[str]:
    for role in Role:
        first, found = declared[role.cognition][0], routing.cognitions[role.cognition]
        if found and role not in routing.flags and not routing.roles.get(role) and found[0] != first:
            yield f"{role} speaks through {found[0].model}, not {first.model}: {missing(first.lacking(environment))}."


def _route(models: ModelsFile, name: str) -> Route:
    return Route(name, models.endpoint(name))


def _routes(models: ModelsFile, names: Iterable[str]) -> Iterator[Route]:
    return (_route(models, name) for name in names)


def _usable(routes: Iterable[Route], environment: Mapping[str, str]) -> tuple[Route, ...]:
    return tuple(route for route in routes if route.is_usable(environment))


def _missing(routes: Iterable[Route], environment: Mapping[str, str]) -> tuple[str, ...]:
    unusable = (route for route in routes if not route.is_usable(environment))
    return tuple(dict.fromkeys(route.lacking(environment)[0] for route in unusable))


def _flagged(role: Role, name: str, models: ModelsFile, environment: Mapping[str, str]) -> Route:
    flag = f"--{role.lower()}"
    try:
        route = _route(models, route_name(name))
    except PydanticCustomError as error:
        context = error.context or {}
        raise ConfigurationError(context["message"], context["cure"], source=flag) from None
    if not route.is_usable(environment):
        raise UsageError(
            f"{flag} {name}: {missing(route.lacking(environment))}.",
            "Mend that, or name a model that can be asked: debate-hall doctor shows which.",
        )
    return route


def _notices(routing: Routing, today: date | None) -> Iterator[str]:
    for agent, routes in routing.agents.items():
        if not routes:
            yield f"No route of the agent {agent} has its key set; it speaks through the routes of its role."
    for role, routes in routing.roles.items():
        if not routes:
            yield f"No route of {role} has its key set; it speaks through {role.cognition}'s."
    first = [found for role in Role if (found := routing.first_of(role))]
    providers = {route.endpoint.api_base or route.command or route.provider or route.model for route in first}
    different = len(set(first)) > 1  # that all roles are one model the plan says, which knows the seats too
    if len(first) == len(Role) and len(providers) == 1 and different:
        yield f"All roles use one provider ({providers.pop()}); three different ones disagree better."
    for route in dict.fromkeys(_leading(routing)):
        yield from doubts(route, today)


def _leading(routing: Routing) -> Iterator[Route]:
    """The routes that seats ask first: all of a list that is spread over them."""
    for role in Role:
        named = routing.flags.get(role)
        yield from named[0] if named else routing.roles.get(role) or routing.cognitions.get(role.cognition, ())[:1]
