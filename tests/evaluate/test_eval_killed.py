"""An evaluation that is killed in the middle goes on, in processes of its own and over real HTTP."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from answering import answer

from crash.stage import Stage
from endpoint import Call, ModelServer
from endpoint_voices import plausible
from orchestrator.evaluate.asked import CHOOSE, CRITICISE, REWRITE, TRANSCRIBE
from orchestrator.evaluate.results import FILE, load_results

pytestmark = pytest.mark.slow

ARMS = "single,refine,majority,recipe:speed"
EVALUATE = ("eval", "run", "--brief", "001", "--models", "./here.yaml", "--out", "here", "--arms", ARMS, "--quiet")


def says(call: Call) -> str:
    task = call.task
    if CRITICISE in task:
        return "It missed the contract."
    return answer("B") if any(words in task for words in (CHOOSE, REWRITE, TRANSCRIBE)) else plausible(call)


@pytest.mark.parametrize("places", [(4, 4, 4), (20,), (31, 17), (60,)])
def test_what_was_killed_goes_on_and_asks_again_only_what_was_under_way(
    places: tuple[int, ...], tmp_path: Path
) -> None:
    with ModelServer(says) as server:
        stage = Stage(tmp_path, server)
        for place in places:
            killed = stage.run(*EVALUATE, "--limit-usd", "5", "--parallel", "1", at=place)
            assert killed.code == -signal.SIGKILL, killed.told
        ended = stage.run(*EVALUATE, "--limit-usd", "5")
        assert ended.code == 0, ended.told
        results = load_results(tmp_path / "here")
        lines = [json.loads(line) for line in (tmp_path / "here" / "cassette.jsonl").read_text().splitlines()]
        lost = [line for line in lines if line["kind"] == "asked"]
        replied = {line["number"] for line in lines if line["kind"] == "replied"}
        lost = [line for line in lost if line["number"] not in replied]
        assert [result.outcome for result in results.results] == ["answered"] * 4
        assert len(replied) == sum(result.spent.calls for result in results.results)  # each was heard once
        assert len(lost) <= 2 * len(places)  # a batch of the debate: Wind beside Wall
        assert len(server.calls) <= len(replied) + len(lost)
        before = (tmp_path / "here" / FILE).read_bytes()
        calls = len(server.calls)
        assert stage.run(*EVALUATE, "--replay").code == 0
        assert (len(server.calls), (tmp_path / "here" / FILE).read_bytes()) == (calls, before)
        stage.clear()
