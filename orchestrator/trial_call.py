"""Tiny real calls: whether a route answers at all, and from Door's the JSON its account is made of."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import groupby

import anyio

from orchestrator.decision.account import Account
from orchestrator.errors import CutOff, ModelError
from orchestrator.hall.terms import Role
from orchestrator.instructions import account_instruction
from orchestrator.models.base import Message, Reply, Request, Shape, Task
from orchestrator.models.guarded import Guarded
from orchestrator.models.switchboard import Switchboard
from orchestrator.route import Route
from orchestrator.structured import Unreadable, read, schema_of

_LONGEST_S = 120.0  # a local server may have to load its model first
_WORDS = 2000  # tokens: some think before they say one word
_QUESTION = "This only asks whether you can be reached. Answer with the one word: ready."
_SYNTHESIS = (
    "The service keeps its one database. A second one would need a person on call whom the team does not have. "
    "The team looks at it again in a year."
)


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a route's calls. `problem` is empty where it answered, `structured` None where it was not asked."""

    seconds: float
    problem: str = ""
    structured: str | None = None  # empty: the JSON was as it must be


async def trials(
    routes: Sequence[Route], structured: Iterable[str], clock: Callable[[], float] = time.monotonic
) -> dict[str, Trial]:
    """Asks each route, those of one server one after the other.

    Args:
        structured: the routes that are also asked for JSON.
        clock: seconds, from any moment.
    """
    found: dict[str, Trial] = {}
    account_too = set(structured)

    async def ask_all(models: Switchboard, queue: Sequence[Route]) -> None:
        for route in queue:
            found[route.model] = await _trial(models, route, route.model in account_too, clock)

    def server(route: Route) -> str:
        return route.endpoint.server(route.model)

    async with aclosing(Switchboard()) as models, anyio.create_task_group() as tasks:
        for _, queue in groupby(sorted(routes, key=server), server):
            tasks.start_soon(ask_all, models, list(queue))
    return found


async def _trial(models: Switchboard, route: Route, account_too: bool, clock: Callable[[], float]) -> Trial:
    begun = clock()
    try:
        await _ask(models, route, _QUESTION)
    except CutOff:
        pass  # it answered, and thought for longer than it was given
    except ModelError as error:
        return Trial(clock() - begun, str(error))
    seconds = clock() - begun
    return Trial(seconds, structured=await _account(models, route) if account_too else None)


async def _account(models: Switchboard, route: Route) -> str:
    """What is wrong with a route's structured answer, in words; nothing where it can be read."""
    task = Task("account", Role.DOOR, "doctor", None, 1, 1, last=True, topic=_QUESTION)
    question = f"{_SYNTHESIS}\n\n{account_instruction(task, (), ())}"
    try:
        reply = await _ask(models, route, question, Shape("account", schema_of(Account)))
        read(reply.text, Account)
    except ModelError as error:
        return str(error)
    except Unreadable as error:
        return error.problems[0]
    return ""


async def _ask(models: Switchboard, route: Route, question: str, shape: Shape | None = None) -> Reply:
    endpoint = route.endpoint
    request = Request(
        model=route.model,
        messages=(Message("system", "You take part in a debate between models."), Message("user", question)),
        task=Task("account" if shape else "turn", Role.DOOR, "doctor", None, 1, 1, last=False, topic=_QUESTION),
        max_output_tokens=min(_WORDS, endpoint.max_output_tokens or _WORDS),
        timeout_s=min(_LONGEST_S, endpoint.timeout_s or _LONGEST_S),
        temperature=endpoint.temperature,
        endpoint=endpoint,
        shape=shape,
    )
    return await Guarded(models.of(route.model)).complete(request)
