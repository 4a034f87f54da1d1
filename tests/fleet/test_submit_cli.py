"""`debate-hall submit`: debates wait in the queue, each once, or nothing was submitted and it is said why."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result

from orchestrator.errors import ThreadExists
from orchestrator.fleet.queue import Queue
from orchestrator.hall.hall import Hall
from postgres import address_of, fresh_hall, fresh_schema, needs_postgres

pytestmark = needs_postgres
Command = Callable[..., Result]
TOPIC, THREAD = "Which queue?", "2026-01-06-queue"
MODELS = """\
routes: {PATHOS: [openai/wind], ETHOS: [openai/wall], LOGOS: [openai/door]}
models:
  openai/wind: {input_cost_per_token: 0.000001, output_cost_per_token: 0.000003}
  openai/wall: {input_cost_per_token: 0.000001, output_cost_per_token: 0.000003}
  openai/door: {}
"""


@pytest.fixture
def submit(command: Command) -> Command:
    """`debate-hall submit --rehearse --recipe speed`: no key is needed, and nobody is asked."""
    return lambda *arguments, **kwargs: command("submit", "--rehearse", "--recipe", "speed", *arguments, **kwargs)


@pytest.fixture
def jobs(beside: psycopg.Connection[Any]) -> Callable[[], list[tuple[str, int, datetime | None]]]:
    """The debate, priority and time of each job that waits."""
    asked = (
        "SELECT args->>'thread_id', priority, scheduled_at FROM procrastinate_jobs WHERE status = 'todo' ORDER BY id"
    )
    return lambda: beside.execute(asked).fetchall()


@pytest.fixture
def nothing_was_submitted(hall: Hall, jobs: Callable[[], list[Any]]) -> Callable[[], bool]:
    return lambda: (hall.list_debates(), jobs()) == ([], [])


def error_of(result: Result) -> dict[str, str]:
    error: dict[str, str] = json.loads(result.stdout)["error"]
    return error


# ----------------------------------------------------------------------------------------------------------- one debate


def test_a_debate_is_open_and_waits_and_its_id_is_all_that_is_printed(
    submit: Command, hall: Hall, jobs: Callable[[], Any]
) -> None:
    result = submit(TOPIC)
    assert result.exit_code == 0, result.output
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-which-queue\n", result.stdout)
    assert result.stderr.endswith("submitted 1 debate: debate-hall fleet\n")
    thread_id = result.stdout.strip()
    assert hall.debate(thread_id).opening.text == TOPIC
    assert jobs() == [(thread_id, 0, None)]
    assert submit(TOPIC).stdout == f"{thread_id}-2\n"


def test_it_waits_as_it_was_asked_for(submit: Command, jobs: Callable[[], Any]) -> None:
    asked = ("--thread-id", THREAD, "--priority", "7", "--after", "2036-01-06T18:00+01:00", "--json", "-")
    result = submit(*asked, input="Which queue?\n")
    assert json.loads(result.stdout) == {"debates": [{"thread_id": THREAD, "was_there": False}]}
    assert jobs() == [(THREAD, 7, datetime.fromisoformat("2036-01-06T17:00+00:00"))]


def test_what_was_submitted_before_is_there_and_an_id_is_no_other_debates(
    submit: Command, queue: Queue, jobs: Callable[[], Any]
) -> None:
    asked = ("--thread-id", THREAD, "--json")
    first, again = submit(*asked, TOPIC), submit(*asked, TOPIC)
    assert [json.loads(result.stdout)["debates"][0]["was_there"] for result in (first, again)] == [False, True]
    assert again.stderr.endswith("submitted 0 debates; 1 there already: debate-hall fleet\n")
    assert len(jobs()) == 1
    queue.cancel(THREAD)  # as if it had been stopped between the two steps
    assert json.loads(submit(*asked, TOPIC).stdout)["debates"][0]["was_there"] is False
    assert len(jobs()) == 1
    refused = submit(*asked, "Which cache?")
    assert (refused.exit_code, error_of(refused)["code"]) == (2, ThreadExists.code)


def test_a_dry_run_says_what_it_would_be_and_submits_nothing(
    submit: Command, nothing_was_submitted: Callable[[], bool]
) -> None:
    result = submit("--dry-run", TOPIC)
    assert result.exit_code == 0, result.output
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-which-queue  speed  asks no model\n1 debate\n", result.stdout)
    described = json.loads(submit("--dry-run", "--json", "--thread-id", THREAD, TOPIC).stdout)["debates"]
    assert [(each["thread_id"], each["topic"], each["recipe"]) for each in described] == [(THREAD, TOPIC, "speed")]
    assert nothing_was_submitted()


def test_keys_may_be_the_workers_alone(
    command: Command, work: Path, hall: Hall, nothing_was_submitted: Callable[[], bool]
) -> None:
    (work / "ours.yaml").write_text(MODELS)
    asked = ("submit", "--models", "ours.yaml", "-r", "speed", "--thread-id", THREAD)
    refused = command(*asked, TOPIC)
    assert refused.exit_code == 2
    assert "OPENAI_API_KEY" in refused.stderr
    assert nothing_was_submitted()
    assert command(*asked, "--assume-keys", TOPIC).exit_code == 0
    assert hall.debate(THREAD).plan is not None
    assert "held by the workers" not in json.dumps(hall.export_debate(THREAD))


# ------------------------------------------------------------------------------------------------------------- a batch

BATCH = "topic,id,priority,after\nWhich queue?,,5,\nWhich cache?,2026-01-06-cache,,2036-01-06T18:00Z\n\nWhich log?,,,\n"


def test_each_row_of_a_batch_waits_and_the_same_file_again_adds_nothing(
    submit: Command, work: Path, jobs: Callable[[], Any]
) -> None:
    (work / "topics.csv").write_text(BATCH)
    first = submit("--batch", "topics.csv", "--priority", "2")
    assert first.exit_code == 0, first.output
    queue, cache, log = ids = first.stdout.split()
    assert first.stderr.endswith("submitted 3 debates: debate-hall fleet\n")
    assert cache == "2026-01-06-cache"
    later = datetime.fromisoformat("2036-01-06T18:00+00:00")
    assert jobs() == [(queue, 5, None), (cache, 2, later), (log, 2, None)]
    again = submit("--batch", "topics.csv", "--priority", "2")
    assert again.stdout.split() == ids
    assert again.stderr.endswith("submitted 0 debates; 3 there already: debate-hall fleet\n")
    assert len(jobs()) == 3


def test_a_batch_that_was_interrupted_is_submitted_again_and_each_debate_is_there_once(
    submit: Command, work: Path, hall: Hall, jobs: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "topics.csv").write_text(BATCH)
    put = Queue.put

    def interrupted(self: Queue, thread_id: str, *how: Any) -> None:
        if thread_id == "2026-01-06-cache":
            raise KeyboardInterrupt
        put(self, thread_id, *how)

    with monkeypatch.context() as patch:
        patch.setattr(Queue, "put", interrupted)
        assert submit("--batch", "topics.csv").exit_code != 0
    assert (len(hall.list_debates()), len(jobs())) == (2, 1)
    again = json.loads(submit("--batch", "topics.csv", "--json").stdout)["debates"]
    assert [each["was_there"] for each in again] == [True, False, False]
    assert (len(hall.list_debates()), len(jobs())) == (3, 3)


@pytest.mark.parametrize(
    ("rows", "line", "message"),
    [
        ('{"topic": "b", "recipe": "sped"}', 2, "There is no recipe|sped"),
        ('{"topic": "b", "context": "missing.md"}', 2, "missing.md"),
        ('{"topic": "b", "since": "2025-01-06-nobody"}', 2, "2025-01-06-nobody"),
        ('{"topic": "b", "wind": "a/x"}', 2, "rehearsal"),
        ('{"topic": "b", "tier": "9"}', 2, "tier|9"),
        ('{"topic": "b"}\n{"topic": "a"}', 3, "It is the same debate as in"),
        ('{"topic": "b", "priority": 99999999999}', 2, "priority: Input should be less"),
    ],
    ids=["recipe", "context", "since", "models", "tier", "twice", "priority"],
)
def test_nothing_is_submitted_where_one_row_cannot_be(
    rows: str, line: int, message: str, submit: Command, work: Path, nothing_was_submitted: Callable[[], bool]
) -> None:
    (work / "topics.jsonl").write_text(f'{{"topic": "a"}}\n{rows}\n')
    result = submit("--batch", "topics.jsonl", "--json")
    assert (result.exit_code, error_of(result)["code"]) == (2, "configuration")
    assert error_of(result)["message"].startswith(f"topics.jsonl, line {line}: ")
    assert re.search(message, error_of(result)["message"])
    assert nothing_was_submitted()


def test_a_dry_run_of_a_batch_adds_up_what_is_known(
    command: Command, work: Path, nothing_was_submitted: Callable[[], bool]
) -> None:
    (work / "ours.yaml").write_text(MODELS)
    priced = MODELS.replace("openai/door: {}", "openai/door: {input_cost_per_token: 0.01, output_cost_per_token: 0.01}")
    (work / "priced.yaml").write_text(priced)
    (work / "topics.csv").write_text("topic,models\na,ours.yaml\nb,priced.yaml\nc,priced.yaml\n")
    result = command("submit", "--batch", "topics.csv", "-r", "speed", "--assume-keys", "--dry-run")
    assert result.exit_code == 0, result.output
    *lines, total = result.stdout.splitlines()
    assert len(lines) == 3
    assert re.fullmatch(r"3 debates, about \$\d+\.\d\d, 1 of unknown price", total)
    assert nothing_was_submitted()


# ------------------------------------------------------------------------------------------------- what cannot be asked


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give a TOPIC, or a file with --batch."),
        (["--batch", "topics.csv", TOPIC], "Give a TOPIC, or a file with --batch."),
        (["--batch", "topics.csv", "--thread-id", THREAD], "--thread-id is for one debate"),
        (["--batch", "missing.csv"], "does not exist"),
        (["--after", "tomorrow", TOPIC], "'tomorrow' is no time such as 2026-01-06T18:00."),
        (["--after", "0001-01-01T00:00", TOPIC], "is no time such as"),
        (["--priority", "1001", TOPIC], "1001 is not in the range"),
        (["--thread-id", "../queue", TOPIC], "cannot be a thread id"),
        ([" "], "The topic is blank"),
        (["--recipe", "sped", TOPIC], "sped"),
        (["--wind", "a/x", TOPIC], "A rehearsal asks no model"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_asked_is_said_and_nothing_is_submitted(
    arguments: list[str], message: str, submit: Command, work: Path, nothing_was_submitted: Callable[[], bool]
) -> None:
    (work / "topics.csv").write_text("topic\na\n")
    result = submit(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert error_of(submit("--json", *arguments))["code"] in ("usage", "configuration", "invalid_input")
    assert nothing_was_submitted()


@pytest.mark.parametrize(
    "arguments",
    [("submit", "--rehearse", TOPIC), ("fleet",), ("fleet", "budget", "5"), ("fleet", "retry", THREAD), ("worker",)],
    ids=" ".join,
)
def test_a_hall_in_a_file_has_no_fleet(
    arguments: tuple[str, ...], command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEBATE_HALL_STORE")
    result = command(*arguments)
    assert result.exit_code == 2
    assert "A fleet needs a hall that many machines share, on PostgreSQL. Set DEBATE_HALL_STORE=" in result.stderr


def test_a_hall_without_a_queue_or_no_hall_at_all_says_how_to_make_it(
    submit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fresh_hall() as address:
        monkeypatch.setenv("DEBATE_HALL_STORE", address)
        result = submit("--json", TOPIC)
        assert (result.exit_code, error_of(result)["code"]) == (2, "usage")
        assert "has no queue for a fleet. Make it: debate-hall store migrate" in result.stderr
    with fresh_schema() as schema:
        monkeypatch.setenv("DEBATE_HALL_STORE", address_of(schema))
        assert "has no hall. Make it: debate-hall store migrate" in submit(TOPIC).stderr


@pytest.mark.slow  # a process of its own, which imports all of it
def test_who_has_not_installed_it_is_told_how() -> None:
    script = "import sys; sys.modules['procrastinate'] = None\nfrom orchestrator.cli.debate_hall import main\nmain()"
    asked = [sys.executable, "-c", script, "submit", "--rehearse", TOPIC]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "What a fleet takes is not installed" in done.stderr
    assert "pip install 'run-debate[fleet]'" in done.stderr
