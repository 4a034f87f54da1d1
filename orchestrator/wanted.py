"""What a person names, a recipe, models, files, becomes the plan of a run."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.agent import SUFFIX, Agent, load_agent
from orchestrator.errors import ConfigurationError, UsageError
from orchestrator.evidence import gather
from orchestrator.hall.terms import Role
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.models_file import ModelsFile, load_models_file
from orchestrator.plan import Plan, make_plan
from orchestrator.prompt import PROTOCOL
from orchestrator.recipe import Recipe, load_recipe, with_tier
from orchestrator.routing import resolve
from orchestrator.shelves import folders, standing
from orchestrator.strict_yaml import did_you_mean


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for.

    Args:
        recipe: a name in any case, or a file.
        tier: replaces the seats of a recipe that has a tier (`2`, `3:security`).
        models: a models file, by name or path.
        voices: for a role the models to ask, in order; they win over the models file.
        rehearse: ask no model at all.
        context: files and globs.
    """

    recipe: str = "standard"
    tier: str | None = None
    models: str = "models"
    voices: Mapping[Role, Sequence[str]] = field(default_factory=dict)
    rehearse: bool = False
    context: Sequence[str] = ()


def prepare(wanted: Wanted, environment: Mapping[str, str], base: Path, within: Sequence[Path] | None = None) -> Plan:
    """Resolves and pins everything.

    Args:
        environment: where keys are looked for.
        base: the folder that context paths start from.
        within: the only folders that context may come from; None is everywhere.

    Raises:
        UsageError: something cannot be as it was asked for; nothing was begun.
    """
    recipe = load_recipe(wanted.recipe, folders("recipes"))
    if wanted.tier is not None:
        recipe = with_tier(recipe, wanted.tier)
    if wanted.rehearse and any(wanted.voices.values()):
        raise UsageError(
            "A rehearsal asks no model, so it cannot ask the ones that were named.",
            "Leave out --rehearse, or leave out --wind, --wall and --door.",
        )
    voices = {role: (REHEARSAL,) for role in Role} if wanted.rehearse else wanted.voices
    routing = resolve(_models(wanted.models), environment, voices)
    evidence = gather(wanted.context, base=base, within=within)
    return make_plan(recipe, _agents(recipe), routing, evidence, protocol=PROTOCOL, fence=secrets.token_hex(8))


def _models(name: str) -> ModelsFile:
    """The models file; a route for an agent that nobody has would never be taken, and nobody would notice."""
    models = load_models_file(name, folders("configs"))
    known = standing(folders("agents"), (SUFFIX,))
    for agent in models.agents:
        if agent not in known:
            raise ConfigurationError(
                f"There is no agent called {agent!r:.80}.",
                did_you_mean(agent, known) or f"The agents are {', '.join(known)}.",
                source=name,
                key=f"agents.{agent:.80}",
            )
    return models


def _agents(recipe: Recipe) -> dict[str, Agent]:
    shelves = folders("agents")
    names = {seat.agent for role in Role for seat in recipe.seats_of(role)}
    return {name: load_agent(name, shelves) for name in names}
