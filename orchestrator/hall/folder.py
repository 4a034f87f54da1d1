"""Where the ledgers of this machine stand, and whether that place is safe for them.

A command line and a server that were started in different folders must share one hall, so the default is a fixed place
of the user's, never the working folder.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_state_path

from orchestrator.errors import StoreUnavailable, StoreUnsafe
from orchestrator.hall.address import is_address

STATE_DIR = "DEBATE_HALL_STATE_DIR"
STORE = "DEBATE_HALL_STORE"
FILE = "hall.sqlite3"
_NETWORK_FILE_SYSTEMS = frozenset(
    {"9p", "afs", "ceph", "cifs", "coda", "davfs", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "gfs2", "lustre"}
    | {"ncpfs", "nfs", "nfs4", "ocfs2", "smb3", "smbfs"}
)


def state_folder(environment: Mapping[str, str]) -> Path:
    """Returns the folder that holds the embedded store: DEBATE_HALL_STATE_DIR, else the user's state folder."""
    named = environment.get(STATE_DIR, "").strip()
    return Path(named) if named else user_state_path("debate-hall", appauthor=False)


def located(environment: Mapping[str, str], location: str | Path | None = None) -> Path | str:
    """Returns where a store is: the location, else what DEBATE_HALL_STORE names, else the state folder.

    Returns:
        its folder; or the address of one that is no folder, as it was given.
    """
    named = location or environment.get(STORE, "").strip()
    if isinstance(named, str) and is_address(named):
        return named
    return Path(named) if named else state_folder(environment)


def prepare(folder: Path) -> Path:
    """Creates the folder (0700) if it is not there and returns it.

    Raises:
        StoreUnavailable: it cannot be created or written.
        StoreUnsafe: others may write it, or it is on a network file system.
    """
    try:
        folder = folder.expanduser()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = folder.resolve(strict=True)
        mode = folder.stat().st_mode
    except (OSError, RuntimeError) as error:  # RuntimeError: a ~ without a home
        raise StoreUnavailable(
            f"The state folder {folder} cannot be made: {error}.",
            f"Set {STATE_DIR} to a folder that you may write.",
        ) from error
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StoreUnsafe(
            f"Others may write the state folder {folder} (mode {stat.S_IMODE(mode):04o}), and so the ledgers in it.",
            f"Take that away with `chmod go-w {folder}`, or set {STATE_DIR} to another folder.",
        )
    kind = file_system(folder, _mounts())
    if kind in _NETWORK_FILE_SYSTEMS:
        raise StoreUnsafe(
            f"The state folder {folder} is on a network file system ({kind}), where several hosts cannot share one "
            "SQLite file.",
            f"Set {STATE_DIR} to a folder on a local disk.",
        )
    return folder


def _mounts() -> str:
    try:
        return os.fsdecode(Path("/proc/self/mounts").read_bytes())
    except OSError:  # not every system has it
        return ""


def file_system(folder: Path, mounts: str) -> str | None:
    """Returns the type of the file system that holds `folder`, None where `mounts` does not say.

    Args:
        mounts: lines of `device place type …`, spaces within a name as octal escapes, as in /proc/self/mounts.
    """
    lines = (line.split(" ") for line in mounts.split("\n") if line)
    mounted = [(_unescaped(place), kind) for _, place, kind, *_ in lines]
    holding = [(place, kind) for place, kind in mounted if folder.is_relative_to(place)]
    return max(enumerate(holding), key=lambda found: (len(found[1][0]), found[0]))[1][1] if holding else None


def _unescaped(place: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), place)
