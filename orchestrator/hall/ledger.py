"""The hash chain: how an entry is sealed, and how a whole ledger is verified.

An entry's hash covers its canonical JSON, which holds the hash of the entry before. So one head stands for a whole
thread: who said what in which role, with which model, at what cost, under which limits, and when. What no chain can
show by itself, a ledger that was cut off or rewritten whole, shows against a head that was kept elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from orchestrator.errors import HallError, InvalidInput, LedgerBroken
from orchestrator.hall import canonical, entries, rules
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.debate import Debate, Line, State, advance
from orchestrator.hall.entries import Body, Entry, FloorGiven, Opened, Tombstoned, Turn
from orchestrator.hall.inputs import require_thread_id


@dataclass(frozen=True, slots=True)
class Sealed:
    """An entry ready to be stored: its stored form, the hash over that, and the text that stands beside it."""

    entry: Entry
    stored: str
    hash: str
    words: SaltedText | None

    @property
    def turn_index(self) -> int | None:
        return self.entry.body.turn_index if isinstance(self.entry.body, Turn) else None


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a thread stands: the hash of its newest entry and the state after it."""

    head: str
    state: State


class StoredLine(NamedTuple):
    """A row as a store holds it, nothing believed yet."""

    seq: int
    turn_index: int | None
    hash: str
    stored: str
    text: str | None = None
    salt: str | None = None
    erased_by: int | None = None
    erased_why: str | None = None


@dataclass(frozen=True, slots=True)
class StoredThread:
    """A whole thread as a store holds it."""

    thread_id: str
    head: str
    state: str  # as `State.encode` wrote it
    lines: Sequence[StoredLine]
    plan: str | None


def seal(thread_id: str, before: Standing | None, body: Body, words: SaltedText | None, at: str) -> Sealed:
    """Returns the entry with this body, chained to the entry before.

    Args:
        before: where the thread stands; None for the opening.
        at: ISO 8601, UTC, from the caller's clock.
    """
    seq, prev = (0, None) if before is None else (before.state.seq + 1, before.head)
    entry = Entry(thread_id, seq, at, prev, body)
    stored = entries.text_of(entry)
    return Sealed(entry, stored, hash_of(stored), words)


def hash_of(stored: str) -> str:
    return canonical.digest(canonical.ENTRY_DOMAIN, stored.encode())


def plan_digest(plan: str) -> str:
    return canonical.digest(canonical.PLAN_DOMAIN, canonical.require_text(plan))


def read(line: StoredLine) -> Line:
    """Returns a stored row as a line.

    Raises:
        InvalidInput: its entry cannot be read.
    """
    entry = entries.parse(line.stored)
    return Line(entry, line.hash, line.text, line.salt, line.erased_by, line.erased_why)


def read_alone(thread_id: str, stored: StoredLine) -> Line:
    """Returns a stored row as a line, checked as far as one entry can be without its neighbours.

    Raises:
        InvalidInput: it is not what was written.
    """
    line = read(stored)
    entry, body = line.entry, line.entry.body
    if (line.hash, entry.seq, entry.thread_id) != (hash_of(stored.stored), stored.seq, thread_id):
        raise InvalidInput("its hash is not the hash of its bytes")
    if line.text is not None and (isinstance(body, FloorGiven) or not _is_text_of(line, body.digest)):
        raise InvalidInput("its text is not the text that was written")
    return line


def verify(thread: StoredThread) -> Debate:
    """Derives everything again: form, numbering, chain, hashes, texts, rules, tombstones, plan, state and head.

    Returns:
        the debate, now known to be what was written.

    Raises:
        LedgerBroken: names the first bad entry and what is wrong with it.
    """
    lines, state, broken = _verified_chain(thread.thread_id, thread.lines)
    broken = broken or _end_problem(thread, state, lines)
    problems = [problem for problem in (_first_text_problem(lines, broken is not None), broken) if problem]
    if problems:
        raise LedgerBroken(thread.thread_id, *min(problems))
    assert state is not None, "an empty ledger is a problem"
    return Debate(state, lines[-1].hash, tuple(lines), thread.plan)


