"""Writes the page of a debate below its pull request: one comment for each name, changed where it is there already.

Ours is the comment that begins with the marker and was written by whom the token belongs to: anybody can write the
marker, and what others may change must not hold our words.
"""

from __future__ import annotations

import os
from pathlib import Path

from github import ApiError, GitHub, patiently
from page import fitting
from pull_request import PullRequest
from workflow import annotate, as_step, put, variable

MOST = 65_000  # characters; GitHub takes 65,536
_MAY_NOT = (403, 404)  # the token may read only, as on pull requests from forks; GitHub says 404 where it hides what is


def main() -> None:
    pull, github = PullRequest.of_event(), GitHub.of_environment()
    marker = f"<!-- run-debate: {variable('NAME')} -->"
    body = _body(marker, Path(variable("PAGE")).read_text(encoding="utf-8"))
    try:
        address = patiently(lambda: _published(github, pull.number, marker, body))
    except ApiError as error:
        if error.status not in _MAY_NOT:
            raise
        annotate(
            "warning",
            f"There is no comment, since the token may not write one ({error}) The decision is in the summary of this "
            "job and in its artefact. Give the job `permissions: pull-requests: write`; a fork's has none.",
        )
        return
    put(comment_url=address)


def _body(marker: str, page: str) -> str:
    artefact = os.environ.get("ARTIFACT_URL", "")
    link = f"- [The whole record]({artefact}), with `report.html`.\n" if artefact else ""
    return f"{marker}\n{fitting(page, MOST - len(marker) - len(link) - 1)}{link}"


def _published(github: GitHub, number: int, marker: str, body: str) -> str:
    """Changes our comment, or writes it where there is none; returns its address."""
    login = github.login()
    ours = (login, f"{login}[bot]")  # GraphQL may leave out how an app's name ends
    for comment in github.comments(number):
        by = comment["user"]  # null: the account is gone
        if by and by["login"] in ours and (comment["body"] or "").startswith(marker):
            try:
                return str(github.change_comment(comment["id"], body)["html_url"])
            except ApiError as error:
                if error.status != 404:  # deleted meanwhile
                    raise
    return str(github.add_comment(number, body)["html_url"])


if __name__ == "__main__":
    as_step(main)
