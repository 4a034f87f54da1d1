"""The reviews file: what is reviewed, when, by whom, and what becomes of it.

The shapes below are the file's format, key for key (docs/reviews.md). Paths in it start from the file's own folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, BeforeValidator, ValidationInfo, field_validator, model_validator

from orchestrator.errors import ConfigurationError, InvalidInput, UsageError
from orchestrator.evidence.gathering import STANDARD_INPUT
from orchestrator.hall.inputs import require_thread_id
from orchestrator.models_file import REVIEWS
from orchestrator.plan import OnFailure
from orchestrator.recipe import NO_LIMITS, Limits, Line, Recipe, load_recipe, with_tier
from orchestrator.review.results import NO_RESULTS, Results
from orchestrator.review.topic import PLACES, fault_in
from orchestrator.shelves import ENDINGS, bundled, folders, is_path, standing
from orchestrator.strict_yaml import Shape, did_you_mean, fault, load, read
from orchestrator.wanted import DEFAULT_MODELS

RANGE = "git:{range}"  # as context: what was committed since the last time
SUFFIXES = ENDINGS["configs"]

When = Literal["always", "changed", "broken"]

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_FIELDS = 5  # of a cron expression: cronsim would read a sixth as seconds


def _one_or_several(given: Any) -> Any:
    return (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list) else given


Lines = Annotated[tuple[Line, ...], BeforeValidator(_one_or_several)]


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # KeyError: it is on no list of zones
        raise fault(
            f"there is no time zone {name!r:.80} on this machine.",
            "Write one such as Europe/Berlin or UTC; where even that is missing: pip install tzdata.",
        ) from error
    return name


def _cron(expression: str) -> str:
    if len(expression.split()) != _FIELDS:
        raise fault("must be five fields: minute, hour, day of month, month, day of week.", "Mondays at 9: '0 9 * * 1'")
    try:
        CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise fault(f"is no cron expression: {str(error).lower()}.", "Mondays at 9: '0 9 * * 1'") from error
    return expression


class Review(Shape):
    """One review.

    Args:
        name: what it is known by in the hall: reviews of two files must not share one.
        cron: five fields, as Debian's cron reads them, in the time of `timezone`.
        models: a models file (.yaml), the name of one, or one route for every role, such as `rehearsal`.
        topic: a template with {date}, {range}, {decision}.
        context: evidence as `--context` takes it; `git:{range}` is what was committed since the last time.
        adr: folders of decision records; the decision goes into the first.
        when: always; changed: its context or records differ from the last time; broken: an assumption of its last
            decision does not hold any more.
        decision: the thread whose decision it begins with, as long as it has none of its own.
        commands: whether checks of assumptions may run commands, which the models wrote.
        missed: whether a time at which nobody was there is made up for, once.
        overlap: what becomes of a time that comes while the one before is still under way.
    """

    name: str
    cron: Annotated[str, AfterValidator(_cron)]
    timezone: Annotated[str, AfterValidator(_zone)] = "UTC"
    recipe: Line = "standard"
    tier: str | None = None
    models: Line = DEFAULT_MODELS
    topic: str
    context: Lines = ()
    adr: Lines = ()
    when: When = "always"
    decision: str | None = None
    commands: bool = False
    missed: Literal["once", "skip"] = "once"
    overlap: Literal["skip", "after"] = "skip"
    limits: Limits = NO_LIMITS
    on_failure: OnFailure = "pause"
    consensus: bool | None = None
    results: Results = NO_RESULTS

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @field_validator("name")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise fault(
                "must be at most 64 small letters, digits and -, the first no -.", "Write it as weekly-billing."
            )
        return name

    @field_validator("topic")
    @classmethod
    def _has_no_other_place(cls, topic: str) -> str:
        if not topic.strip():
            raise fault("must not be blank.")
        if found := fault_in(topic):
            raise fault(found, f"The places are {', '.join(f'{{{place}}}' for place in PLACES)}.")
        return topic

    @field_validator("context")
    @classmethod
    def _can_be_read_at_any_time(cls, context: tuple[str, ...]) -> tuple[str, ...]:
        for number, source in enumerate(context):
            if source == STANDARD_INPUT:
                raise fault("is standard input, which a review has none of.", "Name files.", at=(number,))
        return context

    @field_validator("decision")
    @classmethod
    def _is_a_thread(cls, thread_id: str | None) -> str | None:
        if thread_id is not None:
            try:
                require_thread_id(thread_id)
            except InvalidInput as error:
                raise fault(error.message, error.cure) from error
        return thread_id

    @model_validator(mode="after")
    def _can_change(self) -> Self:
        if self.when == "changed" and not self.context and not self.adr:
            raise fault("changed needs something that can change.", "Name context or adr.", at=("when",))
        return self

    @model_validator(mode="after")
    def _can_be_held(self, info: ValidationInfo) -> Self:
        try:
            self.recipe_from(Path((info.context or {})["source"]).parent)
        except UsageError as error:
            raise fault(error.message, error.cure, at=("recipe" if self.tier is None else "tier",)) from error
        return self

    def recipe_from(self, folder: Path) -> Recipe:
        """The recipe, where it is a file one that stands in a folder or below it.

        Raises:
            UsageError: there is no such recipe, or it has no such tier.
        """
        is_file = is_path(self.recipe, ENDINGS["recipes"])
        recipe = load_recipe(folder / self.recipe if is_file else self.recipe)
        return recipe if self.tier is None else with_tier(recipe, self.tier)

    @property
    def has_own_models(self) -> bool:
        """Whether it names a models file by its path: such a file may say which programs run and who is sent keys."""
        return self.models.lower().endswith(SUFFIXES)

    @property
    def risks(self) -> tuple[str, ...]:
        """What it does that a file which was not named has no right to."""
        runs = ("lets checks run commands",) if self.commands else ()
        chooses = ("names a models file by its path",) if self.has_own_models else ()
        return (*runs, *chooses, *self.results.risks)


class _File(Shape):
    reviews: tuple[Review, ...]

    @field_validator("reviews")
    @classmethod
    def _each_has_its_own_name(cls, reviews: tuple[Review, ...]) -> tuple[Review, ...]:
        if not reviews:
            raise fault("holds no review.", "Give at least one, with name, cron and topic.")
        names = [review.name for review in reviews]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise fault(f"{name} stands here twice.", "Give each its own name.", at=(number, "name"))
        return reviews


@dataclass(frozen=True, slots=True)
class ReviewsFile:
    """The reviews of one file, and the folder that its paths start from."""

    path: Path
    reviews: tuple[Review, ...]

    @property
    def folder(self) -> Path:
        return self.path.parent

    def named(self, name: str) -> Review:
        """
        Raises:
            UsageError: there is none of that name.
        """
        for review in self.reviews:
            if review.name == name.lower():
                return review
        known = [review.name for review in self.reviews]
        near = did_you_mean(name, known) or f"There are {', '.join(known)}."
        raise UsageError(f"{self.path} has no review {name!r:.80}.", near)


def find_reviews_file(given: Path | None) -> Path:
    """The file that was named, else `./reviews.yaml`, else the one in `./configs` or in the user's config folder.

    The bundled one is an example: nobody asked for what it reviews.

    Raises:
        ConfigurationError: there is none.
    """
    if given is not None:
        return given
    here = Path(f"{REVIEWS}{SUFFIXES[0]}")
    if here.exists():
        return here
    shelves = [shelf for shelf in folders("configs") if shelf.resolve() != bundled("configs").resolve()]
    found = standing(shelves, SUFFIXES).get(REVIEWS)
    if found is None:
        raise ConfigurationError(f"There is no {here}.", "Name one with --file; docs/reviews.md has an example.")
    return found


def load_reviews(path: Path) -> ReviewsFile:
    """Loads a reviews file.

    Raises:
        ConfigurationError: it is missing, or says something wrong; the error names file, line and key.
    """
    return ReviewsFile(path.resolve(), load(read(path), source=str(path), shape=_File).reviews)
