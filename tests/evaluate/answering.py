"""Evaluations whose models answer by the request alone, so that the same is said whatever was interrupted before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio

from building import speech
from orchestrator.budget import Budget
from orchestrator.evaluate.answer import Answer
from orchestrator.evaluate.asked import ALONE
from orchestrator.evaluate.brief import Brief, load_brief
from orchestrator.evaluate.cassette import Cassette
from orchestrator.evaluate.evaluation import Evaluated, evaluate
from orchestrator.evaluate.preparing import Evaluation, Sought, prepare
from orchestrator.evaluate.recording import Live, Purse
from orchestrator.evaluate.results import Result
from orchestrator.hall.terms import Role
from orchestrator.models.base import Reply, Request
from orchestrator.usage import Usage

BRIEFS = Path(__file__).parents[2] / "evals" / "briefs"
ROUTES = {Role.WIND: "openai/gpt-4o-mini", Role.WALL: "openai/gpt-4o", Role.DOOR: "openai/gpt-4.1"}
KEYS = {"OPENAI_API_KEY": "asked-of-nobody"}
PRICE = Decimal("0.000001")

Says = Callable[[Request], str | None]


def brief(id: str = "001-parcel-scan-events") -> Brief:
    return load_brief(BRIEFS / id)


def answer(option: str = "B", **members: Any) -> str:
    told = {"constraints": (), "reasons": ("The contract asks for it.",), "statement": f"We take {option}."}
    return Answer(**{**told, "option": option, "citations": ("[E1:1]",), **members}).model_dump_json()


def is_answer(request: Request) -> bool:
    return request.shape is not None and request.shape.name == "answer"


@dataclass
class Voices:
    """A model for every route.

    Args:
        says: the text for a request; None leaves it to the usual.
        before: is called, and may wait, before each answer.
    """

    says: Says = lambda request: None
    before: Callable[[Request], Any] = lambda request: None
    requests: list[Request] = field(default_factory=list)

    def of(self, route: str) -> Voices:
        return self

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        await anyio.lowlevel.checkpoint()
        self.before(request)
        text = self.says(request) or _usual(request)
        read, written = sum(len(message.text) for message in request.messages) // 4, len(text) // 4
        return Reply(text, request.model, Usage(read, 0, written, PRICE * (read + 4 * written)))

    @property
    def asked(self) -> Counter[str]:
        """How often each agent was asked for each step."""
        return Counter(f"{request.task.agent} {request.task.step}" for request in self.requests)


def _usual(request: Request) -> str:
    """As long as chance, which is in the words of the request, will have it."""
    number = int(sha256(repr((request.messages, request.task.round)).encode()).hexdigest()[:6], 16)
    more = "The contract asks for seven days. " * (number % 20)
    if is_answer(request):
        return answer("ABCD"[number % 3], reasons=(f"Answer {number}.", f"Because. {more}"))
    if request.task.agent == ALONE:
        return f"Criticism {number}: it missed the contract. {more}"
    said = speech(request, number)
    return said if request.shape else f"{said}\n\n{more}"


def sought(*ids: str, arms: Sequence[str] = ("single", "majority", "recipe:speed"), **members: Any) -> Sought:
    voices = {role: (route,) for role, route in ROUTES.items()}
    told = {"briefs": str(BRIEFS), "arms": arms, "limit_usd": Decimal(50), "ids": ids or ("001",), "voices": voices}
    return Sought(**{**told, **members})


def prepared(*ids: str, **members: Any) -> Evaluation:
    return prepare(sought(*ids, **members), dict(KEYS), Path())


async def held(evaluation: Evaluation, folder: Path, voices: Voices, parallel: int = 4) -> Evaluated:
    with Cassette.recording(folder) as cassette, anyio.fail_after(60):
        live = Live(voices.of, Purse(Budget(evaluation.limits, cassette.spent)))
        return await evaluate(evaluation, cassette, live, parallel)


async def replayed(evaluation: Evaluation, folder: Path) -> Evaluated:
    with anyio.fail_after(60):
        return await evaluate(evaluation, Cassette.to_replay(folder), None, 4)


def reached(evaluated: Evaluated) -> list[Result]:
    """What was reached, without the time that it took."""
    results = evaluated.results.results
    return [one.model_copy(update={"spent": one.spent.model_copy(update={"seconds": 0.0})}) for one in results]
