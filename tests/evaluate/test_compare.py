"""The gate: 0 better or equal, 1 worse, 2 cannot tell, through the real command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from planting import answer, planted, result, results

from orchestrator.cli.debate_hall import debate_hall

IDS = tuple(f"9{number:02}-event-bus" for number in range(1, 21))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("briefs")
    for id in IDS:
        planted(folder, id)
    return folder


def kept(home: Path, name: str, *, words: str = "So.", **arms: str) -> str:
    """An evaluation on disk: for each arm the options it chose, brief by brief; as many briefs as there are letters."""
    found = [
        result(answer(option, words), id, arm)
        for arm, options in arms.items()
        for id, option in zip(IDS, options, strict=False)
    ]
    folder = home.parent / f"{home.name}-{name}"
    folder.mkdir(exist_ok=True)
    told = results(*found).model_copy(update={"briefs": str(home)})
    (folder / "results.json").write_text(told.text)
    return str(folder)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(debate_hall, ["eval", *arguments])


def told(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke("compare", *arguments, "--json").stdout)
    return found


@pytest.mark.parametrize(("before", "after", "code", "finding"), [
    ("A" * 10 + "B" * 10, "B" * 20, 0, "better or equal"),
    ("B" * 20, "A" * 10 + "B" * 10, 1, "worse"),
    ("AB" * 10, "BA" * 10, 2, "cannot tell"),
    ("B" * 20, "C" * 20, 0, "better or equal"),  # all sound: twenty exclude a loss of fifteen points
    ("B" * 10, "C" * 10, 2, "cannot tell"),  # ten do not
    ("B" * 5, "B" * 5, 0, "better or equal"),  # the very same answers
    ("B" * 20, "A" + "B" * 19, 2, "cannot tell"),
])  # fmt: skip
def test_the_exit_code_says_whether_b_is_as_good_as_a(
    before: str, after: str, code: int, finding: str, home: Path
) -> None:
    a, b = kept(home, "a", single=before), kept(home, "b", single=after)
    ended = invoke("compare", a, b)
    assert ended.exit_code == code, ended.output
    assert ended.stdout.startswith(finding)


def test_a_margin_says_what_counts_as_equal(home: Path) -> None:
    a, b = kept(home, "a", single="B" * 20), kept(home, "b", single="A" + "B" * 19)
    assert [invoke("compare", a, b, "--margin", margin).exit_code for margin in ("5", "15", "40")] == [2, 2, 0]


def test_another_measure_can_be_asked_for_and_less_may_be_better(home: Path) -> None:
    a = kept(home, "a", words="It is under 5 ms.", single="B" * 20)
    b = kept(home, "b", words="It is not under 5 ms.", single="B" * 20)
    assert invoke("compare", a, b, "--measure", "false_claims").exit_code == 0
    assert invoke("compare", b, a, "--measure", "false_claims").exit_code == 1
    assert invoke("compare", a, b).exit_code == 0  # as sound as before
    found = told(a, b)
    assert (found["finding"], found["exit_code"]) == ("better_or_equal", 0)
    assert [each["measure"] for each in found["differences"]] == ["soundness", "constraint_recall", "false_claims"]


def test_arms_are_named_where_there_are_several(home: Path) -> None:
    a = kept(home, "a", majority="A" * 20, single="B" * 20)
    ended = invoke("compare", a, a)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "has several arms: majority, single. Name one with --arm." in ended.stderr
    assert invoke("compare", a, a, "--arm", "majority", "--arm-b", "single").exit_code == 0
    assert invoke("compare", a, a, "--arm", "single", "--arm-b", "majority").exit_code == 1
    assert "has no arm 'refine'" in invoke("compare", a, a, "--arm", "refine").stderr


def test_evaluations_that_share_no_brief_tell_nothing(home: Path) -> None:
    a, b = kept(home, "a", single="B"), kept(home, "b", single="B")
    found = json.loads((Path(b) / "results.json").read_text())
    found["results"][0]["brief"] = found["ids"][0] = IDS[1]
    (Path(b) / "results.json").write_text(json.dumps(found))
    ended = invoke("compare", a, b)
    assert (ended.exit_code, ended.stdout) == (2, "cannot tell: They share no brief.\n")


def test_a_report_is_written_beside_the_results_and_shown(home: Path) -> None:
    folder = kept(home, "a", majority="A" * 20, single="B" * 20)
    ended = invoke("report", folder)
    assert ended.exit_code == 0, ended.output
    assert ended.stdout == (Path(folder) / "report.md").read_text()
    assert "single decides soundly more often than majority" in ended.stdout
    assert sorted(path.name for path in Path(folder).iterdir()) == [
        "report.html", "report.json", "report.md", "results.json", "scores.json"
    ]  # fmt: skip
    (first, *_) = json.loads((Path(folder) / "scores.json").read_text())["scores"]
    assert (first["brief"], first["option"], first["verdict"]) == (IDS[0], "A", "violates")
    shown = json.loads(invoke("report", folder, "--json", "--against", "single").stdout)
    assert shown["against"] == "single"
    assert json.loads((Path(folder) / "report.json").read_text()) == shown


def test_what_is_no_evaluation_is_refused(tmp_path: Path) -> None:
    ended = invoke("report", str(tmp_path))
    assert ended.exit_code == 2
    assert "results.json: cannot be read" in ended.stderr
    assert "--limit-usd is missing" in invoke("report", str(tmp_path), "--judge", "test/judge").stderr
