"""One file: judged before it is opened, read, and turned into text."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.evidence import documents
from orchestrator.evidence.account import LeftOut, Unfit
from orchestrator.secrets import find_secret, is_secret_name

MAX_BYTES = 1 << 20  # of a text; a PDF or DOCX may have documents.MAX_BYTES

_UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")  # would break the line it is shown in
_LEAVE_OUT = "Leave it out: name the other files, or give a narrower glob."


@dataclass(frozen=True, slots=True)
class File:
    """A file that may be opened: no secret by its name, no folder, no device, not too large."""

    path: Path
    identity: tuple[int, int]  # device and inode: links and other spellings are the same file
    size: int


def is_showable(text: str) -> bool:
    return not _UNSHOWABLE.search(text)


def split_home(name: str, base: Path) -> tuple[Path, str, str]:
    """Where a name starts, the `~/` that says so, and the rest of it."""
    tilde, slash, rest = name.partition("/")
    if tilde.startswith("~") and (home := os.path.expanduser(tilde)) != tilde:
        return Path(home), tilde + slash, rest
    return base, "", name


def place_of(name: str, base: Path) -> Path:
    """The absolute path of a name that a user gave."""
    root, _, rest = split_home(name, base)
    return Path(os.path.abspath(root / rest))


def is_within(place: Path, within: Sequence[Path] | None) -> bool:
    """Whether a place is in the folders that may be read, links followed; None is everywhere."""
    if within is None:
        return True
    try:
        real = Path(os.path.realpath(place))
    except OSError:  # a link on the way may not be looked at
        return False
    return any(real.is_relative_to(folder) for folder in within)


def shown_as(name: str, base: Path) -> str:
    """From the working folder if it is below that, else as the user gave it."""
    path, here = place_of(name, base), Path(os.path.abspath(base))
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else name


def left_out(name: str, base: Path, unfit: Unfit) -> LeftOut:
    """What is told of a file or folder that a search came upon."""
    shown = shown_as(name, base)
    return LeftOut(shown if is_showable(shown) else repr(shown), unfit.why, cure=unfit.cure)


def look(name: str, base: Path) -> File:
    """Judges a file by its name and its kind.

    Raises:
        Unfit: it must not be opened.
    """
    path = place_of(name, base)
    if not is_showable(shown_as(name, base)):
        raise Unfit("has a name that cannot be shown", "Rename it, or leave it out.")
    try:
        if reason := is_secret_name(str(path)) or is_secret_name(os.path.realpath(path)):
            raise Unfit(f"looks like a secret ({reason}); it was not read", _LEAVE_OUT)
        status = path.stat()
    except OSError as error:
        raise unreadable(error) from error
    if stat.S_ISDIR(status.st_mode):
        raise Unfit("is a link to a folder, which is not followed", "Name the folder that it leads to.")
    if not stat.S_ISREG(status.st_mode):
        raise Unfit("is a device, pipe or socket, not a file", "Give a text file.")
    if status.st_size > _most_bytes(path):
        raise _oversize(path)
    return File(path, (status.st_dev, status.st_ino), status.st_size)


def read(file: File) -> tuple[bytes, str]:
    """A file's bytes, and its text.

    Raises:
        Unfit: it cannot be read, or is no text.
    """
    data = read_bytes(file)
    format = documents.document_format(file.path)
    return data, decode(data) if format is None else documents.text_of(data, format)


def read_bytes(file: File) -> bytes:
    """A file's bytes.

    Raises:
        Unfit: it cannot be read, or has grown too large.
    """
    most = _most_bytes(file.path)
    try:
        with file.path.open("rb") as stream:
            opened = os.fstat(stream.fileno())
            if (opened.st_dev, opened.st_ino) != file.identity:  # what was judged is not what would be read
                raise Unfit("was replaced while it was read", "Try again.")
            data = stream.read(most + 1)
    except OSError as error:
        raise unreadable(error) from error
    if len(data) > most:  # it grew, or its size was not known (/proc)
        raise _oversize(file.path)
    return data


def decode(data: bytes) -> str:
    """The text of bytes, without a byte order mark; every line end is a line feed.

    Raises:
        Unfit: they are no UTF-8 text.
    """
    if b"\0" in data:
        raise Unfit("is a binary file (it holds NUL bytes)", "Give a text file in UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = len(re.findall(rb"\r\n?|\n", data[: error.start])) + 1
        raise Unfit("is not UTF-8 text", "Save it as UTF-8.", line) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def require_no_secret(text: str) -> None:
    """Searches a text that is about to become evidence.

    Raises:
        Unfit: it holds a key, token or password.
    """
    if found := find_secret(text):
        raise Unfit(
            f"holds what looks like {found.kind}; nothing was sent",
            "Take it out of the file, or leave the file out.",
            found.line,
        )


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def unreadable(error: OSError) -> Unfit:
    return Unfit(f"cannot be read: {error.strerror}", "Check the path, and who may read it.")


def _most_bytes(path: Path) -> int:
    return MAX_BYTES if documents.document_format(path) is None else documents.MAX_BYTES


def _oversize(path: Path) -> Unfit:
    return Unfit(f"is larger than {_most_bytes(path):,} bytes", "Give the part that the question rests on.")
