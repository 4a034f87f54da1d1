"""`debate-hall review`: what is listed, what is held by hand, and daemons as processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from in_process import WAITS, Table

from orchestrator.hall.hall import Hall
from orchestrator.hall.holder import Holder
from orchestrator.hall.review_desk import ReviewDesk
from orchestrator.hall.review_rows import ReviewNotes
from orchestrator.hall.runs import this_process
from orchestrator.hall.store import open_store
from orchestrator.hall.terms import Status
from orchestrator.review.outcomes import Outcome
from orchestrator.shelves import bundled

Command = Callable[..., Result]

DEBATE_HALL = str(Path(sysconfig.get_path("scripts")) / "debate-hall")
PATIENCE_S = 30


@pytest.fixture
def file(work: Path) -> Path:
    return written(work, "models: rehearsal")


def written(work: Path, *keys: str, name: str = "reviews.yaml", cron: str = "0 9 * * 1") -> Path:
    told = ["name: weekly", f"cron: '{cron}'", "timezone: Europe/Berlin", "recipe: speed", "topic: Right on {date}?"]
    path = work / name
    path.write_text("reviews:\n  - " + "\n    ".join([*told, *keys]) + "\n")
    return path


def enrolled(file: Path) -> None:
    """The hall has known the review for eight days, in which a time of it came and nobody held it."""
    then = datetime.now(UTC) - timedelta(days=8)
    with Hall(open_store(), clock=lambda: then) as hall:
        claim = hall.reviews.begin("weekly", str(file), then, None)
        assert claim is not None
        hall.reviews.note(claim, ReviewNotes(outcome=Outcome.ENROLLED))


def rows() -> list[tuple[str | None, str | None]]:
    with Hall.open() as hall:
        return [(row.notes.outcome, row.notes.thread_id) for row in hall.reviews.rows("weekly")]


def test_the_reviews_of_a_file_are_listed_with_their_next_time_and_their_last(file: Path, hall: Command) -> None:
    listed = hall("review", "list")
    assert listed.exit_code == 0
    assert "Europe/Berlin" in listed.stdout
    assert listed.stdout.endswith("never held\n")
    hall("review", "run", "weekly")
    assert "rehearsed, " in hall("review", "list").stdout
    (told,) = json.loads(hall("review", "list", "--json").stdout)["reviews"]
    coming = datetime.fromisoformat(told["next"])
    assert (coming.weekday(), coming.hour, coming.minute) == (0, 9, 0)
    assert told["last"]["outcome"] == "rehearsed"
    assert told["last"]["thread_id"].endswith("-weekly")


def test_the_times_that_come_next_are_in_order_over_all_reviews(work: Path, file: Path, hall: Command) -> None:
    more = "  - {name: daily, cron: 30 2 * * *, topic: 'Right?'}\n"
    file.write_text(file.read_text() + more)
    coming = json.loads(hall("review", "next", "--count", "12", "--json").stdout)
    assert len(coming) == 12
    assert [time["at"] for time in coming] == sorted(time["at"] for time in coming)
    assert {time["name"] for time in coming} == {"weekly", "daily"}
    assert len(hall("review", "next", "--count", "2").stdout.splitlines()) == 2


def test_a_review_is_held_by_hand_and_its_result_is_one_json_object(file: Path, hall: Command) -> None:
    held = hall("review", "run", "weekly", "--json")
    told = json.loads(held.stdout)
    assert held.exit_code == told["exit_code"] == 0
    assert (told["schema"], told["review"], told["number"]) == ("run-debate/review/v1", "weekly", 1)
    assert (told["outcome"], told["result"]["rehearsal"]) == ("rehearsed", True)
    question = told["result"]["record"]["question"]
    assert question == f"Right on {told['due_at'][:10]}?" or question.startswith("Right on 20")  # Berlin may be ahead
    assert rows() == [("rehearsed", told["result"]["thread_id"])]


def test_where_only_a_due_time_is_to_be_held_there_is_nothing_to_do_before_it_comes(file: Path, hall: Command) -> None:
    enrolled(file)
    first = json.loads(hall("review", "run", "weekly", "--due", "--json").stdout)
    assert first["outcome"] == "rehearsed"
    due_at = datetime.fromisoformat(first["due_at"]).astimezone()
    assert (due_at.astimezone(UTC).weekday(), due_at.minute) == (0, 0)
    again = hall("review", "run", "weekly", "--due", "--quiet")
    assert (again.exit_code, again.stdout) == (
        0,
        "Nothing to debate: No time of its schedule has come since the last one.\n",
    )
    assert len(rows()) == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run", "wekly"), "has no review 'wekly'. Did you mean weekly?"),
        (("run", "weekly", "--file", "none.yaml"), "none.yaml: There is no such file."),
        (("list", "--file", "none.yaml"), "none.yaml: There is no such file."),
        (("daemon", "--file", "none.yaml"), "none.yaml: There is no such file."),
    ],
)
def test_what_is_not_there_is_refused_and_nothing_is_begun(
    file: Path, hall: Command, arguments: tuple[str, ...], told: str
) -> None:
    refused = hall("review", *arguments)
    assert refused.exit_code == 2
    assert told in refused.stderr
    assert rows() == []


def test_what_cannot_be_held_is_noted_with_the_reason(work: Path, hall: Command) -> None:
    written(work, "models: rehearsal", "context: gone.md")
    refused = hall("review", "run", "weekly", "--json")
    assert refused.exit_code == 2
    assert json.loads(refused.stdout)["error"]["code"] == "configuration"
    assert rows() == [("failed", None)]
    with Hall.open() as opened:
        (row,) = opened.reviews.rows("weekly")
    assert row.notes.why is not None
    assert "gone.md" in row.notes.why


def test_a_file_of_the_working_folder_runs_no_command_unless_it_is_named(work: Path, hall: Command) -> None:
    written(work, "models: rehearsal", "commands: true")
    for command in (("run", "weekly"), ("daemon",)):
        refused = hall("review", *command)
        assert refused.exit_code == 2
        assert "This file of the working folder lets checks run commands." in refused.stderr
        assert "--file reviews.yaml" in refused.stderr
    assert hall("review", "run", "weekly", "--file", "reviews.yaml").exit_code == 0


@pytest.mark.parametrize("models", ["evil.yaml", "./configs/Evil.YML"])
def test_a_file_of_the_working_folder_chooses_no_program_for_its_models_unless_it_is_named(
    work: Path, hall: Command, models: str
) -> None:
    proof = work / "proof"
    program = work / "program"
    program.write_text(f"#!/bin/sh\ntouch {proof}\n")
    program.chmod(0o755)
    (work / models).parent.mkdir(exist_ok=True)
    (work / models).write_text(
        "routes: {PATHOS: [cli/x], ETHOS: [cli/x], LOGOS: [cli/x]}\n"
        f"models: {{cli/x: {{cli: {{command: {program}}}}}}}\n"
    )
    written(work, f"models: {models}")
    for command in (("run", "weekly"), ("daemon",)):
        refused = hall("review", *command)
        assert refused.exit_code == 2
        assert "This file of the working folder names a models file by its path." in refused.stderr
    assert rows() == []
    assert not proof.exists()
    hall("review", "run", "weekly", "--file", "reviews.yaml")
    assert proof.exists()


@pytest.fixture
def outside(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder elsewhere, and links to it in the working folder."""
    place = tmp_path_factory.mktemp("outside")
    (place / "a.md").write_text("# Not yours\n")
    (place / "speed.yaml").write_text((bundled("recipes") / "speed.yaml").read_text())
    for name in ("docs", "own", "runs", "elsewhere"):
        (work / name).mkdir(exist_ok=True) if name != "elsewhere" else (work / name).symlink_to(place)
    (work / "docs" / "a.md").write_text("# Ours\n")
    (work / "own" / "b.md").symlink_to(place / "a.md")
    (work / "runs" / "2026-03-16-weekly").symlink_to(place)
    return place


