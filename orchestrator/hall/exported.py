"""An exported debate read back. The file may come from anybody: its ledger is verified as a store's is, and all that
stands beside the ledger is believed only where the ledger tells the same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

from orchestrator.errors import HallError, InvalidInput, LedgerBroken
from orchestrator.hall import canonical, entries, ledger, octave
from orchestrator.hall.debate import Debate, State, advance
from orchestrator.hall.entries import Closed, Entry, ForceClosed, Opened, Tombstoned, Turn
from orchestrator.hall.export import SCHEMA, TRANSCRIPT
from orchestrator.hall.ledger import StoredLine, StoredThread

_CURE = "Give the debate.json or transcript.oct.md of a run, or what `debate-hall export THREAD` prints."
_LINE: Mapping[str, tuple[type, ...]] = {  # a line of a ledger, as `export.debate_json` writes it
    "entry": (str,),
    "hash": (str,),
    "text": (str, NoneType),
    "salt": (str, NoneType),
    "erased_by": (int, NoneType),
}


@dataclass(frozen=True, slots=True)
class Exported:
    """A debate whose ledger was verified, and the file that it was read from, of which nothing else is believed yet.

    `members` are those of its JSON; of an OCTAVE transcript there is only its `text`, without its seal.
    """

    debate: Debate
    members: Mapping[str, Any]
    text: str | None = None
    sealed: bool = False

    @property
    def format(self) -> str:
        return "json" if self.text is None else "octave"

    @property
    def with_record(self) -> bool:
        """Whether it was exported with the record of its decision."""
        return "record" in self.members or "RECORD" in self.members


def read(content: bytes, source: str) -> Exported:
    """Reads a debate that was exported as JSON or as OCTAVE, and verifies its ledger.

    Args:
        source: what the file is called, for errors.

    Raises:
        InvalidInput: this is no exported debate.
        LedgerBroken: it is one, and its ledger does not verify, or it is not what was sealed.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{source} is no exported debate: it is not UTF-8 text.", _CURE) from error
    return _read_octave(text, source) if text.startswith("===") else _read_json(text, source)


def _read_json(text: str, source: str) -> Exported:
    members, twice = _parsed(text, source)
    if not isinstance(members, dict) or "ledger" not in members:
        raise InvalidInput(f"{source} is no exported debate: it has no ledger.", _CURE)
    if members.get("schema") != SCHEMA:
        raise InvalidInput(
            f"{source} does not say that it is an exported debate of this version (schema {SCHEMA}).",
            f"{_CURE} One that a newer version wrote needs that version.",
        )
    thread_id, head, plan = members.get("thread_id"), members.get("head"), members.get("plan")
    if not (isinstance(thread_id, str) and isinstance(head, str) and isinstance(plan, str | None)):
        raise LedgerBroken(source, None, "its thread_id, head or plan is no text")
    if twice:
        raise LedgerBroken(thread_id, None, f"the file has two members {twice[0]!r}")
    return Exported(_verified(thread_id, head, members["ledger"], plan), members)


def _read_octave(text: str, source: str) -> Exported:
    try:
        bare, sealed = octave.unseal(text)
        name, members = octave.parse(bare)
    except InvalidInput as error:
        raise LedgerBroken(source, None, error.message) from error
    if name != TRANSCRIPT:
        raise InvalidInput(f"{source} is no exported debate, but an OCTAVE document {name}.", _CURE)
    if "LEDGER" not in members:
        raise InvalidInput(f"{source} holds no ledger: it was written for reading alone.", _CURE)
    thread_id, head, plan = (_at(members, *place) for place in (("THREAD_ID",), ("META", "HEAD"), ("PLAN",)))
    if not (isinstance(thread_id, str) and isinstance(head, str) and isinstance(plan, str | None)):
        raise LedgerBroken(source, None, "its THREAD_ID, META.HEAD or PLAN is no text")
    return Exported(_verified(thread_id, head, _ledger_in(members), plan), members, bare, sealed)


def _at(members: Any, *place: str) -> Any:
    """The value at a place of an OCTAVE document; None where there is none."""
    for key in place:
        members = members.get(key) if isinstance(members, Mapping) else None
    return members


def _ledger_in(members: Mapping[str, Any]) -> Any:
    """The ledger of an OCTAVE transcript as JSON has it; what is wrong with it, `_verified` says."""
    stored = members["LEDGER"]
    if not isinstance(stored, Mapping):
        return stored
    read = [_entry(_at(line, "ENTRY")) for line in stored.values()]
    erased = {entry.body.target: seq for seq, entry in enumerate(read) if entry and isinstance(entry.body, Tombstoned)}
    return [
        {
            "entry": _at(line, "ENTRY"),
            "hash": ledger.hash_of(str(_at(line, "ENTRY"))),
            "text": None if seq in erased else _text_of(members, read[seq], seq),
            "salt": _at(line, "SALT"),
            "erased_by": erased.get(seq),
        }
        for seq, line in enumerate(stored.values())
    ]


