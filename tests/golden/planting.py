"""What golden runs plant: Walls' constraints, Door's answers and accounts, votes; and a table that plays them.

A run is held by the real runner in a real hall; what is not planted the voices of `building` say. So a record can be
held against what was planted, to the last count.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import anyio

from building import hall_at, hold, speech, winds_of, wordy
from orchestrator.decision.constraints import Constraint, constraints_in
from orchestrator.decision.record import DecisionRecord, make_record
from orchestrator.hall.cognition import Nature
from orchestrator.hall.debate import Debate, Said
from orchestrator.models.base import Reply, Request, Usage
from orchestrator.models.scripted import Line, Scripted
from orchestrator.plan import Plan

Words = str | Reply | Callable[[Request], str]
Parts = Mapping[str, Words | Sequence[Words]]
"""What is said at each step: words that are said whenever it is asked for, or a list of which each is said once.

A part is named by role and round, `Wall 1`, or by its step where that is none of a round: `vote`, `refine`, `account`;
a vote may be named by its voter, `vote of ideator`.
"""

CONSTRAINT, OPPORTUNITY = Nature.CONSTRAINT, Nature.OPPORTUNITY

_PARTS = {
    CONSTRAINT: "Reality: the rota. Violation: a page at night. Instead: an outbox. Remediation: train {name}.",
    OPPORTUNITY: "Build: a replay test. Done when: a day is replayed. Remediation: train {name}.",
}


def stated(name: str, nature: Nature) -> str:
    """A constraint as the Wall content contract asks for it."""
    return f"- [{name}] {nature}: {statement(name)} {_PARTS[nature].format(name=name)}"


def statement(name: str) -> str:
    return f"Nobody on call knows {name}."


def settlement(name: str) -> str:
    return f"train {name}."


def wall(verdict: str, *rows: str) -> Words:
    """A Wall's turn that quotes the newest Wind of its round."""

    def say(request: Request) -> str:
        tested = f"{wordy('This was tested')}: {winds_of(request.task)[-1].text}"
        return "\n".join([f"VERDICT: {verdict}", tested, "", *rows])

    return say


def door(*rows: str) -> str:
    """A turn of Door, or its synthesis again."""
    return "\n".join([wordy("Therefore we go step by step"), "", *rows])


def answered(name: str, outcome: str, sentence: str | None) -> dict[str, str | None]:
    """A constraint in Door's account."""
    return {"id": name, "outcome": outcome, "sentence": sentence}


def constraints_said(*turns: Said) -> tuple[Constraint, ...]:
    """The constraints of turns that nobody committed."""
    return constraints_in(turns)


def objection(reason: str, *rests_on: str, kind: str | None = "measurement", what: str = "a week of nights") -> str:
    """A vote against the synthesis; where `kind` is None it does not say what would end it."""
    ends = {"kind": kind, "what": what} if kind else None
    members = {"choice": "object", "reason": reason, "rests_on": list(rests_on or ["T1"]), "would_settle_it": ends}
    return json.dumps(members)


class Held(NamedTuple):
    """A debate that was held, its record, and all that was asked."""

    debate: Debate
    record: DecisionRecord
    asked: Sequence[Request]
    spent: Usage

    def requests(self, part: str) -> list[Request]:
        return [request for request in self.asked if part in _names(request)]

    def told(self, part: str) -> list[str]:
        """The last words of every request for a part, in order."""
        return [request.messages[-1].text for request in self.requests(part)]


def playing(parts: Parts) -> Scripted:
    """The voices of `building`, with these parts planted.

    Raises, at the call:
        IndexError: a list is asked for more than it holds.
    """
    numbers = count(1)
    left = {name: deque(said) for name, said in parts.items() if isinstance(said, list)}

    def line(request: Request) -> Line:
        name = next((name for name in _names(request) if name in parts), None)
        if name is None:
            return speech(request, next(numbers))
        said: Any = left[name].popleft() if name in left else parts[name]
        return said(request) if callable(said) else said

    return Scripted(line)


def _names(request: Request) -> tuple[str, ...]:
    task = request.task
    if task.step in ("turn", "apply"):
        return (f"{task.role} {task.round}",)
    return (f"{task.step} of {task.agent}", task.step)


async def held(folder: Path, plan: Plan, parts: Parts) -> Held:
    """Holds a debate to its end and reads it back."""
    model = playing(parts)
    with hall_at(folder) as hall, anyio.fail_after(30):
        run = await hold(hall, plan, model)
    return Held(run.debate, make_record(run.debate, plan), model.requests, run.spent)
