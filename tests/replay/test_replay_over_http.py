"""Replays of a FORTRESS over real HTTP: the endpoint counts who is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from endpoint import ModelServer
from replay.stage import AGAIN, FORTRESS, NEW, OTHER, THREAD, TOPIC, Command, told


@pytest.fixture
def models(stage: Path, monkeypatch: pytest.MonkeyPatch, model_server: ModelServer) -> None:
    """The models file names models of the endpoint; another one names one more."""
    configs = stage / "config/debate-hall/configs"
    configs.mkdir(parents=True)
    (configs / "models.yaml").write_text(model_server.models_file())
    name = OTHER.partition("/")[2]
    (stage / "other.yaml").write_text(model_server.models_file(pathos=name, ethos=name, logos=name))


@pytest.mark.slow
@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(("change", "new"), NEW.items(), ids=[" ".join(change) for change in NEW])
def test_the_endpoint_is_asked_as_often_as_something_hangs_on_the_change(
    change: tuple[str, str], new: int, run: Command, hall: Command, model_server: ModelServer
) -> None:
    told(run("-r", "fortress", "-c", "facts.md", "-c", "load.md", "--thread-id", THREAD, "--json", TOPIC))
    assert len(model_server.calls) == FORTRESS
    named = ["--models", "./other.yaml"] if OTHER in change[1] else []
    foreseen = told(hall("replay", THREAD, *change, *named, "--dry-run", "--json"))
    assert len(model_server.calls) == FORTRESS
    assert (len(foreseen["new_calls"]), foreseen["reused"]) == (new, FORTRESS - new)
    outcome = told(hall("replay", THREAD, *change, *named, "--json"))
    asked = model_server.calls[FORTRESS:]
    assert len(asked) == new
    assert (outcome["thread_id"], outcome["replay"]["reused"]) == (AGAIN, FORTRESS - new)
    assert outcome["tokens"]["input"] == sum(call.charged[0] for call in asked if call.charged)
    routes = [call["route"] for call in foreseen["new_calls"]]
    assert sorted(routes) == sorted(f"openai/{call.model}" for call in asked)
    assert json.loads((Path("debates") / AGAIN / "debate.json").read_text())
