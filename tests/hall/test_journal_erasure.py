"""After a redaction nothing is left of what the thread's runs were answered, told and asked, in no byte of any file."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from halls import THREAD, database, dump, every_record, hall_in, salt_number
from test_redaction import residue, secret

from orchestrator.errors import LedgerBroken
from orchestrator.hall import sqlite
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Intent, JournalLine, Outcome, Record
from orchestrator.hall.sqlite import SQLiteStore

SIZES = (20, 60, 300, 1_000, 4_000, 20_000, 100_000)
CALL = {"epoch": 1, "at": "09", "slot": "wall-1", "step": "turn", "attempt": 1, "route": "r", "tokens": 9}


class Telling:
    """The run of one thread, which keeps and tells texts of many sizes.

    `marker` stands in them at every sixteenth character, and in their salts: so what is left of any of them is found.
    """

    def __init__(self, hall: Hall, thread_id: str, chance: random.Random) -> None:
        self.hall, self.thread_id, self.chance = hall, thread_id, chance
        self.kept = self.redactions = 0
        hall.init_debate(thread_id, "Which?")
        for number in range(12):
            hall.add_turn(thread_id, ("Wind", "Wall", "Door")[number % 3], f"Turn {number}.")
        self.lease = hall.runs.begin(thread_id)

    @property
    def marker(self) -> str:
        return hashlib.sha256(f"{self.thread_id} {self.redactions}".encode()).hexdigest()[:8]

    def text(self) -> str:
        size = self.chance.choice(SIZES) + self.chance.randrange(30)
        return f"{self.marker}{self.chance.randrange(16**8):08x}" * (size // 16 + 1)

    def call(self) -> None:
        """Notes a call and its reply, or an answer of no use."""
        asked = SaltedText(self.text(), self.marker * 8)
        self.keep(Intent(request=asked.digest, **CALL), asked)
        heard, failed = SaltedText(self.text(), self.marker * 8), self.chance.choice([None, "degenerate"])
        self.keep(Outcome(at="09", intent=self.kept - 1, failed=failed, digest=heard.digest), heard)

    def keep(self, record: Record, words: SaltedText) -> None:
        self.hall.runs.keep(self.lease, [JournalLine(self.kept, record, words.text, words.salt)])
        self.kept += 1

    def tell(self) -> None:
        word = self.chance.choice(["message", "reason"])
        reports = [{"type": "retried", "slot": "wall-1", word: self.text()} for _ in range(2)]
        self.hall.runs.report(self.lease, [*reports, {"type": "draft_started"}])

    def ask(self) -> None:
        self.hall.runs.stop(self.thread_id, self.text())

    def redact(self) -> str:
        """Redacts a turn; returns what must not be found any more."""
        assert self.hall.tombstone_turn(self.thread_id, self.redactions, "It named a customer.")["erased"] == "done"
        gone = self.marker
        self.redactions += 1
        return gone


def times(folder: Path, marker: str) -> int:
    """How often a marker stands in the files of a store."""
    return sum(path.read_bytes().count(marker.encode()) for path in folder.iterdir())


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 9))])
def test_nothing_of_what_runs_kept_and_told_is_left_whatever_its_size_and_neighbours(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    with hall_in(folder) as hall:
        runs = [Telling(hall, f"2026-01-0{number}-thread", chance) for number in range(1, 5)]
        for _ in range(4):
            for _ in range(25 if seed else 5):
                for run in chance.sample(runs, len(runs)):
                    for act in chance.choices((run.call, run.tell, run.ask), (4, 4, 1), k=2):
                        act()
            run = chance.choice(runs)
            assert times(folder, run.marker) > 0
            assert times(folder, run.redact()) == 0
        for run in runs:
            assert times(folder, run.redact()) == 0
            hall.verify_debate(run.thread_id)


def test_short_words_in_many_reports_leave_no_trace_where_pages_were_split(folder: Path) -> None:
    """Rows of several threads are inserted between each other, so that pages are filled, split and filled again."""
    chance = random.Random(0)
    with hall_in(folder) as hall:
        runs = [Telling(hall, f"2026-01-0{number}-thread", chance) for number in range(1, 5)]
        for _ in range(15):
            for run in runs:
                hall.runs.report(run.lease, [{"type": "paused", "message": run.marker * 4}] * 20)
        for run in runs:
            assert times(folder, run.marker) >= 1200
            assert times(folder, run.redact()) == 0


@pytest.fixture
def planted(hall: Hall) -> list[str]:
    """THREAD with a turn and a run; returns what stands in its journal, its reports and its request."""
    hall.init_debate(THREAD, "Which?")
    hall.add_turn(THREAD, "Wind", "Mrs Miller knows.")
    lease = hall.runs.begin(THREAD)
    texts = {name: secret(name, 3_000) for name in ("reply", "failed", "message", "reason", "first", "why")}
    reply, failed = (SaltedText(texts[name], salt_number(900 + at)) for at, name in enumerate(("reply", "failed")))
    outcomes = [
        Outcome(at="09", intent=0, answered="r", digest=reply.digest),
        Outcome(at="09", intent=0, failed="degenerate", digest=failed.digest),
    ]
    words = zip(outcomes, (reply, failed), strict=True)
    hall.runs.keep(lease, [JournalLine(at, outcome, *_both(text)) for at, (outcome, text) in enumerate(words)])
    hall.runs.report(lease, [{"type": "retried", "message": texts["message"]}])
    hall.runs.report(lease, [{"type": "sent_back", "reason": texts["reason"]}])
    hall.runs.stop(THREAD, texts["first"])
    hall.runs.stop(THREAD, texts["why"])  # in its place
    return list(texts.values())


def _both(words: SaltedText) -> tuple[str, str]:
    return words.text, words.salt


def left(folder: Path, planted: Sequence[str]) -> list[int]:
    return [at for at, text in enumerate(planted) if residue(folder, text)]


def test_while_a_reader_holds_the_old_pages_they_are_pending_and_the_next_opening_takes_them(
    folder: Path, hall: Hall, planted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_TIMEOUT_MS", 1)
    with closing(database(folder)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM journal").fetchone() == (2,)
        assert hall.tombstone_turn(THREAD, 0, "It named a customer.")["erased"] == "pending"
        assert [line.text for line in hall.journal(THREAD)] == [None, None]  # no reader is shown them
        assert left(folder, planted) == [0, 1, 2, 3, 4, 5]
        reader.execute("ROLLBACK")
    with hall_in(folder):
        assert left(folder, planted) == []
    assert dump(folder)["pending_erasure"] == []
    assert hall.verify_debate(THREAD)["verified"]


def test_an_erasure_whose_process_died_takes_them_at_the_next_opening(
    folder: Path, hall: Hall, planted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(SQLiteStore, "erase_traces", lambda self: False)
        assert hall.tombstone_turn(THREAD, 0, "It named a customer.")["erased"] == "pending"
    with hall_in(folder):
        assert left(folder, planted) == []


def test_a_request_that_was_replaced_leaves_no_words_behind(hall: Hall, folder: Path, planted: list[str]) -> None:
    """They would be out of a redaction's reach."""
    assert secret("first", 3_000) not in {words for _, _, words in dump(folder)["texts"]}
    assert secret("why", 3_000) in {words for _, _, words in dump(folder)["texts"]}


def test_the_journal_of_another_thread_keeps_its_texts(hall: Hall, planted: list[str]) -> None:
    other = "2026-01-07-other"
    hall.init_debate(other, "Which?")
    hall.runs.keep(hall.runs.begin(other), every_record())
    hall.tombstone_turn(THREAD, 0, "It named a customer.")
    assert list(hall.journal(other)) == every_record()


def test_nothing_is_asked_of_a_journal_that_does_not_verify(hall: Hall, folder: Path, planted: list[str]) -> None:
    with closing(database(folder)) as db:
        db.execute("UPDATE texts SET words = 'another reply' WHERE words = ?", (planted[0],))
    with pytest.raises(LedgerBroken, match="record 0 of its journal"):
        hall.journal(THREAD)
