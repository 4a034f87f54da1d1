"""What a person names, a recipe, models, files, becomes the plan of a run."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path

from orchestrator.agent import SUFFIX, Agent, load_agent
from orchestrator.budget import require_prices
from orchestrator.discovery import find_stand_ins
from orchestrator.earlier import Earlier, with_earlier
from orchestrator.errors import ConfigurationError, UsageError
from orchestrator.evidence import DEFAULT_TOKENS, gather
from orchestrator.hall.terms import Cognition, Role
from orchestrator.keychain import Keys, bring, unread_file
from orchestrator.models.base import Endpoint
from orchestrator.models.key_names import KEYS
from orchestrator.models.prices import parse_price, price_of
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.models_file import SUFFIXES, ModelsFile, load_models_file, route_names
from orchestrator.plan import OnFailure, Plan
from orchestrator.planning import make_plan
from orchestrator.prompt import PROTOCOL
from orchestrator.recipe import NO_LIMITS, Limits, Recipe, load_recipe, with_ending, with_tier
from orchestrator.route import Route
from orchestrator.routing import Routing, resolve
from orchestrator.shelves import folders, is_path, standing
from orchestrator.strict_yaml import did_you_mean

DEFAULT_MODELS = "models"  # the models file that is taken when none is named


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for.

    Args:
        recipe: a name in any case, or a file.
        tier: replaces the seats of a recipe that has a tier (`2`, `3:security`).
        models: a models file, by name or path.
        voices: for a role the models to ask, in order; they win over the models file. `a,b` are spread over its seats.
        rehearse: ask no model at all.
        context: files, folders, globs, ranges of git revisions, `-` for standard input; `evidence.gather` says more.
        limits: those that are given win over the recipe's.
        assumed: what a model without a known price is taken to cost, `IN/OUT` in US dollars per million tokens.
        on_failure: pause, or degrade: go on without a seat that cannot be heard.
        consensus: whether Wind and Wall vote on the synthesis; None leaves it to the recipe.
        early_close: whether the debate ends once nothing is open; None leaves it to the recipe.
        adr: folders of earlier decisions.
        context_limit: the most tokens of evidence, None for the usual; a notice says what does not fit.
        earlier: the decision that the debate starts from; its record, and what has changed since, are evidence.
    """

    recipe: str = "standard"
    tier: str | None = None
    models: str = DEFAULT_MODELS
    voices: Mapping[Role, Sequence[str]] = field(default_factory=dict)
    rehearse: bool = False
    context: Sequence[str] = ()
    limits: Limits = NO_LIMITS
    assumed: str | None = None
    on_failure: OnFailure | None = None
    consensus: bool | None = None
    early_close: bool | None = None
    adr: Sequence[str] = ()
    context_limit: int | None = None
    earlier: Earlier | None = None


def prepare(
    wanted: Wanted,
    environment: MutableMapping[str, str],
    base: Path,
    within: Sequence[Path] | None = None,
    standard_input: Callable[[], bytes] | None = None,
) -> Plan:
    """Resolves and pins everything, as `prepare_recipe` does, with the recipe that is named."""
    recipe = load_recipe(wanted.recipe, folders("recipes"))
    return prepare_recipe(recipe, wanted, environment, base, within, standard_input)


def prepare_recipe(
    recipe: Recipe,
    wanted: Wanted,
    environment: MutableMapping[str, str],
    base: Path,
    within: Sequence[Path] | None = None,
    standard_input: Callable[[], bytes] | None = None,
) -> Plan:
    """Resolves and pins everything.

    Args:
        recipe: takes the place of the one that `wanted` names.
        environment: where keys are looked for; those that stand elsewhere are put into it (`keychain`).
        base: the folder that context paths start from.
        within: the only folders that context may come from; None is everywhere.
        standard_input: reads it, where the context is to have it.

    Raises:
        UsageError: something cannot be as it was asked for; nothing was begun.
    """
    if wanted.tier is not None:
        recipe = with_tier(recipe, wanted.tier)
    recipe = with_ending(recipe, wanted.consensus, wanted.early_close)
    if wanted.rehearse and any(wanted.voices.values()):
        raise UsageError(
            "A rehearsal asks no model, so it cannot ask the ones that were named.",
            "Leave out --rehearse, or leave out --wind, --wall and --door.",
        )
    voices = {role: (REHEARSAL,) for role in Role} if wanted.rehearse else wanted.voices
    routing = routing_of(wanted.models, environment, voices)
    budget = wanted.context_limit or DEFAULT_TOKENS
    gathered = gather(
        wanted.context,
        base=base,
        within=within,
        standard_input=standard_input,
        adr=wanted.adr,
        budget_tokens=budget,
    )
    if wanted.earlier is not None:
        gathered = with_earlier(gathered, wanted.earlier, base, budget)
    plan = make_plan(
        recipe,
        _agents(recipe),
        routing,
        gathered.evidence,
        protocol=PROTOCOL,
        fence=secrets.token_hex(8),
        limits=wanted.limits,
        on_failure=wanted.on_failure or "pause",
    )
    plan = _with_notices(plan, [*_of_the_rehearsal(plan), *gathered.notices])
    if wanted.assumed is not None:
        plan = _with_assumed_prices(plan, wanted.assumed)
    require_prices(plan.endpoints_in_use.items(), plan.limits)
    return plan


