"""How a debate ends on the command line: votes, refinements and an early close, asked of models over real HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from in_process import Table

from building import account_text, flowing, vote_text

TOPIC = "Should we move billing to Kafka?"
THREAD = "2026-01-06-billing"
MEASUREMENT = "What would end it, a measurement: a week in which this is shown to be wrong: "

Command = Callable[..., Result]
Say = Callable[[Any], Any]


@pytest.fixture
def debate(run: Command, model_server: Any, work: Path) -> Command:
    """`run-debate --recipe speed`, answered by the model server."""
    (work / "here.yaml").write_text(model_server.models_file())
    return lambda *arguments: run("--models", "here.yaml", "-r", "speed", "--thread-id", THREAD, *arguments, TOPIC)


def record_in(folder: str = f"debates/{THREAD}") -> dict[str, Any]:
    record: dict[str, Any] = json.loads((Path(folder) / "debate.json").read_text())["record"]
    return record


def asked_to(what: str, server: Any) -> list[Any]:
    """The calls that asked for something, in their order."""
    return [call for call in server.calls if what in call.task]


VOTE, REFINEMENT, ACCOUNT = "you vote on it", "it is not agreed", "account for it."


def objecting(server: Any, *objectors: Collection[str], on: str = "T1") -> Say:
    """What is said where on each ballot some agents object and the others approve; on later ballots nobody objects.

    Args:
        on: what the objections rest on.
    """
    from endpoint_voices import plausible, task_of

    def say(call: Any) -> Any:
        voter = re.search(rf"{VOTE} as \w+, agent ([\w-]+)", task_of(call))
        if voter is None:
            return plausible(call)
        ballot = 1 + len(asked_to(REFINEMENT, server))
        if voter[1] in (objectors[ballot - 1] if ballot <= len(objectors) else ()):
            return vote_text("object", f"{voter[1]} cannot carry ballot {ballot}.", rests_on=(on,))
        return vote_text(reason=f"{voter[1]} can carry ballot {ballot}.")

    return say


# ---------------------------------------------------------------------------------------------------------------- votes


def test_with_consensus_wind_and_wall_vote_on_the_decision_and_the_record_says_how(
    debate: Command, model_server: Any
) -> None:
    result = debate("--consensus")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("## SYNTHESIS\nCall 4 decides")
    assert [call.model for call in model_server.calls[4:]] in (
        ["wind-1", "wall-1", "door-1"],
        ["wall-1", "wind-1", "door-1"],
    )
    told = [line.split() for line in result.stderr.splitlines() if " votes: " in line]
    assert told == [
        ["V1.Wind.1", "wind-agent", "votes:", "approve"],
        ["V1.Wall.1", "wall-agent", "votes:", "approve"],
    ]
    assert "  ballot 1: 2 approve, 0 object" in result.stderr.splitlines()
    record = record_in()
    assert (record["agreed"], record["dissent"], record["incomplete"]) == (True, [], [])
    assert [(vote["slot"], vote["choice"], vote["on"], vote["grounded"]) for vote in record["votes"]] == [
        ("V1.Wind.1", "approve", "T3", True),
        ("V1.Wall.1", "approve", "T3", True),
    ]
    assert {part["id"] for part in record["load_bearing"]} >= {"V1.Wind.1", "V1.Wall.1"}


def test_an_objection_is_answered_by_another_synthesis_which_is_voted_on_and_becomes_the_decision(
    debate: Command, model_server: Any
) -> None:
    model_server.reply = objecting(model_server, {"wall-agent"})
    result = debate("--consensus", "--json")
    assert result.exit_code == 0, result.output
    outcome = json.loads(result.stdout)
    (refined,) = asked_to(REFINEMENT, model_server)
    assert "wall-agent cannot carry ballot 1." in refined.task
    assert outcome["decision"].startswith(f"## SYNTHESIS\nCall {refined.number} decides")
    assert "- [O1] It is answered by step 1." in outcome["decision"]
    votes = outcome["record"]["votes"]
    assert [(vote["slot"], vote["choice"], vote["on"], vote["name"], vote["answered_in"]) for vote in votes] == [
        ("V1.Wind.1", "approve", "T3", None, []),
        ("V1.Wall.1", "object", "T3", "O1", ["refinement 1"]),
        ("V2.Wind.1", "approve", "refinement 1", None, []),
        ("V2.Wall.1", "approve", "refinement 1", None, []),
    ]
    assert (outcome["record"]["agreed"], outcome["record"]["dissent"]) == (True, [])
    assert votes[1]["settlement"] == "a week in which this is shown to be wrong: wall-agent cannot carry ballot 1."
    for call in asked_to(VOTE, model_server)[2:]:
        assert f"Call {refined.number} decides" in call.task
        assert "- T2.C1 (CONSTRAINT, wall-agent): No order may be lost." in call.task
        assert "O1 were raised against an earlier synthesis" in call.task
    assert "refined the synthesis, answers O1" in result.stderr


def test_a_stalemate_prints_the_best_synthesis_each_objection_and_what_would_end_it_and_exits_with_4(
    debate: Command, run: Command, model_server: Any
) -> None:
    model_server.reply = objecting(model_server, {"wall-agent"}, *[{"wind-agent", "wall-agent"}] * 2)
    result = debate("--consensus")
    assert result.exit_code == 4, result.output
    mark, _, rest = result.stdout.partition("\n\n")
    synthesis, _, objections = rest.partition("\n\nObjections that stand (the synthesis is T3):\n\n")
    assert mark == "STALEMATE: the objections below were not settled."
    assert synthesis.startswith("## SYNTHESIS\nCall 4 decides")  # one objection, and two against each refinement
    made = [("Wall", 1), ("Wind", 2), ("Wall", 2), ("Wind", 3), ("Wall", 3)]
    reasons = [f"{role.lower()}-agent cannot carry ballot {ballot}." for role, ballot in made]
    assert objections.rstrip("\n").split("\n\n") == [
        f"O{number}, {role} {role.lower()}-agent: {reason} {MEASUREMENT}{reason}"
        + (f" Door in refinement {ballot}: It is answered by step 1." if ballot < 3 else "")
        for number, ((role, ballot), reason) in enumerate(zip(made, reasons, strict=True), 1)
    ]
    assert len(asked_to(REFINEMENT, model_server)) == 2
    assert [line for line in result.stderr.splitlines() if line.startswith("  ballot ")] == [
        "  ballot 1: 1 approve, 1 object",
        "  ballot 2: 0 approve, 2 object",
        "  ballot 3: 0 approve, 2 object",
    ]
    page = flowing((Path("debates") / THREAD / "decision.md").read_text())
    assert page.split("\n\n")[2] == mark
    assert all(f"{reason} {MEASUREMENT}{reason}" in page for reason in reasons)
    asked = len(model_server.calls)
    again = run("--resume", THREAD)
    assert (again.exit_code, again.stdout, len(model_server.calls)) == (4, result.stdout, asked)


@pytest.mark.slow
def test_json_tells_a_stalemate_with_its_votes_its_dissent_and_what_it_hangs_on(
    debate: Command, model_server: Any
) -> None:
    model_server.reply = objecting(model_server, *[{"critical-engineer"}] * 3, on="T4.C1")
    result = debate("-r", "council", "--json")
    outcome = json.loads(result.stdout)
    assert result.exit_code == outcome["exit_code"] == 4
    assert (outcome["status"], outcome["error"]) == ("stalemate", None)
    record = outcome["record"]
    assert (record["status"], record["agreed"], record["incomplete"]) == ("stalemate", False, [])
    assert [(vote["agent"], vote["choice"]) for vote in record["votes"]] == [
        ("ideator", "approve"),
        ("edge-optimizer", "approve"),
        ("validator", "approve"),
        ("critical-engineer", "object"),
    ] * 3
    objections = [f"critical-engineer cannot carry ballot {ballot}." for ballot in (1, 2, 3)]
    assert [(one["id"], one["objection"], one["settled_by"]) for one in record["dissent"]] == [
        (f"O{number}", objection, "measurement") for number, objection in enumerate(objections, 1)
    ]
    assert [(one["id"], one["kind"], one["without_it"]) for one in record["load_bearing"]] == [
        ("O3", "vote", "Without it there is agreement."),
        ("T4.C1", "constraint", "Without it there is agreement."),
    ]
    newest = asked_to(REFINEMENT, model_server)[-1]  # each synthesis has one objection against it
    assert outcome["decision"].startswith(f"## SYNTHESIS\nCall {newest.number} decides")
    assert {one["outcome"] for one in record["constraints"]} == {"met"}
    assert (record["options"][0]["turns"], record["confidence"]["level"]) == ([1], "medium")


def test_a_voter_that_fails_pauses_the_run_and_only_its_vote_is_asked_for_again(
    debate: Command, run: Command, model_server: Any
) -> None:
    from endpoint import wrong_key

    model_server.inject(wrong_key(), model="wall-1", call=3)
    paused = debate("--consensus")
    assert (paused.exit_code, paused.stdout) == (3, "")
    assert "V1.Wall.1" in paused.stderr
    assert paused.stderr.splitlines()[-1] == f"Go on with: run-debate --resume {THREAD}"
    asked = len(model_server.calls)
    ended = run("--resume", THREAD)
    assert ended.exit_code == 0, ended.output
    assert [call.model for call in model_server.calls[asked:]] == ["wall-1", "door-1"]
    assert record_in()["agreed"] is True
    ballots = [line for run in (paused, ended) for line in run.stderr.splitlines() if "ballot" in line]
    assert ballots == ["  ballot 1: 2 approve, 0 object"]  # it is counted when all have voted


def test_of_a_vote_that_does_not_count_the_progress_says_so(debate: Command, model_server: Any) -> None:
    model_server.reply = objecting(model_server, *[{"wall-agent"}] * 3, on="T99")
    told = debate("--consensus").stderr
    assert re.search(r"V1\.Wall\.1 +wall-agent +votes: object, which does not count: it rests on nothing", told)
    assert "  ballot 1: 1 approve, 0 object, 1 does not count" in told.splitlines()


def test_an_answer_that_is_no_vote_is_told_as_what_it_is(debate: Command, model_server: Any) -> None:
    from endpoint_voices import plausible, task_of

    model_server.reply = lambda call: "nope" if VOTE in task_of(call) and call.model == "wall-1" else plausible(call)
    paused = debate("--consensus")
    assert paused.exit_code == 3, paused.output
    assert "could not be heard: openai/wall-1: an answer that cannot be used. There is no JSON" in paused.stderr
    assert "no turn" not in paused.stderr
    assert "Answers that were paid for and are not on the ledger are in" in paused.stderr


@pytest.mark.slow
def test_council_votes_unless_told_otherwise(run: Command, table: Table) -> None:
    def steps(*arguments: str) -> list[str]:
        table.asked.clear()
        result = run("-r", "council", *arguments, TOPIC)
        assert result.exit_code == 0, result.output
        return [request.task.step for request in table.asked]

    voted, quiet = steps("--out", "voted"), steps("--out", "quiet", "--no-consensus")
    assert voted == [*quiet[:-1], *["vote"] * 4, "account"]
    assert (record_in("voted")["agreed"], len(record_in("voted")["votes"])) == (True, 4)
    assert (record_in("quiet")["agreed"], record_in("quiet")["votes"]) == (None, [])


def test_nobody_votes_on_a_rehearsal(rehearse: Command) -> None:
    result = rehearse("--consensus", "--thread-id", THREAD, TOPIC)
    assert result.exit_code == 0, result.output
    assert (record_in()["agreed"], record_in()["votes"]) == (None, [])
    assert "note: Nobody votes in a rehearsal: it decides nothing." in result.stderr.splitlines()


def test_before_anything_is_asked_a_dry_run_says_that_there_will_be_votes_and_how_many_calls(
    debate: Command, rehearse: Command
) -> None:
    page = debate("--consensus", "--dry-run").stdout
    assert (
        "\nvotes: 2 voices on the synthesis, which has up to 2 refinements\n7 to 13 calls, at least 5 and up to" in page
    )
    assert rehearse("--consensus", "--early-close", "--dry-run", TOPIC).stdout.splitlines()[-3:] == [
        "4 calls, 3 of them one after another",
        "note: Nobody votes in a rehearsal: it decides nothing.",
        "note: A rehearsal does not end early: it settles nothing.",
    ]


def test_quiet_too_says_where_it_is_listed_what_is_incomplete(
    debate: Command, hall: Command, model_server: Any
) -> None:
    from endpoint_voices import plausible, task_of

    model_server.reply = lambda call: account_text() if ACCOUNT in task_of(call) else plausible(call)
    result = debate("--quiet")
    assert (result.exit_code, result.stderr) == (0, "")
    lacks = ["T2.C1 has no outcome.", "T2.C2 has no outcome."]
    assert record_in()["incomplete"] == lacks
    assert result.stdout.startswith(
        "INCOMPLETE: 2 things in it do not hold against the ledger, or are missing; "
        f"see debate-hall show {THREAD}.\n\n## SYNTHESIS\n"
    )
    assert hall("show", THREAD).stdout.endswith(f"What is incomplete\n\n  {lacks[0]}\n  {lacks[1]}\n")


# ---------------------------------------------------------------------------------------------------------- early close


def settled_after(round: int) -> Say:
    """Walls that approve, and a Door that leaves a question open until it closes that round."""
    from endpoint_voices import plausible

    def say(call: Any) -> Any:
        said = plausible(call).replace("VERDICT: CONDITIONAL", "VERDICT: APPROVED")
        if "Read what Wind and Wall said in this round" not in call.task:
            return said
        return f"{said}\n## OPEN\n{'NONE' if call.nth >= round else '- What does a day without it cost?'}\n"

    return say


def test_with_early_close_the_debate_ends_after_the_round_that_leaves_nothing_open(
    debate: Command, run: Command, model_server: Any
) -> None:
    model_server.reply = settled_after(2)
    result = debate("-r", "standard", "--early-close", "--json")
    assert result.exit_code == 0, result.output
    outcome = json.loads(result.stdout)
    assert (outcome["rounds"], len(outcome["turns"]), outcome["status"]) == (2, 6, "synthesis")
    assert outcome["decision"] == outcome["turns"][-1]["content"]
    assert (outcome["record"]["turns_not_needed"], outcome["record"]["closed_early"]) == (6, None)
    assert "  nothing is open any more; 6 planned turns not needed" in result.stderr.splitlines()
    assert len(asked_to(ACCOUNT, model_server)) == 1
    asked = len(model_server.calls)
    again = json.loads(run("--resume", THREAD, "--json").stdout)
    assert (again["record"], len(model_server.calls)) == (outcome["record"], asked)


@pytest.mark.slow
def test_without_it_every_planned_turn_is_taken_though_nothing_is_open(debate: Command, model_server: Any) -> None:
    model_server.reply = settled_after(1)
    for arguments in ((), ("--no-early-close",)):
        model_server.calls.clear()
        outcome = json.loads(
            debate("-r", "standard", "--json", "--thread-id", f"id{len(arguments)}", *arguments).stdout
        )
        assert (outcome["exit_code"], len(outcome["turns"]), outcome["record"]["turns_not_needed"]) == (0, 12, 0)


def test_what_was_settled_early_is_voted_on_too(debate: Command, model_server: Any) -> None:
    model_server.reply = settled_after(1)
    outcome = json.loads(debate("-r", "standard", "--early-close", "--consensus", "--json").stdout)
    assert (outcome["exit_code"], len(outcome["turns"]), outcome["record"]["turns_not_needed"]) == (0, 3, 9)
    assert (outcome["record"]["agreed"], len(outcome["record"]["votes"])) == (True, 2)
