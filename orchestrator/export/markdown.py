"""A decision record as a MADR 4 ADR: the decision in a sentence, then in the order of MADR's sections what it rests on.

What models wrote stands in block quotes, so that no heading, fence or list in it can pass for this document's own, or
on lines on which it opens nothing. Behind a citation in it that does not hold stands that it is broken, and why. Every
line fits the columns that markdownlint grants it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import yaml

from orchestrator.decision.account import Option
from orchestrator.decision.constraints import Outcome
from orchestrator.decision.decided import ConstraintAnswered
from orchestrator.decision.grounds import Grounds
from orchestrator.decision.record import DecisionRecord
from orchestrator.decision.seating import SeatCost
from orchestrator.errors import UsageError
from orchestrator.evidence import Evidence, with_broken_marked
from orchestrator.export.headings import Headings
from orchestrator.export.lines import listed, member, paragraph, section
from orchestrator.export.marks import INCOMPLETE, marks_of, objections_of, source_of
from orchestrator.export.prose import quote
from orchestrator.export.provenance import LEDGER, Said, background
from orchestrator.export.words import code, collapsed, glimpse, going_on, inline
from orchestrator.hall.debate import Debate
from orchestrator.hall.terms import Role, Status
from orchestrator.plan import Plan

_MADR_STATUS = {
    Status.ACTIVE: "draft",
    Status.SYNTHESIS: "proposed",
    Status.STALEMATE: "proposed",
    Status.FORCE_CLOSED: "rejected",
}
_OURS = (
    "Context and Problem Statement",
    "Decision Drivers",
    "Considered Options",
    "Decision Outcome",
    "Objections that stand",
    "What it hangs on",
    INCOMPLETE,
    "Consequences",
    "Confirmation",
    "Pros and Cons of the Options",
    "More Information",
    "First steps",
    "Earlier decisions that it touches",
    "Seats",
    LEDGER,
    "What to know",
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a folder of decision records a document stands.

    Args:
        before: what its title begins with, a number in the folder's style.
        links: where the earlier decisions stand, seen from it, by the paths they have as evidence.
    """

    before: str = ""
    links: Mapping[str, str] = field(default_factory=dict)


ALONE = Place()


