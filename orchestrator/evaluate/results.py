"""What an evaluation reached: one result for each brief, arm and repetition, as it is kept and scored.

Nothing here is a score. All of it follows from the cassette, so that the same cassette gives the same bytes.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from orchestrator.errors import ConfigurationError
from orchestrator.evaluate.answer import Answer
from orchestrator.strict_yaml import Shape

FILE = "results.json"

Outcome = Literal["answered", "aside", "failed"]


class Spent(Shape):
    """What the calls of one result took.

    Args:
        cost_usd: None as soon as one call's price is unknown; unknown is never zero.
        calls: every call that was made, those that brought nothing too.
        seconds: how long at least one of them was under way; waiting for one's turn is not counted.
    """

    cost_usd: Decimal | None
    input: int
    cached: int
    output: int
    calls: int
    seconds: float

    @property
    def tokens(self) -> int:
        return self.input + self.output


class Text(Shape):
    """Words that can be scored: `answer` in every arm, of a debate also its `record`."""

    name: str
    text: str


class Votes(Shape):
    """How many answers of an arm chose an option, or `other`."""

    option: str
    count: Annotated[int, Field(ge=1)]


class Result(Shape):
    """What one arm reached on one brief.

    Args:
        brief, arm, repeat: which; repetitions are counted from 1.
        outcome: answered with a listed option; aside, for a person to place: with `other`; failed: without an answer.
        answer: the arm's one answer; None where it failed.
        texts: its words.
        votes: where several were asked, what they chose, most votes first; then those chosen first.
        tied: the options that share the most votes, two or more; `answer` is then the first that was given of them.
        dissent: what was objected and stands, a sentence or more each.
        failure: why there is no answer.
        allowed_usd: what the arm was to spend: the recipe's cost on this brief; None where nothing was to be equal.
        spent: what it spent.
    """

    brief: str
    arm: str
    repeat: Annotated[int, Field(ge=1)]
    outcome: Outcome
    answer: Answer | None
    texts: tuple[Text, ...] = ()
    votes: tuple[Votes, ...] = ()
    tied: tuple[str, ...] = ()
    dissent: tuple[str, ...] = ()
    failure: str | None = None
    allowed_usd: Decimal | None = None
    spent: Spent

    @property
    def place(self) -> tuple[str, str, int]:
        """What tells it from all others of an evaluation, in the order in which they stand."""
        return self.brief, self.arm, self.repeat


class Results(Shape):
    """An evaluation, as far as it came.

    Args:
        briefs: their folder, as it was named (`brief.folder_of` finds it), and `ids`, those of it that were asked.
        arms: in the order in which they were named.
        repeats: how often each was to answer each brief.
        models: what was named for `--models`.
        results: in the order of briefs, arms and repetitions.
        missing: how many are not there: the limit came first.
    """

    version: Literal["run-debate/evaluation/v1"] = "run-debate/evaluation/v1"
    briefs: str
    ids: tuple[str, ...]
    arms: tuple[str, ...]
    repeats: Annotated[int, Field(ge=1)]
    models: str
    results: tuple[Result, ...]
    missing: Annotated[int, Field(ge=0)] = 0

    def of(self, arm: str) -> tuple[Result, ...]:
        """What one arm reached."""
        return tuple(result for result in self.results if result.arm == arm)

    @property
    def text(self) -> str:
        """The bytes of its file."""
        return self.model_dump_json(indent=2) + "\n"


def load_results(folder: Path) -> Results:
    """Reads what an evaluation left in its folder.

    Raises:
        ConfigurationError: there is no such file, or it does not hold that.
    """
    path = folder / FILE
    try:
        return Results.model_validate_json(path.read_bytes())
    except OSError as error:
        cure = "Name the folder that was given to `debate-hall eval run --out`; if that was stopped, run it to its end."
        raise ConfigurationError(f"cannot be read: {error.strerror}.", cure, source=str(path)) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise ConfigurationError(
            f"{first['msg']}.", "Evaluate again into it: replies are kept.", source=str(path), key=key
        ) from error
