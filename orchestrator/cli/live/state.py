"""What a run looks like at one moment: rounds as rows, a cell for each seat, what was taken so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.hall.terms import Role
from orchestrator.plan import Plan, PlannedSeat
from orchestrator.recipe import NO_LIMITS, Limits
from orchestrator.usage import NOTHING, Usage

Phase = Literal["waits", "writes", "asks again", "listed", "drafted", "spoke", "done", "failed", "missing"]
SETTLED = ("spoke", "done", "failed", "missing")
_ACCOUNT = "account"
_LETTERS = 4  # of a text to a token, as a rule of thumb


@dataclass(frozen=True, slots=True)
class Cell:
    """A seat in a round.

    Args:
        model: the route that is asked, later the model that answered.
        step: what it writes: turn, checklist, apply, vote, refine or account.
        since: when its phase began, on the display's clock; `until` is when it is asked again after a failure.
        letters: how much of its draft has come so far.
        turn: the number of its turn, 1 the first.
        said: how it voted.
    """

    slot: str
    role: str
    agent: str
    model: str = ""
    lens: str | None = None
    phase: Phase = "waits"
    step: str = "turn"
    since: float = 0.0
    until: float = 0.0
    letters: int = 0
    turn: int | None = None
    said: str = ""

    @property
    def tokens(self) -> int:
        """About so many have come so far."""
        return self.letters // _LETTERS


@dataclass(frozen=True, slots=True)
class Row:
    """The seats of a round (`R1`), of a ballot with its refinement (`V1`), or Door's account of its decision."""

    name: str
    cells: tuple[Cell, ...] = ()

    @property
    def label(self) -> str:
        return f"vote {self.name[1:]}" if self.name.startswith("V") else self.name.removeprefix("R")

    def of(self, role: str) -> tuple[Cell, ...]:
        return tuple(cell for cell in self.cells if cell.role == role)

    def awaited(self, cell: Cell) -> tuple[str, ...]:
        """The roles whose turns a cell waits for."""
        if cell.phase not in ("waits", "listed"):
            return ()
        before = self.cells[: self.cells.index(cell)]
        still = {other.role for other in before if other.phase not in SETTLED}
        earlier = {Role.WIND: (), Role.WALL: (Role.WIND,), Role.DOOR: (Role.WIND, Role.WALL)}[Role(cell.role)]
        awaited = tuple(role for role in earlier if role in still)
        return awaited or ((Role.DOOR,) if cell.role == Role.DOOR and Role.DOOR in still else ())

    def with_cell(self, cell: Cell) -> Row:
        """With a cell in the place of the one of its slot, else behind those of its role."""
        if any(other.slot == cell.slot for other in self.cells):
            return replace(self, cells=tuple(cell if other.slot == cell.slot else other for other in self.cells))
        order = list(Role)
        return replace(self, cells=tuple(sorted((*self.cells, cell), key=lambda one: order.index(Role(one.role)))))


@dataclass(frozen=True, slots=True)
class View:
    """A run at one moment.

    Args:
        current: the place of the row that is at work; all before it are over.
        turns: how many are planned; `spoken` how many stand.
        spent: what was taken so far, by earlier processes too; `uncertain` are calls whose outcome nobody knows.
        began: when this process began, on the display's clock; `before_s` are the seconds of earlier ones.
    """

    recipe: str
    rehearsal: bool
    rows: tuple[Row, ...]
    rounds: int
    turns: int
    spoken: int = 0
    current: int = 0
    spent: Usage = NOTHING
    limits: Limits = NO_LIMITS
    uncertain: int = 0
    began: float = 0.0
    before_s: float = 0.0

    def cell(self, slot: str) -> Cell | None:
        return next((cell for row in self.rows for cell in row.cells if cell.slot == slot), None)

    def at(self, name: str) -> View:
        """With the row of that name at work."""
        view = self if any(row.name == name for row in self.rows) else replace(self, rows=(*self.rows, Row(name)))
        place = next(n for n, row in enumerate(view.rows) if row.name == name)
        return replace(view, current=place)

    def with_cell(self, cell: Cell) -> View:
        """With a cell changed, or added where nobody had planned it; its row is at work."""
        name = row_of(cell.slot)
        view = self.at(name)
        rows = tuple(row.with_cell(cell) if row.name == name else row for row in view.rows)
        return replace(view, rows=rows)


def row_of(slot: str) -> str:
    return _ACCOUNT if slot.endswith(f".{_ACCOUNT}") else slot.partition(".")[0]


def begin(plan: Plan, spoken: Mapping[str, int], now: float) -> View:
    """A run before its first event.

    Args:
        spoken: the turns that stand already, by their slots, 1 the first.
        now: on the display's clock.
    """
    rows = tuple(Row(f"R{planned.number}", tuple(_cells(planned.seats, spoken))) for planned in plan.rounds)
    return View(
        recipe=plan.recipe.name,
        rehearsal=plan.is_rehearsal,
        rows=rows,
        rounds=len(rows),
        turns=plan.turns,
        spoken=len(spoken),
        limits=plan.limits,
        began=now,
    )


def _cells(seats: tuple[PlannedSeat, ...], spoken: Mapping[str, int]) -> Iterator[Cell]:
    for seat in seats:
        turn = spoken.get(seat.slot)
        phase: Phase = "waits" if turn is None else "spoke"
        yield Cell(seat.slot, seat.role, seat.agent, seat.routes[0], seat.lens, phase, turn=turn)
