"""The files that a path, a folder, a glob or a folder of decision records names; none of them is opened here.

A file that is named by itself was wanted, whatever git ignores. A folder or a glob leads to what git does not ignore
and what is not hidden, and to the same files on every machine: they are sorted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from glob import has_magic, iglob
from itertools import takewhile
from pathlib import Path, PurePath

from orchestrator.errors import ConfigurationError
from orchestrator.evidence.account import LeftOut
from orchestrator.evidence.ignoring import Ignoring
from orchestrator.evidence.reading import place_of, shown_as, split_home, unreadable

MAX_FOUND = 10_000  # files of one folder or glob
_MAX_SEEN = 200_000  # files and folders of one search: one over a whole disk ends here
_NO_RECORD = re.compile(
    r"(?:\d+[-_])?(?:m?adr[-_])?(?:index|readme|template(?:[-_](?:bare|minimal|short|long|full|madr))*)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Found:
    """What one source names, in order, as the user would have written each file."""

    source: str
    names: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    is_search: bool = True  # False: the file was named by itself


def find(source: str, base: Path, within: Sequence[Path] | None) -> Found:
    """The files that a path, a folder or a glob names; a path that exists is never read as a glob.

    Args:
        base: the folder that relative names start from.
        within: real folders; what is in none of them, links followed, is not there. None is everywhere.

    Raises:
        ConfigurationError: it lies outside `within`, matches nothing, or leads to too many files.
    """
    _require_within(source, base, within)
    root, _, rest = split_home(source, base)
    if os.path.isdir(root / rest):
        return _Search(source, base, within).of_folder()
    if os.path.lexists(root / rest) or not has_magic(rest):
        return Found(source, (source,), is_search=False)
    return _Search(source, base, within).of_glob()


def find_records(source: str, base: Path, within: Sequence[Path] | None) -> Found:
    """The decision records in a folder: each `.md` file that is no index, README or template.

    Raises:
        ConfigurationError: it is no folder, lies outside `within`, or holds none.
    """
    _require_within(source, base, within)
    if not os.path.isdir(place_of(source, base)):
        raise ConfigurationError(
            "is no folder of decision records.", "Give the folder; a single file is --context.", source=source
        )
    found = _Search(source, base, within).of_folder(deep=False)
    names = tuple(name for name in found.names if _is_record(PurePath(name)))
    if not names:
        raise ConfigurationError(
            "holds no decision record: no .md file but index, README and template.",
            "Give the folder that they are in; the ones below it are not searched.",
            source=source,
        )
    return Found(source, names, found.left_out)


def _is_record(path: PurePath) -> bool:
    return path.suffix.lower() == ".md" and not _NO_RECORD.fullmatch(path.stem)


def _require_within(source: str, base: Path, within: Sequence[Path] | None) -> None:
    """Refuses a source by what stands before its first wildcard: nothing outside that is looked at."""
    fixed = str(PurePath(*takewhile(lambda part: not has_magic(part), PurePath(source).parts)))
    if not is_within(place_of(fixed, base), within) or (within is not None and ".." in PurePath(source).parts):
        raise ConfigurationError(
            "is outside the folders that may be read here.",
            "Name a file below one of them; who runs the server sets them (--root).",
            source=source,
        )


def is_within(place: Path, within: Sequence[Path] | None) -> bool:
    """Whether a place is in the folders that may be read, links followed."""
    real = Path(os.path.realpath(place))
    return within is None or any(real.is_relative_to(folder) for folder in within)


class _Search:
    """A folder or glob, and what it came upon."""

    def __init__(self, source: str, base: Path, within: Sequence[Path] | None) -> None:
        self._source, self._base, self._within = source, base, within
        self._names: list[str] = []
        self._left_out: list[LeftOut] = []
        self._seen = self._ignored = 0

    def of_folder(self, *, deep: bool = True) -> Found:
        """What is below the folder; links to folders are not followed, as git does not."""
        self._walk(self._source, Ignoring(place_of(self._source, self._base)), deep)
        return self._found()

    def of_glob(self) -> Found:
        root, home, rest = split_home(self._source, self._base)
        fixed = place_of(str(PurePath(*takewhile(lambda part: not has_magic(part), PurePath(rest).parts))), root)
        ignoring = Ignoring(fixed)
        for match in iglob(rest, root_dir=root, recursive=True):
            path = place_of(match, root)
            self._see()
            if os.path.isdir(path):
                continue
            if ignoring.ignores(path, is_folder=False):
                self._ignored += 1
            else:
                self._take(home + match)
        if not self._names and not self._ignored:
            raise ConfigurationError(
                "matches no file.", f"`**` stands for any folders; this one starts from {root}.", source=self._source
            )
        return self._found()

    def _walk(self, folder: str, ignoring: Ignoring, deep: bool) -> None:
        try:
            entries = [entry for entry in os.scandir(place_of(folder, self._base)) if not entry.name.startswith(".")]
        except OSError as error:
            self._left_out.append(LeftOut(shown_as(folder, self._base), unreadable(error).why))
            return
        for entry in entries:
            self._see()
            name, is_folder = os.path.join(folder, entry.name), entry.is_dir(follow_symlinks=False)
            if ignoring.ignores(Path(entry.path), is_folder=is_folder):
                self._ignored += 1
            elif not is_folder:
                self._take(name)
            elif deep:
                self._walk(name, ignoring, deep)

    def _see(self) -> None:
        self._seen += 1
        self._require(self._seen <= _MAX_SEEN)

    def _take(self, name: str) -> None:
        if is_within(place_of(name, self._base), self._within):
            self._names.append(name)
            self._require(len(self._names) <= MAX_FOUND)

    def _require(self, is_bounded: bool) -> None:
        if not is_bounded:
            raise ConfigurationError(
                "leads to too many files.", "Give a narrower glob, or a folder further down.", source=self._source
            )

    def _found(self) -> Found:
        ignored = [LeftOut(self._source, "is ignored by git", count=self._ignored)] if self._ignored else []
        return Found(self._source, tuple(sorted(self._names, key=Path)), (*ignored, *self._left_out))
