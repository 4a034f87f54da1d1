"""A fleet whose workers are killed, frozen and woken, and whose server is restarted, holds every debate once.

Each promise is a test of its own; what they judge is fought out once, for all of them.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import psycopg
import pytest

from endpoint import Call, ModelServer
from held_once import assert_every_turn_once, kept_of
from orchestrator.fleet import queue_tables
from orchestrator.fleet.permits import Permits
from orchestrator.fleet.queue import Queue
from orchestrator.hall.address import read
from orchestrator.hall.hall import Hall
from orchestrator.hall.store_place import migrate
from orchestrator.plan import Plan
from postgres_cluster import Cluster, cluster, program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("fleet_under_fire"),
    pytest.mark.skipif(program("initdb") is None, reason="there is no initdb to make a server with"),
]
DEBATE_HALL = str(Path(sys.executable).with_name("debate-hall"))
WORKERS, CONCURRENCY = 4, 20
SPEEDS, FORTRESSES = 190, 10
CALLS = SPEEDS * 4 + FORTRESSES * 15  # fewer than it takes
WIDEST = {"speed": 2, "fortress": 4}  # calls that a debate has under way together
KILLS = 4
FROZEN_S = (1, 4, 8, 20)  # not noticed; longer than a heart may be silent, twice; longer than a lease lasts
AT_ONCE, A_MINUTE, TIMEOUT_S, LATENCY_S = 14, 600, 10, 0.1
DEAD_AFTER_S = 3
BUDGET = Decimal("0.60")  # and as much more, each time a debate waits for the next day
SEED, DEADLINE_S = 11, 900
TOPIC = re.compile(r"Which of the queues is number (\d{3})\?")


@dataclass(frozen=True)
class Fault:
    """A process that was killed or frozen, or lost its store; `calls` had arrived when it went on, if it did."""

    process: str
    calls: float = math.inf


def number_of(call: Call) -> int:
    """The number of the debate that a call belongs to."""
    named = TOPIC.search(call.prompt)
    assert named is not None, call.prompt
    return int(named[1])


def process_of(call: Call) -> str:
    return next(text for name, text in call.headers.items() if name.lower() == "x-process")


def charged_for(calls: Sequence[Call]) -> Decimal:
    """What the provider charges for all that it answered, at the prices of `ModelServer.models_file`."""
    counts = [call.charged for call in calls if call.charged is not None]
    return sum((read - cached + cached * Decimal("0.5") + out * 3 for read, cached, out in counts), Decimal(0)) / 10**6


# --------------------------------------------------------------------------------------------------------- the battle


@dataclass
class Fleet:
    """Workers in processes of their own, each of which tells the provider its name."""

    folder: Path
    environment: Mapping[str, str]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    frozen: dict[str, float] = field(default_factory=dict)  # until when
    begun: int = 0

    def run(self, *arguments: str) -> None:
        done = subprocess.run([DEBATE_HALL, *arguments], cwd=self.folder, env=self.environment, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()

    def start(self) -> None:
        self.begun += 1
        name = f"worker-{self.begun}"
        command = [DEBATE_HALL, "worker", "--concurrency", str(CONCURRENCY), "--dead-after", str(DEAD_AFTER_S)]
        environment = {**self.environment, "PROCESS": name}
        with (self.folder / f"{name}.log").open("w") as log:
            self.running[name] = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def kill(self, name: str) -> None:
        """Kills a worker, and starts another in its place."""
        with self.running.pop(name) as process:
            process.kill()
        self.start()

    def freeze(self, name: str, seconds: float) -> None:
        self.running[name].send_signal(signal.SIGSTOP)
        self.frozen[name] = monotonic() + seconds

    def slept_enough(self) -> list[str]:
        return [name for name, until in self.frozen.items() if monotonic() >= until]

    def wake(self, name: str) -> None:
        self.running[name].send_signal(signal.SIGCONT)
        del self.frozen[name]

    def awake(self) -> list[str]:
        return [name for name in self.running if name not in self.frozen]

    def stop(self) -> list[int]:
        """Tells all to stop; returns their exit codes."""
        for process in self.running.values():
            process.terminate()
        return [process.wait(60) for process in self.running.values()]

    def clear(self) -> None:
        for process in self.running.values():
            with process:
                process.kill()

    def told(self) -> str:
        return "\n".join(f"{log.name}\n{log.read_text()}" for log in sorted(self.folder.glob("*.log")))


@dataclass
class Battle:
    """Debates, who holds them, and what befalls these."""

    fleet: Fleet
    provider: ModelServer
    server: Cluster
    random: random.Random = field(default_factory=partial(random.Random, SEED))
    arrivals: list[float] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    spent: Decimal = Decimal(0)
    raised: int = 0

    def prepare(self) -> None:
        """Makes the hall, and submits the debates, long ones among the others."""
        migrate(self.server.address())
        queue_tables.make(read(self.server.address()))
        limits = (
            "    context_tokens: 200000\n"
            f"    max_parallel: {AT_ONCE}\n"
            f"    max_per_minute: {A_MINUTE}\n"
            "    header_env: {X-Process: PROCESS}\n"
        )
        models = self.provider.models_file().replace("    context_tokens: 200000\n", limits)
        defaults = f"defaults:\n  timeout_s: {TIMEOUT_S}\n  max_output_tokens: 1000\n"
        (self.fleet.folder / "models.yaml").write_text(models + defaults)
        recipes = ["speed"] * SPEEDS + ["fortress"] * FORTRESSES
        self.random.shuffle(recipes)
        rows = [
            {"topic": f"Which of the queues is number {number:03}?", "id": thread_of(number), "recipe": recipe}
            for number, recipe in enumerate(recipes)
        ]
        (self.fleet.folder / "topics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        self._set_budget(BUDGET)
        self.fleet.run("submit", "--batch", "topics.jsonl", "--models", "./models.yaml")

    def fight(self) -> None:
        """Goes on until every debate has ended."""
        self.provider.hear = lambda call: self.arrivals.append(monotonic())
        for _ in range(WORKERS):
            self.fleet.start()
        ahead, deadline = self._ahead(), monotonic() + DEADLINE_S
        while self._is_going_on() or ahead or self.fleet.frozen:
            assert monotonic() < deadline, self.fleet.told()
            if ahead and len(self.provider.calls) >= ahead[0][0]:
                ahead.popleft()[1]()
            for name in self.fleet.slept_enough():
                self._wake(name)
            self._look_at_the_budget()
            Event().wait(0.2)

    def _ahead(self) -> deque[tuple[int, Callable[[], None]]]:
        """What befalls the fleet, and after how many calls, in order."""
        befalls = [self._kill] * KILLS + [partial(self._freeze, seconds) for seconds in FROZEN_S] + [self._restart]
        self.random.shuffle(befalls)
        return deque(zip(sorted(self.random.sample(range(50, CALLS), len(befalls))), befalls, strict=True))

    def _kill(self) -> None:
        name = self.random.choice(self.fleet.awake())
        self.fleet.kill(name)
        self.faults.append(Fault(name))

    def _freeze(self, seconds: float) -> None:
        self.fleet.freeze(self.random.choice(self.fleet.awake()), seconds)

    def _wake(self, name: str) -> None:
        self.faults.append(Fault(name, len(self.provider.calls)))
        self.fleet.wake(name)

    def _restart(self) -> None:
        self.server.stop()
        self.server.start()
        self.faults.extend(Fault(name, len(self.provider.calls)) for name in self.fleet.running)

    def _is_going_on(self) -> bool:
        """Whether there are jobs; those that have ended well are there no more."""
        jobs = {status for (status,) in self._asked("SELECT DISTINCT status::text FROM procrastinate_jobs")}
        assert "failed" not in jobs, self.fleet.told()
        return bool(jobs)

    def _look_at_the_budget(self) -> None:
        """Raises it where debates wait for the next day, as whoever looks after the fleet does."""
        charged = charged_for(self.provider.calls)
        self.spent, most = self._asked("SELECT coalesce(sum(cost_usd), 0), coalesce(max(cost_usd), 0) FROM spending")[0]
        assert charged <= self.spent
        assert most <= BUDGET * (1 + self.raised)
        waiting = self._asked(
            "SELECT args->>'thread_id' FROM procrastinate_jobs "
            "WHERE status = 'todo' AND scheduled_at > now() + interval '10 minutes'"
        )
        if waiting:
            self.raised += 1
            self._set_budget(BUDGET * (1 + self.raised))
            with closing(Queue(read(self.server.address()))) as queue:
                for (thread_id,) in waiting:
                    queue.retry(thread_id)

    def _set_budget(self, budget: Decimal) -> None:
        with closing(Permits(read(self.server.address()))) as permits:
            permits.set_budget(budget)

    def _asked(self, asked: str) -> list[tuple[Any, ...]]:
        address = read(self.server.address())
        with psycopg.connect(address.conninfo, options=f"-csearch_path={address.schema}") as db:
            return db.execute(asked).fetchall()

    def were_under_way(self, calls: Sequence[Call], widest: int) -> set[int]:
        """Those of a debate's calls that were under way when something befell their processes, by number; those too
        that were written down by then, and waited for their turn: a sleeper may make them before it hears of others.
        """
        found = set[int]()
        for fault in self.faults:
            numbers = [call.number for call in calls if process_of(call) == fault.process]
            before = [number for number in numbers if number <= fault.calls]
            found.update(numbers[max(len(before) - widest, 0) : len(before) + widest])
        return found


def thread_of(number: int) -> str:
    return f"2026-01-06-queue-{number:03}"


@pytest.fixture(scope="module")
def fought(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Battle]:
    folder = tmp_path_factory.mktemp("fleet")
    with cluster() as server, ModelServer(latency_s=LATENCY_S) as provider:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "DEBATE_HALL_STATE_DIR": str(folder / "state"),
            "DEBATE_HALL_STAND_INS": "none",
            "DEBATE_HALL_STORE": server.address(),
            "PROCESS": "nobody",
        }
        battle = Battle(Fleet(folder, environment), provider, server)
        try:
            battle.prepare()
            battle.fight()
            yield battle
        finally:
            battle.fleet.clear()


def test_every_debate_ends_with_every_turn_once_and_a_ledger_that_verifies(fought: Battle) -> None:
    calls = dict[int, list[Call]]()
    for call in fought.provider.calls:
        calls.setdefault(number_of(call), []).append(call)
    with Hall.open(fought.server.address()) as hall:
        for number in range(SPEEDS + FORTRESSES):
            thread_id = thread_of(number)
            debate, lines = hall.debate(thread_id), hall.journal(thread_id)
            plan = Plan.decode(debate.plan or "")
            hall.verify_debate(thread_id)
            assert_every_turn_once(debate, plan)
            kept = {call.number for call in kept_of(plan, calls[number], lines)}
            in_vain = {call.number for call in calls[number]} - kept
            under_way = fought.were_under_way(calls[number], WIDEST[plan.recipe.name])
            assert in_vain <= under_way, f"{thread_id}\n{fought.fleet.told()}"


def test_the_provider_is_never_asked_more_at_once_and_in_a_minute_than_it_takes(fought: Battle) -> None:
    assert fought.provider.most_at_once <= AT_ONCE
    spans = [last - first for first, last in zip(fought.arrivals, fought.arrivals[A_MINUTE:], strict=False)]
    assert min(spans) >= 60


def test_the_fleet_spends_no_more_than_it_may(fought: Battle) -> None:
    """Which is looked at all the time; here is seen that the budget was in the way."""
    assert fought.raised
    assert charged_for(fought.provider.calls) <= fought.spent <= BUDGET * (1 + fought.raised)


def test_the_workers_that_are_left_stop_when_they_are_told_to(fought: Battle) -> None:
    assert fought.fleet.stop() == [0] * WORKERS
