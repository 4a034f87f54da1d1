"""A debate that was exported elsewhere comes into a store as it is, entry for entry."""

from __future__ import annotations

from orchestrator.errors import InvalidInput, ThreadExists
from orchestrator.hall import ledger, results
from orchestrator.hall.debate import Debate
from orchestrator.hall.inputs import require_no_secret
from orchestrator.hall.store import Store
from orchestrator.hall.terms import Status


def take_in(store: Store, debate: Debate) -> results.ImportResult:
    """Adds a verified debate to a store; one that stands there already, to the last entry, is left as it is.

    Raises:
        InvalidInput: its run has not ended.
        HoldsSecret: a text of it, or its plan, holds one.
        ThreadExists: another ledger stands there under its id; nothing was written.
    """
    _require_ended(debate)
    for line in debate.lines:
        require_no_secret(line.text or "", f"text of entry {line.entry.seq}")
    require_no_secret(debate.plan or "", "plan")
    thread = ledger.stored(debate)
    try:
        store.adopt(thread)
        is_new = True
    except ThreadExists as error:
        here = ledger.verify(store.thread(thread.thread_id))
        if here != debate:
            raise ThreadExists(
                f"There is a debate {here.state.thread_id} already, and {_relation(here, debate)}.", _CURE
            ) from error
        is_new = False
    return {"thread_id": thread.thread_id, "entries": len(thread.lines), "head": thread.head, "is_new": is_new}


_CURE = "Import it into another hall: set DEBATE_HALL_STATE_DIR to an empty folder."


def _require_ended(debate: Debate) -> None:
    """An export holds no journal, so a run that went on from it would buy again what was bought, and its plan says to
    which addresses the keys of whoever goes on are sent."""
    if debate.plan is not None and debate.state.status is Status.ACTIVE:
        raise InvalidInput(
            f"The run of {debate.state.thread_id} has not ended; an export holds no journal from which it could go on.",
            "End it where it was begun, then import it.",
        )


def _relation(here: Debate, other: Debate) -> str:
    """How two ledgers of one id lie to each other."""
    mine, theirs = ([line.hash for line in debate.lines] for debate in (here, other))
    shared = min(len(mine), len(theirs))
    if mine[:shared] != theirs[:shared]:
        return "its ledger is another"
    if len(mine) == len(theirs):
        return "other texts of it are redacted"
    return f"its ledger has {len(mine)} of {len(theirs)} entries" if len(mine) < len(theirs) else "it has gone on since"
