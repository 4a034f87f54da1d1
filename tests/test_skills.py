"""The skills that ship, against what they speak of: every name, parameter and default in them exists and works."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from building import BUNDLED, RECIPES, bundled_agent, bundled_recipe, hall_at
from mcp_requirements.calls import is_call, opened, read_call
from orchestrator.cli.debate_hall import debate_hall
from orchestrator.cli.run_debate import run_debate
from orchestrator.hall.terms import Role
from orchestrator.recipe import TIERS
from orchestrator.strict_yaml import Shape, load

pytestmark = pytest.mark.anyio

SKILLS = ("debate-hall", "debate-hall-manual")
BY_HAND = {"init_debate", "pick_next_speaker", "add_turn", "get_debate", "close_debate"}


class FrontMatter(Shape):
    """A skill's front matter, and nothing beside it."""

    name: str
    description: str
    triggers: tuple[str, ...]
    allowed_tools: tuple[str, ...] = Field(alias="allowed-tools")


def parts(skill: str) -> tuple[str, str]:
    """A skill's front matter and its body."""
    text = (BUNDLED / "skills" / skill / "SKILL.md").read_text(encoding="utf-8")
    before, front, body = text.split("---\n", 2)
    assert before == ""
    return front, body.strip("\n")


def strings(text: str) -> list[str]:
    return re.findall(r'"([^"\n]*)"', text)


