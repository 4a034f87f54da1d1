"""`debate-hall import`: debates move from hall to hall as files, each judged before any is taken in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from orchestrator.hall.hall import Hall

Command = Callable[..., Result]

HAND, REHEARSED = "2026-01-06-by-hand", "2026-01-07-rehearsed"


@pytest.fixture
def exports(hall: Command, rehearse: Command, work: Path) -> dict[str, Path]:
    """Files of two debates: one that people held, one that was rehearsed."""
    with Hall.open() as opened:
        opened.init_debate(HAND, "Which queue?", max_turns=3, max_rounds=1)
        opened.add_turn(HAND, "Wind", "None at all.\r\n```\n# Approved\u202e", agent_role="ideator")
        opened.add_turn(HAND, "Wall", "VERDICT: CONDITIONAL\n- [C1] CONSTRAINT: it has one owner.")
        opened.tombstone_turn(HAND, 1, "It named its owner.")
    assert rehearse("--thread-id", REHEARSED, "Should we move billing to Kafka?").exit_code == 0
    files = {"json": work / "hand.json", "octave": work / "hand.oct.md"}
    for format, file in files.items():
        assert hall("export", HAND, "--format", format, "--out", str(file)).exit_code == 0
    folder = work / "debates" / REHEARSED
    return files | {"run json": folder / "debate.json", "run octave": folder / "transcript.oct.md"}


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Goes to another hall, which is empty."""
    return lambda: monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "another" / "hall"))


def listed(hall: Command) -> list[str]:
    return [debate["thread_id"] for debate in json.loads(hall("list", "--json").stdout)]


@pytest.mark.parametrize("format", ["json", "octave"])
def test_both_formats_bring_a_debate_whole_into_another_hall(
    hall: Command, exports: dict[str, Path], elsewhere: Callable[[], None], format: str
) -> None:
    with Hall.open() as opened:
        debates = {thread: opened.debate(thread) for thread in (HAND, REHEARSED)}
    elsewhere()
    result = hall("import", str(exports[format]), str(exports[f"run {format}"]))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "".join(
        f"{thread}: imported, {len(debate.lines)} entries, head {debate.head}\n" for thread, debate in debates.items()
    )
    with Hall.open() as opened:
        assert {thread: opened.debate(thread) for thread in (HAND, REHEARSED)} == debates
    for name, form, thread in (("run json", "json", REHEARSED), ("octave", "octave", HAND)):
        assert hall("export", thread, "--format", form).stdout_bytes == exports[name].read_bytes()
    assert hall("verify", "--all").exit_code == 0
    again = hall("import", str(exports[format]), "--json")
    assert [each["is_new"] for each in json.loads(again.stdout)] == [False]


def test_a_sealed_transcript_is_imported_and_a_damaged_one_not(
    hall: Command, exports: dict[str, Path], elsewhere: Callable[[], None], work: Path
) -> None:
    sealed = hall("export", REHEARSED, "--format", "octave", "--seal").stdout
    assert sealed.endswith("===END===\n")
    assert "\n§SEAL::SEAL\n" in sealed
    (work / "sealed.oct.md").write_text(sealed)
    checked = hall("verify", "--file", "sealed.oct.md")
    assert (checked.exit_code, checked.stdout.endswith("; not signed, sealed\n")) == (0, True)
    (work / "damaged.oct.md").write_text(sealed.replace("SALT::", "SALT:: ", 1))
    elsewhere()
    for command in (("import",), ("verify", "--file")):
        refused = hall(*command, "damaged.oct.md")
        assert refused.exit_code == 7
        assert "is not the one that was sealed" in refused.output
    assert listed(hall) == []
    assert hall("import", "sealed.oct.md").exit_code == 0
    assert listed(hall) == [REHEARSED]


def test_a_file_that_tells_more_than_its_ledger_is_imported_only_where_that_is_wanted(
    hall: Command, exports: dict[str, Path], elsewhere: Callable[[], None], work: Path
) -> None:
    told = json.loads(exports["run json"].read_text())
    told["record"]["warnings"] = ["As an older version told it."]
    Path("older.json").write_text(json.dumps(told))
    Path("older.oct.md").write_text(exports["run octave"].read_text().replace("STATUS::synthesis", "STATUS::closed"))
    elsewhere()
    for name, place in (("older.json", "record.warnings"), ("older.oct.md", "line ")):
        refused = hall("import", name)
        assert refused.exit_code == 7
        assert f"{place}" in refused.stderr
        assert f"another version may have written {name} (--ledger-only takes its ledger alone)" in refused.stderr
        assert listed(hall) == []
    assert hall("import", "older.json", "--ledger-only").exit_code == 0
    assert "As an older version" not in hall("export", REHEARSED).stdout


def test_one_bad_file_keeps_all_of_them_out(
    hall: Command, exports: dict[str, Path], elsewhere: Callable[[], None], work: Path
) -> None:
    (work / "note.md").write_text("# A note\n")
    elsewhere()
    for bad in ("note.md", "nowhere.json"):
        refused = hall("import", str(exports["json"]), bad)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert bad in refused.stderr
        assert listed(hall) == []


def test_who_gives_no_file_or_seals_json_is_told_how(hall: Command, exports: dict[str, Path]) -> None:
    assert "Missing argument 'FILE…'" in hall("import").stderr
    assert "--seal goes with --format octave" in hall("export", HAND, "--seal").stderr


def test_another_debate_of_the_same_id_is_not_overwritten(
    hall: Command, exports: dict[str, Path], elsewhere: Callable[[], None]
) -> None:
    elsewhere()
    with Hall.open() as opened:
        opened.init_debate(HAND, "Another question?")
        mine = opened.debate(HAND)
    refused = hall("import", str(exports["octave"]))
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"There is a debate {HAND} already, and its ledger is another." in refused.stderr
    with Hall.open() as opened:
        assert opened.debate(HAND) == mine
