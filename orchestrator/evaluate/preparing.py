"""What is asked for, briefs, arms, recipes, models, becomes an evaluation that can be held."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from orchestrator.budget import require_prices
from orchestrator.errors import UsageError
from orchestrator.evaluate.arm import Arm, arms_named
from orchestrator.evaluate.arms import Allowed
from orchestrator.evaluate.asked import fence_of, topic_of
from orchestrator.evaluate.brief import Brief, load_briefs
from orchestrator.evaluate.planted import require_sound
from orchestrator.hall.terms import Role
from orchestrator.plan import Plan
from orchestrator.quote import quote_of
from orchestrator.recipe import Limits, load_recipe
from orchestrator.wanted import DEFAULT_MODELS, Wanted, prepare_recipe

DEFAULT_RECIPE = "standard"  # whose routes are asked and whose cost is equalled, where no arm is a recipe


@dataclass(frozen=True, slots=True)
class Sought:
    """What was asked for.

    Args:
        briefs: a folder of them, and `ids`, those of it that are asked; none named are all.
        arms: their names, several in one text with commas between.
        limit_usd: what all calls together may take.
        repeats: how often each arm answers each brief.
        equal_to: the recipe whose cost `refine` and `majority` equal and whose routes all but recipes ask; None: that
            of the first arm that is one.
        models, voices, assumed: as `wanted.Wanted` says.
    """

    briefs: Path
    arms: Sequence[str]
    limit_usd: Decimal
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
        plans: of each recipe, without a brief.
        equal_to: the recipe whose cost is equalled.
    """

    folder: Path
    models: str
    briefs: tuple[Brief, ...]
    arms: tuple[Arm, ...]
    plans: Mapping[str, Plan]
    equal_to: str
    repeats: int
    limit_usd: Decimal

    @property
    def measured(self) -> Arm | None:
        """The arm whose cost is equalled; None where that recipe is no arm, and its cost is quoted."""
        return next((arm for arm in self.arms if arm.recipe == self.equal_to), None)

    def plan(self, arm: Arm, brief: Brief) -> Plan:
        """What an arm goes by at a brief."""
        plan = self.plans[arm.recipe or self.equal_to]
        return plan.model_copy(update={"evidence": brief.documents, "fence": fence_of(brief)})

    def quoted(self, brief: Brief) -> Allowed:
        """What the recipe whose cost is equalled would take on a brief.

        Raises:
            UsageError: nobody can tell.
        """
        plan = self.plans[self.equal_to].model_copy(update={"evidence": brief.documents, "fence": fence_of(brief)})
        quote = quote_of(plan, topic_of(brief))
        if quote is None or quote.cost_usd is None:
            cure = f"Make it an arm, recipe:{self.equal_to}, so that its cost is measured."
            raise UsageError(f"What {self.equal_to} would cost cannot be quoted.", cure)
        return Allowed(quote.cost_usd.expected, quote.tokens.expected)


def prepare(sought: Sought, environment: MutableMapping[str, str], base: Path) -> Evaluation:
    """Resolves what was asked for.

    Args:
        environment: where keys are looked for, as `wanted.prepare` says.
        base: the folder that relative paths start from.

    Raises:
        UsageError: it cannot be as it was asked for; nothing was asked of any model.
    """
    briefs = load_briefs(sought.briefs, sought.ids)
    for brief in briefs:
        require_sound(brief, sought.briefs / brief.id)
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
