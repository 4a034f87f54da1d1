"""`debate-hall verify`, `key` and `export --sign`: what was kept elsewhere, and files that stand alone."""

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from orchestrator.hall.hall import Hall

Command = Callable[..., Result]
Script = Callable[..., Any]

HAND, REHEARSED = "2026-01-06-by-hand", "2026-01-07-rehearsed"


@pytest.fixture
def export(hall: Command, work: Path) -> Path:
    """A debate that people held through the hall, and its export."""
    with Hall.open() as opened:
        opened.init_debate(HAND, "Which queue?", max_turns=3, max_rounds=1)
        opened.add_turn(HAND, "Wind", "None at all.", agent_role="ideator", model="a person")
        opened.add_turn(HAND, "Wall", "VERDICT: CONDITIONAL\n- [C1] CONSTRAINT: it has one owner.")
        opened.add_turn(HAND, "Door", "An outbox table.")
        opened.close_debate(HAND, "An outbox table.")
    return saved(hall, "debate.json")


@pytest.fixture
def rehearsed(rehearse: Command, work: Path) -> Path:
    """The folder of a run."""
    assert rehearse("--thread-id", REHEARSED, "Should we move billing to Kafka?").exit_code == 0
    return work / "debates" / REHEARSED


def saved(hall: Command, name: str, *arguments: str) -> Path:
    told(hall("export", HAND, "--out", name, *arguments))
    return Path(name)


def told(result: Result, code: int = 0) -> str:
    assert result.exit_code == code, result.output
    return result.stdout


def as_json(result: Result, code: int = 0) -> Any:
    return json.loads(told(result, code))


