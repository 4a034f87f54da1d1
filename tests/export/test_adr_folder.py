"""A folder of decision records with one more in it: named, numbered, titled and listed as the others are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from building import THREAD, evidence_of, hall_at, plan_of
from export.test_markdown import ADR, debate_of
from orchestrator.decision.evidence_used import EarlierDecision
from orchestrator.decision.record import DecisionRecord, make_record
from orchestrator.errors import UsageError
from orchestrator.export.adr_folder import Kept, is_empty, keep, next_name, require_folder, why_not
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Status

TITLE = "Move billing to Kafka"
DAY = "2026-01-31"


@pytest.fixture
def debate(tmp_path: Path) -> Debate:
    return debate_of(tmp_path / "state", "Therefore an outbox.", topic="Kafka?")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "adr"
    folder.mkdir()
    return folder


def record_with(debate: Debate, **changes: Any) -> DecisionRecord:
    changes = {"title": TITLE, "decided_at": f"{DAY}T12:00:00Z", **changes}
    return make_record(debate, None).model_copy(update=changes)


def kept(folder: Path, debate: Debate, **changes: Any) -> Kept:
    return keep(folder, record_with(debate, **changes), debate)


def fill(folder: Path, files: Iterable[str], title: str = "# {words}") -> None:
    for name in files:
        number, _, words = name.removesuffix(".md").partition("-")
        (folder / name).write_text(f"{title.format(number=int(number), words=words.replace('-', ' '))}\n\nWe do it.\n")


# ---------------------------------------------------------------------------------------------------- names and titles


def test_the_first_record_is_0001(folder: Path, debate: Debate) -> None:
    done = kept(folder, debate)
    assert done == Kept(folder / "0001-move-billing-to-kafka.md", (), is_new=True)
    assert done.record.read_text().startswith("---\nstatus: proposed\ndate: 2026-01-31\n")
    assert f"\n# {TITLE}\n" in done.record.read_text()
    assert os.listdir(folder) == ["0001-move-billing-to-kafka.md"]


@pytest.mark.parametrize(
    ("there", "name"),
    [
        (["0000-use-madr.md"], "0001-move-billing-to-kafka.md"),
        (["0001-a.md", "0007-b.md", "0003-c.md"], "0008-move-billing-to-kafka.md"),
        (["001-a.md", "002-b.md"], "003-move-billing-to-kafka.md"),
        (["9-a.md"], "10-move-billing-to-kafka.md"),
        (["09-a.md"], "10-move-billing-to-kafka.md"),
        (["99-a.md"], "100-move-billing-to-kafka.md"),
        (["00001-a.md"], "00002-move-billing-to-kafka.md"),
        (["0001-a.md", "0002-b.adoc"], "0003-move-billing-to-kafka.md"),
        (["adr-0004-a.md"], "adr-0005-move-billing-to-kafka.md"),
        (["ADR-012-a.md"], "ADR-013-move-billing-to-kafka.md"),
        (["0004_use_a_queue.md"], "0005_move_billing_to_kafka.md"),
        (["README.md", "template.md", "adr-template.md"], "0001-move-billing-to-kafka.md"),
        (["0000-template.md", "0001-a.md"], "0002-move-billing-to-kafka.md"),
        (["use-a-queue.md"], "0001-move-billing-to-kafka.md"),
        (["20250102-a.md", "20250304-b.md"], "20260131-move-billing-to-kafka.md"),
    ],
)
def test_the_next_number_follows_the_highest_there_in_the_folders_own_style(
    folder: Path, debate: Debate, there: list[str], name: str
) -> None:
    for file in there:
        (folder / file).write_text("# It is decided\n")
    assert kept(folder, debate).record.name == name
    assert sorted(os.listdir(folder)) == sorted([*there, name])


def test_what_will_be_its_name_can_be_told_before(folder: Path) -> None:
    assert next_name(folder, date(2026, 1, 31)) == "0001-….md"
    fill(folder, ["012-a.md"])
    assert next_name(folder, date(2026, 1, 31)) == "013-….md"


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Ça va: “naïve” C++/Go & 100%!", "ca-va-naive-c-go-100"),
        ("../../etc/passwd", "etc-passwd"),
        ("A" * 300, "a" * 60),
        ("…", None),
        ("移行する", None),
    ],
)
def test_a_title_becomes_a_name_that_is_valid_everywhere(
    folder: Path, debate: Debate, title: str, slug: str | None
) -> None:
    file = kept(folder, debate, title=title).record
    assert file.parent == folder
    if slug is not None:
        assert file.name == f"0001-{slug}.md"
    else:
        assert re.fullmatch(r"0001-decision-[0-9a-f]{8}\.md", file.name)


@pytest.mark.parametrize(
    ("there", "title"),
    [
        ("# {number}. {words}", f"# 8. {TITLE}"),  # adr-tools
        ("# {words}", f"# {TITLE}"),  # MADR
        ("# ADR-{number:04}: {words}", f"# ADR-0008: {TITLE}"),
        ("# ADR {number} - {words}", f"# ADR 8 - {TITLE}"),
        ("# 12 monkeys", f"# {TITLE}"),  # which is no number of its own
    ],
)
def test_the_title_begins_as_the_newest_records_title_does(
    folder: Path, debate: Debate, there: str, title: str
) -> None:
    fill(folder, ["0002-a.md", "0007-b.md"], there)
    assert f"\n{title}\n" in kept(folder, debate).record.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("heading", "line"),
    [
        ("# Use C#", "- [Use C#](0001-use.md)"),
        ("# Use C# ##", "- [Use C#](0001-use.md)"),
        ("# Use C ##", "- [Use C](0001-use.md)"),
        (f"# {'9' * 5000}. Use C", f"- [{'9' * 5000}. Use C](0001-use.md)"),  # more digits than int() takes
        (f"# {'#' * 200_000}x", "- [Use](0001-use.md)"),
        (f"# Use{' ' * 200_000}x", "- [Use](0001-use.md)"),
    ],
    ids=["a sign of a word", "closed behind it", "closed", "no number", "signs without end", "space without end"],
)
def test_a_title_is_what_markdown_takes_for_it_however_it_is_written(
    heading: str, line: str, folder: Path, debate: Debate
) -> None:
    (folder / "0001-use.md").write_text(f"{heading}\n")
    (folder / "README.md").write_text(f"{line}\n")
    kept(folder, debate)
    listed = (folder / "README.md").read_text()
    assert listed == f"{line}\n- [{TITLE}](0002-move-billing-to-kafka.md)\n"


def test_a_pipe_among_the_records_keeps_nobody_waiting(folder: Path, debate: Debate) -> None:
    os.mkfifo(folder / "0001-use.md")
    os.mkfifo(folder / "README.md")
    assert kept(folder, debate).files == (folder / "0002-move-billing-to-kafka.md",)


def test_a_link_in_an_index_may_have_no_end(folder: Path, debate: Debate) -> None:
    fill(folder, ["0001-use.md"])
    (folder / "README.md").write_text(f"- [use](0001-use.md)\n\n[x](<{'a' * 200_000}\n")
    kept(folder, debate)
    assert f"- [{TITLE}](0002-move-billing-to-kafka.md)\n" in (folder / "README.md").read_text()


def test_a_record_links_to_the_earlier_ones_that_it_touches_and_leaves_them_as_they_are(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (folder / "0001-queue.md").write_text(ADR.text)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "0002 x.md").write_text("# X\n")
    plan = plan_of(evidence=[evidence_of(), ADR])
    debate = debate_of(tmp_path / "state", "It is moved. It is kept.", topic="Kafka?", plan=plan)
    quotes = {"theirs": "Billing writes to a queue.", "ours": "It is moved."}
    earlier = (
        EarlierDecision(id="E2", path="adr/0001-queue.md", relation="supersedes", **quotes),
        EarlierDecision(id="E3", path="other/0002 x.md", relation="builds_on", **quotes),
        EarlierDecision(id="E4", path="gone/0003.md", relation="contradicts", **quotes),
    )
    record = make_record(debate, plan).model_copy(update={"earlier_decisions": earlier})
    text = " ".join(keep(folder, record, debate).record.read_text().split())
    assert "- Supersedes E2 [adr/0001-queue.md](0001-queue.md): " in text
    assert "- Builds on E3 [other/0002 x.md](../other/0002%20x.md): " in text
    assert "- Contradicts E4 `gone/0003.md`: " in text
    assert (folder / "0001-queue.md").read_text() == ADR.text


# -------------------------------------------------------------------------------------------------------------- indexes

LINK = f"[{TITLE}](0003-move-billing-to-kafka.md)"
LIST = "# Decisions\n\nAll of them:\n\n* [a](0001-a.md)\n* [b b](0002-b-b.md)\n\nThat is all.\n"
INDEXES = {
    "a plain list": (LIST, LIST.replace("(0002-b-b.md)\n", f"(0002-b-b.md)\n* {LINK}\n")),
    "adr-log": (
        "# Log\n\n<!-- adrlog -->\n\n* [ADR-0001](0001-a.md) - a\n* [ADR-0002](0002-b-b.md) - b b\n\n"
        "<!-- adrlogstop -->\n\n* [not in it](0001-a.md)\n",
        "# Log\n\n<!-- adrlog -->\n\n* [ADR-0001](0001-a.md) - a\n* [ADR-0002](0002-b-b.md) - b b\n"
        f"* [ADR-0003](0003-move-billing-to-kafka.md) - {TITLE}\n\n<!-- adrlogstop -->\n\n* [not in it](0001-a.md)\n",
    ),
    "adr-log, still empty": (
        "<!-- adrlog -- Regenerate it -->\n<!-- adrlogstop -->\n",
        f"<!-- adrlog -- Regenerate it -->\n\n* [ADR-0003](0003-move-billing-to-kafka.md) - {TITLE}\n\n"
        "<!-- adrlogstop -->\n",
    ),
    "a table": (
        "| ADR | Title | Status | Date | Owner |\n|---|---|---|---|---|\n"
        "| [0001](0001-a.md) | a | Accepted | 2025-01-01 | Ann |\n"
        "| [0002](0002-b-b.md) | b b | Superseded by 0001 | 2025-02-02 | Bob |\n\nMore.\n",
        "| ADR | Title | Status | Date | Owner |\n|---|---|---|---|---|\n"
        "| [0001](0001-a.md) | a | Accepted | 2025-01-01 | Ann |\n"
        "| [0002](0002-b-b.md) | b b | Superseded by 0001 | 2025-02-02 | Bob |\n"
        f"| [0003](0003-move-billing-to-kafka.md) | {TITLE} | Proposed           | 2026-01-31 |     |\n\nMore.\n",
    ),
    "the newest first": (
        "- 2 [b b](./0002-b-b.md) (accepted)\n  with a word on it\n- 1 [a](./0001-a.md) (accepted)\n",
        f"- 3 [{TITLE}](./0003-move-billing-to-kafka.md) (proposed)\n"
        "- 2 [b b](./0002-b-b.md) (accepted)\n  with a word on it\n- 1 [a](./0001-a.md) (accepted)\n",
    ),
    "numbered, with descriptions": (
        "1. [a](0001-a.md): because of this\n2. [b b](0002-b-b.md): because of that\n",
        "1. [a](0001-a.md): because of this\n2. [b b](0002-b-b.md): because of that\n"
        f"3. [{TITLE}](0003-move-billing-to-kafka.md)\n",
    ),
    "lines of Windows": (
        "- [1. a](0001-a.md)\r\n- [2. b b](0002-b-b.md)\r\n",
        f"- [1. a](0001-a.md)\r\n- [2. b b](0002-b-b.md)\r\n- [3. {TITLE}](0003-move-billing-to-kafka.md)\r\n",
    ),
    "lists below headings": (
        "## New\n\n- [b b](0002-b-b.md)\n\n## Old\n\n- [a](0001-a.md)\n",
        f"## New\n\n- [b b](0002-b-b.md)\n- [{TITLE}](0003-move-billing-to-kafka.md)\n\n## Old\n\n- [a](0001-a.md)\n",
    ),
    "no list": ("# Decisions\n\nSee [a](0001-a.md).\n", None),
    "a list of other things": ("- [x](x.md)\n- [y](../0001-y.txt)\n", None),
    "bytes that are no UTF-8": ("caf\udce9\n- [b b](0002-b-b.md)\n", f"caf\udce9\n- [b b](0002-b-b.md)\n- {LINK}\n"),
}


@pytest.mark.parametrize("style", INDEXES)
@pytest.mark.parametrize("name", ["README.md", "index.md"])
def test_the_index_gets_a_line_in_its_own_style_and_nothing_else(
    folder: Path, debate: Debate, style: str, name: str
) -> None:
    before, after = INDEXES[style]
    fill(folder, ["0001-a.md", "0002-b-b.md"])
    index = folder / name
    index.write_bytes(before.encode("utf-8", "surrogateescape"))
    index.chmod(0o640)
    done = kept(folder, debate)
    assert index.read_bytes().decode("utf-8", "surrogateescape") == (before if after is None else after)
    assert done.indexes == (() if after is None else (index,))
    assert index.stat().st_mode & 0o777 == 0o640
    assert kept(folder, debate) == Kept(done.record, (), is_new=False)


def test_log4brains_finds_its_records_without_an_index(folder: Path, debate: Debate) -> None:
    fill(folder, ["20250102-a.md"])
    (folder / ".log4brains.yml").write_text("project:\n  name: x\n")
    (folder / "README.md").write_text("# Decisions\n\nRun log4brains.\n")
    assert kept(folder, debate).files == (folder / "20260131-move-billing-to-kafka.md",)
    assert (folder / ".log4brains.yml").read_text() == "project:\n  name: x\n"
    assert (folder / "README.md").read_text() == "# Decisions\n\nRun log4brains.\n"


def test_an_index_that_is_a_link_stays_one(folder: Path, debate: Debate, tmp_path: Path) -> None:
    fill(folder, ["0001-a.md"])
    (tmp_path / "DECISIONS.md").write_text("- [a](0001-a.md)\n")
    (folder / "README.md").symlink_to("../DECISIONS.md")
    kept(folder, debate)
    assert (folder / "README.md").is_symlink()
    assert (tmp_path / "DECISIONS.md").read_text().count("](") == 2


# ------------------------------------------------------------------------------------------------------- twice, at once


def test_a_decision_that_stands_there_is_left_as_people_made_it(folder: Path, debate: Debate) -> None:
    file = kept(folder, debate).record
    edited = file.read_text().replace("status: proposed", "status: accepted")
    renamed = folder / "0001-billing.md"
    file.unlink()
    renamed.write_text(edited)
    assert kept(folder, debate) == Kept(renamed, (), is_new=False)
    assert renamed.read_text() == edited
    assert os.listdir(folder) == ["0001-billing.md"]


def test_a_record_is_known_by_what_it_says_of_itself_and_not_by_what_is_said_in_it(
    folder: Path, debate: Debate
) -> None:
    file = kept(folder, debate).record
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))  # as git may check it out
    assert not kept(folder, debate).is_new
    (folder / "0007-x.md").write_text(f"# X\n\n- Thread: `{THREAD}`\n\n### Ledger and cost\n\n- Thread: `other`\n")
    file.unlink()
    assert kept(folder, debate).record.name == "0008-move-billing-to-kafka.md"


def test_of_a_decision_whose_ledger_went_on_it_is_said_that_it_is_old(
    folder: Path, debate: Debate, tmp_path: Path
) -> None:
    file = kept(folder, debate).record
    with hall_at(tmp_path / "state") as hall:
        hall.tombstone_turn(THREAD, 0, "It named a customer.")
        later = hall.debate(THREAD)
    before = file.read_text()
    assert kept(folder, later) == Kept(file, (), is_new=False, is_old=True)
    assert file.read_text() == before


def test_another_debate_of_the_same_name_is_another_decision(folder: Path, debate: Debate, tmp_path: Path) -> None:
    kept(folder, debate)
    elsewhere = debate_of(tmp_path / "other", "Therefore a queue.", topic="Kafka?", plan=plan_of())
    assert kept(folder, elsewhere).record.name == "0002-move-billing-to-kafka.md"


def test_an_index_that_missed_its_line_gets_it_later(folder: Path, debate: Debate) -> None:
    fill(folder, ["0001-a.md"])
    kept(folder, debate)
    (folder / "README.md").write_text("- [a](0001-a.md)\n")  # as after a crash between the two
    assert kept(folder, debate).indexes == (folder / "README.md",)
    assert kept(folder, debate).indexes == ()


def test_a_number_is_taken_once_also_by_many_at_once(folder: Path, tmp_path: Path) -> None:
    debates = [debate_of(tmp_path / str(n), f"Therefore {n}.", topic=f"Kafka {n}?", plan=plan_of()) for n in range(6)]
    records = [make_record(each, plan_of()).model_copy(update={"thread_id": str(n)}) for n, each in enumerate(debates)]
    (folder / "README.md").write_text("- [a](0001-a.md)\n")
    fill(folder, ["0001-a.md"])
    barrier = threading.Barrier(len(debates))

    def work(debate: Debate, record: DecisionRecord) -> None:
        barrier.wait(10)
        keep(folder, record, debate)

    workers = [threading.Thread(target=work, args=pair) for pair in zip(debates, records, strict=True)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    numbers = sorted(name[:4] for name in os.listdir(folder) if name[0] == "0")
    assert numbers == [f"{number:04}" for number in range(1, 8)]
    assert sorted(re.findall(r"\((\d{4})-", (folder / "README.md").read_text())) == numbers


@pytest.mark.slow
def test_two_processes_take_two_numbers(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "hall"))
    with Hall.open() as hall:
        for name in ("one", "two"):
            hall.init_debate(name, f"{name}?")
            for role in ("Wind", "Wall", "Door"):
                hall.add_turn(name, role, "Words.")
            hall.close_debate(name, "Therefore.")
    command = [
        sys.executable,
        "-c",
        "from orchestrator.cli.debate_hall import main; main()",
        "export",
        "--format",
        "adr",
    ]
    running = [
        subprocess.Popen([*command, "--adr", str(folder), name], stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    told = sorted(process.communicate(timeout=60)[0].strip() for process in running)
    assert told == sorted(str(folder / name) for name in os.listdir(folder))
    assert sorted(name[:4] for name in os.listdir(folder)) == ["0001", "0002"]


# ------------------------------------------------------------------------------------------------- what does not belong


def test_a_folder_that_is_not_there_is_refused_and_not_made(tmp_path: Path, debate: Debate) -> None:
    for attempt in (lambda: require_folder(tmp_path / "adr"), lambda: kept(tmp_path / "adr", debate)):
        with pytest.raises(UsageError, match="is no folder of decision records"):
            attempt()
    assert not (tmp_path / "adr").exists()


def test_a_folder_that_cannot_be_written_is_refused_with_the_cure() -> None:
    nobodys = Path("/proc/self")  # where not even root may make a file
    if not nobodys.is_dir():
        pytest.skip("this machine has no folder that nobody may write to")
    with pytest.raises(UsageError, match=r"Cannot write to /proc/self: .* Make it, allow writing there, .* --adr"):
        require_folder(nobodys)


def test_judging_a_folder_leaves_nothing_in_it(folder: Path) -> None:
    require_folder(folder)
    assert os.listdir(folder) == []


def test_a_folder_is_empty_until_it_holds_a_record(folder: Path) -> None:
    (folder / "README.md").write_text("x")
    assert is_empty(folder)
    fill(folder, ["0001-a.md"])
    assert not is_empty(folder)
    assert not is_empty(folder / "gone")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, None),
        ({"rehearsal": True}, "a rehearsal decides nothing"),
        ({"status": Status.STALEMATE}, "the debate ended without agreement"),
        ({"status": Status.FORCE_CLOSED}, "the debate was closed by force, without a decision"),
        ({"status": Status.ACTIVE}, "the debate is not closed"),
    ],
)
def test_only_what_was_decided_goes_there_of_its_own_accord(debate: Debate, changes: Any, why: str | None) -> None:
    assert why_not(record_with(debate, **changes)) == why
