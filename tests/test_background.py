"""A process that holds one debate by itself: whoever opened it may go away, and so may the files it was made from."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from building import BUNDLED, THREAD, TOPIC, order
from orchestrator import background
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Status
from orchestrator.plan import Changes
from orchestrator.recipe import Limits
from orchestrator.runner import open_debate
from orchestrator.wanted import Wanted, prepare

if TYPE_CHECKING:
    from endpoint import ModelServer

FILES = ["debate.json", "decision.md", "plan.yaml", "report.html", "run.log", "transcript.oct.md"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a recipe, an agent and evidence of its own."""
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    work = tmp_path / "work"
    for kind, name, old, new in (
        ("recipes", "speed.yaml", "name: speed", "name: own"),
        ("agents", "wind-agent.oct.md", "QUESTIONS::[", 'QUESTIONS::["Who owns the ledger of ours?",'),
    ):
        (work / kind).mkdir(parents=True)
        text = (BUNDLED / kind / name).read_text().replace(old, new)
        (work / kind / name.replace("speed", "own")).write_text(text)
    (work / "facts.md").write_text("The auditor reads the ledger and not the topic.\n")
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def hall(place: Path) -> Iterator[Hall]:
    with Hall.open() as hall:
        yield hall


def state_of(hall: Hall) -> str:
    return hall.runs.life(hall.runs.row(THREAD), hall.debate(THREAD).state.status is Status.ACTIVE)


def log_of(folder: Path) -> str:
    return (folder / background.LOG).read_text()


@pytest.mark.slow
def test_a_later_process_goes_on_with_the_pinned_texts_though_every_file_is_gone(hall: Hall, place: Path) -> None:
    plan = prepare(Wanted("own", rehearse=True, context=("facts.md",)), {}, place)
    open_debate(hall, plan, THREAD, TOPIC)
    lease = hall.runs.begin(THREAD)
    for gone in ("recipes", "agents"):
        shutil.rmtree(place / gone)
    (place / "facts.md").unlink()
    folder = place / "out" / "of" / "it"
    assert background.start(lease, folder).wait(60) == 0, log_of(folder)
    debate = hall.debate(THREAD)  # verified
    assert (order(debate), debate.state.status, debate.plan) == ("WLD", "synthesis", plan.encode())
    assert "Who owns the ledger of ours?" in (debate.turns[0].text or "")
    assert any("[E1:1]" in (line.text or "") for line in debate.turns)
    assert state_of(hall) == "done"
    assert sorted(file.name for file in folder.iterdir()) == FILES
    written = json.loads((folder / "debate.json").read_text())
    assert (written["head"], written["marks"]) == (debate.head, ["REHEARSAL"])
    assert log_of(folder) == ""


@pytest.mark.slow
def test_nothing_in_the_folder_it_is_started_from_is_taken_for_a_module(hall: Hall, place: Path) -> None:
    (place / "anyio.py").write_text("raise SystemExit('taken for anyio')\n")
    open_debate(hall, prepare(Wanted("own", rehearse=True), {}, place), THREAD, TOPIC)
    lease = hall.runs.begin(THREAD)
    assert background.start(lease, place / "out").wait(60) == 0, log_of(place / "out")
    assert hall.get_debate(THREAD)["status"] == "synthesis"


@pytest.mark.slow
def test_an_internal_failure_stands_with_its_traceback_in_the_log(hall: Hall, place: Path) -> None:
    hall.open_run(THREAD, TOPIC, "no plan", "fixed", 3, 1)
    lease = hall.runs.begin(THREAD)
    folder = place / "out"
    for times in (1, 2):  # a second process writes behind the first
        assert background.start(lease, folder).wait(60) != 0
        assert log_of(folder).count("Traceback (most recent call last)") >= times
        assert log_of(folder).count("The pinned plan cannot be read by this version") == times
    assert hall.get_debate(THREAD)["turn_count"] == 0


@pytest.mark.slow
def test_a_run_that_was_asked_to_stop_before_its_process_began_says_so_and_speaks_no_turn(
    hall: Hall, place: Path
) -> None:
    open_debate(hall, prepare(Wanted("own", rehearse=True), {}, place), THREAD, TOPIC)
    lease = hall.runs.begin(THREAD)
    hall.runs.stop(THREAD, "It costs too much.")
    folder = place / "out"
    assert background.start(lease, folder).wait(60) == 0, log_of(folder)
    assert (state_of(hall), hall.get_debate(THREAD)["turn_count"]) == ("paused", 0)
    assert log_of(folder) == ""


@pytest.mark.slow
def test_a_process_that_was_killed_leaves_its_turns_and_is_known_to_be_interrupted(
    hall: Hall, place: Path, model_server: ModelServer
) -> None:
    (place / "here.yaml").write_text(model_server.models_file())
    model_server.deadline_s = 60
    model_server.hold_until(2, 1, 2)  # Wind with the checklist, Wall, and Door, who waits in vain
    open_debate(hall, prepare(Wanted("own", models="here.yaml"), {}, place), THREAD, TOPIC)
    lease = hall.runs.begin(THREAD)
    process = background.start(lease, place / "out")
    while len(model_server.calls) < 4:
        assert model_server.arrived.wait(60), log_of(place / "out")
        model_server.arrived.clear()
    assert state_of(hall) == "running"
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL
    debate = hall.debate(THREAD)
    assert (order(debate), debate.state.status, state_of(hall)) == ("WL", "active", "interrupted")
    assert [file.name for file in (place / "out").iterdir()] == [background.LOG]
    model_server.hold_until()
    changes = Changes(limits=Limits(tokens=10**6))
    assert background.start(hall.runs.begin(THREAD), place / "out", changes).wait(60) == 0, log_of(place / "out")
    debate = hall.debate(THREAD)
    assert (order(debate), debate.state.status, state_of(hall)) == ("WLD", "synthesis", "done")
    doors = [call.task for call in model_server.calls if call.model == "door-1"]
    assert len(doors) == len(model_server.calls) - 3 == 3
    assert doors[0] == doors[1] != doors[2]  # the one in flight, once more, and its account
    assert sorted(file.name for file in (place / "out").iterdir()) == FILES
    record = json.loads((place / "out" / "debate.json").read_text())["record"]
    assert record["changes"] == [f"From here on {changes}."]
    assert [call.partition(": ")[2].partition(",")[0] for call in record["uncertain"]] == ["R1.Door.1 turn"]