def render_adr(record: DecisionRecord, debate: Debate, place: Place = ALONE) -> str:
    """Returns `decision.md`.

    Raises:
        ConfigurationError: this version cannot read the plan that is pinned in the debate.
        UsageError: it is the record of an answer, which is no decision.
    """
    if record.answers is not None:
        raise UsageError(
            f"{record.thread_id} answers a question about {record.answers.thread_id}: it is no decision to record.",
            f"Read it, debate-hall show {record.thread_id}, or export it as json, octave or html.",
        )
    plan = Plan.pinned_in(debate)
    evidence = plan.evidence if plan else ()

    def said(words: str) -> str:
        return inline(with_broken_marked(words, evidence))

    headings = Headings(_OURS)
    sections = [
        _front_matter(record),
        *_top(record, evidence, headings, place),
        "## Context and Problem Statement",
        quote(record.question),
        *_evidence(record),
        "## Decision Drivers",
        listed(_drivers(record, said)),
        "## Considered Options",
        listed(_titles(record, debate, evidence)),
        "## Decision Outcome",
        *_outcome(record, debate, evidence, said),
        *section("### Objections that stand", map(said, objections_of(record, debate))),
        *section("### What it hangs on", _hangs_on(record)),
        *section(f"### {INCOMPLETE}", map(inline, record.incomplete)),
        *section("### Consequences", _consequences(record, said)),
        "### Confirmation",
        listed(_confirmation(record, said)),
        *_weighed(record, Grounds.of(debate, evidence), said, headings),
        "## More Information",
        *background(record, said, place.links),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _front_matter(record: DecisionRecord) -> str:
    members: dict[str, Any] = {
        "status": "draft" if record.rehearsal else _MADR_STATUS[record.status],
        "date": date.fromisoformat(record.decided_at[:10]),
    }
    if not record.rehearsal:  # which nobody decides
        members["decision-makers"] = [_named(seat) for seat in record.seats if seat.role is Role.DOOR]
        members["consulted"] = [_named(seat) for seat in record.seats if seat.role is not Role.DOOR]
    known = {name: value for name, value in members.items() if value}
    return f"---\n{yaml.safe_dump(known, sort_keys=False, allow_unicode=True, width=float('inf'))}---"


def _named(seat: SeatCost) -> str:
    lens = f", {seat.lens}" if seat.lens else ""
    models = f" ({', '.join(seat.answered)})" if seat.answered else ""
    return collapsed(f"{seat.role} {seat.agent}{lens}{models}")


def _top(record: DecisionRecord, evidence: Sequence[Evidence], headings: Headings, place: Place) -> Iterator[str]:
    title = headings.of(1, record.title, place.before)
    yield title
    if title.endswith("…") and not record.title.endswith("…"):
        yield paragraph(f"In full: {inline(record.title)}")
    for mark in marks_of(record, f"“{INCOMPLETE}” below"):
        yield paragraph(f"**{mark.word}:** {inline(mark.why)}")
    if record.summary:
        yield quote(with_broken_marked(record.summary, evidence))


def _evidence(record: DecisionRecord) -> Iterator[str]:
    if record.evidence:
        yield "Evidence that was on the table:"
        yield listed(
            f"{piece.id} {code(piece.path)}{', an earlier decision' if piece.kind == 'adr' else ''} ({piece.sha256})"
            for piece in record.evidence
        )


def _drivers(record: DecisionRecord, said: Said) -> Iterator[str]:
    """The constraints; behind each what became of it, and the sentence that answers it."""
    for constraint in record.constraints:
        nature = f"{constraint.nature or 'nature not stated'}{', blocks' if constraint.blocks else ''}"
        yield f"{constraint.id} ({nature}): {said(constraint.statement)} → {_became(constraint, record, said)}"


def _became(constraint: ConstraintAnswered, record: DecisionRecord, said: Said) -> str:
    became = constraint.outcome.replace("_", " ")
    if constraint.sentence:
        return f"{became}: {said(constraint.sentence)}"
    if constraint.outcome is Outcome.OPEN and record.decision is not None:
        return f"**{became}: the decision does not answer it**"
    return became


def _titles(record: DecisionRecord, debate: Debate, evidence: Sequence[Evidence]) -> Iterator[str]:
    """The options; where nobody named any, what Wind's turns begin with."""
    if record.options:
        yield from (inline(with_broken_marked(option.title, evidence)) for option in record.options)
        return
    for line in debate.turns:
        turn = line.turn
        if turn.role is Role.WIND:
            speaker = inline(turn.agent_role or "unnamed")
            opening = inline(glimpse(with_broken_marked(line.words, evidence)))
            yield f"T{turn.turn_index + 1}, {speaker}, round {turn.round}: {opening}"


def _outcome(record: DecisionRecord, debate: Debate, evidence: Sequence[Evidence], said: Said) -> Iterator[str]:
    yield from map(paragraph, _chosen(record, debate, said))
    if debate.synthesis:
        source = source_of(debate)
        closes = "Door's worksheet closes with the questions that a decision must answer:"
        yield closes if record.rehearsal else f"Door's synthesis{f' ({source})' if source else ''}, in its own words:"
        yield quote(with_broken_marked(debate.synthesis.words, evidence))


def _chosen(record: DecisionRecord, debate: Debate, said: Said) -> Iterator[str]:
    """Which option is taken and why, or why there is none."""
    taken = [
        f'"{member(said(option.title))}", because {going_on(said(option.why))}'
        for option in record.options
        if option.taken
    ]
    if debate.closing is None:
        yield "No option is chosen: the debate is not closed."
    elif debate.synthesis is None:
        yield f"No option is chosen. The debate was closed by force: {inline(debate.closing.words)}"
    elif record.rehearsal:
        yield "No option is chosen: a rehearsal decides nothing."
    elif record.status is Status.STALEMATE:
        yield "No option is chosen: Wind and Wall did not agree to the synthesis."
        yield from (f"What it would take: {option}" for option in taken)
    elif taken:
        yield from (f"Chosen option: {option}" for option in taken)
    elif record.options:
        yield "No option is chosen: Door's account of the decision takes none."
    else:
        yield "No option is named as the chosen one: there is no account of the decision but its own words."


def _consequences(record: DecisionRecord, said: Said) -> Iterator[str]:
    yield from (f"{one.kind.capitalize()}, because {going_on(said(one.what))}" for one in record.consequences)
    for risk in record.risks:
        yield f"Bad, because of a risk: {member(said(risk.what))} – mitigation: {said(risk.mitigation)}"


def _confirmation(record: DecisionRecord, said: Said) -> Iterator[str]:
    """What can be checked and when; how Walls judged, and who voted how."""
    for one in record.assumptions:
        check = f" – check: {code(one.check)}" if one.check else ""
        yield f"Assumption: {member(said(one.what)) if check else said(one.what)}{check}"
    if record.review_by:
        yield f"To be reviewed by {record.review_by}"
    for verdict in record.verdicts:
        rests = "" if verdict.grounded else ", resting on nothing that exists"
        yield f"T{verdict.turn}, {said(verdict.agent)}: {verdict.verdict or 'no verdict stated'}{rests}"
    for vote in record.votes:
        counts = "" if vote.grounded else ", which does not count: it rests on nothing that exists"
        name = f" {vote.name}" if vote.name else ""
        reason = said(vote.reason)
        yield f"{vote.slot}, {said(vote.agent)}, on {vote.on}: {vote.choice}{name}{counts}. {reason}"


def _hangs_on(record: DecisionRecord) -> Iterator[str]:
    return (f"{inline(one.id)}: {inline(one.without_it)}" for one in record.load_bearing)


def _weighed(record: DecisionRecord, grounds: Grounds, said: Said, headings: Headings) -> Iterator[str]:
    if record.options:
        yield "## Pros and Cons of the Options"
    for option in record.options:
        yield headings.of(3, option.title)
        yield from _pros_and_cons(option, grounds, said)


def _pros_and_cons(option: Option, grounds: Grounds, said: Said) -> Iterator[str]:
    def named(name: str) -> str:
        return said(name) if grounds.hold(name) else f"{said(name)}, which there is not"

    turns = ", ".join(named(f"T{turn}") for turn in option.turns)
    because = f" ({', '.join(map(named, option.because))})" if option.because else ""
    yield paragraph(f"{'Taken' if option.taken else 'Not taken'}; raised in {turns or 'no turn'}.")
    yield listed([f"{'Good' if option.taken else 'Bad'}, because {going_on(said(option.why))}{because}"])
