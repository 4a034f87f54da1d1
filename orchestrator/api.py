"""Whole debates from Python, in the words of the command line: nothing is printed, and nothing written but the hall.

`run_debate` holds one and `resume_debate` goes on with one that stopped; their twins with `_sync` are for programs
without an event loop. docs/python.md has examples.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, get_args

import anyio
from pydantic import ValidationError

from orchestrator.background import hold
from orchestrator.drafts import Paid
from orchestrator.earlier import Earlier, earlier_decision
from orchestrator.errors import RunPaused, UsageError
from orchestrator.events import Reader
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import require_thread_id, require_words
from orchestrator.hall.terms import Role, Status
from orchestrator.models.base import CLIENT, Model
from orchestrator.models.switchboard import Switchboard
from orchestrator.opening import open_at_free_id
from orchestrator.outcome import Outcome
from orchestrator.own_task import in_own_task
from orchestrator.plan import OnFailure, Plan
from orchestrator.quote import with_baseline
from orchestrator.recipe import Limits, Recipe, load_recipe
from orchestrator.resuming import changes_wanted, resumable
from orchestrator.taking_up import FIRST, TakeUp
from orchestrator.thread_id import ids_for
from orchestrator.wanted import DEFAULT_MODELS, Wanted, prepare_recipe
from orchestrator.worker import in_thread

P = ParamSpec("P")
T = TypeVar("T")

Names = str | Sequence[str]
Paths = str | Path | Sequence[str | Path]


async def run_debate(
    topic: str,
    *,
    recipe: str | Path | Recipe = "standard",
    tier: str | int | None = None,
    models: str | Path = DEFAULT_MODELS,
    wind: Names = (),
    wall: Names = (),
    door: Names = (),
    model: Model | None = None,
    rehearse: bool = False,
    context: Paths = (),
    context_limit: int | None = None,
    adr: Paths = (),
    since: str | None = None,
    cost_limit: Decimal | float | str | None = None,
    token_limit: int | None = None,
    time_limit: float | None = None,
    assume_price: str | None = None,
    on_failure: OnFailure | None = None,
    consensus: bool | None = None,
    early_close: bool | None = None,
    baseline: bool = False,
    thread_id: str | None = None,
    hall: Hall | None = None,
    on_event: Reader | None = None,
) -> Outcome:
    """Holds a structured debate and returns what it came to. The options are those of `run-debate`.

    Args:
        topic: the question, at most 12,000 characters.
        recipe: a name, a file, or what `load_recipe` returned.
        tier: other agents: `1`, `2`, `3:security`, `3:innovation`, `3:architecture`.
        models: the models file, by name or path.
        wind, wall, door: the models of a role, the first and its fallbacks; they win over the models file.
        model: speaks for every role for which no model is named: one of your own, say.
        rehearse: ask no model; write the worksheets of a debate that people hold.
        context: evidence: files, folders, globs, `git:main..HEAD`.
        context_limit: the most tokens of evidence, 4 bytes to each.
        adr: folders of earlier decisions, as evidence.
        since: the thread whose decision it starts from, to supersede or confirm it; with what has changed, as evidence.
        cost_limit, token_limit, time_limit: US dollars, tokens in and out together, seconds: no more is taken.
        assume_price: what a model of unknown price costs, `IN/OUT` in US dollars per million tokens.
        on_failure: `pause`, or `degrade`: go on without a seat that cannot be heard.
        consensus, early_close: whether Wind and Wall vote, whether it ends once nothing is open; None: the recipe's.
        baseline: have as many single answers given beside it as its cost buys, and tell what they chose.
        thread_id: None makes one of the date and the topic's words.
        hall: one that is open, which is left open; None opens the user's and closes it.
        on_event: called with each event of the run, in the event loop's thread: it must be quick.

    Raises:
        UsageError, InvalidInput, ThreadExists: it cannot be as it was asked for; nothing was begun.
        RunPaused: it stopped before its end, and can be resumed; its `thread_id` says which.
        StoppedByLimit: the same, since what comes next does not fit a limit.
        StoreError: the hall cannot be used.

    A task that is cancelled pauses the run, as Ctrl-C does on the command line.
    """
    require_words(topic, "topic")
    if thread_id is not None:
        require_thread_id(thread_id)
    wanted = Wanted(
        tier=None if tier is None else str(tier),
        models=str(models),
        voices=_voices(wind, wall, door, model),
        rehearse=rehearse,
        context=_listed(context),
        limits=_limits(cost_limit, token_limit, time_limit),
        assumed=assume_price,
        on_failure=_on_failure(on_failure),
        consensus=consensus,
        early_close=early_close,
        adr=_listed(adr),
        context_limit=context_limit,
    )
    earlier = await _earlier(hall, since)
    plan = await in_thread(_plan, recipe, replace(wanted, earlier=earlier))
    if baseline:
        plan = await in_thread(with_baseline, plan, topic)
    Switchboard(model).require(plan.routes)
    link = earlier.link if earlier else None
    async with _open(hall) as place:
        ids = ids_for(topic, datetime.now().astimezone().date())
        opened = await in_thread(open_at_free_id, place, plan, topic, thread_id, ids, link)
        return await _held(place, plan, opened, FIRST, model, on_event)


async def resume_debate(
    thread_id: str,
    *,
    models: str | Path = DEFAULT_MODELS,
    wind: Names = (),
    wall: Names = (),
    door: Names = (),
    model: Model | None = None,
    cost_limit: Decimal | float | str | None = None,
    token_limit: int | None = None,
    time_limit: float | None = None,
    assume_price: str | None = None,
    on_failure: OnFailure | None = None,
    hall: Hall | None = None,
    on_event: Reader | None = None,
) -> Outcome:
    """Goes on with a debate that stopped; nothing is bought twice. One that has ended is returned as it is.

    Args:
        thread_id: `RunPaused.thread_id`, or one that `Hall.list_debates` names.
        model: the one of your own that the debate was begun with.
        wind, wall, door, models, cost_limit, token_limit, time_limit, assume_price, on_failure: what is to be otherwise
            from here on; see `run_debate`.

    Raises:
        UnknownThread, RunHeld: there is no such debate, or another process runs it.
        UsageError: no run opened it, or it cannot go on as it was asked for.
        RunPaused, StoppedByLimit, StoreError: as `run_debate` says.
    """
    limits = _limits(cost_limit, token_limit, time_limit)
    named = _voices(wind, wall, door, None)
    wanted = Wanted(
        models=str(models), voices=named, limits=limits, assumed=assume_price, on_failure=_on_failure(on_failure)
    )
    async with _open(hall) as place:
        found = await in_thread(resumable, place, thread_id)
        if found.debate.state.status is not Status.ACTIVE:
            return Outcome.of(found.as_run, found.plan)
        changes = await in_thread(changes_wanted, found, wanted, os.environ)
        plan = found.plan.with_changes(changes)
        Switchboard(model).require(plan.routes)
        return await _held(place, plan, found.debate.state.thread_id, TakeUp(changes=changes), model, on_event)


async def _held(
    hall: Hall, plan: Plan, thread_id: str, how: TakeUp, model: Model | None, on_event: Reader | None
) -> Outcome:
    readers = [on_event] if on_event else []
    try:
        ended = await in_own_task(partial(hold, hall, plan, thread_id, Paid(), *readers, how=how, client=model))
    except RunPaused as paused:
        paused.thread_id = thread_id
        paused.add_note(f"Go on with it: resume_debate({thread_id!r})")
        raise
    return Outcome.of(ended, plan)


def _plan(recipe: str | Path | Recipe, wanted: Wanted) -> Plan:
    loaded = recipe if isinstance(recipe, Recipe) else load_recipe(recipe)
    return prepare_recipe(loaded, wanted, os.environ, Path.cwd())


async def _earlier(hall: Hall | None, since: str | None) -> Earlier | None:
    if since is None:
        return None
    async with _open(hall) as place:
        return await in_thread(earlier_decision, place, since)


@asynccontextmanager
async def _open(hall: Hall | None) -> AsyncIterator[Hall]:
    if hall is not None:
        yield hall
        return
    opened = await in_thread(Hall.open)
    try:
        yield opened
    finally:
        opened.close()


def _voices(wind: Names, wall: Names, door: Names, model: Model | None) -> Mapping[Role, Sequence[str]]:
    named = {Role.WIND: _listed(wind), Role.WALL: _listed(wall), Role.DOOR: _listed(door)}
    return {role: names or ((CLIENT,) if model is not None else ()) for role, names in named.items()}


def _listed(given: Paths) -> tuple[str, ...]:
    """One name or several; a text alone is one, not its letters."""
    return (str(given),) if isinstance(given, str | Path) else tuple(map(str, given))


def _limits(cost_usd: Decimal | float | str | None, tokens: int | None, seconds: float | None) -> Limits:
    try:
        cost = None if cost_usd is None else Decimal(str(cost_usd))  # a float's digits, not its bits
        return Limits(cost_usd=cost, tokens=tokens, seconds=seconds)
    except InvalidOperation as error:
        raise UsageError(f"cost_limit is {cost_usd!r:.80}.", "Give US dollars, such as 2.50.") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"The limit on {first['loc'][0]} is {first['input']!s:.80}: {first['msg']}.") from error


def _on_failure(given: OnFailure | None) -> OnFailure | None:
    if given not in (None, *get_args(OnFailure)):
        raise UsageError(f"on_failure is {given!r:.80}.", f"Choose {' or '.join(get_args(OnFailure))}.")
    return given


def _sync(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return anyio.run(partial(function, *args, **kwargs))
        raise UsageError(
            f"{call.__name__} cannot wait inside a running event loop.", f"Write `await {function.__name__}(…)` there."
        )

    call.__name__ = call.__qualname__ = f"{function.__name__}_sync"
    call.__doc__ = f"The same as `{function.__name__}`, for programs without an event loop; Ctrl-C pauses the run."
    return call


run_debate_sync = _sync(run_debate)
resume_debate_sync = _sync(resume_debate)
