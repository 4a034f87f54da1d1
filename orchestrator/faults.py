"""What happens after each kind of failed call: one table, which drafting follows and `docs/faults.md` shows.

A kind that may pass by itself is asked again after a wait. One that will not goes to the seat's next route at once, and
where the route itself is the reason (no key, no such model), no later seat asks it again in this run. An answer that
came and is of no use is asked for once more, with the reason. What is left after all that ends in a failed draft.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from orchestrator.errors import (
    AuthenticationFailed,
    BadRequest,
    ConnectionFailed,
    ContentRefused,
    ContextTooLong,
    CutOff,
    DegenerateReply,
    EmptyReply,
    GarbledReply,
    ModelError,
    NoSuchModel,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
)


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens after one kind of failed call.

    Args:
        attempts: how many calls of one route in all may end so, at least 1; 1: the same call is never made again.
        stays: the route is dead for the rest of the run.
        repair: what the seat is told when it is asked once more, where an answer came (the error has `usage`) and is
            of no use; after a `DegenerateReply` it follows the sentence that `degenerate` says. None: it is not asked.
        larger: of the seat's further routes, only one that reads more is asked.
    """

    attempts: int = 1
    stays: bool = False
    repair: str | None = None
    larger: bool = False


_PASSES = Fault(attempts=4)

FAULTS: Mapping[type[ModelError], Fault] = MappingProxyType(
    {
        AuthenticationFailed: Fault(stays=True),
        NoSuchModel: Fault(stays=True),
        BadRequest: Fault(),
        RateLimited: _PASSES,
        Overloaded: _PASSES,
        ServerFailed: _PASSES,
        ConnectionFailed: _PASSES,
        TimedOut: Fault(attempts=2),
        ContextTooLong: Fault(larger=True),
        ContentRefused: Fault(
            repair="The provider's filter withheld your answer. Write it again in other words: keep to the question "
            "under debate, and name what could be misused without showing how it is done."
        ),
        CutOff: Fault(
            repair="Your answer reached its permitted length before its end, so it is of no use. Write it again, "
            "whole, at half the length."
        ),
        EmptyReply: Fault(repair="Your answer was empty. Write it now."),
        DegenerateReply: Fault(repair="Write it again: whole, in your own words, nothing else."),
        GarbledReply: Fault(),
        ModelError: Fault(),
    }
)


KINDS: Mapping[str, type[ModelError]] = MappingProxyType({kind.code: kind for kind in FAULTS})


def fault_of(error: ModelError) -> Fault:
    """What happens after a failed call; a kind that is not in the table is treated as the kind above it."""
    return next(FAULTS[kind] for kind in type(error).__mro__ if kind in FAULTS)


def repair_of(error: ModelError) -> str | None:
    """What a seat is told when it is asked once more, since an answer came that is of no use; None where none came."""
    return fault_of(error).repair if error.usage is not None else None
