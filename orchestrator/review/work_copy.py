"""A copy of a folder, for a command to work in: it finds there what is there, and what it leaves is thrown away."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

MOST_BYTES = 2 << 30
MOST_FILES = 200_000


class NoCopyError(Exception):
    """A folder cannot be copied; its text says why, as in "the folder …"."""


def copy_folder(folder: Path, to: Path, *, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES) -> None:
    """Copies a folder with all that is in it, a repository's own files, too, but no sockets, pipes and devices.

    A `.git` that is no folder, as in a work tree of git's or a submodule, leads to a repository elsewhere, which a
    command in the copy would change: it is left out.

    Args:
        to: is made; it may be in the folder.
        most_bytes, most_files: a larger folder is not copied to its end.

    Raises:
        NoCopyError: it is too large, or something in it cannot be read. What was copied is left.
    """
    room = _Room(most_bytes, most_files, os.path.realpath(to))
    try:
        shutil.copytree(folder, to, symlinks=True, ignore=room.left_out)
    except shutil.Error as error:
        source, _, why = error.args[0][0]
        raise NoCopyError(f"{os.path.relpath(source, folder)} cannot be copied: {why}") from error
    except OSError as error:
        raise NoCopyError(f"cannot be copied: {error.strerror or error}") from error


class _Room:
    """Counts what is copied, and says what is not."""

    def __init__(self, most_bytes: int, most_files: int, to: str) -> None:
        self._bytes, self._files, self._to = most_bytes, most_files, to

    def left_out(self, folder: str, names: Sequence[str]) -> set[str]:
        """
        Raises:
            NoCopyError: there is no room for so much.
        """
        return {name for name in names if not self._takes(os.path.join(folder, name))}

    def _takes(self, path: str) -> bool:
        status = os.lstat(path)
        if stat.S_ISDIR(status.st_mode):
            return os.path.realpath(path) != self._to  # else the copy would be copied, and that copy
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            return False
        if os.path.basename(path) == ".git":
            return False
        self._bytes -= status.st_size
        self._files -= 1
        if self._bytes < 0 or self._files < 0:
            raise NoCopyError("the folder is too large to be copied for a command")
        return True
