"""The stage of the example debates: the real runner and a real hall, with the clock and the salts held still.

Nothing of the machine or of the moment stands in what comes out: the same words make the same bytes everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import anyio

from building import NO_WAITS
from hall.halls import HastyStore, counting_salts
from orchestrator.decision.record import DecisionRecord, make_record
from orchestrator.drafting import Drafting
from orchestrator.errors import ModelError
from orchestrator.events import Event
from orchestrator.evidence import Evidence, gather
from orchestrator.hall.debate import Debate
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.models.base import Model, Reply, Request, Task, Usage
from orchestrator.models.prices import price_of
from orchestrator.models.scripted import Line, Scripted
from orchestrator.plan import Plan
from orchestrator.runner import run_debate

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
WORDS = Path(__file__).parent / "words"
BRIEF = "evidence/brief.md"

Said = str | ModelError
Script = Mapping[str, Said | Sequence[Said]]
"""What is said to each request, by its name (see `part_of`): words whenever it is made, or of a list each once."""

_STEP_S = 6.0  # that an event of a run takes
_TASK = 700  # tokens that a seat's agent, lens and task are taken to have, so that their wording changes no bill


class Shown(NamedTuple):
    """A debate, its record and the plan it follows; None where it is held by hand."""

    debate: Debate
    record: DecisionRecord
    plan: Plan | None


@dataclass(slots=True)
class Stage:
    """A hall whose clock only the events of a run move: what a run tells is the same, however fast it goes."""

    hall: Hall
    clock: Clock

    def play(
        self, plan: Plan, thread_id: str, topic: str, model: Model, meanwhile: Callable[[Event], None] | None = None
    ) -> None:
        """Holds a debate to its end.

        Args:
            meanwhile: is told each event while the run waits for it, so that a person can act at a certain place.

        Raises:
            RunPaused: as `run_debate` says.
        """

        def reader(event: Event) -> None:
            self.clock.move()
            if meanwhile is not None:
                meanwhile(event)

        async def run() -> None:
            with anyio.fail_after(60):
                await run_debate(
                    self.hall, plan, thread_id, topic, Drafting(lambda route: model, reader, patience=NO_WAITS)
                )

        anyio.run(run)

    def shown(self, thread_id: str, plan: Plan | None = None) -> Shown:
        debate = self.hall.debate(thread_id)
        return Shown(debate, make_record(debate, plan), plan)


class Clock:
    """Stands still until it is moved."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def __call__(self) -> datetime:
        return self._now

    def move(self, seconds: float = _STEP_S) -> None:
        self._now += timedelta(seconds=seconds)


@contextmanager
def stage_at(folder: Path, day: int = 6) -> Iterator[Stage]:
    """A stage with a hall of its own, on a day of January 2026."""
    clock = Clock(datetime(2026, 1, day, 9, tzinfo=UTC))
    with Hall(HastyStore(prepare(folder)), clock=clock, salt=counting_salts()) as hall:
        yield Stage(hall, clock)


def evidence_in(*sources: str, adr: Sequence[str] = ()) -> tuple[Evidence, ...]:
    """Evidence as a run that is started in docs/examples reads it."""
    return gather(sources, base=EXAMPLES, adr=adr).evidence


def read_words(name: str) -> dict[str, str]:
    """The words of a debate, by the names of its requests."""
    return {file.stem: file.read_text(encoding="utf-8").strip() for file in (WORDS / name).glob("*.md")}


def speaking(script: Script) -> Scripted:
    """Voices that say what stands in a script, at the prices of their routes.

    Raises, at the call:
        LookupError: nothing more is to be said there.
    """
    asked: dict[str, int] = {}

    def line(request: Request) -> Line:
        part = part_of(request.task)
        said = script[part]
        if isinstance(said, Sequence) and not isinstance(said, str):
            asked[part] = asked.get(part, 0) + 1
            said = said[asked[part] - 1]
        return said if isinstance(said, ModelError) else Reply(said, request.model, _usage(request, said))

    return Scripted(line)


def part_of(task: Task) -> str:
    """The name of a request: `round-1-wall-validator`, `checklist-2-validator`, `vote-ideator`, `refine`, `account`."""
    voice = (task.lens or task.agent).partition(":")[0].removeprefix("the ").replace(" ", "-")
    match task.step:
        case "turn" | "apply":
            return f"round-{task.round}-{task.role.lower()}-{voice}"
        case "checklist":
            return f"checklist-{task.round}-{voice}"
        case "vote" | "summary":
            return f"{task.step}-{voice}"
        case _:
            return task.step


def _usage(request: Request, answer: str) -> Usage:
    """What a call took, a token being four characters; all but the newest turn and the task is served by the cache."""
    texts = [len(message.text) for message in request.messages[:-1]]
    cached = sum(texts[:-1]) // 4 if request.task.said else 0
    read, written = sum(texts) // 4 + _TASK, len(answer) // 4
    price = price_of(request.model, request.endpoint)
    cost = price.cost(input=read, cached=cached, output=written).normalize() if price else None
    return Usage(input=read, cached=cached, output=written, cost_usd=cost)
