"""`debate-hall show`: one turn of a debate, how to go on with it, its report in a browser."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rich.text import Text

from orchestrator.cli.page import Part, plain
from orchestrator.cli.typeset import typeset
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role

Command = Callable[..., Result]

THREAD = "2026-01-06-billing"
WORDS = "The customer Heron & Sons pays <late>."


@pytest.fixture
def held(work: Path) -> str:
    with Hall.open() as hall:
        hall.init_debate(THREAD, "Which queue?")
        hall.add_turn(THREAD, "Wind", WORDS)
        hall.add_turn(THREAD, "Wall", "Yes, but who knows Kafka?")
    return THREAD


def test_one_turn_is_shown_by_its_name(hall: Command, held: str) -> None:
    for name in ("T2", "t2", "2"):
        assert (
            hall("show", THREAD, "--turn", name).stdout == "T2  Wall (ETHOS), round 1\n\n  Yes, but who knows Kafka?\n"
        )
    assert json.loads(hall("show", THREAD, "--turn", "T1", "--json").stdout)["content"] == WORDS
    for name in ("T3", "0", "T", "", "T2.C1"):
        result = hall("show", THREAD, "--turn", name)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == f"error: {THREAD} has no turn {name!r}. Its turns are T1 to T2.\n"


def test_what_shows_something_else_does_not_go_together(hall: Command, held: str) -> None:
    assert "do not go together" in hall("show", THREAD, "--turn", "T1", "--entries").output


@pytest.mark.parametrize(("ended", "life"), [(True, "paused"), (False, "interrupted")])
def test_a_run_that_stopped_says_how_to_go_on(hall: Command, held: str, ended: bool, life: str) -> None:
    with Hall.open() as opened, subprocess.Popen(["true"]) as gone:
        gone.wait()
        lease = opened.runs.begin(THREAD)
        assert hall("show", THREAD).stdout.endswith("\n\nNext: Door\n")  # it goes on
        if ended:
            opened.runs.release(lease)
    if not ended:
        _was_run_by(gone.pid)
    said = hall("show", THREAD).stdout
    assert said.endswith(f"\n\nNext: Door\n\nIts run is {life}. Go on with: run-debate --resume {THREAD}\n")


def _was_run_by(pid: int) -> None:
    path = Path(os.environ["DEBATE_HALL_STATE_DIR"]) / "hall.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE runs SET pid = ?", (pid,))


@pytest.mark.parametrize(
    ("asked", "near"),
    [("2026-01-06-biling", THREAD), ("billing", THREAD), ("BILL", THREAD), ("2026-01-06-Billing-2", THREAD)],
)
def test_a_thread_that_is_not_there_is_answered_with_the_nearest(
    hall: Command, held: str, asked: str, near: str
) -> None:
    result = hall("show", asked)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"error: There is no debate {asked}. Did you mean {near}? `debate-hall list` shows those there are.\n"
    )


# --------------------------------------------------------------------------------------------------------- in a browser


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What a browser was asked to open."""
    for name in ("BROWSER", "SSH_CONNECTION", "SSH_TTY", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked = tmp_path / "asked"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {asked}\n')
    browser.chmod(0o755)
    return lambda: asked.read_text().splitlines() if asked.exists() else []


def report(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "debate-hall" / "reports" / f"{THREAD}.html"


@pytest.mark.slow
def test_the_report_opens_in_the_browser_from_a_place_that_only_its_user_can_read(
    script: Callable[..., Any], tmp_path: Path, held: str, opened: Callable[[], list[str]]
) -> None:
    for _ in range(2):
        shown = script("debate-hall", "show", THREAD.upper(), "--open", env={"BROWSER": str(tmp_path / "browser")})
        assert shown.returncode == 0, shown.stderr
        path = report(tmp_path)
        assert shown.stdout.decode() == f"{path}\n  The report of {THREAD} is open in your browser.\n"
    assert opened() == [path.as_uri()] * 2
    assert "Heron &amp; Sons" in path.read_text()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o600, 0o700]
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.slow
@pytest.mark.parametrize(
    "env", [{}, {"DISPLAY": ":0", "SSH_CONNECTION": "there"}, {"BROWSER": "false"}], ids=["no screen", "SSH", "fails"]
)
def test_where_no_browser_would_be_seen_the_place_of_the_report_is_told(
    env: dict[str, str], script: Callable[..., Any], tmp_path: Path, held: str, opened: Callable[[], list[str]]
) -> None:
    shown = script("debate-hall", "show", THREAD, "--open", "--json", env=env)
    assert json.loads(shown.stdout) == {"file": str(report(tmp_path)), "opened": False}
    assert report(tmp_path).exists()
    assert opened() == []


def test_a_report_that_was_opened_goes_with_the_first_redaction(
    hall: Command, tmp_path: Path, held: str, opened: Callable[[], list[str]]
) -> None:
    assert hall("show", THREAD, "--open").exit_code == 0
    assert report(tmp_path).exists()
    assert hall("tombstone", THREAD.upper(), "0", "--reason", "It named a customer.").exit_code == 0
    assert not report(tmp_path).exists()


def test_a_cache_folder_that_cannot_be_made_is_told_with_the_cure(
    hall: Command, tmp_path: Path, held: str, opened: Callable[[], list[str]]
) -> None:
    (tmp_path / "cache").write_text("a file")
    result = hall("show", THREAD, "--open")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "set XDG_CACHE_HOME to another folder" in result.stderr


# -------------------------------------------------------------------------------------------------------- as it is set


def unstyled(text: str) -> str:
    return "\n".join(line.rstrip() for line in Text.from_ansi(text).plain.splitlines())


@pytest.fixture(autouse=True)
def draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("one\ntwo", "one\n  two"),
        ("# Big\n\ntext", "Big\n\n  text"),
        ("a **bold** `word`", "a bold word"),
        ("1. one\n2. two", " 1 one\n   2 two"),
        ("Map<String> and <b>bold</b>", "Map<String> and <b>bold</b>"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("[here](http://example.com)", "[here](http://example.com)"),
        ("![seen](http://example.com)", "![seen](http://example.com)"),
        ("[C1]: word\n", "[C1]: word"),
        ("[bold red]no markup[/] :smile:", "[bold red]no markup[/] :smile:"),
        ("| a |\n|---|\n| 1 | lost |", "| a |\n  |---|\n  | 1 | lost |"),
    ],
)
def test_markdown_is_set_and_no_word_of_it_is_lost(written: str, seen: str) -> None:
    page = unstyled(typeset([Part("turn", "T1  Wind", written, Role.WIND)], 80))
    assert page.split("\n", 1)[1].strip("\n") == f"  {seen}"


