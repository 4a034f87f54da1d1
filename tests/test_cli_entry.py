"""The key `cli:` of a models file: what it may say, what it adds to the CLIs that are known, and where it may stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from building import plan_of
from orchestrator.errors import ConfigurationError
from orchestrator.models.base import Cli, CliAnswer, Endpoint
from orchestrator.models.cli_known import CLIS, cli_of
from orchestrator.models_file import load_models_file, parse_models
from orchestrator.plan import Plan
from orchestrator.route import Route

ROUTES = "routes: {PATHOS: [cli/claude], ETHOS: [cli/ours], LOGOS: [cli/gemini]}\n"
OURS = ROUTES + "models:\n  cli/ours:\n    cli:\n      command: our-agent\n"
CODEX = "routes: {PATHOS: [a/b], ETHOS: [cli/codex], LOGOS: [a/b]}\nmodels:\n  cli/codex:\n    cli:\n"
WHOLE = (
    OURS
    + """\
      args: [ask, --system, "{system_file}", --tools, ""]
      model: big-1
      model_args: [-m, "{model}"]
      effort_args: [--think, "{effort}"]
      variables: [OUR_KEY, OUR_HOME]
      settings: {OUR_MODE: plain, OUR_FOLDER: "{folder}"}
      files: {rules.toml: "deny = true\\n"}
      answer: {text: reply.text, only: {kind: final}, error: [error], input: [usage.in], cost: usage.usd}
      exits: {77: authentication}
      own_tokens: 900
      login: our-agent login
      login_args: [whoami]
    max_parallel: 1
