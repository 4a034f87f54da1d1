"""Recipes: what a user declares about a debate, one YAML file each (DESIGN section 4).

A recipe either gives its seats or a tier, which stands for seats; `TIERS` is the table. The shapes below are the file's
format, key for key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from unicodedata import category

from pydantic import AfterValidator, Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from orchestrator.errors import ConfigurationError, UsageError
from orchestrator.hall.terms import Mode, Role
from orchestrator.layout import RoundShape, Slot, check_ratio, lay_out, seat_order
from orchestrator.shelves import ENDINGS, is_path, standing
from orchestrator.shelves import folders as usual_folders
from orchestrator.strict_yaml import Shape, did_you_mean, fault, load, read
from orchestrator.usage import MOST
from orchestrator.wording import counted

SUFFIXES = ENDINGS["recipes"]

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def _one_line(text: str) -> str:
    line = text.strip()
    if not line:
        raise fault("must not be blank.")
    if len(line) > 200 or any(category(character) in ("Cc", "Zl", "Zp") for character in line):
        raise fault("must be one line of at most 200 characters.")
    return line


@contextmanager
def _refusals_at(*at: str) -> Iterator[None]:
    """Gives a rule's refusal its place in the file."""
    try:
        yield
    except UsageError as refused:
        raise fault(refused.message, refused.cure, at=at) from refused


def _at_least_one(part: int) -> int:
    if part < 1:
        raise fault(f"must be at least 1, not {part}.", "Every role speaks in every round.")
    return part


Line = Annotated[str, AfterValidator(_one_line)]
Part = Annotated[int, AfterValidator(_at_least_one)]


class Seat(Shape):
    """A place at the table: an agent and, where one agent sits more than once, the angle this one takes."""

    agent: Line
    lens: Line | None = None

    @model_validator(mode="before")
    @classmethod
    def _agent_alone(cls, data: Any) -> Any:
        return {"agent": data} if isinstance(data, str) else data


class Seats(Shape):
    wind: tuple[Seat, ...]
    wall: tuple[Seat, ...]
    door: tuple[Seat, ...]

    @field_validator("wind", "wall", "door")
    @classmethod
    def _each_says_its_own(cls, seats: tuple[Seat, ...]) -> tuple[Seat, ...]:
        if not seats:
            raise fault("holds no seat.", "Name at least one agent.")
        for number, seat in enumerate(seats):
            if seat in seats[:number]:
                raise fault(
                    f"{seat.agent} sits here twice with the same lens and would say the same thing twice.",
                    f"Give each its own lens: {{agent: {seat.agent}, lens: …}}.",
                    at=(number,),
                )
        return seats


def _row(agents: str) -> tuple[Seat, ...]:
    return tuple(Seat(agent=agent) for agent in agents.split())


def _seats(wind: str, wall: str, door: str) -> Seats:
    return Seats(wind=_row(wind), wall=_row(wall), door=_row(door))


TIERS = {
    "1": _seats("wind-agent", "wall-agent", "door-agent"),
    "2": _seats("ideator edge-optimizer", "validator critical-engineer", "synthesizer"),
    "3:security": _seats("edge-optimizer", "critical-engineer", "technical-architect"),
    "3:innovation": _seats("ideator", "validator", "synthesizer"),
    "3:architecture": _seats("ideator", "critical-engineer", "holistic-orchestrator"),
}


class Ratio(Shape):
    wind: Part
    wall: Part
    door: Part

    @property
    def parts(self) -> tuple[int, int, int]:
        return self.wind, self.wall, self.door


class Consensus(Shape):
    """Whether Wind and Wall vote on the synthesis, and how often Door may refine it."""

    required: bool = False
    refinements: Annotated[int, Field(ge=0, le=20)] = 2


class Limits(Shape):
    """What a debate may cost: US dollars, tokens in and out together, seconds by the wall clock. None is no limit."""

    cost_usd: Annotated[Decimal, Field(gt=0, le=MOST)] | None = None
    tokens: Annotated[int, Field(gt=0, le=MOST)] | None = None
    seconds: Annotated[float, Field(gt=0, le=MOST)] | None = None

    def __str__(self) -> str:
        told = [] if self.cost_usd is None else [f"${self.cost_usd:f}"]
        told += [] if self.tokens is None else [counted(self.tokens, "token")]
        told += [] if self.seconds is None else [f"{self.seconds:g} s"]
        return ", ".join(told)


NO_LIMITS = Limits()


