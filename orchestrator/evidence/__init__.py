"""Evidence: what a debate may cite, with an id, a hash and numbered lines, and the citations of it.

Read `pieces`, then `gathering` (what `--context` names becomes evidence), then `citing` (what the turns say of it).
"""

from __future__ import annotations

from orchestrator.evidence.citing import Citation, Cited, check, citations, cited, with_broken_marked
from orchestrator.evidence.gathering import gather
from orchestrator.evidence.pieces import Evidence, numbered

__all__ = [
    "Citation",
    "Cited",
    "Evidence",
    "check",
    "citations",
    "cited",
    "gather",
    "numbered",
    "with_broken_marked",
]
