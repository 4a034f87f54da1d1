"""What is asked when the rounds are over: a voter for its vote, Door for a refinement and for its account.

Votes and accounts are JSON of a shape; how a reply is judged stands here too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from orchestrator.assigning import no_turn, unreadable
from orchestrator.decision.account import Account, Ledger
from orchestrator.decision.account import problems_of as account_problems
from orchestrator.decision.ballot import (
    Case,
    CastVote,
    VoteAnswer,
    answered_in,
    names_of,
    objections_in,
    problems_of,
    standing_objections,
)
from orchestrator.decision.people import answers_in, unanswered
from orchestrator.decision.reviewed import reviewed_in
from orchestrator.drafts import Assignment
from orchestrator.hall.debate import Debate
from orchestrator.instructions import account_instruction, refine_instruction, vote_instruction
from orchestrator.models.base import Request, Shape, Step, Task
from orchestrator.models.caching import is_lost_to_a_schema
from orchestrator.plan import Plan, PlannedSeat
from orchestrator.prompt import Material, Summary, listed, make_settling_request, make_summary_request
from orchestrator.structured import read, schema_of


@dataclass(frozen=True, slots=True)
class Asking:
    """The assignments of one plan behind its rounds."""

    plan: Plan

    def vote(self, seat: PlannedSeat, debate: Debate, case: Case) -> Assignment:
        """A vote on the newest synthesis; nobody sees the votes that are cast beside it."""
        before = standing_objections([vote for vote in case.votes if vote.on != case.on])
        objections = [Material("the objections to an earlier synthesis", _listed_objections(before))] if before else []
        material = (Material("the synthesis you vote on", case.synthesis), *self._constraints(case), *objections)

        def tell(task: Task) -> str:
            return vote_instruction(task, case.constraints, names_of(before))

        def lacking(text: str) -> str | None:
            return _told(problems_of(read(text, VoteAnswer), case.grounds))

        shape = Shape("vote", schema_of(VoteAnswer))
        turn = self._assignment(seat, debate, "vote", material, tell, shape)
        return replace(turn, useless=partial(unreadable, VoteAnswer), lacking=lacking)

    def refinement(self, seat: PlannedSeat, debate: Debate, case: Case) -> Assignment:
        """Door's synthesis again, after objections; with it, Door answers people whom it has not answered yet."""
        objections, due = objections_in(case.ballot), unanswered(debate)
        material = (
            Material("the synthesis that was voted on", case.synthesis),
            *self._constraints(case),
            Material("the objections to it", _listed_objections(objections)),
        )

        def tell(task: Task) -> str:
            return refine_instruction(task, case.constraints, names_of(objections))

        def lacking(text: str) -> str | None:
            passed_over = set(names_of(objections)) - set(names_of(answered_in(text, objections)))
            passed_over |= {word.name for word in due} - answers_in(text)
            return _told([f"It does not answer {name} in a line of its own." for name in sorted(passed_over)])

        names = tuple(word.name for word in due)
        turn = self._assignment(seat, debate, "refine", material, tell, due=names)
        return replace(turn, useless=partial(no_turn, self.plan, seat), lacking=lacking)

    def account(self, seat: PlannedSeat, debate: Debate, case: Case, synthesis: str) -> Assignment:
        """Door's account of the synthesis with which the debate closes."""
        standing = standing_objections(case.votes)
        objections = [Material("the objections that stand", _listed_objections(standing))] if standing else []
        material = (Material("the synthesis to account for", synthesis), *self._constraints(case), *objections)
        earlier = [piece.id for piece in self.plan.evidence if piece.kind == "adr"]
        reviewed = reviewed_in(self.plan.evidence, debate)
        ledger = Ledger(synthesis, case.constraints, case.grounds, reviewed)

        def tell(task: Task) -> str:
            return account_instruction(task, case.constraints, earlier, reviewed)

        def lacking(text: str) -> str | None:
            return _told(account_problems(read(text, Account), ledger))

        shape = Shape("account", schema_of(Account))
        turn = self._assignment(seat, debate, "account", material, tell, shape)
        return replace(turn, useless=partial(unreadable, Account), lacking=lacking)

    def _constraints(self, case: Case) -> tuple[Material, ...]:
        return (Material("the constraints, with the answers to them", listed(case.constraints, whole=False)),)

    def _assignment(
        self,
        seat: PlannedSeat,
        debate: Debate,
        step: Step,
        material: Sequence[Material],
        tell: Callable[[Task], str],
        shape: Shape | None = None,
        due: tuple[str, ...] = (),
    ) -> Assignment:
        snapshot, last = debate.snapshot(), self.plan.rounds[-1]

        @cache
        def ask(route: str, summary: Summary | None) -> Request:
            request = make_settling_request(
                self.plan, snapshot, seat, step, material, tell, route=route, shape=shape, summary=summary, due=due
            )
            return replace(request, shape=None) if is_lost_to_a_schema(request) else request

        def summarise(route: str, turns: int) -> Request:
            return make_summary_request(self.plan, snapshot, last, seat, turns, route=route)

        return Assignment(seat, step, ask, turns=len(snapshot.turns), summarise=summarise, shape=shape)


def _told(problems: Sequence[str]) -> str | None:
    """Problems in words to the seat."""
    return f"Your answer lacks something. {' '.join(problems)} Give the whole answer again." if problems else None


def _listed_objections(objections: Sequence[CastVote]) -> str:
    return (
        "\n\n".join(map(_objection, objections)) or "Nobody objected; no vote of a side rests on anything that exists."
    )


def _objection(vote: CastVote) -> str:
    ends = f"\nWhat would end it, a {vote.settled_by}: {vote.settlement}" if vote.settled_by else ""
    rests = f" It rests on {', '.join(vote.rests_on) or 'nothing'}."
    return f"{vote.name}, {vote.role} {vote.agent}: {vote.reason}{rests}{ends}"
