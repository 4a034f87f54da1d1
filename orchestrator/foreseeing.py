"""What a replay will ask anew, told before anything is asked: the run itself, in a hall that is thrown away.

Whoever would have to be asked says filler instead, which nobody judges; what rests on filler is asked anew too. So what
is new is found by the very steps that the run will take. Voters whose vote is not known approve; in the high estimate
they object for as long as Door may refine.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory
from typing import NamedTuple

import anyio

from orchestrator.calls import NOTHING_KEPT, Kept
from orchestrator.drafting import Drafting
from orchestrator.drafts import Assignment, Draft, Failure
from orchestrator.hall.entries import Link
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role
from orchestrator.imagined import Asked, Pace, words_of
from orchestrator.models.base import Reply, Request
from orchestrator.plan import Plan
from orchestrator.quote import PACES, Quote, Range, quote_of_batches
from orchestrator.recipe import NO_LIMITS
from orchestrator.replayed import Replayed
from orchestrator.runner import hold_debate, open_debate
from orchestrator.usage import NOTHING
from orchestrator.worker import in_thread


class NewCall(NamedTuple):
    """A call that a replay cannot take from the debate that it replays."""

    slot: str
    step: str
    agent: str
    route: str


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a replay will take: the calls that are new, how many replies are reused, and what the new ones cost."""

    new: tuple[NewCall, ...]
    reused: int
    quote: Quote


async def foresee(plan: Plan, topic: str, replayed: Replayed, link: Link) -> Foreseen:
    """Goes through a replay at three paces, as a quote does; nobody is asked.

    Args:
        plan: the replay's.
        replayed: what it may take.
        link: to the debate that it replays.
    """
    low, usual, high = Range(*map(_Filler, PACES))
    async with anyio.create_task_group() as group:
        for filler in (low, usual, high):
            group.start_soon(_go_through, plan, topic, replayed, link, filler)
    quote = quote_of_batches(Range(low.batches, usual.batches, high.batches))
    return Foreseen(tuple(usual.new), usual.reused, quote)


@dataclass(slots=True)
class _Filler:
    """Speaks for everybody who would have to be asked.

    Args:
        batches: what it was asked, by what was asked at once.
        said: its words, which nobody judges.
    """

    pace: Pace
    batches: list[list[Asked]] = field(default_factory=list)
    said: set[str] = field(default_factory=set)
    new: list[NewCall] = field(default_factory=list)
    reused: int = 0

    async def complete(self, request: Request) -> Reply:
        task, most = request.task, request.max_output_tokens
        tokens = most if self.pace.words is None else min(most, self.pace.words[task.step])
        newest = max((said.round for said in task.said), default=0)
        walls = [said.number for said in task.said if (said.round, said.role) == (newest, Role.WALL)]
        words = words_of(task.role, task.step, tokens * self.pace.token, walls)
        text = self._vote(words) if task.step == "vote" else words
        self.batches[-1].append(Asked(request, tokens))
        self.said.add(text)
        return Reply(text, request.model, NOTHING)

    def _vote(self, reason: str) -> str:
        objects = any(self.pace.objecting)
        ends = {"kind": "fact", "what": reason[:40]} if objects else None
        choice = "object" if objects else "approve"
        return json.dumps({"choice": choice, "reason": reason, "rests_on": ["T1"], "would_settle_it": ends})

    def unjudged(self, assignment: Assignment) -> Assignment:
        """The same assignment, in which filler is as good as a turn."""

        def useless(text: str) -> str | None:
            return None if text in self.said else assignment.useless(text)

        def lacking(text: str) -> str | None:
            return None if text in self.said else assignment.lacking(text)

        return replace(assignment, useless=useless, lacking=lacking)


@dataclass(frozen=True)
class _Foreseeing(Drafting):
    """Drafting that asks nobody."""

    filler: _Filler = field(default_factory=lambda: _Filler(PACES.expected))

    async def all(self, assignments: Sequence[Assignment], kept: Kept = NOTHING_KEPT) -> tuple[Draft | Failure, ...]:
        filler = self.filler
        filler.batches.append([])
        drafts = await super().all([filler.unjudged(each) for each in assignments], kept)
        for draft in drafts:
            assert isinstance(draft, Draft), "filler never fails"
            filler.reused += draft.reused
            if draft.text in filler.said:
                filler.new.append(NewCall(draft.seat.slot, draft.step, draft.seat.agent, draft.route))
        return drafts


async def _go_through(plan: Plan, topic: str, replayed: Replayed, link: Link, filler: _Filler) -> None:
    boundless = plan.model_copy(update={"limits": NO_LIMITS})
    drafting = _Foreseeing(lambda route: filler, lambda event: None, replayed=replayed, filler=filler)
    with TemporaryDirectory() as folder, await in_thread(Hall.open, folder) as scratch:
        await in_thread(open_debate, scratch, boundless, link.thread_id, topic, link)
        await hold_debate(scratch, boundless, link.thread_id, drafting)
