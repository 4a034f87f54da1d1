"""All arms at all briefs, side by side, until all is answered or the limit is met.

At each brief the recipe whose cost is equalled comes before the arms that equal it; what it took is what they may take.
Whatever stops an evaluation, it goes on from its cassette: the results follow from that alone, in the same order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import product
from math import inf

import anyio

from orchestrator.drafting import Drafting
from orchestrator.drafts import PATIENT, Patience
from orchestrator.errors import DebateError, LimitMet, NotRecorded
from orchestrator.evaluate.arm import Arm
from orchestrator.evaluate.arms import Allowed, Work
from orchestrator.evaluate.brief import Brief
from orchestrator.evaluate.cassette import Cassette, Cell, Place
from orchestrator.evaluate.preparing import Evaluation
from orchestrator.evaluate.recording import Live, Recording
from orchestrator.evaluate.results import Result, Results
from orchestrator.events import Event
from orchestrator.lanes import Lanes

_AT_ONCE = Patience(first_s=0, longest_s=0, believed_s=inf)  # what is replayed need not wait

Tell = Callable[[Result], None]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """How far an evaluation came.

    Args:
        changed: calls in whose place another was recorded before.
        unrecorded: why cells are missing that were to be replayed.
        met: the limit that it stopped at.
    """

    results: Results
    changed: tuple[Place, ...]
    unrecorded: tuple[str, ...]
    met: LimitMet | None


async def evaluate(
    evaluation: Evaluation, cassette: Cassette, live: Live | None, parallel: int, tell: Tell = lambda result: None
) -> Evaluated:
    """Holds an evaluation.

    Args:
        live: what calls are made with; None: nothing is asked that is not recorded.
        parallel: how many arms are at work at once.
        tell: is told each result as it comes.

    Raises:
        UsageError: the cassette cannot be written, or a cost cannot be quoted.
        StoreError: the halls that debates are held in for the time being cannot be used.
    """
    held = _Held(evaluation, cassette, live, anyio.CapacityLimiter(parallel), tell)
    await held.all()
    return held.evaluated


@dataclass(slots=True)
class _Held:
    evaluation: Evaluation
    cassette: Cassette
    live: Live | None
    places: anyio.CapacityLimiter
    tell: Tell
    lanes: Lanes = field(default_factory=Lanes)
    results: dict[Cell, Result] = field(default_factory=dict)
    changed: list[Place] = field(default_factory=list)
    unrecorded: list[str] = field(default_factory=list)
    met: LimitMet | None = None

    async def all(self) -> None:
        repeats = range(1, self.evaluation.repeats + 1)
        await _side_by_side(partial(self._brief, *each) for each in product(self.evaluation.briefs, repeats))

    @property
    def evaluated(self) -> Evaluated:
        plan = self.evaluation
        repeats = range(1, plan.repeats + 1)
        cells = [Cell(brief.id, arm.name, repeat) for brief, arm, repeat in product(plan.briefs, plan.arms, repeats)]
        results = Results(
            briefs=plan.folder,
            ids=tuple(brief.id for brief in plan.briefs),
            arms=tuple(arm.name for arm in plan.arms),
            repeats=plan.repeats,
            models=plan.models,
            results=tuple(self.results[cell] for cell in cells if cell in self.results),
            missing=sum(cell not in self.results for cell in cells),
        )
        return Evaluated(results, tuple(sorted(set(self.changed))), tuple(sorted(set(self.unrecorded))), self.met)

    async def _brief(self, brief: Brief, repeat: int) -> None:
        """All arms at one brief, once: those last that may take what one of the others took."""
        arms = self.evaluation.arms
        await _side_by_side(partial(self._cell, brief, arm, repeat, None) for arm in arms if not arm.is_equalled)
        equalled = [arm for arm in arms if arm.is_equalled]
        if equalled and (allowed := self._allowed(brief, repeat)):
            await _side_by_side(partial(self._cell, brief, arm, repeat, allowed) for arm in equalled)

    def _allowed(self, brief: Brief, repeat: int) -> Allowed | None:
        """What the recipe took, or would have taken; None where it has not come to its end."""
        measured = self.evaluation.measured
        if measured is None:
            return self.evaluation.quoted(brief)
        result = self.results.get(Cell(brief.id, measured.name, repeat))
        if result is None:
            return None
        if result.outcome == "failed":  # after a part of its calls
            return self.evaluation.quoted(brief)
        return Allowed(result.spent.cost_usd or Decimal(0), result.spent.tokens)

    async def _cell(self, brief: Brief, arm: Arm, repeat: int, allowed: Allowed | None) -> None:
        async with self.places:
            if self.met is not None:
                return
            recording = Recording(Cell(brief.id, arm.name, repeat), self.cassette, self.live)
            patience = PATIENT if self.live else _AT_ONCE
            drafting = Drafting(recording.model_of, _nobody_reads, patience=patience, turns=self.lanes)
            try:
                work = Work(brief, arm, self.evaluation.plan(arm, brief), drafting, recording, allowed)
                result = await work.result()
            except LimitMet as met:
                self.met = met
            except NotRecorded as error:
                self.unrecorded.append(error.message)
            else:
                self.results[recording.cell] = result
                self.tell(result)
            self.changed += recording.changed


async def _side_by_side(works: Iterable[Callable[[], Awaitable[None]]]) -> None:
    """Raises:
    DebateError: what the first that failed raised; the others are cancelled.
    """
    errors: list[DebateError] = []  # a task group would wrap them

    async def done(work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except DebateError as error:
            errors.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for work in works:
            group.start_soon(done, work)
    if errors:
        raise errors[0]


def _nobody_reads(event: Event) -> None:
    """What a seat tells while it works stands in the cassette, as far as it matters."""