def _text_of(members: Mapping[str, Any], entry: Entry | None, seq: int) -> Any:
    """The text of an entry, which stands in a transcript where a reader looks for it."""
    match entry.body if entry else None:
        case Opened():
            return _at(members, "TOPIC")
        case Turn(turn_index=index):
            return _at(members, "TURNS", f"T{index + 1}", "CONTENT")
        case Closed():
            return _at(members, "SYNTHESIS")
        case ForceClosed():
            return _at(members, "REASON")
        case _:
            return _at(members, "ENTRIES", f"E{seq}", "TEXT")


def require_told(exported: Exported, written: str) -> None:
    """Judges all that stands in a file, but for the signature of a JSON file.

    Args:
        written: what the ledger tells, written in the file's format.

    Raises:
        LedgerBroken: names the first member or line that is another.
    """
    if exported.text is None:
        members = {name: member for name, member in exported.members.items() if name != "signature"}
        other = _first_other(members, json.loads(written), "")
    else:
        same = exported.text == written
        other = "" if same else f"line {octave.first_other_line(exported.text, written)}"
    if other:
        raise LedgerBroken(exported.debate.state.thread_id, None, f"{other} is not what the ledger tells")


def require_earlier(debate: Debate, earlier: Debate) -> int:
    """Returns how many entries of a debate are newer than an earlier export of it.

    Raises:
        LedgerBroken: names the first entry of the earlier one that does not stand in the chain.
    """
    thread_id = debate.state.thread_id
    for seq, kept in enumerate(earlier.lines):
        if seq == len(debate.lines):
            raise LedgerBroken(thread_id, seq, "it is missing, and the earlier export holds it: the ledger was cut off")
        if debate.lines[seq].hash != kept.hash:
            raise LedgerBroken(thread_id, seq, "the earlier export holds another one: the ledger was rewritten")
    return len(debate.lines) - len(earlier.lines)


def _parsed(text: str, source: str) -> tuple[Any, list[str]]:
    """Returns a JSON value, and the keys that an object of it has twice: readers would differ on what they say."""
    twice: list[str] = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            twice.extend(key for key, count in counts.items() if count > 1)
        return found

    try:
        return json.loads(text, object_pairs_hook=members), twice
    except RecursionError as error:
        raise InvalidInput(f"{source} is no exported debate: it is nested too deeply.", _CURE) from error
    except ValueError as error:
        raise InvalidInput(f"{source} is no exported debate: it is not JSON ({error}).", _CURE) from error


def _verified(thread_id: str, head: str, told: object, plan: str | None) -> Debate:
    if not isinstance(told, list):
        raise LedgerBroken(thread_id, None, "its ledger is no list")
    for seq, line in enumerate(told):
        if not _is_line(line):
            raise LedgerBroken(thread_id, seq, "it is not as an export writes it")
    read = [_entry(line["entry"]) for line in told]
    lines = [_stored(seq, line, read[seq], told) for seq, line in enumerate(told)]
    try:
        if plan is not None:
            canonical.require_text(plan)
        return ledger.verify(StoredThread(thread_id, head, _state_after(read), lines, plan))
    except HallError as error:
        raise LedgerBroken(thread_id, 0, error.message) from error


def _is_line(told: object) -> bool:
    return (
        isinstance(told, dict)
        and told.keys() == _LINE.keys()
        and all(type(told[name]) in types for name, types in _LINE.items())
    )


def _entry(stored: Any) -> Entry | None:
    """None where there is nothing to read; `ledger.verify` says why."""
    try:
        return entries.parse(stored)
    except InvalidInput:
        return None


def _stored(seq: int, told: Mapping[str, Any], entry: Entry | None, lines: Sequence[Mapping[str, Any]]) -> StoredLine:
    erased_by = told["erased_by"]
    return StoredLine(
        seq=seq,
        turn_index=entry.body.turn_index if entry and isinstance(entry.body, Turn) else None,
        hash=told["hash"],
        stored=told["entry"],
        text=told["text"],
        salt=told["salt"],
        erased_by=erased_by,
        erased_why=lines[erased_by]["text"] if erased_by is not None and 0 <= erased_by < len(lines) else None,
    )


def _state_after(read: Sequence[Entry | None]) -> str:
    """A store keeps the state beside the head; an export does not, since it is what the entries tell."""
    state: State | None = None
    for entry in read:
        if entry is None or (state is None) != isinstance(entry.body, Opened):
            break
        state = advance(state, entry)
    return state.encode() if state else ""


def _first_other(found: Any, told: Any, place: str) -> str:
    """Names the first place where a JSON value is another than the one that is told; empty where there is none."""
    match told:
        case dict() if isinstance(found, dict):
            parts = {key: f"{place}.{key}" if place else key for key in (told | found)}
            on_one_side = (part for key, part in parts.items() if key not in told or key not in found)
            within = (_first_other(found[key], told[key], part) for key, part in parts.items())
            return next(on_one_side, "") or next(filter(None, within), "")
        case list() if isinstance(found, list) and len(found) == len(told):
            members = enumerate(zip(found, told, strict=True))
            return next(filter(None, (_first_other(*pair, f"{place}[{at}]") for at, pair in members)), "")
        case _:
            return "" if type(found) is type(told) and found == told else place
