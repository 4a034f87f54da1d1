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
FILES = ["debate.json", "decision.md", "plan.yaml", "transcript.oct.md"]
BEGIN = ("--recipe", "fortress", "--models", "./here.yaml", "--thread-id", THREAD, "--json", TOPIC)
RESUME = ("--resume", THREAD, "--json")
SeatStep = tuple[str, str]


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


def assert_nothing_lost_nothing_twice(stage: Stage, last: Ended, *besides: str) -> None:
    """What holds of a debate that came to its end, however many processes it took.

    Every planned turn stands once, in the plan's order; every question has one answer that was kept, and was asked once
    more for each time that its call was in flight at the end of a process; what was counted is what was billed for the
    answers that were kept; the calls in flight are told; the files are there.

    Args:
        besides: a file that a process left which could not keep an answer otherwise.
    """
    assert last.code == 0, last.told
    with stage.hall() as hall:
        debate = hall.debate(THREAD)
        hall.verify_debate(THREAD)
        lines = hall.journal(THREAD)
    _assert_turns(debate)
    kept, unkept, lost = _asked(lines)
    calls = {step: _call_of(stage.server, text) for step, text in kept.items()}
    asked = Counter(call.messages for call in stage.server.calls)
    for step, call in calls.items():
        assert asked.pop(call.messages) <= 1 + unkept[step], f"{step} was bought again"
    assert not asked, "a question was paid for and its answer is not there"
    _assert_billed(last.outcome, list(calls.values()))
    uncertain = last.outcome["uncertain"]
    assert Counter((call["slot"], call["step"]) for call in uncertain) == lost
    assert len(set(last.outcome["record"]["uncertain"])) == len(last.outcome["record"]["uncertain"]) == lost.total()
    assert sorted(file.name for file in stage.out.iterdir()) == sorted([*FILES, *besides])


def _assert_turns(debate: Debate) -> None:
    assert debate.plan is not None
    planned = [seat.slot for planned in Plan.decode(debate.plan).rounds for seat in planned.seats]
    bodies = [line.entry.body for line in debate.turns]
    assert [body.seat.slot for body in bodies if isinstance(body, Turn) and body.seat] == planned
    assert debate.state.status == "synthesis"


def _asked(lines: Sequence[JournalLine]) -> tuple[dict[SeatStep, str], Counter[SeatStep], Counter[SeatStep]]:
    """The answer to each question; how many calls for it brought none, all of them made before; of these, how many
    came to no known end."""
    intents = {line.number: line.record for line in lines if isinstance(line.record, Intent)}
    open_ends = Counter((intent.slot, intent.step) for intent in intents.values())
    unkept = open_ends.copy()
    kept: dict[SeatStep, str] = {}
    for line in lines:
        if isinstance(line.record, Intent):
            assert (line.record.slot, line.record.step) not in kept, f"{line.record} asks what is answered"
        elif isinstance(line.record, Outcome):
            step = intents[line.record.intent].slot, intents[line.record.intent].step
            open_ends[step] -= 1
            if line.record.failed is None:
                assert line.text is not None
                kept[step] = line.text
                unkept[step] -= 1
    return kept, +unkept, +open_ends


def _call_of(server: ModelServer, answer: str) -> Call:
    (call,) = [call for call in server.calls if call.answer == answer]  # each answer holds its call's number
    return call


def _assert_billed(outcome: Mapping[str, Any], calls: list[Call]) -> None:
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
