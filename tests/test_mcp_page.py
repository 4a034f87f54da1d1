"""docs/mcp.md and server.json, against the server they describe."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from building import BUNDLED, hall_at
from mcp_requirements.calls import opened, read_call
from orchestrator.cli.debate_hall import debate_hall
from orchestrator.errors import StaleHead
from orchestrator.mcp_server.http import PATH, TOKEN

pytestmark = pytest.mark.anyio

PAGE = (BUNDLED / "docs" / "mcp.md").read_text(encoding="utf-8")
OURS, DIFFERENCES = PAGE.split("## What differs")
PROJECT = tomllib.loads((BUNDLED / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REGISTRY = json.loads((BUNDLED / "server.json").read_text(encoding="utf-8"))


def blocks(language: str) -> list[tuple[str, str]]:
    """The page's code blocks of a language, each with the name in the comment above it."""
    return re.findall(rf"(?:^<!-- ([^\n]*) -->\n)?^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def block(name: str) -> str:
    (found,) = [text for title, text in blocks("text") if title == name]
    return found


# ------------------------------------------------------------------------------------------------------ configurations


def servers() -> Iterator[Any]:
    """Every client's configuration of our server."""
    for name, text in blocks("json"):
        yield pytest.param(json.loads(text)["mcpServers"], id=name)
    for name, text in blocks("toml"):
        yield pytest.param(tomllib.loads(text)["mcp_servers"], id=name)


def test_every_client_has_its_configuration() -> None:
    over_stdio = [".mcp.json", "claude_desktop_config.json", ".cursor/mcp.json", ".gemini/settings.json", "config.toml"]
    over_http = [".mcp.json, HTTP", ".cursor/mcp.json, HTTP", ".gemini/settings.json, HTTP", "config.toml, HTTP"]
    assert sorted(each.id for each in servers()) == sorted([*over_stdio, *over_http])


@pytest.mark.parametrize("configured", list(servers()))
def test_a_configuration_starts_or_reaches_our_server_under_its_name(configured: dict[str, Any]) -> None:
    ((name, server),) = configured.items()
    assert name == "debate-hall"
    if "command" in server:
        assert_serves([Path(server["command"]).name, *server["args"]])
        assert list(server["env"]) == ["DEBATE_HALL_STATE_DIR"]
    else:
        assert server.get("url", server.get("httpUrl", "")).endswith(PATH)
        assert TOKEN in str(server.get("headers", {}).get("Authorization", server.get("bearer_token_env_var")))


def assert_serves(words: list[str]) -> None:
    assert words[:2] == ["debate-hall", "serve"]
    serve = debate_hall.commands["serve"]
    serve.make_context("serve", words[2:])  # which refuses an option that is none


def test_every_command_line_of_ours_is_one() -> None:
    lines = [line for _, text in blocks("sh") for line in text.splitlines()]
    ours = [line[line.index("debate-hall serve") :] for line in lines if "debate-hall serve" in line]
    assert len(ours) == 4
    for line in ours:
        assert_serves(shlex.split(line))


# --------------------------------------------------------------------------------------------------------------- tools


async def test_the_table_names_every_tool_with_every_parameter(tmp_path: Path) -> None:
    with hall_at(tmp_path / "state") as hall:
        async with opened(hall) as door:
            schemas = await door.schemas()
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \|([^|]*)\|$", OURS, re.MULTILINE)
    written = {tool: set(re.findall(r"[a-z_]+", re.sub(r"\([^)]*\)", "", row))) - {"or"} for tool, row in rows}
    assert written == {tool: set(schema["properties"]) for tool, schema in schemas.items()}
    for tool, row in rows:
        for parameter, default in re.findall(r"(\w+) \(`?([\w]+)`?[;)]", row):
            assert str(schemas[tool]["properties"][parameter]["default"]).lower() == default


@pytest.mark.parametrize(
    ("name", "turns", "status"),
    [("by hand", 3, "synthesis"), ("in parallel", 3, "active")],
    ids=["by hand", "parallel"],
)
async def test_an_example_works_as_it_is_written(name: str, turns: int, status: str, tmp_path: Path) -> None:
    with hall_at(tmp_path / "state") as hall:
        async with opened(hall) as door:
            await door.play([read_call(line) for line in block(name).splitlines()])
        (listed,) = hall.list_debates()
    assert (listed["turn_count"], listed["status"]) == (3, status)


def test_the_refusal_on_the_page_is_what_a_stale_writer_reads() -> None:
    error = StaleHead("2026-02-10-cache", "sha256:…", "sha256:…")
    assert block("refused").strip() == f"{error.code}: {error}"


def test_the_differences_name_nothing_twice() -> None:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", DIFFERENCES, re.MULTILINE)
    assert len(rows) == len(set(rows)) > 10


# ------------------------------------------------------------------------------------------------------------ registry


def test_the_registry_entry_is_of_this_version_and_this_package() -> None:
    (package,) = REGISTRY["packages"]
    assert REGISTRY["version"] == package["version"] == PROJECT["version"]
    assert package["identifier"] == PROJECT["name"]
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/debate-hall", REGISTRY["name"])
    assert len(REGISTRY["description"]) <= 100  # the schema's


def test_the_command_a_client_builds_from_the_registry_entry_starts_the_server() -> None:
    """Clients put the package with its version between the runtime's arguments and its own."""
    (package,) = REGISTRY["packages"]
    before, after = ([each["value"] for each in package[kind]] for kind in ("runtimeArguments", "packageArguments"))
    command = [package["runtimeHint"], *before, f"{package['identifier']}=={package['version']}", *after]
    assert " ".join(command) == f"uvx --from run-debate=={PROJECT['version']} debate-hall serve"
    assert after[0] in PROJECT["scripts"]
    assert_serves(after)
