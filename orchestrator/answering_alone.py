"""Those who answer alone, beside a debate: their answers at once, their places among its decisions before it closes.

What they say goes to the ledger as notes, which no voice of the debate reads. Nothing of theirs stops the debate: an
answer that cannot be heard, placed or afforded is noted as that, and where money or tokens are limited they wait until
the debate has taken what it needs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import anyio

from orchestrator.baseline import Decision, LoneAnswer, LoneQuestions, Placing, lone_seats, shuffled
from orchestrator.commits import Commits
from orchestrator.decision.baseline import Placed
from orchestrator.decision.decided import Decided
from orchestrator.drafting import Drafting
from orchestrator.drafts import Assignment, Draft, Failure
from orchestrator.errors import DebateError, LeaseLost, LimitMet, NotActive
from orchestrator.hall.debate import Debate
from orchestrator.hall.terms import About
from orchestrator.plan import Plan
from orchestrator.structured import read
from orchestrator.usage import total

_AT_ONCE = 8


@dataclass(slots=True)
class AnsweringAlone:
    """Those of one run.

    Args:
        plan: says how many there are.
    """

    plan: Plan
    drafting: Drafting
    commits: Commits
    _answers: tuple[Draft | Failure, ...] | None = None
    _error: DebateError | None = None
    _stopped: bool = False
    _answered: anyio.Event = field(default_factory=anyio.Event)

    def __post_init__(self) -> None:
        self.drafting = replace(self.drafting, dead={})  # a route that fails them is not given up for the debate

    async def beside(self, debate: Callable[[], Awaitable[None]]) -> None:
        """Holds a debate while others answer alone. Where it stops before its end, the calls that are under way are
        awaited, for they are paid for.

        Raises:
            DebateError: the debate's.
        """
        errors: list[DebateError] = []  # a task group would wrap them
        async with anyio.create_task_group() as group:
            group.start_soon(self._answer)
            try:
                await debate()
            except DebateError as error:
                errors.append(error)
                self._stopped = True
                if isinstance(error, LeaseLost | NotActive):  # nothing more can be kept
                    group.cancel_scope.cancel()
        if errors:
            raise errors[0]

    async def _answer(self) -> None:
        """Has all answers drafted beside the debate, where they take nothing from it. What goes wrong is told when they
        are wanted."""
        try:
            if self.plan.baseline and self.plan.limits.cost_usd is None and self.plan.limits.tokens is None:
                self._answers = await self._all_answers(await self.commits.look())
        except DebateError as error:
            self._error = error
        finally:
            self._answered.set()

    async def place(self, debate: Debate, synthesis: str) -> bool:
        """Notes what each answered, and which decision that is.

        Args:
            debate: as it is about to be closed.
            synthesis: with which words.

        Returns:
            whether anything was written, so that the debate has to be looked at again.

        Raises:
            LeaseLost, StoreError: nothing can be written down any more.
        """
        if not self.plan.baseline or _is_placed(debate, self.plan.baseline):
            return False
        await self._answered.wait()
        if self._error is not None:
            raise self._error
        if self._answers is None:
            self._answers = await self._all_answers(debate)
        questions, decisions = self._questions(debate), _decisions(debate, self.plan, synthesis)
        answers = [draft for draft in self._answers if isinstance(draft, Draft)]
        placings = await self._drafts([questions.placing(draft.seat, draft.text, decisions) for draft in answers])
        found = {placing.seat.slot: placing for placing in placings}
        head = debate.head
        for draft in self._answers:
            placing = found.get(draft.seat.slot)
            words = _placed(draft, placing, decisions).model_dump_json()
            moved = await self._note(debate, head, words, _together(draft, placing))
            if moved is None:
                break
            head = moved
        return True

    async def _all_answers(self, debate: Debate) -> tuple[Draft | Failure, ...]:
        questions = self._questions(debate)
        return await self._drafts([questions.answer(seat) for seat in lone_seats(self.plan)])

    def _questions(self, debate: Debate) -> LoneQuestions:
        return LoneQuestions(self.plan, debate.opening.words)

    async def _note(self, base: Debate, head: str, words: str, made: Draft | Failure) -> str | None:
        """Returns the new head; None where somebody else changed what the answers were held against."""

        async def note(head: str) -> str:
            return await self.commits.note(About.BASELINE, words, made.seat.slot, head, made)

        return await self.commits.behind(base, 0, head, note)

    async def _drafts(self, assignments: Sequence[Assignment]) -> tuple[Draft | Failure, ...]:
        """Drafts, a few at once: the debate asks the same providers. What does not fit a limit has failed of that."""
        drafts: list[Draft | Failure] = []
        for first in range(0, len(assignments), _AT_ONCE):
            if self._stopped:
                break
            few = assignments[first : first + _AT_ONCE]
            try:
                drafts += await self.drafting.all(few)
            except LimitMet as met:
                drafts += [Failure(each.seat, each.step, met) for each in few]
        return tuple(drafts)


def _is_placed(debate: Debate, number: int) -> bool:
    """Whether all are noted since the synthesis that stands was accounted for."""
    told = debate.notes(About.ACCOUNT, About.NO_ACCOUNT)
    since = max([debate.state.synthesis_seq or 0, *(line.entry.seq for line in told)])
    return sum(line.entry.seq > since for line in debate.notes(About.BASELINE)) >= number


def _decisions(debate: Debate, plan: Plan, synthesis: str) -> tuple[Decision, ...]:
    """What the debate decided, and the options that it did not take."""
    account = Decided.of(debate, plan).account
    own = Decision(account.decision if account else synthesis, is_the_debates=True)
    others = (Decision(option.title) for option in account.options if not option.taken) if account else ()
    return shuffled([own, *others])


def _placed(answer: Draft | Failure, placing: Draft | Failure | None, decisions: Sequence[Decision]) -> Placed:
    if isinstance(answer, Failure):
        return Placed(statement=None, chose="unheard", option=None, why=answer.error.message)
    statement = read(answer.text, LoneAnswer).decision
    if not isinstance(placing, Draft):
        why = placing.error.message if placing else None
        return Placed(statement=statement, chose="unplaced", option=None, why=why)
    told = read(placing.text, Placing)
    if not told.decides:
        return Placed(statement=statement, chose="undecided", option=None, why=told.why)
    if told.number is None or not 1 <= told.number <= len(decisions):
        return Placed(statement=statement, chose="other", option=None, why=told.why)
    chosen = decisions[told.number - 1]
    if chosen.is_the_debates:
        return Placed(statement=statement, chose="debate", option=None, why=told.why)
    return Placed(statement=statement, chose="option", option=chosen.text, why=told.why)


def _together(answer: Draft | Failure, placing: Draft | Failure | None) -> Draft | Failure:
    """An answer with what its placing took."""
    if placing is None:
        return answer
    return replace(answer, usage=total((answer.usage, placing.usage)), tried=(*answer.tried, *placing.tried))
