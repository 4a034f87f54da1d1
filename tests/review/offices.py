"""A small repository that is reviewed, and somebody who speaks for every seat."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from building import account_text, priced, speech
from orchestrator.hall.hall import Hall
from orchestrator.models.base import Reply, Request
from orchestrator.review.office import Office
from orchestrator.review.reviews_file import load_reviews

MONDAY = datetime(2026, 3, 16, 8, tzinfo=UTC)


class Speaker:
    """Speaks for every seat, at a cent a call; `hears` may raise, or return what is said instead.

    Its account says of the decision that a debate reviews that it is superseded, where the topic says that the context
    reads otherwise, and else that it is confirmed.
    """

    def __init__(self, hears: Callable[[Request], str | None] = lambda request: None) -> None:
        self.asked: list[Request] = []
        self.hears = hears

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        return priced(self.hears(request) or account_of(request) or speech(request, len(self.asked)))


def account_of(request: Request, **members: Any) -> str | None:
    """What Door accounts, where it is asked for that."""
    if request.task.step != "account":
        return None
    heard = "\n".join(message.text for message in request.messages)
    reviewed = re.search(r"This debate reviews (E\d+)", heard)
    if reviewed:
        ours = re.findall(r"Therefore draft \d+ of \S+ in round \d+ decides", heard)[-1]
        relation = "supersedes" if "changed: docs/" in heard else "confirms"
        earlier = {"id": reviewed[1], "relation": relation, "theirs": "It is done step by step.", "ours": ours}
        members = {"earlier_decisions": [earlier], **members}
    return account_text(**members)


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, **files: str) -> str:
    """Writes files of `docs`, a name without its ending each, and commits them; returns the commit."""
    (folder / "docs").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "docs" / f"{name}.md").write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", ", ".join(files) or "nothing")
    return git(folder, "rev-parse", "HEAD")


def repository(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "adr").mkdir()
    commit(folder, billing="# Billing\n\nBilling is one table in one database.\n")
    return folder


def reviews_of(folder: Path, *keys: str, name: str = "weekly") -> Path:
    """Writes a reviews file whose review is spoken by the caller's model."""
    told = [f"name: {name}", "cron: '0 9 * * 1'", "timezone: Europe/Berlin", "recipe: speed", "models: client"]
    path = folder / "reviews.yaml"
    path.write_text("reviews:\n  - " + "\n    ".join([*told, *keys]) + "\n")
    return path


def office_of(hall: Hall, file: Path, speaker: Speaker, now: Callable[[], datetime] = lambda: MONDAY) -> Office:
    return Office(hall, load_reviews(file), now, lambda line: None, client=speaker)
