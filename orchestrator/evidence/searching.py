"""A search of a folder or a glob: what it comes upon, what is left out of it, and how much of a disk it may look at."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from glob import has_magic
from itertools import chain, takewhile
from pathlib import Path, PurePath

from orchestrator.errors import ConfigurationError
from orchestrator.evidence.account import LeftOut, Unfit
from orchestrator.evidence.ignoring import Ignoring
from orchestrator.evidence.reading import is_within, left_out, place_of, split_home, unreadable

MAX_FOUND = 10_000  # files of one folder or glob
MAX_SEEN = 200_000  # files and folders that one search looks at: one over a whole disk ends here
_ANY_FOLDERS = "**"
_NAME_IT = "A file that is named by itself is read although git ignores it."
_FOLDERS = ("", ".", "..")  # what ends in one of these names no file


class Search:
    """A folder or glob, as the user gave it; `names` writes each file as the user would have.

    Args:
        base: the folder that relative names start from.
        within: real folders; what is in none of them, links followed, is not there. None is everywhere.
    """

    def __init__(self, source: str, base: Path, within: Sequence[Path] | None) -> None:
        self._source, self._base, self._within = source, base, within
        start = source if os.path.isdir(place_of(source, base)) else before_wildcards(source)
        self._ignoring = Ignoring(place_of(start, base))
        self._listings: dict[str, list[os.DirEntry[str]]] = {}
        self._names: set[str] = set()
        self._left_out: list[LeftOut] = []
        self._ignored: set[str] = set()
        self._seen = 0

    @property
    def names(self) -> tuple[str, ...]:
        """What was found, sorted."""
        return tuple(sorted(self._names, key=Path))

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What git ignores, counted, and what could not be looked at."""
        count = len(self._ignored)
        ignored = [LeftOut(self._source, "is ignored by git", count=count, cure=_NAME_IT)] if count else []
        return (*ignored, *sorted(self._left_out, key=lambda item: Path(item.path)))

    def folder(self, *, deep: bool = True) -> None:
        """Takes the files below the folder; links to folders are not followed, as git does not.

        Raises:
            ConfigurationError: it leads to too many files.
        """
        folders = [self._source]
        while folders:
            folder = folders.pop()
            for entry in self._listed(folder):
                name, is_folder = os.path.join(folder, entry.name), _is_folder(entry, follow=False)
                if entry.name.startswith(".") or not self._is_kept(name, is_folder):
                    continue
                if not is_folder:
                    self._take(name)
                elif deep:
                    folders.append(name)

    def glob(self) -> None:
        """Takes the files that the glob matches: as the standard library's `glob`, but that a link which leads back to
        a folder above it is not followed.

        Raises:
            ConfigurationError: it leads to too many files.
        """
        _, home, rest = split_home(self._source, self._base)
        *ways, last = _steps(rest)
        places: Iterable[str] = [os.path.join(home, "/" if rest.startswith("/") else "")]
        for way in ways:
            places = dict.fromkeys(chain.from_iterable(self._folders(place, way) for place in places))
        for name in chain.from_iterable(self._files(place, last) for place in places):
            if self._is_kept(name, is_folder=False):
                self._take(name)

    def _folders(self, place: str, way: str) -> Iterator[str]:
        """The folders to which one part of a glob leads from a folder."""
        if way == _ANY_FOLDERS:
            yield from self._below(place)
        elif has_magic(way):
            yield from (os.path.join(place, entry.name) for entry in self._matching(place, way) if _is_folder(entry))
        elif self._is_there(name := os.path.join(place, way), folder=True):
            yield name

    def _files(self, place: str, last: str) -> Iterator[str]:
        if has_magic(last):
            matching = self._matching(place, last)
            yield from (os.path.join(place, entry.name) for entry in matching if not _is_folder(entry))
        elif os.path.basename(last) not in _FOLDERS and self._is_there(name := os.path.join(place, last), folder=False):
            yield name

    def _below(self, place: str) -> Iterator[str]:
        """A folder, and the folders below it that git does not ignore."""
        folders = [place]
        while folders:
            yield (folder := folders.pop())
            for entry in self._matching(folder, "*"):
                name = os.path.join(folder, entry.name)
                if _is_folder(entry) and not _leads_back(entry) and self._is_kept(name, is_folder=True):
                    folders.append(name)

    def _matching(self, folder: str, pattern: str) -> Iterator[os.DirEntry[str]]:
        """What stands in a folder and matches; hidden files and folders only where the pattern names them."""
        for entry in self._listed(folder):
            if fnmatchcase(entry.name, pattern) and (pattern.startswith(".") or not entry.name.startswith(".")):
                yield entry

    def _listed(self, folder: str) -> Sequence[os.DirEntry[str]]:
        """What stands in a folder; nothing where it may not be looked into, and that is told where it cannot be."""
        if folder not in self._listings:
            entries = self._listings[folder] = []
            place = place_of(folder, self._base)
            if is_within(place, self._within):
                try:
                    with os.scandir(place) as found:
                        for entry in found:
                            self._see()
                            entries.append(entry)
                except OSError as error:
                    self._cannot_read(folder, error)
        return self._listings[folder]

    def _is_there(self, name: str, *, folder: bool) -> bool:
        """Whether a folder, or anything else, of this name is there; what may not be looked at is told."""
        place = place_of(name, self._base)
        if not is_within(place, self._within):
            return False
        try:
            os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            self._cannot_read(name, error)
            return False
        return os.path.isdir(place) == folder

    def _is_kept(self, name: str, is_folder: bool) -> bool:
        """Whether git does not ignore it; what git might ignore is left out, too."""
        try:
            is_ignored = self._ignoring.ignores(place_of(name, self._base), is_folder=is_folder)
        except OSError as error:
            rules = os.path.relpath(error.filename, self._base)
            unfit = Unfit(f"may be ignored by git: {rules!r:.200} cannot be read: {error.strerror}", _NAME_IT)
            self._left_out.append(left_out(name, self._base, unfit))
            return False
        if is_ignored:
            self._ignored.add(name)
        return not is_ignored

    def _take(self, name: str) -> None:
        if is_within(place_of(name, self._base), self._within):
            self._names.add(name)
            self._require(len(self._names) <= MAX_FOUND)

    def _cannot_read(self, name: str, error: OSError) -> None:
        self._left_out.append(left_out(name, self._base, unreadable(error)))

    def _see(self) -> None:
        self._seen += 1
        self._require(self._seen <= MAX_SEEN)

    def _require(self, is_bounded: bool) -> None:
        if not is_bounded:
            raise ConfigurationError(
                "leads to too many files.", "Give a narrower glob, or a folder further down.", source=self._source
            )


def before_wildcards(source: str) -> str:
    """The folder that a glob starts from."""
    return str(PurePath(*takewhile(lambda part: not has_magic(part), PurePath(source).parts)))


def _steps(pattern: str) -> list[str]:
    """The parts of a glob; those without a wildcard that follow each other are one."""
    *parts, last = pattern.split("/")
    steps: list[str] = []
    for part in (*filter(None, parts), last):
        if steps and not has_magic(part) and not has_magic(steps[-1]):
            steps[-1] += f"/{part}"
        elif part != _ANY_FOLDERS or steps[-1:] != [_ANY_FOLDERS]:
            steps.append(part)
    return [*steps, "*"] if steps[-1] == _ANY_FOLDERS else steps


def _is_folder(entry: os.DirEntry[str], *, follow: bool = True) -> bool:
    with suppress(OSError):  # a link to what may not be looked at
        return entry.is_dir(follow_symlinks=follow)
    return False


def _leads_back(entry: os.DirEntry[str]) -> bool:
    """Whether it is a link to a folder that it stands in or below."""
    with suppress(OSError):
        return entry.is_symlink() and any(map(partial(os.path.samefile, entry.path), Path(entry.path).parents))
    return True
