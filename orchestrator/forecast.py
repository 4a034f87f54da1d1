"""How many calls a plan takes, as far as that is known before the first: refinements and an early close are not.

Calls that have to be made again, for an answer that is sent back or never came, are counted nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.plan import Plan, PlannedRound


class Span(NamedTuple):
    """From the least to the most."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"


def calls_of(plan: Plan) -> Span:
    """All the calls of a debate."""
    left_out = sum(map(plan.calls_in, _that_may_be_left_out(plan)))
    return Span(plan.calls - left_out, plan.calls + refinements_of(plan) * (1 + len(plan.voters)))


def chain_of(plan: Plan) -> Span:
    """The calls that wait for one another; the rest run beside them."""
    left_out = sum(map(plan.chain_in, _that_may_be_left_out(plan)))
    return Span(plan.longest_chain - left_out, plan.longest_chain + refinements_of(plan) * 2)  # Door's, and the votes


def refinements_of(plan: Plan) -> int:
    """How often Door may refine its synthesis; where nobody votes it never does."""
    return plan.recipe.consensus.refinements if plan.voters else 0


def first_close_of(plan: Plan) -> int | None:
    """The first round after which the debate can end early; None where none can. A rehearsal settles nothing."""
    early = plan.recipe.early_close and not plan.is_rehearsal and plan.first_position < len(plan.rounds)
    return plan.first_position if early else None


def _that_may_be_left_out(plan: Plan) -> Iterator[PlannedRound]:
    first = first_close_of(plan)
    return (planned for planned in plan.rounds if first is not None and planned.number > first)
