"""Evidence: what a debate may cite, with an id, a hash and numbered lines, and the citations of it.

Read `pieces`, then `gathering` (what `--context` names becomes evidence; `finding` with `searching` and `ignoring`,
`reading` with `documents` and `extraction`, and `revisions` find and read it, `account` says what was left out), then
`citing` (what the turns say of it).
"""

from __future__ import annotations

from orchestrator.evidence.citing import Citation, Cited, check, citations, cited, with_broken_marked
from orchestrator.evidence.gathering import DEFAULT_TOKENS, Gathered, file_digest, gather
from orchestrator.evidence.pieces import Evidence, numbered
from orchestrator.evidence.reading import MAX_BYTES

__all__ = [
    "DEFAULT_TOKENS",
    "MAX_BYTES",
    "Citation",
    "Cited",
    "Evidence",
    "Gathered",
    "check",
    "citations",
    "cited",
    "file_digest",
    "gather",
    "numbered",
    "with_broken_marked",
]
