"""What is asked when somebody asks about a debate after the fact, and how the answer is judged.

The request begins with the bytes that the debate's own began with: protocol, topic, evidence, turns. What an answer
names is checked against the ledger, mechanically; whether it reasons well nobody checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

from orchestrator.assigning import no_turn
from orchestrator.decision.account import Option
from orchestrator.decision.ballot import CastVote, names_of
from orchestrator.decision.decided import Decided
from orchestrator.decision.grounds import mentioned
from orchestrator.drafts import Assignment
from orchestrator.evidence import cited
from orchestrator.export.marks import source_of
from orchestrator.hall.debate import Debate
from orchestrator.hall.terms import Mode, Role
from orchestrator.instructions import NOT_RECORDED, answer_instruction
from orchestrator.models.base import Request, Task
from orchestrator.plan import Plan, PlannedRound, PlannedSeat, slot_name
from orchestrator.prompt import Material, Summary, listed, make_settling_request, make_summary_request
from orchestrator.recipe import NO_LIMITS, Ratio, Recipe

RECIPE = Recipe(
    name="answer",
    summary="A question about a debate, answered from its ledger.",
    mode=Mode.MEDIATED,
    turns=3,  # as few as a recipe can have; of its plan only Door's turn is taken
    ratio=Ratio(wind=1, wall=1, door=1),
    tier="1",
)

_LEAST_WORDS = 3
_BESIDE_TURNS = re.compile(r"\[([ON]\d{1,4})\]")  # objections and notes; without brackets an O2 may be anything


def plan_of_answer(plan: Plan) -> Plan:
    """The plan of an answer: one turn of Door's, who closed the debate that another plan led through."""
    seat = plan.rounds[-1].doors[-1].model_copy(update={"slot": slot_name(1, Role.DOOR, 1)})
    return plan.model_copy(
        update={
            "recipe": RECIPE,
            "agents": {seat.agent: plan.agents[seat.agent]},
            "endpoints": {route: plan.endpoints[route] for route in seat.routes if route in plan.endpoints},
            "rounds": (PlannedRound(number=1, winds=(), walls=(), doors=(seat,)),),
            "notices": (),
            "limits": NO_LIMITS,
            "on_failure": "pause",
        }
    )


class Named(NamedTuple):
    """What an answer names: a turn, constraint, objection or note, or lines of the evidence; `problem` says why there
    is none such, None where there is."""

    name: str
    problem: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a debate, with all that it is answered from.

    Args:
        text: the question.
        debate: the debate as it stood when it was asked.
        decided: what it came to.
        plan: the answer's.
    """

    text: str
    debate: Debate
    decided: Decided
    plan: Plan

    @classmethod
    def about(cls, debate: Debate, text: str, plan: Plan) -> Question:
        """Raises:
        ConfigurationError: this version cannot read the plan that is pinned in the debate.
        """
        return cls(text, debate, Decided.of(debate, Plan.pinned_in(debate)), plan)

    @property
    def seat(self) -> PlannedSeat:
        return self.plan.rounds[0].doors[0]

    def request(self, route: str, summary: Summary | None = None) -> Request:
        """What Door is asked through a route."""
        material, snapshot = tuple(_material(self)), self.debate.snapshot()
        return make_settling_request(
            self.plan, snapshot, self.seat, "answer", material, self._tell, route=route, summary=summary
        )

    def _tell(self, task: Task) -> str:
        return answer_instruction(task, self.decided.case.constraints, self._objections)

    @property
    def _objections(self) -> tuple[str, ...]:
        return names_of(self.decided.case.votes)

    def assignment(self) -> Assignment:
        snapshot = self.debate.snapshot()

        def summarise(route: str, turns: int) -> Request:
            return make_summary_request(self.plan, snapshot, self.plan.rounds[0], self.seat, turns, route=route)

        return Assignment(
            self.seat,
            "answer",
            cache(self.request),  # one draft needs it several times, and it holds the whole debate
            lacking=self._lacking,
            useless=partial(no_turn, self.plan, self.seat, least=_LEAST_WORDS),
            turns=len(snapshot.turns),
            summarise=summarise,
        )

    def named_in(self, text: str) -> tuple[Named, ...]:
        """Everything that an answer names, each once, checked."""
        grounds = self.decided.case.grounds
        beside = {*self._objections, *(f"N{note.number}" for note in self.debate.remarks)}
        found = [Named(name, None if grounds.hold(name) else _none_such(name)) for name in mentioned(text)]
        found += [Named(name, None if name in beside else _none_such(name)) for name in _BESIDE_TURNS.findall(text)]
        found += [Named(str(each.citation).strip("[]"), each.problem) for each in cited(text, grounds.evidence)]
        return tuple(dict.fromkeys(found))

    def problems_of(self, text: str) -> tuple[str, ...]:
        """What of an answer does not hold, a sentence each."""
        named = self.named_in(text)
        if not named and NOT_RECORDED not in text:
            return ("It names nothing that it rests on.",)
        return tuple(f"It names {each.name}, but {each.problem}." for each in named if each.problem)

    def _lacking(self, text: str) -> str | None:
        problems = self.problems_of(text)
        if not problems:
            return None
        return (
            f"Your answer is checked against the debate, and does not hold. {' '.join(problems)} Give the whole answer "
            f"again; name only what exists, or say {NOT_RECORDED}."
        )


def _none_such(name: str) -> str:
    return f"there is no {name} in the debate"


def _material(question: Question) -> Iterator[Material]:
    """The question, and what the ledger holds beside turns and notes."""
    decided, case = question.decided, question.decided.case
    yield Material("the question that is asked after the fact", question.text)
    yield Material("the constraints, with the answers to them", listed(case.constraints))
    if case.votes:
        yield Material("the votes, in order", "\n".join(map(_vote, case.votes)))
    if decided.account is not None and decided.account.options:
        yield Material("the options, as Door accounted for them", "\n".join(map(_option, decided.account.options)))
    yield Material("how the debate ended", _ending(question.debate))


def _vote(vote: CastVote) -> str:
    name = f", {vote.name}" if vote.name else ""
    ends = f" What would end it: {vote.settlement}" if vote.settlement else ""
    return f"- {vote.role} {vote.agent}, {vote.choice}{name}: {vote.reason} ({', '.join(vote.rests_on)}){ends}"


def _option(option: Option) -> str:
    raised, rests = ", ".join(f"T{turn}" for turn in option.turns), ", ".join(option.because)
    return f"- {option.title} ({raised}), {'taken' if option.taken else 'not taken'}: {option.why} ({rests})"


def _ending(debate: Debate) -> str:
    """The words it closed with; where they are a turn's, only which."""
    if debate.closing is None:
        return "It is not closed yet."
    if debate.synthesis is None:
        return f"It was closed by force: {debate.closing.words}"
    source = source_of(debate)
    if source is not None and source.startswith("T"):
        return f"It closed as {debate.state.status} with the words of {source}."
    return f"It closed as {debate.state.status} with these words:\n\n{debate.synthesis.words}"
