"""How each arm comes to its answer.

All arms ask the routes of one recipe's seats the same question about the same documents, and end with the same answer.
What a debate came to becomes its answer in one more call, of its last Door's route, which counts as its cost: read off
Door's words by pattern, an option that Door rejects would pass for the one it takes.

Equal cost: what the recipe took on a brief is what `refine` and `majority` may take. An answer more or less is seldom
exact, and the same way to round on every brief would put one arm ahead on all of them. So the point from which one step
more is taken differs from brief to brief, evenly over them: on average neither arm is ahead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import floor
from typing import NamedTuple

from orchestrator.drafting import Drafting
from orchestrator.drafts import Assignment, Draft, Failure
from orchestrator.errors import LimitMet, RunPaused
from orchestrator.evaluate.answer import Answer
from orchestrator.evaluate.arm import Arm
from orchestrator.evaluate.asked import Questions
from orchestrator.evaluate.brief import Brief
from orchestrator.evaluate.cassette import Cell
from orchestrator.evaluate.debating import debated, decided_in, dissent_in, record_text
from orchestrator.evaluate.recording import Recording
from orchestrator.evaluate.results import Outcome, Result, Spent, Text, Votes
from orchestrator.plan import Plan, PlannedSeat
from orchestrator.structured import read

_MOST_ANSWERS, _MOST_REFINEMENTS = 200, 50  # where a recipe costs so much more, something else is wrong
_EVENLY = (0.6180339887498949, 0.4142135623730951)  # multiples of these, without their whole part, spread evenly


class Allowed(NamedTuple):
    """What an arm may take. Tokens count where all that is asked is free."""

    cost_usd: Decimal
    tokens: int

    def part_of(self, spent: Spent) -> float:
        """How much of it was taken, 1 being all of it."""
        if self.cost_usd > 0:
            return float((spent.cost_usd or Decimal(0)) / self.cost_usd)
        return spent.tokens / max(self.tokens, 1)


class Reached(NamedTuple):
    """What an arm came to, beside what it took; the members are those of `Result`."""

    answer: Answer | None = None
    texts: tuple[Text, ...] = ()
    votes: tuple[Votes, ...] = ()
    tied: tuple[str, ...] = ()
    dissent: tuple[str, ...] = ()
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """One arm at one brief.

    Args:
        plan: of the arm's recipe; for other arms of the one whose cost they equal. With the brief's documents.
        allowed: what may be taken; None: what it takes.
    """

    brief: Brief
    arm: Arm
    plan: Plan
    drafting: Drafting
    recording: Recording
    allowed: Allowed | None

    async def result(self) -> Result:
        """What comes of it; a failure is a result, too.

        Raises:
            LimitMet: the evaluation's limit came first, so that nothing is known of the arm.
            NotRecorded: something is not recorded, and nothing is to be asked.
        """
        try:
            reached = await self._reached()
        except (RunPaused, _Unanswered) as failed:
            reached = Reached(failure=str(failed))
        self._require_no_limit_met()
        return Result(
            **self.recording.cell._asdict(),
            **reached._asdict(),
            outcome=self._outcome(reached.answer),
            allowed_usd=self.allowed.cost_usd if self.allowed else None,
            spent=self.recording.spent,
        )

    def _outcome(self, answer: Answer | None) -> Outcome:
        if answer is None:
            return "failed"
        return "answered" if self.brief.option(answer.option) else "aside"

    def _require_no_limit_met(self) -> None:
        """Raises:
        LimitMet: of the evaluation. A debate that may closes for it with what is there, and that is no decision of its.
        """
        if self.recording.met is not None:
            raise self.recording.met

    async def _reached(self) -> Reached:
        match self.arm.kind:
            case "single":
                return _with(await self._answer(self._seat, 1))
            case "refine":
                return await self._refine()
            case "majority":
                return await self._majority()
            case "recipe":
                return await self._debate()

    async def _refine(self) -> Reached:
        """Criticises its answer and gives it again, as long as it may take another such step."""
        answer = await self._answer(self._seat, 1)
        step = 2 * self._part_taken  # a criticism and an answer, before it is known what they take
        for number in range(1, _MOST_REFINEMENTS + 1):
            before = self._part_taken
            if not self._steps_more(step):
                break
            answer = await self._refined(answer, number)
            step = self._part_taken - before
        return _with(answer)

    async def _refined(self, answer: Answer, number: int) -> Answer:
        (criticised,) = await self._drafts([self._questions.criticism(self._seat, number, answer)])
        (draft,) = await self._drafts([self._questions.rewriting(self._seat, number + 1, answer, criticised.text)])
        return read(draft.text, Answer)

    async def _majority(self) -> Reached:
        """Asks, each time at most as many as there are: most are asked when it is known what an answer takes."""
        seats, drafts = self.arm.seats(self.plan), list[Draft | Failure]()
        while more := self._answers_more(drafts, len(seats)):
            numbers = range(len(drafts), len(drafts) + more)
            drafts += await self._all([self._questions.answer(seats[n % len(seats)], n + 1) for n in numbers])
        heard = [read(draft.text, Answer) for draft in drafts if isinstance(draft, Draft)]
        return counted(self.brief, heard) if heard else Reached(failure=_unheard(drafts))

    def _answers_more(self, drafts: Sequence[Draft | Failure], seats: int) -> int:
        """How many answers more are asked for; until one is heard, one of each seat in turn."""
        asked = len(drafts)
        if not any(isinstance(draft, Draft) for draft in drafts):
            return int(asked < seats)
        return min(self._steps_more(self._part_taken / asked), asked, _MOST_ANSWERS - asked)

    async def _debate(self) -> Reached:
        record = await debated(self.brief, self.plan, self.drafting)
        self._require_no_limit_met()
        (draft,) = await self._drafts([self._questions.transcription(self._seat, decided_in(record))])
        told = (Text(name="record", text=record_text(record)),)
        return _with(read(draft.text, Answer), told, dissent_in(record))

    @property
    def _questions(self) -> Questions:
        return Questions(self.brief, self.plan, often=self.arm.is_equalled)

    async def _answer(self, seat: PlannedSeat, number: int) -> Answer:
        (draft,) = await self._drafts([self._questions.answer(seat, number)])
        return read(draft.text, Answer)

    async def _drafts(self, assignments: Sequence[Assignment]) -> list[Draft]:
        """Raises:
        _Unanswered: one of them was not heard.
        """
        drafts = await self._all(assignments)
        if unheard := _unheard(drafts):
            raise _Unanswered(unheard)
        return [draft for draft in drafts if isinstance(draft, Draft)]

    async def _all(self, assignments: Sequence[Assignment]) -> Sequence[Draft | Failure]:
        drafts = await self.drafting.all(assignments)
        for draft in drafts:
            if isinstance(draft, Failure) and isinstance(draft.error, LimitMet):
                raise draft.error
        return drafts

    @property
    def _seat(self) -> PlannedSeat:
        return self.arm.seats(self.plan)[0]

    @property
    def _part_taken(self) -> float:
        return self.allowed.part_of(self.recording.spent) if self.allowed else 1.0

    def _steps_more(self, step: float) -> int:
        """How many steps more may be taken, each of such a part of all that is allowed."""
        if step <= 0:
            return 0
        return max(floor((1 - self._part_taken) / step + 1 - _turning_point(self.recording.cell)), 0)


class _Unanswered(Exception):
    """Says who could not be heard."""


def _unheard(drafts: Sequence[Draft | Failure]) -> str | None:
    """Who was not heard first, and why; None where all were."""
    told = (draft for draft in drafts if isinstance(draft, Failure))
    return next((f"{each.seat.slot} through {', '.join(each.seat.routes)}: {each.error}" for each in told), None)


def counted(brief: Brief, answers: Sequence[Answer]) -> Reached:
    """What independent answers come to: the option that most of them chose, in the words of the first that chose it.

    Whatever is none of the options counts as one. A tie is told, and goes to the option
    that was chosen first.
    """
    chosen = [brief.choice(answer.option) for answer in answers]
    votes = Counter(chosen).most_common()  # of equal ones the first that was chosen comes first
    most = [option for option, count in votes if count == votes[0][1]]
    told = tuple(Votes(option=option, count=count) for option, count in votes)
    reached = _with(answers[chosen.index(most[0])])
    return reached._replace(votes=told, tied=tuple(most) if len(most) > 1 else ())


def _with(answer: Answer, more: tuple[Text, ...] = (), dissent: tuple[str, ...] = ()) -> Reached:
    return Reached(answer, (Text(name="answer", text=answer.text), *more), dissent=dissent)


def _turning_point(cell: Cell) -> float:
    """From which part of a step on, 0 to 1, one step more is taken: evenly spread over briefs and repetitions."""
    by_brief, by_repeat = _EVENLY
    return (int(cell.brief[:3]) * by_brief + cell.repeat * by_repeat) % 1
