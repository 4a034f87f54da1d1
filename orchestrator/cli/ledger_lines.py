"""What `debate-hall show --entries` tells: a ledger entry by entry, what each says and by whom."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from orchestrator.decision.account import Account
from orchestrator.decision.record import title_of
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Body, FloorGiven, Note, Vote
from orchestrator.hall.terms import About
from orchestrator.structured import Unreadable, read


def entries(debate: Debate) -> list[dict[str, Any]]:
    """Returns a ledger entry by entry: what each says and by whom."""
    return [
        {
            "seq": line.entry.seq,
            "kind": line.entry.body.kind,
            "at": line.entry.at,
            "by": _speaker(line.entry.body),
            "says": _says(line.entry.body),
            "text": None if isinstance(line.entry.body, FloorGiven) else line.words,
            "hash": line.hash,
        }
        for line in debate.lines
    ]


def _speaker(body: Body) -> str:
    seat = getattr(body, "seat", None)
    agent = getattr(body, "agent_role", None) or (seat.agent if seat else None)
    names = (getattr(body, "role", None), agent, getattr(body, "by", None))
    return ", ".join(name for name in names if name)


def _says(body: Body) -> str | None:
    """What its words are for, where its kind does not say so: how a seat votes, what a note is about."""
    match body:
        case Vote():
            return body.choice
        case Note():
            return body.about
        case _:
            return None


def entry_lines(found: Sequence[dict[str, Any]]) -> str:
    return "".join(f"{_entry_line(entry)}\n" for entry in found)


def _entry_line(entry: dict[str, Any]) -> str:
    says = None if entry["says"] == About.REMARK else entry["says"] and entry["says"].replace("_", " ")
    said = ": ".join(part for part in (entry["by"], says, entry["text"] and _title_of(entry)) if part)
    return f"{entry['seq']:>4}  {entry['kind']:<12}  {entry['at'][:16].replace('T', ' ')}  {said}"


def _title_of(entry: dict[str, Any]) -> str:
    """What its words begin with; of an account, which is JSON, the title in it."""
    if entry["says"] == About.ACCOUNT:
        with suppress(Unreadable):
            return title_of(read(entry["text"], Account).title)
    return title_of(entry["text"])
