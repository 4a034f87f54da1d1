"""The models file: where it is found, what it may say, and that no key ever stands in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import ConfigurationError
from orchestrator.models.base import Endpoint
from orchestrator.models_file import load_models_file, models_path, parse_models

CONFIGS = (Path(__file__).parent.parent / "configs",)
ROUTES = "routes: {PATHOS: [anthropic/a, openai/o], ETHOS: [openai/o], LOGOS: [gemini/g, openai/o]}\n"
MODEL = ROUTES + "models:\n  openai/o:\n"
KEY = "sk-proj-Zq9vT2mXw8LkR4sYb7Nc1Hd6"


# ---------------------------------------------------------------- which file


def test_the_first_shelf_that_has_the_name_wins(tmp_path: Path) -> None:
    (tmp_path / "models.yaml").write_text(ROUTES)
    assert load_models_file("MODELS", (tmp_path, *CONFIGS)).routes.ETHOS == ("openai/o",)


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(ROUTES)
    assert load_models_file(str(path), ()).routes.ETHOS == ("openai/o",)


@pytest.mark.parametrize("name", ["OWN.YAML", "own.Yml", "./own", "folder/own"])
def test_what_ends_as_such_files_end_in_any_case_or_has_a_folder_is_a_path(name: str) -> None:
    assert models_path(name, CONFIGS) == Path(name)


def test_a_name_no_shelf_has_is_an_error_that_offers_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean local"):
        load_models_file("locale", CONFIGS)


@pytest.mark.parametrize("address", ["https://gateway.example/v1", "http://127.0.0.1.example:80", "http://192.0.2.1"])
def test_a_folder_that_may_be_anybodys_does_not_say_who_is_sent_prompts_and_keys(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shelf = Path("configs")
    shelf.mkdir()
    (shelf / "models.yaml").write_text(f"{MODEL}    api_base: {address}\n    header_env: {{X-Gate: GATE_PASS}}\n")
    with pytest.raises(ConfigurationError, match=rf"keys go to {address}.*--models ./configs/models.yaml"):
        load_models_file("models", (shelf,))
    assert load_models_file("./configs/models.yaml", ()).models  # by its path it is taken
    assert load_models_file("models", (tmp_path / "configs",)).models  # and from a folder of the user's own


@pytest.mark.parametrize("address", ["http://localhost:8080/v1", "http://127.0.0.1:8080/v1", "https://[::1]:8080"])
def test_a_file_of_the_working_folder_may_name_servers_of_this_machine(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shelf = Path("configs")
    shelf.mkdir()
    (shelf / "models.yaml").write_text(f"{MODEL}    api_base: {address}\n")
    assert load_models_file("models", (shelf,)).endpoint("openai/o").api_base == address


# ---------------------------------------------------------------- what a file may say


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("routes: {PATHOS: [a/b], ETHOS: [a/b]}", "models.yaml:1: routes.LOGOS", "missing"),
        ("routes: {PATHOS: [], ETHOS: [a/b], LOGOS: [a/b]}", "models.yaml:1: routes.PATHOS", "no route"),
        ("routes: {PATHOS: a/b, ETHOS: [a/b], LOGOS: [a/b]}", "models.yaml:1: routes.PATHOS", "must be a list"),
        (ROUTES + "agents: {x: [cli/]}", "models.yaml:2: agents.x[0]", "names no agent CLI"),
        (ROUTES + "agents: {x: ['a b']}", "models.yaml:2: agents.x[0]", "name of a model"),
        (ROUTES + "agent: {}", "models.yaml:2: agent", "Did you mean agents?"),
        (MODEL + "    api_base: 127.0.0.1:8080", "models.yaml:4: models.openai/o.api_base", "http or https"),
        (MODEL + "    api_base: ftp://host/v1", "models.yaml:4: models.openai/o.api_base", "http or https"),
        (MODEL + "    api_base: http://", "models.yaml:4: models.openai/o.api_base", "http or https"),
        (MODEL + "    api_base: http://[::1", "models.yaml:4: models.openai/o.api_base", "http or https"),
        (MODEL + "    api_base: http://me:pw@host/v1", "models.yaml:4: models.openai/o.api_base", "name or password"),
        (
            MODEL + f"    api_base: 'https://host/v1?key={KEY}'",
            "models.yaml:4: models.openai/o.api_base",
            "holds a key",
        ),
        (MODEL + "    api_key_env: DEBATE_HALL_TOKEN", "models.yaml:4: models.openai/o.api_key_env", "no use for"),
        (
            MODEL + "    headers: {Authorization: Basic x}",
            "models.yaml:4: models.openai/o.headers.Authorization",
            "a header for keys",
        ),
        (MODEL + "    header_env: {X: DEBATE_HALL_TOKEN}", "models.yaml:4: models.openai/o.header_env.X", "no use for"),
        (MODEL + "    api_key: x", "models.yaml:4: models.openai/o.api_key", "Did you mean api_key_env?"),
        (MODEL + "    input_cost_per_token: 1e-6", "models.yaml:3: models.openai/o", "half a price"),
        (MODEL + "    cached_cost_per_token: 1e-6", "models.yaml:3: models.openai/o", "half a price"),
        (MODEL + "    input_cost_per_token: -1", "models.yaml:4: models.openai/o.input_cost_per_token", "at least 0"),
        (MODEL + "    region: evil.example/x", "models.yaml:4: models.openai/o.region", "one plain word"),
        (MODEL + "    region: evil.example:443", "models.yaml:4: models.openai/o.region", "one plain word"),
        (MODEL + "    project: a/../b", "models.yaml:4: models.openai/o.project", "one plain word"),
        (MODEL + "    context_tokens: 0", "models.yaml:4: models.openai/o.context_tokens", "at least 1"),
        (ROUTES + "defaults: {timeout_s: 0}", "models.yaml:2: defaults.timeout_s", "more than 0"),
        (ROUTES + "defaults: {max_output_tokens: 0}", "models.yaml:2: defaults.max_output_tokens", "at least 1"),
    ],
)
def test_a_wrong_file_is_told_with_its_line_and_key(text: str, place: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_models(text, "models.yaml")
    assert str(caught.value).startswith(f"{place}: ")
    assert words in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-proj-Zq9vT2mXw8LkR4sYb7Nc", "AIzaSyZq9vT2mXw8LkR4sYb7Nc", "gsk_Zq9vT2mXw8LkR4"])
def test_a_key_pasted_into_the_file_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ConfigurationError, match="environment variable") as caught:
        parse_models(f"{MODEL}    api_key_env: {key}", "models.yaml")
    assert key not in str(caught.value)


def test_streaming_is_a_default_that_each_model_may_change() -> None:
    file = parse_models(ROUTES + "models:\n  openai/o: {stream: false}\ndefaults: {stream: true}\n", "models.yaml")
    assert (file.endpoint("openai/o").stream, file.endpoint("gemini/g").stream) == (False, True)
    assert parse_models(ROUTES, "models.yaml").endpoint("gemini/g") == Endpoint()
    never = parse_models(ROUTES + "defaults: {stream: false}\n", "models.yaml")
    assert never.endpoint("gemini/g").stream is False  # which is more than to say nothing
