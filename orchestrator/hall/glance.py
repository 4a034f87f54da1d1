"""Which debates there are, at a glance: no hall is made, none is mended, and nobody is waited for."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from orchestrator.hall.folder import FILE, located

_MOST = 500
_PATIENCE_S = 0.2


def newest_threads(beginning: str) -> list[str]:
    """The ids of debates that begin so, in any case, the newest first; none where they cannot be read at once."""
    try:
        place = located(os.environ)
        if not isinstance(place, Path):  # a server would have to be waited for
            return []
        file = Path(os.path.expanduser(place)) / FILE
        uri = f"{file.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE_S)) as db:
            rows = db.execute(
                "SELECT thread_id FROM threads WHERE substr(thread_id, 1, ?) = ? COLLATE NOCASE"
                " ORDER BY no DESC LIMIT ?",
                (len(beginning), beginning, _MOST),
            ).fetchall()
    except (sqlite3.Error, OSError):
        return []
    return [str(name) for (name,) in rows]
