"""Real CLIs from npm, in a home of their own; none of these tests runs where they are not installed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli_provider import CliProvider

PLACE = "AGENT_CLIS"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They start programs that take seconds."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def clis() -> Path:
    """The folder the commands are in."""
    place = os.environ.get(PLACE)
    if not place:
        pytest.skip(f"{PLACE} names no folder in which npm installed @openai/codex and @google/gemini-cli")
    return Path(place, "node_modules", ".bin")


@pytest.fixture
def provider() -> Iterator[CliProvider]:
    from cli_provider import CliProvider

    with CliProvider() as server:
        yield server


@pytest.fixture
def signed_in(clis: Path, provider: CliProvider, tmp_path: Path) -> dict[str, str]:
    """An environment in which both are signed in by key, and gemini asks the provider."""
    home = tmp_path / "home"
    (home / ".gemini").mkdir(parents=True)
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (home / ".gemini" / "settings.json").write_text(json.dumps(chosen))
    return {
        "PATH": f"{clis}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "CODEX_API_KEY": "codex-key-on-loopback",
        "GEMINI_API_KEY": "gemini-key-on-loopback",
        "GOOGLE_GEMINI_BASE_URL": provider.root,
        "OPENROUTER_API_KEY": "sk-or-none-of-their-business",
    }


@pytest.fixture
def to_provider(provider: CliProvider) -> tuple[str, ...]:
    """The arguments with which codex asks it."""
    told = f'name="loopback",base_url="{provider.base_url}",env_key="CODEX_API_KEY",wire_api="responses"'
    none = "request_max_retries=0,stream_max_retries=0"
    return ("-c", "model_provider=loopback", "-c", f"model_providers.loopback={{{told},{none}}}")
