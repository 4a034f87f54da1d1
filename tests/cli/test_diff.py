"""`debate-hall diff`: two debates of the hall or from files, as people and as programs see them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from examples.shelf import ALL, THREAD
from examples.writing import write
from orchestrator.hall.export import export_json
from orchestrator.hall.hall import Hall

Command = Callable[..., Result]
Script = Callable[..., Any]

HELD = ("everything", "stalemate", "rehearsal", "forced", "running", "by-hand")


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Every example debate as a file of its ledger."""
    folder = tmp_path_factory.mktemp("exports")
    for name in HELD:
        debate, _, _ = ALL[name](folder / f"state-{name}")
        (folder / f"{name}.json").write_text(export_json(debate))
    return {name: str(folder / f"{name}.json") for name in HELD}


def told(result: Result, code: int = 0) -> str:
    assert result.exit_code == code, result.output
    return result.stdout


def refused(result: Result, code: int = 2) -> str:
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    return result.stderr


# ------------------------------------------------------------------------------------------------------ what is shown


def test_two_debates_are_shown_side_by_side_on_one_screen(hall: Command, exports: Mapping[str, str]) -> None:
    shown = told(hall("diff", exports["by-hand"], exports["stalemate"]))
    assert shown == (
        f"A  {THREAD}, synthesis, 2026-01-06\n"
        f"B  {THREAD}, stalemate, 2026-01-06\n"
        "   STALEMATE: the objections below were not settled.\n"
        "\n"
        "Title\n"
        "  A  Should we move billing to Kafka?\n"
        "  B  What was decided\n"
        "\n"
        "Decision\n"
        "  A  Therefore we go step by step and 1 more and 2 more and 3 more and 4 more and 5 more and 6 more…\n"
        "  B  It is done step by step.\n"
        "\n"
        "Outcome\n"
        "                 A             B\n"
        "  status         synthesis     stalemate\n"
        "  agreed         not voted on  no\n"
        "  reversibility  none          two-way\n"
        "  confidence     none          medium\n"
        "\n"
        "Constraints: 1 alike in words\n"
        "  the same words; what differs: outcome, sentence\n"
        "    A  T2.C1, CONSTRAINT, met: Nobody on call knows C1.\n"
        "       → The first step is taken by somebody who was trained for it.\n"
        "    B  T2.C1, CONSTRAINT, open: Nobody on call knows C1.\n"
        "       → none\n"
        "\n"
        "Options: 1 only in B\n"
        "  only B  taken: Step by step\n"
        "\n"
        "Objections that stand: 3 only in B\n"
        "  only B  O1, Wall wall-agent: Nobody is trained.\n"
        "  only B  O2, Wall wall-agent: Still nobody is.\n"
        "  only B  T2.C1, Wall wall-agent: Nobody on call knows C1.\n"
        "\n"
        "Cost\n"
        "              A  B\n"
        "  US dollars  0  unknown\n"
        f"  tokens in   0  {tokens(exports['stalemate'], 'in')}\n"
        f"  tokens out  0  {tokens(exports['stalemate'], 'out')}\n"
    )


def tokens(file: str, way: str) -> str:
    seats = [json.loads(line["entry"]).get("seat") or {} for line in json.loads(Path(file).read_text())["ledger"]]
    return f"{sum(seat.get({'in': 'input', 'out': 'output'}[way]) or 0 for seat in seats):,}"


def test_a_debate_and_itself_differ_in_nothing(hall: Command, exports: Mapping[str, str]) -> None:
    shown = told(hall("diff", exports["everything"], exports["everything"]))
    assert "\n\nNothing differs.\n\nConstraints: 7 the same\n\nOptions: 5 the same\n" in shown
    assert shown.count("DEGRADED: Wind edge-optimizer (R2.Wind.2) is missing") == 2


@pytest.mark.parametrize(("name", "mark"), [
    ("everything", "INCOMPLETE: one thing in it does not hold against the ledger"),
    ("rehearsal", "REHEARSAL: no model was asked and nothing was decided; this is a worksheet for people."),
    ("forced", "CLOSED BY FORCE: there is no decision."),
    ("running", "NOT CLOSED: the debate goes on; nothing is decided yet."),
    ("stalemate", "STALEMATE: the objections below were not settled."),
])  # fmt: skip
def test_what_is_to_be_said_first_of_a_side_stands_under_its_name(
    name: str, mark: str, hall: Command, exports: Mapping[str, str]
) -> None:
    head, _, rest = told(hall("diff", exports["by-hand"], exports[name])).partition("\n\n")
    assert f"   {mark}" in head
    assert mark not in rest


def test_debates_on_different_questions_are_told_as_that_and_compared(
    hall: Command, exports: Mapping[str, str], rehearse: Command
) -> None:
    assert rehearse("--thread-id", "2026-01-07-queue", "Which queue?").exit_code == 0
    shown = told(hall("diff", "2026-01-07-queue", exports["rehearsal"]))
    assert shown.startswith(
        "They answer different questions, and are compared all the same:\n"
        "  A  Which queue?\n"
        "  B  Should we move billing to Kafka?\n"
        "\n"
        "A  2026-01-07-queue, synthesis"
    )
    assert "\nCost\n" in shown


