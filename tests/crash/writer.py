"""A process that writes to a hall for ever, and says of each write that it was acknowledged.

    python writer.py FOLDER THREAD_ID SHARED_THREAD_ID

It runs THREAD_ID, whose turns and journal are its own, and takes turns in SHARED_THREAD_ID with others like it.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from itertools import count
from typing import Any

from orchestrator.errors import StaleHead
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Intent, JournalLine, Outcome
from orchestrator.hall.store import Lease

ROLES = ("Wind", "Wall", "Door")
SALT = "5a" * 32
AT = "2026-01-06T09:00:00Z"


def acknowledge(*what: Any) -> None:
    print(json.dumps(what), flush=True)


def write(hall: Hall, lease: Lease, turn: int) -> None:
    """Writes what a run writes for one turn: the intent of a call, its outcome, the turn."""
    question, reply = SaltedText(f"question {turn}", SALT), SaltedText(f"reply {turn}" * 50, SALT)
    intent = Intent(
        epoch=lease.epoch, at=AT, slot="R1.Wind.1", step="turn", attempt=1, route="a", request=question.digest, tokens=9
    )
    outcome = Outcome(at=AT, intent=2 * turn, answered="a", digest=reply.digest)
    for number, record, words in ((2 * turn, intent, question), (2 * turn + 1, outcome, reply)):
        hall.runs.keep(lease, [JournalLine(number, record, words.text, SALT)])
        acknowledge("journal", number, words.text)
    said = hall.under(lease).add_turn(lease.thread_id, ROLES[turn % 3], reply.text)
    acknowledge("turn", said["turn_index"], said["turn_hash"])


def take_a_turn(hall: Hall, thread_id: str) -> None:
    shown = hall.get_debate(thread_id, include_transcript=False)
    with suppress(StaleHead):  # another was faster
        assert shown["next_role"] is not None
        said = hall.add_turn(thread_id, shown["next_role"], "It depends.", expected_head=shown["head"])
        acknowledge("shared", said["turn_index"], said["turn_hash"])


def main(folder: str, mine: str, shared: str) -> None:
    with Hall.open(folder) as hall:
        hall.init_debate(mine, "Which?", max_turns=100_000, max_rounds=100_000)
        lease = hall.runs.begin(mine)
        for turn in count():
            write(hall, lease, turn)
            take_a_turn(hall, shared)


if __name__ == "__main__":
    main(*sys.argv[1:])
