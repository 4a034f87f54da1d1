"""What is said of a replay beside its decision: what it reused, where the two debates part, and what differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from orchestrator.cli.comparing import compared
from orchestrator.decision.parting import Parting, Speaker, parting
from orchestrator.decision.record import record_of
from orchestrator.errors import UnknownThread
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import plain
from orchestrator.hall.hall import Hall
from orchestrator.wording import counted


@dataclass(frozen=True, slots=True)
class Against:
    """A replay held against the debate that it replays, as JSON members and as text."""

    members: dict[str, Any]
    text: str


def against_the_replayed(debate: Debate) -> Against | None:
    """Compares; None where the debate is no replay, or the one that it replays is not in this hall.

    Raises:
        LedgerBroken: that one does not verify.
    """
    link = debate.replays
    if link is None:
        return None
    try:
        with Hall.open() as hall:
            before = hall.debate(link.thread_id)
    except UnknownThread:
        return None
    parts, reused = parting(before, debate), record_of(debate).reused
    members, text = compared(before, debate, (link.thread_id, debate.state.thread_id))
    told = {"replays": plain(link), "reused": reused, "parting": parts.model_dump() if parts else None}
    return Against({**told, "difference": members}, "\n".join([*_lines(link.thread_id, reused, parts), "", text]))


def _lines(thread_id: str, reused: int, parts: Parting | None) -> Iterator[str]:
    yield f"Against {thread_id}"
    yield f"  {counted(reused, 'reply', 'replies')} of it {'is' if reused == 1 else 'are'} reused, at no cost"
    if parts is None:
        yield "  nothing that was said differs"
        return
    yield f"  first differs at {parts.where}"
    yield f"    A  {_told(parts.a)}"
    yield f"    B  {_told(parts.b)}"


def _told(speaker: Speaker | None) -> str:
    if speaker is None:
        return "says nothing any more"
    model = f", {speaker.model}" if speaker.model else ""
    return f"{speaker.agent or 'unnamed'}{model}" + (f" ({speaker.slot})" if speaker.slot else "")
