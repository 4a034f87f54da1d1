"""`run-debate --since`: a debate that starts from an earlier decision, and supersedes or confirms it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from in_process import Table

from building import account_text, priced
from orchestrator.hall.hall import Hall
from orchestrator.models.base import Reply, Request

Command = Callable[..., Result]

OLD, NEW = "2026-01-06-billing", "2026-06-01-billing"


class Reviewing(Table):
    """Door says of the evidence `E2` what the test wants it to say."""

    relation: str | None = None

    async def complete(self, request: Request) -> Reply:
        if request.task.step != "account" or self.relation is None:
            return await super().complete(request)
        self.asked.append(request)
        heard = "\n".join(message.text for message in request.messages)
        ours = re.findall(r"Therefore draft \d+ of \S+ in round \d+ decides", heard)[-1]
        earlier = {"id": "E2", "relation": self.relation, "theirs": "It is done step by step.", "ours": ours}
        return priced(account_text(earlier_decisions=[earlier]))


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Reviewing:
    table = Reviewing()
    monkeypatch.setenv("OPENAI_API_KEY", "asked-of-nobody")
    monkeypatch.setattr("orchestrator.models.switchboard.Switchboard.of", lambda self, route: table)
    return table


def debated(run: Command, thread_id: str, *arguments: str) -> dict[str, Any]:
    result = run("-r", "speed", "-c", "a.md", "--thread-id", thread_id, "--json", *arguments, "One table or two?")
    assert result.exit_code == 0, result.stderr
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def test_a_decision_names_the_one_it_supersedes_in_every_output_and_leaves_that_untouched(
    run: Command, hall: Command, work: Path, table: Reviewing
) -> None:
    (work / "a.md").write_text("Billing is one table.\n")
    debated(run, OLD)
    files = {path: path.read_bytes() for path in (work / "debates" / OLD).iterdir()}
    with Hall.open() as opened:
        before = opened.debate(OLD)
    (work / "a.md").write_text("Billing is two tables.\n")
    table.relation = "supersedes"
    told = debated(run, NEW, "--since", OLD)
    assert [(piece["id"], piece["kind"], piece["path"]) for piece in told["record"]["evidence"]] == [
        ("E1", "file", "a.md"),
        ("E2", "adr", f"the decision of {OLD}"),
        ("E3", "diff", f"what has changed since {OLD}"),
    ]
    assert told["record"]["incomplete"] == []
    with Hall.open() as opened:
        debate = opened.debate(NEW)
        assert debate.reviews is not None
        assert (debate.reviews.thread_id, debate.reviews.head) == (OLD, before.head)
        assert "+Billing is two tables." in (debate.plan or "")
        assert opened.debate(OLD).head == before.head
    for name in ("decision.md", "report.html", "transcript.oct.md"):
        text = " ".join((work / "debates" / NEW / name).read_text().split())
        assert OLD in text, name
        assert before.head in text, name
    assert before.head in (work / "debates" / NEW / "debate.json").read_text()
    decision = (work / "debates" / NEW / "decision.md").read_text()
    assert f"**SUPERSEDES:** it supersedes the decision of {OLD}" in decision
    assert f"reviews {OLD} as it stood at {before.head}" in hall("show", NEW).stdout
    assert f"superseded by {NEW}" in hall("show", OLD).stdout
    assert json.loads(hall("show", OLD, "--json").stdout)["later_decisions"] == [
        {"thread_id": NEW, "relation": "supersedes"}
    ]
    listed = {debate["thread_id"]: debate["reviewed_by"] for debate in json.loads(hall("list", "--json").stdout)}
    assert listed == {OLD: [NEW], NEW: []}
    assert f"reviewed by {NEW}: One table or two?" in hall("list").stdout
    assert [entry["reviewed_by"] for entry in json.loads(hall("list", "--json", "--text", OLD).stdout)] == [[NEW]]
    steps = json.loads(hall("history", OLD, "--json").stdout)
    assert steps == json.loads(hall("history", NEW, "--json").stdout)
    assert [(step["thread_id"], step["relation"], step["reviews"]) for step in steps] == [
        (OLD, None, None),
        (NEW, "supersedes", OLD),
    ]
    assert steps[0]["changed"] is None
    assert steps[1]["changed"]["decision"]
    assert f"supersedes {OLD}" in hall("history", NEW).stdout
    assert {path: path.read_bytes() for path in (work / "debates" / OLD).iterdir()} == files


def test_a_later_decision_can_be_taken_to_a_hall_that_lacks_the_earlier_one(
    run: Command, hall: Command, work: Path, table: Reviewing, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "a.md").write_text("Billing is one table.\n")
    table.relation = "confirms"
    debated(run, OLD)
    told = debated(run, NEW, "--since", OLD)
    assert [piece["kind"] for piece in told["record"]["evidence"]] == ["file", "adr"]
    for name in ("debate.json", "transcript.oct.md"):
        checked = hall("verify", "--file", f"debates/{NEW}/{name}")
        assert (checked.exit_code, checked.stderr) == (0, ""), name
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(work / "elsewhere"))
    assert hall("import", f"debates/{NEW}/transcript.oct.md").exit_code == 0
    (step,) = json.loads(hall("history", NEW, "--json").stdout)
    assert (step["thread_id"], step["relation"], step["reviews"], step["changed"]) == (NEW, "confirms", OLD, None)


def test_a_terminal_is_told_what_a_decision_does_to_the_one_it_starts_from(
    run: Command, work: Path, table: Reviewing
) -> None:
    (work / "a.md").write_text("Billing is one table.\n")
    debated(run, OLD)
    table.relation = "confirms"
    asked = ("-r", "speed", "-c", "a.md", "--since", OLD, "--thread-id", NEW, "One table or two?")
    planned = run(*asked, "--dry-run")
    assert (planned.exit_code, f"the decision of {OLD}" in planned.stdout) == (0, True)
    told = run(*asked, "--quiet")
    assert (told.exit_code, told.stderr) == (0, "")
    assert f"it confirms the decision of {OLD} as it stood at sha256:" in " ".join(told.stdout.split())


def test_a_redaction_names_the_later_debate_that_quotes_what_went(
    run: Command, hall: Command, work: Path, table: Reviewing
) -> None:
    (work / "a.md").write_text("Billing is one table.\n")
    debated(run, OLD)
    debated(run, NEW, "--since", OLD)
    gone = json.loads(hall("tombstone", OLD, "--seq", "0", "--reason", "It named a customer.", "--json").stdout)
    assert gone["still_quoted"][-1]["thread_id"] == NEW
    assert gone["still_quoted"][-1]["command"].startswith(f"debate-hall tombstone {NEW} --seq")


def test_a_decision_that_is_silent_about_the_one_it_reviews_is_incomplete(
    run: Command, work: Path, table: Reviewing
) -> None:
    (work / "a.md").write_text("Billing is one table.\n")
    debated(run, OLD)
    told = debated(run, NEW, "--since", OLD)
    assert told["record"]["incomplete"] == [
        "It does not say whether it supersedes or confirms E2, the decision that it reviews."
    ]
    assert sum(request.task.step == "account" for request in table.asked) == 1 + 2  # it was sent back once


def test_what_decided_nothing_cannot_be_started_from(rehearse: Command, run: Command) -> None:
    rehearse("--thread-id", OLD, "One table or two?")
    for thread_id, why in ((OLD, "has no decision that could be reviewed"), ("nothing", "There is no debate nothing")):
        refused = rehearse("--since", thread_id, "--thread-id", NEW, "One table or two?")
        assert refused.exit_code == 2
        assert why in refused.stderr
    assert run("--resume", OLD, "--since", OLD).exit_code == 2


def test_a_debate_that_is_not_over_has_dropped_nothing_of_the_decision_it_starts_from(
    run: Command, hall: Command, work: Path, table: Reviewing
) -> None:
    (work / "a.md").write_text("Billing is one table.\n")
    debated(run, OLD)
    stopped = run("-r", "speed", "-c", "a.md", "--thread-id", NEW, "--since", OLD, "--token-limit", "10", "One or two?")
    assert stopped.exit_code == 5
    steps = json.loads(hall("history", NEW, "--json").stdout)
    assert [(step["outcome"], step["changed"]) for step in steps] == [("synthesis", None), ("active", None)]


def test_a_line_of_decisions_of_nobody_is_refused(hall: Command) -> None:
    refused = hall("history", "nothing")
    assert refused.exit_code == 2
    assert "There is no debate nothing." in refused.stderr
