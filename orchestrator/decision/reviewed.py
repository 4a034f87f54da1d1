"""The decision that a debate starts from, among its evidence."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.evidence import Evidence
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Link


def place_of(reviewed: Link) -> str:
    """What the evidence is called that holds the decision which a debate starts from."""
    return f"the decision of {reviewed.thread_id}"


def reviewed_in(evidence: Sequence[Evidence], debate: Debate) -> str | None:
    """The id of that evidence."""
    path = place_of(debate.reviews) if debate.reviews else None
    return next((piece.id for piece in evidence if piece.kind == "adr" and piece.path == path), None)
