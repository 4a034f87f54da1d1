"""The decision that a debate starts from, among its evidence."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.evidence import Evidence
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Link

_PLACE = "the decision of "


def place_of(reviewed: Link) -> str:
    """What the evidence is called that holds the decision which a debate starts from."""
    return f"{_PLACE}{reviewed.thread_id}"


def reviewed_in(evidence: Sequence[Evidence], debate: Debate) -> str | None:
    """The id of that evidence; the replay of a review has it, too, though it supersedes and confirms nothing."""
    path = place_of(debate.reviews) if debate.reviews else None
    again = debate.replays is not None
    decisions = (piece for piece in evidence if piece.kind == "adr")
    return next((one.id for one in decisions if one.path == path or (again and one.path.startswith(_PLACE))), None)
