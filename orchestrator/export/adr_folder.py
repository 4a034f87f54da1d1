"""A folder of decision records, as adr-tools, MADR, adr-log and log4brains keep one, and one more record in it.

The new record is named, numbered and titled as the newest there is. Nothing that stands in the folder is overwritten:
its index, if it has one, gets a line more. A debate that has a record there gets no second one, and the one it has is
left as it is, since people edit records: they accept them, say.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path, PurePath
from urllib.parse import quote

from orchestrator.decision.record import DecisionRecord
from orchestrator.errors import UsageError
from orchestrator.evidence.finding import is_record
from orchestrator.export.adr_index import Entry, indexed
from orchestrator.export.markdown import Place, render_adr
from orchestrator.export.provenance import LEDGER
from orchestrator.export.words import one_title
from orchestrator.files import create_once, require_writable, write_atomically
from orchestrator.hall.debate import Debate
from orchestrator.hall.terms import Status
from orchestrator.thread_id import slug

CURE = "Make it, allow writing there, or name another folder with --adr."

_INDEXES = ("readme.md", "index.md")
_NAME = re.compile(r"((?:m?adr)?[-_ ]?)(\d+)([-_. ]+)(.+)", re.IGNORECASE)
_TITLE = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"((?:m?adr[-_ ]*)?)(\d{1,18})([.:)]\s*(?:[-–—]\s+)?|\s+[-–—]\s+)(.*)", re.IGNORECASE)
_OF_A_DEBATE = re.compile(r"^[-*] (Thread|Head of the ledger|Plan):\s+`([^`]+)`\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Numbered:
    """A file whose name begins with a number."""

    name: str
    before: str
    digits: str
    between: str
    words: str

    @property
    def number(self) -> int:
        return int(self.digits)

    @property
    def is_dated(self) -> bool:
        """Whether its number is a day, as log4brains has it: 20240131."""
        try:
            datetime.strptime(self.digits, "%Y%m%d")
        except ValueError:
            return False
        return len(self.digits) == 8


FIRST = Numbered("", "", "0000", "-", "")


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a decision stands in a folder.

    Args:
        record: its file; one that was there already is left as it is.
        indexes: what was written to tell it.
        is_new: whether the record was written now.
        is_old: it was written before the ledger went on, with a redaction say.
    """

    record: Path
    indexes: tuple[Path, ...]
    is_new: bool
    is_old: bool = False

    @property
    def files(self) -> tuple[Path, ...]:
        """What was written now."""
        return (self.record, *self.indexes) if self.is_new else self.indexes


def require_folder(folder: Path) -> None:
    """Judges a folder before anything is spent on what is to stand in it.

    Raises:
        UsageError: it is not there, or cannot be written.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder of decision records.", CURE)
    require_writable(folder, CURE)


def is_empty(folder: Path) -> bool:
    """Whether a folder is there and holds no record yet, so that none can be read as evidence."""
    return folder.is_dir() and not any(is_record(PurePath(name)) for name in os.listdir(folder))


def next_name(folder: Path, on: date) -> str:
    """The name that the next record in a folder gets, its title apart: `0013-….md`.

    Raises:
        UsageError: the folder cannot be read.
    """
    return _named(_numbered(_names(folder)), "…", on)


def why_not(record: DecisionRecord) -> str | None:
    """Why a debate leaves no record of its own accord: a folder of decisions holds what was decided.

    A stalemate may be put there all the same by who asks for it (`debate-hall export`); its record says what it is.
    """
    if record.rehearsal:
        return "a rehearsal decides nothing"
    if record.answers is not None:
        return "an answer decides nothing"
    match record.status:
        case Status.SYNTHESIS:
            return None
        case Status.STALEMATE:
            return "the debate ended without agreement"
        case Status.FORCE_CLOSED:
            return "the debate was closed by force, without a decision"
        case Status.ACTIVE:
            return "the debate is not closed"


def keep(folder: Path, record: DecisionRecord, debate: Debate) -> Kept:
    """Writes a debate's decision into a folder of records, and a line into the folder's index.

    Raises:
        UsageError: the folder cannot be written.
    """
    require_folder(folder)
    with _alone(folder):
        names = _names(folder)
        for name in names:
            told = _debate_in(folder / name)
            if _is_same(told, record):
                is_old = told.get("Head of the ledger") != record.head
                indexes = _listed(folder, names, name, record)
                return Kept(folder / name, indexes, is_new=False, is_old=is_old)
        return _written(folder, names, record, debate)


def _written(folder: Path, names: Sequence[str], record: DecisionRecord, debate: Debate) -> Kept:
    numbered = _numbered(names)
    on = _day(record)
    while True:
        name = _named(numbered, slug(record.title, "decision"), on)
        digits = _parted(name).digits
        place = Place(_before_title(folder, numbered, digits), _links(folder, names, record))
        file = create_once(folder, name, render_adr(record, debate, place), CURE)
        if file is not None:
            break
        numbered = [*numbered, _parted(name)]  # somebody who takes no turns was faster
    return Kept(file, _listed(folder, names, name, record), is_new=True)


def _day(record: DecisionRecord) -> date:
    return date.fromisoformat(record.decided_at[:10])


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time: two would find the same number free, for different names."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks: names are still taken once only
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}.", CURE) from error


def _parted(name: str) -> Numbered:
    match = _NAME.fullmatch(PurePath(name).stem)
    return Numbered(name, *match.groups()) if match else FIRST


def _numbered(names: Sequence[str]) -> list[Numbered]:
    """The files that have a number, by number; a template may have one too."""
    found = (_parted(name) for name in names)
    return sorted((one for one in found if one is not FIRST), key=lambda one: one.number)


def _style(numbered: Sequence[Numbered]) -> Numbered:
    return next((one for one in reversed(numbered) if is_record(PurePath(one.name))), FIRST)


def _named(numbered: Sequence[Numbered], words: str, on: date) -> str:
    style = _style(numbered)
    if "_" in style.words and "-" not in style.words:
        words = words.replace("-", "_")
    if style.is_dated:
        begins = f"{style.before}{on:%Y%m%d}{style.between}{words}"
        taken = {one.name for one in numbered}
        return next(name for name in _attempts(begins) if name not in taken)
    number = max((one.number for one in numbered), default=0) + 1
    return f"{style.before}{str(number).zfill(len(style.digits))}{style.between}{words}.md"


def _attempts(begins: str) -> Iterator[str]:
    yield f"{begins}.md"
    number = 1
    while True:
        number += 1
        yield f"{begins}-{number}.md"


def _before_title(folder: Path, numbered: Sequence[Numbered], digits: str) -> str:
    """What the title begins with: `12. ` where the newest record's does so with its own number, as in adr-tools."""
    style = _style(numbered)
    title = _title_in(_text(folder / style.name)) if style.name else ""
    match = _NUMBERED.fullmatch(title)
    if match is None or int(match[2]) != style.number:
        return ""
    own = digits if match[2].startswith("0") else str(int(digits))
    return f"{match[1]}{own.zfill(len(match[2]) if match[2].startswith('0') else 1)}{match[3]}"


