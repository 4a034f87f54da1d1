"""A debate in processes of its own, against a provider on loopback that counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from building import THREAD, TOPIC
from endpoint import ModelServer
from orchestrator.errors import UnknownThread
from orchestrator.hall.hall import Hall

DOOMED = Path(__file__).with_name("doomed.py")
DEADLINE_S = 60
BEGIN = ("--recipe", "fortress", "--models", "./here.yaml", "--thread-id", THREAD, "--json", TOPIC)
VOTED_ON = ("--recipe", "speed", "--consensus", *BEGIN[2:])
RESUME = ("--resume", THREAD, "--json")
BEHIND_THE_CLOSE = 102  # the place behind the last commit of such a debate; two come after it
WALLS_INTENDED = 28  # the place behind the intents of the first Walls' turns: none of them is asked yet


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
        store: the address of an empty hall; else it is in a folder of its own.

    Attributes:
        begin: how the debate is begun.
    """

    def __init__(self, folder: Path, server: ModelServer, store: str | None = None) -> None:
        self.folder, self.server = folder, server
        self.begin: tuple[str, ...] = BEGIN
        self._started: list[subprocess.Popen[bytes]] = []
        self.out = folder / "debates" / THREAD
        (folder / "here.yaml").write_text(server.models_file())
        mine = {"DEBATE_HALL_STATE_DIR": folder / "state", "XDG_CONFIG_HOME": folder / "config", "HOME": folder}
        self.environment = {**_without_settings(os.environ), **{name: str(place) for name, place in mine.items()}}
        self._store = store
        if store is not None:
            self.environment["DEBATE_HALL_STORE"] = store

    def start(self, *arguments: str, **fate: Any) -> subprocess.Popen[bytes]:
        """Starts `run-debate` with a `doomed.Fate`."""
        return self.spawn(sys.executable, str(DOOMED), json.dumps(fate), *arguments)

    def spawn(self, *command: str) -> subprocess.Popen[bytes]:
        self._started.append(
            subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
        return self._started[-1]

    def clear(self) -> None:
        """Ends the processes that a test which failed has left, those that sleep too."""
        for process in self._started:
            with process:
                process.kill()

    def run(self, *arguments: str, **fate: Any) -> Ended:
        return ended(self.start(*arguments, **fate))

    def life(self) -> str:
        """What `debate-hall list` says of the run."""
        with self.hall() as hall:
            (listed,) = hall.list_debates()
        return listed["run"]

    def hall(self) -> Hall:
        return Hall.open(self._store or self.folder / "state")

    def rows(self) -> object:
        """All that the hall holds of the debate."""
        with self.hall() as hall:
            return hall._store.whole(THREAD)

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
        return self.run(*(RESUME if self.is_open() else self.begin), **fate)


def ended(process: subprocess.Popen[bytes]) -> Ended:
    with process:
        try:
            answer, told = process.communicate(timeout=DEADLINE_S)
        finally:
            process.kill()
    return Ended(process.returncode, answer.decode(), told.decode())


def _without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith("DEBATE_HALL_") and not name.endswith(("_API_KEY", "_TOKEN"))
    }
