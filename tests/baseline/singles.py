"""A table at which those who answer alone say which decision theirs is as the test wants it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import anyio

from building import account_text, placing_text, priced, vote_text
from cli.in_process import Table
from orchestrator.baseline import ALONE
from orchestrator.errors import AuthenticationFailed, ModelError
from orchestrator.hall.terms import Role
from orchestrator.models.base import Reply, Request

DECIDED = "It is done step by step."  # as the account says
LEFT = "Leave it"  # an option that is not taken
THREAD = "2026-01-06-billing"
TOPIC = "Should we move billing to Kafka?"

_OPTIONS = [
    {"title": "Step by step", "turns": [1, 2], "taken": True, "why": "It works.", "because": ["T1", "T2"]},
    {"title": LEFT, "turns": [1], "taken": False, "why": "It costs.", "because": ["T2"]},
]


class Singles(Table):
    """Whoever answers alone says in turn that its answer is one of `choices`: a decision's text, None for none of them,
    "" for no decision. Which decision is the debate's, nobody is told."""

    choices: Sequence[str | None] = (DECIDED,)
    says_of_votes: str = "approve"
    meeting: anyio.Event | None = None  # the first who answers alone and Wind wait for each other
    deaf: frozenset[str] = frozenset()  # steps at which those who answer alone cannot be heard

    def __init__(self) -> None:
        super().__init__()
        self._came: set[bool] = set()

    async def complete(self, request: Request) -> Reply:
        await self._meet(request)
        if request.task.agent == ALONE and request.task.step in self.deaf:
            self.asked.append(request)
            raise self._refusal(request)
        if request.task.step == "vote":
            self.asked.append(request)
            return priced(vote_text(self.says_of_votes), self.cost)
        if request.task.step == "place":
            self.asked.append(request)
            return priced(self._placing(request), self.cost)
        if request.task.step == "account":
            self.asked.append(request)
            return priced(account_text(options=_OPTIONS), self.cost)
        return await super().complete(request)

    async def _meet(self, request: Request) -> None:
        """A debate that waited for those who answer alone, or they for it, would wait here for ever."""
        if self.meeting is not None and (request.task.agent == ALONE or request.task.role == Role.WIND):
            self._came.add(request.task.agent == ALONE)
            if len(self._came) == 2:
                self.meeting.set()
            with anyio.fail_after(10):
                await self.meeting.wait()

    @property
    def alone(self) -> list[Request]:
        return [request for request in self.asked if request.task.agent == ALONE]

    def _placing(self, request: Request) -> str:
        placed = sum(each.task.step == "place" for each in self.asked) - 1
        choice = self.choices[placed % len(self.choices)]
        if choice == "":
            return placing_text(None, decides=False)
        shown = dict(re.findall(r"^(\d+)\. (.*)$", request.messages[-1].text, re.MULTILINE))
        numbers = [int(number) for number, text in shown.items() if text == choice]
        return placing_text(numbers[0] if numbers else None)

    @staticmethod
    def _refusal(request: Request) -> ModelError:
        return AuthenticationFailed("the key is wrong", model=request.model)