def follow(known: Debate, now: Standing, newer: Sequence[StoredLine]) -> Debate | None:
    """Returns a debate that was verified before with the lines behind it, which are verified as `verify` does.

    Args:
        now: where the thread stands.
        newer: the lines behind those of `known`.

    Returns:
        None where they do not simply follow: one redacts an earlier text, or something is wrong with them; then only
        the whole ledger tells.
    """
    lines, state, broken = _verified_chain(known.state.thread_id, newer, known.lines, known.state)
    added = lines[len(known.lines) :]
    reaches_back = any(isinstance(line.entry.body, Tombstoned) for line in added)
    if broken or reaches_back or any(_text_problem(line, None) for line in added):
        return None
    if state is None or now != Standing(lines[-1].hash, state):
        return None
    return Debate(state, now.head, tuple(lines), known.plan) if added else known


def stored(debate: Debate) -> StoredThread:
    """Returns a verified debate as a store holds it: what `verify` reads."""
    lines = [
        StoredLine(
            seq=line.entry.seq,
            turn_index=line.entry.body.turn_index if isinstance(line.entry.body, Turn) else None,
            hash=line.hash,
            stored=entries.text_of(line.entry),
            text=line.text,
            salt=line.salt,
            erased_by=line.erased_by,
            erased_why=line.erased_why,
        )
        for line in debate.lines
    ]
    return StoredThread(debate.state.thread_id, debate.head, debate.state.encode(), lines, debate.plan)


def require_head(debate: Debate, head: str) -> int:
    """Returns how many entries are newer than a head that was kept elsewhere.

    Raises:
        LedgerBroken: that head does not stand in the chain: the ledger was rewritten or cut off.
    """
    for newer, line in enumerate(reversed(debate.lines)):
        if line.hash == head:
            return newer
    why = "it was rewritten or cut off" if canonical.is_digest(head) else "a whole one is sha256: and 64 hex digits"
    raise LedgerBroken(debate.state.thread_id, None, f"the head {head} does not stand in the chain; {why}")


_Problem = tuple[int, str]  # the entry to blame, and why


def _verified_chain(
    thread_id: str, rows: Sequence[StoredLine], before: Sequence[Line] = (), state: State | None = None
) -> tuple[list[Line], State | None, _Problem | None]:
    """Returns the lines that hold together, the state after them, and what is wrong with the next one.

    Args:
        before: lines that are known to hold together, and `state`, which is that after them.
    """
    first, prev = (len(before), before[-1].hash) if before else (0, None)
    # Not line by line, which takes a third more time; each judges only what the one before let pass.
    lines, unread = _until_refused(map(read, rows), first)
    lines, unchained = _until_refused(_chained(thread_id, rows, lines, first, prev), first)
    states, unruly = _until_refused(_states(state, lines), first)
    return [*before, *lines[: len(states)]], states[-1] if states else state, unruly or unchained or unread


_T = TypeVar("_T")


def _until_refused(judged: Iterable[_T], first: int) -> tuple[list[_T], _Problem | None]:
    """Returns what comes before an entry is refused, and why that one is; `first` is the number of the first entry."""
    passed: list[_T] = []
    try:
        for each in judged:
            passed.append(each)
    except HallError as error:
        return passed, (first + len(passed), error.message)
    return passed, None


