"""Files of a run, written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from orchestrator.errors import HallError, StoreError, UsageError

_PROBE_BYTES = 4096  # one block of most file systems: a full disk refuses it

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)  # said by file systems that have none

_CAUSES = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "your disk quota is used up",
    errno.EFBIG: "a file may not grow that large here",
    errno.EACCES: "you may not write there",
    errno.EPERM: "you may not write there",
    errno.EROFS: "the file system is read-only",
    errno.ENOTDIR: "a part of that path is a file, not a folder",
    errno.EEXIST: "there is a file of that name, not a folder",
    errno.EISDIR: "a folder has the name of a file to be written",
    errno.ENAMETOOLONG: "the path is too long",
}


OTHER_OUT = "Make room or allow writing there, or choose another folder with --out."


def require_writable(folder: Path, cure: str = OTHER_OUT) -> None:
    """Proves that files can be written to a folder that is there.

    Args:
        cure: what to do where they cannot.

    Raises:
        UsageError: they cannot.
    """
    with _plain_errors(folder, cure):
        _discard(_write_beside(folder / "probe", bytes(_PROBE_BYTES)))


def create_once(folder: Path, name: str, content: str, cure: str = OTHER_OUT) -> Path | None:
    """Writes a new file, whole or not at all; None where there is one of that name, which stays as it is.

    Raises:
        UsageError: the folder cannot be written.
    """
    target = folder / name
    with _plain_errors(folder, cure):
        temporary = _write_beside(target, content.encode())
        try:
            os.link(temporary, target)  # which, other than renaming, replaces nothing
        except FileExistsError:
            return None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if not _is_claimed(target):
                return None
            temporary.replace(target)
        finally:
            _discard(temporary)
        _sync_folder(folder)
    return target


def _is_claimed(target: Path) -> bool:
    """Takes a name, if it is free, with an empty file."""
    try:
        target.open("xb").close()
    except FileExistsError:
        return False
    return True


def prepare_folder(path: Path) -> Path:
    """Makes a folder, with its parents, and proves that files can be written there.

    Args:
        path: a leading `~` stands for the home folder; a folder that is there already is kept as it is.

    Returns:
        The folder.

    Raises:
        UsageError: it cannot be made or written to.
    """
    folder = Path(os.path.expanduser(path))
    with _plain_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    require_writable(folder)
    return folder


@contextmanager
def folder_to_fill(path: Path) -> Iterator[Path]:
    """A folder as `prepare_folder` makes it, for a block that fills it.

    When the block begins nothing (a UsageError, HallError or StoreError says so), the folders that had to be made for
    it are removed again, as far as they are empty.
    """
    folder = Path(os.path.expanduser(path))
    made = [place for place in (folder, *folder.parents) if not os.path.lexists(place)]
    try:
        yield prepare_folder(folder)
    except (UsageError, HallError, StoreError):
        for place in made:
            with suppress(OSError):
                place.rmdir()
        raise


def write_atomically(folder: Path, files: Mapping[str, bytes | str]) -> tuple[Path, ...]:
    """Writes files so that a reader, or a crash at any moment, meets each either whole or as it was before.

    Every file is first written beside its place and forced to disk; only when all are there are they renamed, so that
    a failure to write any leaves all as they were.

    Args:
        folder: exists already.
        files: content by file name; text is written as UTF-8.

    Returns:
        The paths written, in the order given.

    Raises:
        UsageError: the folder is missing, full or not writable; nothing is left half-written.
    """
    waiting: dict[Path, Path] = {}
    try:
        with _plain_errors(folder):
            for name, content in files.items():
                target = folder / name
                waiting[target] = _write_beside(target, content.encode() if isinstance(content, str) else content)
            for target, temporary in waiting.items():
                temporary.replace(target)
            _sync_folder(folder)
    finally:
        for temporary in waiting.values():
            _discard(temporary)
    return tuple(waiting)


def _write_beside(target: Path, content: bytes) -> Path:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        _discard(temporary)
        raise
    return temporary


def _discard(temporary: Path) -> None:
    with suppress(OSError):
        temporary.unlink()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network and FUSE file systems cannot sync a folder
            raise
    finally:
        os.close(descriptor)


@contextmanager
def _plain_errors(folder: Path, cure: str = OTHER_OUT) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        cause = _CAUSES.get(error.errno or 0) or error.strerror or str(error)
        raise UsageError(f"Cannot write to {folder}: {cause}.", cure) from error
