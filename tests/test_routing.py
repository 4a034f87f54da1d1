"""Which models answer: the models file, the flags, and the keys in the environment."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

from orchestrator.errors import ConfigurationError, UsageError
from orchestrator.hall.terms import Cognition, Role
from orchestrator.models.base import Endpoint
from orchestrator.models.key_names import KEYS
from orchestrator.models.prices import known_model
from orchestrator.models_file import load_models_file, parse_models
from orchestrator.routing import Route, Routing, resolve

CONFIGS = (Path(__file__).parent.parent / "configs",)
ROUTES = "routes: {PATHOS: [anthropic/a, openai/o], ETHOS: [openai/o], LOGOS: [gemini/g, openai/o]}\n"
MODEL = ROUTES + "models:\n  openai/o:\n"
ALL_KEYS = {"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x", "GEMINI_API_KEY": "x"}


def routed(text: str, environment: Mapping[str, str] = ALL_KEYS, **flags: list[str]) -> Routing:
    return resolve(
        parse_models(text, "models.yaml"), environment, {Role(r.title()): names for r, names in flags.items()}
    )


def names(routing: Routing, role: Role, agent: str = "any") -> list[str]:
    return [route.model for route in routing.of(role, agent)]


# ---------------------------------------------------------------- the bundled files


def test_by_default_three_providers_lead_and_each_can_stand_in_for_all() -> None:
    models = load_models_file("models", CONFIGS)
    routing = resolve(models, ALL_KEYS)
    leads = [routing.of(role, "any")[0].provider for role in Role]
    assert leads == ["anthropic", "openai", "gemini"]
    assert routing.notices == ()
    for variable in ALL_KEYS:
        alone = resolve(models, {variable: "x"})
        assert [len(names(alone, role)) for role in Role] == [1, 1, 1]


def test_the_default_models_are_known_and_read_long_debates() -> None:
    for name in load_models_file("models", CONFIGS).routes.PATHOS:
        known = known_model(name)
        assert known is not None, name
        assert known.price is not None, name
        assert (known.context_tokens or 0) >= 500_000, name
        assert "preview" not in name


def test_the_local_file_needs_no_key() -> None:
    routing = resolve(load_models_file("local", CONFIGS), {})
    (route,) = {routing.of(role, "any") for role in Role}
    assert [r.endpoint.api_base for r in route] == ["http://127.0.0.1:11434/v1"]


# ---------------------------------------------------------------- what is usable


def test_what_a_file_says_of_a_model_reaches_its_route() -> None:
    text = MODEL + "    api_base: http://127.0.0.1:8080/v1\n    api_key_env: LOCAL_KEY\n    context_tokens: 8192\n"
    endpoint = Endpoint(api_base="http://127.0.0.1:8080/v1", api_key_env="LOCAL_KEY", context_tokens=8192)
    assert routed(text, {"LOCAL_KEY": "x"}).of(Role.WALL, "any") == (Route("openai/o", endpoint),)


def test_the_first_usable_route_answers_and_the_rest_are_its_fallbacks() -> None:
    assert names(routed(ROUTES), Role.WIND) == ["anthropic/a", "openai/o"]
    assert names(routed(ROUTES, {"OPENAI_API_KEY": "x"}), Role.WIND) == ["openai/o"]


def test_an_empty_key_is_no_key() -> None:
    assert names(routed(ROUTES, {"ANTHROPIC_API_KEY": " ", "OPENAI_API_KEY": "x"}), Role.WIND) == ["openai/o"]


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
def test_either_of_two_variables_will_do(variable: str) -> None:
    assert names(routed(ROUTES, {variable: "x"}), Role.DOOR) == ["gemini/g"]


@pytest.mark.parametrize(
    ("model", "needed"),
    [
        ("claude-opus-5-5", KEYS["anthropic"]),
        ("gpt-6.1-sol", ("OPENAI_API_KEY",)),
        ("groq/anything", ("GROQ_API_KEY",)),
        ("ollama_chat/llama3.3", ()),
        ("rehearsal", ()),
        ("bedrock/anthropic.claude", ()),
        ("no-such-provider/model", ()),
        ("no-such-model", ()),
    ],
)
def test_the_key_a_route_needs_follows_from_its_provider(model: str, needed: tuple[str, ...]) -> None:
    assert Route(model, Endpoint()).key_variables == needed


def test_an_address_of_ones_own_needs_only_the_key_it_names() -> None:
    assert Route("openai/o", Endpoint(api_base="http://localhost/v1")).key_variables == ()
    assert Route("openai/o", Endpoint(api_base="http://localhost/v1", api_key_env="K")).key_variables == ("K",)


def test_without_a_usable_route_one_screen_shows_how_to_set_one_up() -> None:
    with pytest.raises(UsageError) as caught:
        routed(ROUTES, {}).of(Role.WIND, "any")
    screen = str(caught.value)
    assert screen.startswith("No model can be used for Wind (PATHOS): ANTHROPIC_API_KEY or OPENAI_API_KEY is not set.")
    for words in ("OPENAI_API_KEY=", "GEMINI_API_KEY=", "--models local", "--rehearse"):
        assert words in screen
    assert len(screen.splitlines()) < 20


def test_an_agents_own_routes_win_over_its_cognitions() -> None:
    routing = routed(ROUTES + "agents: {validator: [gemini/g]}")
    assert names(routing, Role.WALL, "validator") == ["gemini/g"]
    assert names(routing, Role.WALL, "critical-engineer") == ["openai/o"]


def test_an_agent_whose_routes_are_unusable_speaks_through_its_role_and_the_run_says_so() -> None:
    routing = routed(ROUTES + "agents: {validator: [groq/g]}")
    assert names(routing, Role.WALL, "validator") == ["openai/o"]
    assert any("validator" in notice for notice in routing.notices)


# ---------------------------------------------------------------- flags


def test_flags_win_over_agents_and_cognitions_and_repeat_as_fallbacks() -> None:
    routing = routed(ROUTES + "agents: {validator: [gemini/g]}", wall=["anthropic/a", "gemini/h"])
    assert names(routing, Role.WALL, "validator") == ["anthropic/a", "gemini/h"]
    assert names(routing, Role.WIND) == ["anthropic/a", "openai/o"]


def test_a_flag_without_its_key_is_an_error_that_names_the_variable() -> None:
    with pytest.raises(UsageError, match=r"--door gemini/g: GEMINI_API_KEY or GOOGLE_API_KEY is not set"):
        routed(ROUTES, {"OPENAI_API_KEY": "x"}, door=["gemini/g"])


@pytest.mark.parametrize("name", ["cli/", "cli/codex:", "", "a b"])
def test_a_flag_that_names_no_model_is_an_error_that_names_the_flag(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^--wind: "):
        routed(ROUTES, wind=[name])


def test_flags_for_every_role_need_no_other_key() -> None:
    routing = routed(ROUTES, {}, wind=["rehearsal"], wall=["rehearsal"], door=["rehearsal"])
    assert [names(routing, role) for role in Role] == [["rehearsal"]] * 3
    assert routing.notices == ()


# ---------------------------------------------------------------- notices


def test_one_provider_for_all_roles_is_said() -> None:
    routing = routed(ROUTES, {"OPENAI_API_KEY": "x"}, door=["openai/gpt-6.1-sol"])
    (notice,) = (n for n in routing.notices if "provider" in n)
    assert notice.startswith("All roles use one provider (openai)")


def test_a_role_that_does_not_speak_through_its_first_route_says_why() -> None:
    assert "Wind speaks through openai/o, not anthropic/a: ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN is not set." in (
        routed(ROUTES, {"OPENAI_API_KEY": "x"}).notices
    )
    flagged = routed(ROUTES, {"OPENAI_API_KEY": "x"}, wind=["openai/o"])
    assert not any(notice.startswith("Wind speaks through") for notice in flagged.notices)
    assert not any(" speaks through " in notice for notice in routed(ROUTES).notices)


def test_a_retired_model_is_said_with_the_nearest_that_is_not() -> None:
    retired = "openai/gpt-4-turbo"
    models = parse_models(ROUTES, "models.yaml")
    before, after = (
        resolve(models, ALL_KEYS, {Role.WIND: [retired]}, today=day).notices
        for day in (date(2026, 10, 22), date(2026, 10, 23))
    )
    assert not any("retired" in notice for notice in before)
    (notice,) = (notice for notice in after if "retired" in notice)
    assert notice.startswith(f"The model {retired} was retired on 2026-10-23. Did you mean openai/gpt-")
    near = known_model(notice.split()[-1].rstrip("?"))
    assert near is not None
    assert near.retires is None or near.retires > date(2026, 10, 23)


def test_a_model_that_is_not_known_is_said_with_the_nearest_known_name() -> None:
    notices = routed(ROUTES, wind=["openai/gpt-6.1-soll"]).notices
    assert "The model openai/gpt-6.1-soll is not known here, nor its price. Did you mean openai/gpt-6.1-sol?" in notices


@pytest.mark.parametrize(
    ("model", "cure"),
    [
        ("antropic/claude-opus-5-5", "Did you mean anthropic/claude-opus-5-5?"),
        ("google/gemini-4-argon", "Write provider/model."),
        ("claude", "Write provider/model."),
    ],
)
def test_a_model_whose_provider_nobody_knows_is_said_before_others_are_paid(model: str, cure: str) -> None:
    assert f"The provider of {model} is not known here. {cure}" in routed(ROUTES, wall=[model]).notices
    assert f"The provider of {model} is not known here. {cure}" in routed(ROUTES, wall=[f"openai/o,{model}"]).notices


@pytest.mark.parametrize(
    "model", ["lm_studio/x", "hosted_vllm/x", "ollama_chat/x", "vertex_ai/x", "client", "rehearsal"]
)
def test_a_provider_that_is_known_is_not_doubted(model: str) -> None:
    assert not any("provider of" in notice for notice in routed(ROUTES, wall=[model]).notices)


def test_a_model_on_a_server_of_ones_own_is_not_looked_up() -> None:
    text = MODEL + "    api_base: http://127.0.0.1:8080/v1\n"
    assert not any("openai/o " in notice for notice in routed(text).notices)


def test_every_cognition_is_resolved() -> None:
    assert set(routed(ROUTES).cognitions) == set(Cognition)