def change(file: Path, place: tuple[Any, ...], other: Any) -> Path:
    """A copy of an export in which one value is another."""
    members = json.loads(file.read_text())
    found = members
    for step in place[:-1]:
        found = found[step]
    found[place[-1]] = other
    changed = Path("changed.json")
    changed.write_text(json.dumps(members))
    return changed


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine whose hall cannot even be opened."""
    (tmp_path / "no-hall").touch()
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "no-hall"))


# --------------------------------------------------------------------------------------------------- a file that stands


def test_a_file_is_verified_where_there_is_no_hall(
    hall: Command, export: Path, rehearsed: Path, elsewhere: None
) -> None:
    head = json.loads(export.read_text())["head"]
    assert told(hall("verify", "--file", "debate.json")) == f"{HAND}: verified, 5 entries, head {head}; not signed\n"
    assert as_json(hall("verify", "--file", "debate.json", "--json")) == [
        {"thread_id": HAND, "verified": True, "entries": 5, "head": head, "newer": None, "signed_by": None}
        | {"sealed": False}
    ]
    assert told(hall("verify", "--file", str(rehearsed / "debate.json"))).startswith(f"{REHEARSED}: verified, ")
    assert hall("list").exit_code == 2


def test_what_the_hall_itself_exports_has_no_record_and_verifies_too(hall: Command, export: Path, work: Path) -> None:
    with Hall.open() as opened:
        (work / "plain.json").write_text(opened.export_debate(HAND))
    assert ": verified, 5 entries" in told(hall("verify", "--file", "plain.json"))


@pytest.mark.parametrize(
    ("place", "other", "named"),
    [
        (("record", "decision"), "Kafka.", "record.decision"),
        (("record", "constraints"), [], "record.constraints"),
        (("record", "constraints", 0, "statement"), "it has two owners.", "record.constraints[0].statement"),
        (("record", "cost_usd"), "0", "record.cost_usd"),
        (("record",), None, "record"),
        (("transcript", 1, "content"), "VERDICT: APPROVED", "transcript[1].content"),
        (("transcript", 0, "model"), "gpt", "transcript[0].model"),
        (("synthesis",), "Kafka.", "synthesis"),
        (("decision",), "Kafka.", "decision"),
    ],
)
def test_a_file_that_says_other_than_its_ledger_does_not_verify(
    place: tuple[Any, ...], other: Any, named: str, hall: Command, export: Path
) -> None:
    changed = change(export, place, other)
    assert told(hall("verify", "--file", str(changed)), 7) == f"{HAND}: BROKEN: {named} is not what the ledger tells\n"


def test_the_first_bad_entry_of_a_file_is_named(hall: Command, export: Path) -> None:
    changed = change(export, ("ledger", 2, "text"), "VERDICT: APPROVED")
    assert told(hall("verify", "--file", str(changed)), 7) == (
        f"{HAND}: BROKEN at entry 2: its text is not the text that was written\n"
    )
    (checked,) = as_json(hall("verify", "--file", str(changed), "--json"), 7)
    assert (checked["thread_id"], checked["verified"], checked["bad_entry"]) == (HAND, False, 2)


def test_what_a_broken_file_says_neither_floods_nor_steers_a_terminal(hall: Command, export: Path) -> None:
    line = {"v": 1, "kind": "note", "about": ["\x1b[2J" * 10_000]}
    changed = change(export, ("ledger", 0, "entry"), json.dumps(line, ensure_ascii=False))
    shown = told(hall("verify", "--file", str(changed)), 7)
    assert shown.startswith(f"{HAND}: BROKEN at entry 0: ")
    assert len(shown) < 500
    assert "\x1b" not in shown


def test_a_file_of_a_run_in_another_format_is_no_export(hall: Command, export: Path, rehearsed: Path) -> None:
    for name in ("decision.md", "plan.yaml"):
        result = hall("verify", "--file", str(rehearsed / name))
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"error: {rehearsed / name} is no exported debate: " in result.stderr
        assert result.stderr.endswith("or what `debate-hall export THREAD` prints.\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Give a THREAD (with --head or --against, if you like), --all, or --file."),
        ((HAND, "--all"), "Give a THREAD"),
        ((HAND, "--file", "debate.json"), "Give a THREAD"),
        (("--all", "--file", "debate.json"), "Give a THREAD"),
        (("--head", "sha256:00"), "Give a THREAD"),
        (("--all", "--head", "sha256:00"), "--head or --against goes with one debate"),
        (("--all", "--against", "debate.json"), "--head or --against goes with one debate"),
        ((HAND, "--head", "sha256:00", "--against", "debate.json"), "--head or --against goes with one debate"),
        ((HAND, "--public-key", "x"), "--public-key with --file"),
        (("--file", "nowhere.json"), "'nowhere.json' does not exist"),
        (("--file", "."), "is a directory"),
        (("--against", "nowhere.json"), "'nowhere.json' does not exist"),
        (("--file", "debate.json", "--public-key", "nowhere.pub"), "nowhere.pub is no public key, nor a file"),
    ],
)
def test_what_cannot_be_verified_so_is_refused(
    arguments: tuple[str, ...], sentence: str, hall: Command, export: Path
) -> None:
    result = hall("verify", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


# ------------------------------------------------------------------------------------------- what was kept of a thread


def test_a_debate_holds_every_earlier_export_of_it(hall: Command, export: Path) -> None:
    with Hall.open() as opened:
        opened.tombstone_turn(HAND, 0, "It named a customer.")
        head = opened.debate(HAND).head
    expected = f"{HAND}: verified, 6 entries, head {head}; 1 entry is newer than debate.json"
    for arguments in ((HAND, "--against", "debate.json"), ("--against", "debate.json")):
        assert told(hall("verify", *arguments)) == f"{expected}\n"
    newer = saved(hall, "newer.json")
    assert told(hall("verify", "--file", str(newer), "--against", "debate.json")) == f"{expected}; not signed\n"
    (checked,) = as_json(hall("verify", "--file", str(newer), "--against", str(newer), "--json"))
    assert checked["newer"] == 0


def test_a_file_holds_the_head_that_was_kept_or_does_not_verify(hall: Command, export: Path) -> None:
    hashes = [line["hash"] for line in json.loads(export.read_text())["ledger"]]
    assert "; 3 entries are newer than the head you gave" in told(
        hall("verify", "--file", "debate.json", "--head", hashes[1])
    )
    assert "the head sha256:00 does not stand in the chain" in told(
        hall("verify", "--file", "debate.json", "--head", "sha256:00"), 7
    )


def test_a_hall_that_was_cut_off_or_rewritten_whole_shows_against_an_earlier_export(
    hall: Command, export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(tmp_path / "state" / "hall.sqlite3")) as db:
        db.execute("VACUUM INTO ?", (str(tmp_path / "copy"),))
    with Hall.open() as opened:
        opened.tombstone_turn(HAND, 0, "It named a customer.")
    newer = saved(hall, "newer.json")
    (tmp_path / "restored").mkdir(0o700)
    (tmp_path / "copy").rename(tmp_path / "restored" / "hall.sqlite3")
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "restored"))
    told(hall("verify", HAND))
    assert f"{HAND}: BROKEN at entry 5: it is missing" in told(hall("verify", "--against", str(newer)), 7)
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "rewritten"))
    with Hall.open() as opened:
        opened.init_debate(HAND, "Which queue?")
    told(hall("verify", HAND))
    assert f"{HAND}: BROKEN at entry 0: the earlier export holds another one: the ledger was rewritten\n" == told(
        hall("verify", "--against", str(export)), 7
    )


def test_an_earlier_export_has_to_be_sound_itself_and_of_the_same_debate(hall: Command, export: Path) -> None:
    changed = change(export, ("ledger", 2, "text"), "VERDICT: APPROVED")
    assert told(hall("verify", HAND, "--against", str(changed)), 7) == (
        f"{HAND}: BROKEN at entry 2: in the earlier export changed.json, its text is not the text that was written\n"
    )
    with Hall.open() as opened:
        opened.init_debate("2026-01-08-other", "Which queue?")
    result = hall("verify", "2026-01-08-other", "--against", str(export))
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"debate.json is an export of {HAND}, not of 2026-01-08-other." in result.stderr


# --------------------------------------------------------------------------------------------------------------- signed


@pytest.fixture
def signed(hall: Command, export: Path) -> Path:
    """The export, signed with a key called lead."""
    told(hall("key", "new", "--name", "lead"))
    return saved(hall, "signed.json", "--sign", "--key-name", "lead")


def test_a_new_key_is_shown_once_more_as_often_as_one_likes(hall: Command, tmp_path: Path) -> None:
    made = told(hall("key", "new"))
    file = tmp_path / "config" / "debate-hall" / "keys" / "default.pem"
    shown = as_json(hall("key", "show", "--json"))
    assert shown["file"] == str(file)
    assert made == (
        f"name         default\npublic key   {shown['public_key']}\n"
        f"fingerprint  {shown['fingerprint']}\nfile         {file}\n"
    )
    assert told(hall("key", "show")) == made
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() not in made
    again = hall("key", "new")
    assert (again.exit_code, again.stdout) == (2, "")
    assert again.stderr.startswith(f"error: There is a key default already: {file}.")
    assert "There is no key lead in " in hall("key", "show", "--name", "lead").stderr


@pytest.mark.slow
def test_a_key_that_the_disk_has_no_room_for_leaves_no_half_of_it(script: Script, tmp_path: Path) -> None:
    result = script("debate-hall", "key", "new", shell='ulimit -f 0; exec "$@"')
    assert result.returncode == 2
    assert b"error: The key default cannot be kept in " in result.stderr
    assert list((tmp_path / "config" / "debate-hall" / "keys").iterdir()) == []


def test_a_signed_file_says_by_whom_and_verifies_where_there_is_no_hall(
    hall: Command, signed: Path, export: Path, elsewhere: None
) -> None:
    key = as_json(hall("key", "show", "--name", "lead", "--json"))
    assert told(hall("verify", "--file", str(signed))).endswith(f"; signed by the key {key['fingerprint']}\n")
    members = json.loads(signed.read_text())
    assert members.pop("signature")["fingerprint"] == key["fingerprint"]
    assert members == json.loads(export.read_text())
    Path("lead.pub").write_text(told(hall("key", "show", "--name", "lead")))
    for named in (key["public_key"], "lead.pub"):
        (checked,) = as_json(hall("verify", "--file", str(signed), "--public-key", named, "--json"))
        assert checked["signed_by"] == key["fingerprint"]


def test_a_file_that_the_demanded_key_did_not_sign_does_not_verify(hall: Command, signed: Path, export: Path) -> None:
    other = as_json(hall("key", "new", "--name", "other", "--json"))["public_key"]
    lead = as_json(hall("key", "show", "--name", "lead", "--json"))
    assert told(hall("verify", "--file", str(signed), "--public-key", other), 7) == (
        f"{HAND}: BROKEN: it is signed by another key, {lead['fingerprint']}\n"
    )
    assert told(hall("verify", "--file", str(export), "--public-key", lead["public_key"]), 7) == (
        f"{HAND}: BROKEN: it is not signed\n"
    )


def test_a_whole_that_was_rewritten_does_not_verify_with_the_signature_of_the_first(
    hall: Command, signed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "rewritten"))
    with Hall.open() as opened:
        opened.init_debate(HAND, "Which queue?")
    rewritten = saved(hall, "rewritten.json")
    told(hall("verify", "--file", str(rewritten)))
    signature = json.loads(signed.read_text())["signature"]
    changed = change(rewritten, ("signature",), signature)
    assert told(hall("verify", "--file", str(changed)), 7) == (
        f"{HAND}: BROKEN: its signature is over another head than the one of its ledger\n"
    )
    moved = signature | {"head": json.loads(rewritten.read_text())["head"]}
    changed = change(rewritten, ("signature",), moved)
    assert told(hall("verify", "--file", str(changed)), 7) == (
        f"{HAND}: BROKEN: its signature was not made with the key it names\n"
    )
    assert "in the earlier export changed.json, its signature was not made" in told(
        hall("verify", "--file", str(rewritten), "--against", str(changed)), 7
    )


def test_signing_the_same_again_gives_the_same_bytes(hall: Command, signed: Path) -> None:
    assert saved(hall, "again.json", "--sign", "--key-name", "lead").read_bytes() == signed.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--sign", "--format", "octave"), "--sign goes with --format json"),
        (("--sign", "--format", "adr"), "--sign goes with --format json"),
        (("--key-name", "lead"), "--key-name goes with --sign."),
        (("--sign",), "There is no key default in "),
        (("--sign", "--key-name", "../lead"), "cannot be the name of a key"),
    ],
)
def test_an_export_that_cannot_be_signed_so_is_refused(
    arguments: tuple[str, ...], sentence: str, hall: Command, export: Path, work: Path
) -> None:
    result = hall("export", HAND, "--out", "other.json", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert not (work / "other.json").exists()


def test_a_signed_file_verifies_after_a_later_redaction_and_the_new_export_holds_it(
    hall: Command, signed: Path
) -> None:
    told(hall("tombstone", HAND, "0", "--reason", "It named a customer."))
    newer = saved(hall, "newer.json", "--sign", "--key-name", "lead")
    told(hall("verify", "--file", str(signed)))
    assert "; 1 entry is newer than signed.json; signed by " in told(
        hall("verify", "--file", str(newer), "--against", str(signed))
    )


@pytest.mark.slow
def test_a_debate_of_the_hall_is_verified_without_cryptography(script: Script, export: Path) -> None:
    probe = "import sys; from orchestrator.cli.debate_hall import debate_hall as run; run(['verify', sys.argv[1]])"
    result = script("python", "-X", "importtime", "-c", probe, HAND)
    assert result.returncode == 0
    assert b"orchestrator.hall.ledger" in result.stderr
    assert b"cryptography" not in result.stderr
