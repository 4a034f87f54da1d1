"""The pull request that a workflow runs for: who wrote it, and its diff as files that a debate can cite.

All of it is data. Nothing of a pull request is checked out, imported or run here, and nothing it names becomes the name
of a file without being made harmless first.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from github import ApiError, GitHub
from workflow import ActionError, variable

from orchestrator.secrets import is_secret_name
from orchestrator.wording import shortened

EVENTS = ("pull_request", "pull_request_target")
DIFF = ".diff"  # how the files of the diff end
_ABOUT = "0000-description.md"
_TOO_LARGE = 406  # what GitHub answers where a diff has more than 300 files or 20,000 lines
_FILE = re.compile(rb"(?m)^diff --git ")  # in a diff every other line begins with a sign of its own
_TARGET = re.compile(r'diff --git .*? "?b/(.+?)"?\n')


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What the event of a workflow says of it."""

    event: str
    number: int
    title: str
    description: str
    author: str
    head: str  # the commit that the diff leads to
    is_fork: bool
    by_dependabot: bool

    @classmethod
    def of_event(cls) -> PullRequest:
        """The pull request that this workflow runs for.

        Raises:
            ActionError: it runs for something else.
        """
        event = variable("GITHUB_EVENT_NAME")
        if event not in EVENTS:
            raise ActionError(f"This runs for {event!r}. Give the workflow `on: pull_request`, as docs/ci.md shows.")
        told = json.loads(Path(variable("GITHUB_EVENT_PATH")).read_text(encoding="utf-8"))
        pull = told["pull_request"]
        head = pull["head"]["repo"]  # null: the fork was deleted
        return cls(
            event=event,
            number=int(pull["number"]),
            title=" ".join(pull["title"].split()),
            description=pull["body"] or "",
            author=pull["user"]["login"],
            head=str(pull["head"]["sha"]),
            is_fork=head is None or head["full_name"] != pull["base"]["repo"]["full_name"],
            by_dependabot=told["sender"]["login"] == "dependabot[bot]",
        )

    @property
    def has_no_secrets(self) -> bool:
        """Whether GitHub keeps the repository's secrets from this workflow."""
        return self.event == "pull_request" and (self.is_fork or self.by_dependabot)

    @property
    def topic(self) -> str:
        """What is debated where the workflow names nothing else."""
        title = shortened(self.title, 300)
        return f"Should pull request #{self.number} (“{title}”) be merged as it stands, and what must change before?"

    def about(self) -> str:
        """What its author says of it, as a document."""
        described = self.description.strip() or "(no description)"
        return f"# Pull request #{self.number}: {self.title}\n\nBy {self.author}, commit {self.head}.\n\n{described}\n"

    def require_trusted(self, checkout: Path) -> None:
        """Refuses to read a checkout that the pull request wrote, where the secrets of the repository are at hand.

        Raises:
            ActionError: its commit is checked out, or merged, or it cannot be told what is.
        """
        if self.event != "pull_request_target":
            return
        git = ["git", f"--git-dir={checkout / '.git'}"]  # named, since a tree can look like a repository itself
        asked, where = (
            subprocess.run([*git, *command], capture_output=True, text=True, errors="replace", check=False)
            for command in (("cat-file", "commit", "HEAD"), ("rev-parse", "HEAD"))
        )
        header = asked.stdout.partition("\n\n")[0]
        if asked.returncode or where.returncode:
            raise ActionError(f"It cannot be told what is checked out: {asked.stderr.strip()}. Use actions/checkout.")
        if self.head in (where.stdout.strip(), *re.findall(r"(?m)^parent (\w+)$", header)):
            raise ActionError(
                "On pull_request_target the pull request's own commit is checked out, and recipe, models or context "
                "would be read from it. Check out the base branch: leave out `ref` of actions/checkout."
            )


def write_down(github: GitHub, pull: PullRequest, folder: Path) -> tuple[str, ...]:
    """Writes into a folder what a pull request says and changes, each changed file a diff of its own.

    Returns:
        The paths of those that GitHub does not show, or that look like secrets by their name.

    Raises:
        ActionError: nothing is changed that could be shown.
        ApiError
    """
    folder.mkdir()
    (folder / _ABOUT).write_text(pull.about(), encoding="utf-8")
    kept_back: list[str] = []
    number = 0
    for path, diff in _changes(github, pull.number):
        if diff is None or is_secret_name(path):
            kept_back.append(path)
            continue
        number += 1
        (folder / f"{number:04}-{_harmless(path)}{DIFF}").write_bytes(diff)
    if not number:
        why = "it looks like a secret, or is too large" if kept_back else "no file is changed"
        raise ActionError(f"There is no diff to debate: {why}.")
    return tuple(kept_back)


def _changes(github: GitHub, number: int) -> Iterator[tuple[str, bytes | None]]:
    """Each changed file with its diff; None: GitHub shows none."""
    try:
        diff = github.diff(number)
    except ApiError as error:
        if error.status != _TOO_LARGE:
            raise
        yield from map(_patch, github.files(number))
        return
    starts = [found.start() for found in _FILE.finditer(diff)]
    for start, end in pairwise([*starts, len(diff)]):
        part = diff[start:end]
        named = _TARGET.match(part.decode(errors="replace"))
        yield named[1] if named else "unnamed", part


def _patch(file: Mapping[str, Any]) -> tuple[str, bytes | None]:
    path, patch = str(file["filename"]), file.get("patch")
    before = file.get("previous_filename", path)
    return path, f"diff --git a/{before} b/{path}\n{patch}\n".encode() if patch else None


def _harmless(path: str) -> str:
    """A path as the name of one file; a number stands before it, so that two may become the same."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", path).strip(".-")[-80:] or "file"
