"""`debate-hall replay`: a debate held again with something changed, of which only what hangs on that is paid for."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from endpoint import ModelServer
from orchestrator.decision.record import record_of
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Intent, Reused
from replay.conftest import THREAD

Command = Callable[..., Result]
Held = Callable[..., dict[str, Any]]

AGAIN = f"{THREAD}-replay-1"
OTHER = "openai/other"
FORTRESS = 15  # calls: R1 W, 3 checklists, 3 L, D; R2 W, 2 checklists, 2 L, D; the account
# Whom a seat's change reaches: its own steps, then all who speak after it; Walls never hear those beside them.
NEW = {
    ("--swap", f"wind[1]={OTHER}"): 12,  # all but the first round's checklists, which are made before Wind is heard
    ("--swap", f"wall[1]={OTHER}"): 10,  # its checklist and turn, Door, all of round 2, the account
    ("--swap", f"wall[2]={OTHER}"): 10,
    ("--swap", f"wall[3]={OTHER}"): 10,  # it has no turn in round 2
    ("--swap", f"wall={OTHER}"): 14,
    ("--swap", f"door[1]={OTHER}"): 8,
    ("--agent", "door=synthesizer"): 8,
    ("--without", "E2"): FORTRESS,
}


def debate_of(thread_id: str) -> Debate:
    with Hall.open() as hall:
        return hall.debate(thread_id)


def told(result: Result, code: int = 0) -> dict[str, Any]:
    assert result.exit_code == code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize(("change", "new"), NEW.items(), ids=[" ".join(change) for change in NEW])
def test_as_many_calls_are_made_as_hang_on_the_change(
    change: tuple[str, str], new: int, debate: Held, hall: Command, model_server: ModelServer
) -> None:
    debate("fortress")
    assert len(model_server.calls) == FORTRESS
    models = ["--models", "./other.yaml"] if OTHER in change[1] else []
    foreseen = told(hall("replay", THREAD, *change, *models, "--dry-run", "--json"))
    assert len(model_server.calls) == FORTRESS
    outcome = told(hall("replay", THREAD, *change, *models, "--json"))
    assert len(model_server.calls) == FORTRESS + new
    assert (len(foreseen["new_calls"]), foreseen["reused"]) == (new, FORTRESS - new)
    assert (outcome["thread_id"], outcome["replay"]["reused"]) == (AGAIN, FORTRESS - new)
