"""A decision record as a MADR-style ADR: the decision in a sentence, then whole, then what it rests on.

What models wrote stands in block quotes, so that no heading, fence or list in it can pass for this document's own, and
its HTML is shown as text: `</blockquote>` would end the quote, and `<!--` hide all that follows. Behind a citation in
it that does not hold stands that it is broken, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from orchestrator.decision.grounds import Grounds
from orchestrator.decision.record import DecisionRecord
from orchestrator.decision.seating import SeatCost
from orchestrator.evidence import Evidence, with_broken_marked
from orchestrator.export.marks import INCOMPLETE, marks_of, objections_of, source_of
from orchestrator.export.safe import cell, code, glimpse, listed, one_line, quote
from orchestrator.hall.debate import Debate
from orchestrator.hall.terms import Role, Status
from orchestrator.plan import Plan
from orchestrator.wording import counted

_MADR_STATUS = {
    Status.ACTIVE: "draft",
    Status.SYNTHESIS: "proposed",
    Status.STALEMATE: "proposed",
    Status.FORCE_CLOSED: "rejected",
}


Said = Callable[[str], str]
"""Makes a seat's words one line, its broken citations marked."""


def render_adr(record: DecisionRecord, debate: Debate) -> str:
    """Returns `decision.md`.

    Raises:
        ConfigurationError: this version cannot read the plan that is pinned in the debate.
    """
    plan = Plan.pinned_in(debate)
    evidence = plan.evidence if plan else ()

    def said(words: str) -> str:
        return one_line(with_broken_marked(words, evidence))

    sections = [
        _front_matter(record),
        f"# {one_line(record.title)}",
        *(f"**{one_line(str(mark))}**" for mark in marks_of(record, f"“{INCOMPLETE}” below")),
        quote(with_broken_marked(record.summary, evidence)) if record.summary else "",
        "## Context and Problem Statement",
        quote(record.question),
        *_evidence(record),
        "## Considered Options",
        listed(
            _options(record, Grounds.of(debate, evidence), said) if record.options else _opening_words(debate, evidence)
        ),
        "## Decision Outcome",
        *_outcome(record, debate, evidence),
        *_section("### Earlier decisions that it touches", _earlier_decisions(record)),
        *_section("### Consequences", _consequences(record, said)),
        "### Constraints",
        listed(_constraints(record, said)),
        *_section("### Objections that stand", map(said, objections_of(record, debate))),
        "### Confirmation",
        listed(_confirmation(record, said)),
        *_section("### What it hangs on", _hangs_on(record)),
        *_section("### First steps", _actions(record, said)),
        *_section("### Assumptions", _assumptions(record, said)),
        *_section(f"### {INCOMPLETE}", map(one_line, record.incomplete)),
        "## More Information",
        _seats(record.seats),
        listed(_facts(record)),
        *_section("### What to know", map(one_line, record.warnings)),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _front_matter(record: DecisionRecord) -> str:
    status = "draft" if record.rehearsal else _MADR_STATUS[record.status]
    return f"---\nstatus: {status}\ndate: {record.decided_at[:10]}\n---"


def _section(title: str, items: Iterable[str]) -> Iterator[str]:
    """A heading with a list under it, where there is something to list."""
    rows = list(items)
    if rows:
        yield title
        yield listed(rows)


def _options(record: DecisionRecord, grounds: Grounds, said: Said) -> Iterator[str]:
    def named(name: str) -> str:
        return said(name) if grounds.hold(name) else f"{said(name)}, which there is not"

    for option in record.options:
        turns = ", ".join(named(f"T{turn}") for turn in option.turns)
        because = f" ({', '.join(map(named, option.because))})" if option.because else ""
        taken = "taken" if option.taken else "not taken"
        yield f"{said(option.title)} ({turns or 'from no turn'}), {taken}: {said(option.why)}{because}"


def _earlier_decisions(record: DecisionRecord) -> Iterator[str]:
    for earlier in record.earlier_decisions:
        touched = earlier.relation.replace("_", " ").capitalize()
        yield f"{touched} {earlier.id} {code(earlier.path)}: “{one_line(earlier.theirs)}” – “{one_line(earlier.ours)}”"


def _consequences(record: DecisionRecord, said: Said) -> Iterator[str]:
    yield from (f"{one.kind.capitalize()}: {said(one.what)}" for one in record.consequences)
    for risk in record.risks:
        yield f"Risk: {_member(said(risk.what))} – mitigation: {said(risk.mitigation)}"


def _actions(record: DecisionRecord, said: Said) -> Iterator[str]:
    for action in record.actions:
        by = ", ".join(said(word) for word in (action.who, action.by) if word)
        yield f"{_member(said(action.what))} ({by})" if by else said(action.what)


def _assumptions(record: DecisionRecord, said: Said) -> Iterator[str]:
    for one in record.assumptions:
        yield f"{_member(said(one.what))} – check: {code(one.check)}" if one.check else said(one.what)


def _member(words: str) -> str:
    """Words that others follow behind a dash or in brackets."""
    return words.removesuffix(".")


def _hangs_on(record: DecisionRecord) -> Iterator[str]:
    return (f"{one_line(one.id)}: {one_line(one.without_it)}" for one in record.load_bearing)


def _evidence(record: DecisionRecord) -> Iterator[str]:
    if record.evidence:
        yield "Evidence that was on the table:"
        yield listed(
            f"{piece.id} {code(piece.path)}{', an earlier decision' if piece.kind == 'adr' else ''} ({piece.sha256})"
            for piece in record.evidence
        )


def _opening_words(debate: Debate, evidence: Sequence[Evidence]) -> Iterator[str]:
    """What Wind's turns begin with."""
    for line in debate.turns:
        turn = line.turn
        if turn.role is Role.WIND:
            speaker = one_line(turn.agent_role or "unnamed")
            opening = glimpse(with_broken_marked(line.words, evidence))
            yield f"T{turn.turn_index + 1}, {speaker}, round {turn.round}: {opening}"


def _outcome(record: DecisionRecord, debate: Debate, evidence: Sequence[Evidence]) -> Iterator[str]:
    if debate.synthesis:
        none = "None. Door's worksheet closes with the questions that a decision must answer:"
        source = source_of(debate)
        yield none if record.rehearsal else f"Door's synthesis{f' ({source})' if source else ''}, in its own words:"
        yield quote(with_broken_marked(debate.synthesis.words, evidence))
    elif debate.closing:
        yield f"None. The debate was closed by force: {one_line(debate.closing.words)}"
    else:
        yield "None yet: the debate is not closed."


def _constraints(record: DecisionRecord, said: Said) -> Iterator[str]:
    for constraint in record.constraints:
        nature = f"{constraint.nature or 'nature not stated'}{', blocks' if constraint.blocks else ''}"
        became = constraint.outcome.replace("_", " ")
        by = f": {said(constraint.sentence)}" if constraint.sentence else ""
        yield f"{constraint.id} ({nature}): {said(constraint.statement)} → {became}{by}"


def _confirmation(record: DecisionRecord, said: Said) -> Iterator[str]:
    """How Walls judged, and who voted how."""
    for verdict in record.verdicts:
        rests = "" if verdict.grounded else ", resting on nothing that exists"
        yield f"T{verdict.turn}, {said(verdict.agent)}: {verdict.verdict or 'no verdict stated'}{rests}"
    for vote in record.votes:
        counts = "" if vote.grounded else ", which does not count: it rests on nothing that exists"
        name = f" {vote.name}" if vote.name else ""
        reason = said(vote.reason)
        yield f"{vote.slot}, {said(vote.agent)}, on {vote.on}: {vote.choice}{name}{counts}. {reason}"


def _seats(seats: Iterable[SeatCost]) -> str:
    rows = ["| Voice | Agent | Model | Turns | Tokens in (cached) | out | Cost |", "|---|---|---|---|---|---|---|"]
    for seat in seats:
        agent = f"{seat.agent}, {seat.lens}" if seat.lens else seat.agent
        cost = "unknown" if seat.cost_usd is None else f"${seat.cost_usd:.4f}"
        tokens = f"{seat.tokens.input} ({seat.tokens.cached}) | {seat.tokens.output}"
        models = ", ".join(seat.answered)
        rows.append(f"| {seat.role} | {cell(agent)} | {cell(models)} | {seat.turns} | {tokens} | {cost} |")
    return "\n".join(rows)


def _facts(record: DecisionRecord) -> Iterator[str]:
    cost = "unknown (not every price is known)" if record.cost_usd is None else f"${record.cost_usd:.4f}"
    yield f"Thread: `{record.thread_id}`"
    yield f"Head of the ledger: `{record.head}`"
    if record.citations:
        yield f"Citations: {len(record.citations)}, of which {record.citations_broken} broken"
    if record.plan_hash:
        yield f"Plan: `{record.plan_hash}`"
    yield f"Cost: {cost}"
    yield from _of_the_decision(record)
    yield from _of_the_run(record)


def _of_the_decision(record: DecisionRecord) -> Iterator[str]:
    if record.reversibility:
        yield f"Reversibility: {record.reversibility}"
    if record.review_by:
        yield f"To be reviewed by {record.review_by}"
    if record.confidence:
        yield f"Confidence, Door's own: {record.confidence.level}. {one_line(record.confidence.why)}"


def _of_the_run(record: DecisionRecord) -> Iterator[str]:
    if record.turns_not_needed:
        yield f"Closed early, with nothing open: {counted(record.turns_not_needed, 'planned turn')} not needed"
    for attempts in record.attempts:
        yield f"{attempts.slot}: calls that brought nothing: {one_line('; '.join(attempts.failed))}"
    if record.resumed:
        yield f"Resumed {counted(record.resumed, 'time')}"
    yield from (f"Changed: {one_line(change)}" for change in record.changes)
    yield from (f"Uncertain: {one_line(call)}" for call in record.uncertain)
