"""`debate-hall eval`: what it prints, what it leaves, how it exits."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from answering import BRIEFS, Voices, answer
from click.testing import CliRunner, Result

from orchestrator.cli.debate_hall import debate_hall
from orchestrator.errors import AuthenticationFailed
from orchestrator.evaluate.cassette import FILE as CASSETTE
from orchestrator.evaluate.results import FILE, load_results
from orchestrator.models.base import Request

Command = Callable[..., Result]

SPEAK = ("--wind", "openai/gpt-4o-mini", "--wall", "openai/gpt-4o", "--door", "openai/gpt-4.1")
ONE = ("run", "--brief", "001", "--out", "here", *SPEAK)
ARMS = ("--arms", "single,recipe:speed", "--limit-usd", "20")


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in os.environ:
        if name.startswith("DEBATE_HALL_") or name.endswith(("_API_KEY", "_TOKEN")):
            monkeypatch.delenv(name)
    for name, place in {"DEBATE_HALL_STATE_DIR": "state", "XDG_CONFIG_HOME": "config", "HOME": "home"}.items():
        monkeypatch.setenv(name, str(tmp_path / place))
    monkeypatch.setenv("DEBATE_HALL_STAND_INS", "none")
    monkeypatch.setenv("OPENAI_API_KEY", "asked-of-nobody")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def voices(monkeypatch: pytest.MonkeyPatch) -> Voices:
    """Whoever is asked."""
    voices = Voices()
    monkeypatch.setattr("orchestrator.models.switchboard.Switchboard.of", lambda self, route: voices)
    monkeypatch.setattr("orchestrator.cli.evaluating.load_for", lambda routes: None)
    return voices


@pytest.fixture
def evaluate() -> Command:
    return lambda *arguments: CliRunner().invoke(debate_hall, ["eval", *arguments])


def test_it_prints_what_each_arm_reached_and_leaves_results_that_can_be_replayed_without_a_key(
    evaluate: Command, voices: Voices, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = evaluate(*ONE, *ARMS)
    assert ended.exit_code == 0, ended.output
    heads, single, recipe = ended.stdout.splitlines()
    assert heads.split() == ["arm", "answered", "aside", "failed", "calls", "cost", "may", "take", "seconds"]
    assert single.split()[:5] == ["single", "1", "0", "0", "1"]
    assert recipe.split()[:5] == ["recipe:speed", "1", "0", "0", "6"]
    assert "001-parcel-scan-events recipe:speed 1: " in ended.stderr
    assert ended.stderr.splitlines()[-1] == f"wrote {Path('here', FILE)}"
    before = (work / "here" / FILE).read_bytes()
    assert len(load_results(Path("here")).results) == 2

    monkeypatch.delenv("OPENAI_API_KEY")
    asked = len(voices.requests)
    again = evaluate(*ONE, "--arms", "single,recipe:speed", "--replay")
    assert again.exit_code == 0, again.output
    assert (again.stdout, (work / "here" / FILE).read_bytes()) == (ended.stdout, before)
    assert len(voices.requests) == asked


def test_no_key_stands_in_the_cassette(evaluate: Command, voices: Voices, work: Path) -> None:
    voices.says = lambda request: answer("B", statement="The key is asked-of-nobody, and we take B.")
    assert evaluate(*ONE, "--arms", "single", "--limit-usd", "1").exit_code == 0
    assert "asked-of-nobody" not in (work / "here" / CASSETTE).read_text() + (work / "here" / FILE).read_text()
    assert "OPENAI_API_KEY" in (work / "here" / CASSETTE).read_text()


def test_nothing_of_it_comes_into_the_users_hall(
    evaluate: Command, voices: Voices, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBATE_HALL_STORE", str(work / "mine"))
    assert evaluate(*ONE, *ARMS).exit_code == 0
    assert sorted(path.name for path in work.iterdir()) == ["here"]
    assert not (work.parent / "state").exists()


def test_json_says_all_of_it(evaluate: Command, voices: Voices) -> None:
    ended = evaluate(*ONE, *ARMS, "--arms", "majority:door", "--json", "--quiet")
    told: dict[str, Any] = json.loads(ended.stdout)
    assert ended.stderr == ""
    assert {key: told[key] for key in ("briefs", "missing", "changed", "unrecorded", "stopped", "exit_code")} == {
        "briefs": 1,
        "missing": 0,
        "changed": [],
        "unrecorded": [],
        "stopped": None,
        "exit_code": 0,
    }
    assert [arm["arm"] for arm in told["arms"]] == ["single", "recipe:speed", "majority:door"]
    assert told["arms"][2]["allowed_usd"] == told["arms"][1]["cost_usd"]


def test_a_limit_that_is_met_is_exit_code_5_and_a_higher_one_goes_on(evaluate: Command, voices: Voices) -> None:
    ended = evaluate(*ONE, "--arms", "single,recipe:speed", "--limit-usd", "0.06", "--parallel", "1")
    assert ended.exit_code == 5, ended.output
    assert "stopped: The next call could take" in ended.stderr
    assert "Raise --limit-usd" in ended.stderr
    assert load_results(Path("here")).missing > 0
    asked = len(voices.requests)
    assert evaluate(*ONE, *ARMS).exit_code == 0
    assert (load_results(Path("here")).missing, len(voices.requests) - asked) == (0, 7 - asked)


def test_an_answer_that_cannot_be_had_is_exit_code_3_and_asked_for_the_next_time(
    evaluate: Command, voices: Voices
) -> None:
    def refuses(request: Request) -> None:
        raise AuthenticationFailed("No such key.", model=request.model)

    voices.before = refuses
    ended = evaluate(*ONE, "--arms", "single", "--limit-usd", "1")
    assert ended.exit_code == 3
    assert "failed: answer 1 through openai/gpt-4.1: No such key." in ended.stderr
    voices.before = lambda request: None
    assert evaluate(*ONE, "--arms", "single", "--limit-usd", "1").exit_code == 0


def test_a_replay_names_what_differs_by_brief_arm_and_step_and_leaves_the_results(
    evaluate: Command, voices: Voices, work: Path
) -> None:
    assert evaluate(*ONE, *ARMS).exit_code == 0
    before = (work / "here" / FILE).read_bytes()
    (work / "agents").mkdir()
    agents = Path(__file__).parents[2] / "agents"
    text = (agents / "door-agent.oct.md").read_text()
    (work / "agents" / "door-agent.oct.md").write_text(text.replace("===END===", "NOTE::be_brief\n===END==="))
    ended = evaluate(*ONE, "--arms", "single,recipe:speed", "--replay")
    assert ended.exit_code == 2
    assert ended.stderr.splitlines()[:2] == [
        "1 call not as recorded:",
        "  001-parcel-scan-events recipe:speed 1: round 1 Door door-agent: turn",
    ]
    assert (work / "here" / FILE).read_bytes() == before
    anew = evaluate(*ONE, *ARMS)
    assert anew.exit_code == 0
    assert "3 calls asked anew, since what is asked has changed:" in anew.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--arms", "single"), "--limit-usd is missing"),
        (("--arms", "best", "--limit-usd", "1"), "There is no arm 'best'"),
        (("--arms", "recipe:best", "--limit-usd", "1"), "There is no recipe 'best'"),
        (("--arms", "single", "--limit-usd", "1", "--brief", "777"), "There is no brief '777'"),
        (("--arms", "single", "--limit-usd", "1", "--briefs", "none"), "There is no such folder"),
        (("--arms", "single", "--replay"), "Leave out --replay"),
        (("--arms", "single", "--limit-usd", "1", "--door", "openai/unknown-9"), "no price is known for"),
        (("--arms", "single", "--limit-usd", "1", "--door", "rehearsal"), "A rehearsal decides nothing"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_asked(
    arguments: tuple[str, ...], says: str, evaluate: Command, voices: Voices, work: Path
) -> None:
    doors = SPEAK[:4] if "--door" in arguments else SPEAK
    ended = evaluate("run", "--brief", "001", "--out", "here", *doors, *arguments)
    assert ended.exit_code == 2
    assert says in ended.stderr
    assert voices.requests == []
    assert not (work / "here").exists()


def test_a_dry_run_asks_nothing_and_says_what_each_arm_may_be_expected_to_take(
    evaluate: Command, voices: Voices, work: Path
) -> None:
    arms = ("--arms", "single,majority,recipe:speed", "--repeat", "2", "--dry-run")
    told = json.loads(evaluate(*ONE, *arms, "--json").stdout)
    single, majority, recipe = (Decimal(told["arms"][arm]) for arm in ("single", "majority", "recipe:speed"))
    assert 0 < single < majority == recipe
    assert Decimal(told["expected_usd"]) == single + majority + recipe
    assert evaluate(*ONE, *arms).stdout.splitlines()[-1].split() == ["together", f"${single + majority + recipe:.4f}"]
    assert (voices.requests, (work / "here").exists()) == ([], False)


def test_check_tells_all_that_is_wrong_and_exits_with_2(evaluate: Command, work: Path) -> None:
    assert evaluate("check").stdout == evaluate("check", str(BRIEFS)).stdout == "20 briefs, 0 errors\n"
    for number in ("001-parcel-scan-events", "002-settlement-feed"):
        shutil.copytree(BRIEFS / number, work / "mine" / number)
        file = work / "mine" / number / "brief.yaml"
        file.write_text(file.read_text().replace("difficulty: ", "difficulty: 1"))
    ended = evaluate("check", "mine", "--json")
    told = json.loads(ended.stdout)
    assert (ended.exit_code, told["briefs"]) == (2, ["001-parcel-scan-events", "002-settlement-feed"])
    assert [("difficulty: must be at most 3" in error) for error in told["errors"]] == [True, True]
    (work / "empty").mkdir()
    assert "There is no brief in it" in evaluate("check", "empty").stderr
