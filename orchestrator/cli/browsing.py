"""What `debate-hall show --open` does: the report of a debate, in the browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator import report_copies
from orchestrator.cli.showing import hall, rendered


def browse(thread_id: str) -> tuple[dict[str, Any], str]:
    """Writes the report of a debate and opens it, where there is a browser.

    Returns:
        the file and whether it was opened, as a value and as text for people.

    Raises:
        DebateError
    """
    with hall() as opened:
        debate = opened.debate(thread_id)
    path = report_copies.keep(debate.state.thread_id, rendered(debate, "html"))
    is_open = _has_browser() and _open(path)
    said = "is open in your browser" if is_open else "is there; no browser could be opened here"
    return {"file": str(path), "opened": is_open}, f"{path}\n  The report of {debate.state.thread_id} {said}.\n"


def _has_browser() -> bool:
    """Whether a browser would be seen by whoever asks: not over SSH, and not where there is no screen."""
    if os.environ.get("BROWSER"):
        return True
    if os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"):
        return False
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def _open(path: Path) -> bool:
    with suppress(webbrowser.Error, OSError):
        return webbrowser.open(path.as_uri())
    return False
