"""What a review looked at, and whether it reads otherwise by now: its context and decision records, by their hashes.

Ranges of git revisions are no part of it: what they show follows from what was committed, and differs each time.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from orchestrator.errors import ConfigurationError
from orchestrator.evidence import gather
from orchestrator.evidence.gathering import AFTER_ALL_BYTES, MAX_TOTAL_BYTES
from orchestrator.evidence.reading import shown_as
from orchestrator.evidence.revisions import PREFIX
from orchestrator.export import adr_folder
from orchestrator.wording import counted, listed

Seen = Mapping[str, str]  # by path the hash of what stands there, "sha256:…", or why it cannot be evidence

_MOST_NAMED = 5


class Changes(NamedTuple):
    """What differs between two looks, by path."""

    changed: tuple[str, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        return any(map(len, self))

    def __str__(self) -> str:
        """A sentence's part: `changed: a.md and b.md; new: c.md`."""
        return "; ".join(f"{what}: {_named(paths)}" for what, paths in self._asdict().items() if paths)


def look(context: Sequence[str], adr: Sequence[str], base: Path) -> Seen:
    """Reads what context and folders of records name, as evidence is gathered, but all of it, whatever fits a debate.

    What cannot be evidence stands there with the reason: a file that cannot be opened any more is changed, not gone.

    Raises:
        ConfigurationError: as `evidence.gather` says; it is more than can be looked at.
    """
    files = [source for source in context if not source.startswith(PREFIX)]
    records = [folder for folder in adr if not adr_folder.is_empty(base / os.path.expanduser(folder))]
    found = gather(files, base=base, adr=records, budget_tokens=MAX_TOTAL_BYTES, max_pieces=sys.maxsize)
    unfit = {item.path: item.why for item in found.left_out if item.count is None}
    if too_much := [path for path, why in unfit.items() if why == AFTER_ALL_BYTES]:
        raise ConfigurationError(
            f"What the review looks at is more than {MAX_TOTAL_BYTES >> 20} MiB: {_named(too_much)} could not be read.",
            "Name less of it under context and adr.",
        )
    return {**unfit, **{piece.path: piece.sha256 for piece in found.evidence}}


def compared(before: Seen, now: Seen) -> Changes:
    """What reads otherwise now than before."""
    return Changes(
        tuple(sorted(path for path in before.keys() & now.keys() if before[path] != now[path])),
        tuple(sorted(now.keys() - before.keys())),
        tuple(sorted(before.keys() - now.keys())),
    )


def with_own(seen: Seen, now: Seen, files: Iterable[Path], base: Path) -> Seen:
    """A look in which what a review wrote itself reads as it does now: that is no change."""
    own = {shown_as(str(file), base) for file in files}
    return {**seen, **{path: now[path] for path in own & now.keys()}}


def encoded(seen: Seen) -> str:
    return json.dumps(dict(sorted(seen.items())), ensure_ascii=False, separators=(",", ":"))


def decoded(text: str) -> Seen:
    seen: Seen = json.loads(text)
    return seen


def _named(paths: Sequence[str]) -> str:
    more = len(paths) - _MOST_NAMED
    return listed(paths if more <= 0 else [*paths[:_MOST_NAMED], counted(more, "other file")])