class Recipe(Shape):
    """One recipe, complete and possible: its turns can be laid out and there is someone to take each.

    `tier` and `seats` stand as the file says, one of them given; `seats_of` answers for both.
    """

    name: str
    summary: Line
    mode: Mode
    turns: Annotated[int, Field(le=100_000)]
    ratio: Ratio
    tier: str | None = None
    seats: Seats | None = None
    wall: Literal["framework", "reactive"] = "framework"
    doors: Literal["sequential", "independent"] = "sequential"
    consensus: Consensus = Consensus()
    socratic: bool = False
    early_close: bool = False
    context: Literal["full", "synthesis"] = "full"
    limits: Limits = Limits()
    on_limit: Literal["stop", "close"] = "stop"

    _source: str = PrivateAttr("")

    @property
    def source(self) -> str:
        """The file it was loaded from; empty if it was made in code."""
        return self._source

    @property
    def shapes(self) -> tuple[RoundShape, ...]:
        """The rounds laid out."""
        return lay_out(self.turns, self.ratio.parts, self.mode)

    @property
    def slots(self) -> tuple[tuple[Slot, ...], ...]:
        """For each round its slots in speaking order; a slot's `seat` is an index into `seats_of(slot.role)`."""
        wind, wall, door = (len(self.seats_of(role)) for role in Role)
        return seat_order(self.shapes, (wind, wall, door))

    def seats_of(self, role: Role) -> tuple[Seat, ...]:
        """The role's seats, its own or its tier's."""
        seats = self.seats or TIERS[str(self.tier)]  # one of the two is given, see _can_be_held
        return {Role.WIND: seats.wind, Role.WALL: seats.wall, Role.DOOR: seats.door}[role]

    def model_post_init(self, context: Any) -> None:
        self._source = context["source"] if context else ""

    @field_validator("name")
    @classmethod
    def _is_the_files_name(cls, name: str, info: ValidationInfo) -> str:
        if not _NAME.fullmatch(name):
            raise fault(
                "must be small letters, digits and hyphens, a letter or digit first, at most 64.", "As in my-recipe."
            )
        stem = Path(info.context["source"]).stem.lower() if info.context else name
        if name != stem:
            raise fault(f"is {name}, but the file's name is {stem}.", "Make them the same.")
        return name

    @field_validator("tier")
    @classmethod
    def _is_a_tier(cls, tier: str | None) -> str | None:
        with _refusals_at():
            return None if tier is None else _tier_named(tier)

    @model_validator(mode="after")
    def _can_be_held(self) -> Self:
        if self.tier and self.seats:
            raise fault("stands beside seats, which it would replace.", "Keep one of them.", at=("tier",))
        if not self.tier and not self.seats:
            raise fault("This recipe has neither a tier nor seats.", "Write tier: 1, or seats for wind, wall and door.")
        with _refusals_at("ratio"):
            check_ratio(self.ratio.parts, self.mode)
        with _refusals_at("turns"):
            rounds = len(self.shapes)
        if self.socratic and rounds == 1:
            raise fault(
                "A Socratic debate asks in round 1 and takes positions after it, but there is only one round.",
                "Raise turns, or lower the ratio, so that there are two rounds.",
                at=("socratic",),
            )
        return self


def load_recipe(name_or_file: str | Path, folders: Sequence[Path] | None = None) -> Recipe:
    """Loads one recipe.

    Args:
        name_or_file: a name, in any case; or a file, if it ends in .yaml or .yml or holds a path separator.
        folders: where names are looked up, first match wins; None are the user's own and the bundled ones.

    Raises:
        ConfigurationError: there is no such recipe, or its file says something wrong.
    """
    if isinstance(name_or_file, Path) or is_path(name_or_file, SUFFIXES):
        return _read(Path(name_or_file))
    known = standing(usual_folders("recipes") if folders is None else folders, SUFFIXES)
    if name_or_file.lower() in known:
        return _read(known[name_or_file.lower()])
    cure = f"{did_you_mean(name_or_file, known)} There are {', '.join(known) or 'none'}.".strip()
    raise ConfigurationError(f"There is no recipe {name_or_file!r:.80}.", cure)


def list_recipes(folders: Sequence[Path]) -> tuple[Recipe, ...]:
    """Every recipe of `folders`, by name; of recipes that share a name, the first folder's.

    Raises:
        ConfigurationError: one of the files says something wrong.
    """
    return tuple(_read(path) for path in standing(folders, SUFFIXES).values())


def with_tier(recipe: Recipe, tier: str) -> Recipe:
    """The recipe with the seats of another tier.

    Args:
        recipe: one that has a tier.
        tier: a key of `TIERS`, in any case.

    Raises:
        UsageError: there is no such tier, or the recipe's own seats are its point.
    """
    named = _tier_named(tier)
    if recipe.tier is None:
        raise UsageError(
            f"The seats of {recipe.name} are its point, so that no tier can replace them.",
            "Leave out --tier, or choose a recipe that has a tier, such as standard.",
        )
    return recipe.model_copy(update={"tier": named})


def with_ending(recipe: Recipe, consensus: bool | None, early_close: bool | None) -> Recipe:
    """The recipe with votes on the synthesis or without, and with an early close or without; None leaves its own."""
    update: dict[str, Any] = {}
    if consensus is not None:
        update["consensus"] = recipe.consensus.model_copy(update={"required": consensus})
    if early_close is not None:
        update["early_close"] = early_close
    return recipe.model_copy(update=update)


def _tier_named(tier: str) -> str:
    if (named := tier.strip().lower()) in TIERS:
        return named
    domains = [known for known in TIERS if known.startswith("3:")]
    if named == "3":
        raise UsageError("Tier 3 goes by domain.", f"Choose {_either(domains)}.")
    raise UsageError(f"There is no tier {tier!r:.80}.", f"Choose {_either(list(TIERS))}.")


def _either(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _read(path: Path) -> Recipe:
    return load(read(path), source=str(path), shape=Recipe)
