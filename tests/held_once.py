"""What must be true of a debate that was held by many processes, of which some died: no turn and no answer twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from endpoint import Call
from orchestrator.decision.ballot import voters
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Note, Refined, Turn, Vote
from orchestrator.hall.journal import Intent, JournalLine, Outcome
from orchestrator.plan import Plan

NEVER_MADE = "never_made"  # what the journal says of a call that waited for its turn in vain


def assert_every_turn_once(debate: Debate, plan: Plan) -> None:
    """Every planned turn stands once, in the plan's order, and so do votes, refinement and account; it is closed."""
    planned = [seat.slot for planned in plan.rounds for seat in planned.seats]
    bodies = [line.entry.body for line in debate.lines]
    spoke = [body.seat.slot for body in bodies if isinstance(body, Turn | Vote | Refined | Note) and body.seat]
    assert spoke == [*planned, *_settling(plan)]
    assert debate.state.status == "synthesis"


def _settling(plan: Plan) -> list[str]:
    """The slots after the last turn. Where there are votes, one of the first objects, and Door refines it once."""
    first, second = ([seat.slot for seat in voters(plan, ballot)] for ballot in (1, 2))
    return [*first, *(["V1.Door.1"] if first else []), *second, f"R{len(plan.rounds)}.Door.account"]


def calls_of(plan: Plan) -> int:
    """The calls of a whole debate: those planned, and where there are votes, a refinement on which all vote again."""
    return plan.calls + (1 + len(plan.voters) if plan.voters else 0)


def lost(lines: Sequence[JournalLine]) -> Counter[tuple[str, str]]:
    """The slots and steps of the calls whose outcome nobody knows."""
    intents = {line.number: line.record for line in lines if isinstance(line.record, Intent)}
    for line in lines:
        if isinstance(line.record, Outcome):
            del intents[line.record.intent]
    return Counter((intent.slot, intent.step) for intent in intents.values())


def kept_of(plan: Plan, calls: Sequence[Call], lines: Sequence[JournalLine]) -> list[Call]:
    """Returns the calls whose answers were kept; each answer holds the number of its call.

    Of use are as many as the plan has. No other calls brought nothing than those that are known to have failed, and
    those whose outcome nobody knows.

    Args:
        calls: all that were made for this debate.
    """
    answers = [line.text for line in lines if isinstance(line.record, Outcome) and line.record.failed is None]
    kept = [call for call in calls if call.answer is not None and call.answer in answers]
    assert len(kept) == len(answers)
    assert sum(not is_useless(call) for call in kept) == calls_of(plan)
    failed = [
        line for line in lines if isinstance(line.record, Outcome) and line.record.failed not in (None, NEVER_MADE)
    ]
    assert len(calls) - len(kept) - len(failed) <= lost(lines).total()
    return kept


def useless(call: Call) -> str:
    """An answer that is no turn."""
    return f"Call {call.number} has nothing to say."


def is_useless(call: Call) -> bool:
    return call.answer == useless(call)
