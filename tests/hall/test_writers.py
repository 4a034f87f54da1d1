"""Many processes on one store. Each begins when its standard input says so, so that they race from one line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from halls import THREAD

from orchestrator.hall.hall import Hall
from postgres import fresh_hall, needs_postgres

PREAMBLE = """
import json, sys
from orchestrator.errors import HallError
from orchestrator.hall.hall import Hall
from orchestrator.hall.sqlite import SQLiteStore
number, folder, rounds = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
"""
OPEN = """
with Hall.open(folder) as hall:
    print(json.dumps(len(hall.list_debates())))
"""
INIT = """
with Hall.open(folder) as hall:
    won = []
    for attempt in range(rounds):
        try:
            hall.init_debate(f"2026-01-06-{attempt}", f"topic of {number}")
            won.append(attempt)
        except HallError as error:
            assert error.code == "thread_exists", error
    print(json.dumps(won))
"""
RUN = """
with Hall.open(folder) as hall:
    epochs = []
    for attempt in range(rounds):
        try:
            epochs.append(hall.runs.begin(f"2026-01-06-{attempt}").epoch)
        except HallError as error:
            assert error.code == "run_held", error
            epochs.append(None)
    print(json.dumps(epochs))
"""
ONE_THREAD = """
with Hall.open(folder) as hall:
    acknowledged, refused = [], []
    for turn in range(rounds):
        role = ("Wind", "Wall", "Door")[(number + turn) % 3]
        content = f"process {number}, turn {turn}"
        try:
            hall.pick_next_speaker("2026-01-06-billing", role)
            result = hall.add_turn("2026-01-06-billing", role, content)
            acknowledged.append([result["turn_index"], role, content, result["turn_hash"]])
        except HallError as error:
            refused.append(error.code)
    print(json.dumps([acknowledged, refused]))
"""
EXPECTED_HEAD = """
with Hall.open(folder) as hall:
    acknowledged, refused = [], []
    while len(acknowledged) < rounds:
        shown = hall.get_debate("2026-01-06-billing", include_transcript=False)
        if shown["next_role"] is None:
            break
        content = f"process {number}, turn {len(acknowledged)}"
        try:
            result = hall.add_turn("2026-01-06-billing", shown["next_role"], content, expected_head=shown["head"])
            acknowledged.append([result["turn_index"], shown["next_role"], content, result["turn_hash"]])
        except HallError as error:
            refused.append(error.code)
    print(json.dumps([acknowledged, refused]))