def _of_the_rehearsal(plan: Plan) -> Iterator[str]:
    """What its recipe or its flags ask for and a rehearsal does without."""
    if plan.is_rehearsal and plan.recipe.consensus.required:
        yield "Nobody votes in a rehearsal: it decides nothing."
    if plan.is_rehearsal and plan.recipe.early_close:
        yield "A rehearsal does not end early: it settles nothing."


def _with_notices(plan: Plan, notices: Sequence[str]) -> Plan:
    return plan.model_copy(update={"notices": (*plan.notices, *notices)})


def _with_assumed_prices(plan: Plan, assumed: str) -> Plan:
    endpoints = plan.endpoints_in_use
    priced = endpoints_of(endpoints, assumed)
    news = [route for route in priced if priced[route] != endpoints[route]]
    notice = [f"The price of {', '.join(news)} is assumed: ${assumed} per million tokens in/out."] if news else []
    return _with_notices(plan, notice).model_copy(update={"endpoints": {**plan.endpoints, **priced}})


def endpoints_of(endpoints: Mapping[str, Endpoint], assumed: str | None) -> dict[str, Endpoint]:
    """The same routes, those without a known price with the assumed one.

    Raises:
        UsageError: `assumed` is no price.
    """
    if assumed is None:
        return dict(endpoints)
    read, written = parse_price(assumed)
    return {
        route: replace(endpoint, input_cost_per_token=read, output_cost_per_token=written)
        if route != REHEARSAL and price_of(route, endpoint) is None
        else endpoint
        for route, endpoint in endpoints.items()
    }


@dataclass(frozen=True, slots=True)
class Speakers:
    """Who can speak: a models file, the keys that were found for it, and the routes that can be used."""

    models: ModelsFile
    keys: Keys
    routing: Routing


def routing_of(models: str, environment: MutableMapping[str, str], voices: Mapping[Role, Sequence[str]]) -> Routing:
    """The usable routes, as `speakers` finds them."""
    return speakers(models, environment, voices).routing


def speakers(models: str, environment: MutableMapping[str, str], voices: Mapping[Role, Sequence[str]]) -> Speakers:
    """Finds out who can speak.

    Args:
        models: a models file, by name or path. One that is named is taken at its word; for the default others stand in.
        environment: where keys are looked for; those that stand elsewhere are put into it.
        voices: for a role the models to ask, in order; they win.

    Raises:
        UsageError: a file says something wrong, or a model that was named cannot be used.
    """
    file = _models(models)
    keys = bring_keys(environment, {name: file.endpoint(name) for name in routes_in(file, voices)}, models)
    stand_ins = partial(find_stand_ins, environment) if models == DEFAULT_MODELS else None
    routing = resolve(file, environment, voices, stand_ins, date.today())
    hint = "" if keys.sources else unread_file() or _unused(environment)
    notices = (*keys.notices, *([hint] if hint and any(routing.cognitions.values()) else ()), *routing.notices)
    return Speakers(file, keys, replace(routing, notices=notices, hint=hint))


def _unused(environment: Mapping[str, str]) -> str:
    """The sentence about a key that is set, and that no route asks for; or nothing."""
    provider, name = next(
        ((provider, name) for provider, names in KEYS.items() for name in names if environment.get(name, "").strip()),
        ("", ""),
    )
    return f"{name} is set, and no route asks {provider}: name one, such as --wind {provider}/…." if name else ""


def routes_in(file: ModelsFile, voices: Mapping[Role, Sequence[str]]) -> Iterator[str]:
    """All routes that a run could ask; where every role's are named, the file's have no say."""
    for text in (text for texts in voices.values() for text in texts):
        yield from route_names(text)
    if not all(voices.get(role) for role in Role):
        for names in (*(getattr(file.routes, cognition) for cognition in Cognition), *file.agents.values()):
            yield from names


def variables_of(file: ModelsFile) -> tuple[tuple[str, ...], ...]:
    """The variables that the routes of a models file need, of each group one."""
    routes = (Route(name, file.endpoint(name)) for name in routes_in(file, {}))
    return tuple(dict.fromkeys(group for route in routes for group in route.needed_variables))


def bring_keys(
    environment: MutableMapping[str, str], routes: Mapping[str, Endpoint], models: str = DEFAULT_MODELS
) -> Keys:
    """Puts the keys that routes need and that stand elsewhere into the environment."""
    needed = [group for name, endpoint in routes.items() for group in Route(name, endpoint).needed_variables]
    return bring(environment, needed, Path(models) if is_path(models, SUFFIXES) else None)


def _models(name: str) -> ModelsFile:
    """The models file; a route for an agent that nobody has would never be taken, and nobody would notice."""
    models = load_models_file(name, folders("configs"))
    known = standing(folders("agents"), (SUFFIX,))
    for agent in models.by_agent:
        if agent not in known:
            raise ConfigurationError(
                f"There is no agent called {agent!r:.80}.",
                did_you_mean(agent, (*known, *(role.lower() for role in Role)))
                or f"The agents are {', '.join(known)}.",
                source=name,
                key=f"agents.{agent:.80}",
            )
    return models


def _agents(recipe: Recipe) -> dict[str, Agent]:
    shelves = folders("agents")
    names = {seat.agent for role in Role for seat in recipe.seats_of(role)}
    return {name: load_agent(name, shelves) for name in names}
