"""`run-debate --baseline`: what as much money in single answers chooses, told in one line of every output."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import Result

from baseline.singles import DECIDED, LEFT, THREAD, TOPIC, Singles
from building import plan_of
from orchestrator.baseline import ALONE, lone_seats
from orchestrator.decision.record import record_of
from orchestrator.errors import AuthenticationFailed
from orchestrator.hall.debate import Debate
from orchestrator.hall.exported import read
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import About, Role
from orchestrator.models.base import Endpoint, Request
from orchestrator.quote import quote_of, with_baseline

VOICES = ("--wind", "openai/w", "--wall", "openai/l", "--door", "openai/d")
Command = Callable[..., Result]


def told(result: Result, code: int = 0) -> dict[str, Any]:
    assert result.exit_code == code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def debate_of(thread_id: str = THREAD) -> Debate:
    with Hall.open() as hall:
        return hall.debate(thread_id)


@pytest.fixture
def debate(run: Command, singles: Singles) -> Command:
    """Holds a debate of three turns with a baseline."""
    arguments = ("-r", "speed", "-c", "facts.md", *VOICES, "--thread-id", THREAD)
    return lambda *more: run(*arguments, "--baseline", *more, TOPIC)


def line_of(debate: Debate) -> str:
    baseline = record_of(debate).baseline
    assert baseline is not None
    return baseline.line


def test_nobody_answers_alone_unless_it_is_asked_for(run: Command, singles: Singles) -> None:
    outcome = told(run("-r", "speed", *VOICES, "--thread-id", THREAD, "--json", TOPIC))
    assert singles.alone == []
    assert outcome["record"]["baseline"] is None
    assert "BASELINE" not in (Path("debates") / THREAD / "decision.md").read_text()


def test_the_line_stands_in_every_output_and_follows_from_the_ledger_alone(
    debate: Command, run: Command, singles: Singles
) -> None:
    singles.choices = (DECIDED, LEFT, LEFT, None, "")
    outcome = told(debate("--json"))
    answers = outcome["record"]["baseline"]["answers"]
    number = len(answers)
    assert number >= 5
    kept = debate_of()
    line = line_of(kept)
    assert line == outcome["record"]["baseline"]["line"]
    for name in ("decision.md", "report.html", "transcript.oct.md", "debate.json"):
        text = (Path("debates") / THREAD / name).read_text()
        assert f"of {number} independent answers chose what the debate chose" in " ".join(text.split()), name
    exported = read((Path("debates") / THREAD / "debate.json").read_bytes(), "debate.json")
    assert line_of(exported.debate) == line
    assert run("--resume", THREAD, "--quiet").stdout.startswith(f"BASELINE: {line}")


def test_it_is_counted_who_chose_what(debate: Command, singles: Singles) -> None:
    singles.choices = (DECIDED, LEFT, LEFT, None, "")
    told(debate("--json"))
    kept = debate_of()
    baseline = record_of(kept).baseline
    assert baseline is not None
    chose = [answer.chose for answer in baseline.answers]
    number = len(chose)
    counts = {name: chose.count(name) for name in ("debate", "option", "other", "undecided")}
    assert sum(counts.values()) == number
    assert baseline.line.startswith(
        f"{counts['debate']} of {number} independent answers chose what the debate chose; "
        f"{counts['option']} chose “{LEFT}”; {counts['other']} chose something else; "
        f"{counts['undecided']} chose nothing."
    )
    assert baseline.line.endswith("By Door's account “Step by step” was raised in T1 and T2, and rests on T1 and T2.")


def test_where_most_chose_the_same_no_turn_is_said_to_have_changed_it(debate: Command, singles: Singles) -> None:
    told(debate("--json"))
    number = len(singles.alone) // 2
    assert line_of(debate_of()).startswith(f"{number} of {number} independent answers chose what the debate chose.")
    assert "account" not in line_of(debate_of())


def test_who_answers_alone_reads_question_and_evidence_and_nothing_that_was_said(
    debate: Command, singles: Singles
) -> None:
    told(debate("--json"))
    answers = [request for request in singles.alone if request.task.step == "answer"]
    words = {"\n".join(message.text for message in request.messages) for request in answers}
    (asked,) = words  # all are asked the same
    assert TOPIC in asked
    assert "Billing runs on PostgreSQL." in asked
    assert "draft" not in asked
    assert {request.model for request in answers} == {"openai/w", "openai/l", "openai/d"}
    placings = [request for request in singles.alone if request.task.step == "place"]
    assert len(placings) == len(answers)
    for request in placings:
        shown = request.messages[-1].text
        assert DECIDED in shown
        assert LEFT in shown
        assert "Step by step" not in shown  # the title of what is taken
        assert "debate" not in shown.partition("JSON schema")[0]
        assert request.messages[-2].speaker == "assistant"


def test_they_answer_while_the_debate_goes_on(debate: Command, singles: Singles) -> None:
    singles.meeting = anyio.Event()
    assert told(debate("--json"))["status"] == "synthesis"


def test_no_voice_of_the_debate_reads_what_was_answered_alone(debate: Command, singles: Singles) -> None:
    told(debate("--json"))
    heard = [message.text for each in singles.asked if each.task.agent != ALONE for message in each.messages]
    assert not any("It stays, says draft" in text for text in heard)


def test_what_it_took_stands_beside_the_cost_of_the_debate(debate: Command, singles: Singles) -> None:
    outcome = told(debate("--json"))
    record, number = outcome["record"], len(singles.alone)
    assert Decimal(record["baseline"]["cost_usd"]) == number * Decimal("0.01")
    assert Decimal(record["cost_usd"]) == (len(singles.asked) - number) * Decimal("0.01")
    assert Decimal(outcome["cost_usd"]) == len(singles.asked) * Decimal("0.01")
    assert [seat["agent"] for seat in record["seats"]] == ["wind-agent", "wall-agent", "door-agent"]
    assert f"They took ${number * 0.01:.4f}, the debate" in record["baseline"]["line"]
    assert not (Path("debates") / THREAD / "unused-drafts.json").exists()


def test_answers_that_cannot_be_heard_or_placed_stop_nothing_and_are_told(debate: Command, singles: Singles) -> None:
    singles.deaf = frozenset({"answer"})
    outcome = told(debate("--json"))
    assert outcome["status"] == "synthesis"
    assert "could not be heard" in outcome["record"]["baseline"]["line"]
    assert {answer["chose"] for answer in outcome["record"]["baseline"]["answers"]} == {"unheard"}


def test_answers_that_cannot_be_placed_are_told_with_their_words(debate: Command, singles: Singles) -> None:
    singles.deaf = frozenset({"place"})
    answers = told(debate("--json"))["record"]["baseline"]["answers"]
    assert {answer["chose"] for answer in answers} == {"unplaced"}
    assert all(answer["statement"].startswith("It stays, says draft") for answer in answers)


def test_a_run_that_stops_goes_on_and_no_answer_is_bought_twice(
    debate: Command, run: Command, singles: Singles
) -> None:
    def refuses(request: Request) -> None:
        if request.task.role == Role.DOOR and request.task.agent != ALONE:
            raise AuthenticationFailed("the key is wrong", model=request.model)

    singles.hears = refuses
    assert debate().exit_code == 3
    answered = len(singles.alone)
    assert {request.task.step for request in singles.alone} == {"answer"}
    singles.hears = lambda request: None
    outcome = told(run("--resume", THREAD, "--json"))
    assert [request.task.step for request in singles.alone[answered:]] == ["place"] * answered
    assert len(outcome["record"]["baseline"]["answers"]) == answered
    before = len(singles.asked)
    assert told(run("--resume", THREAD, "--json"))["record"]["baseline"] == outcome["record"]["baseline"]
    assert len(singles.asked) == before


def test_where_money_or_tokens_are_limited_they_wait_for_the_debate(debate: Command, singles: Singles) -> None:
    told(debate("--json", "--token-limit", "2000000"))
    agents = [request.task.agent for request in singles.asked]
    assert agents.index(ALONE) == 5
    assert set(agents[5:]) == {ALONE}


def test_a_limit_keeps_answers_out_and_not_the_decision(debate: Command, singles: Singles) -> None:
    outcome = told(debate("--json", "--token-limit", "40000"))
    chosen = {answer["chose"] for answer in outcome["record"]["baseline"]["answers"]}
    assert (outcome["status"], chosen, singles.alone) == ("synthesis", {"unheard"}, [])


def test_a_redacted_answer_is_counted_as_that(debate: Command, singles: Singles) -> None:
    told(debate("--json"))
    note = debate_of().notes(About.BASELINE)[0]
    with Hall.open() as hall:
        hall.tombstone(THREAD, note.entry.seq, "it names a customer")
    assert "1 cannot be read any more" in line_of(debate_of())


def test_it_is_quoted_by_a_dry_run(debate: Command, singles: Singles) -> None:
    plain = told(debate("--json", "--dry-run"))
    assert singles.asked == []
    number = plain["baseline"]
    assert number >= 1
    assert plain["quote"]["calls"]["least"] == 5 + 2 * number
    assert f"baseline: {number} single answers beside the debate" in debate("--dry-run").stdout


def test_a_rehearsal_has_none(run: Command) -> None:
    refused = run("-r", "speed", "--rehearse", "--baseline", TOPIC)
    assert (refused.exit_code, "a rehearsal asks no model" in refused.stderr) == (2, True)


def test_a_stalemate_is_held_against_what_door_proposed(debate: Command, singles: Singles) -> None:
    singles.says_of_votes = "object"
    outcome = told(debate("--consensus", "--json"), 4)
    assert outcome["status"] == "stalemate"
    assert "independent answers chose what Door proposed" in outcome["record"]["baseline"]["line"]


PRICED = Endpoint(input_cost_per_token=Decimal("0.000001"), output_cost_per_token=Decimal("0.000003"))


@pytest.mark.parametrize(
    "recipe", ["speed", "fortress", *(pytest.param(each, marks=pytest.mark.slow) for each in ("standard", "council"))]
)
def test_there_are_as_many_as_cost_what_the_debate_does(recipe: str) -> None:
    plan = plan_of(recipe, endpoint=PRICED)
    whole = with_baseline(plan, TOPIC)
    debate, both = quote_of(plan, TOPIC), quote_of(whole, TOPIC)
    assert debate is not None
    assert both is not None
    assert debate.cost_usd is not None
    assert both.cost_usd is not None
    took = both.cost_usd.expected - debate.cost_usd.expected
    each = took / whole.baseline
    assert abs(took - debate.cost_usd.expected) <= each
    assert [seat.slot for seat in lone_seats(whole)] == [f"baseline.{n + 1}" for n in range(whole.baseline)]


def test_where_no_price_is_known_tokens_count() -> None:
    plan = plan_of("fortress")
    debate, both = quote_of(plan, TOPIC), quote_of(with_baseline(plan, TOPIC), TOPIC)
    assert debate is not None
    assert both is not None
    assert 1.8 < both.tokens.expected / debate.tokens.expected < 2.2


def test_models_answer_in_turn() -> None:
    plan = plan_of("speed").model_copy(update={"baseline": 5})
    assert [seat.routes[0] for seat in lone_seats(plan)] == [
        "test/wind",
        "test/wall",
        "test/door",
        "test/wind",
        "test/wall",
    ]
