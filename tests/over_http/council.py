"""A council that votes, behind a loopback provider: what its voters and Door say, and what it was asked.

It has one round: ideator, edge-optimizer, validator, critical-engineer and three Doors are T1 to T7.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from provider import REHEARSES, Provider, Stage, answered, bill, plan_at, question_of, reseated, speaks

from building import FENCE, THREAD, evidence_of, vote_text, wordy
from endpoint import Answer, Call
from endpoint_voices import task_of
from golden.planting import CONSTRAINT, OPPORTUNITY, objection, stated
from orchestrator.decision.record import DecisionRecord, make_record
from orchestrator.hall.entries import Vote
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role
from orchestrator.models.base import Step
from orchestrator.models.litellm import LiteLLM

VOTERS = {"ideator": "Wind.1", "edge-optimizer": "Wind.2", "validator": "Wall.1", "critical-engineer": "Wall.2"}
KINDS = dict(zip(VOTERS, ("fact", "measurement", "change", "fact"), strict=True))
ROUNDS = (4, 2, 1, 1, 1)  # calls before the first vote, as many as are under way at once
EVIDENCE = evidence_of("The ledger is the record.\nTwo people know it.\n")


def reason(agent: str, ballot: int, *, can: bool) -> str:
    return f"{agent} {'can' if can else 'cannot'} carry synthesis {ballot}."


def settlement(agent: str, ballot: int) -> str:
    return f"what {agent} asks of synthesis {ballot}"


def answer(number: int) -> str:
    return f"{REHEARSES} Synthesis {number} says when."


def synthesis(number: int, objections: Sequence[str] = ()) -> str:
    """Door's words of every kind, which must arrive as they are; they answer every constraint and each objection."""
    marks = (
        f'# Synthesis {number}\n\n\tTherefore “one”, \\n {{two}} & <b>three</b>: 每次一个表 🧭.\n\n```\n  "code"\n```\n'
    )
    met = [f"- [{name}] MET: {answer(number)}" for name in ("T3.C1", "T4.C1")]
    return "\n".join([wordy(marks), *met, *(f"- [{name}] Synthesis {number} answers it." for name in objections)])


def synthesis_in(call: Call) -> int:
    """The number of the one that a call is about."""
    found = re.search(rf"<<< {FENCE} the synthesis .*\n# Synthesis (\d)", task_of(call))
    assert found is not None, call.task
    return int(found[1])


def fenced(title: str, text: str) -> str:
    return f"<<< {FENCE} {title}\n{text}\n>>> {FENCE}"


Trouble = Callable[[Call], Answer | None]


def healthy(call: Call) -> None:
    return None


def at(answer: Answer, step: Step, *agents: str, ballot: int | None = None, model: str | None = None) -> Trouble:
    """Agents, or all, are answered so at a step; on one ballot, or by one model."""

    def trouble(call: Call) -> Answer | None:
        question = question_of(call)
        asked = question.step == step and (question.agent in agents or not agents) and model in (None, call.model)
        return answer if asked and ballot in (None, synthesis_in(call)) else None

    return trouble


@dataclass
class Council:
    """A council on its way.

    Args:
        objecting: the agents that object, on each ballot; on a later one nobody does.
        trouble: what a call is answered instead, where something is.
    """

    provider: Provider
    litellm: LiteLLM
    hall: Hall
    objecting: Sequence[Collection[str]] = ()
    trouble: Trouble = healthy
    stage: Stage = field(init=False)

    def __post_init__(self) -> None:
        self.provider.say = lambda call: self.trouble(call) or self._says(call)
        self.sits()

    def sits(self, refinements: int = 2, **changes: Any) -> None:
        """Plans it, and begins anew."""
        consensus = {"required": True, "refinements": refinements}
        changes = {"turns": 7, "consensus": consensus, "evidence": [EVIDENCE], **changes}
        plan = plan_at(self.provider, "council", most=800, **changes)
        endpoint = replace(self.provider.endpoint(), json_schema=True)
        plan = plan.model_copy(update={"endpoints": dict.fromkeys(plan.routes, endpoint)})
        self.stage = Stage(self.hall, plan, lambda route: self.litellm)

    def is_asked(self, agents: Collection[str], *routes: str) -> None:
        """Seats these agents at other models."""
        plan = reseated(self.stage.plan, lambda seat: seat.agent in agents, routes=routes)
        self.stage.plan = plan.model_copy(update={"endpoints": dict.fromkeys(plan.routes, self.provider.endpoint())})

    def _says(self, call: Call) -> str:
        question = question_of(call)
        match question.role, question.step:
            case _, "vote":
                return self._votes(question.agent, synthesis_in(call))
            case _, "refine":
                objections = re.findall(r"^(O\d+), W", task_of(call), re.MULTILINE)
                return synthesis(synthesis_in(call) + 1, objections)
            case Role.WALL, "apply":
                nature = CONSTRAINT if question.agent == "validator" else OPPORTUNITY
                return f"{speaks(call)}\n\n{stated('C1', nature)}".replace("APPROVED", "CONDITIONAL", 1)
            case Role.DOOR, "turn" if "Yours is the last turn." in task_of(call):
                return synthesis(1)
            case _:
                return speaks(call)

    def _votes(self, agent: str, ballot: int) -> str:
        if ballot <= len(self.objecting) and agent in self.objecting[ballot - 1]:
            words, ends = reason(agent, ballot, can=False), settlement(agent, ballot)
            return objection(words, "T7", "T3.C1", kind=KINDS[agent], what=ends)
        return vote_text(reason=reason(agent, ballot, can=True), rests_on=["T7"])

    @property
    def settling(self) -> list[Call]:
        """The calls that are made when the rounds are over."""
        return self.provider.calls[sum(ROUNDS) :]

    @property
    def steps(self) -> list[Step]:
        return [question_of(call).step for call in self.settling]

    def calls(self, step: Step, ballot: int | None = None) -> list[Call]:
        """The calls of a step, or those of them that are about one synthesis."""
        asked = [call for call in self.settling if question_of(call).step == step]
        return [call for call in asked if ballot in (None, synthesis_in(call))]

    @property
    def syntheses(self) -> list[str | None]:
        """As Door wrote them."""
        return [call.answer for call in (self.provider.calls[sum(ROUNDS) - 1], *self.calls("refine"))]

    @property
    def record(self) -> DecisionRecord:
        return make_record(self.hall.debate(THREAD), self.stage.plan)

    @property
    def cast(self) -> list[str]:
        """The slots of the votes that stand on the ledger."""
        votes = [line.entry.body for line in self.hall.debate(THREAD).of(Vote)]
        return [vote.seat.slot for vote in votes if isinstance(vote, Vote) and vote.seat]

    def assert_bought_once(self) -> None:
        """Every question was answered once, and what all took is on the bill and in the journal alike."""
        assert set(Counter(answered(self.provider.calls)).values()) == {1}
        assert self.stage.journaled == bill(self.provider.calls)


def ballot_of(number: int) -> list[str]:
    return [f"V{number}.{place}" for place in VOTERS.values()]
