"""A debate in processes of its own, against a provider on loopback that counts, and what must be true in the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from building import THREAD, TOPIC
from endpoint import Call, ModelServer
from orchestrator.errors import UnknownThread
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Turn
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Intent, JournalLine, Outcome
from orchestrator.plan import Plan

DOOMED = Path(__file__).with_name("doomed.py")
DEADLINE_S = 60
FILES = {"debate.json", "decision.md", "plan.yaml", "transcript.oct.md"}
UNUSED = "unused-drafts.json"
BEGIN = ("--recipe", "fortress", "--models", "./here.yaml", "--thread-id", THREAD, "--json", TOPIC)
RESUME = ("--resume", THREAD, "--json")


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, a signal as a negative number; what it answered and what it told."""

    code: int
    answer: str
    told: str

    @cached_property
    def outcome(self) -> dict[str, Any]:
        """The one JSON object that `--json` prints."""
        outcome: dict[str, Any] = json.loads(self.answer)
        return outcome

    @property
    def last_line(self) -> str:
        return self.told.splitlines()[-1]


class Stage:
    """A working folder with a models file, and a hall beside it.

    Args:
        folder: an empty one.
        server: the provider that answers for all three roles.
    """

    def __init__(self, folder: Path, server: ModelServer) -> None:
        self.folder, self.server = folder, server
        self.out = folder / "debates" / THREAD
        (folder / "here.yaml").write_text(server.models_file())
        mine = {"DEBATE_HALL_STATE_DIR": folder / "state", "XDG_CONFIG_HOME": folder / "config", "HOME": folder}
        self.environment = {**_without_settings(os.environ), **{name: str(place) for name, place in mine.items()}}

    def start(self, *arguments: str, **fate: Any) -> subprocess.Popen[bytes]:
        """Starts `run-debate` with a `doomed.Fate`."""
        return self.spawn(sys.executable, str(DOOMED), json.dumps(fate), *arguments)

    def spawn(self, *command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: str, **fate: Any) -> Ended:
        return ended(self.start(*arguments, **fate))

    def life(self) -> str:
        """What `debate-hall list` says of the run."""
        with self.hall() as hall:
            (listed,) = hall.list_debates()
        return listed["run"]

    def hall(self) -> Hall:
        return Hall.open(self.folder / "state")

    def await_calls(self, number: int) -> None:
        """Waits until the provider has got so many calls."""
        while len(self.server.calls) < number:
            assert self.server.arrived.wait(DEADLINE_S), f"only {len(self.server.calls)} calls came"
            self.server.arrived.clear()

    def await_callers_gone(self, number: int) -> None:
        """Waits until so many callers have gone away from calls that were held; then nothing is held any more."""
        for _ in range(number):
            assert self.server.left.acquire(timeout=DEADLINE_S)
        self.server.hold_until()

    def is_open(self) -> bool:
        """Whether the debate was opened."""
        with self.hall() as hall:
            try:
                hall.debate(THREAD)
            except UnknownThread:
                return False
        return True

    def go_on(self, **fate: Any) -> Ended:
        """Resumes the debate; one that was not opened yet is begun."""
        return self.run(*(RESUME if self.is_open() else BEGIN), **fate)


def ended(process: subprocess.Popen[bytes]) -> Ended:
    with process:
        try:
            answer, told = process.communicate(timeout=DEADLINE_S)
        finally:
            process.kill()
    return Ended(process.returncode, answer.decode(), told.decode())


def assert_nothing_lost_nothing_twice(stage: Stage, last: Ended) -> None:
    """What holds of a debate that came to its end, however many processes it took.

    Every planned turn stands once, in the plan's order. No question was asked again once its answer was kept, and no
    other calls brought nothing than those that failed, and those in flight at the end of a process, which are told.
    What was counted is what was billed for the answers that were kept. The files are there.
    """
    assert last.code == 0, last.told
    with stage.hall() as hall:
        debate = hall.debate(THREAD)
        hall.verify_debate(THREAD)
        lines = hall.journal(THREAD)
    plan = Plan.decode(debate.plan or "")
    _assert_turns(debate, plan)
    lost = _lost(lines)
    kept = _assert_asked_once(stage.server.calls, [line.text for line in _answers(lines)], lost.total())
    _assert_billed(last.outcome, kept)
    assert Counter((call["slot"], call["step"]) for call in last.outcome["uncertain"]) == lost
    noted = last.outcome["record"]["uncertain"]
    assert len(set(noted)) == len(noted) == lost.total()
    useless = {UNUSED} if len(kept) > plan.calls else set[str]()  # answers that are no turns are kept beside it
    assert FILES <= {file.name for file in stage.out.iterdir()} <= FILES | useless


def _assert_turns(debate: Debate, plan: Plan) -> None:
    planned = [seat.slot for planned in plan.rounds for seat in planned.seats]
    bodies = [line.entry.body for line in debate.turns]
    assert [body.seat.slot for body in bodies if isinstance(body, Turn) and body.seat] == planned
    assert debate.state.status == "synthesis"


def _answers(lines: Sequence[JournalLine]) -> list[JournalLine]:
    return [line for line in lines if isinstance(line.record, Outcome) and line.record.failed is None]


def _lost(lines: Sequence[JournalLine]) -> Counter[tuple[str, str]]:
    """The slots and steps of the calls whose outcome nobody knows."""
    intents = {line.number: line.record for line in lines if isinstance(line.record, Intent)}
    for line in lines:
        if isinstance(line.record, Outcome):
            del intents[line.record.intent]
    return Counter((intent.slot, intent.step) for intent in intents.values())


def _assert_asked_once(calls: Sequence[Call], answers: Sequence[str | None], lost: int) -> list[Call]:
    """Returns the calls whose answers were kept; each answer holds the number of its call."""
    questions: dict[Any, list[Call]] = {}
    for call in calls:
        questions.setdefault(call.messages, []).append(call)
    for asked in questions.values():
        assert [call.number for call in asked if call.answer in answers] == [asked[-1].number], asked[-1].task
    kept = [asked[-1] for asked in questions.values()]
    assert len(kept) == len(answers)
    failed = [call for call in calls if call.finished is not None and call.answer is None]
    assert len(calls) - len(kept) - len(failed) <= lost
    return kept


def _assert_billed(outcome: Mapping[str, Any], calls: Sequence[Call]) -> None:
    read, cached, written = (sum(counts) for counts in zip(*(call.charged or () for call in calls), strict=True))
    assert outcome["tokens"] == {"input": read, "cached": cached, "output": written}
    millionths = (read - cached) + cached * Decimal("0.5") + written * 3  # `ModelServer.models_file`
    assert Decimal(outcome["cost_usd"]) == millionths / 1_000_000


def _without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith("DEBATE_HALL_") and not name.endswith(("_API_KEY", "_TOKEN"))
    }
