"""What `--context` names is read, in the user's order.

A file that cannot be read as text, that looks like a secret or that is too large is an error that names it, also where
a glob matched it: what was left out in silence would be missed too late.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import has_magic, iglob
from itertools import islice, takewhile
from pathlib import Path, PurePath

from orchestrator.errors import ConfigurationError
from orchestrator.evidence.pieces import Evidence
from orchestrator.secrets import find_secret, is_secret_name

MAX_FILES = 64
MAX_FILE_BYTES = 1 << 20
MAX_TOTAL_BYTES = 4 << 20
_MAX_MATCHES = 10_000  # of one glob, folders counted: a glob over a whole disk ends here

_UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")  # would break the line it is shown in
_LEAVE_OUT = "Leave it out: name the other files, or give a narrower glob."


def gather(patterns: Sequence[str], *, base: Path, within: Sequence[Path] | None = None) -> tuple[Evidence, ...]:
    """Reads the files that paths and globs name.

    Args:
        patterns: paths and globs (`*`, `?`, `[…]`, `**` for any folders), a leading `~` for the home folder. A path
            that exists is never read as a glob (`app/[id]/page.tsx`). A glob passes by hidden files and folders
            unless it names them, and by folders that it matches.
        base: the folder that relative patterns start from.
        within: real folders; a file that is in none of them, links followed, is refused unseen. None is everywhere.

    Returns:
        One piece of evidence for each real file, in the order given; a glob's matches are sorted.

    Raises:
        ConfigurationError: a pattern names nothing or a folder; a file is no UTF-8 text, looks like a secret, cannot
            be read or is over 1 MiB; there are over 64 files or 4 MiB.
    """
    files: dict[tuple[int, int], _File] = {}
    for pattern in patterns:
        if not pattern.strip() or _UNSHOWABLE.search(pattern):
            raise ConfigurationError(f"{pattern!r:.80} is no path of a context file.", "Give a file or a glob.")
        if within is not None and not _is_within(_fixed_part(pattern), pattern, base, within):
            raise ConfigurationError(
                "is outside the folders that may be read here.",
                "Name a file below one of them; who runs the server sets them (--root).",
                source=pattern,
            )
        for name in _names(pattern, base, within):
            file = _look(name, base)
            files.setdefault(file.identity, file)
    if len(files) > MAX_FILES:
        raise ConfigurationError(
            f"The context is {len(files)} files; a debate takes at most {MAX_FILES}.",
            "Name the files that the question rests on, or give narrower globs.",
        )
    total = sum(file.size for file in files.values())
    if total > MAX_TOTAL_BYTES:
        raise ConfigurationError(
            f"The context is {total:,} bytes in {len(files)} files; a debate takes at most {MAX_TOTAL_BYTES:,}.",
            "Name fewer files, or only the parts that the question rests on.",
        )
    return tuple(_read(f"E{number}", file) for number, file in enumerate(files.values(), start=1))


@dataclass(frozen=True, slots=True)
class _File:
    shown: str
    path: Path
    identity: tuple[int, int]  # device and inode: links and other spellings are the same file
    size: int


def _names(pattern: str, base: Path, within: Sequence[Path] | None) -> Iterator[str]:
    """The files a pattern names, as the user would have written each. Links lead a glob nowhere outside `within`."""
    root, home, rest = _split_home(pattern, base)
    if os.path.lexists(root / rest) or not has_magic(rest):
        yield pattern
        return
    matches = list(islice(iglob(rest, root_dir=root, recursive=True), _MAX_MATCHES + 1))
    if len(matches) > _MAX_MATCHES:
        raise ConfigurationError("matches too many files.", "Give a narrower glob.", source=pattern)
    if within is not None:
        matches = [match for match in matches if _is_within(home + match, match, base, within)]
    names = [match for match in sorted(matches, key=Path) if not (root / match).is_dir()]
    if not names:
        raise ConfigurationError(
            "matches no file.", f"`**` stands for any folders; this one starts from {root}.", source=pattern
        )
    yield from (home + name for name in names)


def _fixed_part(pattern: str) -> str:
    """What stands before a pattern's first wildcard, whole folders only: nothing outside it is looked at."""
    parts = PurePath(pattern).parts
    return str(PurePath(*takewhile(lambda part: not has_magic(part), parts)))


