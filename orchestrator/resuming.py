"""A run that stopped, and all that is needed to go on with it: the plan in force, its folder, what may be changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

from orchestrator.agent import load_agent
from orchestrator.errors import ConfigurationError, UsageError
from orchestrator.evidence import gather
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Begun
from orchestrator.hall.terms import Role
from orchestrator.plan import Changes, OnFailure, Plan
from orchestrator.recipe import Limits, load_recipe
from orchestrator.shelves import folders
from orchestrator.wanted import endpoints_of, routing_of


@dataclass(frozen=True, slots=True)
class Resumable:
    """A debate that a run opened.

    `plan` is the pinned one with what was changed since; `folder` is where the run's files were to go.
    """

    debate: Debate
    plan: Plan
    folder: Path | None


def resumable(hall: Hall, thread_id: str) -> Resumable:
    """Reads what a run left behind.

    Raises:
        UnknownThread
        LedgerBroken: nothing is built on a ledger or a journal that does not verify.
        UsageError: no run opened the debate.
    """
    debate = hall.debate(thread_id)
    if debate.plan is None:
        raise UsageError(
            f"{thread_id} is held by hand: it has no plan to go on with.", "Add its next turn with add_turn."
        )
    begun = [line.record for line in hall.journal(thread_id) if isinstance(line.record, Begun)]
    changes = [Changes.model_validate_json(record.changes) for record in begun if record.changes]
    plan = reduce(Plan.with_changes, changes, Plan.decode(debate.plan))
    folder = next((record.folder for record in reversed(begun) if record.folder), None)
    return Resumable(debate, plan, Path(folder) if folder else None)


def changes_wanted(
    plan: Plan,
    voices: Mapping[Role, Sequence[str]],
    models: str,
    environment: Mapping[str, str],
    limits: Limits,
    assumed: str | None,
    on_failure: OnFailure | None,
) -> Changes:
    """What somebody who resumes a run wants to be otherwise.

    Args:
        voices: for a role the models to ask from now on, in order.
        models: the models file that knows their addresses and prices, by name or path.
        environment: where keys are looked for.
        limits: those that are given replace the ones so far.
        assumed: what a model without a known price is taken to cost, `IN/OUT` in US dollars per million tokens.

    Raises:
        UsageError: a model cannot be used.
    """
    named = {role: tuple(routes) for role, routes in voices.items() if routes}
    routing = routing_of(models, environment, named) if named else None
    asked = [route for role in named for route in (routing.flags[role] if routing else ())]
    known = {route.model: route.endpoint for route in asked}
    others = {route: plan.endpoint(route) for route in plan.routes} if assumed else {}
    return Changes(
        routes=named,
        endpoints=endpoints_of({**others, **known}, assumed),
        limits=limits,
        on_failure=on_failure,
    )


def changed_files(plan: Plan) -> Iterator[str]:
    """What a run was begun with and now reads otherwise where it came from; the run goes on with what is pinned."""
    recipe = plan.recipe
    if _differs(partial(_recipe, recipe.name), recipe.model_dump(exclude={"tier", "seats"})):
        yield f"the recipe {recipe.name}"
    for name, pinned in plan.agents.items():
        if _differs(partial(_agent_text, name), pinned.text):
            yield f"the agent {name}"
    for piece in plan.evidence:
        if _differs(partial(_file_digest, piece.path), piece.sha256):
            yield f"{piece.id} ({piece.path})"


def _recipe(name: str) -> dict[str, Any]:
    return load_recipe(name, folders("recipes")).model_dump(exclude={"tier", "seats"})  # `--tier` replaces those


def _agent_text(name: str) -> str:
    return load_agent(name, folders("agents")).text


def _file_digest(path: str) -> str:
    return gather([path], base=Path.cwd())[0].sha256


def _differs(load: Callable[[], object], pinned: object) -> bool:
    """Whether what can be loaded now is another; what is gone or broken has no say."""
    try:
        return load() != pinned
    except ConfigurationError:
        return False
