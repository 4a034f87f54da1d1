"""A check is evaluated: does the assumption hold, is it broken, or is that not known, and why.

This is no sandbox. A command gets a copy of the folder to work in, a home of its own, an environment without keys, a
time limit and bounded output, and all that it started is ended with it. What the user may read, write and reach over
the network it may too: commands run only where they are allowed.
"""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from orchestrator.review.checks import Check

SECONDS = 60.0  # for one command


class State(StrEnum):
    """What is known of an assumption; only a broken one is a reason to debate."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNKNOWN = "unknown"


class Finding(NamedTuple):
    """What a check came to; `why` is a sentence without a full stop."""

    state: State
    why: str


async def evaluate(check: Check, folder: Path, *, today: date, commands: bool, seconds: float = SECONDS) -> Finding:
    """Evaluates one check. Whatever goes wrong with it is a finding, too: unknown.

    Args:
        folder: what it is about.
        today: for checks that hold until a day.
        commands: whether it may run a command.
        seconds: how long that may take.
    """
    raise NotImplementedError
