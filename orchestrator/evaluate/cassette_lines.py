"""The lines of a cassette: what was asked of which route in which place, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, TypeAdapter, ValidationError

from orchestrator.budget import Bound, taken
from orchestrator.errors import ConfigurationError, ModelError
from orchestrator.faults import KINDS
from orchestrator.models.base import Reply, Usage
from orchestrator.strict_yaml import Shape


class Cell(NamedTuple):
    """What one arm does about one brief, once."""

    brief: str
    arm: str
    repeat: int

    def __str__(self) -> str:
        return f"{self.brief} {self.arm} {self.repeat}"


class Place(NamedTuple):
    """Where in an evaluation a call stands; only what is asked tells two calls of one place apart."""

    cell: Cell
    step: str

    def __str__(self) -> str:
        return f"{self.cell}: {self.step}"


class Begun(Shape):
    """A process has begun to ask, with the keys that these variables hold; which routes were asked hangs on that."""

    kind: Literal["begun"] = "begun"
    variables: tuple[str, ...]


class Asked(Shape):
    """A call that is about to be made, and the most it can take."""

    kind: Literal["asked"] = "asked"
    number: int
    brief: str
    arm: str
    repeat: int
    step: str
    request: str
    route: str
    began: float  # seconds since 1970
    tokens: int
    cost_usd: Decimal | None

    @property
    def place(self) -> Place:
        return Place(Cell(self.brief, self.arm, self.repeat), self.step)


class Counted(Shape):
    """`usage.Usage`, as a line holds it."""

    input: int
    cached: int
    output: int
    cost_usd: Decimal | None
    thinking: int

    @classmethod
    def of(cls, usage: Usage) -> Self:
        return cls(
            input=usage.input,
            cached=usage.cached,
            output=usage.output,
            cost_usd=usage.cost_usd,
            thinking=usage.thinking,
        )

    @property
    def usage(self) -> Usage:
        return Usage(self.input, self.cached, self.output, self.cost_usd, self.thinking)


class Replied(Shape):
    """What a call brought, after so many seconds."""

    kind: Literal["replied"] = "replied"
    number: int
    seconds: float
    text: str
    model: str
    usage: Counted
    left_out: tuple[str, ...]

    @property
    def reply(self) -> Reply:
        return Reply(self.text, self.model, self.usage.usage, self.left_out)


class Failed(Shape):
    """Why a call brought nothing, or nothing of use."""

    kind: Literal["failed"] = "failed"
    number: int
    seconds: float
    code: str
    message: str
    route: str
    text: str
    usage: Counted | None
    maybe_billed: bool

    @property
    def error(self) -> ModelError:
        usage = self.usage.usage if self.usage else None
        kind = KINDS.get(self.code, ModelError)
        return kind(self.message, model=self.route, usage=usage, text=self.text, maybe_billed=self.maybe_billed)


Line = Begun | Asked | Replied | Failed

_LINE = TypeAdapter[Line](Annotated[Line, Field(discriminator="kind")])


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was made, and its outcome as far as there is one."""

    asked: Asked
    outcome: Replied | Failed | None = None

    @property
    def taken(self) -> Bound:
        """What it counts for: its whole bound where nobody knows what became of it."""
        bound = Bound(self.asked.tokens, self.asked.cost_usd)
        match self.outcome:
            case Replied(usage=usage):
                return taken(bound, usage.usage, charged=True)
            case Failed(usage=found, maybe_billed=charged):
                return taken(bound, found.usage if found else None, charged=charged)
        return bound


def lines_in(data: bytes, path: Path) -> Iterator[Line]:
    """Reads the lines of a cassette.

    Raises:
        ConfigurationError: one of them is none, or tells the outcome of a call that was not asked.
    """
    asked: set[int] = set()
    for number, text in enumerate(data.splitlines(), 1):
        try:
            line = _LINE.validate_json(text)
        except ValidationError as error:
            raise _no_line(path, number) from error
        if isinstance(line, Asked):
            asked.add(line.number)
        elif not isinstance(line, Begun) and line.number not in asked:
            raise _no_line(path, number)
        yield line


def _no_line(path: Path, line: int) -> ConfigurationError:
    cure = "Restore the file, or choose another folder with --out."
    return ConfigurationError("This is no line of a cassette.", cure, source=str(path), line=line)