def _is_within(name: str, pattern: str, base: Path, within: Sequence[Path]) -> bool:
    """Whether a place is in the folders that may be read, links followed; `..` behind a wildcard may lead anywhere."""
    root, _, rest = _split_home(name, base)
    place = Path(os.path.realpath(root / rest))
    return ".." not in PurePath(pattern).parts and any(place.is_relative_to(folder) for folder in within)


def _split_home(pattern: str, base: Path) -> tuple[Path, str, str]:
    """Where a pattern starts, the `~/` that says so, and the rest of it."""
    tilde, slash, rest = pattern.partition("/")
    if tilde.startswith("~") and (home := os.path.expanduser(tilde)) != tilde:
        return Path(home), tilde + slash, rest
    return base, "", pattern


def _look(name: str, base: Path) -> _File:
    """Refuses what must not be opened: a secret by its name, a folder, a device, a pipe, an oversize file."""
    root, _, rest = _split_home(name, base)
    path = Path(os.path.abspath(root / rest))
    here = Path(os.path.abspath(base))
    shown = path.relative_to(here).as_posix() if path.is_relative_to(here) else name
    if _UNSHOWABLE.search(shown):
        raise ConfigurationError(f"The file name {shown!r} cannot be shown.", "Rename it, or leave it out.")
    if reason := is_secret_name(str(path)) or is_secret_name(os.path.realpath(path)):
        raise ConfigurationError(f"looks like a secret ({reason}); it was not read.", _LEAVE_OUT, source=shown)
    try:
        status = path.stat()
    except OSError as error:
        raise _unreadable(shown, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise ConfigurationError("is a folder.", f"Give a glob, such as '{name.rstrip('/')}/**/*.md'.", source=shown)
    if not stat.S_ISREG(status.st_mode):
        raise ConfigurationError("is a device, pipe or socket, not a file.", "Give a text file.", source=shown)
    if status.st_size > MAX_FILE_BYTES:
        raise _oversize(shown)
    return _File(shown, path, (status.st_dev, status.st_ino), status.st_size)


def _read(id: str, file: _File) -> Evidence:
    try:
        with file.path.open("rb") as stream:
            opened = os.fstat(stream.fileno())
            if (opened.st_dev, opened.st_ino) != file.identity:  # what was judged is not what would be read
                raise ConfigurationError("was replaced while it was read.", "Try again.", source=file.shown)
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise _unreadable(file.shown, error) from error
    if len(data) > MAX_FILE_BYTES:  # it grew, or its size was not known (/proc)
        raise _oversize(file.shown)
    text = _decode(file.shown, data)
    if found := find_secret(text):
        raise ConfigurationError(
            f"holds what looks like {found.kind}; nothing was sent.",
            "Take it out of the file, or leave the file out.",
            source=file.shown,
            line=found.line,
        )
    return Evidence(id, file.shown, f"sha256:{hashlib.sha256(data).hexdigest()}", text)


def _decode(shown: str, data: bytes) -> str:
    if b"\0" in data:
        raise ConfigurationError("is a binary file (it holds NUL bytes).", "Give a text file in UTF-8.", source=shown)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = len(re.findall(rb"\r\n?|\n", data[: error.start])) + 1
        raise ConfigurationError("is not UTF-8 text.", "Save it as UTF-8.", source=shown, line=line) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _unreadable(shown: str, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"cannot be read: {error.strerror}.", "Check the path, and who may read it.", source=shown
    )


def _oversize(shown: str) -> ConfigurationError:
    return ConfigurationError(
        f"is larger than {MAX_FILE_BYTES:,} bytes.", "Give the part that the question rests on.", source=shown
    )