"""
MANY_THREADS = """
with Hall.open(folder) as hall:
    mine = f"2026-01-06-process-{number}"
    hall.init_debate(mine, "Which?", max_turns=1000, max_rounds=1000)
    heads = []
    for turn in range(rounds):
        heads.append(hall.add_turn(mine, ("Wind", "Wall", "Door")[turn % 3], f"turn {turn}")["turn_hash"])
        if turn % 5 == 4:
            hall.tombstone_turn(mine, turn - 1, "It named a customer.")
    print(json.dumps(heads))
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=[pytest.mark.slow, needs_postgres])])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where an empty hall is."""
    if request.param == "sqlite":
        yield str(tmp_path / "state")
    else:
        with fresh_hall() as address:
            yield address


def race(script: str, processes: int, place: str, rounds: int = 0) -> list[Any]:
    """Runs a script in several processes from one starting line and returns what each printed."""
    command = [sys.executable, "-c", PREAMBLE + script]
    running = [
        subprocess.Popen(
            [*command, str(number), place, str(rounds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    results = [process.communicate(timeout=300) for process in running]
    errors = [error for (_, error), process in zip(results, running, strict=True) if process.returncode]
    assert errors == []
    return [json.loads(printed) for printed, _ in results]


PROCESSES = [pytest.param(3, id="three"), pytest.param(8, id="eight", marks=pytest.mark.slow)]


def rounds_of(processes: int) -> int:
    return 6 if processes == 3 else 25


def check_ledger(hall: Hall, acknowledged: Sequence[Sequence[Any]]) -> None:
    """Acknowledged is stored is verified, in order."""
    stored = [
        [turn["turn_index"], turn["role"], turn["content"], turn["turn_hash"]]
        for turn in hall.get_debate(THREAD)["transcript"]
    ]
    assert stored == sorted(acknowledged)
    for _, _, _, head in acknowledged:
        hall.verify_debate(THREAD, head)


@pytest.mark.slow
@pytest.mark.parametrize("processes", PROCESSES)
def test_processes_that_open_a_fresh_folder_at_once_all_succeed(processes: int, tmp_path: Path) -> None:
    for attempt in range(1 if processes == 3 else 5):
        assert race(OPEN, processes, str(tmp_path / f"{attempt}")) == [0] * processes


@pytest.mark.slow
@pytest.mark.parametrize("processes", PROCESSES)
def test_of_processes_that_open_one_debate_exactly_one_succeeds(processes: int, place: str) -> None:
    won = race(INIT, processes, place, 5)
    assert sorted(attempt for attempts in won for attempt in attempts) == list(range(5))
    with Hall.open(place) as hall:
        topics = {listed["thread_id"]: listed["topic"] for listed in hall.list_debates()}
        expected = {
            f"2026-01-06-{attempt}": f"topic of {number}" for number, attempts in enumerate(won) for attempt in attempts
        }
        assert topics == expected
        for thread_id in topics:
            hall.verify_debate(thread_id)


@pytest.mark.slow
def test_of_processes_that_take_up_one_run_each_epoch_goes_to_one(place: str) -> None:
    with Hall.open(place) as hall:
        for attempt in range(25):
            hall.init_debate(f"2026-01-06-{attempt}", "Which?")
    taken_up = race(RUN, 8, place, 25)
    for epochs in zip(*taken_up, strict=True):
        given = sorted(epoch for epoch in epochs if epoch is not None)
        assert given == list(range(1, len(given) + 1))  # a holder whose process has ended is followed at once
        assert given


@pytest.mark.parametrize("processes", PROCESSES)
def test_processes_on_one_mediated_thread_pass_no_limit_and_lose_no_turn(processes: int, place: str) -> None:
    rounds = rounds_of(processes)
    with Hall.open(place) as hall:
        hall.init_debate(THREAD, "Which?", "mediated", 2 * rounds, rounds)
        outcomes = race(ONE_THREAD, processes, place, rounds)
        check_ledger(hall, [turn for acknowledged, _ in outcomes for turn in acknowledged])
        shown = hall.get_debate(THREAD)
        assert shown["turn_count"] <= 2 * rounds
        assert shown["round"] <= rounds
        assert {code for _, refused in outcomes for code in refused} <= {"floor_not_given", "barrier", "limit_reached"}
        spoken: set[str] = set()
        for turn, number in [(turn["role"], turn["round"]) for turn in shown["transcript"]]:
            spoken.add(f"{turn} {number}")
            assert turn != "Door" or {f"Wind {number}", f"Wall {number}"} <= spoken


@pytest.mark.slow
@pytest.mark.parametrize("processes", PROCESSES)
def test_processes_that_name_the_head_they_read_take_turns_up_to_the_limit(processes: int, place: str) -> None:
    rounds = rounds_of(processes)
    limit = processes * rounds - 3
    with Hall.open(place) as hall:
        hall.init_debate(THREAD, "Which?", "fixed", limit, 1000)
        outcomes = race(EXPECTED_HEAD, processes, place, rounds)
        turns = [turn for acknowledged, _ in outcomes for turn in acknowledged]
        assert len(turns) == limit
        check_ledger(hall, turns)
        assert {code for _, refused in outcomes for code in refused} <= {"stale_head"}


@pytest.mark.parametrize("processes", PROCESSES)
def test_processes_on_threads_of_their_own_do_not_disturb_each_other(processes: int, place: str) -> None:
    rounds = rounds_of(processes)
    heads = race(MANY_THREADS, processes, place, rounds)
    with Hall.open(place) as hall:
        for number, kept in enumerate(heads):
            thread_id = f"2026-01-06-process-{number}"
            shown = hall.get_debate(thread_id)
            assert [turn["turn_hash"] for turn in shown["transcript"]] == kept
            assert [turn["redacted"] for turn in shown["transcript"]] == [
                turn % 5 == 3 and turn < rounds - 1 for turn in range(rounds)
            ]
            hall.verify_debate(thread_id, kept[0])
