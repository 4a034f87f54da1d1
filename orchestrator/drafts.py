"""What drafting takes and what it gives: assignments and patience; drafts, failures, and what was paid for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tenacity import RetryCallState, wait_random_exponential

from orchestrator.errors import LimitMet, ModelError
from orchestrator.events import Event
from orchestrator.faults import fault_of
from orchestrator.journal import Uncertain
from orchestrator.models.base import Request, Shape, Step, Usage
from orchestrator.plan import PlannedSeat
from orchestrator.prompt import Summary
from orchestrator.usage import NOTHING, total

Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited between attempts: seconds, doubled from `first_s` up to `longest_s`.

    A provider that says how long to wait is believed, up to `believed_s`; when it asks for more, the route is given up.
    """

    first_s: float = 1.0
    longest_s: float = 30.0
    believed_s: float = 120.0

    def wait(self, state: RetryCallState) -> float:
        grown = wait_random_exponential(multiplier=self.first_s, max=self.longest_s)(state)
        return max(grown, _asked_to_wait(state))

    def is_over(self, state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        assert isinstance(error, ModelError), "nothing else is retried"
        return state.attempt_number >= fault_of(error).attempts or _asked_to_wait(state) > self.believed_s


def _asked_to_wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    return (error.retry_after or 0.0) if isinstance(error, ModelError) else 0.0


PATIENT = Patience()


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one seat has to write.

    Args:
        ask: the request for a route; with a summary, its text stands in the place of the oldest turns.
        lacking: says what a text lacks, in a sentence to the model; None when it lacks nothing.
        useless: says why a text is no turn at all; None when it is one.
        turns: how many turns the request holds, which could be summarised.
        summarise: the request for a summary of so many of the oldest turns.
        shape: of an answer that is no free text; where it would cost the cache, only a second try is held to it.
    """

    seat: PlannedSeat
    step: Step
    ask: Callable[[str, Summary | None], Request]
    lacking: Callable[[str], str | None] = field(default=lambda text: None)
    useless: Callable[[str], str | None] = field(default=lambda text: None)
    turns: int = 0
    summarise: Callable[[str, int], Request] | None = None
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """What a seat wrote, and through which route.

    `usage` sums every call it took; `tried` are those that brought no turn, `route: code`; of `summarised` turns it saw
    a summary; `known` when an earlier process had paid for it; of `reused` replies behind it another debate had.
    """

    seat: PlannedSeat
    step: Step
    text: str
    route: str
    answered: str
    usage: Usage
    tried: tuple[str, ...] = ()
    summarised: int | None = None
    known: bool = False
    reused: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a seat wrote nothing: the error of its last route, or the limit that its next call would have passed.

    `usage` sums the calls that were answered, and `tried` are those that brought nothing, `route: code`.
    """

    seat: PlannedSeat
    step: Step
    error: ModelError | LimitMet
    usage: Usage = NOTHING
    tried: tuple[str, ...] = ()


@dataclass(slots=True)
class Paid:
    """What a run has paid for so far: every attempt, the texts that are no turn, or not yet, and what nobody knows."""

    attempts: list[Usage] = field(default_factory=list)
    unused: list[Draft] = field(default_factory=list)
    uncertain: tuple[Uncertain, ...] = ()

    @property
    def spent(self) -> Usage:
        return total(self.attempts)

    def drafted(self, draft: Draft) -> None:
        """Adds a draft that is no turn yet; one that is found again in the journal stands there once."""
        self.unused = [other for other in self.unused if _key(other) != _key(draft)]
        self.unused.append(draft)

    def committed(self, turn: Draft) -> None:
        """Takes a draft that became a turn from the unused ones, and the checklist behind it."""
        self.unused = [draft for draft in self.unused if not _stands_in(draft, turn)]


def _key(draft: Draft) -> tuple[str, Step, str]:
    return draft.seat.slot, draft.step, draft.text


def _stands_in(draft: Draft, turn: Draft) -> bool:
    """Whether a draft became the turn that was committed, as its text or as the checklist behind it."""
    same_seat = draft.seat.slot == turn.seat.slot
    return same_seat and (draft.step in ("checklist", "place") or draft.text == turn.text)