@pytest.mark.parametrize(
    ("told", "key"),
    [
        ("context: {outside}/a.md", "context"),
        ("context: '{outside}/*.md'", "context"),
        ("context: ~/a.md", "context"),
        ("context: docs/../../a.md", "context"),
        ("context: elsewhere/a.md", "context"),
        ("context: [docs/a.md, elsewhere]", "context"),
        ("context: '*/b.md'", "context"),
        ("context: own", "context"),
        ("adr: [docs, {outside}]", "adr"),
        ("adr: ~", "adr"),
        ("adr: own", "adr"),
        ("results: {{folder: {outside}/runs}}", "results.folder"),
        ("results: {{folder: ../runs}}", "results.folder"),
        ("results: {{folder: elsewhere/runs}}", "results.folder"),
        ("results: {{folder: runs}}", "results.folder"),
        ("tier: null\n    recipe: elsewhere/speed.yaml", "recipe"),
    ],
)
def test_a_file_of_the_working_folder_reads_and_writes_nowhere_else_unless_it_is_named(
    work: Path, hall: Command, outside: Path, told: str, key: str
) -> None:
    before = sorted(outside.rglob("*"))
    told = told.format(outside=outside).replace("adr: ~", "adr: '~'")
    file = written(work, "models: rehearsal", told)
    if key == "recipe":
        file.write_text(file.read_text().replace("    recipe: speed\n", ""))
    for command in (("run", "weekly"), ("daemon",)):
        refused = hall("review", *command)
        assert refused.exit_code == 2
        assert f"This file of the working folder has a path that leaves its folder ({key})." in refused.stderr
    assert rows() == []
    assert sorted(outside.rglob("*")) == before


