"""Holds a review of the checkout's reviews file, and leaves behind what the later steps need.

On a pull request what comes of it is the comment, where the review wants that; it is in the summary and the artefact on
every event. The reviews file decides what is read and which commands run, so it must be nobody's but the repository's.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from held import as_name, ask, failing, put_outcome, tell_failure, write_page
from page import harmless
from pull_request import EVENTS, PullRequest
from workflow import ActionError, annotate, given, put, summarise, variable

_FILES = {"json": "debate.json", "adr": "decision.md", "html": "report.html"}


def main() -> None:
    failing_codes = failing()
    checkout, name = Path(variable("GITHUB_WORKSPACE")), as_name(given("NAME") or f"run-debate-{given('REVIEW')}")
    put(name=name)
    pull = PullRequest.of_event() if variable("GITHUB_EVENT_NAME") in EVENTS else None
    if pull is not None:
        pull.require_trusted(checkout)
        if pull.has_no_secrets:
            _say("No review was held: GitHub gives this pull request's workflow no secrets.")
            return
    folder = Path(variable("RUNNER_TEMP")) / "run-debate" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    code, told = _held(folder, checkout)
    result, results = told.get("result") or {}, folder / "results"
    if result:
        _export(folder, result["thread_id"], results)
    elif "why" in told:
        _say(f"There was nothing to debate: {told['why']}")
    put_outcome(code, result, code in failing_codes, results)
    if result:
        page = write_page(folder, result, results, pull.head if pull else variable("GITHUB_SHA"), ())
        if page is not None and pull is not None and told["pull_request"]:
            put(page=str(page))
    for problem in told.get("problems", ()):
        annotate("warning", problem)
    tell_failure("debate-hall review run", code, told.get("error"), code in failing_codes)


def _held(folder: Path, checkout: Path) -> tuple[int, Mapping[str, Any]]:
    """Holds the review; returns its exit code and what `debate-hall review run --json` says."""
    file = checkout / (given("REVIEWS_FILE") or "reviews.yaml")
    code, answer = ask(folder, "debate-hall", ["review", "run", "--json", f"--file={file}", "--", given("REVIEW")])
    try:
        return code, json.loads(answer)
    except ValueError:
        raise ActionError(
            f"debate-hall review run ended with exit code {code} and no answer; the log says why."
        ) from None


def _export(folder: Path, thread_id: str, results: Path) -> None:
    results.mkdir()
    for format, file in _FILES.items():
        ask(folder, "debate-hall", ["export", thread_id, f"--format={format}", f"--out={results / file}"])


def _say(words: str) -> None:
    annotate("notice", words)
    summarise(harmless(words))
