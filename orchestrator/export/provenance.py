"""More Information of an ADR: first steps, earlier decisions, who sat where, where it stands in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from orchestrator.decision.record import DecisionRecord
from orchestrator.decision.seating import SeatCost
from orchestrator.export.lines import listed, member, section
from orchestrator.export.words import code, inline, plain
from orchestrator.wording import counted

LEDGER = "Ledger and cost"  # the heading under which it says which debate it is of

Said = Callable[[str], str]
"""Makes a seat's words one line, its broken citations marked."""


def background(record: DecisionRecord, said: Said, links: Mapping[str, str]) -> Iterator[str]:
    """Returns the blocks of the section.

    Args:
        links: where the earlier decisions stand, seen from the document, by the paths they have as evidence.
    """
    yield from section("### First steps", _actions(record, said))
    yield from section("### Earlier decisions that it touches", _earlier_decisions(record, links))
    yield "### Seats"
    yield listed(_seats(record.seats))
    yield f"### {LEDGER}"
    yield listed(_facts(record))
    yield from section("### What to know", map(inline, record.warnings))


def _actions(record: DecisionRecord, said: Said) -> Iterator[str]:
    for action in record.actions:
        by = ", ".join(said(word) for word in (action.who, action.by) if word)
        yield f"{member(said(action.what))} ({by})" if by else said(action.what)


def _earlier_decisions(record: DecisionRecord, links: Mapping[str, str]) -> Iterator[str]:
    for earlier in record.earlier_decisions:
        touched = earlier.relation.replace("_", " ").capitalize()
        link = links.get(earlier.path)
        path = code(earlier.path) if link is None else f"[{plain(earlier.path)}]({link})"
        yield f"{touched} {earlier.id} {path}: “{inline(earlier.theirs)}” – “{inline(earlier.ours)}”"


def _seats(seats: Iterable[SeatCost]) -> Iterator[str]:
    for seat in seats:
        agent = f"{seat.agent}, {seat.lens}" if seat.lens else seat.agent
        cost = "cost unknown" if seat.cost_usd is None else f"${seat.cost_usd:.4f}"
        tokens = f"{seat.tokens.input} tokens in ({seat.tokens.cached} cached), {seat.tokens.output} out"
        models = inline(", ".join(seat.answered)) or "no model answered"
        yield f"{seat.role}, {inline(agent)} ({models}): {counted(seat.turns, 'turn')}, {tokens}, {cost}"


def _facts(record: DecisionRecord) -> Iterator[str]:
    cost = "unknown (not every price is known)" if record.cost_usd is None else f"${record.cost_usd:.4f}"
    yield f"Thread: `{record.thread_id}`"
    yield f"Head of the ledger: `{record.head}`"
    if record.citations:
        yield f"Citations: {len(record.citations)}, of which {record.citations_broken} broken"
    if record.plan_hash:
        yield f"Plan: `{record.plan_hash}`"
    yield f"Cost: {cost}"
    if record.reversibility:
        yield f"Reversibility: {record.reversibility}"
    if record.confidence:
        yield f"Confidence, Door's own: {record.confidence.level}. {inline(record.confidence.why)}"
    yield from _of_the_run(record)


def _of_the_run(record: DecisionRecord) -> Iterator[str]:
    if record.turns_not_needed:
        yield f"Closed early: {counted(record.turns_not_needed, 'planned turn')} not needed"
    for attempts in record.attempts:
        yield f"{attempts.slot}: calls that brought nothing: {inline('; '.join(attempts.failed))}"
    if record.resumed:
        yield f"Resumed {counted(record.resumed, 'time')}"
    yield from (f"Changed: {inline(change)}" for change in record.changes)
    yield from (f"Uncertain: {inline(call)}" for call in record.uncertain)
