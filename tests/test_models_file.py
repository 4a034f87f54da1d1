"""The models file: where it is found, what it may say, and that no key ever stands in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import ConfigurationError
from orchestrator.models.base import Endpoint
from orchestrator.models_file import load_models_file, models_path, parse_models

CONFIGS = (Path(__file__).parent.parent / "configs",)
ROUTES = "routes: {PATHOS: [anthropic/a, openai/o], ETHOS: [openai/o], LOGOS: [gemini/g, openai/o]}\n"


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


# ---------------------------------------------------------------- what a file may say

MODEL = ROUTES + "models:\n  openai/o:\n"


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
        (MODEL + "    api_key: x", "models.yaml:4: models.openai/o.api_key", "Did you mean api_key_env?"),
        (MODEL + "    input_cost_per_token: 1e-6", "models.yaml:3: models.openai/o", "half a price"),
        (MODEL + "    cached_cost_per_token: 1e-6", "models.yaml:3: models.openai/o", "half a price"),
        (MODEL + "    input_cost_per_token: -1", "models.yaml:4: models.openai/o.input_cost_per_token", "at least 0"),
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


@pytest.mark.parametrize("key", ["sk-proj-Zq9vT2mXw8LkR4sYb7Nc", "AIzaSyZq9vT2mXw8LkR4sYb7Nc", "gsk_Zq9vT2mXw8LkR4"])
def test_a_key_pasted_into_the_file_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ConfigurationError, match="environment variable") as caught:
        parse_models(f"{MODEL}    api_key_env: {key}", "models.yaml")
    assert key not in str(caught.value)


def test_streaming_is_a_default_that_each_model_may_change() -> None:
    file = parse_models(ROUTES + "models:\n  openai/o: {stream: false}\ndefaults: {stream: true}\n", "models.yaml")
    assert (file.endpoint("openai/o").stream, file.endpoint("gemini/g").stream) == (False, True)
    assert parse_models(ROUTES, "models.yaml").endpoint("gemini/g") == Endpoint()
