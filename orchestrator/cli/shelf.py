"""What `debate-hall` shows of the shelves (recipes, agents, models) and of the settings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orchestrator.agent import list_agents
from orchestrator.cli.showing import put
from orchestrator.hall import folder
from orchestrator.hall.sqlite import FILE
from orchestrator.hall.terms import Cognition, Role
from orchestrator.models_file import load_models_file, models_path
from orchestrator.recipe import Recipe, list_recipes
from orchestrator.routing import resolve
from orchestrator.shelves import folders

__all__ = ["agent_lines", "agents", "put", "recipe_lines", "recipes", "setting_lines", "settings"]


def recipes() -> list[dict[str, Any]]:
    return [
        {
            "name": recipe.name,
            "summary": recipe.summary,
            "mode": recipe.mode,
            "turns": recipe.turns,
            "rounds": [_letters(shape) for shape in recipe.shapes],
            "seats": _seats(recipe),
            "tier": recipe.tier,
            "source": recipe.source,
        }
        for recipe in list_recipes(folders("recipes"))
    ]


def _letters(shape: Sequence[int]) -> str:
    """A round as its table shows it: W LLL D."""
    return " ".join(letter * count for letter, count in zip("WLD", shape, strict=True))


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
    file = models_path(models, folders("configs"))
    routing = resolve(load_models_file(models, folders("configs")), os.environ)
    named = os.environ.get(folder.STATE_DIR, "").strip()
    state = folder.state_folder(os.environ)
    found = [_setting("hall", str(state / FILE), folder.STATE_DIR if named else "the user's state folder")]
    for kind in ("recipes", "agents", "configs"):
        found += [_setting(kind, str(shelf), _origin(shelf)) for shelf in folders(kind)]
    found.append(_setting("models file", str(file), _origin(file.parent)))
    for cognition in Cognition:
        routes = ", ".join(route.model for route in routing.cognitions[cognition]) or "none that can be used"
        found.append(_setting(f"routes for {cognition}", routes, str(file)))
        found += [_setting(key, "not set", "environment") for key in routing.missing[cognition]]
    return list({(setting["name"], setting["value"]): setting for setting in found}.values())


def _setting(name: str, value: str, source: str) -> dict[str, str]:
    return {"name": name, "value": value, "source": source}


def _origin(shelf: Path) -> str:
    if not shelf.is_absolute():
        return "working folder"
    return "user's config folder" if "debate-hall" in shelf.parts else "bundled"


def setting_lines(found: Sequence[dict[str, str]]) -> str:
    width = max(len(setting["name"]) for setting in found)
    return "".join(f"{setting['name']:<{width}}  {setting['value']}  ({setting['source']})\n" for setting in found)
