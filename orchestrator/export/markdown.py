"""A decision record as a MADR-style ADR: the decision first, then what it rests on.

What models wrote stands in block quotes, so that no heading, fence or list in it can pass for this document's own, and
its HTML is shown as text: `</blockquote>` would end the quote, and `<!--` hide all that follows. Behind a citation in
it that does not hold stands that it is broken, and why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from orchestrator.evidence import Evidence, with_broken_marked
from orchestrator.hall.debate import Debate
from orchestrator.hall.terms import Role, Status
from orchestrator.plan import Plan
from orchestrator.record import DecisionRecord
from orchestrator.seating import SeatCost

REHEARSAL_MARK = "REHEARSAL: no model was asked and nothing was decided; this is a worksheet for people."

_MADR_STATUS = {
    Status.ACTIVE: "draft",
    Status.SYNTHESIS: "proposed",
    Status.STALEMATE: "proposed",
    Status.FORCE_CLOSED: "rejected",
}
_OPENS_HTML = re.compile(r"<(?=[A-Za-z/!?])")
_OPENS_CODE = re.compile(r"(`{3,}(?!.*`)|~{3,}).*")
_ENDS_CODE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")


def render_adr(record: DecisionRecord, debate: Debate) -> str:
    """Returns `decision.md`.

    Raises:
        ConfigurationError: this version cannot read the plan that is pinned in the debate.
    """
    plan = Plan.pinned_in(debate)
    evidence = plan.evidence if plan else ()
    sections = [
        _front_matter(record),
        f"# {_line(record.title)}",
        *(f"**{_line(mark)}**" for mark in marks_of(record)),
        "## Context and Problem Statement",
        quote(record.question),
        *_evidence(record),
        "## Considered Options",
        _list(_opening_words(debate, evidence)),
        "## Decision Outcome",
        *_outcome(record, debate, evidence),
        "### Constraints",
        _list(_constraints(record)),
        "### Confirmation",
        _list(_verdicts(record)),
        "## More Information",
        _seats(record.seats),
        _list(_facts(record)),
        *_warnings(record),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def quote(text: str) -> str:
    """Returns text as a Markdown block quote, which nothing in it can leave."""
    return "\n".join(f"> {line}".rstrip() for line in _without_html(text.splitlines()))


def _without_html(lines: Iterable[str]) -> Iterator[str]:
    """Code keeps its `<`, but only where it is certain to be code: behind a fence at a line's very start, and until one
    stands elsewhere (in a list, say), for then only a whole Markdown parser knows what is code."""
    fence, certain = "", True
    for line in lines:
        yield line if fence else _OPENS_HTML.sub("&lt;", line)
        if fence:
            ends = _ENDS_CODE.fullmatch(line)
            fence = "" if ends and ends[1].startswith(fence) else fence
        elif certain and (opens := _OPENS_CODE.fullmatch(line)):
            fence = opens[1]
        elif "```" in line or "~~~" in line:
            certain = False


def _front_matter(record: DecisionRecord) -> str:
    status = "draft" if record.rehearsal else _MADR_STATUS[record.status]
    return f"---\nstatus: {status}\ndate: {record.decided_at[:10]}\n---"


def marks_of(record: DecisionRecord) -> Iterator[str]:
    """What every output says first, a sentence each."""
    if record.rehearsal:
        yield REHEARSAL_MARK
    if record.degraded:
        yield f"DEGRADED: {' '.join(record.degraded)}"
    if record.closed_early is not None:
        yield f"CLOSED EARLY: {record.closed_early}"
    if record.status is Status.STALEMATE:
        yield "STALEMATE: the objections below were not settled."
    if record.status is Status.FORCE_CLOSED:
        yield "CLOSED BY FORCE: there is no decision."


def _evidence(record: DecisionRecord) -> Iterator[str]:
    if record.evidence:
        yield "Evidence that was on the table:"
        yield _list(f"{piece.id} {_code(piece.path)} ({piece.sha256})" for piece in record.evidence)


def _opening_words(debate: Debate, evidence: Sequence[Evidence]) -> Iterator[str]:
    """What Wind's turns begin with."""
    for line in debate.turns:
        turn = line.turn
        if turn.role is Role.WIND:
            speaker = _line(turn.agent_role or "unnamed")
            opening = _glimpse(with_broken_marked(line.words, evidence))
            yield f"T{turn.turn_index + 1}, {speaker}, round {turn.round}: {opening}"


