"""A loopback provider that follows a debate: it knows which question it is asked, fails at those it is told to, and
keeps a bill of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import anyio

from building import NO_WAITS, THREAD, TOPIC, plan_of, vote_text, wordy
from endpoint import Answer, Call, ModelServer
from endpoint_voices import account_of, task_of
from orchestrator.drafting import Drafting
from orchestrator.drafts import Paid
from orchestrator.errors import RunPaused
from orchestrator.events import Event
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Intent
from orchestrator.hall.terms import Role
from orchestrator.journal import Journal
from orchestrator.models.base import Endpoint, Model, Request, Step, Usage
from orchestrator.plan import Changes, Plan, PlannedRound, PlannedSeat
from orchestrator.recipe import NO_LIMITS, Limits
from orchestrator.runner import Run, hold_debate, run_debate
from orchestrator.taking_up import NO_CHANGES, TakeUp
from orchestrator.usage import total

E = TypeVar("E", bound=Event)

ALL_ALIKE: Mapping[str, int] = MappingProxyType({})
REHEARSES = "The way back is rehearsed before it."  # a sentence of every Door
PRICES = {"input": Decimal("0.000001"), "cached": Decimal("0.0000005"), "output": Decimal("0.000003")}

_ASKED = re.compile(r"It is round (\d+) of \d+\. You are (Wind|Wall|Door), agent ([\w-]+)\.")
_SETTLING = re.compile(r"\b(?:You are|you vote on it as) (Wind|Wall|Door), agent ([\w-]+)(?:\.|: account for it\.)")
_LENS = re.compile(r"Your lens is (.+?)\. Other seats")
_SPOKEN = re.compile(r"<<< \w+ T\d+: \w+, [\w-]+, round (\d+)$", re.MULTILINE)


class Question(NamedTuple):
    """What a seat is asked; a request to do it again asks the same."""

    round: int
    role: Role
    step: Step
    agent: str
    lens: str | None


SUMMARY = Question(0, Role.WIND, "summary", "", None)


def question_of(call: Call) -> Question:
    """Reads the question off the prompt. A summary is asked for alike by all; what settles the synthesis is asked in
    the round of the last turn, and on every ballot alike."""
    text = task_of(call)
    lens = _LENS.search(text)
    if asked := _ASKED.search(text):
        checklist, applies = "Do not write your turn." in text, "Apply your checklist" in text
        step: Step = "checklist" if checklist else "apply" if applies else "turn"
        return Question(int(asked[1]), Role(asked[2]), step, asked[3], lens[1] if lens else None)
    if asked := _SETTLING.search(text):
        step = "vote" if "you vote" in asked[0] else "account" if "account" in asked[0] else "refine"
        last = int(_SPOKEN.findall(call.prompt)[-1])
        return Question(last, Role(asked[1]), step, asked[2], lens[1] if lens else None)
    return SUMMARY


def question_in(request: Request) -> Question:
    """The same, of a request that has not been sent yet."""
    task = request.task
    return Question(task.round, task.role, task.step, task.agent, task.lens)


def speaks(call: Call) -> str:
    """What nobody has to mend: a Wall quotes the newest Wind and states no constraint, all approve of the synthesis."""
    question, name = question_of(call), f"call {call.number}"
    match question.role, question.step:
        case _, "checklist":
            return f"Checklist of {name}: no order may be lost."
        case _, "summary":
            return f"Summary of {name}: one table moves at a time."
        case _, "vote":
            return vote_text(reason=f"For {name} it can be carried.")
        case _, "account":
            return account_of(call, REHEARSES)
        case Role.WIND, _:
            return wordy(f"What if option one of {name} moved one table at a time?")
        case Role.WALL, _:
            said = re.findall(r"What if option one of call \d+ moved one table at a time", call.prompt)
            return wordy(f'VERDICT: APPROVED\nWind said "{said[-1]}", and {name} tests it.')
        case _:
            return wordy(f"Therefore {name} decides to move one table. {REHEARSES}")


@dataclass(slots=True)
class Trouble:
    """What is wrong with one model.

    Args:
        model: as the provider calls it.
        at: the questions at which it fails.
        answer: what it answers then.
        once: each of them once; else also all that comes after the first of them.
    """

    model: str
    at: Callable[[Question], bool]
    answer: Callable[[Call], Answer]
    once: bool = False
    struck: set[Question] = field(default_factory=set)

    def strikes(self, model: str, question: Question) -> bool:
        """Whether the model would fail now."""
        begun = not self.once and bool(self.struck)
        return model == self.model and (begun or (self.at(question) and question not in self.struck))


class Provider(ModelServer):
    """The server.

    Args:
        say: what its models answer.
        dear: the models that cost more than `PRICES`, so many times as much.

    Attributes:
        troubles: what is wrong with its models.
    """

    def __init__(self, say: Callable[[Call], str | Answer] = speaks, dear: Mapping[str, int] = ALL_ALIKE) -> None:
        super().__init__(self._answers)
        self.say, self.dear = say, dear
        self.troubles: list[Trouble] = []
        self.refused: set[int] = set()  # the numbers of the calls that were answered with an HTTP error

    def endpoint(self, model: str = "", context_tokens: int | None = 200_000) -> Endpoint:
        factor = self.dear.get(model, 1)
        return Endpoint(
            api_base=self.base_url,
            input_cost_per_token=PRICES["input"] * factor,
            cached_cost_per_token=PRICES["cached"] * factor,
            output_cost_per_token=PRICES["output"] * factor,
            context_tokens=context_tokens,
        )

    def forget(self) -> None:
        """Begins anew: no calls, no troubles."""
        self.calls.clear()
        self.refused.clear()
        self.troubles.clear()

    @property
    def at_most(self) -> Usage:
        """What could stand on the bill: all calls but those that were refused, each with the longest permitted answer
        where none is known to have been given."""
        return total(self._most_of(call) for call in self.calls if call.number not in self.refused)

    def _most_of(self, call: Call) -> Usage:
        unknown = call.answer is None
        written = call.body["max_tokens"] if unknown else self.count((("assistant", call.answer or ""),))
        read = self.count(call.messages)
        return Usage(read, call.cached, written, cost_of(read, call.cached, written) * self.dear.get(call.model, 1))

    def _answers(self, call: Call) -> str | Answer:
        said = self._said(call)
        if isinstance(said, Answer) and said.status >= 400:
            self.refused.add(call.number)
        return said

    def _said(self, call: Call) -> str | Answer:
        question = question_of(call)
        for trouble in self.troubles:
            if trouble.strikes(call.model, question):
                trouble.struck.add(question)
                return trouble.answer(call)
        return self.say(call)


def bill(calls: Iterable[Call]) -> Usage:
    """What the provider told that it counted, at its prices."""
    charged = [call.charged for call in calls if call.charged is not None]
    read, cached, written = (sum(column) for column in zip(*charged, strict=True)) if charged else (0, 0, 0)
    return Usage(read, cached, written, cost_of(read, cached, written))


def cost_of(read: int, cached: int, written: int) -> Decimal:
    return (read - cached) * PRICES["input"] + cached * PRICES["cached"] + written * PRICES["output"]


def answered(calls: Iterable[Call]) -> list[tuple[Question, tuple[tuple[str, str], ...]]]:
    """The questions, word for word, that got a whole answer."""
    return [(question_of(call), call.messages) for call in calls if call.charged is not None]


def plan_at(provider: Provider, recipe: str, *, most: int = 400, limits: Limits = NO_LIMITS, **changes: Any) -> Plan:
    """A plan of a bundled recipe whose roles each have a model there, and whose answers have at most `most` tokens."""
    routes = {role: (f"openai/{role.lower()}-1",) for role in Role}
    plan = plan_of(recipe, routes=routes, endpoint=provider.endpoint(), **changes)
    return reseated(plan, max_output_tokens=most).model_copy(update={"limits": limits})


def reseated(plan: Plan, where: Callable[[PlannedSeat], bool] = lambda seat: True, **changes: Any) -> Plan:
    """The plan with some of its seats otherwise."""

    def seat(planned: PlannedSeat) -> PlannedSeat:
        return planned.model_copy(update=changes) if where(planned) else planned

    def planned(each: PlannedRound) -> PlannedRound:
        seats = {name: tuple(map(seat, getattr(each, name))) for name in ("winds", "walls", "doors")}
        return each.model_copy(update=seats)

    return plan.model_copy(update={"rounds": tuple(map(planned, plan.rounds))})


@dataclass
class Stage:
    """One debate on its way: what it told, what it paid for, what stands in its journal."""

    hall: Hall
    plan: Plan
    model_of: Callable[[str], Model]
    read: Callable[[Event], None] = lambda event: None
    topic: str = TOPIC
    events: list[Event] = field(default_factory=list)
    paid: Paid = field(default_factory=Paid)

    async def ends(self, changes: Changes = NO_CHANGES) -> Run | RunPaused:
        """The same, and how it ended."""
        try:
            return await self.hold(changes)
        except RunPaused as paused:
            return paused

    async def hold(self, changes: Changes = NO_CHANGES) -> Run:
        """Begins the debate, or goes on with it as `run-debate --resume` does."""
        self.plan, self.paid = self.plan.with_changes(changes), Paid()
        drafting = Drafting(self.model_of, self._hear, NO_WAITS, self.paid)
        with anyio.fail_after(60):
            if self.hall.list_debates():
                return await hold_debate(self.hall, self.plan, THREAD, drafting, how=TakeUp(changes=changes))
            return await run_debate(self.hall, self.plan, THREAD, self.topic, drafting)

    def told(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def intents(self) -> list[Intent]:
        """The calls that were to be made, as they stand in the journal."""
        return [line.record for line in self.hall.journal(THREAD) if isinstance(line.record, Intent)]

    @property
    def journaled(self) -> Usage:
        return Journal.to_read(self.hall, THREAD).spent

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        self.read(event)