def test_a_file_of_the_working_folder_reads_and_writes_below_it(work: Path, hall: Command, outside: Path) -> None:
    (work / "adr").mkdir()
    (work / "docs" / "link.md").symlink_to("a.md")
    written(work, "models: rehearsal", "context: [docs, 'docs/*.md']", "adr: adr", "results: {folder: new/runs}")
    assert hall("review", "run", "weekly").exit_code == 0
    assert len(list((work / "new" / "runs").iterdir())) == 1


def test_paths_start_from_the_folder_of_the_file_wherever_the_command_is_run(
    work: Path, hall: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = work / "ops"
    (place / "docs").mkdir(parents=True)
    (place / "docs" / "a.md").write_text("# How billing works\n\nOne table.\n")
    written(place, "models: rehearsal", "context: docs/*.md")
    told = json.loads(hall("review", "run", "weekly", "--file", "ops/reviews.yaml", "--json").stdout)
    assert [piece["path"] for piece in told["result"]["record"]["evidence"]] == ["docs/a.md"]


def test_a_decision_goes_into_the_folder_of_records(work: Path, hall: Command, table: Table) -> None:
    (work / "adr").mkdir()
    written(work, "models: openai/gpt-5", "adr: adr")
    told = json.loads(hall("review", "run", "weekly", "--json").stdout)
    assert told["outcome"] == "decided"
    (record,) = (work / "adr").iterdir()
    assert told["result"]["files"] == [str(record)]
    assert {request.model for request in table.asked} == {"openai/gpt-5"}


def test_a_review_that_is_stopped_goes_on_with_the_same_debate(work: Path, hall: Command, table: Table) -> None:
    written(work, "models: openai/gpt-5")

    def hears(request: Any) -> object:
        if request.task.step == "turn" and request.messages and "Door" in str(request.task):
            os.kill(os.getpid(), signal.SIGINT)
            return WAITS
        return None

    table.hears = hears
    stopped = hall("review", "run", "weekly")
    assert stopped.exit_code == 130
    assert stopped.stderr.splitlines()[-1] == "Go on with it: debate-hall review run weekly"
    ((outcome, thread_id),) = rows()
    assert outcome is None
    asked = len(table.asked)
    table.hears = lambda request: None
    told = json.loads(hall("review", "run", "weekly", "--json").stdout)
    assert (told["outcome"], told["result"]["thread_id"], told["number"]) == ("decided", thread_id, 1)
    assert rows() == [("decided", thread_id)]
    assert told["result"]["record"]["resumed"] == 1
    assert len(table.asked) < 2 * asked + 3


def test_a_review_that_met_a_limit_says_where_to_raise_it_and_goes_on_with_the_file_that_was_named(
    work: Path, hall: Command, table: Table
) -> None:
    written(work, "models: openai/gpt-5", "limits: {tokens: 10}", name="my reviews.yaml")
    stopped = hall("review", "run", "weekly", "--file", "my reviews.yaml", "--json")
    assert stopped.exit_code == 5, stopped.output
    error, last = stopped.stderr.splitlines()[-2:]
    assert error.endswith("Raise tokens under limits: in the reviews file, and go on with it.")
    assert json.loads(stopped.stdout)["error"]["message"] == error.removeprefix("error: ")
    assert last == "Go on with it: debate-hall review run weekly --file 'my reviews.yaml'"
    assert "--token-limit" not in stopped.output
    written(work, "models: openai/gpt-5", "limits: {tokens: 1000000}", name="my reviews.yaml")
    assert hall("review", "run", "weekly", "--file", "my reviews.yaml").exit_code == 0


def test_whoever_holds_a_review_by_hand_while_another_process_is_at_it_is_told_who(file: Path, hall: Command) -> None:
    with closing(open_store()) as store:
        assert ReviewDesk(store, lambda: datetime.now(UTC)).begin("weekly", str(file), datetime.now(UTC), None)
        refused = hall("review", "run", "weekly", "--json")
        assert refused.exit_code == 2
        told = json.loads(refused.stdout)["error"]
        assert told["code"] == "run_held"
        assert told["message"].startswith(f"weekly: {this_process()} is at it, since 20")
        assert str(this_process()) in hall("review", "run", "weekly").stderr
        due = hall("review", "run", "weekly", "--due")
        assert (due.exit_code, due.stdout.startswith(f"Nothing to debate: {this_process()} is at it")) == (0, True)


def test_what_a_process_that_died_has_left_behind_is_held_at_once(file: Path, hall: Command) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    store = open_store()
    desk = ReviewDesk(store, lambda: datetime.now(UTC), Holder(this_process().place, dead.pid))
    claim = desk.begin("weekly", str(file), datetime.now(UTC), None)
    assert claim is not None
    desk.note(claim, ReviewNotes(thread_id="2026-01-06-never-opened"))
    store.close()
    told = json.loads(hall("review", "run", "weekly", "--json").stdout)
    assert (told["number"], told["outcome"]) == (1, "rehearsed")
    assert rows() == [("rehearsed", told["result"]["thread_id"])]


def until(condition: Callable[[], bool]) -> None:
    for _ in range(PATIENCE_S * 20):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it never came to that")


@pytest.mark.slow
def test_of_two_daemons_as_processes_one_holds_a_missed_time_and_both_end_well_when_told_to(
    work: Path, file: Path
) -> None:
    enrolled(file)
    command = [DEBATE_HALL, "review", "daemon", "--file", str(file)]
    pipe = subprocess.PIPE
    daemons = [subprocess.Popen(command, stderr=pipe, stdout=pipe, text=True) for _ in range(2)]
    try:
        until(lambda: rows()[1:] != [] and rows()[-1][0] is not None)
    finally:
        for daemon in daemons:
            daemon.send_signal(signal.SIGTERM)
        told = [daemon.communicate(timeout=PATIENCE_S)[1] for daemon in daemons]
    assert [daemon.returncode for daemon in daemons] == [0, 0]
    assert [outcome for outcome, _ in rows()] == ["enrolled", "rehearsed"]
    assert sum("its time has come" in lines for lines in told) == 1
    assert all(lines.endswith("gone on with at the next start\n") for lines in told)
    with Hall.open() as hall:
        assert [debate["status"] for debate in hall.list_debates()] == [Status.SYNTHESIS]


@pytest.mark.slow
def test_a_daemon_that_is_stopped_in_a_debate_pauses_it_for_the_next_one(
    work: Path, model_server: Any, hall: Command
) -> None:
    (work / "here.yaml").write_text(model_server.models_file())
    file = written(work, "models: here.yaml")
    enrolled(file)
    model_server.deadline_s = 60
    model_server.hold_until(2, 1, 9)  # Door waits in vain
    command = [DEBATE_HALL, "review", "daemon", "--file", str(file)]

    def begun() -> bool:
        return len(model_server.calls) >= 4

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as first:
        until(begun)
        first.send_signal(signal.SIGTERM)
        told = first.communicate(timeout=PATIENCE_S)[1]
    assert first.returncode == 0, told
    (_, (outcome, thread_id)) = rows()
    assert (outcome, bool(thread_id)) == (None, True)
    with Hall.open() as opened:
        assert opened.runs.life(opened.runs.row(str(thread_id)), active=True) == "paused"
    model_server.hold_until()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as second:
        until(lambda: rows()[-1][0] is not None)
        second.send_signal(signal.SIGTERM)
        second.communicate(timeout=PATIENCE_S)
    assert rows() == [("enrolled", None), ("decided", thread_id)]
