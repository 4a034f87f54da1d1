"""A run that stopped, and all that is needed to go on with it: the plan in force, its folder, what may be changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.agent import load_agent
from orchestrator.budget import Budget, require_prices
from orchestrator.errors import ConfigurationError, UsageError
from orchestrator.evidence import file_digest
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.journal import Journal
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.models_file import route_names
from orchestrator.plan import Changes, Plan
from orchestrator.recipe import Recipe, load_recipe, with_ending
from orchestrator.replayed import plan_in_force
from orchestrator.runner import Run
from orchestrator.shelves import folders
from orchestrator.wanted import DEFAULT_MODELS, Wanted, bring_keys, endpoints_of, routing_of


@dataclass(frozen=True, slots=True)
class Resumable:
    """A debate that a run opened, and the journal of its runs.

    `plan` is the pinned one with what was changed since; `folder` is where the run's files were to go, `adr` the folder
    of records that the decision was to go into.
    """

    debate: Debate
    journal: Journal
    plan: Plan
    folder: Path | None
    adr: Path | None

    @property
    def as_run(self) -> Run:
        """A debate that is closed, as the run that ended it."""
        return Run(self.debate, self.journal.spent, (), self.journal.uncertain)

    def folder_else(self, default: Path) -> Path:
        """Where the run's files go: where they were to go, if that place is still there."""
        return self.folder if self.folder is not None and self.folder.parent.is_dir() else default


def resumable(hall: Hall, thread_id: str) -> Resumable:
    """Reads what a run left behind.

    Raises:
        UnknownThread
        LedgerBroken: nothing is built on a ledger or a journal that does not verify.
        UsageError: no run opened the debate, or it is an answer.
    """
    debate = hall.debate(thread_id)
    about = debate.answers
    if about is not None:
        raise UsageError(
            f"{debate.state.thread_id} answers a question about {about.thread_id}: it is no debate to go on with.",
            f'Ask again, nothing is bought twice: debate-hall ask {about.thread_id} "…"',
        )
    if debate.plan is None:
        raise UsageError(
            f"{debate.state.thread_id} is held by hand: it has no plan to go on with.",
            "Take its next turn by hand: add_turn, over MCP (debate-hall serve).",
        )
    return left_behind(hall, debate, debate.plan)


def left_behind(hall: Hall, debate: Debate, pinned: str) -> Resumable:
    """Reads what the runs of a thread left behind, an answer's too.

    Args:
        pinned: the text of its plan.

    Raises:
        LedgerBroken
    """
    thread_id = debate.state.thread_id
    journal = Journal.to_read(hall, thread_id)
    plan = plan_in_force(Plan.decode(pinned), journal)
    folder = next((record.folder for record in reversed(journal.begun) if record.folder), None)
    adr = next((record.adr for record in reversed(journal.begun) if record.adr), None)
    return Resumable(debate, journal, plan, Path(folder) if folder else None, Path(adr) if adr else None)


def changes_wanted(found: Resumable, wanted: Wanted, environment: MutableMapping[str, str]) -> Changes:
    """What somebody who resumes a run wants to be otherwise, judged before anything is begun.

    Args:
        wanted: of it count the voices, the models file that knows their addresses and prices, the limits, the assumed
            price and what happens on failure; those that are given take the place of the ones so far.
        environment: where keys are looked for; those that stand elsewhere are put into it.

    Raises:
        UsageError: a model cannot be used, or a limit cannot be kept.
    """
    named = {role: tuple(routes) for role, routes in wanted.voices.items() if routes}
    if wanted.models != DEFAULT_MODELS and not named:
        raise UsageError(
            f"The models file {wanted.models} changes nothing by itself: a run goes on with the models of its start.",
            "Name the models to ask from here on, for Wind, Wall or Door.",
        )
    routes_named = {route for texts in named.values() for text in texts for route in route_names(text)}
    if REHEARSAL in routes_named and not found.plan.is_rehearsal:
        raise UsageError(
            "A debate between models cannot go on with the rehearsal: its worksheet would pass for a turn.",
            "Name a model.",
        )
    bring_keys(environment, found.plan.endpoints_in_use)
    routing = routing_of(wanted.models, environment, named) if named else None
    asked = {
        route.model: route.endpoint
        for role in named
        for routes in (routing.flags[role] if routing else ())
        for route in routes
    }
    known = endpoints_of({**found.plan.endpoints_in_use, **asked}, wanted.assumed)
    changes = Changes(
        routes=named,
        endpoints={route: endpoint for route, endpoint in known.items() if endpoint != found.plan.endpoint(route)},
        limits=wanted.limits,
        on_failure=wanted.on_failure,
    )
    plan = found.plan.with_changes(changes)
    require_prices(plan.endpoints_in_use.items(), plan.limits)
    Budget(plan.limits, found.journal.spent_at_most)  # which refuses a limit that cannot be kept
    return changes


def changed_files(plan: Plan) -> Iterator[str]:
    """What a run was begun with and now reads otherwise where it came from; the run goes on with what is pinned."""
    recipe = plan.recipe
    if _differs(partial(_as_begun, recipe), _compared(recipe)):
        yield f"the recipe {recipe.name}"
    for name, pinned in plan.agents.items():
        if _differs(partial(_agent_text, name), pinned.text):
            yield f"the agent {name}"
    for piece in plan.evidence:
        is_file = piece.kind in ("file", "adr")  # what standard input held is gone, and revisions may be named anew
        if is_file and _differs(partial(file_digest, piece.path, Path.cwd()), piece.sha256):
            yield f"{piece.id} ({piece.path})"


def _as_begun(recipe: Recipe) -> dict[str, Any]:
    """The recipe as its file reads now, with the votes and the early close that the start may have asked for itself."""
    found = load_recipe(recipe.name, folders("recipes"))
    return _compared(with_ending(found, recipe.consensus.required, recipe.early_close))


def _compared(recipe: Recipe) -> dict[str, Any]:
    return recipe.model_dump(exclude={"tier", "seats"})  # `--tier` replaces those


def _agent_text(name: str) -> str:
    return load_agent(name, folders("agents")).text


def _differs(load: Callable[[], object], pinned: object) -> bool:
    """Whether what can be loaded now is another; what is gone or broken has no say."""
    try:
        return load() != pinned
    except ConfigurationError:
        return False
