"""docs/models.md: what it shows is understood, what it names is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from orchestrator.cli.debate_hall import debate_hall
from orchestrator.discovery import OLLAMA_HOST, SERVERS, STAND_INS, local_servers
from orchestrator.keychain import SERVICE
from orchestrator.models.key_names import KEYS
from orchestrator.models_file import parse_models
from orchestrator.route import CLIS

PAGE = Path(__file__).parents[1] / "docs" / "models.md"
TEXT = PAGE.read_text()


@pytest.mark.parametrize("example", re.findall(r"^```yaml\n(routes:.*?)^```", TEXT, re.DOTALL | re.MULTILINE))
def test_each_models_file_that_is_shown_is_one(example: str) -> None:
    parse_models(example, str(PAGE))


def test_each_command_that_is_shown_is_one() -> None:
    shown = [shlex.split(line, comments=True) for line in re.findall(r"^debate-hall .*$", TEXT, re.MULTILINE)]
    assert [words[1] for words in shown] == ["doctor", "doctor", "init", "config"]
    for _, name, *arguments in shown:
        debate_hall.commands[name].make_context(name, arguments)


def test_the_variables_commands_and_ports_that_count_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("orchestrator.discovery._ask", lambda name, address: asked.append(address))
    local_servers({})
    assert [port for address in asked if (port := address.rpartition(":")[2]) not in TEXT] == []
    for name in (OLLAMA_HOST, SERVERS, STAND_INS, *CLIS.values(), f"keyring set {SERVICE} "):
        assert name in TEXT


def test_the_table_of_keys_names_a_variable_of_each_provider() -> None:
    rows = re.findall(r"^\| [^|]+ \| (`[a-z_]+/[^|]*) \| (`[A-Z_`, or]+) \|$", TEXT, re.MULTILINE)
    for routes, variables in rows:
        providers = re.findall(r"`([a-z_]+)/", routes)
        named = re.findall(r"[A-Z_]{3,}", variables)
        assert set(named) <= {name for provider in providers for name in KEYS[provider]}
        assert all(set(named) & set(KEYS[provider]) for provider in providers)
    assert len(rows) == 6
