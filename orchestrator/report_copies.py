"""Reports that were opened to be looked at: copies in the user's cache folder, which only the user can read.

A copy is written anew each time it is opened, and goes with the first redaction in its debate.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from platformdirs import user_cache_path

from orchestrator.errors import UsageError
from orchestrator.files import require_writable, write_atomically

_CURE = "Make room or allow writing there, or set XDG_CACHE_HOME to another folder."


def keep(thread_id: str, page: str) -> Path:
    """Writes a report of a debate and returns where.

    Args:
        thread_id: as the debate has it.
        page: HTML.

    Raises:
        UsageError: it cannot be written.
    """
    folder = _folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise UsageError(f"The folder {folder} cannot be made: {error.strerror}.", _CURE) from error
    require_writable(folder, _CURE)
    (path,) = write_atomically(folder, {f"{thread_id}.html": page})
    path.chmod(0o600)
    return path


def forget(thread_id: str) -> None:
    """Removes the copy of a debate's report, if there is one; the id may be in any case."""
    with suppress(OSError):
        for path in _folder().iterdir():
            if path.stem.casefold() == thread_id.casefold():
                path.unlink()


def _folder() -> Path:
    return user_cache_path("debate-hall", appauthor=False) / "reports"
