"""The decision record: what was decided, by whom, on what, at what cost, read off the ledger and nothing else.

Nothing in it is believed that a model said about the debate: constraints are those that stand in Wall's turns, what
Door says became of them is checked against the synthesis, citations against the pinned evidence; seats and costs are
those of the committed entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Literal

from pydantic import Field

from orchestrator.decision import caveats, people
from orchestrator.decision.account import (
    Account,
    Action,
    Assumption,
    Confidence,
    Consequence,
    Ledger,
    Option,
    Risk,
)
from orchestrator.decision.ballot import Case, agree, silent
from orchestrator.decision.baseline import Baseline, baseline_of
from orchestrator.decision.decided import ConstraintAnswered, Decided, Dissent, LoadBearing, VoteCast
from orchestrator.decision.evidence_used import Citation, EarlierDecision, EvidenceUsed, cited_in, earlier_in, used
from orchestrator.decision.grounds import Grounds, walls_of
from orchestrator.decision.reviewed import place_of
from orchestrator.decision.seating import (
    Attempts,
    Contribution,
    Part,
    SeatCost,
    Substitution,
    Tokens,
    attempts_of,
    contributions,
    cost_of,
    reused_in,
    seats_of,
    substitutions_of,
    tokens_of,
)
from orchestrator.hall.debate import REHEARSAL, Debate
from orchestrator.hall.entries import Closed, Link
from orchestrator.hall.results import balance
from orchestrator.hall.terms import About, LinkKind, Role, Status
from orchestrator.plan import Plan

SCHEMA: Literal["run-debate/record/v1"] = "run-debate/record/v1"


class Verdict(Part):
    """How a Wall's turn opens; one that rests on nothing that exists is not grounded."""

    turn: int
    agent: str
    verdict: str | None
    grounded: bool


