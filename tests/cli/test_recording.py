"""`--adr DIR`: the decision goes among the records of that folder, once, when there is one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from in_process import Table

from building import account_text, priced, vote_text
from orchestrator.hall.hall import Hall
from orchestrator.models.base import Reply, Request

TOPIC = "Should we move billing to Kafka?"
THREAD = "2026-01-06-billing"

Command = Callable[..., Result]


@pytest.fixture
def records(work: Path) -> Path:
    """A folder of records as adr-tools keeps one, with an index."""
    folder = work / "docs" / "adr"
    folder.mkdir(parents=True)
    (folder / "0001-use-a-queue.md").write_text("# 1. Use a queue\n\nBilling writes to a queue.\n")
    (folder / "README.md").write_text("# Decisions\n\n* [1. Use a queue](0001-use-a-queue.md)\n")
    return folder


@pytest.fixture
def debate(run: Command, table: Table) -> Command:
    """`run-debate --recipe speed`, at the table."""
    return lambda *arguments: run("--recipe", "speed", "--thread-id", THREAD, *arguments, TOPIC)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.fixture(autouse=True)
def _title(monkeypatch: pytest.MonkeyPatch) -> None:
    """Door calls its decision by one name, whichever call that is."""
    heard = Table.complete

    async def complete(self: Table, request: Request) -> Reply:
        reply = await heard(self, request)
        return priced(account_text(title="Move billing to Kafka")) if request.task.step == "account" else reply

    monkeypatch.setattr(Table, "complete", complete)


NAME = "0002-move-billing-to-kafka.md"


def test_a_decision_goes_among_the_records_beside_the_runs_own_files(debate: Command, records: Path) -> None:
    result = debate("--adr", "docs/adr", "--json")
    assert result.exit_code == 0, result.output
    assert names(records) == ["0001-use-a-queue.md", NAME, "README.md"]
    text = (records / NAME).read_text()
    assert "\n# 2. Move billing to Kafka\n" in text
    assert f"- Thread: `{THREAD}`\n" in text
    own = Path("debates", THREAD, "decision.md").read_text()
    assert text.replace("# 2. Move", "# Move") == own
    assert (records / "README.md").read_text() == (
        "# Decisions\n\n* [1. Use a queue](0001-use-a-queue.md)\n"
        "* [2. Move billing to Kafka](0002-move-billing-to-kafka.md)\n"
    )
    assert f"wrote docs/adr/{NAME}\n" in result.stderr
    assert "wrote docs/adr/README.md\n" in result.stderr
    assert json.loads(result.stdout)["files"][-2:] == [f"docs/adr/{NAME}", "docs/adr/README.md"]


def test_a_folder_without_records_gets_its_first(debate: Command, work: Path) -> None:
    (work / "adr").mkdir()
    result = debate("--adr", "adr")
    assert result.exit_code == 0, result.output
    assert names(work / "adr") == ["0001-move-billing-to-kafka.md"]


def test_of_several_folders_the_first_gets_it(debate: Command, records: Path, work: Path) -> None:
    (work / "theirs").mkdir()
    (work / "theirs" / "0001-x.md").write_text("# X\n")
    assert debate("--adr", "docs/adr", "--adr", "theirs").exit_code == 0
    assert NAME in names(records)
    assert names(work / "theirs") == ["0001-x.md"]


def test_a_second_resume_makes_no_second_record(
    debate: Command, run: Command, hall: Command, records: Path, work: Path
) -> None:
    debate("--adr", "docs/adr")
    before = {name: (records / name).read_bytes() for name in names(records)}
    again = run("--resume", THREAD)
    assert again.exit_code == 0, again.output
    assert f"note: {records}/{NAME} holds this decision already; it is left as it is\n" in again.stderr
    exported = hall("export", THREAD, "--format", "adr", "--adr", "docs/adr")
    assert (exported.exit_code, exported.stdout) == (0, f"docs/adr/{NAME}\n")
    assert {name: (records / name).read_bytes() for name in names(records)} == before


def test_who_resumes_a_run_from_elsewhere_finds_the_folder_again(
    debate: Command, run: Command, records: Path, table: Table, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(request: Request) -> object:
        if request.task.role == "Door":
            raise KeyboardInterrupt
        return None

    table.hears = fails
    assert debate("--adr", "docs/adr").exit_code == 130
    assert NAME not in names(records)
    table.hears = lambda request: None
    monkeypatch.chdir(tmp_path)
    result = run("--resume", THREAD)
    assert result.exit_code == 0, result.output
    assert f"wrote {records}/{NAME}" in result.stderr
    assert NAME in names(records)


def test_a_folder_that_is_gone_by_then_is_no_reason_not_to_go_on(
    debate: Command, run: Command, records: Path, table: Table
) -> None:
    def fails(request: Request) -> object:
        if request.task.role == "Door":
            raise KeyboardInterrupt
        return None

    table.hears = fails
    debate("--adr", "docs/adr")
    table.hears = lambda request: None
    records.rename(records.with_name("moved"))
    result = run("--resume", THREAD)
    assert result.exit_code == 0, result.output
    assert f"note: no decision record will be written: {records} is no folder of decision records." in result.stderr


def test_a_folder_that_is_not_there_is_refused_before_anything_is_asked(
    debate: Command, table: Table, work: Path
) -> None:
    result = debate("--adr", "docs/adr")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: docs/adr is no folder of decision records. Make it, ")
    assert table.asked == []
    assert names(work) == []


def test_a_rehearsal_writes_no_record_and_says_so(rehearse: Command, records: Path) -> None:
    result = rehearse("--adr", "docs/adr", TOPIC)
    assert result.exit_code == 0, result.output
    assert "note: no decision record was written to docs/adr: a rehearsal decides nothing\n" in result.stderr
    assert names(records) == ["0001-use-a-queue.md", "README.md"]


def test_a_stalemate_writes_none_until_it_is_asked_for(
    debate: Command, hall: Command, records: Path, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Table.complete

    async def objects(self: Table, request: Request) -> Reply:
        reply = await heard(self, request)
        return priced(vote_text("object", "Nobody owns it.")) if request.task.step == "vote" else reply

    monkeypatch.setattr(Table, "complete", objects)
    result = debate("--consensus", "--adr", "docs/adr")
    assert result.exit_code == 4, result.output
    assert "no decision record was written to docs/adr: the debate ended without agreement\n" in result.stderr
    assert names(records) == ["0001-use-a-queue.md", "README.md"]
    asked = hall("export", THREAD, "--format", "adr", "--adr", "docs/adr")
    assert (asked.exit_code, asked.stdout) == (0, f"docs/adr/{NAME}\n")
    assert "**STALEMATE:** the objections below were not settled." in (records / NAME).read_text()


def test_a_dry_run_says_where_it_would_go(debate: Command, rehearse: Command, records: Path) -> None:
    assert debate("--adr", "docs/adr", "--dry-run").stdout.endswith("\ndecision record: docs/adr/0002-….md\n")
    told = json.loads(debate("--adr", "docs/adr", "--dry-run", "--json").stdout)
    assert told["decision_record"] == "docs/adr/0002-….md"
    assert "decision_record" not in json.loads(debate("--dry-run", "--json").stdout)
    worksheet = rehearse("--adr", "docs/adr", "--dry-run", TOPIC).stdout
    assert worksheet.endswith("\ndecision record: none: a rehearsal writes none to docs/adr\n")
    assert names(records) == ["0001-use-a-queue.md", "README.md"]


@pytest.mark.parametrize("how", ["open", "rehearsed", "forced"])
def test_what_decided_nothing_is_not_exported_as_a_record(
    rehearse: Command, hall: Command, records: Path, how: str
) -> None:
    if how == "rehearsed":
        rehearse("--thread-id", THREAD, TOPIC)
    else:
        with Hall.open() as opened:
            opened.init_debate(THREAD, TOPIC)
            if how == "forced":
                opened.force_close_debate(THREAD, "Enough.")
    result = hall("export", THREAD, "--format", "adr", "--adr", "docs/adr")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {THREAD} has no decision to record: ")
    assert names(records) == ["0001-use-a-queue.md", "README.md"]


def test_a_record_that_a_redaction_made_old_is_named(debate: Command, hall: Command, records: Path) -> None:
    debate("--adr", "docs/adr")
    assert hall("tombstone", THREAD, "0", "--reason", "It named a customer.").exit_code == 0
    result = hall("export", THREAD, "--format", "adr", "--adr", "docs/adr")
    assert result.exit_code == 2
    assert f"docs/adr/{NAME} holds this decision as it was before its ledger went on" in result.stderr
    assert "Remove it to have it written again." in result.stderr


@pytest.mark.parametrize("with_it", [("--format", "json"), ("--format", "adr", "--out", "x.md")])
def test_export_puts_an_adr_there_or_nothing(hall: Command, with_it: tuple[str, ...]) -> None:
    result = hall("export", THREAD, *with_it, "--adr", ".")
    assert result.exit_code == 2
    assert "--adr goes with --format adr, and in place of --out." in result.stderr