def test_words_that_steer_a_terminal_are_visible_signs(hall: Command) -> None:
    for thread, words in (("a", "Which\x1b[2Jqueue?"), ("b", "Which topic?")):
        opened(thread, words)
    result = hall("diff", "a", "b")
    assert "Which␛[2Jqueue?" in told(result)
    assert "\x1b" not in result.output
    assert "\x1b" not in hall("diff", "a", "b", "--json").output


def opened(thread_id: str, topic: str) -> None:
    with Hall.open() as here:
        here.init_debate(thread_id, topic)


# ------------------------------------------------------------------------------------------------------- for programs


def test_json_says_all_of_it(hall: Command, exports: Mapping[str, str]) -> None:
    found = json.loads(told(hall("diff", "--json", exports["everything"], exports["stalemate"])))
    assert found["schema"] == "run-debate/diff/v1"
    assert list(found) == [
        "schema", "a", "b", "question", "decision", "outcome",
        "options", "constraints", "dissent", "assumptions", "cost",
    ]  # fmt: skip
    head = json.loads(Path(exports["stalemate"]).read_text())["head"]
    assert found["b"] == {
        "source": exports["stalemate"],
        "thread_id": THREAD,
        "question": "Should we move billing to Kafka?",
        "status": "stalemate",
        "title": "What was decided",
        "decided_at": found["b"]["decided_at"],
        "head": head,
        "marks": [{"word": "STALEMATE", "why": "the objections below were not settled."}],
    }
    assert found["question"] is None
    assert found["outcome"][0] == {"what": "status", "a": "synthesis", "b": "stalemate"}
    assert found["cost"][0] == {"what": "US dollars", "a": found["cost"][0]["a"], "b": None}
    assert [one["id"] for one in found["constraints"]["only_b"]] == ["T2.C1"]


def test_a_likeness_is_told_to_the_hundredth(hall: Command) -> None:
    for thread, words in (("a", "No new cluster runs before 1 March 2026."), ("b", "No new cluster before March.")):
        opened(thread, "Which queue?")
        wall(thread, words)
    (pair,) = json.loads(told(hall("diff", "--json", "a", "b")))["constraints"]["alike"]
    assert (pair["likeness"], pair["differs"]) == (0.67, ["statement"])
    assert "  67 % alike in words; what differs: statement\n" in told(hall("diff", "a", "b"))


def wall(thread_id: str, statement: str) -> None:
    with Hall.open() as here:
        here.add_turn(thread_id, "Wind", "What if there were none?")
        here.add_turn(thread_id, "Wall", f"VERDICT: CONDITIONAL\n- [C1] CONSTRAINT: {statement}")


# ------------------------------------------------------------------------------------------- where the debates are from


@pytest.mark.slow
def test_files_and_folders_of_runs_are_compared_from_an_empty_folder_without_a_hall(
    script: Script, work: Path, tmp_path: Path
) -> None:
    write(ALL["everything"], tmp_path / "run")
    done = script("debate-hall", "diff", "../run", "../run/debate.json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Nothing differs." in done.stdout
    assert list(work.iterdir()) == []
    assert not (tmp_path / "state").exists()


def test_a_thread_of_the_hall_is_compared_with_its_own_file(hall: Command, rehearse: Command) -> None:
    assert rehearse("--thread-id", "2026-01-07-queue", "Which queue?").exit_code == 0
    assert "Nothing differs." in told(hall("diff", "2026-01-07-queue", "debates/2026-01-07-queue"))


def test_a_debate_that_is_not_there_is_named(hall: Command, exports: Mapping[str, str], work: Path) -> None:
    (work / "empty").mkdir()
    assert "There is no debate 2026-01-01-none" in refused(hall("diff", exports["by-hand"], "2026-01-01-none"))
    assert "There is no file gone/debate.json." in refused(hall("diff", exports["by-hand"], "gone/debate.json"))
    assert "There is no debate.json in empty." in refused(hall("diff", "empty", exports["by-hand"]))


def test_a_file_that_is_no_debate_or_does_not_verify_is_refused(
    hall: Command, exports: Mapping[str, str], work: Path
) -> None:
    (work / "notes.json").write_text("{}")
    assert "notes.json is no exported debate" in refused(hall("diff", "notes.json", exports["by-hand"]))
    members = json.loads(Path(exports["by-hand"]).read_text())
    members["ledger"][1]["text"] = "What if it had been said otherwise?"
    (work / "other.json").write_text(json.dumps(members))
    said = refused(hall("diff", exports["by-hand"], "other.json"), 7)
    assert "entry 1" in said


def test_a_record_that_somebody_wrote_into_a_file_is_not_believed(
    hall: Command, tmp_path: Path, exports: Mapping[str, str]
) -> None:
    write(ALL["stalemate"], tmp_path / "run")
    file = tmp_path / "run" / "debate.json"
    members = json.loads(file.read_text())
    members["record"]["title"] = "All is well"
    file.write_text(json.dumps(members))
    assert "All is well" not in told(hall("diff", str(file), exports["everything"]))
