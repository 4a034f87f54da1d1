"""The Action's steps with a review in place of a diff, as bash runs them on a runner, against stand-ins on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from action_steps import FORK, HEAD, Runner, pull_request
from github_stand_in import GitHubStandIn

MakeRunner = Callable[..., Runner]

REVIEWS = """
reviews:
  - name: weekly
    cron: '0 9 * * 1'
    recipe: speed
    models: rehearsal
    topic: Are the retries right?
    context: docs
    when: changed
    results: {pull_request: true}
"""


def checked_out(place: Runner, reviews: str = REVIEWS, file: str = "reviews.yaml") -> None:
    (place.workspace / "docs").mkdir()
    (place.workspace / "docs" / "queue.md").write_text("The queue holds an hour.\n")
    (place.workspace / file).parent.mkdir(exist_ok=True)
    (place.workspace / file).write_text(reviews)


def test_a_review_is_left_as_a_comment_and_where_nothing_changed_none_is_written(
    runner: MakeRunner, github: GitHubStandIn
) -> None:
    place = runner()
    checked_out(place)
    job = place.run(pull_request(), {"review": "weekly"})
    assert not job.failed, job.log
    told = job.outputs["debate"]
    assert (told["exit-code"], told["status"], told["fails"]) == ("0", "synthesis", "false")
    assert job.used["upload"]["name"] == "run-debate-weekly"
    left = {file.name for file in Path(told["folder"]).iterdir()}
    assert left == {"debate.json", "decision.md", "report.html"}
    assert json.loads(Path(told["folder"], "debate.json").read_text())
    (comment,) = github.comments
    assert comment["body"].startswith("<!-- run-debate: run-debate-weekly -->\n")
    assert "REHEARSAL" in comment["body"]
    assert f"commit {HEAD[:12]}: 3 turns, " in comment["body"]
    asked = len(github.asked)

    again = place.run(pull_request(), {"review": "weekly"})
    assert not again.failed, again.log
    assert (again.outputs["debate"]["exit-code"], again.outputs["debate"]["fails"]) == ("0", "false")
    assert "page" not in again.outputs["debate"]
    assert again.says("notice")[0].startswith("There was nothing to debate: ")
    assert again.summary.startswith("There was nothing to debate: ")
    assert len(github.asked) == asked


def test_on_a_schedule_the_decision_is_in_the_summary_and_the_artefact(
    runner: MakeRunner, github: GitHubStandIn
) -> None:
    place = runner(GITHUB_SHA=HEAD)
    checked_out(place, file="ops/reviews.yaml", reviews=REVIEWS.replace("docs", "../docs"))
    inputs = {"review": "weekly", "reviews-file": "ops/reviews.yaml", "name": "monday"}
    job = place.run({"schedule": "0 7 * * 1"}, inputs, on="schedule")
    assert not job.failed, job.log
    assert "REHEARSAL" in job.summary
    assert job.used["upload"] == {"name": "monday", "path": job.outputs["debate"]["folder"], "overwrite": "True"}
    assert "comment" not in job.codes
    assert github.asked == []


def test_a_review_that_wants_no_comment_writes_none(runner: MakeRunner, github: GitHubStandIn) -> None:
    place = runner()
    checked_out(place, REVIEWS.replace("pull_request: true", "pull_request: false"))
    job = place.run(pull_request(), {"review": "weekly"})
    assert not job.failed, job.log
    assert "REHEARSAL" in job.summary
    assert github.asked == []


def test_a_reviews_file_that_says_something_wrong_fails_the_job_with_its_line(
    runner: MakeRunner, github: GitHubStandIn
) -> None:
    place = runner()
    checked_out(place, REVIEWS.replace("cron: '0 9 * * 1'", "cron: often"))
    job = place.run(pull_request(), {"review": "weekly"})
    assert job.outputs["debate"]["exit-code"] == "2"
    assert job.codes["Fail where it is to"] == 2
    assert "reviews.yaml" in job.says("error")[0]
    assert "cron" in job.says("error")[0]
    assert github.comments == []


def test_a_fork_that_has_no_secrets_holds_no_review_and_its_own_file_is_refused_where_there_are_some(
    runner: MakeRunner, github: GitHubStandIn
) -> None:
    place = runner()
    checked_out(place)
    job = place.run(pull_request(**FORK), {"review": "weekly"})
    assert not job.failed, job.log
    assert job.says("notice")[0].startswith("No review was held")
    refused = place.run(pull_request(**FORK), {"review": "weekly"}, on="pull_request_target")
    assert refused.codes["debate"] == 1
    assert refused.says("error")[0].startswith("It cannot be told what is checked out")
    assert github.asked == []
