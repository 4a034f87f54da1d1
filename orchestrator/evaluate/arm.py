"""Arms by their names: `single`, `refine`, `majority`, `recipe:NAME`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, cast, get_args

from orchestrator.errors import UsageError
from orchestrator.hall.terms import Role
from orchestrator.plan import Plan, PlannedSeat
from orchestrator.shelves import ENDINGS, is_path
from orchestrator.strict_yaml import did_you_mean

Kind = Literal["single", "refine", "majority", "recipe"]

_KNOWN = "There are single, refine and majority, each also with :wind, :wall or :door, and recipe:NAME."
_ROLES = {role.lower(): role for role in Role}


class Arm(NamedTuple):
    """One way to answer a brief.

    Args:
        name: as results name it.
        role: whose route is asked; None: that of the last Door, and for `majority` those of all seats in turn.
        recipe: of `recipe:NAME`, a name or a file.
    """

    name: str
    kind: Kind
    role: Role | None = None
    recipe: str = ""

    @property
    def is_equalled(self) -> bool:
        """Whether it may take what a recipe takes; `single` is one call whatever that costs."""
        return self.kind in ("refine", "majority")

    def seats(self, plan: Plan) -> tuple[PlannedSeat, ...]:
        """Whose routes are asked, in turn: of a plan's seats each route once, the last Door's first."""
        door = plan.rounds[-1].doors[-1]
        if self.role is not None:
            return (plan.rounds[0].of(self.role)[0],)
        by_routes = {door.routes: door}
        if self.kind == "majority":
            for seat in (seat for planned in plan.rounds for seat in planned.seats):
                by_routes.setdefault(seat.routes, seat)
        return tuple(by_routes.values())

    @classmethod
    def named(cls, text: str) -> Arm:
        """Reads `majority`, `single:wall`, `recipe:fortress`.

        Raises:
            UsageError: there is no such arm.
        """
        kind, colon, rest = text.strip().partition(":")
        kind = kind.lower()
        if kind == "recipe" and rest:
            recipe = rest if is_path(rest, ENDINGS["recipes"]) else rest.lower()
            return cls(f"recipe:{recipe}", "recipe", recipe=recipe)
        if kind not in get_args(Kind) or kind == "recipe" or (colon and rest.lower() not in _ROLES):
            near = did_you_mean(kind, get_args(Kind)) if kind not in get_args(Kind) else ""
            raise UsageError(f"There is no arm {text.strip()!r:.80}.", f"{near} {_KNOWN}".strip())
        return cls(text.strip().lower(), cast(Kind, kind), _ROLES.get(rest.lower()))


def arms_named(texts: Iterable[str]) -> tuple[Arm, ...]:
    """Reads arms, several of them in one text with commas between.

    Raises:
        UsageError: there is none, or no such arm, or one twice.
    """
    arms = [Arm.named(name) for text in texts for name in text.split(",")]
    for place, arm in enumerate(arms):
        if arm in arms[:place]:
            raise UsageError(f"The arm {arm.name} is named twice.", "Name it once; --repeat asks it more often.")
    if not arms:
        raise UsageError("No arm is named.", _KNOWN)
    return tuple(arms)
