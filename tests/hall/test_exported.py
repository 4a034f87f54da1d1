"""An exported debate read back: what its ledger tells is believed, and nothing else that stands in the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import test_octave as nasty
from halls import OTHER, THREAD, every_kind, hall_in
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import InvalidInput, LedgerBroken
from orchestrator.hall import exported, octave
from orchestrator.hall.debate import Debate
from orchestrator.hall.export import export_json, export_octave
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role

Members = dict[str, Any]


@pytest.fixture
def filled(hall: Hall) -> Hall:
    every_kind(hall)
    return hall


@pytest.fixture
def members(filled: Hall) -> Members:
    """The members of an exported debate that holds every kind of entry."""
    found: Members = json.loads(filled.export_debate(THREAD))
    return found


def read(members: Any) -> exported.Exported:
    return exported.read(json.dumps(members).encode(), "debate.json")


def require_told(members: Members) -> None:
    """Judges a whole file, as an export of its ledger would be written."""
    found = read(members)
    exported.require_told(found, export_json(found.debate))


def blamed(judge: Callable[[Members], object], members: Members) -> tuple[int | None, str]:
    with pytest.raises(LedgerBroken) as broken:
        judge(members)
    return broken.value.seq, broken.value.reason


@pytest.mark.parametrize("thread_id", [THREAD, OTHER])
def test_an_export_reads_back_as_the_debate_it_is_of(filled: Hall, thread_id: str) -> None:
    found = exported.read(filled.export_debate(thread_id).encode(), "debate.json")
    assert found.debate == filled.debate(thread_id)
    require_told(json.loads(filled.export_debate(thread_id)))


@pytest.mark.parametrize("seal", [False, True])
@pytest.mark.parametrize("thread_id", [THREAD, OTHER])
def test_a_transcript_in_octave_reads_back_as_the_debate_it_is_of(filled: Hall, thread_id: str, seal: bool) -> None:
    text = filled.export_debate(thread_id, "octave")
    found = exported.read((octave.seal(text) if seal else text).encode(), "transcript.oct.md")
    assert (found.debate, found.sealed) == (filled.debate(thread_id), seal)
    exported.require_told(found, export_octave(found.debate))


@given(st.lists(nasty.texts.filter(str.strip).filter(lambda text: "\0" not in text), min_size=5, max_size=5))
def test_whatever_was_said_comes_back_from_either_format(said: list[str]) -> None:
    with TemporaryDirectory() as folder, hall_in(Path(folder) / "state") as hall:
        hall.init_debate(OTHER, said[0])
        for role, words in zip(Role, said[1:4], strict=True):
            hall.add_turn(OTHER, role, words)
        hall.note(OTHER, said[4], "remark", "a person")
        hall.close_debate(OTHER, said[3])
        debate = hall.debate(OTHER)
    for text in (export_json(debate), export_octave(debate)):
        assert exported.read(text.encode(), "an export").debate == debate


def judged(transcript: str) -> Debate:
    """Reads an OCTAVE transcript and judges all that stands in it."""
    found = exported.read(transcript.encode(), "transcript.oct.md")
    exported.require_told(found, export_octave(found.debate))
    return found.debate


@pytest.mark.slow
@given(st.data())
def test_a_transcript_that_was_changed_by_one_character_does_not_pass(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder, hall_in(Path(folder) / "state") as hall:
        every_kind(hall)
        text = hall.export_debate(THREAD, "octave")
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from('0aZ \n"`').filter(lambda other: other != text[at]))
    with pytest.raises((InvalidInput, LedgerBroken)):
        judged(text[:at] + other + text[at + 1 :])


@pytest.mark.parametrize(
    ("old", "new", "blame"),
    [
        ("STATUS::synthesis", "STATUS::active", (None, "line 12 is not what the ledger tells")),
        ("TOPIC::", 'TOPIC::"Which queue?"\nTOPICS::', (0, "its text is not the text that was written")),
        ("    CHOICE::object", "    CHOICE::approve", (None, "is not what the ledger tells")),
        ('TEXT::"The outbox has no owner."', 'TEXT::"It has an owner."', (8, "its text is not the text that was writ")),
        ("  E8:\n    ENTRY", "  E8:\n    SALTED", (8, "it is not as an export writes it")),
        ("  HEAD::", "  OTHER::", (None, "its THREAD_ID, META.HEAD or PLAN is no text")),
        ('\\"Wall\\"', '\\"Door\\"', (4, "Door cannot speak in round 1 before Wall has spoken")),
        ("===END===\n", "", (None, "expected ===END===")),
    ],
)
def test_what_is_wrong_in_a_transcript_is_named(
    filled: Hall, old: str, new: str, blame: tuple[int | None, str]
) -> None:
    text = filled.export_debate(THREAD, "octave")
    assert old in text
    with pytest.raises(LedgerBroken) as broken:
        judged(text.replace(old, new))
    assert broken.value.seq == blame[0]
    assert blame[1] in broken.value.reason


def test_a_transcript_that_is_not_what_was_sealed_does_not_verify(filled: Hall) -> None:
    sealed = octave.seal(filled.export_debate(THREAD, "octave"))
    with pytest.raises(LedgerBroken, match="not the one that was sealed"):
        exported.read(sealed.replace("MAX_TURNS::9", "MAX_TURNS::8", 1).encode(), "transcript.oct.md")


@pytest.mark.parametrize("thread_id", [THREAD, OTHER])
@pytest.mark.parametrize("seal", [False, True])
def test_octave_mcp_accepts_and_would_write_the_same_transcript(
    oracle: Any, filled: Hall, thread_id: str, seal: bool
) -> None:
    text = filled.export_debate(thread_id, "octave")
    sealed = octave.seal(text) if seal else text
    answer = oracle(sealed)
    assert (answer["status"], answer["complaints"]) == ("VALIDATED", [])
    assert answer["again"] == sealed
    assert answer["seal"] == ("VERIFIED" if seal else "NO_SEAL")
    assert (
        oracle(sealed.replace("    ROLE::Wind\n    COGNITION", "    ROLE::Rain\n    COGNITION"))["status"] == "INVALID"
    )


# -------------------------------------------------------------------------------------------------------- what is none


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "it is not JSON (Expecting value: line 1"),
        (b"===NOTES===\nMETA:\n  TYPE::NOTES\n===END===\n", "but an OCTAVE document NOTES"),
        (b'===DEBATE_TRANSCRIPT===\nTOPIC::"Why?"\n===END===\n', "holds no ledger: it was written for reading alone"),
        (b"---\nstatus: accepted\n---\n# Kafka\n", "it is not JSON"),
        (b"\xff\xfe{\x00}\x00", "it is not UTF-8 text"),
        (b"{" * 9, "it is not JSON"),
        (b"[" * 2_000_000, "it is nested too deeply"),
        (b'{"ledger":' * 1_000_000, "it is nested too deeply"),
        (b"9" * 5_000, "it is not JSON"),
        (b"null", "it has no ledger"),
        (b"[]", "it has no ledger"),
        (b'"ledger"', "it has no ledger"),
        (b'{"schema": "debate-hall/debate/v1"}', "it has no ledger"),
        (b'{"ledger": []}', "does not say that it is an exported debate"),
        (b'{"ledger": [], "schema": ["debate-hall/debate/v1"]}', "does not say that it is an exported debate"),
        (b'{"ledger": [], "schema": "debate-hall/debate/v2"}', "One that a newer version wrote needs that version."),
    ],
)
def test_what_is_no_export_is_refused_with_the_cure(content: bytes, sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        exported.read(content, "decision.md")
    assert str(refused.value).startswith("decision.md ")
    assert sentence in str(refused.value)
    assert (
        "Give the debate.json or transcript.oct.md of a run, or what `debate-hall export THREAD` prints."
        in refused.value.cure
    )


@pytest.mark.parametrize(
    ("changes", "blame"),
    [
        ({"thread_id": None}, (None, "its thread_id, head or plan is no text")),
        ({"thread_id": "a/b"}, (0, "cannot be a thread id")),
        ({"thread_id": "\ud800"}, (0, "cannot be a thread id")),
        ({"thread_id": OTHER}, (0, f"it belongs to {THREAD}")),
        ({"head": 7}, (None, "its thread_id, head or plan is no text")),
        ({"head": "sha256:00"}, (15, "the head is not the hash of the entry before it")),
        ({"plan": {}}, (None, "its thread_id, head or plan is no text")),
        ({"plan": None}, (0, "its plan is not the plan that was pinned")),
        ({"plan": "another"}, (0, "its plan is not the plan that was pinned")),
        ({"plan": "\ud800"}, (0, "lone surrogate")),
        ({"ledger": None}, (None, "its ledger is no list")),
        ({"ledger": {}}, (None, "its ledger is no list")),
        ({"ledger": []}, (0, "it has no entries")),
        ({"ledger": [None]}, (0, "it is not as an export writes it")),
        ({"ledger": [[[]]]}, (0, "it is not as an export writes it")),
    ],
)
def test_an_export_of_the_wrong_shape_does_not_verify(
    members: Members, changes: Members, blame: tuple[int | None, str]
) -> None:
    seq, reason = blamed(read, members | changes)
    assert (seq, blame[1] in reason) == (blame[0], True), reason


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("entry", None),
        ("entry", "no entry"),
        ("entry", "[" * 100_000),
        ("entry", '{"v":1,"kind":"turn"}'),
        ("entry", "\ud800"),
        ("hash", 7),
        ("hash", "sha256:00"),
        ("text", 7),
        ("text", None),
        ("text", "another"),
        ("text", "\ud800"),
        ("text", ["another"]),
        ("salt", None),
        ("salt", "0" * 64),
        ("erased_by", True),
        ("erased_by", 1.0),
        ("erased_by", "7"),
        ("erased_by", -1),
        ("erased_by", 0),
        ("erased_by", 10**9),
        ("more", "of it"),
    ],
)
def test_a_changed_line_of_the_ledger_is_blamed_on_its_entry(members: Members, name: str, other: object) -> None:
    for seq in (0, 3, 7, 14):
        lines = [dict(line) for line in members["ledger"]]
        lines[seq][name] = other
        assert blamed(read, members | {"ledger": lines})[0] == seq


def test_a_dropped_repeated_or_swapped_line_is_named(members: Members) -> None:
    lines = members["ledger"]
    for seq in range(len(lines) - 1):
        assert blamed(read, members | {"ledger": lines[:seq] + lines[seq + 1 :]})[0] == seq
        assert blamed(read, members | {"ledger": lines[: seq + 1] + lines[seq:]})[0] == seq + 1
        swapped = [*lines[:seq], lines[seq + 1], lines[seq], *lines[seq + 2 :]]
        assert blamed(read, members | {"ledger": swapped})[0] == seq
    assert blamed(read, members | {"ledger": lines[:-1]})[0] == len(lines) - 1


def test_a_key_that_stands_twice_is_no_way_to_tell_two_readers_two_things(filled: Hall) -> None:
    text = filled.export_debate(OTHER)
    for key, twice in (
        ("status", text.replace('"status":', '"status": "synthesis",\n  "status":', 1)),
        ("text", text.replace('"text":', '"text": "another",\n      "text":', 1)),
    ):
        assert twice != text
        with pytest.raises(LedgerBroken, match=f"the file has two members '{key}'"):
            exported.read(twice.encode(), "debate.json")


# ---------------------------------------------------------------------------------------- what stands beside the ledger


@pytest.mark.parametrize(
    ("place", "other"),
    [
        (("topic",), "Which queue?"),
        (("status",), "active"),
        (("turn_count",), 3.0),
        (("marks",), []),
        (("strict_cognition",), 0),
        (("synthesis",), None),
        (("balance", "Wind"), 7),
        (("transcript",), []),
        (("transcript", 2, "content"), "Therefore Kafka."),
        (("transcript", 1, "seat", "cost"), "0"),
        (("transcript", 0, "redacted"), False),
        (("warnings",), ["Nothing of this is true."]),
    ],
)
def test_a_changed_member_is_named_where_it_stands(members: Members, place: tuple[Any, ...], other: object) -> None:
    found: Any = members
    for step in place[:-1]:
        found = found[step]
    assert found[place[-1]] != other or type(found[place[-1]]) is not type(other)
    found[place[-1]] = other
    named = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).removeprefix(".")
    assert blamed(require_told, members) == (None, f"{named} is not what the ledger tells")


def test_every_member_is_needed_and_none_more(members: Members) -> None:
    for name in members.keys() - {"ledger", "schema", "thread_id", "head", "plan"}:
        fewer = {key: member for key, member in members.items() if key != name}
        assert blamed(require_told, fewer) == (None, f"{name} is not what the ledger tells")
    assert blamed(require_told, members | {"decision": "Kafka"}) == (None, "decision is not what the ledger tells")
    members["transcript"][0]["note"] = "Kafka"
    assert blamed(require_told, members) == (None, "transcript[0].note is not what the ledger tells")


# ------------------------------------------------------------------------------------------------------ what was kept


def test_every_earlier_export_stands_in_the_chain_with_the_number_of_newer_entries(hall: Hall) -> None:
    hall.init_debate(OTHER, "Which queue?")
    kept = [hall.debate(OTHER)]
    for role in ("Wind", "Wall", "Door"):
        hall.add_turn(OTHER, role, f"What {role} says.")
        kept.append(hall.debate(OTHER))
    hall.tombstone(OTHER, 1, "It named a customer.")
    newest = hall.debate(OTHER)
    assert [exported.require_earlier(newest, earlier) for earlier in kept] == [4, 3, 2, 1]
    assert exported.require_earlier(newest, newest) == 0


def test_a_chain_that_was_cut_off_or_rewritten_whole_does_not_hold_an_earlier_export(tmp_path: Path) -> None:
    def held(*said: str) -> Debate:
        with hall_in(tmp_path / "-".join(said)) as hall:
            hall.init_debate(OTHER, "Which queue?")
            for role, words in zip(Role, said, strict=False):
                hall.add_turn(OTHER, role, words)
            return hall.debate(OTHER)

    whole, short, other = held("none", "one", "two"), held("none", "one"), held("none", "all", "two")
    assert exported.require_earlier(whole, short) == 1
    with pytest.raises(LedgerBroken, match="it is missing, and the earlier export holds it") as broken:
        exported.require_earlier(short, whole)
    assert broken.value.seq == 3
    with pytest.raises(LedgerBroken, match="the ledger was rewritten") as broken:
        exported.require_earlier(other, whole)
    assert broken.value.seq == 2
