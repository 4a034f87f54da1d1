"""The step that comments, as it stands in action.yml, against GitHub's API on loopback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from action_steps import ARTEFACT, TOKEN, Job, Runner, pull_request
from github_stand_in import GitHubStandIn

Comment = Callable[..., Job]

MARKER = "<!-- run-debate: run-debate-speed -->"


@pytest.fixture
def comment(runner: Callable[..., Runner], tmp_path: Path) -> Comment:
    """Comments with a page."""
    place = runner()

    def run(page: str, **inputs: str) -> Job:
        (tmp_path / "page.md").write_text(page)
        outputs = {
            "install": {"python": sys.executable},
            "debate": {"page": str(tmp_path / "page.md"), "name": "run-debate-speed"},
            "upload": {"artifact-url": ARTEFACT},
        }
        return place.run(pull_request(), inputs, only="comment", outputs=outputs)

    return run


def test_the_first_run_writes_a_comment_and_the_next_changes_it(comment: Comment, github: GitHubStandIn) -> None:
    github.comment("Looks good to me.", by="mara")
    first = comment("Kafka.\n")
    assert first.outputs["comment"] == {"comment-url": "https://github.example/comment/2"}
    assert github.comments[1]["body"] == f"{MARKER}\nKafka.\n- [The whole record]({ARTEFACT}), with `report.html`.\n"
    again = comment("Postgres.\n")
    assert again.outputs == {**first.outputs, "comment": first.outputs["comment"]}
    assert [told["body"].splitlines()[:2] for told in github.comments[1:]] == [[MARKER, "Postgres."]]
    assert {asked.headers["Authorization"] for asked in github.asked} == {f"Bearer {TOKEN}"}


def test_our_comment_is_found_on_a_later_page(comment: Comment, github: GitHubStandIn) -> None:
    for number in range(230):
        github.comment(f"Comment {number}", by="mara")
    ours = github.comment(f"{MARKER}\nOld.")
    for number in range(80):
        github.comment(f"Later {number}", by="mara")
    comment("New.\n")
    assert ours["body"].startswith(f"{MARKER}\nNew.\n")
    assert len(github.comments) == 311


@pytest.mark.parametrize("by", ["mara", "dependabot[bot]", "github-actions"])
def test_the_marker_of_another_account_is_not_ours(by: str, comment: Comment, github: GitHubStandIn) -> None:
    planted = github.comment(f"{MARKER}\nApproved by all.", by=by)
    comment("No.\n")
    assert planted["body"] == f"{MARKER}\nApproved by all."
    assert github.comments[1]["body"].startswith(f"{MARKER}\nNo.\n")
    assert github.made("PATCH") == []


def test_an_app_is_known_without_the_end_of_its_name(comment: Comment, github: GitHubStandIn) -> None:
    github.login = "github-actions"
    comment("One.\n")
    comment("Two.\n")
    assert len(github.comments) == 1


def test_the_comment_of_another_debate_stays(comment: Comment, github: GitHubStandIn) -> None:
    other = github.comment("<!-- run-debate: run-debate-fortress -->\nOther.")
    gone = github.comment(f"{MARKER}\nBy nobody.")
    gone["user"] = None
    comment("One.\n")
    assert other["body"].endswith("Other.")
    assert len(github.comments) == 3


@pytest.mark.parametrize("status", [403, 404])
def test_where_the_token_may_not_write_it_is_a_warning(status: int, comment: Comment, github: GitHubStandIn) -> None:
    github.refuse("POST", "/comments", status)
    job = comment("One.\n")
    assert not job.failed
    assert job.outputs["comment"] == {}
    (warning,) = job.says("warning")
    assert f"HTTP {status}, Refused, as the test has it.) The decision is in the summary of this job" in warning


def test_a_comment_that_was_deleted_meanwhile_is_written_anew(comment: Comment, github: GitHubStandIn) -> None:
    github.comment(f"{MARKER}\nOld.")
    github.refuse("PATCH", "/comments/1", 404)
    assert not comment("New.\n").failed
    assert github.comments[1]["body"].startswith(f"{MARKER}\nNew.")


def test_a_server_that_fails_for_a_moment_is_asked_again(comment: Comment, github: GitHubStandIn) -> None:
    github.refuse("POST", "/graphql", 502)
    github.refuse("GET", "/comments", 503, 500)
    github.refuse("POST", "/comments", 502)
    assert not comment("One.\n").failed
    assert len(github.comments) == 1


def test_a_comment_whose_answer_was_lost_is_not_written_twice(comment: Comment, github: GitHubStandIn) -> None:
    github.lose("POST", "/comments")
    job = comment("One.\n")
    assert not job.failed
    assert len(github.comments) == 1
    assert [asked.method for asked in github.asked if "/comments" in asked.path] == ["GET", "POST", "GET", "PATCH"]


def test_a_server_that_goes_on_failing_is_an_error(comment: Comment, github: GitHubStandIn) -> None:
    github.refuse("GET", "/comments", *[500] * 16)
    job = comment("One.\n")
    assert job.codes == {"comment": 1}
    (error,) = job.says("error")
    assert "HTTP 500, Refused, as the test has it." in error
    assert github.comments == []


def test_whose_token_it_is_must_be_known(comment: Comment, github: GitHubStandIn) -> None:
    github.login = None
    job = comment("One.\n")
    assert job.says("error") == ["GitHub does not say whose token it is."]
    assert github.comments == []


def test_a_comment_fits_and_keeps_what_stands_below_the_record(comment: Comment, github: GitHubStandIn) -> None:
    record = "".join(f"> Line {number} of a record that nobody reads to its end.\n" for number in range(3_000))
    comment(f"# Kafka\n\n<details>\n\n{record}\n\n</details>\n\n- Facts.\n")
    body = github.comments[0]["body"]
    assert 60_000 < len(body) <= 65_536
    assert "**Cut here: the whole record is in the artefact.**\n\n</details>\n\n- Facts.\n" in body
    assert body.endswith(f"- [The whole record]({ARTEFACT}), with `report.html`.\n")


def test_comment_false_writes_none(comment: Comment, github: GitHubStandIn) -> None:
    assert comment("One.\n", comment="false").codes == {}
    assert github.asked == []