class DecisionRecord(Part):
    """What a debate came to. `decision` is None when none was made: a rehearsal, an answer, or one closed by force.

    `decision` is the synthesis, `summary` Door's own short form of it; options, consequences, risks, actions,
    assumptions, reversibility and confidence are Door's too. `incomplete` says what of it does not hold against the
    ledger. `agreed` is None where nobody was to vote. `degraded` says which seats are missing and why, `closed_early`
    at which limit Door closed before the plan's end; `turns_not_needed` are those that an early close left out;
    `uncertain` are calls whose outcome nobody knows, `changes` what a resumed run did otherwise than the pinned plan;
    of a replay so many replies are `reused`, which cost nothing here: the debate that it replays paid for them.
    `baseline` is what single answers beside the debate chose; what they took is none of its tokens and cost.
    """

    schema_: Literal["run-debate/record/v1"] = Field(default=SCHEMA, alias="schema", serialization_alias="schema")
    title: str
    question: str
    thread_id: str
    link: Link | None = Field(default=None, exclude=True)  # beside the record, every output tells it
    status: Status
    rehearsal: bool
    degraded: tuple[str, ...]
    closed_early: str | None
    turns_not_needed: int
    incomplete: tuple[str, ...] = ()
    decision: str | None = None
    summary: str | None = None
    options: tuple[Option, ...] = ()
    constraints: tuple[ConstraintAnswered, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    agreed: bool | None = None
    votes: tuple[VoteCast, ...] = ()
    dissent: tuple[Dissent, ...] = ()
    load_bearing: tuple[LoadBearing, ...] = ()
    consequences: tuple[Consequence, ...] = ()
    risks: tuple[Risk, ...] = ()
    actions: tuple[Action, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    earlier_decisions: tuple[EarlierDecision, ...] = ()
    reversibility: str | None = None
    review_by: str | None = None
    confidence: Confidence | None = None
    evidence: tuple[EvidenceUsed, ...]
    citations: tuple[Citation, ...]
    citations_broken: int
    balance: dict[str, int]
    starved_roles: tuple[Role, ...]
    seats: tuple[SeatCost, ...]
    substitutions: tuple[Substitution, ...]
    attempts: tuple[Attempts, ...]
    resumed: int
    reused: int = 0
    uncertain: tuple[str, ...]
    changes: tuple[str, ...]
    tokens: Tokens
    cost_usd: Decimal | None
    decided_at: str
    plan_hash: str | None
    head: str
    warnings: tuple[str, ...]
    baseline: Baseline | None = None

    @property
    def answers(self) -> Link | None:
        """Of an answer: the debate that it answers a question about."""
        return self.link if self.link is not None and self.link.kind is LinkKind.ANSWERS else None

    @property
    def reviews(self) -> Link | None:
        """Of a review: the debate whose decision it starts from."""
        return self.link if self.link is not None and self.link.kind is LinkKind.REVIEWS else None

    @property
    def replays(self) -> Link | None:
        """Of a replay: the debate that it holds again."""
        return self.link if self.link is not None and self.link.kind is LinkKind.REPLAYS else None

    @property
    def relation(self) -> str | None:
        """What a review does to the decision it starts from: supersedes or confirms; None where it does not say."""
        path = place_of(self.reviews) if self.reviews else None
        said = {earlier.relation for earlier in self.earlier_decisions if earlier.path == path}
        found = said & {"supersedes", "confirms"}
        return found.pop() if len(found) == 1 else None


def make_record(debate: Debate, plan: Plan | None) -> DecisionRecord:
    """Returns the record of a debate.

    Args:
        plan: the plan it followed; None for one that was held by hand.
    """
    evidence = plan.evidence if plan else ()
    decided = Decided.of(debate, plan)
    rehearsal, answers = REHEARSAL in debate.state.marks, debate.answers is not None
    of_the_decision = _of_no_decision(debate) if rehearsal or answers else _of_the_decision(decided, plan)
    written = contributions(debate)
    options = of_the_decision.get("options", ())
    checked = tuple(cited_in(debate, evidence))
    broken = [f"{found.where} cites {found.citation}: {found.problem}" for found in checked if found.problem]
    return DecisionRecord(
        rehearsal=rehearsal,
        **_of_the_debate(debate, plan),
        **of_the_decision,
        **_of_the_voices(written),
        evidence=tuple(used(evidence)),
        citations=checked,
        citations_broken=len(broken),
        baseline=baseline_of(debate, options, cost_of(written)),
        warnings=(
            *(plan.notices if plan else ()),
            *(caveats.of_turns(debate, plan) if plan and not answers else ()),
            *caveats.of_summaries(written),
            *caveats.of_balance(debate, written),
            *(() if rehearsal else caveats.of_likeness(debate, evidence)),
            *dict.fromkeys(broken),
        ),
    )


def _of_the_debate(debate: Debate, plan: Plan | None) -> dict[str, Any]:
    return {
        "question": debate.opening.words,
        "thread_id": debate.state.thread_id,
        "link": debate.opened.link,
        "status": debate.state.status,
        "degraded": _notes(debate, About.MISSING),
        "closed_early": next(iter(_notes(debate, About.CLOSED_EARLY)), None),
        "turns_not_needed": _turns_not_needed(debate, plan),
        "balance": balance(debate.state),
        "starved_roles": debate.state.starved_roles,
        "resumed": len(debate.notes(About.RESUMED)),
        "uncertain": _notes(debate, About.UNCERTAIN),
        "changes": (*_notes(debate, About.CHANGED), *people.wishes(debate)),
        "decided_at": debate.closing.entry.at if debate.closing else debate.state.updated_at,
        "plan_hash": debate.opened.plan,
        "head": debate.head,
    }


def _of_no_decision(debate: Debate) -> dict[str, Any]:
    """Of a rehearsal, which makes none, and of an answer: what it names and what does not exist."""
    return {"title": title_of(debate.opening.words), "incomplete": _notes(debate, About.UNGROUNDED)}


def _of_the_decision(decided: Decided, plan: Plan | None) -> dict[str, Any]:
    debate, case, account = decided.debate, decided.case, decided.account
    constraints = tuple(decided.constraints())
    return {
        "title": title_of(account.title if account else debate.opening.words),
        "decision": debate.synthesis.words if debate.synthesis else None,
        "incomplete": tuple(dict.fromkeys(_incomplete(decided, plan))),
        "constraints": constraints,
        "verdicts": tuple(_verdicts(debate, case.grounds)),
        "agreed": _agreed(debate, case) if case.votes or (plan and plan.voters) else None,
        "votes": tuple(decided.votes()),
        "dissent": tuple(decided.dissent(constraints)),
        "load_bearing": tuple(decided.load_bearing()) if case.votes or account else (),
        **(_as_accounted(account, decided.ledger) if account else {}),
    }


def _agreed(debate: Debate, case: Case) -> bool:
    """How it was counted when the run closed: a word that was redacted since takes no vote its grounds.

    Only a close that the run counted for has an account with it; who closes by hand counts nothing.
    """
    closing = debate.synthesis.entry.body if debate.synthesis else None
    if isinstance(closing, Closed) and closing.record is not None:
        return debate.state.status is Status.SYNTHESIS
    return agree(case.ballot)


def _as_accounted(account: Account, ledger: Ledger) -> dict[str, Any]:
    """What only Door can say of its decision."""
    return {
        "summary": account.decision,
        "options": account.options,
        "consequences": account.consequences,
        "risks": account.risks,
        "actions": account.actions,
        "assumptions": account.assumptions,
        "earlier_decisions": tuple(earlier_in(account, ledger)),
        "reversibility": account.reversibility,
        "review_by": account.review_by,
        "confidence": account.confidence,
    }


def _of_the_voices(written: Sequence[Contribution]) -> dict[str, Any]:
    return {
        "seats": tuple(seats_of(written)),
        "substitutions": tuple(substitutions_of(written)),
        "attempts": tuple(attempts_of(written)),
        "reused": reused_in(written),
        "tokens": tokens_of(written),
        "cost_usd": cost_of(written),
    }


def record_of(debate: Debate) -> DecisionRecord:
    """Returns the record of a debate with the plan that is pinned in it, if a run opened it.

    Raises:
        ConfigurationError: this version cannot read the plan.
    """
    return make_record(debate, Plan.pinned_in(debate))


def _notes(debate: Debate, about: About) -> tuple[str, ...]:
    """Each once: a process that died while it took a run up may have noted what the next one notes again."""
    return tuple(dict.fromkeys(line.words for line in debate.notes(about)))


def title_of(topic: str) -> str:
    """The topic's first line, short enough for a heading."""
    line = next((line.strip() for line in topic.splitlines() if line.strip()), topic.strip())
    line = line.lstrip("# ").strip() or "Untitled"
    return line if len(line) <= 100 else f"{line[:97].rstrip()}…"


def _verdicts(debate: Debate, grounds: Grounds) -> Iterator[Verdict]:
    for wall in walls_of(debate, grounds):
        yield Verdict(turn=wall.number, agent=wall.agent, verdict=wall.verdict, grounded=bool(wall.rests_on))


def _incomplete(decided: Decided, plan: Plan | None) -> Iterator[str]:
    """What the record lacks, a sentence each, in plain sight."""
    debate = decided.debate
    if plan is not None:
        yield from caveats.of_walls(debate, plan)
    yield from decided.unlifted()
    yield from decided.problems
    if debate.synthesis is None:
        return
    if plan is not None and plan.has_account and decided.account is None:
        yield from _why_no_account(debate)
    yield from decided.unanswered()
    if plan is not None and not plan.is_rehearsal:  # who debates by hand was asked for no such answers
        yield from people.unheard(debate)
    if plan is not None and plan.voters:
        yield from _unvoted(plan, debate, decided.case)
    if decided.account is None:
        unanswered = (each.id for each in decided.case.constraints if not each.answers and not each.blocks)
        yield from (f"{name} has no outcome." for name in unanswered)


def _why_no_account(debate: Debate) -> tuple[str, ...]:
    redacted = next((line for line in debate.notes(About.ACCOUNT) if line.text is None), None)
    if redacted is not None:
        return (f"Door's account of the decision was redacted: {redacted.words}",)
    return _notes(debate, About.NO_ACCOUNT) or ("Door gave no account of the decision.",)


def _unvoted(plan: Plan, debate: Debate, case: Case) -> Iterator[str]:
    """Who did not vote on the newest synthesis before the debate was closed."""
    if not case.ballot:
        yield "Wind and Wall did not vote on the synthesis."
        return
    for seat in silent(plan, debate, case):
        yield f"{seat.role} {seat.agent} ({seat.slot}) did not vote on the synthesis."


def _turns_not_needed(debate: Debate, plan: Plan | None) -> int:
    """How many planned turns an early close left out."""
    if plan is None or not debate.notes(About.SETTLED):
        return 0
    settled = debate.notes(About.SETTLED)[-1].entry.seq
    last = max((line.turn.round for line in debate.turns if line.entry.seq < settled), default=0)
    return sum(len(planned.seats) for planned in plan.rounds if planned.number > last)
