"""What lists and searches answer: plain mappings, as of the other operations (results.py)."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import TypedDict

from orchestrator.hall.debate import Line
from orchestrator.hall.search import Snippet, place_of
from orchestrator.hall.store import Listed

UNREADABLE = "unreadable"  # the status of a thread whose state is damaged


class Listing(TypedDict):
    thread_id: str
    topic: str
    mode: str
    status: str
    turn_count: int
    max_turns: int
    round: int
    opened_at: str
    updated_at: str
    planned: bool
    marks: list[str]
    run: str  # none, running, paused, interrupted, done
    recipe: str | None
    head: str
    reviewed_by: list[str]  # the debates that start from its decision, the oldest first


class SearchHit(TypedDict):
    """A text in which something was found.

    `where` is what it is in its debate: topic, T3, vote, refinement 1, remark, decision. `matches` are from where to
    where in the snippet, counted in characters, something stands that was looked for.
    """

    thread_id: str
    topic: str
    status: str
    marks: list[str]
    seq: int
    where: str
    role: str | None
    agent: str | None
    at: str
    snippet: str
    matches: list[list[int]]


class SearchResult(TypedDict):
    """`more` was found than is shown. `apart`: no text holds all that was looked for; the hits are of debates in which
    it stands in several."""

    hits: list[SearchHit]
    more: bool
    apart: bool


def listing(listed: Listed, run: str, reviewed_by: Sequence[str] = ()) -> Listing:
    """A thread in a list, with what its run does; one whose state cannot be read says so, and verify says why."""
    state = listed.state
    return {
        "thread_id": listed.thread_id,
        "topic": listed.topic if listed.topic is not None else "[REDACTED]",
        "mode": state.mode if state else "",
        "status": state.status if state else UNREADABLE,
        "turn_count": state.turn_count if state else 0,
        "max_turns": state.max_turns if state else 0,
        "round": state.round if state else 0,
        "opened_at": state.opened_at if state else "",
        "updated_at": state.updated_at if state else "",
        "planned": listed.planned,
        "marks": list(state.marks) if state else [],
        "run": run,
        "recipe": listed.recipe,
        "head": listed.head,
        "reviewed_by": list(reviewed_by),
    }


def search_hit(listed: Listed, line: Line, snippet: Snippet) -> SearchHit:
    """What was found in an entry of a thread."""
    body = line.entry.body
    seat = getattr(body, "seat", None)
    shown = listing(listed, "")
    return {
        "thread_id": listed.thread_id,
        "topic": shown["topic"],
        "status": shown["status"],
        "marks": shown["marks"],
        "seq": line.entry.seq,
        "where": place_of(body) or body.kind,
        "role": getattr(body, "role", None),
        "agent": getattr(body, "agent_role", None) or (seat.agent if seat else None) or getattr(body, "by", None),
        "at": line.entry.at,
        "snippet": snippet.text,
        "matches": [list(match) for match in snippet.matches],
    }
