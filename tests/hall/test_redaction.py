"""After a redaction the text and its salt stand nowhere: in no table, and in no byte of any file of the store."""

from __future__ import annotations

import hashlib
import random
import re
from contextlib import closing
from pathlib import Path

import pytest
from halls import THREAD, database, dump, hall_in, salt_number, speak, ticking_clock

from orchestrator.errors import AlreadyRedacted, InvalidInput
from orchestrator.hall import sqlite
from orchestrator.hall.hall import Hall
from orchestrator.hall.sqlite import FILE, SQLiteStore
from orchestrator.hall.terms import Role

SIZES = (50, 2_000, 30_000, 200_000)
TEXTS = ("topic", "wind", "wall", "note", "door", "vote", "refined", "extended", "tombstoned", "closed")


def secret(name: str, size: int) -> str:
    """A text in which every 32 characters are unlike any others."""
    blocks = (hashlib.sha256(f"{name} {number}".encode()).hexdigest()[:32] for number in range(size // 32 + 1))
    return "".join(blocks)[:size]


def residue(folder: Path, text: str) -> list[str]:
    """The files in which any eighth part of a text still stands, and how much of it."""
    pieces = [text[start : start + 16].encode() for start in range(0, len(text) - 16, 16)]
    found = []
    for path in folder.iterdir():
        content = path.read_bytes()
        count = sum(piece in content for piece in (pieces if len(pieces) < 200 else pieces[:: len(pieces) // 100]))
        if count:
            found.append(f"{path.name}: {count} of {len(pieces)}")
    return found


def salts_in(folder: Path, salts: list[str]) -> set[str]:
    content = b"".join(path.read_bytes() for path in folder.iterdir())
    return {salt for salt in salts if salt.encode() in content}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_no_byte_of_a_redacted_text_or_salt_is_left_whatever_its_size_and_neighbours(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    threads = [f"2026-01-0{number}-thread" for number in range(1, 5)]
    salts: list[str] = []

    def salt() -> str:
        salts.append(salt_number(1000 * seed + len(salts)))
        return salts[-1]

    texts: dict[tuple[str, int], tuple[str, str]] = {}
    with Hall(SQLiteStore(folder_of(folder)), clock=ticking_clock(), salt=salt) as hall:
        for thread_id in threads:
            hall.init_debate(thread_id, "Which?", max_turns=24, max_rounds=8)
        for index in range(12):
            for thread_id in chance.sample(threads, len(threads)):
                text = secret(f"{thread_id} {index}", chance.choice(SIZES) + chance.randrange(40))
                hall.add_turn(thread_id, tuple(Role)[index % 3], text)
                texts[thread_id, index] = (text, salts[-1])
            if index % 4 == 3:  # some of them while the debate goes on
                gone = chance.choice([key for key in texts if texts[key][0]])
                _redact_and_look(hall, folder, texts, gone)
        for gone in chance.sample(sorted(texts), 20):
            _redact_and_look(hall, folder, texts, gone)
        for thread_id in threads:
            hall.verify_debate(thread_id)
    kept = {key for key, (text, _) in texts.items() if text}
    assert all(residue(folder, texts[key][0]) for key in kept)  # the looking does find what is there
    assert salts_in(folder, [texts[key][1] for key in texts]) == {texts[key][1] for key in kept}


def folder_of(folder: Path) -> Path:
    folder.mkdir(0o700)
    return folder


def _redact_and_look(
    hall: Hall, folder: Path, texts: dict[tuple[str, int], tuple[str, str]], key: tuple[str, int]
) -> None:
    text, salt = texts[key]
    if not text:
        return
    assert hall.tombstone_turn(*key, "It named a customer.")["erased"] == "done"
    assert residue(folder, text) == []
    assert salts_in(folder, [salt]) == set()
    texts[key] = ("", salt)


@pytest.fixture
def closed(hall: Hall) -> Hall:
    """A debate whose synthesis is the last turn of Door, and that was refined to say Wind's turn again."""
    hall.init_debate(THREAD, "Which?")
    hall.add_turn(THREAD, "Wind", secret("wind", 60))
    hall.add_turn(THREAD, "Wall", "short")
    hall.add_turn(THREAD, "Door", secret("door", 3_000))
    hall.refine(THREAD, f"So: {secret('wind', 60)} it is.")
    hall.close_debate(THREAD, secret("door", 3_000))
    return hall


def test_a_synthesis_that_says_the_turn_again_is_redacted_with_it(closed: Hall, folder: Path) -> None:
    result = closed.tombstone_turn(THREAD, 2, "It named a customer.")
    assert result["also_redacted"] == [5]
    assert residue(folder, secret("door", 3_000)) == []
    shown = closed.get_debate(THREAD)
    assert shown["synthesis"] == "[REDACTED: It named a customer.]"
    assert (shown["transcript"][2]["content"], shown["transcript"][2]["redacted"]) == (shown["synthesis"], True)
    assert closed.verify_debate(THREAD)["entries"] == 8


def test_a_refinement_that_holds_the_turn_is_redacted_with_it(closed: Hall, folder: Path) -> None:
    assert closed.tombstone_turn(THREAD, 0, "It named a customer.")["also_redacted"] == [4]
    assert residue(folder, secret("wind", 60)) == []
    closed.verify_debate(THREAD)


def test_a_short_turn_takes_no_longer_text_with_it(closed: Hall) -> None:
    assert closed.tombstone_turn(THREAD, 1, "It was rude.")["also_redacted"] == []


def test_a_turn_is_redacted_once(closed: Hall) -> None:
    head = closed.tombstone_turn(THREAD, 1, "It was rude.")["head"]
    with pytest.raises(AlreadyRedacted, match="It was rude"):
        closed.tombstone_turn(THREAD, 1, "Again.")
    assert closed.get_debate(THREAD)["head"] == head


@pytest.mark.parametrize("turn_index", [-1, 3, 10**30, True, 1.0, "1", None])
def test_a_turn_that_is_not_there_cannot_be_redacted(closed: Hall, turn_index: object) -> None:
    with pytest.raises(InvalidInput, match="has no turn"):
        closed.tombstone_turn(THREAD, turn_index, "reason")  # type: ignore[arg-type]


@pytest.mark.parametrize("reason", ["", " \n", "nul\0", None, 7])
def test_a_redaction_needs_a_reason(closed: Hall, reason: object) -> None:
    with pytest.raises(InvalidInput, match="reason"):
        closed.tombstone_turn(THREAD, 0, reason)  # type: ignore[arg-type]


def test_nothing_of_the_text_can_be_guessed_from_what_is_left(closed: Hall, folder: Path) -> None:
    """The digest is salted, and the salt is gone: without it no guess can be tried."""
    before = closed.get_debate(THREAD, include_metadata=True)["transcript"][1]
    result = closed.tombstone_turn(THREAD, 1, "It was rude.")
    digest = result["original_content_hash"]
    plain = hashlib.sha256(b"short").hexdigest()
    assert digest.startswith("sha256:")
    assert digest != f"sha256:{plain}"
    assert before["content"] == "short"
    assert b"short" not in b"".join(path.read_bytes() for path in folder.iterdir())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_TIMEOUT_MS", 1)


def test_while_a_reader_holds_the_old_pages_the_erasure_is_pending_and_the_next_opening_finishes_it(
    folder: Path, closed: Hall, impatient: None
) -> None:
    text = secret("door", 3_000)
    with closing(database(folder)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM texts").fetchone() == (6,)
        assert closed.tombstone_turn(THREAD, 2, "It named a customer.")["erased"] == "pending"
        assert residue(folder, text) != []
        assert dump(folder)["pending_erasure"] == [(1, 6), (1, 7)]
        with hall_in(folder) as still_busy:
            still_busy.verify_debate(THREAD)
        assert residue(folder, text) != []
        reader.execute("ROLLBACK")
    with hall_in(folder):
        assert residue(folder, text) == []
    assert dump(folder)["pending_erasure"] == []
    closed.verify_debate(THREAD)


def test_an_erasure_whose_process_died_is_finished_by_the_next_opening(
    folder: Path, closed: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(SQLiteStore, "erase_traces", lambda self: False)
        assert closed.tombstone_turn(THREAD, 2, "It named a customer.")["erased"] == "pending"
    assert residue(folder, secret("door", 3_000)) != []
    with hall_in(folder):
        assert residue(folder, secret("door", 3_000)) == []
    assert (folder / FILE).exists()


def test_a_redacted_debate_goes_on_and_shows_who_spoke(hall: Hall) -> None:
    hall.init_debate(THREAD, "Which?")
    hall.add_turn(THREAD, "Wind", "a name", agent_role="ideator", model="wind-1")
    hall.tombstone_turn(THREAD, 0, "It named a customer.")
    speak(hall, THREAD, Role.WALL, Role.DOOR)
    shown = hall.get_debate(THREAD)["transcript"][0]
    assert (shown["content"], shown["agent_role"], shown["model"]) == (
        "[REDACTED: It named a customer.]",
        "ideator",
        "wind-1",
    )
    assert "a name" not in hall.export_debate(THREAD) + hall.export_debate(THREAD, "octave")
    assert "a name" not in hall.close_debate(THREAD, "So be it.", "both")["octave"]
    hall.verify_debate(THREAD)


def test_a_synthesis_that_is_a_part_of_the_turn_is_redacted_with_it(hall: Hall, folder: Path) -> None:
    hall.init_debate(THREAD, "Which?")
    for role in ("Wind", "Wall"):
        hall.add_turn(THREAD, role, "words")
    hall.add_turn(THREAD, "Door", f"## SYNTHESIS\n{secret('door', 500)}\n## STEPS\n1. Go.")
    hall.close_debate(THREAD, secret("door", 500))
    assert hall.tombstone_turn(THREAD, 2, "It named a customer.")["also_redacted"] == [4]
    assert residue(folder, secret("door", 500)) == []
    hall.verify_debate(THREAD)


# ----------------------------------------------------------------------------------------------------- any other entry


@pytest.fixture
def told(hall: Hall) -> dict[str, int]:
    """THREAD with a text of every kind, and where each stands; that of Wall is redacted."""
    hall.init_debate(THREAD, secret("topic", 90))
    hall.add_turn(THREAD, "Wind", secret("wind", 90))
    hall.add_turn(THREAD, "Wall", secret("wall", 90))
    hall.note(THREAD, secret("note", 90), "remark", "the lead")
    hall.add_turn(THREAD, "Door", secret("door", 90))
    hall.cast_vote(THREAD, "Wall", "object", secret("vote", 90))
    hall.refine(THREAD, secret("refined", 90), [5])
    hall.extend(THREAD, 20, 8, "the lead", secret("extended", 90))
    hall.tombstone(THREAD, 2, secret("tombstoned", 90))
    hall.close_debate(THREAD, secret("closed", 90))
    return {name: seq for seq, name in enumerate(TEXTS)}


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "wall"])
def test_any_text_can_be_redacted_and_nothing_of_it_is_left(
    hall: Hall, folder: Path, told: dict[str, int], name: str
) -> None:
    text = secret(name, 90)
    before = hall.debate(THREAD)
    result = hall.tombstone(THREAD, told[name], "It named a customer.")
    assert residue(folder, text) == []
    assert salts_in(folder, [before.lines[told[name]].salt or "none"]) == set()
    assert text not in hall.export_debate(THREAD) + hall.export_debate(THREAD, "octave")
    assert hall.verify_debate(THREAD)["entries"] == len(before.lines) + 1
    assert result == {
        "thread_id": THREAD,
        "seq": told[name],
        "turn_index": {"wind": 0, "door": 2}.get(name),
        "reason": "It named a customer.",
        "original_content_hash": before.lines[told[name]].entry.body.digest,  # type: ignore[union-attr]
        "also_redacted": [],
        "erased": "done",
        "head": hall.debate(THREAD).head,
    }
    kept = {other for other in told if other not in (name, "wall")}
    assert all(residue(folder, secret(other, 90)) for other in kept)


def test_the_reason_of_a_force_close_can_be_redacted(hall: Hall, folder: Path) -> None:
    hall.init_debate(THREAD, "Which?")
    hall.force_close_debate(THREAD, secret("reason", 90))
    hall.tombstone(THREAD, 1, "It named a customer.")
    assert residue(folder, secret("reason", 90)) == []
    assert hall.get_debate(THREAD)["reason"] == "[REDACTED: It named a customer.]"
    hall.verify_debate(THREAD)


def test_a_redacted_topic_is_gone_from_lists_too(hall: Hall, told: dict[str, int]) -> None:
    hall.tombstone(THREAD, 0, "It named a customer.")
    (listed,) = hall.list_debates()
    assert listed["topic"] == "[REDACTED]"
    assert hall.get_debate(THREAD)["topic"] == "[REDACTED: It named a customer.]"
    assert hall.list_debates(text=secret("topic", 90)) == []


def test_where_the_reason_of_a_redaction_is_redacted_the_first_text_stays_away(
    hall: Hall, told: dict[str, int]
) -> None:
    hall.tombstone(THREAD, told["tombstoned"], "It named him again.")
    shown = hall.get_debate(THREAD)["transcript"][1]
    assert (shown["content"], shown["redacted"]) == ("[REDACTED]", True)
    hall.verify_debate(THREAD)


@pytest.mark.parametrize(
    ("seq", "sentence"),
    [
        (1, "Entry 1 of 2026-01-06-billing gives the floor to Wind; it has no text to redact"),
        (3, "has no entry 3. seq counts from 0, the opening; its newest entry is 2."),
        *((seq, "has no entry") for seq in (-1, 10**30, True, 1.0, "1", None)),
    ],
)
def test_an_entry_without_a_text_cannot_be_redacted(hall: Hall, seq: object, sentence: str) -> None:
    hall.init_debate(THREAD, "Which?", "mediated")
    speak(hall, THREAD, Role.WIND, pick=True)
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        hall.tombstone(THREAD, seq, "reason")  # type: ignore[arg-type]
    assert len(hall.debate(THREAD).lines) == 3


def test_an_entry_is_redacted_once(hall: Hall, told: dict[str, int]) -> None:
    hall.tombstone(THREAD, told["vote"], "It was rude.")
    with pytest.raises(AlreadyRedacted, match=r"Entry 5 of 2026-01-06-billing is redacted already: .*It was rude"):
        hall.tombstone(THREAD, told["vote"], "Again.")
    with pytest.raises(AlreadyRedacted, match="Turn 1 of"):
        hall.tombstone_turn(THREAD, 1, "Again.")


def test_every_entry_that_holds_the_text_goes_with_it_whatever_its_kind(hall: Hall, folder: Path) -> None:
    text = secret("wind", 60)
    hall.init_debate(THREAD, f"Is this right? {text}")
    hall.add_turn(THREAD, "Wind", text)
    hall.add_turn(THREAD, "Wall", f"> {text}\n\nNo.")
    hall.note(THREAD, f"{text}\n", "remark", "the lead")
    hall.add_turn(THREAD, "Door", "Something else.")
    hall.cast_vote(THREAD, "Wall", "object", f"Not {text[:30]}, please.")
    assert hall.tombstone(THREAD, 1, "It named a customer.")["also_redacted"] == [0, 2, 3]
    assert [line.text for line in hall.debate(THREAD).lines if line.text] == [
        "Something else.",
        f"Not {text[:30]}, please.",
        *["It named a customer."] * 4,
    ]
    hall.verify_debate(THREAD)


def test_what_a_redacted_text_quotes_stays(hall: Hall) -> None:
    """The turn that was quoted says less than the one that is redacted; only a synthesis is taken from a turn."""
    hall.init_debate(THREAD, "Which?")
    hall.add_turn(THREAD, "Wind", secret("wind", 60))
    hall.add_turn(THREAD, "Wall", f"> {secret('wind', 60)}\n\nAnd a name.")
    hall.add_turn(THREAD, "Door", secret("door", 60))
    hall.cast_vote(THREAD, "Wall", "object", f"> {secret('door', 60)}\n\nAnd a name.")
    hall.close_debate(THREAD, secret("door", 60))
    assert hall.tombstone(THREAD, 2, "It named a customer.")["also_redacted"] == []
    assert hall.tombstone(THREAD, 4, "It named him, too.")["also_redacted"] == []
    assert hall.tombstone(THREAD, 3, "It goes.")["also_redacted"] == [5]
    hall.verify_debate(THREAD)


def test_one_reason_given_for_two_redactions_is_redacted_in_both(hall: Hall) -> None:
    hall.init_debate(THREAD, "Which?")
    speak(hall, THREAD, Role.WIND, Role.WALL)
    for turn_index in (0, 1):
        hall.tombstone_turn(THREAD, turn_index, "It named Mrs Miller.")
    assert hall.tombstone(THREAD, 3, "That was a name.")["also_redacted"] == [4]
    assert "Miller" not in hall.export_debate(THREAD)


def test_a_reason_that_says_the_text_again_is_refused(hall: Hall, told: dict[str, int]) -> None:
    for reason in (secret("vote", 90), f"It said: {secret('vote', 90)}"):
        with pytest.raises(InvalidInput, match="The reason says the text again"):
            hall.tombstone(THREAD, told["vote"], reason)
    assert secret("vote", 90) in hall.export_debate(THREAD)
