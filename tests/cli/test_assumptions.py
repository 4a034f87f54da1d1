"""`debate-hall assumptions`: what a decision assumed, what its checks come to, and what is told of the last time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from in_process import Table

from building import account_text, priced
from orchestrator.hall.hall import Hall
from orchestrator.models.base import Reply, Request

Command = Callable[..., Result]

ASSUMED = (
    ("One table is enough.", 'text "one table" in billing.md'),
    ("Nobody uses Kafka.", 'no text "kafka" in billing.md'),
    ("Few lines are to be done.", "number < 3: wc -l < todo.md"),
    ("The team stays as it is.", "ask in March"),
    ("Load stays low.", None),
)


class Decides(Table):
    """Its account tells what was assumed."""

    async def complete(self, request: Request) -> Reply:
        if request.task.step == "account":
            return priced(account_text(assumptions=[{"what": what, "check": check} for what, check in ASSUMED]))
        return await super().complete(request)


@pytest.fixture
def thread(work: Path, run: Command, monkeypatch: pytest.MonkeyPatch) -> str:
    (work / "billing.md").write_text("Billing is one\ntable, and kafka beside it.\n")
    (work / "todo.md").write_text("one\ntwo\n")
    table = Decides()
    monkeypatch.setenv("OPENAI_API_KEY", "asked-of-nobody")
    monkeypatch.setattr("orchestrator.models.switchboard.Switchboard.of", lambda self, route: table)
    voices = [f"--{role}=openai/gpt-5" for role in ("wind", "wall", "door")]
    ran = run("--recipe", "speed", "--thread-id", "billing", *voices, "Kafka?")
    assert ran.exit_code == 0, ran.stderr
    return "billing"


def states(hall: Command, *arguments: str) -> list[tuple[Any, Any]]:
    shown = hall("assumptions", "billing", "--json", *arguments)
    assert shown.exit_code == 0, shown.stderr
    told = json.loads(shown.stdout)
    assert (told["schema"], told["thread_id"]) == ("run-debate/assumptions/v1", "billing")
    assert [(one["what"], one["check"]) for one in told["assumptions"]] == list(ASSUMED)
    assert [one["for_a_machine"] for one in told["assumptions"]] == [True, True, True, False, False]
    return [(one["state"], one["why"]) for one in told["assumptions"]]


def test_each_is_shown_with_how_it_is_checked_and_what_its_last_check_came_to(thread: str, hall: Command) -> None:
    assert (
        hall("assumptions", thread).stdout
        == """\
1  One table is enough.
   text "one table" in billing.md
   not checked yet: --check

2  Nobody uses Kafka.
   no text "kafka" in billing.md
   not checked yet: --check

3  Few lines are to be done.
   number < 3: wc -l < todo.md
   not checked yet: --check

4  The team stays as it is.
   for a person: ask in March

5  Load stays low.
   for a person: no check is given
"""
    )
    checked = hall("assumptions", thread, "--check")
    assert checked.exit_code == 0
    assert checked.stdout.startswith("""\
1  One table is enough.
   text "one table" in billing.md
   HOLDS: billing.md holds the text

2  Nobody uses Kafka.
   no text "kafka" in billing.md
   BROKEN: billing.md holds the text

3  Few lines are to be done.
   number < 3: wc -l < todo.md
   UNKNOWN: it runs a command, and none may run here
""")
    assert "BROKEN: billing.md holds the text, 20" in hall("assumptions", thread).stdout


def test_what_is_kept_is_what_the_last_check_came_to(thread: str, hall: Command, work: Path) -> None:
    person = [(None, None)] * 2
    holds, broken = ("holds", "billing.md holds the text"), ("broken", "billing.md holds the text")
    counted = ("holds", "the command printed 2")
    assert states(hall) == [(None, None)] * 5
    assert states(hall, "--check", "--allow-commands") == [holds, broken, counted, *person]
    assert states(hall) == [holds, broken, counted, *person]
    elsewhere = work / "elsewhere"
    elsewhere.mkdir()
    gone = [("broken", "there is no billing.md"), ("unknown", "there is no billing.md")]
    forbidden = ("unknown", "it runs a command, and none may run here")
    assert states(hall, "--check", "--folder", "elsewhere") == [*gone, forbidden, *person]
    assert states(hall) == [*gone, counted, *person]  # what a command came to where it might run


def test_a_redaction_takes_what_was_checked_to_the_last_byte(thread: str, hall: Command, tmp_path: Path) -> None:
    def kept() -> int:
        return b"".join(file.read_bytes() for file in (tmp_path / "state").iterdir()).count(b"holds the text")

    assert states(hall, "--check")[0][0] == "holds"
    assert states(hall, "--check")[0][0] == "holds"
    assert kept() > 0
    assert hall("tombstone", thread, "0", "--reason", "a name").exit_code == 0
    assert kept() == 0
    assert states(hall) == [(None, None)] * 5


def test_a_decision_that_assumes_nothing_says_so(hall: Command, rehearse: Command) -> None:
    rehearse("--thread-id", "worksheet", "Kafka?")
    assert hall("assumptions", "worksheet").stdout == "No assumption stands in its record.\n"
    assert json.loads(hall("assumptions", "worksheet", "--check", "--json").stdout)["assumptions"] == []


@pytest.mark.parametrize("options", [("--allow-commands",), ("--folder", ".")])
def test_how_to_check_is_no_answer_without_checking(thread: str, hall: Command, options: tuple[str, ...]) -> None:
    refused = hall("assumptions", thread, *options)
    assert refused.exit_code == 2
    assert "give --check, too" in refused.stderr
    assert states(hall) == [(None, None)] * 5


@pytest.mark.parametrize("options", [(), ("--check",)])
def test_a_thread_that_is_not_there_is_an_error_for_people_and_programs(
    hall: Command, options: tuple[str, ...]
) -> None:
    refused = hall("assumptions", "never", "--json", *options)
    assert refused.exit_code == 2
    assert json.loads(refused.stdout)["error"]["code"] == "unknown_thread"
    with Hall.open() as opened:
        assert list(opened.list_debates()) == []