def _outcome(record: DecisionRecord, debate: Debate, evidence: Sequence[Evidence]) -> Iterator[str]:
    if record.decision is not None:
        yield "Door's synthesis, in its own words:"
        yield quote(with_broken_marked(record.decision, evidence))
    elif record.rehearsal and debate.synthesis:
        yield "None. Door's worksheet closes with the questions that a decision must answer:"
        yield quote(with_broken_marked(debate.synthesis.words, evidence))
    elif debate.closing:
        yield f"None. The debate was closed by force: {_line(debate.closing.words)}"
    else:
        yield "None yet: the debate is not closed."


def _constraints(record: DecisionRecord) -> Iterator[str]:
    for constraint in record.constraints:
        yield f"{constraint.id} ({constraint.nature or 'nature not stated'}): {_line(constraint.statement)}"


def _verdicts(record: DecisionRecord) -> Iterator[str]:
    for verdict in record.verdicts:
        yield f"T{verdict.turn}, {_line(verdict.agent)}: {verdict.verdict or 'no verdict stated'}"


def _seats(seats: Iterable[SeatCost]) -> str:
    rows = ["| Voice | Agent | Model | Turns | Tokens in (cached) | out | Cost |", "|---|---|---|---|---|---|---|"]
    for seat in seats:
        agent = f"{seat.agent}, {seat.lens}" if seat.lens else seat.agent
        cost = "unknown" if seat.cost_usd is None else f"${seat.cost_usd:.4f}"
        tokens = f"{seat.tokens.input} ({seat.tokens.cached}) | {seat.tokens.output}"
        models = ", ".join(seat.answered)
        rows.append(f"| {seat.role} | {_cell(agent)} | {_cell(models)} | {seat.turns} | {tokens} | {cost} |")
    return "\n".join(rows)


def _facts(record: DecisionRecord) -> Iterator[str]:
    cost = "unknown (not every turn's price is known)" if record.cost_usd is None else f"${record.cost_usd:.4f}"
    yield f"Thread: `{record.thread_id}`"
    yield f"Head of the ledger: `{record.head}`"
    if record.citations:
        yield f"Citations: {len(record.citations)}, of which {record.citations_broken} broken"
    if record.plan_hash:
        yield f"Plan: `{record.plan_hash}`"
    yield f"Cost of the turns: {cost}"
    if record.starved_roles:
        yield f"Roles that a round did without: {', '.join(record.starved_roles)}"
    for change in record.substitutions:
        why = f" ({_line('; '.join(change.why))})" if change.why else ""
        yield f"{change.slot}: {_line(change.route)} answered instead of {_line(change.asked)}{why}"
    for attempts in record.attempts:
        yield f"{attempts.slot}: calls that brought nothing: {_line('; '.join(attempts.failed))}"
    if record.resumed:
        yield f"Resumed {record.resumed} {'time' if record.resumed == 1 else 'times'}"
    yield from (f"Changed: {_line(change)}" for change in record.changes)
    yield from (f"Uncertain: {_line(call)}" for call in record.uncertain)


def _warnings(record: DecisionRecord) -> Iterator[str]:
    if record.warnings:
        yield "### What to know"
        yield _list(_line(warning) for warning in record.warnings)


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "- None stated."


def _glimpse(text: str) -> str:
    words = " ".join(text.split()).lstrip("#>*- ")
    return _line(words if len(words) <= 160 else f"{words[:157].rstrip()}…")


def _line(text: str) -> str:
    """One line that opens no markup: line ends become spaces, and what could begin HTML or a link is shown as text."""
    line = " ".join(text.split()).replace("\\", "\\\\").replace("`", "'").replace("[", "\\[")
    return _OPENS_HTML.sub("&lt;", line)


def _code(text: str) -> str:
    line = " ".join(text.split()).replace("`", "'")
    return f"`{line}`"


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")
