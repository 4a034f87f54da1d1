"""What `debate-hall` shows of the shelves (recipes, agents, models) and of the settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from orchestrator.agent import SUFFIX, list_agents
from orchestrator.cli.showing import put
from orchestrator.hall import folder
from orchestrator.hall.sqlite import FILE
from orchestrator.hall.terms import Cognition, Role
from orchestrator.models_file import load_models_file, models_path
from orchestrator.recipe import SUFFIXES, Recipe, list_recipes
from orchestrator.routing import resolve
from orchestrator.shelves import Kind, bundled, folders, standing

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
    """Returns each setting with its value and its source."""
    shelves = folders("configs")
    file, routing = models_path(models, shelves), resolve(load_models_file(models, shelves), os.environ)
    found = [_hall(), *_shelf("recipes", SUFFIXES), *_shelf("agents", (SUFFIX,)), *_shelf("configs", SUFFIXES)]
    found.append(_setting("models file", str(file), _origin(file.parent, "configs")))
    for cognition in Cognition:
        routes = ", ".join(route.model for route in routing.cognitions[cognition]) or "none that can be used"
        found.append(_setting(f"routes for {cognition}", routes, str(file)))
        found += [_setting(key, "not set", "environment") for key in routing.missing[cognition]]
    return list({(setting["name"], setting["value"]): setting for setting in found}.values())


def _hall() -> dict[str, str]:
    store = os.environ.get("DEBATE_HALL_STORE", "").strip()
    if store:
        scheme, address, _ = store.partition("://")  # what follows may hold a password
        return _setting("hall", f"{scheme}://…" if address else str(Path(store) / FILE), "DEBATE_HALL_STORE")
    named = os.environ.get(folder.STATE_DIR, "").strip()
    source = folder.STATE_DIR if named else "the user's state folder"
    return _setting("hall", str(folder.state_folder(os.environ) / FILE), source)


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