def _title_in(text: str) -> str:
    match = _TITLE.search(text)
    title = match[1].rstrip() if match else ""
    bare = title.rstrip("#")  # signs that close a heading stand apart: the last one of `# Use C#` is a word's
    return bare.rstrip() if bare.endswith((" ", "\t")) else title


def _entry(folder: Path, one: Numbered) -> Entry:
    text = _text(folder / one.name)
    title = _title_in(text)
    match = _NUMBERED.fullmatch(title)
    bare = match[4] if match and int(match[2]) == one.number else title
    return Entry(one.name, one.digits, bare)


def _text(file: Path) -> str:
    return _content(file).decode("utf-8-sig", "replace")


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes() if file.is_file() else b""  # a pipe has nobody who writes to it
    except OSError:
        return b""


def _debate_in(file: Path) -> dict[str, str]:
    """Which debate a record is of, as records of debates say it; words of models stand before that."""
    told = _text(file).rpartition(f"\n### {LEDGER}")[2] if is_record(PurePath(file.name)) else ""
    return dict(_OF_A_DEBATE.findall(told.partition("\n#")[0]))


def _is_same(told: dict[str, str], record: DecisionRecord) -> bool:
    """A thread's id may be another's in another hall; the plan of a run is no other's."""
    return told.get("Thread") == record.thread_id and told.get("Plan") == record.plan_hash


def _links(folder: Path, names: Sequence[str], record: DecisionRecord) -> dict[str, str]:
    """Where the earlier decisions stand, seen from the folder: in it, or where they were read from."""
    links = {}
    for earlier in record.earlier_decisions:
        name = PurePath(earlier.path).name
        if name in names:
            links[earlier.path] = quote(name)
        elif os.path.exists(earlier.path):
            links[earlier.path] = quote(Path(os.path.relpath(earlier.path, folder)).as_posix())
    return links


def _listed(folder: Path, names: Sequence[str], name: str, record: DecisionRecord) -> tuple[Path, ...]:
    """Sees to it that the folder's index has a record; returns what was written."""
    entry = Entry(name, _parted(name).digits, one_title(record.title), "proposed", _day(record).isoformat())
    known = {one.name: _entry(folder, one) for one in _numbered(names) if one.name != name}
    indexes = [folder / index for index in names if index.lower() in _INDEXES]
    return tuple(index for index in indexes if _is_added(index.resolve(), entry, known))


def _is_added(index: Path, entry: Entry, known: dict[str, Entry]) -> bool:
    """Writes an index that lacks a record; one that cannot be read, or lists none, is left alone."""
    before = _content(index).decode("utf-8", "surrogateescape")
    after = indexed(before, entry, known)
    if after == before:
        return False
    mode = index.stat().st_mode
    write_atomically(index.parent, {index.name: after.encode("utf-8", "surrogateescape")})
    index.chmod(mode)
    return True
