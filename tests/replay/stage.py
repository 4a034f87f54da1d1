"""What the replays of these tests have in common: a FORTRESS, what may change in it, and how many calls that takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from click.testing import Result

from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall

Command = Callable[..., Result]

THREAD = "2026-01-06-billing"
AGAIN = f"{THREAD}-replay-1"
TOPIC = "Should we move billing to Kafka?"
OTHER = "openai/other"
FORTRESS = 15  # calls: R1 W, 3 checklists, 3 L, D; R2 W, 2 checklists, 2 L, D; the account

# Whom a change reaches: the seat's own steps, then all who speak after it. Walls never hear those beside them.
NEW = {
    ("--swap", f"wind[1]={OTHER}"): 12,  # all but the first round's checklists, which are made before Wind is heard
    ("--swap", f"wall[1]={OTHER}"): 10,  # its checklist and turn, Door, all of round 2, the account
    ("--swap", f"wall[2]={OTHER}"): 10,
    ("--swap", f"wall[3]={OTHER}"): 10,  # it has no turn in round 2
    ("--swap", f"wall={OTHER}"): 14,
    ("--swap", f"door[1]={OTHER}"): 8,
    ("--agent", "door=synthesizer"): 8,
    ("--without", "E2"): FORTRESS,  # every prompt holds the evidence
}


def told(result: Result, code: int = 0) -> dict[str, Any]:
    """The object that a command printed."""
    assert result.exit_code == code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def debate_of(thread_id: str) -> Debate:
    with Hall.open() as hall:
        return hall.debate(thread_id)
