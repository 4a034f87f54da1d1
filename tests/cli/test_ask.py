"""`debate-hall ask`: the answer, what is said beside it, and how it ends."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from in_process import Table

from orchestrator.decision.record import record_of
from orchestrator.errors import ContentRefused
from orchestrator.export.html import render_html
from orchestrator.hall.hall import Hall
from orchestrator.models.base import Request

THREAD = "2026-01-06-billing"
ANSWER = f"{THREAD}-answer-1"
PAGE = Path(__file__).parents[2] / "docs" / "asking.md"
QUESTION = "Why not Postgres?"
MODELS = """\
routes: {PATHOS: [openai/wind], ETHOS: [openai/wall], LOGOS: [openai/door]}
models:
  openai/wind: {input_cost_per_token: 0.000001, output_cost_per_token: 0.000003}
  openai/wall: {input_cost_per_token: 0.000001, output_cost_per_token: 0.000003}
  openai/door: {input_cost_per_token: 0.000001, output_cost_per_token: 0.000003}
"""

Command = Callable[..., Result]


@pytest.fixture
def ask(run: Command, hall: Command, table: Table, work: Path) -> Command:
    """`debate-hall ask`, of a debate between models of known price, each call of which takes a cent."""
    (work / "own.yaml").write_text(MODELS)
    begun = run("-r", "speed", "--models", "own.yaml", "--thread-id", THREAD, "--format", "json", "--quiet", "Kafka?")
    assert begun.exit_code == 0, begun.output
    table.asked.clear()
    return lambda *arguments: hall("ask", THREAD, QUESTION, *arguments)


def json_of(result: Result) -> dict[str, Any]:
    outcome: dict[str, Any] = json.loads(result.stdout)
    assert outcome["exit_code"] == result.exit_code
    return outcome


def head() -> str:
    with Hall.open() as hall:
        return hall.debate(THREAD).head


def test_the_answer_stands_on_standard_output_and_what_is_to_be_known_of_it_beside_it(
    ask: Command, table: Table, hall: Command
) -> None:
    before = head()
    result = ask()
    assert result.exit_code == 0, result.output
    mark, _, words = result.stdout.partition("\n\n")
    assert mark == f"ANSWER: to a question about {THREAD} as it stood at {before}; it decides nothing."
    assert words == "That is what draft 1 of door-agent in round 1 found in [T1], and what was decided in [T3].\n"
    told = result.stderr.splitlines()
    assert told[0].startswith("quote: ")
    assert told[-3] == "checked: T1 and T3 are there; whether it follows is for you"
    assert told[-2] == f"kept in {ANSWER}: debate-hall show {ANSWER}"
    assert told[-1].endswith("; took 110 tokens, $0.0100")
    assert head() == before
    listed = hall("list").stdout.splitlines()
    assert [line.rpartition("  ")[2] for line in listed] == [f"ANSWER: {QUESTION}", "Kafka?"]
    shown = hall("show", ANSWER).stdout
    assert shown.startswith(f"{mark}\n\n{ANSWER}: synthesis, 1 of 1 turns")


def test_what_was_answered_is_shown_again_for_nothing_unless_it_is_asked_again(ask: Command, table: Table) -> None:
    first, second = ask(), ask()
    assert (second.stdout, len(table.asked)) == (first.stdout, 1)
    assert second.stderr.splitlines()[0].startswith("note: the same was asked before")
    assert json_of(ask("--again", "--json"))["thread_id"] == f"{THREAD}-answer-2"
    assert len(table.asked) == 2


def test_a_question_may_stand_on_standard_input_and_is_the_same_there(ask: Command, hall: Command) -> None:
    first, second = ask(), hall("ask", THREAD, "-", input=f"\ufeff{QUESTION}\n".encode())
    assert (second.exit_code, second.stdout) == (0, first.stdout)
    assert second.stderr.startswith("note: the same was asked before")
    assert hall("ask", THREAD, "-", input=b"\xff").stderr.startswith(
        "error: The question on standard input is not UTF-8."
    )


def test_json_tells_each_name_and_whether_it_exists(ask: Command) -> None:
    result = ask("--json", "--quiet")
    outcome = json_of(result)
    assert result.stderr == ""
    assert outcome["about"] == {"kind": "answers", "thread_id": THREAD, "head": head()}
    assert outcome["names"] == [{"name": name, "exists": True, "problem": None} for name in ("T1", "T3")]
    assert (outcome["thread_id"], outcome["question"], outcome["status"]) == (ANSWER, QUESTION, "synthesis")
    assert (outcome["agent"], outcome["model"], outcome["cost_usd"]) == ("door-agent", "test/answered", "0.01")
    assert (outcome["incomplete"], outcome["error"]) == ([], None)


def test_quiet_prints_the_answer_alone(ask: Command) -> None:
    result = ask("--quiet")
    assert result.stdout.startswith("ANSWER: ")
    assert result.stderr == ""


def test_a_limit_stops_it_and_the_last_line_says_how_it_goes_on(ask: Command, table: Table) -> None:
    stopped = ask("--cost-limit", "0.0001")
    assert (stopped.exit_code, stopped.stdout, table.asked) == (5, "", [])
    again = f"debate-hall ask {THREAD} '{QUESTION}' --cost-limit USD"
    assert stopped.stderr.splitlines()[-1] == f"Go on with: {again}"
    outcome = json_of(ask("--cost-limit", "0.0001", "--json"))
    assert (outcome["exit_code"], outcome["error"]["code"], outcome["thread_id"]) == (5, "limit", ANSWER)
    assert outcome["about"]["head"] == head()
    assert json_of(ask("--cost-limit", "1", "--json"))["thread_id"] == ANSWER


def test_a_door_that_cannot_be_heard_pauses_it(ask: Command, table: Table) -> None:
    def refuse(request: Request) -> None:
        raise ContentRefused("The model declines.", model=request.model)

    table.hears = refuse
    paused = ask()
    assert (paused.exit_code, paused.stdout) == (3, "")
    assert paused.stderr.splitlines()[-1] == f"Go on with: debate-hall ask {THREAD} '{QUESTION}'"
    table.hears = lambda request: None
    assert json_of(ask("--json"))["thread_id"] == ANSWER


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no-such-thread", QUESTION), "There is no debate no-such-thread"),
        ((THREAD, "  "), "The question is blank."),
        ((THREAD, "x" * 12_001), "The question has 12,001 characters"),
        ((THREAD, "Is sk-proj-" + "a1B2" * 12 + " ours?"), "The question holds what looks like"),
        ((THREAD, QUESTION, "--models", "no-such-file"), "no-such-file"),
    ],
)
def test_what_cannot_be_asked_is_said_and_changes_nothing(
    arguments: tuple[str, ...], message: str, ask: Command, hall: Command, debates: Callable[[], list[dict[str, Any]]]
) -> None:
    before = debates()
    refused = hall("ask", *arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert message in refused.stderr
    assert json_of(hall("ask", *arguments, "--json"))["error"]["message"] in refused.stderr.removeprefix("error: ")
    assert debates() == before


def test_a_rehearsal_is_not_asked_without_a_model(rehearse: Command, hall: Command, table: Table) -> None:
    rehearse("--thread-id", THREAD, "Kafka?")
    refused = hall("ask", THREAD, QUESTION)
    assert refused.exit_code == 2
    assert f'debate-hall ask {THREAD} --model MODEL "…"' in refused.stderr
    answered = hall("ask", THREAD, QUESTION, "--model", "openai/any")
    assert answered.exit_code == 0, answered.output
    assert table.asked[-1].model == "openai/any"


def test_an_answer_is_no_decision_to_resume_or_to_record(ask: Command, run: Command, hall: Command, work: Path) -> None:
    ask()
    resumed = run("--resume", ANSWER)
    assert resumed.exit_code == 2
    assert f"{ANSWER} answers a question about {THREAD}" in resumed.stderr
    exported = hall("export", ANSWER, "--format", "adr")
    assert (exported.exit_code, exported.stdout) == (2, "")
    assert "it is no decision to record" in exported.stderr
    (work / "adr").mkdir()
    recorded = hall("export", ANSWER, "--format", "adr", "--adr", "adr")
    assert "an answer decides nothing" in recorded.stderr
    assert list((work / "adr").iterdir()) == []


def test_every_export_says_whose_question_it_answers(ask: Command, hall: Command) -> None:
    ask()
    about = f"to a question about {THREAD} as it stood at {head()}; it decides nothing."
    exported = json.loads(hall("export", ANSWER).stdout)
    assert exported["read_first"] == [f"ANSWER: {about}"]
    assert exported["link"] == {"kind": "answers", "thread_id": THREAD, "head": head()}
    assert (exported["record"]["decision"], exported["record"]["starved_roles"]) == (None, [])
    assert f'ANSWER::"{about}"' in hall("export", ANSWER, "--format", "octave").stdout
    with Hall.open() as opened:
        debate = opened.debate(ANSWER)
    page = render_html(record_of(debate), debate)
    assert f"<strong>ANSWER</strong> {about}" in page
    assert "Skip to the answer" in page
    assert "Decision record" not in page


def test_the_commands_of_its_page_answer(ask: Command, hall: Command) -> None:
    (block,) = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    for line in block.splitlines():
        name, *arguments = shlex.split(line)
        assert (name, hall(*arguments).exit_code) == ("debate-hall", 0)


def test_words_of_a_redacted_turn_that_an_answer_quotes_are_told(ask: Command, hall: Command, table: Table) -> None:
    with Hall.open() as opened:
        wind = opened.debate(THREAD).turns[0].words
    quoted = " ".join(wind.split()[:20])
    table.says = f"Wind said “{quoted}” [T1]."
    ask()
    redacted = hall("tombstone", THREAD, "0", "--reason", "It names a customer.")
    assert f'debate-hall tombstone {ANSWER} --seq 2 --reason "…"' in redacted.stdout


def test_an_answer_comes_back_from_its_export(
    ask: Command, hall: Command, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask()
    for format in ("json", "octave"):
        (work / f"answer.{format}").write_text(hall("export", ANSWER, "--format", format).stdout)
        monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(work / format))
        taken = hall("import", f"answer.{format}")
        assert taken.exit_code == 0, taken.output
        assert f"question about {THREAD}" in hall("show", ANSWER).stdout
        monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(work.parent / "state"))
