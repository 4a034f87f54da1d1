"""What is asked for, briefs, arms, recipes, models, becomes an evaluation that can be held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from orchestrator.budget import require_prices
from orchestrator.errors import UsageError
from orchestrator.evaluate.arm import Arm, arms_named
from orchestrator.evaluate.arms import Allowed
from orchestrator.evaluate.asked import Questions, fence_of, topic_of
from orchestrator.evaluate.brief import Brief, folder_of, load_briefs
from orchestrator.evaluate.planted import require_sound
from orchestrator.hall.terms import Role
from orchestrator.models.key_names import KEYS
from orchestrator.plan import Plan
from orchestrator.quote import Quote, quote_of, quote_of_call
from orchestrator.recipe import Limits, load_recipe
from orchestrator.route import Route
from orchestrator.wanted import DEFAULT_MODELS, Wanted, prepare_recipe

DEFAULT_RECIPE = "standard"  # whose routes are asked and whose cost is equalled, where no arm is a recipe


@dataclass(frozen=True, slots=True)
class Sought:
    """What was asked for.

    Args:
        briefs: a folder of them, or `bundled`, and `ids`, those of it that are asked; none named are all.
        arms: their names, several in one text with commas between.
        limit_usd: what all calls together may take; None where none is made.
        repeats: how often each arm answers each brief.
        equal_to: the recipe whose cost `refine` and `majority` equal and whose routes all but recipes ask; None: that
            of the first arm that is one.
        models, voices, assumed: as `wanted.Wanted` says.
    """

    briefs: str
    arms: Sequence[str]
    limit_usd: Decimal | None
    ids: Sequence[str] = ()
    repeats: int = 1
    equal_to: str | None = None
    models: str = DEFAULT_MODELS
    voices: Mapping[Role, Sequence[str]] = field(default_factory=dict)
    assumed: str | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that an evaluation goes by.

    Args:
        folder: that of the briefs, as it was named.
        plans: of each recipe, without a brief.
        equal_to: the recipe whose cost is equalled.
    """

    folder: str
    models: str
    briefs: tuple[Brief, ...]
    arms: tuple[Arm, ...]
    plans: Mapping[str, Plan]
    equal_to: str
    repeats: int
    limit_usd: Decimal | None

    @property
    def limits(self) -> Limits:
        return Limits(cost_usd=self.limit_usd)

    @property
    def measured(self) -> Arm | None:
        """The arm whose cost is equalled; None where that recipe is no arm, and its cost is quoted."""
        return next((arm for arm in self.arms if arm.recipe == self.equal_to), None)

    def plan(self, arm: Arm, brief: Brief) -> Plan:
        """What an arm goes by at a brief."""
        return self._with(self.plans[arm.recipe or self.equal_to], brief)

    def quoted(self, brief: Brief) -> Allowed:
        """What the recipe whose cost is equalled would take on a brief.

        Raises:
            UsageError: nobody can tell.
        """
        quote = quote_of(self._with(self.plans[self.equal_to], brief), topic_of(brief))
        if quote is None or quote.cost_usd is None:
            cure = f"Make it an arm, recipe:{self.equal_to}, so that its cost is measured."
            raise UsageError(f"What {self.equal_to} would cost cannot be quoted.", cure)
        return Allowed(quote.cost_usd.expected, quote.tokens.expected)

    def expected(self, arm: Arm) -> Decimal | None:
        """What an arm may be expected to take over all briefs and repetitions, in US dollars; None: nobody can tell."""
        quotes = [self._quote(arm, brief) for brief in self.briefs]
        costs = [quote.cost_usd.expected for quote in quotes if quote is not None and quote.cost_usd is not None]
        return self.repeats * sum(costs, Decimal(0)) if len(costs) == len(quotes) else None

    def _quote(self, arm: Arm, brief: Brief) -> Quote | None:
        plan = self.plan(arm, brief)
        if arm.kind != "single":
            return quote_of(plan, topic_of(brief))
        seat = arm.seats(plan)[0]
        return quote_of_call(Questions(brief, plan).answer(seat, 1).ask(seat.routes[0], None))

    @staticmethod
    def _with(plan: Plan, brief: Brief) -> Plan:
        return plan.model_copy(update={"evidence": brief.documents, "fence": fence_of(brief)})


def prepare(sought: Sought, environment: MutableMapping[str, str], base: Path) -> Evaluation:
    """Resolves what was asked for.

    Args:
        environment: where keys are looked for, as `wanted.prepare` says.
        base: the folder that relative paths start from.

    Raises:
        UsageError: it cannot be as it was asked for; nothing was asked of any model.
    """
    folder = folder_of(sought.briefs)
    briefs = load_briefs(folder, sought.ids)
    for brief in briefs:
        require_sound(brief, folder / brief.id)
    arms = arms_named(sought.arms)
    recipes = [arm.recipe for arm in arms if arm.recipe]
    equal_to = sought.equal_to or (recipes[0] if recipes else DEFAULT_RECIPE)
    plans = {name: _plan(name, sought, environment, base) for name in dict.fromkeys((*recipes, equal_to))}
    return Evaluation(
        folder=sought.briefs,
        models=sought.models,
        briefs=briefs,
        arms=arms,
        plans=plans,
        equal_to=equal_to,
        repeats=sought.repeats,
        limit_usd=sought.limit_usd,
    )


def _plan(name: str, sought: Sought, environment: MutableMapping[str, str], base: Path) -> Plan:
    wanted = Wanted(recipe=name, models=sought.models, voices=sought.voices, assumed=sought.assumed)
    plan = prepare_recipe(load_recipe(name), wanted, environment, base)
    if plan.is_rehearsal:
        raise UsageError("A rehearsal decides nothing, so there is nothing to evaluate.", "Name models.")
    require_prices(plan.endpoints_in_use.items(), Limits(cost_usd=sought.limit_usd))
    return plan


def keys_in(evaluation: Evaluation, environment: Mapping[str, str]) -> frozenset[str]:
    """The variables that hold the keys with which an evaluation asks."""
    routes = (Route(*each) for plan in evaluation.plans.values() for each in plan.endpoints_in_use.items())
    groups = (group for route in routes for group in route.needed_variables)
    return frozenset(name for group in groups for name in group if environment.get(name, "").strip())


def as_recorded(environment: Mapping[str, str], variables: Iterable[str]) -> dict[str, str]:
    """The environment with those keys and no others, so that the same routes are chosen; what is replayed needs none.

    Args:
        variables: the names of those that were there when it was recorded.
    """
    keys = {name for names in KEYS.values() for name in names}
    kept = {name: value for name, value in environment.items() if name not in keys}
    return {**kept, **{name: environment.get(name) or "replayed" for name in variables}}
