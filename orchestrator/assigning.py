"""What each seat has to write at a step, how its reply is judged, and what must be left over beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from orchestrator.agenda import before_round, before_siblings
from orchestrator.budget import Budget, total_bound
from orchestrator.calls import NOTHING_KEPT, Kept
from orchestrator.contract import complaint, words_of_wind
from orchestrator.decision.people import complaint as unanswered_in
from orchestrator.decision.people import unanswered
from orchestrator.degenerate import degenerate
from orchestrator.drafts import Assignment, Draft
from orchestrator.errors import InvalidInput
from orchestrator.hall.debate import Debate
from orchestrator.hall.inputs import require_words
from orchestrator.hall.terms import Role
from orchestrator.models.base import Message, Request, Step
from orchestrator.plan import Plan, PlannedRound, PlannedSeat
from orchestrator.prompt import Summary, make_request, make_summary_request
from orchestrator.recipe import NO_LIMITS
from orchestrator.structured import Answer, Unreadable, read

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
        seen = self._seen(planned, debate, seat, step)
        snapshot, words = seen.snapshot(), checklist.text if checklist else None
        due = unanswered(seen) if seat.role is Role.DOOR else ()
        names = tuple(word.name for word in due)

        @cache  # one draft needs the same request several times, and each holds the whole debate
        def ask(route: str, summary: Summary | None) -> Request:
            return make_request(
                self.plan, snapshot, planned, seat, step, route=route, checklist=words, summary=summary, due=names
            )

        def summarise(route: str, turns: int) -> Request:
            return make_summary_request(self.plan, snapshot, planned, seat, turns, route=route)

        turn = Assignment(seat, step, ask, turns=len(snapshot.turns), summarise=summarise)
        if step == "checklist":
            return turn
        if not self.plan.is_rehearsal:
            turn = replace(turn, useless=partial(no_turn, self.plan, seat))
        if seat.role is Role.WALL:
            reads_verdict = not self.plan.only_asks(planned.number) and not self.plan.is_rehearsal
            turn = replace(turn, lacking=partial(complaint, words_of_wind(debate, planned.number), reads_verdict))
        if due and not self.plan.is_rehearsal:
            turn = replace(turn, lacking=partial(unanswered_in, due))
        return turn

    def _seen(self, planned: PlannedRound, debate: Debate, seat: PlannedSeat, step: Step) -> Debate:
        """What a seat may see: nothing of what is drafted beside it, committed already or not."""
        if step == "checklist":
            return before_round(debate, planned.number)
        if seat.role is Role.DOOR and (self.plan.recipe.doors == "sequential" or self.plan.ends_with(planned, seat)):
            return debate
        return before_siblings(debate, seat.role, planned.number)

    def kept(self, planned: PlannedRound, debate: Debate, steps: Sequence[tuple[PlannedSeat, Step]]) -> Kept:
        """What must be left after these drafts for the seats with which Door could close."""
        limits = self.plan.limits
        if self.plan.recipe.on_limit == "stop" or limits == NO_LIMITS:
            return NOTHING_KEPT
        roles = {seat.role for seat, step in steps if step != "checklist"}
        ends = any(self.plan.ends_with(planned, seat) for seat, _ in steps)
        needed = [*([planned.walls[0]] if not roles - {Role.WIND} else []), *([] if ends else [planned.doors[-1]])]
        added = sum(max(self.plan.most_output(seat, route) for route in seat.routes) for seat, _ in steps)
        room = Message("user", " " * added)  # what they may yet add
        requests = (
            make_request(self.plan, debate.snapshot(), planned, seat, "turn", route=seat.routes[0]) for seat in needed
        )
        bounds = [self.budget.bound_of(replace(request, messages=(*request.messages, room))) for request in requests]
        closing = 0 if ends else 1 if planned.closes or Role.DOOR in roles else 2  # calls, if these are cut off in time
        longest = max((self.plan.timeout_of(seat.routes[0]) for seat in needed), default=0.0)
        seconds = closing * min(longest, limits.seconds / _SHARES) if limits.seconds else 0.0
        return Kept(total_bound(bounds), seconds)


def unreadable(shape: type[Answer], text: str) -> str | None:
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


def no_turn(plan: Plan, seat: PlannedSeat, text: str, least: int | None = None) -> str | None:
    """Why a reply is no turn of a seat: the hall would refuse it, or it only looks like one.

    Args:
        least: of how many words it is at least, where that is not as many as of every turn of its role.
    """
    try:
        require_words(text, "content")
    except InvalidInput as refused:
        return str(refused)
    instructions = (plan.protocol, plan.agents[seat.agent].text)
    return degenerate(text, seat.role, instructions=instructions, marker=plan.fence, least=least)
