"""A debate about a brief, held from its beginning to its end, and what it came to as material for its one answer.

It is held in a hall of its own that is thrown away: what lasts is the cassette. So a debate that was interrupted is
held again, from replies that are there already, and comes to the same point.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.decision.record import DecisionRecord, record_of
from orchestrator.drafting import Drafting
from orchestrator.evaluate.asked import topic_of
from orchestrator.evaluate.brief import Brief
from orchestrator.hall.hall import Hall
from orchestrator.plan import Plan
from orchestrator.prompt import Material
from orchestrator.runner import run_debate
from orchestrator.worker import in_thread


async def debated(brief: Brief, plan: Plan, drafting: Drafting) -> DecisionRecord:
    """Holds a debate about a brief and returns its record.

    Raises:
        RunPaused: a seat could not be heard; StoppedByLimit: what comes next does not fit a limit of the recipe's.
    """
    with TemporaryDirectory(prefix="debate-hall-") as folder:
        hall = await in_thread(Hall.open, Path(folder))
        try:
            ended = await run_debate(hall, plan, brief.id, topic_of(brief), drafting)
        finally:
            hall.close()
    return record_of(ended.debate)


def decided_in(record: DecisionRecord) -> tuple[Material, ...]:
    """What a debate came to, without what differs from one time to the next: dates, cost, names of models."""
    return tuple(Material(title, text) for title, text in _parts(record) if text)


def record_text(record: DecisionRecord) -> str:
    """The same as one text."""
    return "\n\n".join(text for _, text in decided_in(record))


def dissent_in(record: DecisionRecord) -> tuple[str, ...]:
    """What was objected and stands."""
    return tuple(f"{each.role} {each.agent}: {each.objection}" for each in record.dissent)


def _parts(record: DecisionRecord) -> Iterator[tuple[str, str]]:
    yield "its decision", record.decision or "It decided nothing."
    options = (f"- {each.title}, {'taken' if each.taken else 'not taken'}: {each.why}" for each in record.options)
    yield "the options, as Door accounted for them", "\n".join(options)
    constraints = (
        f"- {each.id}: {each.statement} ({each.outcome}{f': {each.sentence}' if each.sentence else ''})"
        for each in record.constraints
    )
    yield "the constraints, and what became of each", "\n".join(constraints)
    earlier = (f"- {each.id}, {each.relation}: {each.theirs} / {each.ours}" for each in record.earlier_decisions)
    yield "the earlier decisions that it touches", "\n".join(earlier)
    yield "what was objected and stands", "\n".join(f"- {words}" for words in dissent_in(record))
