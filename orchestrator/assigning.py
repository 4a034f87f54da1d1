"""What each seat has to write at a step, how its reply is judged, and what must be left over beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from orchestrator.account import Account, Ledger
from orchestrator.account import problems_of as account_problems
from orchestrator.agenda import before_round, before_siblings
from orchestrator.ballot import (
    Case,
    CastVote,
    VoteAnswer,
    answered_in,
    names_of,
    objections_in,
    problems_of,
    standing_objections,
)
from orchestrator.budget import Budget, total_bound
from orchestrator.calls import NOTHING_KEPT, Kept
from orchestrator.contract import complaint, words_of_wind
from orchestrator.degenerate import degenerate
from orchestrator.drafts import Assignment, Draft
from orchestrator.errors import InvalidInput
from orchestrator.hall.debate import Debate, Snapshot
from orchestrator.hall.inputs import require_words
from orchestrator.hall.terms import Role
from orchestrator.instructions import account_instruction, refine_instruction, vote_instruction
from orchestrator.models.base import Message, Request, Shape, Step, Task
from orchestrator.plan import Plan, PlannedRound, PlannedSeat
from orchestrator.prompt import (
    Material,
    Summary,
    listed,
    make_request,
    make_settling_request,
    make_summary_request,
)
from orchestrator.recipe import NO_LIMITS
from orchestrator.structured import Answer, Unreadable, read, schema_of

_SHARES = 8  # of a run's time; a Wall and a Door with which it closes have one each


@dataclass(frozen=True, slots=True)
class Assigning:
    """The assignments of one plan.

    Args:
        budget: says what a call can take.
    """

    plan: Plan
    budget: Budget

    def assignment(
        self, planned: PlannedRound, debate: Debate, seat: PlannedSeat, step: Step, checklist: Draft | None
    ) -> Assignment:
        snapshot = self._seen(planned, debate, seat, step)
        words = checklist.text if checklist else None

        @cache  # one draft needs the same request several times, and each holds the whole debate
        def ask(route: str, summary: Summary | None) -> Request:
            return make_request(self.plan, snapshot, planned, seat, step, route=route, checklist=words, summary=summary)

        def summarise(route: str, turns: int) -> Request:
            return make_summary_request(self.plan, snapshot, planned, seat, turns, route=route)

        turn = Assignment(seat, step, ask, turns=len(snapshot.turns), summarise=summarise)
        if step == "checklist":
            return turn
        if not self.plan.is_rehearsal:
            turn = replace(turn, useless=partial(self._no_turn, seat))
        if seat.role is Role.WALL:
            reads_verdict = not self.plan.only_asks(planned.number) and not self.plan.is_rehearsal
            turn = replace(turn, lacking=partial(complaint, words_of_wind(debate, planned.number), reads_verdict))
        return turn

    def _seen(self, planned: PlannedRound, debate: Debate, seat: PlannedSeat, step: Step) -> Snapshot:
        """What a seat may see: nothing of what is drafted beside it, committed already or not."""
        if step == "checklist":
            return before_round(debate, planned.number).snapshot()
        if seat.role is Role.DOOR and (self.plan.recipe.doors == "sequential" or self.plan.ends_with(planned, seat)):
            return debate.snapshot()
        return before_siblings(debate, seat.role, planned.number).snapshot()

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
        turn = self._settling(seat, debate, "vote", material, tell, shape)
        return replace(turn, useless=partial(_unreadable, VoteAnswer), lacking=lacking)

    def refinement(self, seat: PlannedSeat, debate: Debate, case: Case) -> Assignment:
        """Door's synthesis again, after objections."""
        objections = objections_in(case.ballot)
        material = (
            Material("the synthesis that was voted on", case.synthesis),
            *self._constraints(case),
            Material("the objections to it", _listed_objections(objections)),
        )

        def tell(task: Task) -> str:
            return refine_instruction(task, case.constraints, names_of(objections))

        def lacking(text: str) -> str | None:
            passed_over = set(names_of(objections)) - set(names_of(answered_in(text, objections)))
            return _told([f"It does not answer {name} in a line of its own." for name in sorted(passed_over)])

        turn = self._settling(seat, debate, "refine", material, tell)
        return replace(turn, useless=partial(self._no_turn, seat), lacking=lacking)

    def account(self, seat: PlannedSeat, debate: Debate, case: Case, synthesis: str) -> Assignment:
        """Door's account of the synthesis with which the debate closes."""
        standing = standing_objections(case.votes)
        objections = [Material("the objections that stand", _listed_objections(standing))] if standing else []
        material = (Material("the synthesis to account for", synthesis), *self._constraints(case), *objections)
        earlier = [piece.id for piece in self.plan.evidence if piece.kind == "adr"]
        ledger = Ledger(synthesis, case.constraints, case.grounds)

        def tell(task: Task) -> str:
            return account_instruction(task, case.constraints, earlier)

        def lacking(text: str) -> str | None:
            return _told(account_problems(read(text, Account), ledger))

        shape = Shape("account", schema_of(Account))
        turn = self._settling(seat, debate, "account", material, tell, shape)
        return replace(turn, useless=partial(_unreadable, Account), lacking=lacking)

    def _constraints(self, case: Case) -> tuple[Material, ...]:
        return (Material("the constraints, with the answers to them", listed(case.constraints)),)

    def _settling(
        self,
        seat: PlannedSeat,
        debate: Debate,
        step: Step,
        material: Sequence[Material],
        tell: Callable[[Task], str],
        shape: Shape | None = None,
    ) -> Assignment:
        snapshot, last = debate.snapshot(), self.plan.rounds[-1]

        @cache
        def ask(route: str, summary: Summary | None) -> Request:
            return make_settling_request(
                self.plan, snapshot, seat, step, material, tell, route=route, shape=shape, summary=summary
            )

        def summarise(route: str, turns: int) -> Request:
            return make_summary_request(self.plan, snapshot, last, seat, turns, route=route)

        return Assignment(seat, step, ask, turns=len(snapshot.turns), summarise=summarise)

    def _no_turn(self, seat: PlannedSeat, text: str) -> str | None:
        """Why a reply is no turn: the hall would refuse it, or it only looks like one."""
        try:
            require_words(text, "content")
        except InvalidInput as refused:
            return str(refused)
        instructions = (self.plan.protocol, self.plan.agents[seat.agent].text)
        return degenerate(text, seat.role, instructions=instructions, marker=self.plan.fence)

    def kept(self, planned: PlannedRound, debate: Debate, steps: Sequence[tuple[PlannedSeat, Step]]) -> Kept:
        """What must be left after these drafts for the seats with which Door could close."""
        limits = self.plan.limits
        if self.plan.recipe.on_limit == "stop" or limits == NO_LIMITS:
            return NOTHING_KEPT
        roles = {seat.role for seat, step in steps if step != "checklist"}
        ends = any(self.plan.ends_with(planned, seat) for seat, _ in steps)
        needed = [*([planned.walls[0]] if not roles - {Role.WIND} else []), *([] if ends else [planned.doors[-1]])]
        room = Message("user", " " * sum(seat.max_output_tokens for seat, _ in steps))  # what they may yet add
        requests = (
            make_request(self.plan, debate.snapshot(), planned, seat, "turn", route=seat.routes[0]) for seat in needed
        )
        bounds = [self.budget.bound_of(replace(request, messages=(*request.messages, room))) for request in requests]
        closing = 0 if ends else 1 if planned.closes or Role.DOOR in roles else 2  # calls, if these are cut off in time
        seconds = closing * min(self.plan.timeout_s, limits.seconds / _SHARES) if limits.seconds else 0.0
        return Kept(total_bound(bounds), seconds)


def _unreadable(shape: type[Answer], text: str) -> str | None:
    """Why a reply is no answer of that shape, or none that the hall would take."""
    try:
        answer = read(text, shape)
        for words in (text, json.dumps(answer.model_dump(), ensure_ascii=False)):  # an escape may hide what it writes
            require_words(words, "answer")
    except Unreadable as error:
        return " ".join(error.problems)
    except InvalidInput as refused:
        return str(refused)
    return None


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
