"""Shells complete both commands: their options and subcommands, and what stands in the hall and on the shelves."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import sqlite3
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import Result

from orchestrator.cli.completing import SHELLS, script
from orchestrator.cli.debate_hall import debate_hall
from orchestrator.cli.run_debate import run_debate
from orchestrator.hall.folder import FILE
from orchestrator.hall.hall import Hall

Command = Callable[..., Result]
Script = Callable[..., "subprocess.CompletedProcess[bytes]"]

OLDER, NEWER = "2026-01-06-billing", "2026-02-01-Cache"


@pytest.fixture
def two_debates() -> None:
    with Hall.open() as hall:
        for thread in (OLDER, NEWER):
            hall.init_debate(thread, "Kafka?")


def offered(command: click.Command, *words: str) -> list[tuple[str, str]]:
    """What is offered for the last word: its kind and its value."""
    shell = ShellComplete(command, {}, str(command.name), "_COMPLETE")
    return [(item.type, item.value) for item in shell.get_completions(list(words[:-1]), words[-1])]


def values(command: click.Command, *words: str) -> list[str]:
    return [value for _, value in offered(command, *words)]


@pytest.mark.usefixtures("two_debates")
def test_threads_are_offered_newest_first_wherever_one_is_asked_for() -> None:
    assert values(debate_hall, "show", "") == [NEWER, OLDER]
    assert values(debate_hall, "verify", "2026-01") == [OLDER]
    assert values(debate_hall, "diff", OLDER, "") == [NEWER, OLDER]
    assert values(run_debate, "--resume", "") == [NEWER, OLDER]
    assert values(debate_hall, "show", "2026-02-01-c") == [NEWER], "ids are the same in any case"
    assert values(debate_hall, "show", "%") == [], "no pattern of SQL"


@pytest.mark.usefixtures("two_debates")
def test_reviews_are_offered_by_name_from_the_file_that_is_named_and_before_threads(work: Path) -> None:
    for name, review in (("reviews.yaml", "weekly"), ("other.yaml", "nightly")):
        (work / name).write_text(f"reviews: [{{name: {review}, cron: 0 9 * * 1, topic: 'Right?'}}]\n")
    assert values(debate_hall, "review", "run", "") == ["weekly"]
    assert values(debate_hall, "review", "run", "--file", "other.yaml", "n") == ["nightly"]
    assert values(debate_hall, "history", "") == ["weekly", NEWER, OLDER]
    (work / "reviews.yaml").write_text("reviews: [")
    assert values(debate_hall, "review", "run", "") == [], "a file that cannot be read fails nothing"


def test_a_hall_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert offered(debate_hall, "show", "") == []
    assert not (tmp_path / "state").exists()


@pytest.mark.usefixtures("two_debates")
def test_a_hall_that_cannot_be_read_offers_nothing_and_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "state" / FILE
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    assert values(debate_hall, "show", "") == [], "who has it alone is not waited for"
    holder.close()
    file.write_bytes(b"no database" * 1000)
    assert offered(debate_hall, "show", "") == []
    monkeypatch.setenv("DEBATE_HALL_STORE", "postgresql://elsewhere/hall")
    assert offered(debate_hall, "show", "") == []


def test_recipes_and_models_files_are_the_users_own_and_the_bundled_ones(work: Path, tmp_path: Path) -> None:
    (work / "recipes").mkdir()
    (work / "recipes" / "Fort-Knox.yaml").touch()
    (tmp_path / "config" / "debate-hall" / "configs").mkdir(parents=True)
    (tmp_path / "config" / "debate-hall" / "configs" / "modest.yaml").touch()
    assert values(run_debate, "--recipe", "fort") == ["fort-knox", "fortress"]
    assert values(run_debate, "--models", "mod") == ["models", "modest"]
    assert values(debate_hall, "doctor", "--models", "mod") == ["models", "modest"]
    assert offered(run_debate, "--recipe", "./re") == [("file", "./re")]


def test_words_of_a_list_are_offered_and_paths_are_left_to_the_shell() -> None:
    assert values(run_debate, "--tier", "3:") == ["3:security", "3:innovation", "3:architecture"]
    assert values(run_debate, "--format", "") == ["json", "octave", "adr", "html"]
    assert values(debate_hall, "list", "--status", "s") == ["synthesis", "stalemate"]
    for option in ("--context", "--adr", "--events"):
        assert offered(run_debate, option, "docs/") == [("file", "docs/")]
    assert offered(debate_hall, "verify", "--file", "deb") == [("file", "deb")]
    assert "force-close" in values(debate_hall, "")
    assert values(run_debate, "--cost") == ["--cost-limit"]
    assert values(debate_hall, "help", "sh") == ["show"]
    assert values(debate_hall, "help", "key", "") == ["new", "show"]
    assert values(debate_hall, "help", "show", "") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_one_script_completes_both_commands(hall: Command, shell: str) -> None:
    result = hall("completion", shell)
    assert (result.exit_code, result.stdout) == (0, script(shell))
    assert {"_RUN_DEBATE_COMPLETE", "_DEBATE_HALL_COMPLETE"} <= set(re.findall(r"_[A-Z_]+_COMPLETE", result.stdout))


def test_another_shell_is_refused(hall: Command) -> None:
    result = hall("completion", "tcsh")
    assert result.exit_code == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in result.output


@pytest.fixture
def shell_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """A shell by its name, with the commands on its PATH."""
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}")

    def found(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} is not installed")
        return path

    return found


@pytest.mark.slow
@pytest.mark.usefixtures("two_debates")
def test_bash_completes(shell_of: Callable[[str], str]) -> None:
    asked = """
        eval "$(debate-hall completion bash)"
        complete -p run-debate debate-hall
        answer() { COMP_CWORD=$(($# - 1)); COMP_WORDS=("$@"); COMPREPLY=(); "$ask" "$1"; echo "${COMPREPLY[*]}"; }
        ask=_debate_hall_completion answer debate-hall show ''
        ask=_run_debate_completion answer run-debate --recipe fort
    """
    result = subprocess.run([shell_of("bash"), "--norc", "-c", asked], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == [
        "complete -o nosort -F _run_debate_completion run-debate",
        "complete -o nosort -F _debate_hall_completion debate-hall",
        f"{NEWER} {OLDER}",
        "fortress",
    ]
    assert result.stderr == ""


@pytest.mark.slow
@pytest.mark.usefixtures("two_debates")
def test_fish_completes(shell_of: Callable[[str], str], script: Script, tmp_path: Path) -> None:
    file = tmp_path / "debate-hall.fish"
    file.write_bytes(script("debate-hall", "completion", "fish").stdout)
    asked = f"source {file}; complete -C 'debate-hall show '; complete -C 'run-debate --recipe fort'"
    result = subprocess.run(
        [shell_of("fish"), "--no-config", "-c", asked], capture_output=True, text=True, check=True, timeout=60
    )
    assert sorted(result.stdout.splitlines()) == [OLDER, NEWER, "fortress"]


@pytest.mark.slow
@pytest.mark.usefixtures("two_debates")
def test_zsh_completes_what_is_typed_at_its_prompt(shell_of: Callable[[str], str], tmp_path: Path) -> None:
    """A zsh at a terminal: its completion knows no other place."""
    path, (master, slave) = shell_of("zsh"), pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "ZDOTDIR": str(tmp_path), "PS1": "", "LC_ALL": "C.UTF-8"}
    shell = subprocess.Popen([path, "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    try:
        _type(master, "autoload -U compinit && compinit -D -u\n")
        _type(master, 'eval "$(debate-hall completion zsh)"; print rea""dy\n')
        _until(master, "ready")
        _type(master, "debate-hall show 2026-01\t")
        _until(master, OLDER)
        _type(master, "\x15run-debate --recipe fortr\t")
        _until(master, "fortress")
    finally:
        shell.kill()
        shell.wait()
        os.close(master)


def _type(terminal: int, text: str) -> None:
    os.write(terminal, text.encode())


def _until(terminal: int, awaited: str) -> None:
    seen = ""
    while awaited not in seen:
        assert select.select([terminal], [], [], 60)[0], f"{awaited!r} did not come: {seen!r}"
        seen += os.read(terminal, 4096).decode(errors="replace")
