"""Help: a page for each command, whose examples are real, and which nothing that counts is missing from."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.debate_hall import debate_hall
from orchestrator.cli.help import OTHER, SETTINGS, Contents, Page
from orchestrator.cli.manual import ENVIRONMENT
from orchestrator.cli.run_debate import run_debate
from orchestrator.models.cli_process import MARK
from orchestrator.review.receiving_command import FILES
from reference.page import everything

Command = Callable[..., Result]

COMMANDS = dict(everything())
HOSTILE_WIDTHS = (20, 40, 80, 200)


def examples() -> list[str]:
    return [
        example for command in COMMANDS.values() if isinstance(command, Page | Contents) for example in command.examples
    ]


def words_of(example: str) -> list[str]:
    """The command of an example, without what a shell does around it."""
    bare = re.sub(r"^eval \"\$\((.*)\)\"$", r"\1", example)
    return shlex.split(re.split(r" [>|] ", bare)[0])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does_and_shows_an_example(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    assert isinstance(command, Contents) or (isinstance(command, Page) and command.examples)


@pytest.mark.parametrize("example", examples())
def test_each_example_is_understood(example: str, work: Path) -> None:
    for name in ("debate.json", "token", "topics.csv"):
        (work / name).touch()
    program, *arguments = words_of(example)
    command = {"run-debate": run_debate, "debate-hall": debate_hall}[program]
    while isinstance(command, click.Group) and arguments and arguments[0] in command.commands:
        name, *arguments = arguments
        command = command.commands[name]
    assert not isinstance(command, click.Group) or command.invoke_without_command
    command.make_context(example, arguments)


@pytest.mark.parametrize("arguments", [words_of(example)[1:] for example in run_debate.examples], ids=shlex.join)
def test_each_example_of_a_debate_can_be_planned(arguments: list[str], run: Command, work: Path) -> None:
    (work / "docs" / "adr").mkdir(parents=True)
    (work / "docs" / "facts.md").write_text("Billing runs on Postgres.\n")
    commit = "git -c user.name=a -c user.email=a@b commit -qm"
    changed = f"git init -qb main; {commit} before --allow-empty; git switch -qc other; git add docs; {commit} facts"
    subprocess.run(["sh", "-ec", changed], check=True)
    voices = [] if "--rehearse" in arguments else ["--wind", "rehearsal", "--wall", "rehearsal", "--door", "rehearsal"]
    result = run(*arguments, *([] if "--resume" in arguments else ["--dry-run", *voices]))
    assert result.exit_code == (2 if "--resume" in arguments else 0), result.output
    assert "--resume" not in arguments or "There is no debate" in result.output


def test_every_option_of_a_debate_stands_under_a_heading() -> None:
    under = dict(run_debate.option_rows(click.Context(run_debate, **SETTINGS)))
    assert [row[0] for row in under[OTHER]] == ["--version", "-h, --help"]
    assert sum(map(len, under.values())) == sum(isinstance(param, click.Option) for param in run_debate.params) + 1


def test_the_commands_stand_by_what_people_come_for() -> None:
    purposes = debate_hall.by_purpose()
    assert [
        purpose for purpose in ("Look", "Speak", "Review", "Evaluate", "Fleet", "Keep", "Set up") if purpose in purposes
    ] == list(purposes)
    assert set().union(*purposes.values()) == set(debate_hall.commands)
    assert "list" in purposes["Look"]
    assert "verify" in purposes["Keep"]


@pytest.mark.parametrize("width", HOSTILE_WIDTHS)
@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_the_terminal(name: str, width: int) -> None:
    command = COMMANDS[name]
    text = command.get_help(click.Context(command, info_name=name, terminal_width=width, **SETTINGS))
    shown = [f"  {example}" for example in examples()]
    wide = [line for line in text.splitlines() if len(line) > width and line not in shown]
    assert wide == [] or width < 80


@pytest.mark.parametrize("words", [(), ("show",), ("key",), ("key", "new")], ids=" ".join)
def test_help_with_a_command_is_that_commands_help(hall: Command, words: tuple[str, ...]) -> None:
    asked, own = hall("help", *words), hall(*words, "-h")
    assert (asked.exit_code, own.exit_code) == (0, 0)
    assert asked.stdout.splitlines()[1:] == own.stdout.splitlines()[1:]


def test_an_unknown_command_is_answered_with_the_nearest_one(hall: Command) -> None:
    for words in (("shwo",), ("help", "shwo"), ("key", "nwe")):
        result = hall(*words)
        assert result.exit_code == 2
        assert f"Did you mean '{'new' if 'key' in words else 'show'}'?" in result.output


def test_an_unknown_option_is_answered_with_the_nearest_one(run: Command) -> None:
    assert "Did you mean '--dry-run'?" in run("--dry-rum", "Kafka?").output


def test_every_variable_that_is_read_stands_in_the_help() -> None:
    sources = Path(sys.modules["orchestrator"].__path__[0]).rglob("*.py")
    read = {name for source in sources for name in re.findall(r"\bDEBATE_HALL_[A-Z_]+\b", source.read_text())}
    told = {name for names, _ in ENVIRONMENT for name in names.split(", ")}
    assert read - told == {MARK, FILES}, "which a run sets for the agent CLIs that it asks, a review for its command"
    assert {name for name in told if name.startswith("DEBATE_HALL_")} <= read


def test_python_m_is_the_same_command_under_its_own_name() -> None:
    def said(*arguments: str) -> str:
        result = subprocess.run([sys.executable, "-m", "orchestrator", *arguments], capture_output=True, text=True)
        return result.stdout + result.stderr

    own = CliRunner().invoke(run_debate, ["--help"], prog_name="python -m orchestrator").stdout
    assert said("--help").split() == own.split(), "but for the width"
    assert said("--nope").splitlines()[1] == "Try 'python -m orchestrator --help' for help."


@pytest.mark.skipif(sys.platform != "linux", reason="XDG is Linux's")
def test_the_folders_follow_xdg(hall: Command, run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DEBATE_HALL_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg-state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg-config"))
    assert run("--rehearse", "-r", "speed", "-q", "Kafka?").exit_code == 0
    assert (tmp_path / "xdg-state" / "debate-hall" / "hall.sqlite3").is_file()
    assert hall("key", "new").exit_code == 0
    assert (tmp_path / "xdg-config" / "debate-hall" / "keys" / "default.pem").is_file()
    settings = json.loads(hall("config", "--json").stdout)
    ours = [setting["value"] for setting in settings if str(tmp_path / "xdg-") in setting["value"]]
    assert ours == [
        str(tmp_path / place)
        for place in (
            "xdg-state/debate-hall/hall.sqlite3",
            *(f"xdg-config/debate-hall/{kind}" for kind in ("recipes", "agents", "configs")),
            "xdg-config/debate-hall/configs/.env",
        )
    ]
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    homely = {setting["value"] for setting in json.loads(hall("config", "--json").stdout)}
    home = os.environ["HOME"]
    assert {f"{home}/.local/state/debate-hall/hall.sqlite3", f"{home}/.config/debate-hall/recipes"} <= homely


@pytest.mark.parametrize(
    "words",
    [("list", "--json", "--nope"), ("review", "run", "--json"), ("nope", "--json"), ("--nope", "list", "--json")],
)
def test_what_click_complains_about_is_an_object_where_json_was_asked_for(words: tuple[str, ...]) -> None:
    refused = CliRunner().invoke(debate_hall, words)
    assert refused.exit_code == 2
    assert json.loads(refused.stdout)["error"]["code"] == "usage"
    assert refused.stderr
    assert CliRunner().invoke(debate_hall, [word for word in words if word != "--json"]).stdout == ""
    assert CliRunner().invoke(debate_hall, ["show", "--nope", "--", "--json"]).stdout == ""