def _chained(
    thread_id: str, rows: Sequence[StoredLine], lines: Sequence[Line], first: int, prev: str | None
) -> Iterator[Line]:
    """The lines, as long as each stands in its place behind the one before; `prev` is the hash before the first."""
    require_thread_id(thread_id)
    for seq, (stored, line) in enumerate(zip(rows, lines, strict=False), first):
        entry = line.entry
        if not stored.seq == entry.seq == seq:
            raise InvalidInput(f"entry {entry.seq} (row {stored.seq}) stands in its place")
        if entry.thread_id != thread_id:
            raise InvalidInput(f"it belongs to {entry.thread_id}")
        if entry.prev != prev:
            raise InvalidInput("it does not follow the entry before it")
        if line.hash != hash_of(stored.stored):
            raise InvalidInput("its hash is not the hash of its bytes")
        if stored.turn_index != (entry.body.turn_index if isinstance(entry.body, Turn) else None):
            raise InvalidInput("its row has another turn index")
        prev = line.hash
        yield line


def _states(state: State | None, lines: Iterable[Line]) -> Iterator[State]:
    """The state after each line, as long as the rules permit it."""
    for line in lines:
        rules.check(state, line.entry.body)
        state = advance(state, line.entry)
        yield state


def _first_text_problem(lines: Sequence[Line], cut: bool) -> _Problem | None:
    """Every text has its entry's digest, or a tombstone that says it was deleted.

    Where the lines are cut off at a broken or missing entry, a tombstone behind it cannot be asked.
    """
    tombstones: dict[int, Line] = {}
    found: list[_Problem] = []
    for seq, line in enumerate(lines):
        body = line.entry.body
        if isinstance(body, Tombstoned):
            found.append((seq, _tombstone_problem(body, lines, tombstones)))
            tombstones.setdefault(body.target, line)
    for seq, line in enumerate(lines):
        if not (cut and line.erased_by is not None and line.erased_by >= len(lines)):
            found.append((seq, _text_problem(line, tombstones.get(seq))))
    return min((problem for problem in found if problem[1]), default=None)


def _tombstone_problem(body: Tombstoned, lines: Sequence[Line], earlier: Mapping[int, Line]) -> str:
    target = lines[body.target].entry.body
    if body.target in earlier:
        return f"entry {body.target} was redacted before"
    if isinstance(target, FloorGiven) or body.original != target.digest:
        return f"it does not name the text of entry {body.target}"
    if body.turn_index != (target.turn_index if isinstance(target, Turn) else None):
        return f"entry {body.target} is another turn"
    return ""


def _text_problem(line: Line, tombstone: Line | None) -> str:
    body = line.entry.body
    if isinstance(body, FloorGiven):
        beside = (line.text, line.salt, line.erased_by)
        return "" if beside == (None, None, None) else "a text or a redaction stands beside an entry that has no text"
    if tombstone is not None:
        if (line.text, line.salt) != (None, None):
            return "its text was redacted, and is there"
        expected = (tombstone.entry.seq, tombstone.text)
        return "" if (line.erased_by, line.erased_why) == expected else "its redaction names another tombstone"
    if line.erased_by is not None or line.text is None or line.salt is None:
        return "its text is missing, and no tombstone says why"
    return "" if _is_text_of(line, body.digest) else "its text is not the text that was written"


def _is_text_of(line: Line, digest: str) -> bool:
    try:
        return SaltedText(line.text or "", line.salt or "").digest == digest
    except HallError:
        return False


def _end_problem(thread: StoredThread, state: State | None, lines: Sequence[Line]) -> _Problem | None:
    if state is None:
        return 0, "it has no entries"
    opening = lines[0].entry.body
    assert isinstance(opening, Opened), "rules.check lets nothing else come first"
    if opening.plan != (plan_digest(thread.plan) if thread.plan is not None else None):
        return 0, "its plan is not the plan that was pinned"
    if thread.head != lines[-1].hash:
        return len(lines), "it is missing: the head is not the hash of the entry before it"
    if thread.state != state.encode():
        return state.seq, "the state beside the head is not what the entries tell"
    return None


def standing(sealed: Sealed, before: Standing | None) -> Standing:
    """Returns where a thread stands after this entry."""
    return Standing(sealed.hash, advance(before.state if before else None, sealed.entry))
