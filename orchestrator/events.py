"""What a run tells while it goes on: one stream, and whoever wants to know reads it.

Displays, progress lines and logs are readers of this stream; nothing else reaches into a running debate. An event is
about what happened; its place in the stream (`Told`) adds number, time and thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, ClassVar

from orchestrator.iso_time import iso_utc

VERSION = 1
KEPT_APART = {"kept_apart": True}  # of a field: the ledger has it, so it is told within the process alone


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    type: ClassVar[str] = "run_started"
    recipe: str
    rounds: int
    turns: int
    plan_hash: str
    rehearsal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    type: ClassVar[str] = "round_started"
    round: int
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftEvent:
    """A seat at work. `step` is turn, checklist, apply or summary; `model` the route that is asked."""

    type: ClassVar[str] = ""
    slot: str
    role: str
    agent: str
    step: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftStarted(DraftEvent):
    type: ClassVar[str] = "draft_started"
    lens: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftDelta(DraftEvent):
    """Some lines of a draft, while a model that streams is writing it.

    They are a preview. All that was told so of a slot is taken back when its `retried`, `sent_back`, `fell_back`,
    `draft_failed` or next `draft_started` follows.
    """

    type: ClassVar[str] = "draft_delta"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut(DraftEvent):
    """The model does not take these parameters of the models file or the agent, so it is asked without; told once."""

    type: ClassVar[str] = "left_out"
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftFinished(DraftEvent):
    """Tokens are those of the calls that this process made for the draft; `cost_usd` is None when a price is unknown.

    `known` says that the run had paid for it before; of `reused` replies behind it another debate had.
    """

    type: ClassVar[str] = "draft_finished"
    answered: str
    seconds: float
    input: int
    cached: int
    output: int
    cost_usd: Decimal | None
    known: bool = False
    thinking: int = 0  # of the tokens out
    reused: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftFailed(DraftEvent):
    """Every route failed; tokens are those of the calls that this process made for it."""

    type: ClassVar[str] = "draft_failed"
    seconds: float
    code: str
    message: str
    input: int
    cached: int
    output: int
    cost_usd: Decimal | None
    thinking: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried(DraftEvent):
    """The call failed and is made again after `wait_s` seconds; `attempt` is the one that failed, from 1."""

    type: ClassVar[str] = "retried"
    attempt: int
    wait_s: float
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FellBack(DraftEvent):
    """The route failed for good; `to` is asked instead."""

    type: ClassVar[str] = "fell_back"
    to: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SentBack(DraftEvent):
    """The draft lacks something that is checked; it is asked for once more."""

    type: ClassVar[str] = "sent_back"
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised(DraftEvent):
    """No window was large enough: of the oldest `turns` turns this seat reads a summary."""

    type: ClassVar[str] = "summarised"
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatMissing:
    """A seat could not be heard; its round goes on without it."""

    type: ClassVar[str] = "seat_missing"
    slot: str
    role: str
    agent: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A later process takes the run up. `uncertain` are the calls whose outcome nobody knows, in words."""

    type: ClassVar[str] = "resumed"
    turns: int
    input: int
    cached: int
    output: int
    cost_usd: Decimal | None
    seconds: float
    uncertain: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached:
    """What comes next does not fit a limit. `closes` says that Door closes with what is there."""

    type: ClassVar[str] = "limit_reached"
    limit: str
    message: str
    closes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCommitted:
    """A turn stands on the ledger; `text` are its words."""

    type: ClassVar[str] = "turn_committed"
    slot: str
    turn_index: int
    round: int
    role: str
    agent: str
    model: str
    hash: str
    text: str = field(default="", metadata=KEPT_APART)


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteCast:
    """A seat's vote on the newest synthesis is on the ledger; one that rests on nothing that exists does not count."""

    type: ClassVar[str] = "vote_cast"
    slot: str
    role: str
    agent: str
    choice: str
    counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BallotCounted:
    """Everybody who could be heard has voted on the newest synthesis; `void` are the votes that do not count."""

    type: ClassVar[str] = "ballot_counted"
    ballot: int
    approve: int
    object: int
    void: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisRefined:
    """Door has answered objections, or people, with a new synthesis; `answers` are their names."""

    type: ClassVar[str] = "synthesis_refined"
    slot: str
    agent: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonSpoke:
    """A person has said something, from wherever: `name` is T5, or N1 for a note to Door; `by` is the person's name."""

    type: ClassVar[str] = "person_spoke"
    name: str
    role: str | None
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundAskedFor:
    """A person has asked for another round; `rounds` are those that the debate may have by now."""

    type: ClassVar[str] = "round_asked_for"
    by: str
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndAskedFor:
    """A person has ended the debate: what is still planned is not needed, and Door says its last word."""

    type: ClassVar[str] = "end_asked_for"
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Nothing is open any more; so many planned turns are not needed."""

    type: ClassVar[str] = "settled"
    round: int
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadMoved:
    """Another writer was faster; `turns` are its new turns. What rested on the old head is drafted again."""

    type: ClassVar[str] = "head_moved"
    head: str
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    type: ClassVar[str] = "paused"
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    type: ClassVar[str] = "closed"
    status: str
    head: str


Event = (
    RunStarted
    | RoundStarted
    | DraftStarted
    | DraftDelta
    | LeftOut
    | DraftFinished
    | DraftFailed
    | Retried
    | FellBack
    | SentBack
    | Summarised
    | SeatMissing
    | Resumed
    | LimitReached
    | TurnCommitted
    | VoteCast
    | BallotCounted
    | SynthesisRefined
    | PersonSpoke
    | RoundAskedFor
    | EndAskedFor
    | Settled
    | HeadMoved
    | Paused
    | Closed
)


@dataclass(frozen=True, slots=True)
class Told:
    """An event in its place in a run's stream; `seq` counts from 0."""

    seq: int
    at: str  # ISO 8601, UTC
    thread_id: str
    event: Event

    def as_dict(self) -> dict[str, Any]:
        """The event as JSON values, amounts as decimal strings; what is kept apart is left out."""
        kind: Any = type(self.event)
        values = {name: getattr(self.event, name) for name in _told_of(kind)}
        members = {name: format(one, "f") if isinstance(one, Decimal) else one for name, one in values.items()}
        place = {"v": VERSION, "seq": self.seq, "at": self.at, "thread_id": self.thread_id}
        return {**place, "type": self.event.type, **members}


@cache
def _told_of(kind: Any) -> tuple[str, ...]:
    return tuple(member.name for member in fields(kind) if member.metadata != KEPT_APART)


Reader = Callable[[Told], None]


class Stream:
    """Numbers a run's events and hands each to every reader, in the order in which they happen.

    Args:
        clock: says what time it is, in UTC.
        readers: called one after the other; they must be quick, for the run waits for them.
    """

    def __init__(self, thread_id: str, clock: Callable[[], datetime], *readers: Reader) -> None:
        self._thread_id, self._clock, self._readers = thread_id, clock, readers
        self._seq = 0

    def __call__(self, event: Event) -> None:
        at = iso_utc(self._clock(), "milliseconds")
        told = Told(self._seq, at, self._thread_id, event)
        self._seq += 1
        for reader in self._readers:
            reader(told)