"""
)


def test_a_cli_of_ones_own_is_what_the_file_says() -> None:
    endpoint = parse_models(WHOLE, "models.yaml").endpoint("cli/ours")
    answer = CliAnswer(
        format="json",
        text="reply.text",
        only=(("kind", "final"),),
        error=("error",),
        input=("usage.in",),
        cost="usage.usd",
    )
    assert endpoint == Endpoint(
        max_parallel=1,
        cli=Cli(
            command="our-agent",
            args=("ask", "--system", "{system_file}", "--tools", ""),
            model="big-1",
            model_args=("-m", "{model}"),
            effort_args=("--think", "{effort}"),
            variables=("OUR_KEY", "OUR_HOME"),
            settings=(("OUR_MODE", "plain"), ("OUR_FOLDER", "{folder}")),
            files=(("rules.toml", "deny = true\n"),),
            answer=answer,
            exits=(("77", "authentication"),),
            own_tokens=900,
            login="our-agent login",
            login_args=("whoami",),
        ),
    )


def test_of_a_known_cli_only_what_differs_is_given() -> None:
    models = parse_models(CODEX + "      model: gpt-6.1-sol\n      extra_args: [-c, a=1]\n", "models.yaml")
    cli = models.endpoint("cli/codex").cli
    assert cli is not None
    assert (cli.model, cli.extra_args) == ("gpt-6.1-sol", ("-c", "a=1"))
    assert (cli.args, cli.answer, cli.command) == (CLIS["codex"].args, CLIS["codex"].answer, "codex")


def test_how_a_cli_is_run_holds_for_all_of_its_models_and_the_route_names_the_model() -> None:
    models = parse_models(WHOLE, "models.yaml")
    endpoint = models.endpoint("cli/ours:big-2")
    assert endpoint.cli == models.endpoint("cli/ours").cli
    named = cli_of("cli/ours:big-2", endpoint)
    assert named is not None
    assert (named.model, named.command) == ("big-2", "our-agent")


def test_a_known_cli_needs_no_entry() -> None:
    models = parse_models(OURS, "models.yaml")
    assert models.endpoint("cli/claude:opus") == Endpoint()
    known = cli_of("cli/claude:opus", Endpoint())
    assert known is not None
    assert (known.command, known.model) == ("claude", "opus")
    assert cli_of("openai/gpt-5", Endpoint()) is None


def test_a_plan_pins_how_a_cli_is_run() -> None:
    endpoint = parse_models(WHOLE, "models.yaml").endpoint("cli/ours")
    plan = plan_of(endpoint=endpoint)
    assert Plan.decode(plan.encode()).endpoints == plan.endpoints == dict.fromkeys(plan.endpoints, endpoint)


def test_a_route_needs_its_command_on_the_path(tmp_path: Path) -> None:
    route, path = Route("cli/ours", parse_models(OURS, "models.yaml").endpoint("cli/ours")), {"PATH": str(tmp_path)}
    assert route.lacking(path) == ("the command our-agent",)
    (tmp_path / "our-agent").touch(0o755)
    assert route.is_usable(path)
    assert Route("cli/unheard-of", Endpoint()).lacking(path) == ("a description of cli/unheard-of in the models file",)


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        (ROUTES, "models.yaml:1: routes.ETHOS", "cli/ours is no agent CLI that is known"),
        (ROUTES + "models: {cli/ours: {}}", "models.yaml:1: routes.ETHOS", "known"),
        (CODEX + "      comand: x", "models.yaml:5: models.cli/codex.cli.comand", "Did you mean command?"),
        (CODEX + "      command: ./agent", "models.yaml:5: models.cli/codex.cli.command", "its whole path"),
        (CODEX + "      command: rm -rf", "models.yaml:5: models.cli/codex.cli.command", "name of a command"),
        (CODEX + "      args: ['{sytem}']", "models.yaml:5: models.cli/codex.cli.args[0]", "Did you mean system?"),
        (CODEX + "      variables: [DEBATE_HALL_TOKEN]", "models.yaml:5: models.cli/codex.cli.variables[0]", "no use"),
        (CODEX + "      variables: [sk-abc]", "models.yaml:5: models.cli/codex.cli.variables[0]", "in capitals"),
        (CODEX + "      files: {../x: y}", "models.yaml:5: models.cli/codex.cli.files", "plain name"),
        (CODEX + "      exits: {77: tired}", "models.yaml:5: models.cli/codex.cli.exits", "must be"),
        (CODEX + "      answer: {text: a..b}", "models.yaml:5: models.cli/codex.cli.answer.text", "keys with dots"),
        (CODEX + "      model: g\n    api_base: http://x/v1", "models.yaml:6: models.cli/codex.api_base", "CLI takes"),
        (
            "routes: {PATHOS: [a/b], ETHOS: [a/b], LOGOS: [a/b]}\nmodels:\n  a/b:\n    cli: {command: x}",
            "models.yaml:4: models.a/b.cli",
            "begin with cli/",
        ),
    ],
)
def test_a_wrong_entry_is_told_with_its_line_and_key(text: str, place: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_models(text, "models.yaml")
    assert str(caught.value).startswith(place)
    assert told in str(caught.value)


def test_no_key_stands_in_it() -> None:
    with pytest.raises(ConfigurationError, match="holds no key") as caught:
        parse_models(CODEX + "      settings: {A: sk-proj-Zq9vT2mXw8LkR4sYb7Nc1Hd6}", "models.yaml")
    assert "Zq9vT2" not in str(caught.value)


def test_a_folder_that_may_be_anybodys_does_not_say_which_programs_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shelf = Path("configs")
    shelf.mkdir()
    (shelf / "models.yaml").write_text(OURS)
    with pytest.raises(ConfigurationError, match=r"which commands are run.*--models ./configs/models.yaml"):
        load_models_file("models", (shelf,))
    assert load_models_file("./configs/models.yaml", ()).models  # by its path it is taken
    assert load_models_file("models", (tmp_path / "configs",)).models  # and from a folder of the user's own


def test_the_bundled_file_is_claude_codex_and_gemini() -> None:
    routes = load_models_file("cli", (Path(__file__).parents[1] / "configs",)).routes
    assert [names[0] for names in (routes.PATHOS, routes.ETHOS, routes.LOGOS)] == [
        "cli/claude",
        "cli/codex",
        "cli/gemini",
    ]


def test_the_example_on_the_page_loads() -> None:
    page = (Path(__file__).parents[1] / "docs" / "models.md").read_text()
    (example,) = (block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "cli:" in block)
    cli = parse_models(example, "models.md").endpoint("cli/our-agent").cli
    assert cli is not None
    assert (cli.command, cli.answer.text, cli.exits) == ("our-agent", "reply.text", (("77", "authentication"),))
