"""`debate-hall doctor`: who would speak, what each model needs, and what to set."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from building import account_text
from endpoint import Answer, Call, ModelServer, no_such_model, web_page, wrong_key
from local_server import listing, serving

Command = Callable[..., Result]

KEY = "not-like-any-key-0815"


@pytest.fixture
def own(work: Path) -> Callable[[str], None]:
    """Writes a models file, `own.yaml`."""
    return lambda text: (work / "own.yaml").write_text(text) and None


def members(result: Result) -> Any:
    return json.loads(result.stdout)


# ---------------------------------------------------------------- without a call


def test_without_a_key_it_names_what_to_set_and_fails(hall: Command) -> None:
    result = hall("doctor")
    assert result.exit_code == 2
    assert "Wind (PATHOS): nobody\nWall (ETHOS): nobody\nDoor (LOGOS): nobody\n" in result.stdout
    assert (
        "Wind, Wall, Door: no model can be asked (ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN is not set; "
        "OPENAI_API_KEY is not set; GEMINI_API_KEY or GOOGLE_API_KEY is not set).\n"
    ) in result.stdout


def test_with_one_key_every_role_has_a_model_and_each_is_told_why(
    hall: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    result = hall("doctor")
    assert result.exit_code == 0
    assert "Door (LOGOS): openai/gpt-6.1-sol\n" in result.stdout
    assert "  usable   openai/gpt-6.1-sol\n           OPENAI_API_KEY (environment); $" in result.stdout
    missing = "GEMINI_API_KEY or GOOGLE_API_KEY is not set"
    assert f"  missing  gemini/gemini-4-argon\n           {missing}; $" in result.stdout
    assert f"note: Door speaks through openai/gpt-6.1-sol, not gemini/gemini-4-argon: {missing}.\n" in result.stdout
    assert result.stdout.endswith("\nEvery role has a model.\n")
    assert KEY not in result.output


def test_a_program_reads_the_same(hall: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    found = members(hall("doctor", "--json"))
    assert (found["well"], found["problems"]) == (True, [])
    assert found["roles"]["Door"] == {"cognition": "LOGOS", "asks": ["openai/gpt-6.1-sol"], "well": True}
    routes = {each["route"]: each for each in found["routes"]}
    assert routes["openai/gpt-6.1-sol"]["has"] == ["OPENAI_API_KEY (environment)"]
    assert routes["openai/gpt-6.1-sol"]["trial"] is None
    assert routes["gemini/gemini-4-argon"]["lacking"] == "GEMINI_API_KEY or GOOGLE_API_KEY is not set"


def test_misspelt_and_retired_models_are_told_with_the_nearest_name(hall: Command, own: Callable[[str], None]) -> None:
    own("routes: {PATHOS: [openai/gpt-6.1-soll], ETHOS: [azure/codex-mini], LOGOS: [rehearsal]}\n")
    text = hall("doctor", "--models", "own.yaml").stdout
    told = "The model openai/gpt-6.1-soll is not known here, nor its price. Did you mean openai/gpt-6.1-sol?"
    assert text.count(told) == 1
    assert "The model azure/codex-mini was retired on 2026-11-15. Did you mean azure/" in text


def test_a_role_that_has_nobody_fails_whatever_the_others_have(hall: Command, own: Callable[[str], None]) -> None:
    own("routes: {PATHOS: [rehearsal], ETHOS: [groq/x], LOGOS: [rehearsal]}\n")
    result = hall("doctor", "--models", "own.yaml")
    assert result.exit_code == 2
    assert "Wall: no model can be asked (GROQ_API_KEY is not set).\n" in result.stdout


def test_a_local_server_is_tried_without_being_asked_anything(hall: Command, own: Callable[[str], None]) -> None:
    routes = "routes: {{PATHOS: [openai/m], ETHOS: [openai/m], LOGOS: [openai/m]}}\n"
    file = routes + "models: {{openai/m: {{api_base: {}}}}}\n"
    own(file.format("http://127.0.0.1:9/v1"))
    result = hall("doctor", "--models", "own.yaml")
    assert result.exit_code == 2
    assert "Wind, Wall, Door: no model can be asked (nothing answers at http://127.0.0.1:9/v1).\n" in result.stdout
    with serving(listing("a", "b")) as address:
        own(file.format(f"{address}/v1"))
        result = hall("doctor", "--models", "own.yaml")
    assert result.exit_code == 0
    assert f"The server at {address}/v1 does not list m; it has a, b." in result.stdout


def test_servers_and_agent_clis_are_shown(hall: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    codex = tmp_path / "bin" / "codex"
    codex.write_text('#!/bin/sh\n[ "$1" = --version ] && echo codex-cli 0.171.0\n[ "$1" != login ]\n')
    codex.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("DEBATE_HALL_STAND_INS", "")
    with serving(listing("gpt-oss:20b")) as address:
        monkeypatch.setenv("DEBATE_HALL_LOCAL_SERVERS", address)
        result = hall("doctor")
    assert result.exit_code == 0
    assert "Wind (PATHOS): openai/gpt-oss:20b\n" in result.stdout
    assert f"Local server: the local server at {address}: gpt-oss:20b\n" in result.stdout
    assert f"Agent CLI: codex: {codex}, codex-cli 0.171.0, not signed in\n" in result.stdout


def test_an_agent_cli_without_a_login_is_not_usable(
    hall: Command, own: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    codex = tmp_path / "bin" / "codex"
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    own("routes: {PATHOS: [cli/codex], ETHOS: [cli/codex], LOGOS: [cli/codex]}\n")
    for status, code in ((1, 2), (0, 0)):
        codex.write_text(f'#!/bin/sh\n[ "$1" != login ] || exit {status}\n')
        codex.chmod(0o755)
        result = hall("doctor", "--models", "own.yaml")
        assert result.exit_code == code, result.output
        assert ("(nobody is signed in (codex login))" in result.stdout) == bool(status)


def test_a_key_is_never_shown_wherever_it_comes_from(
    hall: Command, own: Callable[[str], None], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_KEY", "")  # so that it is taken back when the test is over
    own(
        "routes: {PATHOS: [openai/m], ETHOS: [openai/m], LOGOS: [openai/m]}\n"
        "models: {openai/m: {api_base: http://127.0.0.1:9/v1, api_key_env: OUR_KEY}}\n"
    )
    (work / ".env").write_text(f"OUR_KEY={KEY}\n")
    for arguments in (("--models", "./own.yaml"), ("--models", "./own.yaml", "--json")):
        monkeypatch.setenv("OUR_KEY", "")
        result = hall("doctor", *arguments)
        assert "OUR_KEY (.env)" in result.stdout
        assert KEY not in result.output


# ---------------------------------------------------------------- with calls


def deep(hall: Command, server: ModelServer, work: Path) -> Result:
    (work / "own.yaml").write_text(server.models_file())
    return hall("doctor", "--models", "own.yaml", "--deep")


@pytest.mark.slow
def test_deep_asks_each_model_once_and_door_for_its_account_too(
    hall: Command, model_server: ModelServer, work: Path
) -> None:
    model_server.reply = lambda call: account_text() if call.model == "door-1" and call.nth == 2 else "ready"
    result = deep(hall, model_server, work)
    assert result.exit_code == 0, result.output
    assert sorted(call.model for call in model_server.calls) == ["door-1", "door-1", "wall-1", "wind-1"]
    assert result.stdout.count("  answers  openai/") == 3
    assert result.stdout.count("answered in 0.") + result.stdout.count("answered in ") >= 3
    assert "JSON for the decision record: as it must be\n" in result.stdout
    assert all(call.body["max_tokens"] <= 2000 for call in model_server.calls)


@pytest.mark.slow
def test_a_door_that_writes_no_json_is_told_of_and_speaks_all_the_same(
    hall: Command, model_server: ModelServer, work: Path
) -> None:
    model_server.reply = lambda call: "ready"
    result = deep(hall, model_server, work)
    assert result.exit_code == 0
    assert "JSON for the decision record: There is no JSON object in the answer" in result.stdout


@pytest.mark.slow
def test_openrouter_is_asked_by_its_own_names_for_models(
    hall: Command, own: Callable[[str], None], model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    monkeypatch.setenv("OPENROUTER_API_BASE", model_server.base_url)
    route = "openrouter/vendor/model-1"
    own(f"routes: {{PATHOS: [{route}], ETHOS: [{route}], LOGOS: [{route}]}}\n")
    model_server.reply = lambda call: account_text() if call.nth == 2 else "ready"
    result = hall("doctor", "--models", "own.yaml", "--deep")
    assert result.exit_code == 0, result.output
    assert [call.model for call in model_server.calls] == ["vendor/model-1"] * 2
    headers = {name.lower(): value for name, value in model_server.calls[0].headers.items()}
    assert headers["authorization"] == f"Bearer {KEY}"


def refusing(answer: Answer) -> Callable[[Call], str | Answer]:
    return lambda call: answer if call.model == "wall-1" else "ready"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (wrong_key(KEY), "answered HTTP 401: Incorrect API key provided"),
        (no_such_model("wall-1"), "The model `wall-1` does not exist or you do not have access to it."),
        (web_page(), "a web page instead of an answer (Welcome to nginx!)"),
        (web_page(502), "a web page instead of an answer (Welcome to nginx!)"),
    ],
    ids=["wrong key", "no such model", "web page", "bad gateway"],
)
def test_what_a_provider_says_is_told_in_plain_words(
    hall: Command, model_server: ModelServer, work: Path, answer: Answer, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    model_server.reply = refusing(answer)
    result = deep(hall, model_server, work)
    assert result.exit_code == 2
    assert "  fails    openai/wall-1\n" in result.stdout
    assert words in result.stdout
    assert "Wall: no model answers.\n" in result.stdout
    assert KEY not in result.output
    assert "Traceback" not in result.output


def test_an_answer_that_only_thought_is_an_answer(hall: Command, model_server: ModelServer, work: Path) -> None:
    model_server.reply = lambda call: Answer("", finish_reason="length")
    assert deep(hall, model_server, work).exit_code == 0
