"""What `debate-hall` shows of the shelves (recipes, agents, models) and of the settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from orchestrator.agent import SUFFIX, list_agents
from orchestrator.cli.showing import put
from orchestrator.discovery import OLLAMA_HOST, SERVERS, STAND_INS
from orchestrator.evidence import DEFAULT_TOKENS
from orchestrator.hall import folder
from orchestrator.hall.address import is_address, shown
from orchestrator.hall.terms import Cognition, Role
from orchestrator.keychain import ENVIRONMENT, FILE, SERVICE, keyring_state, own_file, unread_file
from orchestrator.models_file import Defaults, models_path
from orchestrator.recipe import SUFFIXES, Recipe, list_recipes
from orchestrator.secrets import SERVER_TOKEN
from orchestrator.shelves import Kind, bundled, folders, standing
from orchestrator.wanted import Speakers, Wanted, speakers, variables_of

BUILT_IN = "built in"
SHOWN = (folder.STATE_DIR, SERVERS, STAND_INS, OLLAMA_HOST)  # variables whose values are shown
HIDDEN = (folder.STORE, SERVER_TOKEN)  # they may hold a password

__all__ = ["agent_lines", "agents", "put", "recipe_lines", "recipes", "setting_lines", "settings"]


def recipes() -> list[dict[str, Any]]:
    return [
        {
            "name": recipe.name,
            "summary": recipe.summary,
            "mode": recipe.mode,
            "turns": recipe.turns,
            "rounds": [shape.letters for shape in recipe.shapes],
            "seats": _seats(recipe),
            "tier": recipe.tier,
            "source": recipe.source,
        }
        for recipe in list_recipes(folders("recipes"))
    ]


def _seats(recipe: Recipe) -> dict[str, list[str]]:
    return {role.value: [seat.agent for seat in recipe.seats_of(role)] for role in Role}


def recipe_lines(found: Sequence[dict[str, Any]]) -> str:
    return "".join(
        f"{recipe['name']:<12} {recipe['turns']:>3} turns  {recipe['mode']:<9} {_rounds(recipe['rounds']):<24} "
        f"{recipe['summary']}\n"
        for recipe in found
    )


def _rounds(rounds: Sequence[str]) -> str:
    if len(set(rounds)) == 1:
        return f"{len(rounds)} × {rounds[0]}"
    return " · ".join(rounds) if len(rounds) < 4 else f"{len(rounds)} rounds, first {rounds[0]}"


def agents() -> list[dict[str, Any]]:
    return [
        {
            "name": agent.name,
            "role": agent.role,
            "tier": agent.tier,
            "summary": agent.summary,
            "section": agent.section,
            "source": agent.source,
        }
        for agent in list_agents(folders("agents"))
    ]


def agent_lines(found: Sequence[dict[str, Any]]) -> str:
    return "".join(
        f"{agent['name']:<22} {agent['role']:<5} tier {agent['tier']}  {agent['summary']}\n" for agent in found
    )


def settings(models: str) -> list[dict[str, str]]:
    """Returns each setting with its value and its source; of a key only whether it is set."""
    file = models_path(models, folders("configs"))
    found = speakers(models, os.environ, {})
    return [
        _hall(),
        *_shelf("recipes", SUFFIXES),
        *_shelf("agents", (SUFFIX,)),
        *_shelf("configs", SUFFIXES),
        _setting("models file", str(file), _origin(file.parent, "configs")),
        *_routes(found, str(file)),
        *_keys(found),
        *_defaults(found.models.defaults, str(file)),
        *_variables(),
    ]


def _routes(found: Speakers, file: str) -> Iterator[dict[str, str]]:
    named = {name for cognition in Cognition for name in getattr(found.models.routes, cognition)}
    for cognition in Cognition:
        routes = [route.model for route in found.routing.cognitions[cognition]]
        source = file if named.issuperset(routes) else "found here, since no key is set"
        yield _setting(f"routes for {cognition}", ", ".join(routes) or "none that can be used", source)
    for agent, names in found.models.agents.items():
        yield _setting(f"routes for {agent}", ", ".join(names), file)


def _keys(found: Speakers) -> Iterator[dict[str, str]]:
    """Each variable that a route needs, then where else keys are looked for."""
    for group in variables_of(found.models):
        held = [name for name in group if name in found.keys.sources]
        for name in held or group[:1]:
            source = found.keys.sources.get(name, ENVIRONMENT)
            yield _setting(name, "set" if held else "not set", source)
    yield _setting("keys beside the models", str(own_file()), "read" if own_file().is_file() else "there is none")
    if unread_file():
        yield _setting("keys in this folder", FILE, "not read")
    yield _setting("system keyring", keyring_state(), f"service {SERVICE}")


def _defaults(defaults: Defaults, file: str) -> Iterator[dict[str, str]]:
    for name, value in defaults.model_dump().items():
        yield _setting(name, _as_written(value), file if name in defaults.model_fields_set else BUILT_IN)
    usual = Wanted()
    yield _setting("recipe", usual.recipe, BUILT_IN)
    yield _setting("context limit", f"{DEFAULT_TOKENS:,} tokens", BUILT_IN)
    yield _setting("cost, token and time limit", "none", "unless the recipe has one")
    yield _setting("when a seat fails", "pause", BUILT_IN)


def _as_written(value: Any) -> str:
    """A default as a models file has it, or in words where it has none: only `stream` is left to the occasion."""
    if value is None:
        return "in a live view"
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _variables() -> Iterator[dict[str, str]]:
    """Our own variables, and Ollama's; a misspelt one is listed too."""
    for name in sorted({*SHOWN, *HIDDEN, *(each for each in os.environ if each.startswith("DEBATE_HALL_"))}):
        value = os.environ.get(name, "").strip()
        shown = value if name in SHOWN else "set"
        yield _setting(name, shown if value else "not set", "environment")


def _hall() -> dict[str, str]:
    store = os.environ.get(folder.STORE, "").strip()
    if store:
        return _setting("hall", shown(store) if is_address(store) else str(Path(store) / folder.FILE), folder.STORE)
    named = os.environ.get(folder.STATE_DIR, "").strip()
    source = folder.STATE_DIR if named else "the user's state folder"
    return _setting("hall", str(folder.state_folder(os.environ) / folder.FILE), source)


def _shelf(kind: Kind, suffixes: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """The folders of a kind, in lookup order, and the user's own files in them that are taken."""
    ours = standing([bundled(kind)], suffixes)
    for shelf in folders(kind):
        yield _setting(kind, str(shelf), _origin(shelf, kind))
    for name, path in standing(folders(kind), suffixes).items():
        if path.parent.resolve() != bundled(kind).resolve():
            instead = ", in place of the bundled one" if name in ours else ""
            yield _setting(f"{kind[:-1]} {name}", str(path), f"{_origin(path.parent, kind)}{instead}")


def _setting(name: str, value: str, source: str) -> dict[str, str]:
    return {"name": name, "value": value, "source": source}


def _origin(shelf: Path, kind: Kind) -> str:
    if shelf.resolve() == bundled(kind).resolve():
        return "bundled"
    if shelf not in folders(kind):
        return "as named"
    return "user's config folder" if shelf.is_absolute() else "working folder"


def setting_lines(found: Sequence[dict[str, str]]) -> str:
    width = max(len(setting["name"]) for setting in found)
    return "".join(f"{setting['name']:<{width}}  {setting['value']}  ({setting['source']})\n" for setting in found)