def test_no_part_of_a_page_steers_the_terminal() -> None:
    hostile = "\x1b[2J\x1b]8;;http://example.com\x07 \u202e\x9b31m\r[link=http://example.com]x[/link]"
    kinds = ("mark", "title", "detail", "topic", "turn", "settling", "synthesis", "list", "note")
    drawn = typeset([Part(kind, hostile, f"{hostile}\n\n```sh\n{hostile}\n```", Role.WALL) for kind in kinds], 80)  # type: ignore[arg-type]
    assert not any(sign in drawn for sign in ("\x1b[2J", "\x1b]", "\x07", "\u202e", "\x9b", "\r"))


def test_a_page_is_at_most_as_wide_as_it_can_be_read_and_as_the_terminal() -> None:
    part = Part("turn", f"T1  Wind (PATHOS), {'a long name ' * 20}", "many words " * 100, Role.WIND)
    for columns, widest in ((200, 100), (40, 40)):
        lines = unstyled(typeset([part], columns)).splitlines()
        assert max(map(len, lines)) <= widest
        assert "".join("".join(lines).split()).count("alongname") == 20


def test_roles_have_colours_unless_nobody_wants_any(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [Part("turn", "T1  Wind", "Words.", Role.WIND), Part("list", "Objections", "one\ntwo")]
    assert "\x1b[1;36m" in typeset(parts, 80)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;36m" not in typeset(parts, 80)
    assert "T1  Wind" in typeset(parts, 80)


def test_the_plain_page_says_what_the_set_one_does() -> None:
    parts = [Part("title", "A debate"), Part("turn", "T1  Wind", "One.\n\nTwo.", Role.WIND), Part("list", "So", "a\nb")]
    assert plain(parts) == "A debate\n\nT1  Wind\n\n  One.\n\n  Two.\n\nSo\n\n  a\n  b\n"
    bare = unstyled(typeset(parts, 80))
    assert [word for word in ("A debate", "T1  Wind", "One.", "Two.", "So", "• a", "• b") if word not in bare] == []
