"""`debate-hall init`: a models file for what is found here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from local_server import listing, serving
from orchestrator.cli.initialising import SUGGESTED
from orchestrator.models.base import Endpoint
from orchestrator.models.key_names import KEYS
from orchestrator.models.prices import known_model
from orchestrator.models_file import ModelsFile, load_models_file
from orchestrator.route import Route

Command = Callable[..., Result]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "debate-hall" / "configs" / "models.yaml"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No server and no agent CLI is there but those that a test brings; the latter stand in `bin`."""
    for name in (name for names in KEYS.values() for name in names):
        monkeypatch.setenv(name, "")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("DEBATE_HALL_LOCAL_SERVERS", "")
    return tmp_path


def written(file: Path) -> ModelsFile:
    return load_models_file(str(file), [])


def lists(models: ModelsFile) -> list[list[str]]:
    return [list(names) for names in (models.routes.PATHOS, models.routes.ETHOS, models.routes.LOGOS)]


def test_keys_become_routes_that_begin_with_different_providers(
    hall: Command, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "x")
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    result = hall("init")
    assert result.exit_code == 0, result.output
    openai, gemini = "openai/gpt-6.1-sol", "gemini/gemini-4-argon"
    assert lists(written(file)) == [[openai, gemini], [gemini, openai], [openai, gemini]]
    assert result.stdout == (
        f"found OPENAI_API_KEY (environment): {openai}\n"
        f"found GOOGLE_API_KEY (environment): {gemini}\n"
        f"wrote {file}\n"
        'Next: debate-hall doctor --deep, then run-debate "Your question?"\n'
    )
    assert hall("doctor").exit_code == 0
    taken = [each["value"] for each in json.loads(hall("config", "--json").stdout) if each["name"] == "models file"]
    assert taken == [str(file)]


def test_a_server_becomes_routes_with_its_address(hall: Command, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(listing("gpt-oss:20b", "qwen3:8b", max_model_len=8192)) as address:
        monkeypatch.setenv("DEBATE_HALL_LOCAL_SERVERS", address)
        result = hall("init")
        assert result.exit_code == 0, result.output
        assert hall("doctor").exit_code == 0
    models = written(file)
    assert [names[0] for names in lists(models)] == ["openai/gpt-oss:20b", "openai/qwen3:8b", "openai/gpt-oss:20b"]
    endpoint = models.endpoint("openai/qwen3:8b")
    assert (endpoint.api_base, endpoint.context_tokens, endpoint.max_parallel) == (f"{address}/v1", 8192, 1)


def test_agent_clis_become_routes_and_what_else_is_found_stands_in_comments(
    hall: Command, file: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in ("claude", "codex"):
        (place / "bin" / command).write_text("#!/bin/sh\n")
        (place / "bin" / command).chmod(0o755)
    assert hall("init").exit_code == 0
    assert lists(written(file)) == [
        ["cli/claude", "cli/codex"],
        ["cli/codex", "cli/claude"],
        ["cli/claude", "cli/codex"],
    ]
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    with serving(listing("m")) as address:
        monkeypatch.setenv("DEBATE_HALL_LOCAL_SERVERS", address)
        assert hall("init", "--force").exit_code == 0
    assert lists(written(file)) == [["openai/gpt-6.1-sol"]] * 3
    assert f"#     api_base: {address}/v1" in file.read_text()
    assert "# [cli/claude, cli/codex]" in file.read_text()


def test_a_file_that_is_there_is_kept(hall: Command, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    result = hall("init")
    assert result.exit_code == 2
    assert result.stderr == f"error: {file} is there already. Nothing was written; --force writes over it.\n"
    assert file.read_text() == "mine"
    assert hall("init", "--force").exit_code == 0
    assert lists(written(file)) == [["openai/gpt-6.1-sol"]] * 3


def test_it_can_be_written_elsewhere(hall: Command, file: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    result = hall("init", "--out", "team/ours.yaml")
    assert lists(written(work / "team" / "ours.yaml")) == [["openai/gpt-6.1-sol"]] * 3
    assert "Next: debate-hall doctor --deep --models team/ours.yaml, then run-debate --models" in result.stdout
    assert not file.exists()


def test_a_file_that_another_one_hides_is_said(
    hall: Command, file: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    (work / "configs").mkdir()
    (work / "configs" / "models.yaml").write_text("routes: {PATHOS: [a/b], ETHOS: [a/b], LOGOS: [a/b]}\n")
    assert "note: from this folder configs/models.yaml is taken in its place\n" in hall("init").stdout


def test_with_nothing_to_be_found_nothing_is_written(hall: Command, file: Path, work: Path) -> None:
    (work / ".env").write_text("OPENAI_API_KEY=x\n")
    result = hall("init")
    assert result.exit_code == 2
    assert "Nothing is found here that could speak. The .env in this folder is not read; " in result.stderr
    assert "export OPENAI_API_KEY=..." in result.stderr
    assert not file.parent.exists()


def test_no_key_is_written(hall: Command, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-like-any-key-0815")
    assert "0815" not in hall("init").output + file.read_text()


@pytest.mark.parametrize(("provider", "route"), SUGGESTED.items())
def test_the_suggested_models_are_known_and_asked_with_their_providers_key(provider: str, route: str) -> None:
    assert Route(route, Endpoint()).key_variables == KEYS[provider]
    assert known_model(route) is not None or provider == "openrouter"


def test_a_file_in_the_home_folder_is_not_written_over_either(
    hall: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    (tmp_path / "own.yaml").write_text("mine")
    result = hall("init", "--out=~/own.yaml")  # which no shell expands
    assert (result.exit_code, (tmp_path / "own.yaml").read_text()) == (2, "mine"), result.output
    assert "is there already" in result.output
