"""Debates the pull request that a workflow runs for, and leaves behind what the later steps need.

The debate runs in a folder of its own, so that no recipe, agent or models file is found by chance in what is checked
out; `checkout` in it leads there, for what the workflow names. It is shown first what the debate would read and who
would speak: a debate without the diff, or without a model, is not held.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import reviewing
from github import GitHub
from held import STOPPED, as_name, ask, failing, put_outcome, tell_failure, write_page
from pull_request import DIFF, PullRequest, write_down
from workflow import ActionError, annotate, as_step, given, put, summarise, switch, variable

MATERIAL, CHECKOUT = "pull-request", "checkout"
_OPTIONS = ("TIER", "CONTEXT_LIMIT", "COST_LIMIT", "TIME_LIMIT", "ON_FAILURE")


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a debate is held, and what for."""

    folder: Path
    pull: PullRequest
    recipe: str
    name: str

    @classmethod
    def cleared(cls, pull: PullRequest) -> Desk:
        """An empty folder for one debate of this job."""
        recipe = given("RECIPE")
        name = as_name(given("NAME") or f"run-debate-{Path(recipe).stem}")
        folder = Path(variable("RUNNER_TEMP")) / "run-debate" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        checkout = Path(variable("GITHUB_WORKSPACE"))
        (folder / CHECKOUT).symlink_to(checkout)
        desk = cls(folder, pull, _below_checkout(recipe), name)
        if desk.named_files:
            pull.require_trusted(checkout)
        return desk

    @property
    def named_files(self) -> tuple[str, ...]:
        """What the workflow wants read from the checkout."""
        files = [name for name in (self.recipe, self.models) if name.startswith(f"{CHECKOUT}/")]
        return (*files, *self.context)

    @property
    def models(self) -> str:
        return _below_checkout(given("MODELS"))

    @property
    def context(self) -> tuple[str, ...]:
        lines = (line.strip() for line in given("CONTEXT").splitlines())
        return tuple(f"{CHECKOUT}/{line}" for line in lines if line)

    @property
    def results(self) -> Path:
        """The folder that becomes the artefact."""
        return self.folder / "results"

    @property
    def thread_id(self) -> str:
        run = f"{variable('GITHUB_RUN_ID')}-{os.environ.get('GITHUB_RUN_ATTEMPT', '1')}"
        return f"{datetime.now(UTC):%Y-%m-%d}-pr-{self.pull.number}-{self.name[-60:].strip('.-')}-{run}"

    def arguments(self) -> list[str]:
        """The command line of run-debate, without how its answer is to look; the topic comes last, as no option."""
        sources = [MATERIAL, *self.context]
        options = [(f"--{name.lower().replace('_', '-')}", given(name)) for name in _OPTIONS]
        options += [("--models", self.models), ("--thread-id", self.thread_id), ("--out", str(self.results))]
        return [
            f"--recipe={self.recipe}",
            *(f"--context={source}" for source in sources),
            *(f"{option}={value}" for option, value in options if value),
            *(["--rehearse"] if switch("REHEARSE") else []),
            "--",
            given("TOPIC") or self.pull.topic,
        ]

    def run(self, command: str, arguments: Sequence[str]) -> tuple[int, str]:
        """Runs a command of run-debate."""
        return ask(self.folder, command, arguments)


def main() -> None:
    if given("REVIEW"):
        reviewing.main()
        return
    failing_codes = failing()
    pull = PullRequest.of_event()
    desk = Desk.cleared(pull)
    put(name=desk.name)
    if not switch("REHEARSE") and pull.has_no_secrets and not _can_speak(desk):
        _say_that_nobody_speaks(pull)
        return
    kept_back = write_down(GitHub.of_environment(), pull, desk.folder / MATERIAL)
    if kept_back:
        annotate(
            "warning", f"Not debated, since GitHub shows no diff or the name is a secret's: {', '.join(kept_back)}"
        )
    code, result = _held(desk)
    if code in STOPPED and result.get("thread_id"):
        desk.run("debate-hall", ["export", result["thread_id"], "--out", str(desk.results / "debate.json")])
    put_outcome(code, result, code in failing_codes, desk.results)
    page = write_page(desk.folder, result, desk.results, desk.pull.head, kept_back)
    if page is not None:
        put(page=str(page))
    tell_failure("run-debate", code, result.get("error"), code in failing_codes)


def _can_speak(desk: Desk) -> bool:
    models = [f"--models={desk.models}"] if desk.models else []
    return desk.run("debate-hall", ["doctor", "--json", *models])[0] == 0


def _say_that_nobody_speaks(pull: PullRequest) -> None:
    whose = "from a fork" if pull.is_fork else "by Dependabot"
    words = (
        f"No debate was held: this pull request is {whose}, GitHub gives its workflow no secrets, and so no model can "
        "be asked. See docs/ci.md of run-debate, “Pull requests from forks”."
    )
    annotate("notice", words)
    summarise(words)


def _held(desk: Desk) -> tuple[int, dict[str, Any]]:
    """Holds the debate; returns its exit code and what `run-debate --json` says."""
    arguments = desk.arguments()
    code, answer = desk.run("run-debate", ["--dry-run", "--json", "--quiet", *arguments])
    if code == 0:
        plan = json.loads(answer)
        if not any(piece["path"].endswith(DIFF) for piece in plan["evidence"]):
            raise ActionError(
                f"No changed file fits into the evidence, so there is nothing to debate: {' '.join(plan['notices'])} "
                "Raise context-limit."
            )
        code, answer = desk.run("run-debate", ["--json", *arguments])
    try:
        return code, json.loads(answer)
    except ValueError:
        raise ActionError(f"run-debate ended with exit code {code} and no answer; the log says why.") from None


def _below_checkout(name: str) -> str:
    """A file of the checkout as it is seen from the desk; a name stays a name."""
    is_file = "/" in name or name.lower().endswith((".yaml", ".yml"))
    return f"{CHECKOUT}/{name}" if is_file else name


if __name__ == "__main__":
    as_step(main)
