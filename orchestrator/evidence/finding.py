"""The files that a path, a folder, a glob or a folder of decision records names; none of them is opened here.

A file that is named by itself was wanted, whatever git ignores. A folder or a glob leads to what git does not ignore
and what is not hidden, and to the same files on every machine: they are sorted.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path, PurePath

from orchestrator.errors import ConfigurationError
from orchestrator.evidence.account import LeftOut
from orchestrator.evidence.reading import is_within, place_of, split_home, unreadable
from orchestrator.evidence.searching import Search, before_wildcards

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
    is_folder = os.path.isdir(root / rest)
    if not is_folder and (os.path.lexists(root / rest) or not has_magic(rest)):
        return Found(source, (source,), is_search=False)
    search = Search(source, base, within)
    if is_folder:
        search.folder()
    else:
        search.glob()
        if not search.names and not search.left_out:
            raise ConfigurationError(
                "matches no file.", f"`**` stands for any folders; this one starts from {root}.", source=source
            )
    return Found(source, search.names, search.left_out)


def find_records(source: str, base: Path, within: Sequence[Path] | None) -> Found:
    """The decision records in a folder: each `.md` file that is no index, README or template.

    Raises:
        ConfigurationError: it is no folder, lies outside `within`, or holds none.
    """
    _require_within(source, base, within)
    if not _is_folder(source, base):
        raise ConfigurationError(
            "is no folder of decision records.",
            "Give the folder that they are in; a single file is named as context.",
            source=source,
        )
    search = Search(source, base, within)
    search.folder(deep=False)
    names = tuple(name for name in search.names if is_record(PurePath(name)))
    if not names and not search.left_out:
        raise ConfigurationError(
            "holds no decision record: no .md file but index, README and template.",
            "Give the folder that they are in; the ones below it are not searched.",
            source=source,
        )
    return Found(source, names, search.left_out)


def _is_folder(source: str, base: Path) -> bool:
    try:
        return stat.S_ISDIR(place_of(source, base).stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise unreadable(error).refusal(source) from error


def is_record(path: PurePath) -> bool:
    """Whether a file of a folder of decision records is one: no index, README or template."""
    return path.suffix.lower() == ".md" and not _NO_RECORD.fullmatch(path.stem)


def _require_within(source: str, base: Path, within: Sequence[Path] | None) -> None:
    """Refuses a source by what stands before its first wildcard: nothing outside that is looked at."""
    leaves = within is not None and ".." in PurePath(source).parts
    if leaves or not is_within(place_of(before_wildcards(source), base), within):
        raise ConfigurationError(
            "is outside the folders that may be read here.",
            "Name a file below one of them; who runs the server sets them (--root).",
            source=source,
        )