def section(skill: str, name: str) -> str:
    return re.split(r"^§\d+::", parts(skill)[1].split(f"::{name}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def signatures(skill: str) -> dict[str, str]:
    """Every signature of the skill's section of tools, by tool."""
    return {text.partition("(")[0]: text for text in strings(section(skill, "TOOLS")) if is_call(text)}


def parameters_of(signature: str) -> dict[str, Any]:
    """Parameter to default; `...` where there is none."""
    node = ast.parse(signature, mode="eval").body
    assert isinstance(node, ast.Call)
    required = {argument.id: ... for argument in node.args if isinstance(argument, ast.Name)}
    return {**required, **read_call(signature).named}


def parameters_in(schema: dict[str, Any]) -> dict[str, Any]:
    required = schema.get("required", [])
    return {name: ... if name in required else found["default"] for name, found in schema["properties"].items()}


@pytest.fixture
async def tools(tmp_path: Path) -> dict[str, dict[str, Any]]:
    with hall_at(tmp_path / "state") as hall:
        async with opened(hall) as door:
            return await door.schemas()


# -------------------------------------------------------------------------------------------------------- front matter


@pytest.mark.parametrize("skill", SKILLS)
def test_the_front_matter_loads_strictly_and_allows_reading_and_our_tools_only(skill: str) -> None:
    front, _ = parts(skill)
    loaded = load(front, source=skill, shape=FrontMatter)
    assert loaded.name == skill
    assert loaded.allowed_tools == ("Read", "mcp__debate-hall__*")
    assert 1 <= len(loaded.description) <= 1024
    assert len(set(loaded.triggers)) == len(loaded.triggers) == 6


@pytest.mark.parametrize("skill", SKILLS)
def test_the_body_is_one_octave_document(skill: str) -> None:
    _, body = parts(skill)
    name = skill.upper().replace("-", "_")
    assert (body.splitlines()[0], body.splitlines()[-1]) == (f"==={name}===", "===END===")
    numbers = [int(number) for number in re.findall(r"^§(\d+)::[A-Z_]+$", body, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))


# --------------------------------------------------------------------------------------------------------------- tools


@pytest.mark.parametrize("skill", SKILLS)
async def test_every_signature_is_that_of_the_tool_parameter_by_parameter(
    skill: str, tools: dict[str, dict[str, Any]]
) -> None:
    named = signatures(skill)
    assert {tool: parameters_of(text) for tool, text in named.items()} == {
        tool: parameters_in(tools[tool]) for tool in named
    }


async def test_every_tool_of_ours_is_named(tools: dict[str, dict[str, Any]]) -> None:
    assert set(signatures("debate-hall")) == set(tools)
    assert set(signatures("debate-hall-manual")) == BY_HAND


@pytest.mark.parametrize("skill", SKILLS)
async def test_every_name_in_the_prose_that_looks_like_a_tool_is_a_tool_or_a_parameter(
    skill: str, tools: dict[str, dict[str, Any]]
) -> None:
    answers = {"next_role", "legal_roles", "starved_roles", "stale_head", "first_words", "run_held"}
    known = set(tools) | answers | set(chain.from_iterable(schema["properties"] for schema in tools.values()))
    prose = " ".join(text for text in strings(parts(skill)[1]) if not is_call(text))
    assert set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", prose)) - known == set()


# ------------------------------------------------------------------------------------------- recipes, agents, commands


def test_every_recipe_is_named_with_its_turns_mode_ratio_and_agents() -> None:
    lines = dict(re.findall(r'^  ([A-Z]+)::"(\d+ turns, [^"]*)"$', section("debate-hall", "RECIPES"), re.MULTILINE))
    assert set(lines) == {name.upper() for name in RECIPES}
    for name, line in lines.items():
        recipe = bundled_recipe(name.lower())
        ratio = ":".join(str(part) for part in recipe.ratio.parts)
        assert line.startswith(f"{recipe.turns} turns, {recipe.mode}, {ratio}, ")
        tier = re.search(r"tier (\d)", line)
        named = {seat.agent for row in (TIERS[tier[1]] if tier else recipe.seats) or () for seat in row[1]}
        assert named == {seat.agent for role in Role for seat in recipe.seats_of(role)}
        assert tier or all(agent in line for agent in named)


def test_every_tier_is_named_with_its_agents() -> None:
    agents = section("debate-hall", "AGENTS")
    blocks = dict(re.findall(r"^ +([A-Z0-9_]+)::\[\s*([a-z,\s-]+?)\s*\]$", agents, re.MULTILINE))
    named = {key: re.split(r",\s*", text) for key, text in blocks.items()}
    tier_2 = [*named["WIND"], *named["WALL"], *named["DOOR"]]
    written = {
        "1": named["AGENTS"],
        "2": tier_2,
        **{f"3:{domain.lower()}": named[domain] for domain in ("SECURITY", "INNOVATION", "ARCHITECTURE")},
    }
    assert written == {
        name: [seat.agent for row in (seats.wind, seats.wall, seats.door) for seat in row]
        for name, seats in TIERS.items()
    }
    assert all(bundled_agent(agent).name == agent for row in written.values() for agent in row)


def test_every_command_is_one() -> None:
    body = parts("debate-hall")[1]
    (command,) = re.findall("by the command debate-hall ([a-z-]+)", body)
    assert command in debate_hall.commands
    options = {option for parameter in run_debate.params for option in parameter.opts}
    assert set(re.findall(r"--[a-z-]+", body)) <= options
    assert set(re.findall(r"--recipe ([a-z]+)", body)) <= set(RECIPES)


def test_every_page_is_there() -> None:
    pages = re.findall(r"[a-zA-Z/-]+\.(?:oct\.)?md\b", section("debate-hall", "RESOURCES"))
    assert len(pages) == 4
    assert [page for page in pages if not (BUNDLED / page).is_file()] == []


# ------------------------------------------------------------------------------------------------------------ examples


def examples() -> Iterator[Any]:
    """Every list of calls that begins with init_debate."""
    for skill in SKILLS:
        for name, block in re.findall(r"^  (\w+)::\[\n(.*?)\n  \]$", parts(skill)[1], re.MULTILINE | re.DOTALL):
            calls = strings(block)
            if all(map(is_call, calls)) and re.match(r"init_debate\(\w+='", calls[0]):
                yield pytest.param(calls, id=f"{skill} {name}")


def test_there_are_examples() -> None:
    assert len(list(examples())) == 4


@pytest.mark.parametrize("calls", list(examples()))
async def test_an_example_works_as_it_is_written(calls: list[str], tmp_path: Path) -> None:
    with hall_at(tmp_path / "state") as hall:
        async with opened(hall) as door:
            await door.play(list(map(read_call, calls)))
        (listed,) = hall.list_debates()
        debate = hall.get_debate(listed["thread_id"])
    assert debate["balance"] == {"Wind": 1, "Wall": 1, "Door": 1}
    assert debate["status"] == ("synthesis" if "close_debate" in calls[-1] else "active")
