"""Evidence: what a debate may cite, with an id, a hash and numbered lines, and the citations of it.

Read `pieces`, then `gathering` (what `--context` names becomes evidence), then `citing` (what the turns say of it).
"""

from __future__ import annotations

from orchestrator.evidence.citing import Citation, check, citations
from orchestrator.evidence.gathering import gather
from orchestrator.evidence.pieces import Evidence, numbered

__all__ = ["Citation", "Evidence", "check", "citations", "gather", "numbered"]
