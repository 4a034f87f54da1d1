"""Workers of one fleet in processes of their own, against a provider on loopback that counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, Signals
from threading import Condition, Event, Thread
from typing import Any
from uuid import uuid4

import psycopg
from click.testing import CliRunner

from endpoint import Call, ModelServer
from held_once import assert_every_turn_once, kept_of, lost
from orchestrator.cli.debate_hall import debate_hall
from orchestrator.fleet.queue import Queue
from orchestrator.hall.address import read
from orchestrator.hall.hall import Hall
from orchestrator.hall.postgres_schema import parameters_of
from orchestrator.plan import Plan

DOOMED = Path(__file__).parents[1] / "crash" / "doomed.py"
DEADLINE_S = 90.0
SILENCE_S = 3.0  # after so much workers take another for dead, and so the run of a debate
_ASTRAY = """
import datetime, runpy, sys, time
hours, sys.argv = float(sys.argv[1]), sys.argv[2:]

class Astray(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(hours=hours)

right = time.time
datetime.datetime, time.time = Astray, lambda: right() + hours * 3600
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Worker:
    """A process of `debate-hall worker`, and what it tells; the store knows its connections by its name."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, environment: dict[str, str]) -> None:
        self.name = name
        self.told: list[str] = []
        self._more = Condition()
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self._hearing = Thread(target=self._hear, daemon=True)
        self._hearing.start()

    def _hear(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as told:
            for line in told:
                with self._more:
                    self.told.append(line.rstrip())
                    self._more.notify_all()

    def lines(self, words: str) -> list[str]:
        """What it told so far with these words in it."""
        return [line for line in list(self.told) if words in line]

    def await_told(self, words: str, times: int = 1) -> None:
        """Waits until it has told so many lines with these words in them."""
        with self._more:
            told = self._more.wait_for(lambda: len(self.lines(words)) >= times, DEADLINE_S)
        assert told, f"it did not tell {words!r}: {self.told}"

    def signal(self, number: Signals) -> None:
        os.kill(self.process.pid, number)

    def wake(self) -> None:
        self.signal(SIGCONT)

    def ended(self) -> int:
        """Waits for its end; returns its exit code."""
        code = self.process.wait(DEADLINE_S)
        self._hearing.join(DEADLINE_S)
        return code


class Crew:
    """
    Args:
        folder: an empty one, where they work.
        server: the provider that answers for all three roles.
        store: the address of a hall with a queue.
    """

    def __init__(self, folder: Path, server: ModelServer, store: str) -> None:
        self.folder, self.server, self.store = folder, server, store
        self._workers: list[Worker] = []
        (folder / "here.yaml").write_text(server.models_file())
        mine = {"DEBATE_HALL_STATE_DIR": folder / "state", "XDG_CONFIG_HOME": folder / "config", "HOME": folder}
        self._mine = {**{name: str(place) for name, place in mine.items()}, "DEBATE_HALL_STORE": store}

    def submit(self, *thread_ids: str, asked: Sequence[str] = ("--recipe", "speed")) -> None:
        """Submits debates, each about a topic of its own."""
        usual = ["submit", "--models", str(self.folder / "here.yaml"), *asked]
        for thread_id in thread_ids:
            arguments = [*usual, "--thread-id", thread_id, topic_of(thread_id)]
            done = CliRunner().invoke(debate_hall, arguments, env=self._mine)
            assert done.exit_code == 0, done.output

    def worker(
        self, concurrency: int = 1, dead_after_s: float = SILENCE_S, hours: float = 0.0, silence_s: float = SILENCE_S
    ) -> Worker:
        """Starts a worker.

        Args:
            hours: by how much its clock is wrong.
            silence_s: after how much it takes the run of a debate for dead.
        """
        fate = json.dumps({"silence_s": silence_s})
        asked = ["worker", "--concurrency", str(concurrency), "--dead-after", str(dead_after_s)]
        wrong = ["-c", _ASTRAY, str(hours)] if hours else []
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DEBATE_HALL_")}
        name = uuid4().hex
        named = f"{self.store}{'&' if '?' in self.store else '?'}application_name={name}"
        worker = Worker(
            name,
            [sys.executable, *wrong, str(DOOMED), fate, *asked],
            self.folder,
            {**environment, "DEBATE_HALL_STAND_INS": "none", **self._mine, "DEBATE_HALL_STORE": named},
        )
        self._workers.append(worker)
        return worker

    def freeze(self, worker: Worker) -> None:
        """Puts a worker to sleep, in the middle of no transaction: the server would soon let go of it."""
        asked = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND state <> 'idle'"

        def sleeps() -> bool:
            worker.signal(SIGSTOP)
            seen = os.waitid(os.P_PID, worker.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            assert seen is not None
            assert seen.si_code == os.CLD_STOPPED
            if self.asked(asked, worker.name) == [(0,)]:
                return True
            worker.wake()
            return False

        await_true(sleeps)

    def clear(self) -> None:
        """Ends the processes, those that sleep too."""
        for worker in self._workers:
            worker.process.kill()
            worker.ended()

    @contextmanager
    def hall(self) -> Iterator[Hall]:
        with Hall.open(self.store) as hall:
            yield hall

    def asked(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Asks the store beside all the rest."""
        with psycopg.connect("", **parameters_of(read(self.store))) as db:
            found = db.execute(statement, values)
            return found.fetchall() if found.description else []

    def put(self, thread_id: str) -> None:
        """Puts a debate in the queue once more."""
        with closing(Queue(read(self.store))) as queue:
            queue.put(thread_id)

    def jobs(self) -> list[tuple[str, str]]:
        """The debate and the state of each job."""
        return self.asked("SELECT args->>'thread_id', status::text FROM procrastinate_jobs ORDER BY id")

    def rows(self, thread_id: str) -> object:
        """All that the hall holds of a debate."""
        with self.hall() as hall:
            return hall._store.whole(thread_id)

    def await_calls(self, number: int) -> None:
        """Waits until the provider has got so many calls."""
        while len(self.server.calls) < number:
            assert self.server.arrived.wait(DEADLINE_S), f"only {len(self.server.calls)} calls came"
            self.server.arrived.clear()

    def await_closed(self, *thread_ids: str) -> None:
        """Waits until these debates are closed."""
        with self.hall() as hall:
            await_true(lambda: all(hall.debate(thread_id).state.status != "active" for thread_id in thread_ids))

    def await_ended(self, *thread_ids: str) -> None:
        """Waits until these debates are closed, and nothing is left in the queue."""
        self.await_closed(*thread_ids)
        await_true(lambda: not self.jobs())

    def calls_of(self, thread_id: str) -> list[Call]:
        return [call for call in self.server.calls if topic_of(thread_id) in call.prompt]

    def assert_held_once(self, thread_id: str, lost_at_most: int = 0) -> None:
        """Each turn stands once, no call was made again but those whose outcome nobody knows: so many at most."""
        with self.hall() as hall:
            debate, lines = hall.debate(thread_id), hall.journal(thread_id)
            hall.verify_debate(thread_id)
        plan = Plan.decode(debate.plan or "")
        assert_every_turn_once(debate, plan)
        kept_of(plan, self.calls_of(thread_id), lines)
        assert lost(lines).total() <= lost_at_most


def topic_of(thread_id: str) -> str:
    return f"What is to become of {thread_id}, now?"


def await_true(holds: Callable[[], bool], deadline_s: float = DEADLINE_S) -> None:
    """Waits until it is so; what it is asked of tells nobody."""
    for _ in range(round(deadline_s / 0.05)):
        if holds():
            return
        Event().wait(0.05)
    raise AssertionError("it does not come to be so")


def kill(worker: Worker) -> None:
    worker.signal(SIGKILL)
    assert worker.ended() == -SIGKILL
